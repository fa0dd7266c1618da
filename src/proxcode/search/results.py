"""What a search returns."""

from collections.abc import Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray


class Found(NamedTuple):
    """Codes found for one query, nearest first, and of equals the one added first."""

    distance: NDArray[np.int32]
    position: NDArray[np.int64]


class Neighbors(NamedTuple):
    """Neighbours, nearest first.

    Attributes
    ----------
    distance : ndarray
        Hamming distances, or what a rescoring made of them.
    neighbor : ndarray of int64
        Ids.
    """

    distance: NDArray[Any]
    neighbor: NDArray[np.int64]


class Neighborhoods(Sequence[Neighbors]):
    """The neighbours of each query within a radius: `found[q].distance`, `found[q].neighbor`.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n_queries + 1,)
        Those of query q are offsets[q] to offsets[q + 1] - 1 of the two long arrays.
    distance, neighbor : ndarrays
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
        own = slice(self.offsets[number], self.offsets[number + 1])
        return Neighbors(self.distance[own], self.neighbor[own])

    def __repr__(self) -> str:
        return f"Neighborhoods(n_queries={len(self)}, n_neighbors={len(self.neighbor)})"
