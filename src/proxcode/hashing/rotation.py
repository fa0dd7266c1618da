"""Bits for top-k search without labels: kernel principal components, rotated to the corners of a cube.

1. Of a few samples, find the width of the kernel and the number of components whose codes rank the others best.
2. V: the first principal components of the RBF kernel at the samples, shape (n, c).
3. R: c x p with orthonormal rows or columns, such that VR is nearest to its signs: B = sign(VR), then R = the polar
   factor of V'B, in turns. With c = p and a very wide kernel this is iterative quantisation (Gong and Lazebnik, 2011).
4. Bit k of a sample is the sign of column k of VR. Without an order of importance, a prefix of the code is a random
   choice of its bits.
5. A decoder from bytes of the code to samples, for float queries.
"""

from __future__ import annotations

import numpy as np

from proxcode.cut.result import signs_of
from proxcode.hamming import distances, pack
from proxcode.hashing.base import Labels, Matrix, Vector
from proxcode.hashing.components import make_inputs, principal_components, project, restore_inputs
from proxcode.hashing.decoder import ByteDecoder, fit_decoder
from proxcode.hashing.joint import MAX_FIT_SAMPLES, MAX_ROUNDS, JointHash
from proxcode.metrics import count_pairs, mean_average_precision
from proxcode.storage.state import State
from proxcode.utils.blocks import map_blocks, one_blas_thread, sum_blocks
from proxcode.utils.rows import evenly_spaced
from proxcode.utils.validation import check_integer, check_number

# Widths of the kernel to choose from, as multiples of the mean squared distance.
WIDTHS = (2.0, 1.0, 0.5)
# Factor by which a kernel must rank better than plain principal components, which encode faster.
CLEARLY = 1.03
# Numbers of components to choose from, as multiples of the number of bits.
SHARES = (1.0, 0.5, 1.5, 2.0)
# Samples that these choices are made with: queries, base and landmarks; neighbours that a query should find.
N_QUERIES, N_BASE, N_LANDMARKS, N_NEIGHBORS = 800, 6000, 500, 10
# Number of bits of the codes that are compared, at most, and of their rotations.
MAX_COMPARED_BITS, COMPARED_ROTATIONS = 128, 20
# Queries below which there is nothing to choose with.
MIN_QUERIES = 20
# Rows of a block while encoding: their kernel values stay in the processor's cache.
ENCODE_BLOCK = 1024


