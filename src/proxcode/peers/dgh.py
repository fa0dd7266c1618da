"""Discrete graph hashing: balanced, uncorrelated bits of an anchor graph, without relaxation of the bits.

Liu, Mu, Kumar, Chang, "Discrete Graph Hashing" (NIPS 2014), from their second initialisation (DGH-R):

1. A = Z Lambda^-1 Z', the anchor graph (`_anchor_graph.py`); the codes B maximise tr(B'AB) + rho tr(B'Y) over B in
   {-1, +1}^(n x r) and Y with 1'Y = 0 and Y'Y = nI (eq. 4),
2. initialisation: H, Theta, eigenvectors 2 to r + 1 of A and their eigenvalues; from R = I, B = sgn(H Theta R) and
   R = U V' of the singular value decomposition Theta H'B = U S V' alternate; then Y = n^1/2 HR (eq. 8),
3. signed gradient: B = sgn(C(2AB + rho Y, B)) until B is constant, at most 300 times; C(x, b) is b where x = 0
   (Algorithm 1),
4. Y = n^1/2 [U U~][V V~]' with JB = U S V', J the centring matrix; U~, V~ complete the rank, with U~ orthogonal to U
   and to 1,
5. 3 and 4 until B is constant, at most 20 times (Algorithm 2),
6. a new sample with row z of Z takes the code nearest to those of its neighbours, the sign of B'Z Lambda^-1 z.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from proxcode.peers._anchor_graph import AnchorGraphPeer, Nearest, inverse_or_zero
from proxcode.peers._arrays import Real, Rng, signs
from proxcode.utils.validation import check_number

# Largest numbers of iterations of steps 2, 3 and 5.
N_START, N_GRADIENT, N_TURNS = 100, 300, 20


@dataclass(eq=False, repr=False)
class DGH(AnchorGraphPeer):
    """Discrete graph hashing: bits that agree along the anchor graph, nearly balanced and nearly uncorrelated.

    `transform` encodes the samples of `fit` like new ones, by step 6; `projection_` is Lambda^-1 Z'B. Parameters not
    listed, and attributes, are those of `AnchorGraphPeer`.

    Parameters
    ----------
    rho : float, default=0.1
        Weight of balanced and uncorrelated bits against agreement along the graph.
    """

    rho: float = 0.1

    def _projection(self, Z: Any, nearest: Nearest, rng: Rng) -> Real:
        rho = check_number("rho", self.rho, at_least=0)
        inverse = inverse_or_zero(Z.sum(axis=0)[:, None])
        values, W = self._eigenfunctions(Z)
        B, Y = _start(Z @ W, values)
        for _ in range(N_TURNS):
            before = B
            B = _signed_gradient(Z, inverse, B, rho * Y)
            if np.array_equal(B, before):
                break
            Y = _balanced_uncorrelated(B, rng)
        return inverse * (Z.T @ B)


def _start(H: Real, values: Real) -> tuple[Real, Real]:
    """Return B and Y of step 2; H is multiplied by n^1/2."""
    R, B = np.eye(len(values)), np.zeros_like(H)
    for _ in range(N_START):
        before, B = B, signs(H @ (values[:, None] * R))
        if np.array_equal(B, before):
            break
        U, _, V_transposed = np.linalg.svd(values[:, None] * (H.T @ B))
        R = U @ V_transposed
    return B, H @ R


def _signed_gradient(Z: Any, inverse: Real, B: Real, rho_Y: Real) -> Real:
    """Return B of step 3."""
    for _ in range(N_GRADIENT):
        gradient = 2 * (Z @ (inverse * (Z.T @ B))) + rho_Y
        after = np.where(gradient == 0, B, np.sign(gradient))
        if np.array_equal(after, B):
            break
        B = after
    return B


def _balanced_uncorrelated(B: Real, rng: Rng) -> Real:
    """Return Y of step 4."""
    n = len(B)
    centred = B - B.mean(axis=0)
    values, V = np.linalg.eigh(centred.T @ centred)
    lacking = values <= 1e-9 * n
    U = np.zeros_like(B)
    U[:, ~lacking] = centred @ V[:, ~lacking] / np.sqrt(values[~lacking])
    if lacking.any():
        fill = rng.standard_normal((n, lacking.sum()))
        # The second pass removes the rounding errors of the first.
        for _ in range(2):
            fill -= fill.mean(axis=0)
            fill -= U @ (U.T @ fill)
        U[:, lacking], _ = np.linalg.qr(fill)
    return np.sqrt(n) * U @ V.T
