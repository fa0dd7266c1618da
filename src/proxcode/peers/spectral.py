"""Spectral hashing: sinusoidal functions along the principal axes.

Weiss, Torralba, Fergus, "Spectral Hashing" (NIPS 2008), as in their released code:

1. the samples on their first min(n_bits, d) principal axes,
2. each axis i is assumed uniform on its range [a_i, b_i]; the eigenfunctions of the Laplacian on it are
   cos(k pi (x - a_i) / (b_i - a_i)), k = 1, 2, ..., with eigenvalues that increase with k / (b_i - a_i),
3. the `n_bits` eigenfunctions of smallest eigenvalue over all axes and k are kept; a bit is the sign of one of them.
"""

from typing import Any

import numpy as np

from proxcode.peers._arrays import Matrix, Real, Rng, principal_axes, project
from proxcode.peers._base import Peer


class SpectralHashing(Peer):
    """Signs of the analytic eigenfunctions of a uniform distribution along the principal axes.

    Outside the range of the samples of `fit` the eigenfunctions continue as cosines. Parameters are those of `Peer`.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
    axes_ : ndarray of shape (d, n_axes)
        Principal axes, largest variance first.
    low_, range_ : ndarrays of shape (n_axes,)
        Smallest value of the samples on each axis, and the difference between largest and smallest value.
    axis_, mode_ : ndarrays of int, shape (n_bits,)
        Axis i and frequency k of each bit.
    """

    def _fit(self, X: Matrix, y: Any, rng: Rng) -> None:
        self.mean_, self.axes_ = principal_axes(X, min(self.n_bits, *X.shape))
        projected = project(X, self.mean_, self.axes_)
        self.low_, self.range_ = projected.min(axis=0), np.ptp(projected, axis=0)
        k = np.arange(1, self.n_bits + 1)
        frequency = k / _positive(self.range_)[:, None]
        # The sort is stable, so that ties go to the earlier axis.
        lowest = np.argsort(frequency, axis=None, kind="stable")[: self.n_bits]
        self.axis_, position = np.divmod(lowest, self.n_bits)
        self.mode_ = k[position]

    def _margins(self, X: Matrix) -> Matrix:
        position = (project(X, self.mean_, self.axes_) - self.low_) / _positive(self.range_)
        return np.cos(np.pi * self.mode_ * position[:, self.axis_])


def _positive(ranges: Real) -> Real:
    """Return the ranges with a tiny one for constant axes, whose modes then come last."""
    return np.maximum(ranges, np.finfo(np.float64).eps * (ranges.max() or 1.0))
