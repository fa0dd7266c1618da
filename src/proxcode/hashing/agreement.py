"""Functions on which the samples of near pairs agree: what a list of near pairs tells about new samples.

Let A be the symmetric 0/1 matrix of near pairs, and psi the functions of `features.py`, in which the variance of v'psi
plus its penalty is v'v.

1. The functions f = v'psi that near pairs agree on most maximise sum_ij A_ij f(x_i) f(x_j) = v'Mv subject to v'v = 1:
   the leading eigenvectors of M = Psi'A Psi. This is kernel canonical correlation analysis of the two samples of pairs.
2. An eigenvector satisfies f(x_i) = sum_a psi(x_i)'psi(x_a) s_a / lambda with s = Af. Without the terms of the pairs of
   sample i and without i in the variance, with d_i = |psi(x_i)|^2 and q_i = sum_a A_ia psi(x_i)'psi(x_a), it is about

       [f(x_i) - (d_i s_i + q_i f(x_i)) / lambda] / (1 - d_i),

   the value that the function would have at sample i if it had not been listed. Bits are learned from these values.
3. The correlation of these values over pairs held back is what a function tells about new pairs. Functions without
   significant correlation are dropped, and the others are scaled by its root, so that in the inner product of two
   samples each function weighs what it tells.
4. The ridge is the one with the largest sum of squared correlations.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, solve_triangular

from proxcode.hashing.base import Matrix, NearPairs, Vector
from proxcode.hashing.features import Features, TriangularSolver
from proxcode.utils.blocks import map_blocks
from proxcode.utils.rows import Index, evenly_spaced

# Values of the ridge to choose from.
RIDGES = (1e-2, 1e-3, 1e-4, 1e-5)
# Numbers of features and of pairs that this choice is made with.
RIDGE_FEATURES, RIDGE_PAIRS = 1000, 2000
# Largest number of functions.
MAX_FUNCTIONS = 128
# Correlation below which a function is dropped, in standard deviations of that of unrelated samples.
SIGNIFICANT = 2.0
# Smallest 1 - d_i that is divided by: less is rounding error of a sample that explains itself.
LEAST_UNEXPLAINED = 0.01


class Agreement:
    """What the near pairs of a list agree on.

    Parameters
    ----------
    features : Features
        With the features kept, of the samples that are in near pairs.
    near : NearPairs
        Pairs to learn from, and pairs to measure with.
    """

    def __init__(self, features: Features, near: NearPairs) -> None:
        self.features, self.to_measure = features, near.to_measure
        n, dtype = features.n, features.X.dtype
        half = sp.coo_array((np.ones(near.learned.shape[1], dtype), tuple(near.learned)), shape=(n, n))
        self.adjacency = sp.csr_array(half + half.T)
        # Minus the mean of samples as often as they are listed: minus any other mean, a function that tells samples
        # listed often from others would look like agreement.
        degree = self.adjacency.sum(axis=0)
        self.centred = features.kept_features()
        self.mean = np.asarray(degree @ self.centred / degree.sum(), np.float64)
        self.centred -= self.mean.astype(dtype)
        self._last_factor = (0.0, 0), np.empty((0, 0))

    def best_ridge(self) -> float:
        """Return the ridge of the largest sum of squared correlations, from the first features and some pairs."""
        m = min(self.features.m, RIDGE_FEATURES)
        moments = self._moments(m)
        pairs = self.to_measure[:, evenly_spaced(self.to_measure.shape[1], RIDGE_PAIRS)]
        rows, place = np.unique(pairs, return_inverse=True)

        def sum_of_squares(ridge: float) -> float:
            values = self.values(self._functions(moments, ridge), ridge, rows)
            correlation = _correlations(values[place.reshape(pairs.shape)]).correlation
            return float(correlation @ correlation)

        return max(RIDGES, key=sum_of_squares)

    def functions(self, ridge: float) -> tuple[Matrix, Matrix]:
        """Return functions, combinations (m, r) of features minus `mean`, and their `values` at all samples."""
        along_features = self._functions(self._moments(self.features.m), ridge)
        values = self.values(along_features, ridge, np.arange(self.features.n))
        correlation, deviation = _correlations(values[self.to_measure])
        kept, scale = np.flatnonzero(correlation), np.sqrt(correlation)
        if len(kept) == 0:
            # The pairs tell nothing about one another: no function is better than another.
            kept, scale = np.arange(len(correlation)), np.ones(len(correlation))
        scale = (scale / deviation)[kept]
        return along_features[:, kept] * scale, values[:, kept] * scale

    def values(self, along_features: Matrix, ridge: float, rows: Index) -> Matrix:
        """Return the values of functions at samples `rows`, each as if the sample had not been listed."""
        m = len(along_features)
        upper = self._factor(ridge, m)
        fitted = self.centred[:, :m] @ along_features.astype(self.centred.dtype)
        sums = self.adjacency @ fitted
        along_psi = upper @ along_features
        eigenvalues = np.einsum("nr,nr->r", fitted, sums, dtype=np.float64) / (along_psi**2).sum(axis=0)
        psi, neighbors = self._psi_and_neighbors(upper, rows)
        own, shared = (psi**2).sum(axis=1, keepdims=True), (psi * neighbors).sum(axis=1, keepdims=True)
        fitted, sums = fitted[rows], sums[rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            values = (fitted - (own * sums + shared * fitted) / eigenvalues) / np.maximum(1 - own, LEAST_UNEXPLAINED)
        return np.where(np.isfinite(values), values, 0.0)

    def _factor(self, ridge: float, m: int) -> Matrix:
        """Return U of the first m features; the last one is kept, since each is needed twice."""
        if self._last_factor[0] != (ridge, m):
            self._last_factor = (ridge, m), self.features.factor(ridge, m)
        return self._last_factor[1]

    def _moments(self, m: int) -> Matrix:
        """Return the sum of phi_i phi_j' over the near pairs in both directions, for the first m features."""
        centred = self.centred[:, :m]
        return np.asarray(centred.T @ (self.adjacency @ centred), np.float64)

    def _functions(self, moments: Matrix, ridge: float) -> Matrix:
        """Return the functions of largest agreement, combinations of features."""
        m = len(moments)
        upper = self._factor(ridge, m)
        half = solve_triangular(upper, moments, trans=1)
        along_psi = solve_triangular(upper, half.T, trans=1)
        _, vectors = eigh((along_psi + along_psi.T) / 2, subset_by_index=(max(0, m - MAX_FUNCTIONS), m - 1))
        return solve_triangular(upper, vectors[:, ::-1])

    def _psi_and_neighbors(self, upper: Matrix, rows: Index) -> tuple[Matrix, Matrix]:
        """Return psi at samples, and its sum over the samples near to each."""
        near_rows = self.adjacency[rows]
        needed = np.unique(np.append(rows, near_rows.indices))
        solver, m = TriangularSolver(upper, self.centred.dtype), len(upper)
        psi = self.centred[needed, :m]

        def whiten(block: slice) -> None:
            psi[block] = solver.solve(psi[block])

        for _ in map_blocks(whiten, len(psi)):
            pass
        return psi[np.searchsorted(needed, rows)], near_rows[:, needed] @ psi


class _Correlations(NamedTuple):
    """Correlations of functions over the samples of pairs, 0 where not significant, and their standard deviations."""

    correlation: Vector
    deviation: Vector


def _correlations(values: Matrix) -> _Correlations:
    """Correlate functions, given by their values at both samples of each pair, shape (2, n_pairs, r)."""
    values = values - values.mean(axis=(0, 1))
    deviation = np.sqrt(np.maximum((values**2).mean(axis=(0, 1)), np.finfo(np.float64).tiny))
    correlation = values.prod(axis=0).mean(axis=0) / deviation**2
    is_significant = correlation > SIGNIFICANT * values.shape[1] ** -0.5
    return _Correlations(np.where(is_significant, correlation, 0.0), deviation)
