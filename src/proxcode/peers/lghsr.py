"""Large graph hashing with spectral rotation: eigenvectors of the anchor graph, turned towards balanced corners.

Li, Hu, Nie, "Large Graph Hashing with Spectral Rotation" (AAAI 2017):

1. Z and Lambda, the anchor graph (`_anchors.py`),
2. F: left singular vectors 2 to r + 1 of Z Lambda^-1/2, times n^1/2; the first is constant,
3. Q: a random rotation,
4. B: +1 for the half of the points with the larger entries in each column of FQ, -1 for the others; of all balanced
   codes, the nearest to FQ,
5. Q = U V' of the singular value decomposition F'B = U S V', the rotation that brings F nearest to B,
6. 4 and 5 again, `n_rotations` times,
7. bit k of a new point, by its row z of Z, is on the side of the median of column k of FQ that z W q_k is on, where
   F = ZW.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.peers._anchors import AnchorPeer, Doubles, Nearest
from proxcode.utils.validation import check_whole


class LGHSR(AnchorPeer):
    """Eigenfunctions of the anchor graph, rotated to lie near balanced bits and split at their medians.

    Parameters
    ----------
    n_bits : int, default=64
    n_anchors : int, default=300
        Number m of anchors; all points are anchors where there are fewer.
    n_nearest : int, default=3
        Number s of anchors that a point is described by.
    n_rotations : int, default=20
        Rounds of bits and rotation.
    random_state : int, RandomState or None, default=None
        Draws the points that k-means starts from and the rotation to start from.

    Attributes
    ----------
    anchors_ : ndarray of shape (m, d)
    sigma_ : float
        Width of the kernel.
    projection_ : ndarray of shape (m, n_bits)
        WQ, a column for each bit.
    threshold_ : ndarray of shape (n_bits,)
        Medians of FQ.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import LGHSR
    >>> X, _ = load_digits(return_X_y=True)
    >>> LGHSR(n_bits=32, random_state=0).fit(X).encode(X).shape
    (1797, 4)
    """

    def __init__(
        self,
        n_bits: int = 64,
        n_anchors: int = 300,
        n_nearest: int = 3,
        n_rotations: int = 20,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_bits, n_anchors, n_nearest, random_state)
        self.n_rotations = n_rotations

    def _learn(self, Z: Any, nearest: Nearest, rng: np.random.RandomState) -> None:
        n_rotations = check_whole("n_rotations", self.n_rotations, 0)
        _, W = self._eigenfunctions(Z)
        F = Z @ W
        Q, _ = np.linalg.qr(rng.standard_normal((self.n_bits, self.n_bits)))
        for _ in range(n_rotations):
            U, _, V_transposed = np.linalg.svd(F.T @ _balanced(F @ Q))
            Q = U @ V_transposed
        self.projection_, self.threshold_ = W @ Q, np.median(F @ Q, axis=0)


def _balanced(scores: Doubles) -> NDArray[np.float64]:
    """Return -1 and +1 by the side of each column's median."""
    return np.where(scores >= np.median(scores, axis=0), 1.0, -1.0)
