"""Ids of codes: their validation, and the ids of stores that do not keep ids themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.utils.growing import GrowingArray
from proxcode.utils.lookup import KeyLookup

MAX_ID = int(np.iinfo(np.int64).max)


class Ids:
    """Integer ids of the codes of a store that does not keep ids itself, in the order in which the codes were added.

    Immutable: changes return a new object.

    Parameters
    ----------
    n : int, default=0
        Number of codes.
    values : ndarray of int64 or GrowingArray, default=None
        The ids. None represents 0, ..., n - 1 without memory.
    lookup : KeyLookup, default=None
        The positions of the ids. None: made when it is first needed.
    """

    def __init__(
        self,
        n: int = 0,
        values: NDArray[np.int64] | GrowingArray | None = None,
        lookup: KeyLookup | None = None,
    ) -> None:
        self.n = n
        self._values = GrowingArray(values) if isinstance(values, np.ndarray) else values
        self._lookup = lookup

    @property
    def values(self) -> NDArray[np.int64] | None:
        """The ids, not to be written to; None for 0, ..., n - 1."""
        return None if self._values is None else self._values.columns

    @property
    def contents(self) -> NDArray[np.int64] | None:
        """The ids to be stored or copied; None for 0, ..., n - 1."""
        return self.values

    @property
    def stored_lookup(self) -> KeyLookup | None:
        """The positions of the ids, to be stored with them; None if they are in increasing order."""
        if self.n == 0 or self._values is None or self.lookup.joined().positions is None:
            return None
        return self.lookup

    @property
    def lookup(self) -> KeyLookup:
        """The positions of ids that are not 0, ..., n - 1."""
        if self._lookup is None:
            self._lookup = KeyLookup().extended(self.as_array() if self.values is None else self.values)
        return self._lookup

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(part.nbytes for part in (self._values, self._lookup) if part is not None)

    def as_array(self) -> NDArray[np.int64]:
        """Return a copy of the ids."""
        return np.arange(self.n) if self.values is None else self.values.copy()

    def at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the ids at these positions."""
        return positions if self.values is None else self.values[positions]

    def new(self, n_new: int, ids: ArrayLike | None) -> NDArray[np.int64]:
        """Return the ids of `n_new` added codes. Raises ValueError unless they are distinct and not stored."""
        if ids is None:
            largest = self.lookup.largest if self._values is not None else self.n - 1 if self.n else None
            return next_ids(largest, n_new)
        new = check_new_ids(ids, n_new)
        if (is_stored := self.positions(new) >= 0).any():
            raise already_stored(new[is_stored].min())
        return new

    def distinct(self, n: int, ids: ArrayLike) -> NDArray[np.int64]:
        """Validate the ids of `n` codes, stored or not. Raises ValueError unless they are distinct."""
        return check_new_ids(ids, n)

    def stored(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the ids at these positions, in the form of `new`."""
        return self.at(positions)

    def extended(self, new: NDArray[np.int64]) -> Ids:
        """Append ids that `new` returned."""
        n = self.n + len(new)
        if self._values is None:
            if np.array_equal(new, np.arange(self.n, n)):
                return Ids(n)
            return Ids(n, np.concatenate([self.as_array(), new]))
        lookup = None if self._lookup is None else self._lookup.extended(new)
        return Ids(n, self._values.extended(new), lookup)

    def without(self, positions: NDArray[np.int64]) -> Ids:
        """Remove the ids at some positions."""
        is_kept = np.ones(self.n, bool)
        is_kept[positions] = False
        lookup = None if self._lookup is None else self._lookup.kept(is_kept)
        return Ids(int(is_kept.sum()), self.as_array()[is_kept], lookup)

    def find(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Return the positions of ids. Raises ValueError unless all of them are stored."""
        ids = check_ids(ids)
        positions = self.positions(ids)
        if (is_unknown := positions < 0).any():
            raise not_stored(ids[is_unknown][0])
        return positions

    def positions(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Return the positions of ids, -1 where an id is not stored."""
        ids = check_ids(ids)
        if self._values is None:
            return np.where((ids >= 0) & (ids < self.n), ids, -1)
        return self.lookup.find(ids)


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


def already_stored(one: int | np.int64 | str) -> ValueError:
    """Return the error of an added id that is stored."""
    return ValueError(f"id {one} is already stored: remove it first or pass another id.")


def not_stored(one: int | np.int64 | str) -> ValueError:
    """Return the error of an id that is not stored."""
    return ValueError(f"id {one} is not stored: pass ids of stored codes.")
