"""String ids of an index, and the choice between integer and string ids.

Strings are stored as UTF-8 bytes. They are found by a 64-bit key and then compared, so that equal keys of different
strings do no harm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.storage.texts import Texts, as_object_array
from proxcode.stores.ids import Ids, already_stored, not_stored
from proxcode.utils.growing import GrowingArray
from proxcode.utils.lookup import KeyLookup


class StringIds:
    """String ids of the codes of an index, in the order in which the codes were added.

    Immutable, with the methods of `stores.ids.Ids`.
    """

    def __init__(self, data: GrowingArray, ends: GrowingArray, lookup: KeyLookup | None = None) -> None:
        self._data, self._ends, self._lookup = data, ends, lookup
        self.n = ends.n

    @classmethod
    def of(cls, texts: Texts, lookup: KeyLookup | None = None) -> StringIds:
        """Return ids from stored strings."""
        return cls(GrowingArray(texts.data), GrowingArray(texts.ends), lookup)

    @property
    def texts(self) -> Texts:
        """The ids as arrays, not to be written to."""
        return Texts(self._data.columns, self._ends.columns)

    @property
    def contents(self) -> Texts:
        """The ids to be stored or copied."""
        return self.texts

    @property
    def stored_lookup(self) -> KeyLookup | None:
        """The positions of the keys, to be stored with the ids; None if there are no ids."""
        return self.lookup if self.n else None

    @property
    def lookup(self) -> KeyLookup:
        """The positions of the keys of ids."""
        if self._lookup is None:
            self._lookup = KeyLookup().extended(self.texts.keys())
        return self._lookup

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(part.nbytes for part in (self._data, self._ends, self._lookup) if part is not None)

    def as_array(self) -> NDArray[Any]:
        """Return the ids as Python strings."""
        return self.at(np.arange(self.n))

    def at(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the ids at these positions as Python strings."""
        return as_object_array(self.texts.at(positions))

    def new(self, n_new: int, ids: ArrayLike | None) -> Texts:
        """Return the ids of `n_new` added codes. Raises ValueError unless they are distinct and not stored."""
        if ids is None:
            raise ValueError("ids=None: the index has string ids, which cannot be continued; pass one id per code.")
        new = check_new_strings(ids, n_new)
        if (is_stored := self.positions(new) >= 0).any():
            raise already_stored(min(new.at(np.flatnonzero(is_stored))))
        return new

    def distinct(self, n: int, ids: ArrayLike) -> Texts:
        """Validate the ids of `n` codes, stored or not. Raises ValueError unless they are distinct."""
        return check_new_strings(ids, n)

    def stored(self, positions: NDArray[np.int64]) -> Texts:
        """Return the ids at these positions, in the form of `new`."""
        return self.texts.chosen(positions)

    def extended(self, new: Texts) -> StringIds:
        """Append ids that `new` returned."""
        ends = self._ends.extended(new.ends + self._data.n)
        lookup = None if self._lookup is None else self._lookup.extended(new.keys())
        return StringIds(self._data.extended(new.data), ends, lookup)

    def without(self, positions: NDArray[np.int64]) -> StringIds:
        """Remove the ids at some positions."""
        is_kept = np.ones(self.n, bool)
        is_kept[positions] = False
        lookup = None if self._lookup is None else self._lookup.kept(is_kept)
        return StringIds.of(self.texts.kept(is_kept), lookup)

    def find(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Return the positions of ids. Raises ValueError unless all of them are stored."""
        wanted = check_strings(ids)
        positions = self.positions(wanted)
        if (is_unknown := positions < 0).any():
            raise not_stored(wanted.at(np.flatnonzero(is_unknown)[:1])[0])
        return positions

    def positions(self, ids: ArrayLike | Texts) -> NDArray[np.int64]:
        """Return the positions of ids, -1 where an id is not stored."""
        wanted = ids if isinstance(ids, Texts) else check_strings(ids)

        def matches(rows: NDArray[np.int64], positions: NDArray[np.int64]) -> NDArray[np.bool_]:
            # The bytes of stored ids are joined only where they are compared.
            return wanted.equal(rows, self.texts, positions) if len(rows) else np.empty(0, bool)

        return self.lookup.find(wanted.keys(), matches)


AnyIds = Ids | StringIds
NewIds = NDArray[np.int64] | Texts


def rows_of(ids: NewIds, is_chosen: NDArray[np.bool_]) -> NewIds:
    """Return some of the ids."""
    return ids.chosen(np.flatnonzero(is_chosen)) if isinstance(ids, Texts) else ids[is_chosen]


def ids_for(stored: AnyIds, ids: ArrayLike | None) -> AnyIds:
    """Return the stored ids; for string ids that are the first ones of an index, no string ids.

    Raises ValueError if `ids` are strings and the stored ones integers, or the other way.
    """
    given = None if ids is None else strings_of(ids)
    if given is not None and isinstance(stored, Ids):
        if stored.n or stored.values is not None:
            raise ValueError(f"ids contains {given[0]!r}: the index has integer ids, which strings cannot join.")
        return StringIds.of(Texts.of([]))
    return stored


def strings_of(ids: ArrayLike) -> list[str] | None:
    """Return ids that are strings as a list; None if none of them is a string.

    Raises TypeError for one string, and ValueError for strings beside other values.
    """
    if isinstance(ids, str):
        raise TypeError(f"ids={ids!r}: expected a list of ids, such as [{ids!r}].")
    if isinstance(ids, np.ndarray) and ids.dtype.kind not in "OUT":
        return None
    if isinstance(ids, list | tuple | set | frozenset):
        values = list(ids)
    else:
        array = np.asarray(ids)
        values = array.tolist() if array.ndim == 1 and array.dtype.kind in "OUT" else []
    is_string = [isinstance(value, str) for value in values]
    if not any(is_string):
        return None
    if not all(is_string):
        other = values[is_string.index(False)]
        raise ValueError(f"ids contains {other!r} beside strings: expected strings or integers, not both.")
    return values


def check_strings(ids: ArrayLike) -> Texts:
    """Validate string ids. Raises ValueError unless all of them are strings."""
    given = strings_of(ids)
    if given is None:
        rest = np.atleast_1d(np.asarray(list(ids) if isinstance(ids, set | frozenset) else ids)).ravel()
        if rest.size:
            raise ValueError(f"ids contains {rest.tolist()[0]!r}: the index has string ids; pass strings.")
    return Texts.of(given or [])


def check_new_strings(ids: ArrayLike, n_codes: int) -> Texts:
    """Validate the string ids of codes that are added. Raises ValueError unless they are one per code and distinct."""
    new = check_strings(ids)
    if len(new.ends) != n_codes:
        raise ValueError(f"ids has {len(new.ends)} entries for {n_codes} codes: expected one id per code.")
    values = new.at(np.arange(n_codes))
    if len(set(values)) < n_codes:
        seen: set[str] = set()
        twice = next(value for value in values if value in seen or seen.add(value))  # type: ignore[func-returns-value]
        raise ValueError(f"ids contains {twice} more than once: expected distinct ids.")
    return new
