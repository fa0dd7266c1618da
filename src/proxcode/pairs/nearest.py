"""Pairs of samples of which one is among the nearest of the other."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.pairs.lists import NearLists
from proxcode.utils.blocks import map_blocks
from proxcode.utils.rows import Index, evenly_spaced

# Samples whose pairs are found, and distances that are computed for them: with many samples, pairs of fewer.
MAX_SAMPLES, MAX_DISTANCES = 10_000, 400_000_000
# Rows of a block of distances, at most, and its largest number of distances.
BLOCK, BLOCK_DISTANCES = 256, 2**21
# Near pairs to expect among the samples whose pairs are found, at least.
MIN_NEAR = 1000


def nearest_pairs(X: NDArray[Any], n_neighbors: int) -> tuple[Index, NearLists]:
    """Return evenly spaced samples and their pairs: near where one is among the nearest of the other in X.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    n_neighbors : int
        Number of nearest samples of a sample in X. It is raised where fewer than some 1,000 near pairs would remain
        among the samples whose pairs are found.

    Returns
    -------
    samples : ndarray of int
        Row numbers in X: all, or 10,000 and fewer where X has more rows.
    pairs : NearLists
        Pairs of these samples.
    """
    n = len(X)
    size = min(n, MAX_SAMPLES, max(1000, MAX_DISTANCES // n))
    samples = evenly_spaced(n, size)
    rank = min(n - 1, max(n_neighbors, -(-MIN_NEAR * n // size**2))) if size < n else n_neighbors
    place = np.full(n, -1)
    place[samples] = np.arange(len(samples))
    centred = X - X.mean(axis=0, dtype=np.float64).astype(X.dtype)
    norms = np.einsum("ij,ij->i", centred, centred)

    def near_columns(rows: slice) -> list[Index]:
        chosen = samples[rows]
        squares = norms - 2 * (centred[chosen] @ centred.T)
        squares[np.arange(len(chosen)), chosen] = -np.inf
        # The sample itself comes first.
        nearest = place[np.argpartition(squares, rank, axis=1)[:, : rank + 1]]
        return [row[row >= 0] for row in nearest]

    block = max(1, min(BLOCK, BLOCK_DISTANCES // n))
    found = [columns for _, lists in map_blocks(near_columns, len(samples), block) for columns in lists]
    rows = np.repeat(np.arange(len(samples)), [len(columns) for columns in found])
    columns = np.concatenate(found)
    rows, columns = rows[rows != columns], columns[rows != columns]
    key = np.unique(np.minimum(rows, columns) * len(samples) + np.maximum(rows, columns))
    return samples, NearLists(key // len(samples), key % len(samples), len(samples))
