"""Bits for float queries: each sample gets the code from which it is reconstructed best, a signed cut per sample.

A code c of p bits, -1 or +1, is decoded as D'c. Given D, of shape (p, d), the code of a sample x minimises

    |x - D'c|^2 = |x|^2 - 2 f'c + c'Gc,   f = Dx,   G = DD',

an Ising model with the couplings -G and the field f: the maximum of b'Wb over the p bits and one node that stands for
the field. In turns,

1. bits: from the signs of rotated principal components, flip the bit that lowers the error most until none does; then,
   a few times, flip some bits at random and descend again, and keep the best,
2. D: ridge regression of the samples on their bits.

At last a decoder with a vector for each value of each byte replaces D, and each byte in turn becomes the best of its
256 values given the others. The margin of a bit is the growth of the error if it were flipped, scaled to a root mean
square of 1.

Small changes of a sample may flip many bits, so that Hamming distances between such codes rank neighbours poorly: they
are for float queries, which compare a query with the decoded code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from proxcode.cut.result import signs_of
from proxcode.hamming import pack, unpack
from proxcode.hashing._kernels import descend
from proxcode.hashing.base import Labels, Matrix, Vector
from proxcode.hashing.components import make_inputs, principal_components, project
from proxcode.hashing.decoder import ByteDecoder, fit_decoder, fit_linear
from proxcode.hashing.joint import MAX_FIT_SAMPLES, MAX_ROUNDS, JointHash
from proxcode.hashing.rotation import rotate
from proxcode.storage.state import State
from proxcode.utils.blocks import map_blocks, one_blas_thread
from proxcode.utils.rows import evenly_spaced
from proxcode.utils.validation import check_integer

# Share of the bits that are flipped at random before another descent, at least one.
FLIPPED = 1 / 16
# Rotations of the principal components that codes start from.
N_ROTATIONS = 30
# Rounds of bytes and decoder at the end of the fit, and sweeps over the bytes of a new sample.
BYTE_ROUNDS, SWEEPS = 3, 3
# Samples that the scale of margins is measured with.
SCALED = 1000
# Rows of a block while encoding.
ENCODE_BLOCK = 1024


class ReconstructionHash(JointHash):
    """Codes from which samples are reconstructed best, for float queries (`model.query`).

    The bits are learned at once: a longer code is another code, and `extend` refuses to add bits.

    Parameters
    ----------
    n_rounds : int, default=20
        Number of times that bits and their vectors are updated.
    n_descents : int, default=8
        Number of further descents for each sample, in the second half of the rounds and in `encode`.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        Mean of the samples.
    start_ : ndarray of shape (n_features, n_bits)
        Directions whose signs are the codes that descents start from.
    vectors_ : ndarray of shape (n_bits, n_features)
        D, the vectors of the bits.
    flips_ : ndarray of int, shape (n_descents, n_flipped)
        Bits that are flipped before each further descent, the same for all samples.
    decoder_ : ByteDecoder
        Turns codes back into samples.
    scale_ : float
        Unit of the margins.
    """

    def __init__(self, n_rounds: int = 20, n_descents: int = 8) -> None:
        self.n_rounds = n_rounds
        self.n_descents = n_descents

    def fit_bits(self, X: Matrix, labels: Labels | None, n_bits: int, rng: np.random.Generator) -> None:
        """Start from rotated principal components; update bits and their vectors in turns."""
        n_rounds = check_integer("n_rounds", self.n_rounds, 1, MAX_ROUNDS)
        n_descents = check_integer("n_descents", self.n_descents, 0, MAX_ROUNDS)
        X = X[evenly_spaced(len(X), MAX_FIT_SAMPLES)]
        with one_blas_thread:
            inputs = make_inputs(X, gamma=0.0)
            components = principal_components(inputs, X, n_bits)
            R = rotate(project(inputs, components, X), n_bits, N_ROTATIONS, rng)
            self.center_ = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
            self.start_ = (components.axes @ R).astype(X.dtype)
            self.flips_ = _drawn_flips(n_descents, n_bits, rng)
            self.n_planned_ = n_bits
            Z = X - self.center_
            codes = signs_of(Z @ self.start_)
            for k in range(n_rounds):
                self.vectors_ = fit_linear(Z, codes).astype(X.dtype)
                codes = self._descend(Z, codes, self.flips_ if 2 * k >= n_rounds else self.flips_[:0])
            self.vectors_ = fit_linear(Z, codes).astype(X.dtype)
            # From the start, as new samples are encoded.
            codes = self._descend(Z, signs_of(Z @ self.start_), self.flips_)
            self.decoder_, packed = fit_decoder(X, codes > 0), pack(codes > 0)
            for _ in range(BYTE_ROUNDS):
                packed = self.decoder_.improve(X, packed, n_sweeps=2)
                self.decoder_.refit(X, packed, n_rounds=2)
            self.scale_ = 1.0
            self.scale_ = float(np.sqrt((self.margins(X[:SCALED]) ** 2).mean())) or 1.0

    def _descend(self, Z: Matrix, codes: Any, flips: Any) -> Any:
        """Return better codes of centred samples."""
        gram = (self.vectors_ @ self.vectors_.T).astype(np.float32)

        def improve(rows: slice) -> Any:
            fields = (Z[rows] @ self.vectors_.T).astype(np.float32)
            better = codes[rows].copy()
            descend(gram, fields, better, flips)
            return better

        improved = np.empty_like(codes)
        for rows, block in map_blocks(improve, len(Z), ENCODE_BLOCK):
            improved[rows] = block
        return improved

    def margins(self, X: Matrix) -> Vector:
        margins = np.empty((len(X), self.n_planned_))

        def signed_gaps(rows: slice) -> Vector:
            Z = X[rows] - self.center_
            codes = self._descend(Z, signs_of(Z @ self.start_), self.flips_)
            packed = self.decoder_.improve(X[rows], pack(codes > 0), SWEEPS)
            # The gap of a bit is negative where the sweeps ended before the best byte was found.
            gaps = np.maximum(self.decoder_.gaps(X[rows], packed) / self.scale_, np.finfo(np.float32).tiny)
            return np.where(unpack(packed, self.n_planned_), gaps, -gaps)

        for rows, block in map_blocks(signed_gaps, len(X), ENCODE_BLOCK):
            margins[rows] = block
        return margins

    def state(self) -> State:
        """Return what encodes a sample, and the decoder."""
        arrays = {"center": self.center_, "start": self.start_, "vectors": self.vectors_, "flips": self.flips_}
        return State({"n_bits": self.n_bits_, "scale": self.scale_}, {**arrays, **self.decoder_.arrays()})

    def restore(self, state: State) -> None:
        self.center_ = state.array("center", "n_features")
        self.start_ = state.array("start", "n_features", "n_planned")
        self.vectors_ = state.array("vectors", "n_planned", "n_features")
        self.n_planned_ = len(self.vectors_)
        self.flips_ = state.array("flips", "n_descents", "n_flipped", below=self.n_planned_)
        self.n_bits_ = state.integer("n_bits", 1, self.n_planned_)
        self.scale_ = state.number("scale", above=0)
        self.decoder_ = ByteDecoder.restored(state, self.n_planned_)


def _drawn_flips(n_descents: int, n_bits: int, rng: np.random.Generator) -> Any:
    """Draw different bits for each descent."""
    n_flipped = max(1, round(FLIPPED * n_bits))
    return rng.permuted(np.tile(np.arange(n_bits), (n_descents, 1)), axis=1)[:, :n_flipped]
