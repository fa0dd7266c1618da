"""Pairs of samples of which one is among the nearest of the other."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.pairs.lists import NearLists
from proxcode.utils.blocks import map_blocks, one_blas_thread
from proxcode.utils.rows import Index, evenly_spaced
from proxcode.utils.samples import Samples

# Samples whose pairs are found, and distances that are computed for them: with many samples, pairs of fewer.
MAX_SAMPLES, MAX_DISTANCES = 10_000, 400_000_000
# Samples among which nearest ones are searched; of more, evenly spaced ones.
MAX_SEARCHED = 100_000
# Samples whose nearest among all are found, to measure how well a search among some finds them.
MEASURED = 200
# Rows of a block of distances, at most, and its largest number of distances.
BLOCK, BLOCK_DISTANCES = 256, 2**21
# Near pairs to expect among the samples whose pairs are found, at least.
MIN_NEAR = 1000


def searched(n: int) -> Index:
    """Return the samples among which nearest ones are searched: all of 100,000, evenly spaced ones of more."""
    return evenly_spaced(n, MAX_SEARCHED)


def rank_among(n_neighbors: int, n: int) -> int:
    """Return the number of nearest samples to search for, which is smaller where not all samples are searched."""
    return max(1, round(n_neighbors * min(n, MAX_SEARCHED) / n))


def recall_of_search(X: Samples, n_neighbors: int) -> float:
    """Return the share of near pairs that a search among `searched` samples finds, measured with 200 samples.

    A pair of two searched samples is near if one is among the `n_neighbors` nearest of the other in X. The search
    finds the `rank_among` nearest of the searched samples instead.
    """
    chosen = searched(len(X))
    queries = X[chosen[evenly_spaced(len(chosen), MEASURED)]]
    limits = np.full((len(queries), n_neighbors + 1), np.inf)
    # Squared distances of the nearest so far, the sample itself among them.
    for _, squares in X.map(_NearestSquares(queries, n_neighbors + 1)):
        limits = np.partition(np.hstack([limits, squares]), n_neighbors, axis=1)[:, : n_neighbors + 1]
    with one_blas_thread:
        among = _squares(queries, X[chosen])
    rank = rank_among(n_neighbors, len(X))
    # Equal distances that were computed in different blocks differ by rounding.
    tolerance = 1e-12 * among.max()
    is_near = among <= limits.max(axis=1, keepdims=True) + tolerance
    is_found = among <= np.partition(among, rank, axis=1)[:, rank : rank + 1] + tolerance
    n_near = is_near.sum() - len(queries)
    return float((is_near & is_found).sum() - len(queries)) / n_near if n_near > 0 else 1.0


@dataclass(frozen=True)
class _NearestSquares:
    """Gives the squared distances of the nearest samples of a block to each query."""

    queries: NDArray[Any]
    n_nearest: int

    def __call__(self, samples: NDArray[Any]) -> NDArray[Any]:
        squares = _squares(self.queries, samples)
        if squares.shape[1] <= self.n_nearest:
            return squares
        return np.partition(squares, self.n_nearest - 1, axis=1)[:, : self.n_nearest]


def _squares(queries: NDArray[Any], samples: NDArray[Any]) -> NDArray[Any]:
    """Return squared distances between queries and samples, in double precision."""
    center = queries.mean(axis=0, dtype=np.float64)
    Q, Z = queries - center, samples - center
    squares = (Q * Q).sum(axis=1, keepdims=True) - 2 * (Q @ Z.T) + (Z * Z).sum(axis=1)
    return np.maximum(squares, 0, out=squares)


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
