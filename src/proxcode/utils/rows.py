"""Selections of rows of a matrix."""

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]
Rows = Index | slice

ALL = slice(None)


def evenly_spaced(n: int, size: int) -> Index:
    """Return `size` of the numbers 0, ..., n - 1, all if there are fewer.

    Examples
    --------
    >>> evenly_spaced(7, 3)
    array([0, 3, 6])
    """
    return np.linspace(0, n - 1, min(n, size)).astype(np.int64)
