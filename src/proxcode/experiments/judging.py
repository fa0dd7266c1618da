"""Counts of near and far pairs of a split: by the Hamming distance of codes, or by a model's own distances.

Distances that are real numbers are counted by levels:

1. `LEVELS` - 1 thresholds are quantiles of the distances of up to `SAMPLE` evenly spaced queries to the whole base. The
   quantiles are squares of equally spaced numbers, so that levels are finest among the nearest samples, which decide
   rankings.
2. Near and far base samples of each query are counted by the level of their distance.

Base samples at the same level count as equally distant: areas and rankings are exact up to ties within a level. If the
sampled queries have fewer distinct distances than levels, each distance is a level of its own and the results are
exact.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.experiments.protocols import Split
from proxcode.hamming import distances, pack
from proxcode.metrics import QUERY_BLOCK, Counts, count_pairs, recall_at
from proxcode.utils.rows import evenly_spaced

# Largest number of levels of real-valued distances.
LEVELS = 4096
# Largest number of queries whose distances determine the levels.
SAMPLE = 256


class ByHammingDistance:
    """Counts by Hamming distance, of the whole code or of a prefix."""

    is_hamming = True

    def __init__(self, split: Split, model: Any) -> None:
        self.split = split
        self.queries = model.transform(split.test)
        self.base = self.queries if split.base is split.test else model.transform(split.base)

    def counts(self, n_bits: int) -> tuple[Counts, Counts]:
        """Count near and far base samples of each query at the distances 0 to n_bits."""
        split, queries, base = self.split, pack(self.queries[:, :n_bits]), pack(self.base[:, :n_bits])
        return count_pairs(
            len(queries), n_bits + 1, split.near_rows, lambda block: distances(queries[block], base), split.own_columns
        )

    def recalls(self, n_bits: int) -> dict[int, float]:
        """Return the recall of rankings of each length that the split asks for."""
        if not self.split.recall_at:
            return {}
        counts = self.counts(n_bits)
        return {k: recall_at(*counts, k) for k in self.split.recall_at}


class ByOwnDistance:
    """Counts by level of the distances that `model.distances(queries, codes)` returns, of the whole code only."""

    is_hamming = False

    def __init__(self, split: Split, model: Any) -> None:
        self.split, self.model, self.codes = split, model, model.encode(split.base)

    def counts(self, n_bits: int) -> tuple[Counts, Counts]:
        """Count near and far base samples of each query at the levels 0 to at most LEVELS - 1."""
        split, queries = self.split, self.split.test
        sample = evenly_spaced(len(queries), SAMPLE)
        limits = levels(self.model.distances(queries[sample], self.codes))

        def level_rows(block: slice) -> NDArray[np.int64]:
            return np.searchsorted(limits, self.model.distances(queries[block], self.codes))

        return count_pairs(len(queries), len(limits) + 1, split.near_rows, level_rows, split.own_columns)

    def recalls(self, n_bits: int) -> dict[int, float]:
        """Return the recall of rankings of each length that the split asks for, of distances as they are."""
        split, found = self.split, dict.fromkeys(self.split.recall_at, 0.0)
        for start in range(0, len(split.test) if found else 0, QUERY_BLOCK):
            block = slice(start, min(start + QUERY_BLOCK, len(split.test)))
            near, distances = split.near_rows(block), self.model.distances(split.test[block], self.codes)
            for k in found:
                first = np.argpartition(distances, k - 1, axis=1)[:, :k]
                found[k] += float((np.take_along_axis(near, first, axis=1).sum(axis=1) / near.sum(axis=1)).sum())
        return {k: total / len(split.test) for k, total in found.items()}


def levels(distances: NDArray[Any]) -> NDArray[Any]:
    """Return increasing thresholds; the level of a distance is the number of thresholds below it.

    Examples
    --------
    >>> levels(np.array([[3.0, 1.0], [1.0, 2.0]]))
    array([1., 2., 3.])
    """
    ordered = np.sort(distances, axis=None)
    distinct = ordered[np.diff(ordered, prepend=-np.inf) > 0]
    if len(distinct) < LEVELS:
        return distinct
    shares = np.linspace(0, 1, LEVELS - 1) ** 2
    return np.unique(ordered[(shares * (len(ordered) - 1)).astype(np.int64)])


def judge(split: Split, model: Any) -> ByHammingDistance | ByOwnDistance:
    """Encode queries and base with a fitted model; codes that are decoded are compared by their own distances."""
    has_distances = hasattr(model, "distances") and not getattr(model, "is_hamming", False)
    return (ByOwnDistance if has_distances else ByHammingDistance)(split, model)
