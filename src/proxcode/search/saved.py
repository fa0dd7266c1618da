"""Files of an index: saved and loaded as a whole, or opened so that changes are permanent."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from proxcode.search.contents import Snapshot
from proxcode.storage.changes import Change
from proxcode.storage.container import reading
from proxcode.storage.index_file import KIND, StoredIndex, read_index, replace_index
from proxcode.storage.index_writer import IndexWriter
from proxcode.storage.journal import journal_of
from proxcode.stores.base import check_fingerprint
from proxcode.utils.locks import ForkSafeLock


class SavedIndexMixin:
    """Methods of an index that concern its file."""

    n_bits: int
    fingerprint: str | None
    check_model: Callable[[Any], None]
    _snapshot: Snapshot
    _replace: Callable[..., None]
    _changing: ForkSafeLock
    # Where changes are made permanent; None for an index in memory.
    _writer: IndexWriter | None

    def _commit(self, after: Snapshot, change: Change) -> None:
        """Make a change, first in the journal of an index that `open` returned."""
        if self._writer is not None:
            self._writer.append(change)
        self._snapshot = after
        if self._writer is not None and self._writer.is_due:
            self._writer.try_to_compact(self._stored)

    @property
    def _stored(self) -> StoredIndex:
        planes, ids, _ = self._snapshot
        return StoredIndex(self.n_bits, self.fingerprint, planes.columns, ids.contents, ids.stored_lookup)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write the index to a file, atomically; hash tables are not saved. The journal of an older file is removed.

        Without `overwrite` an existing file is kept, and a FileExistsError raised.
        """
        if self._writer is not None and overwrite and self._writer.path == Path(path).absolute():
            self.compact()
            return
        replace_index(path, self._stored, overwrite=overwrite)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        mapped: bool = True,
        n_threads: int | None = None,
        tables: bool | None = None,
        model: Any = None,
    ) -> Self:
        """Read a saved index with all changes that `open` made to it. Changes of the result stay in memory.

        Parameters
        ----------
        path : path
        mapped : bool, default=True
            Map the file into memory: it opens without delay and several processes share its memory, until codes are
            added or there are changes in its journal, which the next search copies to memory. False reads the file and
            verifies its digest.
        n_threads, tables
            As in the constructor.
        model : ProximityPreservingCode or str, default=None
            The model that encodes the queries: an index of the codes of another model is refused.
        """
        stored, changes, _ = read_index(path, mapped=mapped)
        with reading(path, KIND):
            of_file = check_fingerprint(stored.fingerprint)
            make: Any = cls
            index: Self = make(stored.n_bits, n_threads=n_threads, tables=tables, model=of_file)
            index._replace(stored.planes, stored.ids, stored.lookup)
            index.check_model(model)
        if changes:
            with reading(journal_of(path), "journal"):
                index._snapshot = index._snapshot.changed(changes, in_full=not mapped)
        return index

    @classmethod
    def open(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Open a saved index so that its changes are persistent.

        `add`, `upsert` and `remove` append to a journal beside the file, `items.index.journal`, and return when the
        change is on disk. What they write, and the time of `add`, depend on the size of the change alone; `upsert` and
        `remove` also copy the codes in memory. One index at a time may be open for a file, and others may load it
        meanwhile. A journal that is longer than the file is merged into it, as by `compact`. The file and its journal
        belong together: move or copy both.

        Parameters
        ----------
        path : path
            A file that `save` wrote.
        **options
            Those of `load`.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from proxcode import HammingIndex
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "items.index")
        ...     HammingIndex(n_bits=16).save(path)
        ...     with HammingIndex.open(path) as index:
        ...         index.add(np.array([[0, 0], [0, 7]], np.uint8), ids=["a.jpg", "b.jpg"]).remove(["a.jpg"])
        ...     HammingIndex.load(path).ids
        HammingIndex(n_bits=16), 1 codes
        array(['b.jpg'], dtype=object)
        """
        writer = IndexWriter(path)
        try:
            index = cls.load(path, **options)
        except BaseException:
            writer.close()
            raise
        index._writer = writer
        return index

    def compact(self) -> Self:
        """Merge the journal of an index that `open` returned into its file, which is replaced atomically."""
        if self._writer is None:
            raise ValueError("the index is in memory alone: compact() is for an index that HammingIndex.open returned.")
        with self._changing.own:
            self._writer.compact(self._stored)
        return self

    def close(self) -> None:
        """Let others open the file of an index that `open` returned; it can still be searched, but not changed."""
        if self._writer is not None:
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
