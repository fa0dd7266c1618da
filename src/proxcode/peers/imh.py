"""Inductive manifold hashing: a manifold learned on a few base points and carried to all by weighted means.

Shen, Shen, Shi, van den Hengel, Tang, "Inductive Hashing on Manifolds" (CVPR 2013), as in their released code:

1. B: m base points, and Z, w(x, x_j) = exp(-|x - x_j|^2 / sigma^2) for the s nearest base points x_j of x with rows
   normalised (`_anchors.py`),
2. Y_B: an embedding of the base points into r dimensions, centred or nearly so,
3. y(x) = sum_j w(x, x_j) y_j / sum_j w(x, x_j), the row of x in Z Y_B; bit k is the sign of y_k(x).

IMH-LE embeds by Laplacian eigenmaps of base points and all points together:

4. G: among base points, w for the k nearest of each with a width of their own, symmetric by the larger of the two;
   M = diag(G1) - G,
5. T = diag(W'1) - Z'W, where W is Z before its rows are normalised: what all points between the base points add once
   they have been eliminated by 3,
6. Y_B: eigenvectors of M + 2T with the r smallest eigenvalues above 10^-3.

IMH-tSNE embeds by t-SNE (`_tsne.py`) with perplexity 10.
"""

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import diags_array

from proxcode.peers._anchors import AnchorPeer, Doubles, Nearest, kernel_width, nearest_anchors, with_positive_largest
from proxcode.peers._tsne import t_sne
from proxcode.utils.validation import check_whole

SMALLEST_EIGENVALUE = 1e-3


class IMHLaplacian(AnchorPeer):
    """IMH-LE: Laplacian eigenmaps of base points, carried to all points by weighted means.

    Parameters
    ----------
    n_bits : int, default=64
    n_anchors : int, default=300
        Number m of base points; the authors' code has 400. All points are base points where there are fewer.
    n_nearest : int, default=3
        Number s of base points that a point is the weighted mean of; the authors' code has 5.
    n_neighbors : int, default=20
        Number k of nearest base points, itself among them, that a base point is linked to.
    random_state : int, RandomState or None, default=None
        Draws the points that k-means starts from.

    Attributes
    ----------
    anchors_ : ndarray of shape (m, d)
    sigma_ : float
        Width of the kernel.
    projection_ : ndarray of shape (m, n_bits)
        The embedding Y_B of the base points.
    threshold_ : ndarray of shape (n_bits,)
        Zeros.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import IMHLaplacian
    >>> X, _ = load_digits(return_X_y=True)
    >>> IMHLaplacian(n_bits=32, random_state=0).fit(X).encode(X).shape
    (1797, 4)
    """

    def __init__(
        self,
        n_bits: int = 64,
        n_anchors: int = 300,
        n_nearest: int = 3,
        n_neighbors: int = 20,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_bits, n_anchors, n_nearest, random_state)
        self.n_neighbors = n_neighbors

    def _learn(self, Z: Any, nearest: Nearest, rng: np.random.RandomState) -> None:
        n_neighbors = check_whole("n_neighbors", self.n_neighbors, 2)
        row_sums = np.exp(-nearest.squared / self.sigma_**2).sum(axis=1)
        between = np.diag(Z.T @ row_sums) - (Z.T @ (diags_array(row_sums) @ Z)).toarray()
        values, vectors = eigh(_base_laplacian(self.anchors_, n_neighbors) + 2 * between)
        smooth = vectors[:, values > SMALLEST_EIGENVALUE]
        if smooth.shape[1] < self.n_bits:
            raise ValueError(
                f"n_bits={self.n_bits}: IMHLaplacian takes an eigenvector of the graph for each bit, and these "
                f"n_samples={Z.shape[0]} with {Z.shape[1]} base points have {smooth.shape[1]}; give at most as many "
                "bits, or more anchors."
            )
        self.projection_ = with_positive_largest(smooth[:, : self.n_bits])
        self.threshold_ = np.zeros(self.n_bits)


class IMHTSNE(AnchorPeer):
    """IMH-tSNE: t-SNE of base points, carried to all points by weighted means.

    Parameters
    ----------
    n_bits : int, default=64
    n_anchors : int, default=300
        Number m of base points; the authors' code has 400. All points are base points where there are fewer.
    n_nearest : int, default=3
        Number s of base points that a point is the weighted mean of; the authors' code has 5.
    perplexity : float, default=10.0
        Number of neighbours that t-SNE looks at; at most a third of the base points are taken.
    random_state : int, RandomState or None, default=None
        Draws the points that k-means starts from and the start of t-SNE.

    Attributes
    ----------
    anchors_ : ndarray of shape (m, d)
    sigma_ : float
        Width of the kernel.
    projection_ : ndarray of shape (m, n_bits)
        The embedding Y_B of the base points.
    threshold_ : ndarray of shape (n_bits,)
        Zeros.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import IMHTSNE
    >>> X, _ = load_digits(return_X_y=True)
    >>> IMHTSNE(n_bits=32, n_anchors=50, random_state=0).fit(X).encode(X).shape
    (1797, 4)
    """

    def __init__(
        self,
        n_bits: int = 64,
        n_anchors: int = 300,
        n_nearest: int = 3,
        perplexity: float = 10.0,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_bits, n_anchors, n_nearest, random_state)
        self.perplexity = perplexity

    def _learn(self, Z: Any, nearest: Nearest, rng: np.random.RandomState) -> None:
        if not self.perplexity > 1:
            raise ValueError(f"perplexity={self.perplexity}: give a number above 1.")
        perplexity = max(min(self.perplexity, (len(self.anchors_) - 1) / 3), 1.0)
        self.projection_ = t_sne(self.anchors_, self.n_bits, perplexity, rng)
        self.threshold_ = np.zeros(self.n_bits)


def _base_laplacian(base: Doubles, n_neighbors: int) -> Doubles:
    """Return M, the Laplacian of the graph G among base points."""
    nearest = nearest_anchors(base, base, min(n_neighbors, len(base)))
    G = np.zeros((len(base), len(base)))
    np.put_along_axis(G, nearest.anchor, np.exp(-nearest.squared / kernel_width(nearest.squared) ** 2), axis=1)
    G = np.maximum(G, G.T)
    return np.diag(G.sum(axis=1)) - G
