"""Random subsets of samples."""

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


def subset(rows: Rows, size: int) -> Rows:
    """Return at most `size` rows, drawn at random with a fixed seed, in their order."""
    if len(rows) <= size:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, size, replace=False))
