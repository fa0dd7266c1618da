"""The contract of all stores of codes: the in-memory `HammingIndex` and the stores of this package.

A further store is a subclass of `CodeStore` that implements five methods. `hamming.check_codes` and `check_ids` (or
`Ids`, if the store does not keep ids itself) validate the arguments, so that the same mistake raises the same error in
every store.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.utils.validation import check_integer

MAX_BITS = 1024
MAX_ID = np.iinfo(np.int64).max


class Neighbors(NamedTuple):
    """Neighbours in order of increasing distance.

    Attributes
    ----------
    distance : ndarray
        Hamming distances (int32), or those of `FloatQueries` (float32) or of a `Rescoring` where such were given.
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
    distance : ndarray of int32 or float32, shape (n_found,)
        Hamming distances, or those of `FloatQueries`, in increasing order within each query.
    neighbor : ndarray of int64, shape (n_found,)
        Ids of the neighbours.
    """

    def __init__(self, offsets: NDArray[np.int64], distance: NDArray[Any], neighbor: NDArray[np.int64]) -> None:
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


class CodeStore(ABC):
    """Packed codes with integer ids, searched by Hamming distance.

    Parameters
    ----------
    n_bits : int
        Code length in bits, from 1 to 1024.
    """

    def __init__(self, n_bits: int) -> None:
        self.n_bits = check_integer("n_bits", n_bits, 1, MAX_BITS)

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of stored codes."""

    @abstractmethod
    def add(self, codes: ArrayLike, ids: ArrayLike | None = None) -> Self:
        """Add codes.

        Parameters
        ----------
        codes : array of uint8, shape (n, ceil(n_bits / 8))
            Packed codes.
        ids : array of int64, shape (n,), default=None
            Ids of the codes, distinct and not yet in the store. None continues from the largest stored id, or from 0 in
            an empty store.
        """

    @abstractmethod
    def remove(self, ids: ArrayLike) -> Self:
        """Remove codes; the remaining codes keep their order.

        Parameters
        ----------
        ids : array of int64
            Ids of stored codes. If one of them is not in the store, a ValueError is raised and nothing is removed.
        """

    @abstractmethod
    def search(self, codes: ArrayLike, k: int = 10) -> Neighbors:
        """Find the k nearest codes of each query.

        Parameters
        ----------
        codes : array of uint8, shape (n_queries, ceil(n_bits / 8))
            Packed codes of the queries.
        k : int, default=10
            Number of neighbours per query.

        Returns
        -------
        Neighbors
            Arrays of shape (n_queries, min(k, number of stored codes)).
        """

    @abstractmethod
    def within(self, codes: ArrayLike, radius: int) -> Neighborhoods:
        """Find all codes at Hamming distance at most `radius`.

        Parameters
        ----------
        codes : array of uint8, shape (n_queries, ceil(n_bits / 8))
            Packed codes of the queries.
        radius : int
            Largest Hamming distance, inclusive. For the codes of a model: its `radius_`.
        """

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_bits={self.n_bits}), {len(self):,} codes"


@dataclass(frozen=True, eq=False)
class Ids:
    """Ids of the codes of a store that does not keep ids itself, in the order in which the codes were added.

    Immutable: changes return a new object. `values=None` represents 0, ..., n - 1 without memory.
    """

    n: int = 0
    values: NDArray[np.int64] | None = None

    def as_array(self) -> NDArray[np.int64]:
        """Return a copy of the ids."""
        return np.arange(self.n) if self.values is None else self.values.copy()

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the ids at these positions."""
        return positions if self.values is None else self.values[positions]

    def extended(self, n_new: int, ids: ArrayLike | None) -> Ids:
        """Append the ids of `n_new` codes. Raises ValueError unless they are one per code, distinct and not stored."""
        if ids is None:
            if self.values is None:
                return Ids(self.n + n_new)
            start = int(self.values.max()) + 1 if self.n else 0
            if start + n_new - 1 > MAX_ID:
                raise ValueError(f"ids=None: the largest stored id is {start - 1}, no larger ids exist; pass ids.")
            new = np.arange(start, start + n_new)
        else:
            new = check_ids(ids)
            if len(new) != n_new:
                raise ValueError(f"ids has {len(new)} entries for {n_new} codes: expected one id per code.")
            distinct, counts = np.unique(new, return_counts=True)
            if len(distinct) < n_new:
                raise ValueError(f"ids contains {distinct[counts > 1][0]} more than once: expected distinct ids.")
            if (is_stored := self._positions(distinct) >= 0).any():
                raise ValueError(f"id {distinct[is_stored][0]} is already stored: remove it first or pass another id.")
        return Ids(self.n + n_new, np.concatenate([self.as_array(), new]))

    def find(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Return the positions of ids. Raises ValueError unless all of them are stored."""
        ids = check_ids(ids)
        positions = self._positions(ids)
        if (is_unknown := positions < 0).any():
            raise ValueError(f"id {ids[is_unknown][0]} is not stored: nothing was removed, pass ids of stored codes.")
        return positions

    def _positions(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the positions of ids, -1 where an id is not stored."""
        if self.values is None:
            return np.where((ids >= 0) & (ids < self.n), ids, -1)
        candidates = np.flatnonzero(np.isin(self.values, ids))
        if len(candidates) == 0:
            return np.full(len(ids), -1)
        candidates = candidates[np.argsort(self.values[candidates])]
        sorted_ids = self.values[candidates]
        place = np.minimum(np.searchsorted(sorted_ids, ids), len(candidates) - 1)
        return np.where(sorted_ids[place] == ids, candidates[place], -1)


def check_ids(ids: ArrayLike) -> NDArray[np.int64]:
    """Validate ids. Raises ValueError unless `ids` is a vector of integers that fit into int64."""
    try:
        array = np.asarray(ids)
    except (ValueError, OverflowError):
        raise ValueError("ids has entries of different lengths: expected a vector of integers.") from None
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"ids has dtype {array.dtype} and shape {array.shape}: expected a vector of integers.")
    if array.dtype.kind == "u" and array.size and array.max() > MAX_ID:
        raise ValueError(f"ids contains {array.max()}: expected integers of at most {MAX_ID}, which fit into int64.")
    return array.astype(np.int64)
