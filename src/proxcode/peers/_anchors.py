"""The anchor graph, from which several peers start.

Liu, He, Chang, "Large Graph Construction for Scalable Semi-Supervised Learning" (ICML 2010), as in the released code of
"Hashing with Graphs" (ICML 2011):

1. U: m anchors, k-means centres of the n points after ten of Lloyd's rounds from m points drawn at random,
2. the s nearest anchors of each point; sigma is the mean over points of the distance to the s-th,
3. Z_ij = exp(-|x_i - u_j|^2 / sigma^2) / (sum of row i) for these s, 0 for all others: n x m, sparse,
4. the graph among points is A = Z Lambda^-1 Z' with Lambda = diag(Z'1); its rows sum to 1,
5. for an eigenvector v of Lambda^-1/2 Z'Z Lambda^-1/2 with eigenvalue e > 0, the entries of
   Z Lambda^-1/2 v (n / e)^1/2 are those of an eigenvector of A with mean square 1, and a new point's row of Z carries
   it on.
"""

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from proxcode.peers._base import Matrix, Peer
from proxcode.utils.blocks import map_blocks, one_blas_thread
from proxcode.utils.validation import check_whole

N_ROUNDS = 10
SMALLEST_EIGENVALUE = 1e-10

Doubles = NDArray[np.float64]


class Nearest(NamedTuple):
    """The s nearest anchors of each point in the order of their numbers: these, and squared distances; both (n, s)."""

    anchor: NDArray[np.int64]
    squared: Doubles


