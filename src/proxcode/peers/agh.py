"""Anchor graph hashing: signs of the smoothest eigenfunctions of an anchor graph.

Liu, Wang, Kumar, Chang, "Hashing with Graphs" (ICML 2011), as in their released code:

1. Z, Lambda and A = Z Lambda^-1 Z', the anchor graph (`_anchor_graph.py`),
2. V, Sigma: eigenvectors and eigenvalues of Lambda^-1/2 Z'Z Lambda^-1/2, largest first, of those in (0, 1 - 10^-3):
   an eigenvalue of 1 belongs to the constant or to a connected component of the graph, not to a cut,
3. W = n^1/2 Lambda^-1/2 V Sigma^-1/2; bit k of a sample with row z of Z is the sign of z w_k.

With two layers, half as many eigenvectors are used, each for two bits. For the second bit of y = Z w_k,

4. the samples with y > 0 and the others are each cut once more: f = y - b+ where y > 0, f = -y + b- elsewhere,
5. b+ and b- minimise f'(I - A)f under 1'f = 0. With p the indicator of y > 0, n+ = 1'p and
   c = p'(I - A)|y| / p'(I - A)p: b+ = (2 p'y + (n - n+) c) / n and b- = c - b+.
"""

from typing import Any

import numpy as np

from proxcode.peers._anchor_graph import AnchorGraphPeer, Nearest
from proxcode.peers._arrays import Matrix, Real, Rng

LARGEST_EIGENVALUE = 1 - 1e-3


class AGH(AnchorGraphPeer):
    """Anchor graph hashing with one layer: a bit is the sign of an eigenfunction of the anchor graph.

    There are at most as many bits as eigenvalues in (0, 0.999). Parameters and attributes are those of
    `AnchorGraphPeer`.
    """

    def _projection(self, Z: Any, nearest: Nearest, rng: Rng) -> Real:
        return self._eigenfunctions(Z, LARGEST_EIGENVALUE)[1]


class TwoLayerAGH(AnchorGraphPeer):
    """Anchor graph hashing with two layers: an eigenfunction gives its sign and a second cut of either sign.

    The bits of the first layer come first. If `n_bits` is odd, the last eigenfunction gives its sign alone. Parameters,
    and attributes not listed, are those of `AnchorGraphPeer`.

    Attributes
    ----------
    projection_ : ndarray of shape (m, r), r = ceil(n_bits / 2)
        W, with a column for each eigenfunction.
    positive_threshold_, negative_threshold_ : ndarrays of shape (n_bits - r,)
        b+ and b- of the second layer.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import TwoLayerAGH
    >>> X, _ = load_digits(return_X_y=True)
    >>> model = TwoLayerAGH(n_bits=9, random_state=0).fit(X)
    >>> model.projection_.shape[1], len(model.positive_threshold_)
    (5, 4)
    """

    def _projection(self, Z: Any, nearest: Nearest, rng: Rng) -> Real:
        _, W = self._eigenfunctions(Z, LARGEST_EIGENVALUE, bits_each=2)
        self.positive_threshold_, self.negative_threshold_ = _second_thresholds(Z, Z @ W[:, : self.n_bits // 2])
        return W

    def _margins(self, X: Matrix) -> Matrix:
        first = super()._margins(X)
        y = first[:, : self.n_bits // 2]
        second = np.where(y > 0, y - self.positive_threshold_, self.negative_threshold_ - y)
        return np.hstack([first, second])


def _second_thresholds(Z: Any, Y: Real) -> tuple[Real, Real]:
    """Return b+ and b- for each column y of Y (step 5)."""
    n = len(Y)
    p = (Y > 0).astype(np.float64)
    n_positive = p.sum(axis=0)
    Zp = Z.T @ p
    linked = Zp / Z.sum(axis=0)[:, None]
    pAp = (Zp * linked).sum(axis=0)
    pAy = ((Z.T @ np.abs(Y)) * linked).sum(axis=0)
    py = (p * Y).sum(axis=0)
    c = (py - pAy) / (n_positive - pAp)
    positive_threshold = (2 * py + (n - n_positive) * c) / n
    return positive_threshold, c - positive_threshold