class RotationHash(JointHash):
    """Kernel principal components, rotated: codes whose Hamming distances rank neighbours, learned from samples alone.

    The bits are learned at once: a longer code is another code, and `extend` refuses to add bits.

    Parameters
    ----------
    n_landmarks : int, default=1000
        Number of samples drawn as landmarks of the kernel.
    gamma : float, default=None
        Coefficient of the kernel `k(x, z) = exp(-gamma |x - z|^2)`; 0 stands for no kernel, plain principal components.
        None chooses among 0 and 1 / (w d), d the mean squared distance and w = 2, 1, 1/2, by how well codes of some
        samples rank others.
    n_components : int, default=None
        Number of principal components. None chooses it, by the same rule, among 1/2, 1, 3/2 and 2 times the code
        length.
    n_rotations : int, default=50
        Number of times that bits and rotation are updated.

    Attributes
    ----------
    inputs_ : Inputs
        Kernel values to landmarks, or the coordinates themselves.
    coef_ : ndarray of shape (m, n_bits)
        Coefficients of the inputs, such that margins of the samples have a root mean square of 1.
    intercept_ : ndarray of shape (n_bits,)
    n_components_ : int
    decoder_ : ByteDecoder
        Turns codes back into samples, for float queries.
    """

    def __init__(
        self,
        n_landmarks: int = 1000,
        gamma: float | None = None,
        n_components: int | None = None,
        n_rotations: int = 50,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.gamma = gamma
        self.n_components = n_components
        self.n_rotations = n_rotations

    def fit_bits(self, X: Matrix, labels: Labels | None, n_bits: int, rng: np.random.Generator) -> None:
        """Choose the kernel, find the principal components and rotate them."""
        n_landmarks = check_integer("n_landmarks", self.n_landmarks, 1)
        n_rotations = check_integer("n_rotations", self.n_rotations, 0, MAX_ROUNDS)
        X = X[evenly_spaced(len(X), MAX_FIT_SAMPLES)]
        with one_blas_thread:
            gamma, n_components = self._choose(X, n_bits, rng)
            chosen = rng.choice(len(X), min(n_landmarks, len(X)), replace=False)
            self.inputs_ = make_inputs(X[chosen], gamma)
            components = principal_components(self.inputs_, X, n_components)
            V = project(self.inputs_, components, X)
            R = rotate(V, n_bits, n_rotations, rng)
            self.n_components_ = V.shape[1]
            self.coef_ = np.ascontiguousarray(components.axes @ R)
            self.intercept_ = -components.offset @ R
            self.n_planned_ = n_bits
            margins = self.margins(X)
            scale = float(np.sqrt((margins**2).mean())) or 1.0
            self.coef_, self.intercept_ = self.coef_ / scale, self.intercept_ / scale
            self.decoder_ = fit_decoder(X, margins >= 0)

    def _choose(self, X: Matrix, n_bits: int, rng: np.random.Generator) -> tuple[float, int]:
        """Return the width of the kernel and the number of components: those given, or those that rank best."""
        if self.gamma is not None:
            check_number("gamma", self.gamma, at_least=0)
        if self.n_components is not None:
            check_integer("n_components", self.n_components, 1, MAX_ROUNDS)
        ranking = Ranking(X, n_bits, rng)
        gamma, share = self.gamma, SHARES[0] if self.n_components is None else self.n_components / n_bits
        if gamma is None:
            gammas = [1 / (width * ranking.mean_square) for width in WIDTHS]
            gamma = max(gammas, key=lambda gamma: ranking.quality(gamma, share))
            gamma = gamma if ranking.quality(gamma, share) > CLEARLY * ranking.quality(0.0, share) else 0.0
        if self.n_components is not None:
            return gamma, self.n_components
        share = max(SHARES, key=lambda share: ranking.quality(gamma, share))
        return gamma, max(1, round(share * n_bits))

    def margins(self, X: Matrix) -> Vector:
        margins = np.empty((len(X), self.n_planned_))
        for rows, block in map_blocks(
            lambda rows: self.inputs_.values(X[rows]).astype(np.float64, copy=False) @ self.coef_,
            len(X),
            ENCODE_BLOCK,
        ):
            margins[rows] = block + self.intercept_
        return margins

    def state(self) -> State:
        """Return the landmarks, the coefficients of the bits and the decoder."""
        inputs = self.inputs_.state()
        values = {**inputs.values, "n_bits": self.n_bits_, "n_components": self.n_components_}
        arrays = {**inputs.arrays, "coef": self.coef_, "intercept": self.intercept_, **self.decoder_.arrays()}
        return State(values, arrays)

    def restore(self, state: State) -> None:
        self.inputs_ = restore_inputs(state)
        self.intercept_ = state.array("intercept", "n_planned")
        self.coef_ = state.array("coef", "n_inputs", "n_planned")
        self.n_planned_ = len(self.intercept_)
        self.n_bits_ = state.integer("n_bits", 1, self.n_planned_)
        self.n_components_ = state.integer("n_components", 1)
        self.decoder_ = ByteDecoder.restored(state, self.n_planned_)


class Ranking:
    """How well codes of some samples rank others.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    n_bits : int
    rng : Generator

    Attributes
    ----------
    mean_square : float
        Mean squared distance, 1 where all samples are equal.
    """

    def __init__(self, X: Matrix, n_bits: int, rng: np.random.Generator) -> None:
        n_queries = min(N_QUERIES, len(X) // 5)
        samples = X[rng.permutation(len(X))[: n_queries + N_BASE]]
        # Distances by inner products lose less to rounding.
        samples = samples - samples.mean(axis=0, dtype=np.float64).astype(X.dtype)
        self.queries, self.base = samples[:n_queries], samples[n_queries:]
        self.n_bits, self.seed = min(n_bits, MAX_COMPARED_BITS), int(rng.integers(2**31))
        self.landmarks = self.base[:N_LANDMARKS]
        self.mean_square = 2 * float(np.var(samples, axis=0, dtype=np.float64).sum()) or 1.0
        self.is_blind = n_queries < MIN_QUERIES
        if not self.is_blind:
            squares = (self.base * self.base).sum(axis=1) - 2 * (self.queries @ self.base.T)
            k = min(N_NEIGHBORS, len(self.base) // 4)
            self.is_near = np.zeros(squares.shape, bool)
            np.put_along_axis(self.is_near, np.argpartition(squares, k - 1, axis=1)[:, :k], True, axis=1)
        self._known: dict[tuple[float, float], float] = {}
        # Of the last kernel that was asked for.
        self._projected: dict[float, tuple[Matrix, Matrix]] = {}

    def _components(self, gamma: float) -> tuple[Matrix, Matrix]:
        """Return as many principal components as the largest share takes, of base and queries."""
        if gamma not in self._projected:
            inputs = make_inputs(self.landmarks, gamma)
            components = principal_components(inputs, self.base, round(max(SHARES) * self.n_bits))
            base, queries = (project(inputs, components, samples) for samples in (self.base, self.queries))
            self._projected = {gamma: (base, queries)}
        return self._projected[gamma]

    def quality(self, gamma: float, share: float) -> float:
        """Return the mean average precision of the neighbours; 0 where there are too few samples to tell."""
        if self.is_blind:
            return 0.0
        if (gamma, share) not in self._known:
            c = max(1, round(share * self.n_bits))
            base, queries = (values[:, :c] for values in self._components(gamma))
            R = rotate(base, self.n_bits, COMPARED_ROTATIONS, np.random.default_rng(self.seed)).astype(base.dtype)
            query_codes, codes = pack(queries @ R >= 0), pack(base @ R >= 0)
            counts = count_pairs(
                len(queries),
                self.n_bits + 1,
                lambda rows: self.is_near[rows],
                lambda rows: distances(query_codes[rows], codes),
            )
            self._known[gamma, share] = mean_average_precision(*counts)
        return self._known[gamma, share]


def rotate(V: Matrix, n_bits: int, n_rotations: int, rng: np.random.Generator | np.random.RandomState) -> Vector:
    """Return R, with orthonormal rows or columns, such that VR is near to its signs, shape (n_components, n_bits).

    Starting from a random R, B = sign(VR) and R = U_A U_B' of the singular value decomposition B'V = U_B S U_A', which
    brings VR nearest to B, are updated in turns.
    """
    c = V.shape[1]
    size = max(c, n_bits)
    R = np.linalg.qr(rng.standard_normal((size, size)))[0][:c, :n_bits]

    def correlations(rows: slice) -> Matrix:
        """Return B'V for the nearest corners B = sign(VR) of some rows."""
        return signs_of(V[rows] @ R.astype(V.dtype)).astype(V.dtype).T @ V[rows]

    for _ in range(n_rotations):
        U_B, _, U_A_transposed = np.linalg.svd(sum_blocks(correlations, len(V)), full_matrices=False)
        R = U_A_transposed.T @ U_B.T
    return R
