"""How a method ranks the samples of a database for a query, and how long its search takes.

A ranking is given by counts: the number of samples of each grade of relevance at each level of distance, nearest level
first. Samples at the same level have no order; measures are expectations over all their orders.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.code import ProximityPreservingCode
from proxcode.evaluation.distances import CosineDistances, unit_rows
from proxcode.evaluation.relevance import Grades
from proxcode.hamming import Codes, to_words
from proxcode.metrics import Counts
from proxcode.search import HammingIndex
from proxcode.utils.kernels import count_grades

# Seconds after which the search of a method has been timed long enough.
TIMED_SECONDS = 1.0
# Similarities that a search by cosine computes at a time.
BLOCK_SIMILARITIES = 2**24


class Ranking(ABC):
    """Base class of the ways to rank.

    Attributes
    ----------
    bytes_per_sample : int
        Bytes that a sample of the database takes.
    """

    bytes_per_sample: int

    @abstractmethod
    def prepared(self, queries: slice) -> Any:
        """Return some queries in the form that `search` takes."""

    @abstractmethod
    def search(self, prepared: Any, k: int) -> object:
        """Find the k nearest samples, as a user would."""

    @abstractmethod
    def counts(self, queries: slice, grades: Grades, n_grades: int) -> Iterator[Counts]:
        """Yield the counts of some queries, of shape (n, n_grades, n_levels) for the next n of them."""

    def search_ms(self, n_queries: int, batch_size: int, k: int) -> float:
        """Return the milliseconds of a search per query, the median over batches that are searched for a second."""
        # The first search compiles kernels and computes what the index keeps for later ones.
        self.search(self.prepared(slice(0, batch_size)), k)
        seconds: list[float] = []
        # A mean would be that of other work: one batch that waits for a busy core takes as long as a hundred.
        per_query: list[float] = []
        for start in range(0, n_queries, batch_size):
            batch = slice(start, min(start + batch_size, n_queries))
            prepared = self.prepared(batch)
            before = perf_counter()
            self.search(prepared, k)
            seconds.append(perf_counter() - before)
            per_query.append(seconds[-1] / (batch.stop - start))
            if sum(seconds) > TIMED_SECONDS:
                break
        return 1000 * median(per_query)


class HammingRanking(Ranking):
    """By the Hamming distance of codes.

    Parameters
    ----------
    codes, query_codes : packed codes of the database and of the queries
    n_bits : int
    n_threads : int
        Threads of a search.
    """

    def __init__(self, codes: Codes, query_codes: Codes, n_bits: int, n_threads: int) -> None:
        self.index = HammingIndex(n_bits, n_threads=n_threads).add(codes)
        self.query_codes, self.words, self.query_words = query_codes, to_words(codes), to_words(query_codes)
        self.bytes_per_sample = codes.shape[1]

    def prepared(self, queries: slice) -> Codes:
        """Return the codes of some queries."""
        return self.query_codes[queries]

    def search(self, prepared: Codes, k: int) -> object:
        """Search the index."""
        return self.index.search(prepared, k)

    def counts(self, queries: slice, grades: Grades, n_grades: int) -> Iterator[Counts]:
        """Yield the counts of all queries at once, by Hamming distance."""
        out = np.zeros((len(grades), n_grades + 1, self.index.n_bits + 1), np.int64)
        for row, query in enumerate(self.query_words.T[queries]):
            count_grades(np.ascontiguousarray(query), self.words, grades[row], out[row])
        yield out[:, :n_grades]


class FloatQueryRanking(Ranking):
    """By the distance of float queries to the codes of a model.

    Parameters
    ----------
    model : ProximityPreservingCode
    codes : packed codes of the database, of all bits of the model
    queries : samples, as given to `evaluate_search`
    n_threads : int
    """

    def __init__(self, model: ProximityPreservingCode, codes: Codes, queries: Any, n_threads: int) -> None:
        self.model, self.codes, self.queries = model, codes, queries
        self.index = HammingIndex(model.n_bits_, n_threads=n_threads).add(codes)
        has_offsets = self.prepared(slice(0, 1)).offsets is not None
        # An index keeps the offset of each code in single precision.
        self.bytes_per_sample = codes.shape[1] + (4 if has_offsets else 0)

    def prepared(self, queries: slice) -> Any:
        """Return some samples as float queries."""
        return self.model.query(self.queries[queries])

    def search(self, prepared: Any, k: int) -> object:
        """Search the index."""
        return self.index.search(prepared, k)

    def counts(self, queries: slice, grades: Grades, n_grades: int) -> Iterator[Counts]:
        """Yield the counts of each query, by its levels of distance."""
        prepared = self.prepared(queries)
        for row in range(len(grades)):
            distance = prepared.distances(self.codes, slice(row, row + 1))[0]
            yield float_counts(distance, grades[row], n_grades)[None]


class CosineRanking(Ranking):
    """By the cosine distance of the samples themselves, stored in single precision.

    Parameters
    ----------
    database, queries : ndarrays of shape (n_database, n_features) and (n_queries, n_features)
    """

    def __init__(self, database: NDArray[Any], queries: NDArray[Any]) -> None:
        self.distances, self.queries = CosineDistances(database), queries
        self.unit_rows = unit_rows(database).astype(np.float32)
        self.bytes_per_sample = 4 * database.shape[1]

    def prepared(self, queries: slice) -> NDArray[np.float32]:
        """Return some queries as unit rows."""
        return unit_rows(self.queries[queries]).astype(np.float32)

    def search(self, prepared: NDArray[np.float32], k: int) -> NDArray[np.int64]:
        """Compare queries with all samples, block by block; return the k most similar ones, in any order."""
        step = max(k, BLOCK_SIMILARITIES // len(prepared))
        similarities, rows = [], []
        for start in range(0, len(self.unit_rows), step):
            similarity = prepared @ self.unit_rows[start : start + step].T
            best = _largest(similarity, k)
            similarities.append(np.take_along_axis(similarity, best, axis=1))
            rows.append(best + start)
        if len(rows) == 1:
            return rows[0]
        return np.take_along_axis(np.hstack(rows), _largest(np.hstack(similarities), k), axis=1)

    def counts(self, queries: slice, grades: Grades, n_grades: int) -> Iterator[Counts]:
        """Yield the counts of each query, by its levels of distance."""
        for distance, grade in zip(self.distances.of(self.queries[queries]), grades, strict=True):
            yield float_counts(distance, grade, n_grades)[None]


def _largest(values: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Return the columns of the k largest values of each row."""
    k = min(k, values.shape[1])
    return np.argpartition(values, -k, axis=1)[:, -k:]


def float_counts(distance: NDArray[np.float32], grades: Grades, n_grades: int) -> Counts:
    """Count samples by grade and by level of a real-valued distance, shape (n_grades, n_levels).

    Samples at a distance that a relevant sample has are a level; so are all samples between two such distances, whose
    order does not matter.

    Examples
    --------
    Relevant samples have grade 0. Two samples share the distance 2, one of them relevant.

    >>> float_counts(np.float32([1, 2, 2, 3]), np.uint8([1, 0, 1, 1]), 2).tolist()
    [[0, 1, 0], [1, 1, 1]]
    """
    distance, grades = distance[grades < n_grades], grades[grades < n_grades]
    is_relevant = grades < n_grades - 1
    values, level = np.unique(distance[is_relevant], return_inverse=True)
    ordered = np.sort(distance)
    first, end = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    counts = np.zeros((n_grades, 2 * len(values) + 1), np.int64)
    np.add.at(counts, (grades[is_relevant], 2 * level + 1), 1)
    counts[-1, 1::2] = end - first - counts[:-1, 1::2].sum(axis=0)
    counts[-1, ::2] = np.append(first, len(ordered)) - np.append(0, end)
    return counts
