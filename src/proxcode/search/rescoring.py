"""Rescoring: order candidates by a finer distance than the Hamming distance, in which many codes tie."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.hamming import as_margins, asymmetric_distances
from proxcode.search.float_queries import FloatQueries
from proxcode.search.planes import BytePlanes
from proxcode.stores.base import Neighbors
from proxcode.utils.validation import check_number

Positions = NDArray[np.int64]
Ids = NDArray[np.int64]
Vectors = NDArray[Any] | Callable[[Ids], ArrayLike]


class Rescoring(ABC):
    """A distance between each query and its candidates."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of queries."""

    @abstractmethod
    def distances(self, query: int, codes: BytePlanes, positions: Positions, ids: Ids) -> NDArray[Any]:
        """Return the distances from one query to its candidates.

        Parameters
        ----------
        query : int
            Row number of the query.
        codes : BytePlanes
            Codes of the index; `codes.at(positions)` are the packed codes of the candidates.
        positions : ndarray of int64, shape (n_candidates,)
            Positions of the candidates in `codes`.
        ids : ndarray of int64, shape (n_candidates,)
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

    def distances(self, query: int, codes: BytePlanes, positions: Positions, ids: Ids) -> NDArray[np.float32]:
        """Return the asymmetric distances from one query to its candidates."""
        return asymmetric_distances(self.scores[query], codes.at(positions))[0]


class ByFloatQueries(Rescoring):
    """Rescoring by the distance of float queries.

    Parameters
    ----------
    queries : FloatQueries
    """

    def __init__(self, queries: FloatQueries) -> None:
        self.queries = queries

    def __len__(self) -> int:
        return len(self.queries)

    def distances(self, query: int, codes: BytePlanes, positions: Positions, ids: Ids) -> NDArray[np.float32]:
        """Return the distances from one float query to its candidates."""
        return self.queries.distances(codes.at(positions), slice(query, query + 1))[0]


class ByDistance(Rescoring):
    """Rescoring by the distance between the original samples, if these are kept.

    Parameters
    ----------
    queries : array of shape (n_queries, n_features)
    vectors : array of shape (n_samples, n_features), or callable
        Row i is the sample with id i; the array may be memory-mapped. A callable takes an array of ids and returns
        their samples, for ids that are not row numbers.
    metric : str, default="euclidean"
        A metric of `scipy.spatial.distance.cdist`.
    """

    def __init__(self, queries: ArrayLike, vectors: Vectors, metric: str = "euclidean") -> None:
        self.queries = np.atleast_2d(np.asarray(queries))
        self.vectors = vectors
        self.metric = metric

    def __len__(self) -> int:
        return len(self.queries)

    def distances(self, query: int, codes: BytePlanes, positions: Positions, ids: Ids) -> NDArray[np.float64]:
        """Return the distances from one query to the samples of its candidates."""
        from scipy.spatial.distance import cdist

        if callable(self.vectors):
            found = np.asarray(self.vectors(ids))
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


def numbers_of_codes(rescore: Rescoring | None, k: int, oversample: float, n_codes: int) -> tuple[int, int]:
    """Return how many of `n_codes` codes a search returns for each query, and how many are its candidates."""
    k = min(k, n_codes)
    return k, k if rescore is None else int(min(n_codes, np.ceil(k * oversample)))


def rescored(rescore: Rescoring, k: int, codes: BytePlanes, position: Positions, neighbor: Ids) -> Neighbors:
    """Order candidates by a rescoring; return the k nearest of each query.

    Parameters
    ----------
    rescore : Rescoring
    k : int
    codes : BytePlanes
    position : ndarray of int64, shape (n_queries, n_candidates)
        Positions of the candidates in `codes`.
    neighbor : ndarray of int64, shape (n_queries, n_candidates)
        Ids of the candidates.
    """
    candidates = enumerate(zip(position, neighbor, strict=True))
    distances = [rescore.distances(query, codes, *of_query) for query, of_query in candidates]
    distance = np.array(distances).reshape(position.shape)
    order = np.argsort(distance, axis=1, kind="stable")[:, :k]
    return Neighbors(np.take_along_axis(distance, order, axis=1), np.take_along_axis(neighbor, order, axis=1))
