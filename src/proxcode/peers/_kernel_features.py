"""Features of a point by its distances to anchors, as kernel hashing uses them, and directions among them.

1. Anchors a_1..a_m are training points drawn at random, each taken once,
2. feature j of x is exp(-|x - a_j|^2 / width), less its mean over the training points where a method centres,
3. a bit is the sign of the features along a direction w.

Double precision throughout, block by block: the same digits for any number of threads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.sparse.linalg import eigsh

from proxcode.peers._base import Matrix
from proxcode.utils.blocks import map_blocks
from proxcode.utils.validation import check_whole

Real = NDArray[np.float64]
Scale = Callable[[Matrix], Real]
LANCZOS_FROM = 1000  # rows: all eigenvectors of a small matrix take no longer


@dataclass(frozen=True)
class Centred:
    """Points less a mean, shape (d,)."""

    mean: Real

    def __call__(self, points: Matrix) -> Real:
        """Return the points, shifted."""
        return points - self.mean


@dataclass(frozen=True)
class UnitRows:
    """Points less a mean, each then of length 1; a point at the mean stays 0."""

    mean: Real

    def __call__(self, points: Matrix) -> Real:
        """Return the points, shifted and scaled."""
        shifted = points - self.mean
        length = np.sqrt(np.einsum("ij,ij->i", shifted, shifted))
        return shifted / np.where(length > 0, length, 1.0)[:, None]


@dataclass(frozen=True)
class AnchorKernel:
    """The features of points: exp(-|scale(x) - a_j|^2 / width) - offset_j."""

    scale: Scale
    anchors: Real
    width: float
    offset: Real

    def features(self, X: Matrix) -> Real:
        """Return all features, shape (n, m)."""
        out = np.empty((len(X), len(self.anchors)))
        for rows, block in map_blocks(lambda rows: self._block(X[rows]), len(X)):
            out[rows] = block
        return out

    def project(self, X: Matrix, directions: Real) -> Real:
        """Return features times directions without all features in memory; one row more of them is a constant."""
        out = np.empty((len(X), directions.shape[1]))
        m = len(self.anchors)
        constant = directions[m:].sum(axis=0)
        for rows, block in map_blocks(lambda rows: self._block(X[rows]) @ directions[:m] + constant, len(X)):
            out[rows] = block
        return out

    def _block(self, points: Matrix) -> Real:
        return np.exp(squared_distances(self.scale(points), self.anchors) / -self.width) - self.offset


def draw_anchors(X: Matrix, scale: Scale, n_anchors: int, rng: np.random.RandomState) -> Real:
    """Return scaled anchors, as many as asked for or as there are points."""
    return scale(X[rng.permutation(len(X))[: check_whole("n_anchors", n_anchors, 1)]])


def centred_kernel(X: Matrix, scale: Scale, anchors: Real) -> tuple[AnchorKernel, Real]:
    """Return the kernel of width 2 * (mean squared distance), centred on X, and its features of X."""
    features = np.empty((len(X), len(anchors)))
    for rows, block in map_blocks(lambda rows: squared_distances(scale(X[rows]), anchors), len(X)):
        features[rows] = block
    width = 2 * features.mean() or 1.0
    features /= -width
    np.exp(features, out=features)
    offset = features.mean(axis=0)
    features -= offset
    return AnchorKernel(scale, anchors, width, offset), features


def squared_distances(points: Real, anchors: Real) -> Real:
    """Return |x - a|^2 for each point and anchor, shape (n, m)."""
    of_points, of_anchors = (np.einsum("ij,ij->i", A, A) for A in (points, anchors))
    return np.maximum(of_points[:, None] + of_anchors - 2 * (points @ anchors.T), 0)


def whitener(features: Real, ridge: float) -> Real:
    """Return T, upper triangular, with T'(F'F + ridge I)T = I: A w = lambda (F'F + ridge I) w is T'AT u = lambda u."""
    m = features.shape[1]
    gram = features.T @ features + ridge * np.eye(m)
    return solve_triangular(cholesky(gram), np.eye(m))


def leading(A: Real) -> Real:
    """Return the unit eigenvector of the largest eigenvalue of a symmetric matrix, its largest entry positive."""
    last = len(A) - 1
    if last < LANCZOS_FROM:
        vector = eigh(A, subset_by_index=(last, last))[1][:, 0]
    else:
        start = np.random.default_rng(0).standard_normal(len(A))
        vector = eigsh(A, k=1, which="LA", v0=start)[1][:, 0]
    return vector * (1.0 if vector[np.abs(vector).argmax()] >= 0 else -1.0)


def signs(values: Any) -> Real:
    """Return +1 where a value is at least 0 and -1 elsewhere, as `transform` takes a bit."""
    return np.where(np.asarray(values) >= 0, 1.0, -1.0)
