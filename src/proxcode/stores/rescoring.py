"""Rescoring: order candidates by a finer distance than the Hamming distance, in which many codes tie."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.hamming import Codes, as_margins, asymmetric_distances
from proxcode.stores.ids import MAX_ID
from proxcode.stores.results import Neighbors, no_ids
from proxcode.utils.validation import check_number

# Integers, or strings as objects.
Ids = NDArray[Any]
Vectors = NDArray[Any] | Callable[[Ids], ArrayLike]


class Rescoring(ABC):
    """A distance between each query and its candidates."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of queries."""

    @abstractmethod
    def distances(self, query: int, codes: Codes, ids: Ids) -> NDArray[Any]:
        """Return the distances from one query to its candidates.

        Parameters
        ----------
        query : int
            Row number of the query.
        codes : ndarray of uint8, shape (n_candidates, n_bytes)
            Packed codes of the candidates.
        ids : ndarray of int64, or of str objects, shape (n_candidates,)
            Ids of the candidates.

        Returns
        -------
        ndarray of shape (n_candidates,)
        """


class ByMargins(Rescoring):
    """Rescoring by `proxcode.asymmetric_distances`: bits are weighted by the margins of the query.

    Parameters
    ----------
    scores : array of shape (n_queries, n_bits)
        Margins of the queries, `model.scores(Q)`.
    """

    def __init__(self, scores: ArrayLike) -> None:
        self.scores = as_margins(scores)

    def __len__(self) -> int:
        return len(self.scores)

    def distances(self, query: int, codes: Codes, ids: Ids) -> NDArray[np.float32]:
        """Return the asymmetric distances from one query to its candidates."""
        return asymmetric_distances(self.scores[query], codes)[0]


class ByDistance(Rescoring):
    """Rescoring by the distance between the original samples, if these are kept.

    All arguments are keywords: queries and vectors have the same form, and nothing would tell one from the other.

    Parameters
    ----------
    queries : array of shape (n_queries, n_features)
        The samples searched for, in the order of their codes.
    vectors : array of shape (n_samples, n_features), or callable
        The samples searched in: row i is the one with id i; the array may be memory-mapped. A callable takes an array
        of ids and returns their samples, for ids that are not row numbers.
    metric : str, default="euclidean"
        A metric of `scipy.spatial.distance.cdist`.

    Examples
    --------
    >>> from proxcode import HammingIndex, pack
    >>> X = np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.1]])
    >>> index = HammingIndex(2).add(pack(X > 0.5))
    >>> nearest = ByDistance(queries=[[0.4, 0.2]], vectors=X)
    >>> index.search(pack(np.array([[False, False]])), k=2, rescore=nearest).neighbor
    array([[2, 0]])
    """

    def __init__(self, *, queries: ArrayLike, vectors: Vectors, metric: str = "euclidean") -> None:
        self.queries = np.atleast_2d(np.asarray(queries))
        self.vectors = vectors if callable(vectors) else np.asarray(vectors)
        self.metric = metric
        if not callable(self.vectors) and self.vectors.shape[1:] != self.queries.shape[1:]:
            raise ValueError(
                f"vectors has shape {self.vectors.shape} and queries {self.queries.shape}: expected rows with the same "
                "number of features."
            )

    def __len__(self) -> int:
        return len(self.queries)

    def distances(self, query: int, codes: Codes, ids: Ids) -> NDArray[np.float64]:
        """Return the distances from one query to the samples of its candidates."""
        from scipy.spatial.distance import cdist

        if callable(self.vectors):
            found = np.asarray(self.vectors(ids))
            if found.shape != (len(ids), self.queries.shape[1]):
                raise ValueError(
                    f"vectors returned shape {found.shape} for {len(ids)} ids: expected one row per id, of the "
                    f"{self.queries.shape[1]} features of the queries."
                )
        elif ids.dtype == object:
            raise TypeError("vectors is an array, but ids are strings: pass a callable that maps ids to rows.")
        elif (missing := ids[(ids < 0) | (ids >= len(self.vectors))]).size:
            raise ValueError(
                f"vectors has {len(self.vectors)} rows, but id {missing[0]} was found: pass one row per id, or a "
                "callable that maps ids to rows."
            )
        else:
            found = np.asarray(self.vectors[ids])
        return cdist(self.queries[query : query + 1], found, self.metric)[0]


def check_rescoring(rescore: Rescoring | None, n_queries: int, oversample: float) -> None:
    """Validate the rescoring of a search. Raises ValueError unless it has one row per query."""
    check_number("oversample", oversample, at_least=1)
    if rescore is not None and len(rescore) != n_queries:
        raise ValueError(
            f"rescore has {len(rescore)} rows for {n_queries} query codes: expected one row per query code."
        )


def n_candidates(rescore: Rescoring | None, k: int, oversample: float) -> int:
    """Return how many candidates a search for the k nearest needs, at most the number of all ids."""
    if rescore is None:
        return k
    return math.ceil(k * oversample) if k * oversample < MAX_ID else MAX_ID


def rescored(rescore: Rescoring, k: int, codes: Codes, neighbor: Ids, n_found: NDArray[np.int64]) -> Neighbors:
    """Order candidates by a rescoring; return the k nearest of each query.

    Parameters
    ----------
    rescore : Rescoring
    k : int
    codes : ndarray of uint8, shape (n_found.sum(), n_bytes)
        Packed codes of the candidates, query after query.
    neighbor : ndarray of int64, or of str objects, shape (n_queries, n_candidates)
        Ids of the candidates.
    n_found : ndarray of int64, shape (n_queries,)
        Number of candidates of each query, at the beginning of its row; the others are missing. A missing neighbour is
        returned as id -1, None among strings, at distance infinity.
    """
    shape = (len(neighbor), min(k, neighbor.shape[1]))
    distance, ordered = [], no_ids(shape, neighbor.dtype)
    for query, (n, stop) in enumerate(zip(n_found, np.cumsum(n_found), strict=True)):
        ids = neighbor[query, :n]
        of_query = rescore.distances(query, codes[stop - n : stop], ids) if n else np.empty(0)
        order = np.argsort(of_query, kind="stable")[:k]
        ordered[query, : len(order)] = neighbor[query, order]
        n_missing = shape[1] - len(order)
        distance.append(np.append(of_query[order], np.full(n_missing, np.inf)) if n_missing else of_query[order])
    return Neighbors(np.array(distance).reshape(shape), ordered)
