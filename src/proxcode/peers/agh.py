"""Anchor graph hashing: signs of the smoothest eigenfunctions of a graph through anchors.

Liu, Wang, Kumar, Chang, "Hashing with Graphs" (ICML 2011), as in their released code:

1. Z, Lambda and A = Z Lambda^-1 Z', the anchor graph (`_anchors.py`),
2. V, Sigma: eigenvectors and eigenvalues of Lambda^-1/2 Z'Z Lambda^-1/2, largest first, of those in (0, 1 - 10^-3):
   an eigenvalue of 1 is the constant or a component of the graph, not a cut,
3. W = n^1/2 Lambda^-1/2 V Sigma^-1/2; bit k of a point with row z of Z is the sign of z w_k.

With two layers only half the eigenvectors are taken, each for two bits. For the second bit of y = Z w_k,

4. the points with y > 0 and the others are each cut once more: f = y - b+ where y > 0, f = -y + b- elsewhere,
5. b+ and b- minimise f'(I - A)f under 1'f = 0. With p the indicator of y > 0, n+ = 1'p and
   c = p'(I - A)|y| / p'(I - A)p: b+ = (2 p'y + (n - n+) c) / n and b- = c - b+.
"""

from typing import Any

import numpy as np

from proxcode.peers._anchors import AnchorPeer, Doubles, Nearest
from proxcode.peers._base import Matrix

LARGEST_EIGENVALUE = 1 - 1e-3


class AGH(AnchorPeer):
    """Anchor graph hashing with one layer: a bit is the sign of an eigenfunction of the anchor graph.

    `fit` refuses more bits than the graph has eigenvectors with an eigenvalue in (0, 0.999).

    Parameters
    ----------
    n_bits : int, default=64
    n_anchors : int, default=300
        Number m of anchors; all points are anchors where there are fewer.
    n_nearest : int, default=3
        Number s of anchors that a point is described by.
    random_state : int, RandomState or None, default=None
        Draws the points that k-means starts from.

    Attributes
    ----------
    anchors_ : ndarray of shape (m, d)
    sigma_ : float
        Width of the kernel.
    projection_ : ndarray of shape (m, n_bits)
        W, a column for each bit.
    threshold_ : ndarray of shape (n_bits,)
        Zeros.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import AGH
    >>> X, _ = load_digits(return_X_y=True)
    >>> AGH(n_bits=32, random_state=0).fit(X).encode(X).shape
    (1797, 4)
    """

    def _learn(self, Z: Any, nearest: Nearest, rng: np.random.RandomState) -> None:
        _, self.projection_ = self._eigenfunctions(Z, LARGEST_EIGENVALUE)
        self.threshold_ = np.zeros(self.n_bits)


class TwoLayerAGH(AnchorPeer):
    """Anchor graph hashing with two layers: an eigenfunction gives its sign, and a second cut of each side.

    The bits of the first layer come first. Where `n_bits` is odd, the last eigenfunction gives its sign alone.

    Parameters
    ----------
    n_bits : int, default=64
    n_anchors : int, default=300
        Number m of anchors; all points are anchors where there are fewer.
    n_nearest : int, default=3
        Number s of anchors that a point is described by.
    random_state : int, RandomState or None, default=None
        Draws the points that k-means starts from.

    Attributes
    ----------
    anchors_ : ndarray of shape (m, d)
    sigma_ : float
        Width of the kernel.
    projection_ : ndarray of shape (m, r), r half of `n_bits`, rounded up
        W, a column for each eigenfunction.
    positive_threshold_, negative_threshold_ : ndarrays of shape (n_bits - r,)
        b+ and b- of the second layer.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import TwoLayerAGH
    >>> X, _ = load_digits(return_X_y=True)
    >>> TwoLayerAGH(n_bits=32, random_state=0).fit(X).encode(X).shape
    (1797, 4)
    """

    _bits_per_eigenvector = 2

    def _learn(self, Z: Any, nearest: Nearest, rng: np.random.RandomState) -> None:
        _, self.projection_ = self._eigenfunctions(Z, LARGEST_EIGENVALUE)
        Y = Z @ self.projection_[:, : self.n_bits // 2]
        self.positive_threshold_, self.negative_threshold_ = _second_thresholds(Z, Y)

    def _scores(self, X: Matrix) -> Matrix:
        first = self._row(X) @ self.projection_
        twice = first[:, : self.n_bits // 2]
        second = np.where(twice > 0, twice - self.positive_threshold_, self.negative_threshold_ - twice)
        return np.hstack([first, second])


def _second_thresholds(Z: Any, Y: Doubles) -> tuple[Doubles, Doubles]:
    """Return b+ and b- for each column of Y."""
    n = len(Y)
    positive = (Y > 0).astype(np.float64)
    n_positive = positive.sum(axis=0)
    linked = (Z.T @ positive) / Z.sum(axis=0)[:, None]
    among = ((Z.T @ positive) * linked).sum(axis=0)
    to_size = ((Z.T @ np.abs(Y)) * linked).sum(axis=0)
    above = (positive * Y).sum(axis=0)
    c = (above - to_size) / (n_positive - among)
    positive_threshold = (2 * above + (n - n_positive) * c) / n
    return positive_threshold, c - positive_threshold
