"""Centred linear projections, as several peers start from them; the same digits for any number of threads."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from proxcode.peers._base import Matrix
from proxcode.utils.blocks import map_blocks, one_blas_thread


def principal_axes(X: Matrix, n_axes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean, shape (d,), and the axes of largest variance in columns, shape (d, n_axes), largest first.

    The largest entry of each axis is positive: the covariance alone leaves the sign open.
    """
    mean = X.mean(axis=0, dtype=np.float64)
    d = len(mean)
    scatter = np.zeros((d, d))
    for _, block in map_blocks(lambda rows: (centred := X[rows] - mean).T @ centred, len(X)):
        scatter += block
    with one_blas_thread:
        _, axes = eigh(scatter, subset_by_index=(d - n_axes, d - 1))
    axes = axes[:, ::-1]
    largest = np.abs(axes).argmax(axis=0)
    return mean, axes * np.where(axes[largest, np.arange(n_axes)] < 0, -1.0, 1.0)


def project(X: Matrix, mean: Matrix, directions: Matrix) -> NDArray[np.float64]:
    """Return (X - mean) @ directions in double precision, block by block."""
    out = np.empty((len(X), directions.shape[1]))
    for rows, block in map_blocks(lambda rows: (X[rows] - mean) @ directions, len(X)):
        out[rows] = block
    return out
