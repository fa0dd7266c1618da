"""Locality-sensitive hashing by random hyperplanes through the mean of the data."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from proxcode.peers._base import Matrix, Peer
from proxcode.peers._linear import project


class LSH(Peer):
    """Sign of random projections of the centred data.

    Parameters
    ----------
    n_bits : int, default=64
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
    directions_ : ndarray of shape (d, n_bits)
    """

    def __init__(self, n_bits: int = 64, random_state: Any = None) -> None:
        self.n_bits = n_bits
        self.random_state = random_state

    def _fit(self, X: Matrix, y: Any) -> None:
        self.mean_ = X.mean(axis=0, dtype=np.float64)
        self.directions_ = check_random_state(self.random_state).standard_normal((X.shape[1], self.n_bits))

    def _scores(self, X: Matrix) -> Matrix:
        return project(X, self.mean_, self.directions_)
