"""Array functions shared by several peers, in double precision.

Products are computed block by block, so that their digits do not depend on the number of threads.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from proxcode.utils.blocks import map_blocks, sum_blocks

Matrix = NDArray[Any]
Real = NDArray[np.float64]
Integers = NDArray[np.int64]
Rng = np.random.RandomState


def map_rows(function: Callable[[Matrix], Matrix], X: Matrix, n_columns: int) -> Real:
    """Return function(X), of shape (n, n_columns), computed in blocks of rows of X on all cores."""
    out = np.empty((len(X), n_columns))
    for rows, block in map_blocks(lambda rows: function(X[rows]), len(X)):
        out[rows] = block
    return out


def signs(values: Any) -> Real:
    """Return +1 where a value is at least 0 and -1 elsewhere, the rule by which `transform` turns margins into bits."""
    return np.where(np.asarray(values) >= 0, 1.0, -1.0)


def squared_distances(X: Matrix, Y: Matrix) -> Real:
    """Return |x_i - y_j|^2 for all rows of X and Y, shape (n, m)."""
    # Without the shift, samples far from the origin lose their digits to cancellation.
    mean = Y.mean(axis=0)
    X, Y = X - mean, Y - mean
    squared: Real = X @ (-2 * Y.T)
    squared += np.einsum("ij,ij->i", X, X)[:, None]
    squared += np.einsum("ij,ij->i", Y, Y)
    return np.maximum(squared, 0, out=squared)


def with_positive_largest(vectors: Real) -> Real:
    """Return each column with the sign that makes its largest entry positive; an eigenvector leaves its sign open."""
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    return vectors * np.where(largest < 0, -1.0, 1.0)


def random_subset(n: int, size: int, rng: Rng) -> Integers:
    """Return `size` of the numbers 0, ..., n - 1 (all if there are fewer), sorted, drawn without replacement."""
    return np.sort(rng.permutation(n)[:size])


def project(X: Matrix, mean: Matrix, directions: Matrix) -> Real:
    """Return (X - mean) @ directions."""
    return map_rows(lambda block: (block - mean) @ directions, X, directions.shape[1])


def principal_axes(X: Matrix, n_axes: int) -> tuple[Real, Real]:
    """Return the mean, shape (d,), and the axes of largest variance in columns, shape (d, n_axes), largest first.

    The largest entry of each axis is positive.
    """
    mean = X.mean(axis=0, dtype=np.float64)
    scatter = sum_blocks(lambda rows: (centred := X[rows] - mean).T @ centred, len(X))
    d = len(mean)
    _, axes = eigh(scatter, subset_by_index=(d - n_axes, d - 1))
    return mean, with_positive_largest(axes[:, ::-1])
