"""From codes back to samples: a sum of vectors, one for each byte of the code.

1. A ridge regression of the samples on the bits, -1 or +1, gives each bit a vector; the vector of a byte is their sum.
2. Bytes in turn: the vector of each value of a byte is moved by the mean of what is left to explain where it occurs,
   shrunk towards zero where it is rare.

The squared distance of a query q from the decoded code sum_b T_b[c_b] is |q|^2 - 2 sum_b q'T_b[c_b] plus the squared
norm of the decoded code: a lookup table for each byte and a number for each stored code.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from proxcode.hamming import Codes, pack
from proxcode.hashing.base import Matrix
from proxcode.storage.state import State
from proxcode.utils.blocks import map_blocks, sum_blocks

# The ridge of the regression on bits, relative to the variance of a balanced bit.
RIDGE = 1e-3
# Occurrences of a value of a byte at which its vector is moved by half of what is left to explain; rounds over bytes.
RARE, ROUNDS = 5, 4
# The 8 bits of each byte, -1 or +1, in the order of `numpy.packbits`.
BYTES = 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) - 1.0
# The bits of a byte, the first in the order of `numpy.packbits` first.
FLIPS = np.array([128, 64, 32, 16, 8, 4, 2, 1])


class ByteDecoder:
    """Decodes a packed code c as mean + sum_b vectors[b, c_b].

    Parameters
    ----------
    mean : ndarray of shape (n_features,)
    vectors : ndarray of shape (n_bytes, 256, n_features)
    n_bits : int
        Code length; the last byte may have bits beyond it, which are 0 in every code.
    """

    def __init__(self, mean: Matrix, vectors: Matrix, n_bits: int) -> None:
        self.mean, self.vectors, self.n_bits = mean, vectors, n_bits

    def decode(self, codes: Codes) -> Matrix:
        """Return the decoded samples, minus the mean, shape (n_codes, n_features)."""
        return sum(vectors[column] for vectors, column in zip(self.vectors, codes.T, strict=True))

    def norms(self, codes: Codes) -> NDArray[np.float32]:
        """Return the squared norms of the decoded samples, minus the mean."""
        norms = np.empty(len(codes), np.float32)
        for rows, block in map_blocks(lambda rows: self.decode(codes[rows]), len(codes)):
            norms[rows] = (block * block).sum(axis=1)
        return norms

    def tables(self, queries: Matrix) -> NDArray[np.float32]:
        """Return the lookup tables of squared distances without `norms`, shape (n_queries, n_bytes, 256)."""
        centred = (queries - self.mean).astype(np.float32)
        n_bytes, _, n_features = self.vectors.shape
        flat = self.vectors.reshape(-1, n_features).astype(np.float32, copy=False).T
        tables = np.empty((len(queries), n_bytes, 256), np.float32)
        for rows, block in map_blocks(lambda rows: centred[rows] @ flat, len(queries)):
            tables[rows] = -2 * block.reshape(-1, n_bytes, 256)
        tables[:, 0] += (centred * centred).sum(axis=1, keepdims=True)
        return tables

    def improve(self, X: Matrix, codes: Codes, n_sweeps: int) -> Codes:
        """Return codes that decode samples better: each byte in turn, given the others, is the best of its 256 values.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        codes : ndarray of uint8, shape (n_samples, n_bytes)
        n_sweeps : int
            Number of times that all bytes are chosen.
        """
        better, norms = codes.copy(), self._value_norms()

        def choose(rows: slice) -> None:
            own = better[rows]
            left = self._left(X[rows], own)
            for _ in range(n_sweeps):
                for b, vectors in enumerate(self.vectors):
                    target = left + vectors[own[:, b]]
                    own[:, b] = (norms[b] - 2 * (target @ vectors.T)).argmin(axis=1)
                    left = target - vectors[own[:, b]]

        for _ in map_blocks(choose, len(X)):
            pass
        return better

    def gaps(self, X: Matrix, codes: Codes) -> NDArray[np.float32]:
        """Return by how much the squared error would grow if a bit were flipped, shape (n_samples, n_bits)."""
        gaps, norms = np.empty((len(X), 8 * codes.shape[1]), np.float32), self._value_norms()

        def measure(rows: slice) -> None:
            own = codes[rows].astype(np.int64)
            left = self._left(X[rows], codes[rows])
            for b, vectors in enumerate(self.vectors):
                value = own[:, b, None]
                errors = norms[b] - 2 * ((left + vectors[own[:, b]]) @ vectors.T)
                flipped = np.take_along_axis(errors, value ^ FLIPS, axis=1)
                gaps[rows, 8 * b : 8 * b + 8] = flipped - np.take_along_axis(errors, value, axis=1)

        for _ in map_blocks(measure, len(X)):
            pass
        return gaps[:, : self.n_bits]

    def _left(self, X: Matrix, codes: Codes) -> Matrix:
        """Return what codes leave to explain of samples."""
        return (X - self.mean).astype(np.float32) - self.decode(codes)

    def _value_norms(self) -> Matrix:
        """Return the squared norm of each vector; infinite for values with bits beyond the code, never to be chosen."""
        norms = (self.vectors * self.vectors).sum(axis=2)
        n_unused = 8 * len(norms) - self.n_bits
        norms[-1, np.arange(256) % (1 << n_unused) > 0] = np.inf
        return norms

    def refit(self, X: Matrix, codes: Codes, n_rounds: int) -> None:
        """Move the vector of each byte, in turn, by the mean of what is left to explain, less where it is rare."""
        n, left = len(X), self._left(X, codes)
        for _ in range(n_rounds):
            for b, column in enumerate(codes.T):
                counts = np.bincount(column, minlength=256)
                choose = sp.csr_array((np.ones(n, np.float32), (column, np.arange(n))), shape=(256, n))
                moved = (choose @ left) / (counts + RARE).astype(np.float32)[:, None]
                self.vectors[b] += moved
                left -= moved[column]

    def arrays(self) -> dict[str, Matrix]:
        """Return the arrays of a model file."""
        return {"decoder_mean": self.mean, "decoder_vectors": self.vectors}

    @classmethod
    def restored(cls, state: State, n_bits: int) -> ByteDecoder:
        """Take over the arrays of a model file."""
        mean = state.array("decoder_mean", "n_features")
        return cls(mean, state.array("decoder_vectors", -(-n_bits // 8), 256, "n_features"), n_bits)


def fit_linear(X: Matrix, bits: Matrix) -> Matrix:
    """Return the vectors of bits: the ridge regression of centred samples on bits of -1 and +1, shape (p, d)."""
    n, p = bits.shape
    gram = sum_blocks(lambda rows: (block := bits[rows].astype(X.dtype)).T @ block, n)
    moments = sum_blocks(lambda rows: bits[rows].astype(X.dtype).T @ X[rows], n)
    gram[np.diag_indices(p)] += RIDGE * n
    return cho_solve(cho_factor(gram), moments)


def fit_decoder(X: Matrix, bits: NDArray[np.bool_]) -> ByteDecoder:
    """Fit the decoder of codes to samples.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    bits : ndarray of bool, shape (n_samples, n_bits)
    """
    mean = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
    codes = pack(bits)
    n_bytes = codes.shape[1]
    padded = np.zeros((8 * n_bytes, X.shape[1]))
    padded[: bits.shape[1]] = fit_linear(X - mean, 2 * bits.astype(np.int8) - 1)
    vectors = np.stack([BYTES @ padded[8 * b : 8 * b + 8] for b in range(n_bytes)]).astype(np.float32)
    decoder = ByteDecoder(mean, vectors, bits.shape[1])
    decoder.refit(X, codes, ROUNDS)
    return decoder
