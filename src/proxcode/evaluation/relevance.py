"""Which samples of a database are relevant to a query.

A relevance gives each sample of the database a grade for each query. A sample is relevant for the i-th k where its
grade is below `n_relevant(i)`. The last grade is never relevant, and the sample that is the query itself has the grade
after it, by which it is left out. Grades are computed for a block of queries at a time.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.evaluation.distances import EuclideanDistances
from proxcode.evaluation.labels import SearchLabels
from proxcode.metrics import Counts, precision_at, recall_at
from proxcode.proximity import Proximity, WithinRadius
from proxcode.utils.validation import check_integer

Grades = NDArray[np.uint8]


class Relevance(ABC):
    """Base class: a subclass implements `_grades`, and `n_relevant` if relevant samples depend on k.

    Parameters
    ----------
    own : ndarray of int64, shape (n_queries,)
        Row of the database that is the query itself and is left out, -1 where none is.

    Attributes
    ----------
    meaning : str
        What makes a sample relevant, in words.
    n_grades : int
    """

    meaning: str
    n_grades = 2

    def __init__(self, own: NDArray[np.int64]) -> None:
        self.own = own

    def grades(self, queries: slice) -> Grades:
        """Return the grades of all samples of the database for some queries, shape (n, n_database)."""
        own = self.own[queries]
        is_own = np.flatnonzero(own >= 0), own[own >= 0]
        grades = self._grades(queries, is_own)
        grades[is_own] = self.n_grades
        return grades

    def n_relevant(self, i: int) -> int:
        """Return the number of grades that are relevant for the i-th k."""
        return 1

    def recall_at(self, near: Counts, far: Counts, k: int) -> float:
        """Return the mean recall at k of queries with relevant samples, by their counts."""
        return recall_at(near, far, k)

    @abstractmethod
    def _grades(self, queries: slice, is_own: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Grades:
        """Return the grades; those at the rows and columns `is_own` do not matter."""


class SameLabelRelevance(Relevance):
    """Relevant = the same label."""

    meaning = "the same label"

    def __init__(self, own: NDArray[np.int64], database: NDArray[np.int64], queries: NDArray[np.int64]) -> None:
        super().__init__(own)
        self.database, self.queries = database, queries

    def _grades(self, queries: slice, is_own: Any) -> Grades:
        return (self.queries[queries, None] != self.database).view(np.uint8)


class SharedLabelRelevance(Relevance):
    """Relevant = at least one label in common, by masks of shape (n_words, n)."""

    meaning = "at least one label in common"

    def __init__(self, own: NDArray[np.int64], database: NDArray[np.uint64], queries: NDArray[np.uint64]) -> None:
        super().__init__(own)
        self.database, self.queries = database, queries

    def _grades(self, queries: slice, is_own: Any) -> Grades:
        common = np.zeros((len(self.own[queries]), self.database.shape[1]), bool)
        for of_database, of_queries in zip(self.database, self.queries, strict=True):
            common |= (of_queries[queries, None] & of_database) != 0
        return (~common).view(np.uint8)


class NearestRelevance(Relevance):
    """Relevant for k = at most as far as the k-th nearest sample, by Euclidean distance.

    Samples whose distances differ by no more than the rounding of their computation count as equally far.
    """

    meaning = "among the k nearest by Euclidean distance"

    def __init__(self, own: NDArray[np.int64], database: NDArray[Any], queries: NDArray[Any], k: Sequence[int]) -> None:
        super().__init__(own)
        self.distances, self.k = EuclideanDistances(database, queries), list(k)
        self.n_grades = len(self.k) + 1

    def n_relevant(self, i: int) -> int:
        """Return i + 1: a sample of grade i is relevant for the i-th k and for larger ones."""
        return i + 1

    def recall_at(self, near: Counts, far: Counts, k: int) -> float:
        """Return the share of relevant samples among the first k: where several are the k-th nearest, any will do."""
        return precision_at(near, far, k)

    def _grades(self, queries: slice, is_own: Any) -> Grades:
        squared, rounding = self.distances.squared(queries)
        squared[is_own] = np.inf
        places = [k - 1 for k in self.k]
        limits = np.partition(squared, places, axis=1)[:, places] + rounding
        grades = np.zeros(squared.shape, np.uint8)
        for limit in limits.T:
            grades += squared > limit[:, None]
        return grades


class RadiusRelevance(Relevance):
    """Relevant = within the radius of a fitted `WithinRadius`, by its metric."""

    def __init__(
        self, own: NDArray[np.int64], database: NDArray[Any], queries: NDArray[Any], proximity: WithinRadius
    ) -> None:
        super().__init__(own)
        self.database, self.queries, self.proximity = database, queries, proximity
        self.meaning = proximity.describe()
        is_euclidean = proximity.metric in ("euclidean", "l2") and not proximity.metric_params
        self.distances = EuclideanDistances(database, queries) if is_euclidean else None

    def _grades(self, queries: slice, is_own: Any) -> Grades:
        radius = self.proximity.radius_
        if self.distances is not None:
            squared, rounding = self.distances.squared(queries)
            return (squared > (radius * self.distances.unit) ** 2 + rounding).view(np.uint8)
        from sklearn.metrics import pairwise_distances

        metric, parameters = self.proximity.metric, self.proximity.metric_params or {}
        distance = pairwise_distances(self.queries[queries], self.database, metric=metric, **parameters)
        return (~(distance <= radius)).view(np.uint8)


def find_relevance(
    proximity: Proximity,
    database: NDArray[Any],
    queries: NDArray[Any],
    labels: SearchLabels | None,
    own: NDArray[np.int64],
    k: Sequence[int],
) -> Relevance:
    """Return the relevance by labels; without labels within the radius of a model of `WithinRadius`, else nearest."""
    if labels is not None:
        by_label = SharedLabelRelevance if labels.is_shared else SameLabelRelevance
        return by_label(own, labels.database, labels.queries)
    if isinstance(proximity, WithinRadius):
        return RadiusRelevance(own, database, queries, proximity)
    n_others = len(database) - int((own >= 0).any())
    if n_others == 0:
        raise ValueError("the database has one sample, the query itself, which is excluded: pass more samples.")
    for number in k:
        check_integer("k", number, 1, n_others, ", the number of samples in the database without the query itself")
    return NearestRelevance(own, database, queries, k)
