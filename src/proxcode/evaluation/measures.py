"""Precision, recall and mean average precision of rankings, summed over blocks of queries."""

from collections.abc import Sequence

import numpy as np

from proxcode.evaluation.all_pairs import NoPairsError
from proxcode.evaluation.rankings import Ranking
from proxcode.evaluation.relevance import Relevance
from proxcode.metrics import Counts, mean_average_precision, precision_at
from proxcode.utils.blocks import map_blocks
from proxcode.utils.progress import ProgressDisplay

# Queries of a block, at most, and the largest number of their distances.
BLOCK, BLOCK_DISTANCES = 128, 2**23


class Measures:
    """Measures of a ranking, as sums over queries.

    Parameters
    ----------
    relevance : Relevance
    ks : sequence of int
        In increasing order.
    """

    def __init__(self, relevance: Relevance, ks: Sequence[int]) -> None:
        self.relevance, self.ks = relevance, ks
        self.n_queries = self.n_with_relevant = 0
        self._precision, self._recall, self._average_precision = np.zeros(len(ks)), np.zeros(len(ks)), 0.0

    def add(self, counts: Counts) -> None:
        """Add queries by their counts of samples, shape (n, n_grades, n_levels)."""
        total = counts.sum(axis=1)
        # Relevant samples of a k are relevant for larger ones: a query has some for all k, or for none.
        n_with_relevant = int(counts[:, : self.relevance.n_relevant(0)].any(axis=(1, 2)).sum())
        for i, k in enumerate(self.ks):
            near = counts[:, : self.relevance.n_relevant(i)].sum(axis=1)
            self._precision[i] += len(counts) * precision_at(near, total - near, k)
            if n_with_relevant:
                self._recall[i] += n_with_relevant * self.relevance.recall_at(near, total - near, k)
        if n_with_relevant:
            self._average_precision += n_with_relevant * mean_average_precision(near, total - near)
        self.n_queries += len(counts)
        self.n_with_relevant += n_with_relevant

    def merge(self, other: "Measures") -> None:
        """Add the queries of other measures."""
        self.n_queries += other.n_queries
        self.n_with_relevant += other.n_with_relevant
        self._precision += other._precision
        self._recall += other._recall
        self._average_precision += other._average_precision

    @property
    def precision(self) -> dict[int, float]:
        """Mean precision at each k, of all queries."""
        return dict(zip(self.ks, (self._precision / self.n_queries).tolist(), strict=True))

    @property
    def recall(self) -> dict[int, float]:
        """Mean recall at each k, of the queries with relevant samples."""
        return dict(zip(self.ks, (self._recall / self.n_with_relevant).tolist(), strict=True))

    @property
    def map(self) -> float:
        """Mean average precision of the queries with relevant samples."""
        return self._average_precision / self.n_with_relevant


def measure(
    rankings: Sequence[Ranking], relevance: Relevance, ks: Sequence[int], n_database: int, *, verbose: bool = False
) -> list[Measures]:
    """Return the measures of each ranking; the relevant samples of a block of queries are found once for all."""
    n_queries = len(relevance.own)
    block = min(BLOCK, max(1, BLOCK_DISTANCES // n_database))

    def of_block(queries: slice) -> list[Measures]:
        grades = relevance.grades(queries)
        measured = [Measures(relevance, ks) for _ in rankings]
        for ranking, measures in zip(rankings, measured, strict=True):
            for counts in ranking.counts(queries, grades, relevance.n_grades):
                measures.add(counts)
        return measured

    total = [Measures(relevance, ks) for _ in rankings]
    with ProgressDisplay("measured", "queries", n_queries, shown=verbose) as progress:
        for queries, measured in map_blocks(of_block, n_queries, block):
            for sums, part in zip(total, measured, strict=True):
                sums.merge(part)
            progress.update(queries.stop - queries.start)
    if total[0].n_with_relevant == 0:
        raise NoPairsError(
            f"none of the {n_queries} queries has a relevant sample ({relevance.meaning}) in the database: pass other "
            "queries or more samples."
        )
    return total
