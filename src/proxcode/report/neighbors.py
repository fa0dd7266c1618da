"""Samples as queries among all codes, and how long a search takes."""

from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np

from proxcode.hamming import Codes
from proxcode.proximity import SharedLabel
from proxcode.report.labels import Labels
from proxcode.report.subsets import Rows, subset
from proxcode.search import HammingIndex

# Samples whose neighbours are searched to choose the queries that are shown, and neighbours of each.
N_CANDIDATES, N_NEIGHBORS = 300, 8
# Single searches that are timed.
N_TIMED = 50


class Neighborhood(NamedTuple):
    """A sample as a query, and its neighbours among all others.

    Attributes
    ----------
    row : int
    neighbors, distances : list of int
    agree : list of (bool or None)
        Whether each neighbour has a label in common with the query; None where that is not known.
    """

    row: int
    neighbors: list[int]
    distances: list[int]
    agree: list[bool | None]

    @property
    def known(self) -> list[bool]:
        """Whether neighbours have a label in common with the query, where that is known."""
        return [one for one in self.agree if one is not None]

    @property
    def share(self) -> float:
        """Share of labelled neighbours with a label in common; 1 where there are none."""
        return sum(self.known) / len(self.known) if self.known else 1.0


class Neighborhoods(NamedTuple):
    """Queries of a report: drawn at random, and those with the fewest neighbours of their label."""

    random: list[Neighborhood]
    worst: list[Neighborhood]


def find_neighborhoods(
    index: HammingIndex, codes: Codes, rows: Rows, labels: Labels | None, n_each: int
) -> Neighborhoods:
    """Find the neighbours of random rows; return those drawn first, and of the others those that agree least."""
    n_drawn = min(len(rows), max(N_CANDIDATES, 2 * n_each))
    drawn = np.random.default_rng(0).choice(rows, n_drawn, replace=False)
    found = index.search(codes[drawn], N_NEIGHBORS, exclude=drawn)
    lists = drawn.tolist(), found.neighbor.tolist(), found.distance.tolist()
    all_found = [_neighborhood(labels, *one) for one in zip(*lists, strict=True)]
    others = sorted(all_found[n_each:], key=lambda one: one.share)
    return Neighborhoods(all_found[:n_each], [one for one in others[:n_each] if one.share < 1])


def _neighborhood(labels: Labels | None, row: int, neighbors: list[int], distances: list[int]) -> Neighborhood:
    known = [(neighbor, distance) for neighbor, distance in zip(neighbors, distances, strict=True) if neighbor >= 0]
    rows = [neighbor for neighbor, _ in known]
    agree: list[bool | None] = [None] * len(rows)
    if labels is not None:
        own, *others = (set(labels_of) for labels_of in labels.sets(np.array([row, *rows])))
        # In an indicator matrix a sample without a label is far from all others.
        is_matrix = isinstance(labels.proximity, SharedLabel)
        agree = [bool(own & other) if is_matrix or (own and other) else None for other in others]
    return Neighborhood(row, rows, [distance for _, distance in known], agree)


def search_ms(index: HammingIndex, codes: Codes) -> float:
    """Return the median milliseconds of a search for one code, after one that compiles what is needed."""
    queries = codes[subset(np.arange(len(codes)), N_TIMED)]
    index.search(queries[:1])
    seconds = []
    for query in queries:
        start = perf_counter()
        index.search(query[None])
        seconds.append(perf_counter() - start)
    return 1000 * median(seconds)
