"""Large graph hashing with spectral rotation: eigenvectors of the anchor graph, rotated towards balanced codes.

Li, Hu, Nie, "Large Graph Hashing with Spectral Rotation" (AAAI 2017):

1. Z and Lambda, the anchor graph (`_anchor_graph.py`),
2. F: left singular vectors 2 to r + 1 of Z Lambda^-1/2, times n^1/2; the first is constant,
3. Q: a random rotation,
4. B: +1 for the half of the samples with the larger entries in each column of FQ, -1 for the others; of all balanced
   codes, the nearest to FQ,
5. Q = U V' of the singular value decomposition F'B = U S V', the rotation that brings F nearest to B,
6. 4 and 5 again, `n_rotations` times,
7. bit k of a new sample with row z of Z is 1 where z W q_k is at least the median of column k of FQ, with F = ZW.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from proxcode.peers._anchor_graph import AnchorGraphPeer, Nearest
from proxcode.peers._arrays import Matrix, Real, Rng, signs
from proxcode.utils.validation import check_integer


@dataclass(eq=False, repr=False)
class LGHSR(AnchorGraphPeer):
    """Eigenfunctions of the anchor graph, rotated to lie near balanced bits and split at their medians.

    `projection_` is WQ. Parameters and attributes not listed are those of `AnchorGraphPeer`.

    Parameters
    ----------
    n_rotations : int, default=20
        Number of times that bits and rotation are updated.

    Attributes
    ----------
    threshold_ : ndarray of shape (n_bits,)
        Medians of the columns of FQ.
    """

    n_rotations: int = 20

    def _projection(self, Z: Any, nearest: Nearest, rng: Rng) -> Real:
        n_rotations = check_integer("n_rotations", self.n_rotations, 0)
        _, W = self._eigenfunctions(Z)
        F = Z @ W
        Q, _ = np.linalg.qr(rng.standard_normal((self.n_bits, self.n_bits)))
        for _ in range(n_rotations):
            rotated = F @ Q
            B = signs(rotated - np.median(rotated, axis=0))
            U, _, V_transposed = np.linalg.svd(F.T @ B)
            Q = U @ V_transposed
        self.threshold_ = np.median(F @ Q, axis=0)
        return W @ Q

    def _margins(self, X: Matrix) -> Matrix:
        return super()._margins(X) - self.threshold_