class AnchorPeer(Peer):
    """A peer whose bits are signs of linear functions of a point's row of Z; a subclass learns them (`_learn`).

    Parameters
    ----------
    n_bits : int, default=64
    n_anchors : int, default=300
        Number m of anchors; all points are anchors where there are fewer.
    n_nearest : int, default=3
        Number s of anchors that a point is described by.
    random_state : int, RandomState or None, default=None
        Draws the points that k-means starts from, and the method's own choices.

    Attributes
    ----------
    anchors_ : ndarray of shape (m, d)
        Without those that are among the s nearest of no point.
    sigma_ : float
    projection_ : ndarray of shape (m, n_bits)
    threshold_ : ndarray of shape (n_bits,)
    """

    _bits_per_eigenvector = 1

    def __init__(self, n_bits: int = 64, n_anchors: int = 300, n_nearest: int = 3, random_state: Any = None) -> None:
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.n_nearest = n_nearest
        self.random_state = random_state

    def _fit(self, X: Matrix, y: Any) -> None:
        n_anchors = check_whole("n_anchors", self.n_anchors, 2)
        n_nearest = check_whole("n_nearest", self.n_nearest, 1, n_anchors, ", the number of anchors")
        rng = check_random_state(self.random_state)
        with one_blas_thread:
            anchors = k_means(X, min(n_anchors, len(X)), rng)
            if len(anchors) < 2:
                raise ValueError(
                    f"X has n_samples={len(X)}, all alike: {type(self).__name__} needs at least 2 points that differ."
                )
            self._s = min(n_nearest, len(anchors))
            nearest = nearest_anchors(X, anchors, self._s)
            used, place = np.unique(nearest.anchor, return_inverse=True)
            nearest = Nearest(place.reshape(nearest.anchor.shape), nearest.squared)
            self.anchors_, self.sigma_ = anchors[used], kernel_width(nearest.squared)
            self._learn(anchor_weights(nearest, self.sigma_, len(used)), nearest, rng)

    def _scores(self, X: Matrix) -> Matrix:
        return self._row(X) @ self.projection_ - self.threshold_

    def _row(self, X: Matrix) -> Any:
        return anchor_weights(nearest_anchors(X, self.anchors_, self._s), self.sigma_, len(self.anchors_))

    @abstractmethod
    def _learn(self, Z: Any, nearest: Nearest, rng: np.random.RandomState) -> None:
        """Set `projection_` and `threshold_`."""

    def _eigenfunctions(self, Z: Any, below: float = np.inf) -> tuple[Doubles, Doubles]:
        """Return as many eigenvalues as the bits need and W in columns, or say that there are too few."""
        values, W = eigenfunctions(Z, below)
        per = self._bits_per_eigenvector
        n_wanted = -(-self.n_bits // per)
        if len(values) < n_wanted:
            most = f"at most {per * len(values)} bits, or more anchors" if len(values) else "more points or anchors"
            raise ValueError(
                f"n_bits={self.n_bits}: {type(self).__name__} needs {n_wanted} eigenvectors of the anchor graph, but "
                f"the graph of these n_samples={Z.shape[0]} with {Z.shape[1]} anchors has {len(values)} with an "
                f"eigenvalue between 0 and {min(below, 1.0)}; give {most}."
            )
        return values[:n_wanted], W[:, :n_wanted]


def k_means(X: Matrix, m: int, rng: np.random.RandomState) -> Doubles:
    """Return up to m centres; those that hold no point in the end, as all but one of several alike, are left out."""
    centres = X[rng.permutation(len(X))[:m]].astype(np.float64)
    for _ in range(N_ROUNDS):
        sums, counts = np.zeros_like(centres), np.zeros(m)

        def gather(rows: slice, centres: Doubles = centres) -> tuple[Doubles, Doubles]:
            own = squared_distances(X[rows], centres).argmin(axis=1)
            members = csr_array((np.ones(len(own)), own, np.arange(len(own) + 1)), shape=(len(own), m))
            return members.T @ X[rows].astype(np.float64), np.bincount(own, minlength=m).astype(np.float64)

        for _, (block_sums, block_counts) in map_blocks(gather, len(X)):
            sums += block_sums
            counts += block_counts
        centres = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
    return centres[counts > 0]


def squared_distances(X: Matrix, Y: Doubles) -> Doubles:
    """Return |x_i - y_j|^2 in double precision; about the mean of Y, lest large numbers cancel."""
    mean = Y.mean(axis=0)
    X, Y = X - mean, Y - mean
    squared: Doubles = X @ (-2 * Y.T)
    squared += np.einsum("ij,ij->i", X, X)[:, None]
    squared += np.einsum("ij,ij->i", Y, Y)
    return np.maximum(squared, 0, out=squared)


def nearest_anchors(X: Matrix, anchors: Doubles, s: int) -> Nearest:
    """Return the s nearest anchors of each point, block by block."""

    def nearest(rows: slice) -> Nearest:
        squared = squared_distances(X[rows], anchors)
        anchor = np.sort(np.argpartition(squared, s - 1, axis=1)[:, :s], axis=1)
        return Nearest(anchor, np.take_along_axis(squared, anchor, axis=1))

    blocks = [block for _, block in map_blocks(nearest, len(X))]
    return Nearest(np.concatenate([b.anchor for b in blocks]), np.concatenate([b.squared for b in blocks]))


def kernel_width(squared: Doubles) -> float:
    """Return sigma, the mean distance to the s-th nearest anchor; next to none where all distances are 0."""
    distance = np.sqrt(squared.max(axis=1))
    return float(max(distance.mean(), np.finfo(np.float64).eps * (distance.max() or 1.0)))


def anchor_weights(nearest: Nearest, sigma: float, m: int) -> Any:
    """Return Z, a sparse array of shape (n, m) with rows that sum to 1."""
    # A row's common factor drops out; without it, a point far from all anchors keeps weights.
    beyond = nearest.squared - nearest.squared.min(axis=1, keepdims=True)
    weight = np.exp(-beyond / sigma**2)
    weight /= weight.sum(axis=1, keepdims=True)
    n, s = weight.shape
    return csr_array((weight.ravel(), nearest.anchor.ravel(), np.arange(0, n * s + 1, s)), shape=(n, m))


def eigenfunctions(Z: Any, below: float = np.inf) -> tuple[Doubles, Doubles]:
    """Return the eigenvalues of A above 0, largest first and without the 1 of the constant, and W in columns.

    Z @ W are the eigenvectors.
    """
    mass = Z.sum(axis=0)
    root = np.sqrt(mass)
    inverse = np.where(root > 0, 1 / np.where(root > 0, root, 1), 0)
    reduced = inverse[:, None] * (Z.T @ Z).toarray() * inverse
    values, V = eigh(reduced - np.outer(root, root) / Z.shape[0])
    kept = np.flatnonzero((values > SMALLEST_EIGENVALUE) & (values < below))[::-1]
    W = inverse[:, None] * V[:, kept] * np.sqrt(Z.shape[0] / values[kept])
    return values[kept], with_positive_largest(W)


def with_positive_largest(vectors: Doubles) -> Doubles:
    """Return each column with the sign that makes its largest entry positive: a graph leaves the sign open."""
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    return vectors * np.where(largest < 0, -1.0, 1.0)
