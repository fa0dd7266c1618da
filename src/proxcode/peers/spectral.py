"""Spectral hashing: waves along the principal axes.

Weiss, Torralba, Fergus, "Spectral Hashing" (NIPS 2008), as in their released code:

1. the points on their first min(n_bits, d) principal axes,
2. each axis i is taken to be uniform on its range [a_i, b_i]; the eigenfunctions of the Laplacian there are
   cos(k pi (x - a_i) / (b_i - a_i)), k = 1, 2, ...; their eigenvalue grows with k / (b_i - a_i),
3. of all axes and k, the `n_bits` of smallest eigenvalue are kept; a bit is the sign of its eigenfunction.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.peers._base import Matrix, Peer
from proxcode.peers._linear import principal_axes, project


class SpectralHashing(Peer):
    """Sign of the analytic eigenfunctions of a uniform distribution along the principal axes.

    A point outside the range seen in fit gets the wave's continuation.

    Parameters
    ----------
    n_bits : int, default=64
    random_state : int, RandomState or None, default=None
        Not used, nothing is random: it is there so that all peers are made alike.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
    axes_ : ndarray of shape (d, n_axes)
        Principal axes, largest variance first.
    low_, range_ : ndarrays of shape (n_axes,)
        Where each axis begins in the training data, and how far it goes.
    axis_, mode_ : ndarrays of int, shape (n_bits,)
        Axis and number k of half waves of each bit.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import SpectralHashing
    >>> X, _ = load_digits(return_X_y=True)
    >>> SpectralHashing(n_bits=32).fit(X).encode(X).shape
    (1797, 4)
    """

    def __init__(self, n_bits: int = 64, random_state: Any = None) -> None:
        self.n_bits = n_bits
        self.random_state = random_state

    def _fit(self, X: Matrix, y: Any) -> None:
        self.mean_, self.axes_ = principal_axes(X, min(self.n_bits, *X.shape))
        projected = project(X, self.mean_, self.axes_)
        self.low_, self.range_ = projected.min(axis=0), np.ptp(projected, axis=0)
        self.axis_, self.mode_ = _lowest_modes(self.range_, self.n_bits)

    def _scores(self, X: Matrix) -> Matrix:
        place = (project(X, self.mean_, self.axes_) - self.low_) / _positive(self.range_)
        return np.cos(np.pi * self.mode_ * place[:, self.axis_])


def _lowest_modes(ranges: NDArray[np.float64], n_bits: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return axis and k of the n_bits lowest frequencies k / range, lowest first; the earlier axis where equal."""
    k = np.arange(1, n_bits + 1)
    frequency = k / _positive(ranges)[:, None]
    lowest = np.argsort(frequency, axis=None, kind="stable")[:n_bits]
    axis, place = np.divmod(lowest, n_bits)
    return axis, k[place]


def _positive(ranges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give an axis without extent next to none, so that its waves come last."""
    return np.maximum(ranges, np.finfo(np.float64).eps * (ranges.max() or 1.0))
