"""Functions on which the samples of near pairs agree: what a list of near pairs tells about new samples.

With psi of `features.py`, in which the variance of a function v'psi plus its penalty is v'v, the functions that near
pairs (i, j) agree on most maximise

    sum over near pairs of 2 v'psi(x_i) v'psi(x_j) = v'Mv   subject to v'v = 1.

1. They are the leading eigenvectors of M: kernel canonical correlation analysis of the first and the second samples of
   pairs, for pairs without an order.
2. The correlation of each function is measured on pairs held back. Functions without significant correlation are
   dropped, and the others are scaled by its root, so that the inner product of two samples weighs each function by what
   it tells about new pairs.
3. The ridge is the one with the largest sum of correlations.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, solve_triangular

from proxcode.hashing.base import Matrix, NearPairs, Vector
from proxcode.hashing.features import Features

# Values of the ridge to choose from.
RIDGES = (1e-2, 1e-3, 1e-4, 1e-5)
# Largest number of functions.
MAX_FUNCTIONS = 128
# Correlation below which a function is dropped, in standard deviations of that of unrelated samples.
SIGNIFICANT = 2.0


class Agreement(NamedTuple):
    """Functions on which near pairs agree.

    Attributes
    ----------
    ridge : float
    along_features : ndarray of shape (m, r)
        The functions as combinations of centred features.
    """

    ridge: float
    along_features: Matrix


def find_agreement(features: Features, near: NearPairs, ridge: float | None) -> Agreement:
    """Return the functions for a given ridge, or for the best one."""
    moments = _near_moments(features, near.learned)
    found = [_functions(features, moments, near, value) for value in (RIDGES if ridge is None else (ridge,))]
    best = max(found, key=lambda functions: functions.correlation.sum())
    kept = np.flatnonzero(best.correlation > SIGNIFICANT * near.to_measure.shape[1] ** -0.5)
    if len(kept) == 0:
        kept = np.argsort(-best.correlation)[:1]
    scale = np.sqrt(np.clip(best.correlation[kept], 0.01, 1.0))
    return Agreement(best.ridge, best.along_features[:, kept] * scale)


class _Functions(NamedTuple):
    ridge: float
    along_features: Matrix
    correlation: Vector


def _near_moments(features: Features, near: Matrix) -> Matrix:
    """Return the sum of phi_i phi_j' + phi_j phi_i' over near pairs, phi centred."""
    first, second = near
    n = features.n
    half = sp.coo_array((np.ones(len(first), features.X.dtype), (first, second)), shape=(n, n))
    centred = features.kept - features.mean.astype(features.X.dtype)
    return np.asarray(centred.T @ (sp.csr_array(half + half.T) @ centred), np.float64)


def _functions(features: Features, moments: Matrix, near: NearPairs, ridge: float) -> _Functions:
    """Return the leading functions for a ridge, of unit variance, with their correlations over pairs to measure with."""
    upper = features.factor(ridge)
    half = solve_triangular(upper, moments, trans=1)
    along_psi = solve_triangular(upper, half.T, trans=1)
    m = len(upper)
    _, vectors = eigh((along_psi + along_psi.T) / 2, subset_by_index=(max(0, m - MAX_FUNCTIONS), m - 1))
    along_features = solve_triangular(upper, vectors[:, ::-1])
    variance = np.einsum("kr,kr->r", along_features, features.gram @ along_features) / features.n
    along_features /= np.sqrt(np.maximum(variance, np.finfo(np.float64).tiny))
    mean = features.mean @ along_features
    first, second = (features.kept[samples] @ along_features - mean for samples in near.to_measure)
    correlation = np.clip((first * second).mean(axis=0), 0.0, 1.0)
    return _Functions(ridge, along_features, correlation)
