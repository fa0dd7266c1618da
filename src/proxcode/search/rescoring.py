"""Finer orders for what a search found: whole bits leave many codes at equal distance."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.hamming import Codes, asymmetric_distances


class Rescoring(ABC):
    """A distance between queries and the codes found for them."""

    @abstractmethod
    def distances(
        self, queries: Codes, planes: Codes, position: NDArray[np.int64], ids: NDArray[np.int64]
    ) -> NDArray[Any]:
        """Return a distance for each code found.

        Parameters
        ----------
        queries : ndarray of uint8, shape (n_queries, n_bytes)
        planes : ndarray of uint8, shape (n_bytes, at least n)
            The codes of the index, byte by byte, and room for more.
        position, ids : ndarrays of shape (n_queries, n_found)
        """


class ByMargins(Rescoring):
    """Bits count by how sure the query is of them: `proxcode.asymmetric_distances`.

    Parameters
    ----------
    scores : array of shape (n_queries, n_bits)
        `model.scores(Q)` of the queries.
    """

    def __init__(self, scores: ArrayLike) -> None:
        self.scores = np.atleast_2d(np.asarray(scores, dtype=np.float64))

    def distances(
        self, queries: Codes, planes: Codes, position: NDArray[np.int64], ids: NDArray[np.int64]
    ) -> NDArray[Any]:
        """Return the asymmetric distances."""
        _check_length("scores", len(self.scores), len(queries))
        out = np.empty(position.shape, np.float32)
        for query, where in enumerate(position):
            out[query] = asymmetric_distances(self.scores[query : query + 1], np.ascontiguousarray(planes[:, where].T))[
                0
            ]
        return out


class ByDistance(Rescoring):
    """The distance between the vectors themselves, where you keep them.

    Parameters
    ----------
    queries : array of shape (n_queries, d)
    vectors : array of shape (n, d), or function
        Row i is the vector with id i; it may be memory-mapped. A function takes an array of ids and returns their
        vectors, for ids of your own.
    metric : str, default="euclidean"
        As in `scipy.spatial.distance.cdist`.
    """

    def __init__(
        self,
        queries: ArrayLike,
        vectors: NDArray[Any] | Callable[[NDArray[np.int64]], ArrayLike],
        metric: str = "euclidean",
    ) -> None:
        self.queries = np.atleast_2d(np.asarray(queries))
        self.vectors = vectors
        self.metric = metric

    def distances(
        self, queries: Codes, planes: Codes, position: NDArray[np.int64], ids: NDArray[np.int64]
    ) -> NDArray[Any]:
        """Return the distances of the vectors."""
        from scipy.spatial.distance import cdist

        _check_length("queries", len(self.queries), len(queries))
        out = np.empty(ids.shape, np.float64)
        for query, chosen in enumerate(ids):
            out[query] = cdist(self.queries[query : query + 1], self._vectors_of(chosen), self.metric)[0]
        return out

    def _vectors_of(self, ids: NDArray[np.int64]) -> NDArray[Any]:
        if callable(self.vectors):
            return np.asarray(self.vectors(ids))
        if (missing := ids[(ids < 0) | (ids >= len(self.vectors))]).size:
            raise ValueError(
                f"there is no vector for id {missing[0]} among {len(self.vectors)} rows: give a function from ids to "
                "vectors."
            )
        return np.asarray(self.vectors[ids])


def _check_length(name: str, n: int, n_queries: int) -> None:
    if n != n_queries:
        raise ValueError(f"there are {n_queries} codes to search for but {n} rows of {name}: give one per code.")
