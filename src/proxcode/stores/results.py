"""What searches return: neighbours of each query, and all neighbours within a radius."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd


class Neighbors(NamedTuple):
    """Neighbours in order of increasing distance.

    Attributes
    ----------
    distance : ndarray
        Hamming distances (int32), or those of `FloatQueries` (float32) or of a `Rescoring` where such were given.
    neighbor : ndarray of int64, or of str objects
        Ids of the neighbours. Where a query has fewer neighbours than others, the last ids are -1, None among strings.
    """

    distance: NDArray[Any]
    neighbor: NDArray[Any]

    @classmethod
    def joined(cls, parts: Sequence[Neighbors]) -> Neighbors:
        """Return the neighbours of several batches of queries; narrower ones are filled with no id at infinity."""
        if len(parts) == 1:
            return parts[0]
        width = max(part.neighbor.shape[1] for part in parts)
        missing = [width - part.neighbor.shape[1] for part in parts]
        pairs = list(zip(parts, missing, strict=True))
        distance = [
            np.pad(part.distance, ((0, 0), (0, n)), constant_values=np.inf) if n else part.distance for part, n in pairs
        ]
        neighbor = [
            np.hstack([part.neighbor, no_ids((len(part.neighbor), n), part.neighbor.dtype)]) for part, n in pairs
        ]
        return cls(np.vstack(distance), np.vstack(neighbor))

    @property
    def is_found(self) -> NDArray[np.bool_]:
        """Where there is a neighbour, not id -1 or None at distance -1 or infinity in place of one not found."""
        is_id = self.neighbor != no_ids((), self.neighbor.dtype)[()]
        return is_id | ((self.distance != -1) & ~np.isinf(self.distance))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per neighbour, without those that were not found.

        Returns
        -------
        pandas.DataFrame
            With the columns query (row number of the query), rank (1 is the nearest), neighbor (its id) and distance.

        Examples
        --------
        >>> Neighbors(distance=np.array([[0, 2], [1, 3]]), neighbor=np.array([[4, 0], [3, 4]])).to_frame()
           query  rank  neighbor  distance
        0      0     1         4         0
        1      0     2         0         2
        2      1     1         3         1
        3      1     2         4         3
        """
        # The neighbours of a single query, as `Neighborhoods` have them, are arrays of one dimension.
        distance, neighbor = np.atleast_2d(self.distance), np.atleast_2d(self.neighbor)
        query = np.broadcast_to(np.arange(neighbor.shape[0])[:, None], neighbor.shape)
        rank = np.broadcast_to(np.arange(neighbor.shape[1]) + 1, neighbor.shape)
        is_found = np.atleast_2d(self.is_found)
        return _frame(query[is_found], rank[is_found], neighbor[is_found], distance[is_found])


class Neighborhoods(Sequence[Neighbors]):
    """All neighbours of each query within a radius: `found[q].distance`, `found[q].neighbor`.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_queries + 1,)
        The neighbours of query q are at positions offsets[q] to offsets[q + 1] - 1 of `distance` and `neighbor`.
    distance : ndarray of int32 or float32, shape (n_found,)
        Hamming distances, or those of `FloatQueries`, in increasing order within each query.
    neighbor : ndarray of int64, or of str objects, shape (n_found,)
        Ids of the neighbours.
    """

    def __init__(self, offsets: NDArray[np.int64], distance: NDArray[Any], neighbor: NDArray[Any]) -> None:
        self.offsets, self.distance, self.neighbor = offsets, distance, neighbor

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, query: int) -> Neighbors: ...
    @overload
    def __getitem__(self, query: slice) -> list[Neighbors]: ...
    def __getitem__(self, query: int | slice) -> Neighbors | list[Neighbors]:
        if isinstance(query, slice):
            return [self[number] for number in range(*query.indices(len(self)))]
        number = range(len(self))[query]
        rows = slice(self.offsets[number], self.offsets[number + 1])
        return Neighbors(distance=self.distance[rows], neighbor=self.neighbor[rows])

    def __repr__(self) -> str:
        return f"Neighborhoods(n_queries={len(self)}, n_neighbors={len(self.neighbor)})"

    @classmethod
    def of_rows(cls, n_queries: int, query: NDArray[Any], distance: NDArray[Any], neighbor: NDArray[Any]) -> Self:
        """Return neighbourhoods from one row per neighbour, in any order; ties are ordered by id.

        Parameters
        ----------
        n_queries : int
        query, distance, neighbor : arrays of shape (n_found,)
            Row number of the query, Hamming distance and id of each neighbour.
        """
        order = np.lexsort((neighbor, distance, query))
        offsets = np.concatenate([[0], np.cumsum(np.bincount(query.astype(np.int64), minlength=n_queries))])
        return cls(offsets, distance[order].astype(np.int32), neighbor[order].astype(np.int64))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per neighbour; the columns are those of `Neighbors.to_frame`.

        Examples
        --------
        >>> found = Neighborhoods(np.array([0, 2, 2, 3]), distance=np.array([0, 2, 1]), neighbor=np.array([4, 0, 3]))
        >>> found.to_frame()
           query  rank  neighbor  distance
        0      0     1         4         0
        1      0     2         0         2
        2      2     1         3         1
        """
        query = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        rank = np.arange(len(self.neighbor)) - self.offsets[query] + 1
        return _frame(query, rank, self.neighbor, self.distance)

    def as_neighbors(self) -> Neighbors:
        """Return the neighbours of all queries as two arrays.

        Where a query has fewer, there is no id, at distance -1, or infinity for real distances.
        """
        n_found = np.diff(self.offsets)
        shape = (len(self), int(n_found.max(initial=0)))
        is_found = np.arange(shape[1]) < n_found[:, None]
        nowhere = np.inf if self.distance.dtype.kind == "f" else -1
        distance, neighbor = np.full(shape, nowhere, self.distance.dtype), no_ids(shape, self.neighbor.dtype)
        distance[is_found], neighbor[is_found] = self.distance, self.neighbor
        return Neighbors(distance, neighbor)


def no_ids(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return ids that stand for missing neighbours: -1 among integers, None among strings."""
    return np.full(shape, None, object) if dtype.kind == "O" else np.full(shape, -1)


def _frame(query: NDArray[Any], rank: NDArray[Any], neighbor: NDArray[Any], distance: NDArray[Any]) -> pd.DataFrame:
    try:
        import pandas as pd
    except ImportError:
        raise ModuleNotFoundError("to_frame() needs pandas, which is not installed: pip install pandas.") from None
    return pd.DataFrame({"query": query, "rank": rank, "neighbor": neighbor, "distance": distance})
