"""Results of a search: nearest neighbours, and neighbours within a radius."""

from collections.abc import Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray


class Neighbors(NamedTuple):
    """Neighbours in order of increasing distance.

    Attributes
    ----------
    distance : ndarray
        Hamming distances, or the distances of a `Rescoring` where one was given.
    neighbor : ndarray of int64
        Ids of the neighbours.
    """

    distance: NDArray[Any]
    neighbor: NDArray[np.int64]


class Neighborhoods(Sequence[Neighbors]):
    """All neighbours of each query within a radius: `found[q].distance`, `found[q].neighbor`.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_queries + 1,)
        The neighbours of query q are at positions offsets[q] to offsets[q + 1] - 1 of `distance` and `neighbor`.
    distance : ndarray of int32, shape (n_found,)
        Hamming distances, in increasing order within each query.
    neighbor : ndarray of int64, shape (n_found,)
        Ids of the neighbours.
    """

    def __init__(self, offsets: NDArray[np.int64], distance: NDArray[np.int32], neighbor: NDArray[np.int64]) -> None:
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
