"""Changes of an index: their bytes in a journal, and the net effect of many of them.

1. A change adds, replaces or removes codes, by their ids.
2. Many changes have the effect of one: what happened to each id is followed through all of them at once, without a loop
   over changes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.hamming import Codes
from proxcode.storage.texts import Texts

ADD, UPSERT, REMOVE = 1, 2, 3
# Forms of ids: consecutive integers, integers, strings.
RANGE, INTEGERS, STRINGS = 0, 1, 2
# Form of the ids, their number, and the first one of a range or the number of bytes of strings.
LAYOUT = struct.Struct("<IQq")
ChangedIds = NDArray[np.int64] | Texts
Positions = NDArray[np.int64]


class Change(NamedTuple):
    """One change: ADD, UPSERT or REMOVE, the ids, and one packed code per id, none for REMOVE."""

    kind: int
    ids: ChangedIds
    codes: Codes

    @property
    def n(self) -> int:
        """Number of ids."""
        return len(self.ids.ends) if isinstance(self.ids, Texts) else len(self.ids)

    def to_bytes(self) -> bytes:
        """Return the change as bytes, without its kind."""
        codes = np.ascontiguousarray(self.codes).tobytes()
        if isinstance(self.ids, Texts):
            data, ends = self.ids
            head = LAYOUT.pack(STRINGS, len(ends), len(data))
            return b"".join((head, codes, ends.astype("<i8").tobytes(), data.tobytes()))
        ids = self.ids
        # Differences of int64 wrap around.
        if len(ids) and int(ids[-1]) - int(ids[0]) == len(ids) - 1 and (np.diff(ids) == 1).all():
            return LAYOUT.pack(RANGE, len(ids), int(ids[0])) + codes
        return LAYOUT.pack(INTEGERS, len(ids), 0) + codes + ids.astype("<i8").tobytes()

    @classmethod
    def from_bytes(cls, kind: int, data: memoryview, n_bytes: int) -> Change:
        """Return the change of a kind that `to_bytes` wrote. Raises ValueError for other bytes."""
        if kind not in (ADD, UPSERT, REMOVE) or len(data) < LAYOUT.size:
            raise ValueError("has a record of an unknown kind")
        form, n, number = LAYOUT.unpack(data[: LAYOUT.size])
        size_of_codes = 0 if kind == REMOVE else n * n_bytes
        sizes = {RANGE: 0, INTEGERS: 8 * n, STRINGS: 8 * n + number}
        rest = data[LAYOUT.size :]
        if len(rest) != size_of_codes + sizes.get(form, -1) or (form == STRINGS and number < 0):
            raise ValueError("has a record of the wrong length")
        codes = np.frombuffer(rest[:size_of_codes], np.uint8).reshape(-1, n_bytes)
        rest = rest[size_of_codes:]
        if form == RANGE:
            if number + n - 1 > np.iinfo(np.int64).max:
                raise ValueError("has a record with ids that are too large")
            return cls(kind, np.arange(number, number + n), codes)
        numbers = np.frombuffer(rest[: 8 * n], "<i8").astype(np.int64)
        if form == INTEGERS:
            return cls(kind, numbers, codes)
        texts = Texts(np.frombuffer(rest[8 * n :], np.uint8), numbers)
        texts.check(in_full=True)
        return cls(kind, texts, codes)


class NetChange(NamedTuple):
    """The effect of changes on stored codes: some are replaced, then some removed, then others added.

    Positions are those before all changes.
    """

    replaced: Positions
    replacements: Codes
    removed: Positions
    ids: ChangedIds
    added: Codes

    @classmethod
    def of(cls, changes: Sequence[Change], positions: Callable[[Any], Positions] | None) -> NetChange:
        """Return the effect of at least one change.

        Parameters
        ----------
        changes : sequence of Change
            All with integer or all with string ids.
        positions : callable
            Returns the positions of ids among the stored codes, -1 where an id is not stored. None: no id is stored.

        Raises ValueError for an id that is added while it is stored, or removed while it is not.
        """
        kind = np.repeat([change.kind for change in changes], [change.n for change in changes])
        codes = np.concatenate([change.codes for change in changes])
        row = np.where(kind == REMOVE, -1, np.cumsum(kind != REMOVE) - 1)
        distinct, label = _labelled([change.ids for change in changes])
        n_distinct = len(distinct.ends) if isinstance(distinct, Texts) else len(distinct)
        base = np.full(n_distinct, -1) if positions is None else positions(distinct)
        # All events of an id are contiguous, in the order of time.
        order = np.argsort(label, kind="stable")
        kind, row = kind[order], row[order]
        starts = np.flatnonzero(np.diff(label[order], prepend=-1))
        was_stored = np.append(False, kind[:-1] != REMOVE)
        was_stored[starts] = base >= 0
        if (was_stored & (kind == ADD)).any() or (~was_stored & (kind == REMOVE)).any():
            raise ValueError("adds an id that is stored, or removes one that is not")
        last = np.append(starts[1:], len(order)) - 1
        last_removal = np.maximum.reduceat(np.where(kind == REMOVE, np.arange(len(order)), -1), starts)
        is_removed = last_removal >= 0
        is_stored_at_end = kind[last] != REMOVE
        is_replaced = (base >= 0) & ~is_removed
        is_added = is_stored_at_end & ~is_replaced
        # An id is in the order of the event that added it: the first one, or the first one after its last removal.
        birth = order[np.where(is_removed, last_removal + 1, starts)[is_added]]
        added = np.flatnonzero(is_added)[np.argsort(birth)]
        ids = distinct.chosen(added) if isinstance(distinct, Texts) else distinct[added]
        return cls(
            replaced=base[is_replaced],
            replacements=codes[row[last[is_replaced]]],
            removed=base[(base >= 0) & is_removed],
            ids=ids,
            added=codes[row[last[added]]],
        )


def _labelled(parts: Sequence[ChangedIds]) -> tuple[ChangedIds, NDArray[np.int64]]:
    """Return the distinct ids of all parts, and for each id its number among them."""
    if len({isinstance(part, Texts) for part in parts}) > 1:
        raise ValueError("has integer and string ids")
    if not isinstance(parts[0], Texts):
        return np.unique(np.concatenate(parts), return_inverse=True)
    number: dict[str, int] = {}
    texts: list[Any] = [text for part in parts for text in part.at(np.arange(len(part.ends)))]  # type: ignore[union-attr]
    label = np.fromiter((number.setdefault(text, len(number)) for text in texts), np.int64, len(texts))
    return Texts.of(list(number)), label
