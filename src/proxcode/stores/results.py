"""What searches return: neighbours of each query, and all neighbours within a radius."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray


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
