"""Ids of stored codes: validation, and the ids of stores that keep them in memory."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

MAX_ID = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Ids:
    """Ids of stored codes, in the order in which the codes were added. Immutable: changes return a new object.

    Attributes
    ----------
    n : int
        Number of ids.
    values : ndarray of int64, shape (n,), or None
        None represents 0, ..., n - 1 without memory.
    """

    n: int = 0
    values: NDArray[np.int64] | None = None

    def as_array(self) -> NDArray[np.int64]:
        """Return a copy of the ids."""
        return np.arange(self.n) if self.values is None else self.values.copy()

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the ids at these positions."""
        return positions if self.values is None else self.values[positions]

    def extended(self, n_new: int, ids: ArrayLike | None) -> "Ids":
        """Append the ids of `n_new` codes; `ids` is validated, None continues from the largest id."""
        if ids is not None:
            new = self._check_new(ids, n_new)
        elif self.values is None:
            return Ids(self.n + n_new)
        else:
            start = int(self.values.max()) + 1 if self.n else 0
            if start + n_new - 1 > MAX_ID:
                raise ValueError(f"ids=None: the largest stored id is {start - 1}, no larger ids exist; pass ids.")
            new = np.arange(start, start + n_new)
        return Ids(self.n + n_new, np.concatenate([self.as_array(), new]))

    def _check_new(self, ids: ArrayLike, n_new: int) -> NDArray[np.int64]:
        """Validate ids to be added. Raises ValueError unless they are one per code, distinct and not yet stored."""
        new = check_ids(ids)
        if len(new) != n_new:
            raise ValueError(f"ids has {len(new)} entries for {n_new} codes: expected one id per code.")
        distinct, counts = np.unique(new, return_counts=True)
        if len(distinct) < n_new:
            raise ValueError(f"ids contains {distinct[counts > 1][0]} more than once: expected distinct ids.")
        if (is_stored := self._positions(distinct) >= 0).any():
            raise ValueError(f"id {distinct[is_stored][0]} is already stored: remove it first or pass another id.")
        return new

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

    def keep(self, positions: NDArray[np.int64]) -> "Ids":
        """Return the ids at these positions as the ids of the remaining codes."""
        return Ids(len(positions), self.at(positions))


def check_ids(ids: ArrayLike) -> NDArray[np.int64]:
    """Validate ids. Raises ValueError unless `ids` is a vector of integers that fit into int64."""
    array = np.asarray(ids)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"ids has dtype {array.dtype} and shape {array.shape}: expected a vector of integers.")
    if array.dtype.kind == "u" and array.size and array.max() > MAX_ID:
        raise ValueError(f"ids contains {array.max()}: expected integers of at most {MAX_ID}, which fit into int64.")
    return array.astype(np.int64)
