"""Index files: byte planes of codes, and their ids as integers or as strings.

An index file is of the format of `container`, with the array `planes` and, unless ids are 0, 1, 2, ..., either `ids`
or the `id_bytes` and `id_ends` of strings. The arrays `id_keys` and `id_positions` find ids without sorting them
first: the ids, or 64-bit keys of strings, in increasing order, and their positions. Changes since the file was written
are in a journal beside it (`journal`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from proxcode.hamming import Codes, check_codes
from proxcode.storage.changes import Change, NetChange
from proxcode.storage.container import Tensors, digest_of, read_file, reading, write_file
from proxcode.storage.journal import REPLACED, Journal, journal_of, read_journal
from proxcode.storage.texts import Texts
from proxcode.utils.lookup import KeyLookup, Run
from proxcode.utils.validation import check_integer

KIND = "index"
# Attempts to read a file that is replaced while it is read.
MAX_ATTEMPTS = 100
# Integers, strings, or 0, 1, 2, ...
StoredIds = NDArray[np.int64] | Texts | None


class StoredIndex(NamedTuple):
    """What an index file holds: codes as byte planes of shape (n_bytes, n_codes), ids and where to find them.

    The lookup is one of ids, or of the keys of strings; None if it can be made, or integers are in increasing order.
    """

    n_bits: int
    fingerprint: Any
    planes: Codes
    ids: StoredIds
    lookup: KeyLookup | None = None

    @property
    def kind_of_ids(self) -> str:
        """What the ids are, in words."""
        return "0, 1, 2, ..." if self.ids is None else "strings" if isinstance(self.ids, Texts) else "integers"


def replace_index(path: str | os.PathLike[str], stored: StoredIndex, *, overwrite: bool = True) -> None:
    """Write an index file, atomically; the journal of a file that it replaces is removed."""
    if not journal_of(path).exists() or (not overwrite and os.path.lexists(path)):
        _write(path, stored, overwrite, None)
        return
    with closing(Journal(path, replaces=True)) as journal:
        write_compacted(journal, stored, overwrite=overwrite)


def write_compacted(journal: Journal, stored: StoredIndex, *, overwrite: bool = True) -> None:
    """Write an index file with all changes of its journal, atomically, and remove these from the journal."""
    _write(journal.path, stored, overwrite, journal.announce)
    journal.restart()


def _write(
    path: str | os.PathLike[str], stored: StoredIndex, overwrite: bool, announce: Callable[[str], None] | None
) -> None:
    n_bits, fingerprint, planes, ids, lookup = stored
    tensors: Tensors = {"planes": np.ascontiguousarray(planes)}
    if isinstance(ids, Texts):
        tensors |= {"id_bytes": ids.data, "id_ends": ids.ends}
    elif ids is not None:
        tensors["ids"] = ids
    if lookup is not None:
        run = lookup.joined()
        positions = np.arange(len(run.keys)) if run.positions is None else run.positions
        tensors |= {"id_keys": run.keys, "id_positions": positions.astype(np.uint32)}
    content = {"n_bits": n_bits, "model": fingerprint}
    write_file(path, KIND, content, tensors, overwrite=overwrite, announce=announce)


class IndexContents(NamedTuple):
    """An index file and its changes, in the order of time; a text that tells it from any other contents."""

    stored: StoredIndex
    changes: list[Change]
    version: str

    @property
    def has_strings(self) -> bool | None:
        """Whether ids are strings; None for an index without codes, whose first ids decide it."""
        if self.stored.ids is None and self.stored.planes.shape[1] == 0:
            return isinstance(self.changes[0].ids, Texts) if self.changes else None
        return isinstance(self.stored.ids, Texts)


def read_index(path: str | os.PathLike[str], *, mapped: bool) -> IndexContents:
    """Read an index file and its journal, or say in one sentence why they cannot be read; `mapped` as in `read_file`.

    Both are read again if the index file is replaced meanwhile.
    """
    for _ in range(MAX_ATTEMPTS):
        digest = digest_of(path)
        try:
            stored = _read(path, mapped)
            changes, version = _read_changes(path, digest, stored)
        except ValueError:
            if digest_of(path) == digest:
                raise
        else:
            if digest_of(path) == digest:
                return IndexContents(stored, changes, version)
    raise BlockingIOError(f"{path} is replaced again and again while it is read: read it later.")


def version_of(path: str | os.PathLike[str]) -> str:
    """Return the text that tells the contents of an index file and its journal from others."""
    return read_index(path, mapped=True).version


def _read_changes(path: str | os.PathLike[str], digest: str, stored: StoredIndex) -> tuple[list[Change], str]:
    found = read_journal(path).of(path, digest)
    changes = []
    for number, record in enumerate(found.records):
        if record.kind == REPLACED:
            continue
        try:
            change = Change.from_bytes(record.kind, record.data, len(stored.planes))
            check_codes(change.codes, stored.n_bits)
        except ValueError as error:
            raise ValueError(f"{journal_of(path)}: record {number} {error}: restore it from a copy.") from error
        changes.append(change)
    return changes, f"{digest} {found.last.hex()}" if changes else digest


def read_current(path: str | os.PathLike[str]) -> StoredIndex:
    """Read an index file with the changes of its journal applied; without changes, the arrays are memory-mapped."""
    stored, changes, _ = read_index(path, mapped=True)
    if not changes:
        return stored
    n_codes, ids = stored.planes.shape[1], stored.ids
    if ids is None:
        ids = Texts.of([]) if n_codes == 0 and isinstance(changes[0].ids, Texts) else np.arange(n_codes)
    with reading(journal_of(path), "journal"):
        net = NetChange.of(changes, partial(_positions, ids, stored.lookup))
    planes = np.array(stored.planes)
    planes[:, net.replaced] = net.replacements.T
    is_kept = np.ones(n_codes, bool)
    is_kept[net.removed] = False
    planes = np.hstack([planes[:, is_kept], net.added.T])
    if isinstance(ids, Texts) and isinstance(net.ids, Texts):
        after: StoredIds = ids.kept(is_kept).joined(net.ids)
    else:
        after = np.concatenate([cast(Any, ids)[is_kept], cast(Any, net.ids)])
        after = None if stored.ids is None and np.array_equal(after, np.arange(len(after))) else after
    return stored._replace(planes=planes, ids=after, lookup=None)


def _positions(
    stored: NDArray[np.int64] | Texts, lookup: KeyLookup | None, wanted: NDArray[np.int64] | Texts
) -> NDArray[np.int64]:
    """Return the positions of ids among the stored ones, -1 where an id is not stored."""
    if isinstance(stored, Texts) and isinstance(wanted, Texts):
        lookup = lookup or KeyLookup().extended(stored.keys())
        return lookup.find(wanted.keys(), lambda rows, positions: wanted.equal(rows, stored, positions))
    if isinstance(stored, Texts) or isinstance(wanted, Texts):
        raise ValueError("has ids of another kind than the index")
    return (lookup or KeyLookup().extended(stored)).find(wanted)


def _read(path: str | os.PathLike[str], mapped: bool) -> StoredIndex:
    """Read an index file alone."""
    content, tensors = read_file(path, KIND, mapped=mapped)
    with reading(path, KIND):
        n_bits = check_integer("its n_bits", content["n_bits"], 1)
        planes = tensors["planes"]
        ids: Any = tensors.get("ids")
        if "id_ends" in tensors:
            ids = Texts(tensors["id_bytes"], tensors["id_ends"])
        _check(n_bits, planes, ids, in_full=not mapped)
        lookup = None
        if "id_keys" in tensors:
            lookup = _lookup(tensors["id_keys"], tensors["id_positions"], ids, in_full=not mapped)
        # Files of earlier versions have neither a fingerprint nor a lookup.
        return StoredIndex(n_bits, content.get("model"), planes, ids, lookup)


def _lookup(keys: Any, positions: Any, ids: Any, *, in_full: bool) -> KeyLookup:
    """Return the lookup of the ids of a file. Raises ValueError for one of other ids; in full means all of them."""
    n, dtype = (len(ids.ends), np.uint64) if isinstance(ids, Texts) else (np.size(ids), np.int64)
    is_right = keys.dtype == dtype and positions.dtype == np.uint32 and keys.shape == positions.shape == (n,) != (0,)
    if is_right and in_full:
        of_ids = ids.keys() if isinstance(ids, Texts) else ids
        is_right = np.array_equal(np.sort(positions), np.arange(n)) and np.array_equal(of_ids[positions], keys)
        is_right = is_right and bool((keys[1:] >= keys[:-1]).all())
    if not is_right:
        raise ValueError("its lookup of ids does not fit to its ids; save the index again")
    return KeyLookup(n, (Run(keys, 0, positions),))


def _check(n_bits: int, planes: Any, ids: Any, *, in_full: bool) -> None:
    """Raise ValueError unless codes and ids have the right types and shapes.

    In full means that every value is looked at: bits after the first `n_bits` are zero and ids distinct.
    """
    n_bytes = -(-n_bits // 8)
    if planes.dtype != np.uint8 or planes.ndim != 2 or len(planes) != n_bytes:
        raise ValueError(
            f"its array 'planes' holds {planes.dtype} of shape {planes.shape}: expected uint8 of shape ({n_bytes}, "
            "n_codes); save the index again"
        )
    if isinstance(ids, Texts):
        ids.check(in_full)
        if len(ids.ends) != planes.shape[1]:
            raise ValueError(f"it has {len(ids.ends)} ids for {planes.shape[1]} codes; save the index again")
    elif ids is not None and (ids.dtype != np.int64 or ids.shape != planes.shape[1:]):
        raise ValueError(
            f"its array 'ids' holds {ids.dtype} of shape {ids.shape}: expected int64 of shape ({planes.shape[1]},); "
            "save the index again"
        )
    if in_full:
        check_codes(planes.T, n_bits)
        values = ids.at(np.arange(len(ids.ends))) if isinstance(ids, Texts) else ids
        n_distinct = len(set(values)) if isinstance(values, list) else 0 if values is None else len(np.unique(values))
        if values is not None and n_distinct < len(values):
            raise ValueError("it holds an id more than once; save the index again")
