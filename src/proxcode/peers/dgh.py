"""Discrete graph hashing: balanced, uncorrelated bits of an anchor graph, optimised as bits throughout.

Liu, Mu, Kumar, Chang, "Discrete Graph Hashing" (NIPS 2014), from their second start (DGH-R):

1. A = Z Lambda^-1 Z', the anchor graph (`_anchors.py`); the codes B maximise tr(B'AB) + rho tr(B'Y) over B in
   {-1, +1}^(n x r) and Y with 1'Y = 0 and Y'Y = nI (eq. 4),
2. start: H, Theta, eigenvectors 2 to r + 1 of A and their eigenvalues; from R = I, B = sgn(H Theta R) and R = U V' of
   the singular value decomposition Theta H'B = U S V', in turns; then Y = n^1/2 HR (eq. 8),
3. signed gradient: B = sgn(C(2AB + rho Y, B)) until it stays, at most 300 times; C(x, b) is b where x = 0
   (Algorithm 1),
4. Y = n^1/2 [U U~][V V~]' with JB = U S V', J the centring; U~, V~ fill up the rank, U~ at right angles to U and to 1,
5. 3 and 4 until B stays, at most 20 times (Algorithm 2),
6. a new point with row z of Z takes the code nearest to those of its neighbours, the sign of B'Z Lambda^-1 z.
"""

from typing import Any

import numpy as np

from proxcode.peers._anchors import AnchorPeer, Doubles, Nearest

N_START, N_GRADIENT, N_TURNS = 100, 300, 20


class DGH(AnchorPeer):
    """Discrete graph hashing: bits that agree along the anchor graph, nearly balanced and nearly uncorrelated.

    `transform` codes the points of `fit` like any others, by step 6.

    Parameters
    ----------
    n_bits : int, default=64
    n_anchors : int, default=300
        Number m of anchors; all points are anchors where there are fewer.
    n_nearest : int, default=3
        Number s of anchors that a point is described by.
    rho : float, default=0.1
        How much balance and independence of bits weigh against agreement along the graph.
    random_state : int, RandomState or None, default=None
        Draws the points that k-means starts from, and U~.

    Attributes
    ----------
    anchors_ : ndarray of shape (m, d)
    sigma_ : float
        Width of the kernel.
    projection_ : ndarray of shape (m, n_bits)
        Lambda^-1 Z'B.
    threshold_ : ndarray of shape (n_bits,)
        Zeros.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import DGH
    >>> X, _ = load_digits(return_X_y=True)
    >>> DGH(n_bits=32, random_state=0).fit(X).encode(X).shape
    (1797, 4)
    """

    def __init__(
        self,
        n_bits: int = 64,
        n_anchors: int = 300,
        n_nearest: int = 3,
        rho: float = 0.1,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_bits, n_anchors, n_nearest, random_state)
        self.rho = rho

    def _learn(self, Z: Any, nearest: Nearest, rng: np.random.RandomState) -> None:
        if not self.rho >= 0:
            raise ValueError(f"rho={self.rho}: give a number of at least 0.")
        mass = Z.sum(axis=0)[:, None]
        inverse = np.where(mass > 0, 1 / np.where(mass > 0, mass, 1), 0)
        values, W = self._eigenfunctions(Z)
        B, Y = _start(Z @ W, values)
        for _ in range(N_TURNS):
            before = B
            B = _signed_gradient(Z, inverse, B, self.rho * Y)
            if np.array_equal(B, before):
                break
            Y = _balanced_uncorrelated(B, rng)
        self.projection_, self.threshold_ = inverse * (Z.T @ B), np.zeros(self.n_bits)


def _start(H: Doubles, values: Doubles) -> tuple[Doubles, Doubles]:
    """Return B and Y of step 2; H comes times n^1/2."""
    R, B = np.eye(len(values)), np.zeros_like(H)
    for _ in range(N_START):
        before, B = B, np.where(H @ (values[:, None] * R) >= 0, 1.0, -1.0)
        if np.array_equal(B, before):
            break
        U, _, V_transposed = np.linalg.svd(values[:, None] * (H.T @ B))
        R = U @ V_transposed
    return B, H @ R


def _signed_gradient(Z: Any, inverse: Doubles, B: Doubles, pull: Doubles) -> Doubles:
    """Return B of step 3; `pull` is rho Y."""
    for _ in range(N_GRADIENT):
        gradient = 2 * (Z @ (inverse * (Z.T @ B))) + pull
        after = np.where(gradient == 0, B, np.sign(gradient))
        if np.array_equal(after, B):
            break
        B = after
    return B


def _balanced_uncorrelated(B: Doubles, rng: np.random.RandomState) -> Doubles:
    """Return Y of step 4."""
    n = len(B)
    centred = B - B.mean(axis=0)
    values, V = np.linalg.eigh(centred.T @ centred)
    lacking = values <= 1e-9 * n
    U = np.zeros_like(B)
    U[:, ~lacking] = centred @ V[:, ~lacking] / np.sqrt(values[~lacking])
    if lacking.any():
        fill = rng.standard_normal((n, lacking.sum()))
        for _ in range(2):  # twice is enough for right angles to all digits
            fill -= fill.mean(axis=0)
            fill -= U @ (U.T @ fill)
        U[:, lacking], _ = np.linalg.qr(fill)
    return np.sqrt(n) * U @ V.T
