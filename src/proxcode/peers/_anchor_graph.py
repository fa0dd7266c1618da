"""The anchor graph, from which several peers start.

Liu, He, Chang, "Large Graph Construction for Scalable Semi-Supervised Learning" (ICML 2010), as in the released code of
"Hashing with Graphs" (ICML 2011):

1. U: m anchors, the centres of k-means after ten of Lloyd's rounds, started from m random samples,
2. the s nearest anchors of each of the n samples; sigma is the mean over samples of the distance to the s-th,
3. Z_ij = exp(-|x_i - u_j|^2 / sigma^2) / (sum of row i) for these s anchors, 0 for all others: n x m, sparse,
4. the graph of the samples is A = Z Lambda^-1 Z' with Lambda = diag(Z'1); its rows sum to 1,
5. for an eigenvector v of Lambda^-1/2 Z'Z Lambda^-1/2 with eigenvalue e > 0, w = Lambda^-1/2 v (n / e)^1/2 gives an
   eigenvector Zw of A with mean square 1, and the value zw for a new sample with row z of Z: an eigenfunction.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array

from proxcode.hashing.kernel import default_landmarks
from proxcode.peers._arrays import Integers, Matrix, Real, Rng, squared_distances, with_positive_largest
from proxcode.peers._base import Peer
from proxcode.utils.blocks import map_blocks
from proxcode.utils.validation import check_integer

N_ROUNDS = 10
SMALLEST_EIGENVALUE = 1e-10


class Nearest(NamedTuple):
    """The s nearest anchors of each sample, sorted by anchor number, and their squared distances; both (n, s)."""

    anchor: Integers
    squared: Real


@dataclass(eq=False, repr=False)
class AnchorGraphPeer(Peer):
    """Base class of peers whose margins are linear in a sample's row z of Z: z w_k for bit k.

    A subclass learns the vectors w_k from Z in `_projection`. Parameters not listed are those of `Peer`.

    Parameters
    ----------
    n_anchors : int or None, default=300
        Number m of anchors; all samples become anchors if there are fewer. None is as many as a `KernelHash` has
        landmarks where there are no labels.
    n_nearest : int, default=3
        Number s of nearest anchors that describe a sample.

    Attributes
    ----------
    anchors_ : ndarray of shape (m, d)
        The anchors that are among the s nearest of at least one sample.
    sigma_ : float
        Width of the kernel.
    projection_ : ndarray of shape (m, n_bits)
        w_k in column k.
    """

    n_anchors: int | None = 300
    n_nearest: int = 3

    def _fit(self, X: Matrix, y: Any, rng: Rng) -> None:
        n_anchors = self.n_anchors
        if n_anchors is None:
            n_anchors = default_landmarks(len(X), supervised=False, kept=False)
        n_anchors = check_integer("n_anchors", n_anchors, 2)
        n_nearest = check_integer("n_nearest", self.n_nearest, 1, n_anchors, ", the number of anchors")
        anchors = k_means(X, min(n_anchors, len(X)), rng)
        if len(anchors) < 2:
            raise ValueError(f"X has n_samples={len(X)}, all equal: pass at least 2 different samples.")
        self._s = min(n_nearest, len(anchors))
        nearest = nearest_anchors(X, anchors, self._s)
        used, number = np.unique(nearest.anchor, return_inverse=True)
        nearest = Nearest(number.reshape(nearest.anchor.shape), nearest.squared)
        self.anchors_, self.sigma_ = anchors[used], kernel_width(nearest.squared)
        self.projection_ = self._projection(anchor_weights(nearest, self.sigma_, len(used)), nearest, rng)

    def _margins(self, X: Matrix) -> Matrix:
        return self._anchor_weights(X) @ self.projection_

    def _anchor_weights(self, X: Matrix) -> Any:
        """Return the rows of Z of samples, a sparse array of shape (n, m)."""
        return anchor_weights(nearest_anchors(X, self.anchors_, self._s), self.sigma_, len(self.anchors_))

    @abstractmethod
    def _projection(self, Z: Any, nearest: Nearest, rng: Rng) -> Real:
        """Return `projection_`."""

    def _eigenfunctions(self, Z: Any, below: float = np.inf, bits_each: int = 1) -> tuple[Real, Real]:
        """Return the largest eigenvalues less than `below` and w in columns, as many as `n_bits` needs."""
        values, W = eigenfunctions(Z, below)
        self._check_eigenvectors(len(values), Z, bits_each)
        n_wanted = -(-self.n_bits // bits_each)
        return values[:n_wanted], W[:, :n_wanted]

    def _check_eigenvectors(self, n_found: int, Z: Any, bits_each: int = 1) -> None:
        """Raise ValueError if the graph has too few eigenvectors for the code length."""
        most = bits_each * n_found
        if most < self.n_bits:
            remedy = f"at most {most} bits, or more anchors" if n_found else "more samples"
            raise ValueError(
                f"n_bits={self.n_bits}: {type(self).__name__} found {n_found} eigenvectors with a suitable eigenvalue "
                f"in the graph of n_samples={Z.shape[0]} with {Z.shape[1]} anchors; pass {remedy}."
            )


def k_means(X: Matrix, m: int, rng: Rng) -> Real:
    """Return up to m centres; centres without samples, such as repetitions of another, are left out."""
    centres = X[rng.permutation(len(X))[:m]].astype(np.float64)
    for _ in range(N_ROUNDS):
        sums, counts = np.zeros_like(centres), np.zeros(m)

        def assign(rows: slice, centres: Real = centres) -> tuple[Real, Real]:
            own = squared_distances(X[rows], centres).argmin(axis=1)
            members = csr_array((np.ones(len(own)), own, np.arange(len(own) + 1)), shape=(len(own), m))
            return members.T @ X[rows].astype(np.float64), np.bincount(own, minlength=m).astype(np.float64)

        for _, (block_sums, block_counts) in map_blocks(assign, len(X)):
            sums += block_sums
            counts += block_counts
        centres = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
    return centres[counts > 0]


def nearest_anchors(X: Matrix, anchors: Real, s: int) -> Nearest:
    """Return the s nearest anchors of each sample, block by block."""

    def nearest(rows: slice) -> Nearest:
        squared = squared_distances(X[rows], anchors)
        anchor = np.sort(np.argpartition(squared, s - 1, axis=1)[:, :s], axis=1)
        return Nearest(anchor, np.take_along_axis(squared, anchor, axis=1))

    blocks = [block for _, block in map_blocks(nearest, len(X))]
    return Nearest(np.concatenate([b.anchor for b in blocks]), np.concatenate([b.squared for b in blocks]))


def kernel_width(squared: Real) -> float:
    """Return sigma, the mean distance to the s-th nearest anchor; a tiny positive number if all distances are 0."""
    distance = np.sqrt(squared.max(axis=1))
    return float(max(distance.mean(), np.finfo(np.float64).eps * (distance.max() or 1.0)))


def anchor_weights(nearest: Nearest, sigma: float, m: int) -> Any:
    """Return Z, a sparse array of shape (n, m) with rows that sum to 1."""
    # Subtracting the smallest distance leaves Z unchanged and keeps the weights of a far sample from underflow.
    beyond = nearest.squared - nearest.squared.min(axis=1, keepdims=True)
    weight = np.exp(-beyond / sigma**2)
    weight /= weight.sum(axis=1, keepdims=True)
    n, s = weight.shape
    return csr_array((weight.ravel(), nearest.anchor.ravel(), np.arange(0, n * s + 1, s)), shape=(n, m))


def inverse_or_zero(values: Real) -> Real:
    """Return 1 / values, and 0 where a value is 0."""
    return np.divide(1, values, out=np.zeros_like(values), where=values > 0)


def eigenfunctions(Z: Any, below: float = np.inf) -> tuple[Real, Real]:
    """Return the positive eigenvalues of A less than `below`, largest first, and w in columns.

    The eigenvalue 1 of the constant eigenvector is left out.
    """
    root = np.sqrt(Z.sum(axis=0))
    inverse = inverse_or_zero(root)
    reduced = inverse[:, None] * (Z.T @ Z).toarray() * inverse
    values, V = eigh(reduced - np.outer(root, root) / Z.shape[0])
    kept = np.flatnonzero((values > SMALLEST_EIGENVALUE) & (values < below))[::-1]
    W = inverse[:, None] * V[:, kept] * np.sqrt(Z.shape[0] / values[kept])
    return values[kept], with_positive_largest(W)
