"""Iterative quantisation: principal components, turned until they lie near the corners of a cube.

Gong, Lazebnik, "Iterative Quantization: A Procrustean Approach to Learning Binary Codes" (CVPR 2011):

1. V: the centred points on their first `n_bits` principal axes,
2. R: a random rotation,
3. B = sign(VR), the nearest corners,
4. R = U_A U_B' of the singular value decomposition B'V = U_B S U_A', the rotation that brings V nearest to B,
5. 3 and 4 again, `n_rotations` times.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from proxcode.peers._base import Matrix, Peer
from proxcode.peers._linear import principal_axes, project
from proxcode.utils.blocks import map_blocks, one_blas_thread
from proxcode.utils.validation import check_whole


class ITQ(Peer):
    """Iterative quantisation: the rotation R of the principal components V that minimises |sign(VR) - VR|^2.

    A bit is a rotated principal component, so that there are at most as many bits as dimensions and points; `fit`
    refuses more.

    Parameters
    ----------
    n_bits : int, default=64
    n_rotations : int, default=50
        Rounds of corners and rotation.
    random_state : int, RandomState or None, default=None
        Draws the rotation to start from.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
    directions_ : ndarray of shape (d, n_bits)
        Principal axes times the rotation.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import ITQ
    >>> X, _ = load_digits(return_X_y=True)
    >>> ITQ(n_bits=32, random_state=0).fit(X).encode(X).shape
    (1797, 4)
    """

    def __init__(self, n_bits: int = 64, n_rotations: int = 50, random_state: Any = None) -> None:
        self.n_bits = n_bits
        self.n_rotations = n_rotations
        self.random_state = random_state

    def _fit(self, X: Matrix, y: Any) -> None:
        n, d = X.shape
        if self.n_bits > min(n, d):
            raise ValueError(
                f"n_bits={self.n_bits}: ITQ makes at most one bit per dimension and per point, and X has d={d} "
                f"dimensions and n={n} points; give at most {min(n, d)} bits."
            )
        n_rotations = check_whole("n_rotations", self.n_rotations, 0)
        self.mean_, axes = principal_axes(X, self.n_bits)
        with one_blas_thread:
            start, _ = np.linalg.qr(check_random_state(self.random_state).standard_normal((self.n_bits, self.n_bits)))
            projected = project(X, self.mean_, axes).astype(X.dtype, copy=False)
            self.directions_ = axes @ _rotate(projected, start, n_rotations)

    def _scores(self, X: Matrix) -> Matrix:
        return project(X, self.mean_, self.directions_)


def _rotate(points: Matrix, rotation: NDArray[np.float64], n_rotations: int) -> NDArray[np.float64]:
    """Return the rotation after so many rounds, from the one given."""
    for _ in range(n_rotations):
        turn = rotation.astype(points.dtype)

        def match(rows: slice, turn: Matrix = turn) -> Matrix:
            corners = np.where(points[rows] @ turn >= 0, 1, -1).astype(points.dtype)
            return corners.T @ points[rows]

        agreement = np.zeros_like(rotation)
        for _, block in map_blocks(match, len(points)):
            agreement += block
        of_corners, _, of_points = np.linalg.svd(agreement)
        rotation = of_points.T @ of_corners.T
    return rotation
