"""Numba kernels over explicit weight matrices."""

from numba import njit


@njit(cache=True)
def next_improving(side, field, tolerance, start):
    """First point from `start` on whose flip raises b'Wb, or n where there is none."""
    for i in range(start, side.size):
        if side[i] * field[i] < -tolerance[i]:
            return i
    return side.size


@njit(cache=True)
def add_sparse_row(indptr, indices, data, i, step, field):
    """field[j] += step * W[i, j] over the stored entries of row i."""
    for k in range(indptr[i], indptr[i + 1]):
        field[indices[k]] += step * data[k]
