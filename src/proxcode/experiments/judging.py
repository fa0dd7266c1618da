"""How the codes of a model are judged on a split: by Hamming distance, or by distances of the model's own.

Distances that are real numbers are counted by levels:

1. `LEVELS` - 1 thresholds at quantiles of the distances of up to `SAMPLE` queries, spread evenly, to the whole base;
   the quantiles are the squares of equal steps, so that levels are finest among the nearest, which rankings hang on,
2. near and far points of each query by the level of their distance, some queries at a time.

Points within a level count as at equal distance: areas and rankings are exact up to ties within a level. Where the
sample has fewer distinct distances than levels, each is a level of its own, and figures are those of the distances.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.experiments.protocols import FAR, NEAR, QUERY_BLOCK, Split
from proxcode.metrics import Counts
from proxcode.peers.quantisers import FaissPQ, FaissRaBitQ

LEVELS = 4096
SAMPLE = 256


class Judge(ABC):
    """The codes of a model on a split."""

    is_hamming: bool

    @abstractmethod
    def counts(self, n_bits: int) -> tuple[Counts, Counts]:
        """Count near and far points by distance, for each query, at a code length."""


class ByHammingDistance(Judge):
    """Counts by Hamming distance, of the whole code or its beginning."""

    is_hamming = True

    def __init__(self, split: Split, model: Any) -> None:
        self.split, self.bits = split, split.encode(model)

    def counts(self, n_bits: int) -> tuple[Counts, Counts]:
        """Return counts at distances 0 to n_bits."""
        near, far = self.split.counts(*(bits[:, :n_bits] for bits in self.bits))
        return near[:, : n_bits + 1], far[:, : n_bits + 1]


class ByOwnDistance(Judge):
    """Counts by level of the distances that `model.distances(queries, codes)` gives, of the whole code alone."""

    is_hamming = False

    def __init__(self, split: Split, model: Any) -> None:
        self.split, self.model, self.codes = split, model, model.encode(split.base)

    def counts(self, n_bits: int) -> tuple[Counts, Counts]:
        """Return counts at levels 0 to at most LEVELS - 1."""
        queries = self.split.test
        sample = np.unique(np.linspace(0, len(queries) - 1, SAMPLE).astype(np.int64))
        limits = levels(self.model.distances(queries[sample], self.codes))
        n_levels = len(limits) + 1
        near, far = np.zeros((2, len(queries), n_levels), np.int64)
        for start in range(0, len(queries), QUERY_BLOCK):
            block = slice(start, start + QUERY_BLOCK)
            level = np.searchsorted(limits, self.model.distances(queries[block], self.codes))
            for query, (row, kinds) in enumerate(zip(level, self.split.kinds(block), strict=True), start=start):
                near[query] = np.bincount(row[kinds == NEAR], minlength=n_levels)
                far[query] = np.bincount(row[kinds == FAR], minlength=n_levels)
        return near, far


def levels(distances: NDArray[Any]) -> NDArray[Any]:
    """Return rising thresholds; a distance is at level k where k of them are below it.

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


def judge(split: Split, model: Any) -> Judge:
    """Encode what the split compares; return what counts it."""
    return (ByOwnDistance if isinstance(model, FaissPQ | FaissRaBitQ) else ByHammingDistance)(split, model)
