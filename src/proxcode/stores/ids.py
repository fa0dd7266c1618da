"""Ids of codes: their validation, and the ids of stores that do not keep ids themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

MAX_ID = int(np.iinfo(np.int64).max)


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
            new = next_ids(int(self.values.max()) if self.n else None, n_new)
        else:
            new = check_new_ids(ids, n_new)
            if (is_stored := self._positions(new) >= 0).any():
                raise already_stored(new[is_stored].min())
        return Ids(self.n + n_new, np.concatenate([self.as_array(), new]))

    def find(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Return the positions of ids. Raises ValueError unless all of them are stored."""
        ids = check_ids(ids)
        positions = self._positions(ids)
        if (is_unknown := positions < 0).any():
            raise not_stored(ids[is_unknown][0])
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


def check_new_ids(ids: ArrayLike, n_codes: int) -> NDArray[np.int64]:
    """Validate the ids of codes that are added. Raises ValueError unless they are one per code and distinct."""
    new = check_ids(ids)
    if len(new) != n_codes:
        raise ValueError(f"ids has {len(new)} entries for {n_codes} codes: expected one id per code.")
    distinct, counts = np.unique(new, return_counts=True)
    if len(distinct) < n_codes:
        raise ValueError(f"ids contains {distinct[counts > 1][0]} more than once: expected distinct ids.")
    return new


def next_ids(largest: int | None, n_codes: int) -> NDArray[np.int64]:
    """Return the ids of codes that are added without ids, after the largest stored one; None if none is stored."""
    start = 0 if largest is None else largest + 1
    if start + n_codes - 1 > MAX_ID:
        raise ValueError(f"ids=None: the largest stored id is {largest}, no larger ids exist; pass ids.")
    return np.arange(start, start + n_codes)


def already_stored(one: int | np.int64) -> ValueError:
    """Return the error of an added id that is stored."""
    return ValueError(f"id {one} is already stored: remove it first or pass another id.")


def not_stored(one: int | np.int64) -> ValueError:
    """Return the error of an id that is not stored."""
    return ValueError(f"id {one} is not stored: pass ids of stored codes.")
