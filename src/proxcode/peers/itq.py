"""Iterative quantisation: principal components, rotated until they lie near the corners of a cube.

Gong, Lazebnik, "Iterative Quantization: A Procrustean Approach to Learning Binary Codes" (CVPR 2011):

1. V: the centred samples on their first `n_bits` principal axes,
2. R: a random rotation,
3. B = sign(VR), the nearest corners,
4. R = U_A U_B' of the singular value decomposition B'V = U_B S U_A', the rotation that brings V nearest to B,
5. 3 and 4 again, `n_rotations` times.
"""

from dataclasses import dataclass
from typing import Any

from proxcode.hashing.rotation import rotate
from proxcode.peers._arrays import Matrix, Rng, principal_axes, project
from proxcode.peers._base import AxisPeer, LinearPeer
from proxcode.utils.validation import check_integer


@dataclass(eq=False, repr=False)
class ITQ(AxisPeer, LinearPeer):
    """Iterative quantisation: the rotation R of the principal components V that minimises `|sign(VR) - VR|^2`.

    A bit is a rotated principal component, so that there are at most as many bits as features and samples. Parameters
    not listed are those of `Peer`, attributes those of `LinearPeer`.

    Parameters
    ----------
    n_rotations : int, default=50
        Number of times that corners and rotation are updated.
    """

    n_rotations: int = 50

    def _fit(self, X: Matrix, y: Any, rng: Rng) -> None:
        n_rotations = check_integer("n_rotations", self.n_rotations, 0)
        self.mean_, axes = principal_axes(X, self.n_bits)
        V = project(X, self.mean_, axes).astype(X.dtype, copy=False)
        self.directions_ = axes @ rotate(V, self.n_bits, n_rotations, rng)
