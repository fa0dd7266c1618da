"""The sign of each coordinate: what vector databases call binary quantisation."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from proxcode.peers._base import Matrix, Peer


class Sign(Peer):
    """Bit k is 1 where coordinate k is above 0, or above its mean.

    Coordinates that are never negative, such as those of GIST, all give the same bit unless they are centred.

    Parameters
    ----------
    n_bits : int or None, default=None
        So many coordinates, from the first on. None is all of them.
    centred : bool, default=False
        Take the mean of the points that are fitted off each coordinate; without it nothing is learned.
    random_state : int, RandomState or None, default=None
        Not used, nothing is random: it is there so that all peers are made alike.

    Attributes
    ----------
    mean_ : ndarray of shape (n_bits,)
        0 without `centred`.

    Examples
    --------
    >>> from proxcode.peers import Sign
    >>> Sign().fit_transform([[0.3, -1.0, 0.0], [-2.0, 0.5, 0.1]])
    array([[1, 0, 0],
           [0, 1, 1]], dtype=uint8)
    """

    n_bits: Any
    _n_features_out: int

    def __init__(self, n_bits: int | None = None, *, centred: bool = False, random_state: Any = None) -> None:
        self.n_bits = n_bits
        self.centred = centred
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Look at the shape of X, and at its mean."""
        if self.n_bits is not None:
            return super().fit(X, y)
        points = self._points(X, reset=True)
        self._look(points, points.shape[1])
        return self

    def _fit(self, X: Matrix, y: Any) -> None:
        d = X.shape[1]
        if self.n_bits > d:
            raise ValueError(
                f"n_bits={self.n_bits}: Sign makes one bit per dimension, and X has d={d} dimensions; "
                f"give at most {d} bits, or None for all."
            )
        self._look(X, self.n_bits)

    def _look(self, X: Matrix, n_bits: int) -> None:
        self._n_features_out = n_bits
        self.mean_ = X[:, :n_bits].mean(axis=0, dtype=np.float64) if self.centred else np.zeros(n_bits)

    def _scores(self, X: Matrix) -> Matrix:
        return np.where(X[:, : self._n_features_out] > self.mean_, 1.0, -1.0)
