"""Kernel features of a sample by its distances to anchors, and directions among them.

1. Anchors a_1..a_m are random samples of `fit`, without repetition,
2. feature j of x is exp(-|x - a_j|^2 / width), for some methods minus its mean over the samples of `fit`,
3. a bit is the sign of the features along a direction w.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.sparse.linalg import eigsh

from proxcode.hashing.kernel import default_landmarks
from proxcode.peers._arrays import Matrix, Real, Rng, map_rows, squared_distances, with_positive_largest
from proxcode.peers._base import Peer
from proxcode.utils.validation import check_integer

Scale = Callable[[Matrix], Real]

# Order of a matrix from which Lanczos iterations are faster than a full eigendecomposition.
LANCZOS_FROM = 1000


@dataclass(eq=False, repr=False)
class KernelPeer(Peer):
    """Base class of peers whose margins are linear in kernel features by anchors.

    Parameters not listed are those of `Peer`.

    Parameters
    ----------
    n_anchors : int or None, default=300
        Number m of anchors; all samples become anchors if there are fewer. None is as many as a `KernelHash` has
        landmarks where there are labels.

    Attributes
    ----------
    kernel_ : AnchorKernel
    weights_ : ndarray of shape (m, n_bits) or (m + 1, n_bits)
        Direction of each bit; a last row, if present, is added to the margins.
    """

    n_anchors: int | None = 300

    def _margins(self, X: Matrix) -> Matrix:
        return self.kernel_.project(X, self.weights_)

    def _draw_anchors(self, X: Matrix, scale: Scale, rng: Rng) -> Real:
        n_anchors = self.n_anchors
        if n_anchors is None:
            n_anchors = default_landmarks(len(X), supervised=True, kept=False)
        return scale(X[rng.permutation(len(X))[: check_integer("n_anchors", n_anchors, 1)]])


@dataclass(frozen=True)
class Centred:
    """Samples minus a mean, shape (d,)."""

    mean: Real

    def __call__(self, X: Matrix) -> Real:
        return X - self.mean


@dataclass(frozen=True)
class UnitRows:
    """Samples minus a mean, each divided by its length; a sample equal to the mean becomes 0."""

    mean: Real

    def __call__(self, X: Matrix) -> Real:
        shifted = X - self.mean
        length = np.sqrt(np.einsum("ij,ij->i", shifted, shifted))
        return shifted / np.where(length > 0, length, 1.0)[:, None]


@dataclass(frozen=True)
class AnchorKernel:
    """Kernel features of samples: exp(-|scale(x) - a_j|^2 / width) - offset_j."""

    scale: Scale
    anchors: Real
    width: float
    offset: Real

    def features(self, X: Matrix) -> Real:
        """Return all features, shape (n, m)."""
        return map_rows(self._of_block, X, len(self.anchors))

    def project(self, X: Matrix, weights: Real) -> Real:
        """Return features @ weights[:m], plus weights[m] if present, with features in memory for few samples only."""
        m = len(self.anchors)
        constant = weights[m:].sum(axis=0)
        return map_rows(lambda block: self._of_block(block) @ weights[:m] + constant, X, weights.shape[1])

    def _of_block(self, X: Matrix) -> Real:
        return np.exp(squared_distances(self.scale(X), self.anchors) / -self.width) - self.offset


def centred_kernel(X: Matrix, scale: Scale, anchors: Real) -> tuple[AnchorKernel, Real]:
    """Return the kernel whose width is twice the mean squared distance, centred on X, and its features of X."""
    features = map_rows(lambda block: squared_distances(scale(block), anchors), X, len(anchors))
    width = 2 * features.mean() or 1.0
    features /= -width
    np.exp(features, out=features)
    offset = features.mean(axis=0)
    features -= offset
    return AnchorKernel(scale, anchors, width, offset), features


def whitener(features: Real, ridge: float) -> Real:
    """Return T, upper triangular, with T'(F'F + ridge I)T = I: A w = lambda (F'F + ridge I) w is T'AT u = lambda u."""
    m = features.shape[1]
    gram = features.T @ features + ridge * np.eye(m)
    return solve_triangular(cholesky(gram), np.eye(m))


def leading(A: Real) -> Real:
    """Return the unit eigenvector of the largest eigenvalue of a symmetric matrix, its largest entry positive."""
    last = len(A) - 1
    if last < LANCZOS_FROM:
        _, vectors = eigh(A, subset_by_index=(last, last))
    else:
        _, vectors = eigsh(A, k=1, which="LA", v0=np.random.default_rng(0).standard_normal(len(A)))
    return with_positive_largest(vectors)[:, 0]
