"""The writer of an index file: changes go to its journal, which from time to time is merged into the file."""

from __future__ import annotations

import warnings

from proxcode.storage.atomic import FilePath
from proxcode.storage.changes import Change
from proxcode.storage.index_file import StoredIndex, write_compacted
from proxcode.storage.journal import Journal

# Bytes of a journal below which it is not merged into its index file.
MIN_JOURNAL = 2**20


class IndexWriter:
    """An index file that is open for changes by this process alone.

    Parameters
    ----------
    path : path
        An existing index file.

    Attributes
    ----------
    path : Path
        Its absolute path.
    """

    def __init__(self, path: FilePath) -> None:
        self._journal = Journal(path)
        self.path = self._journal.path
        # Size of the journal up to which a failed merge is not tried again.
        self._tried = 0

    def append(self, change: Change) -> None:
        """Make a change permanent. An error leaves the file and its journal as they were."""
        if change.n:
            self._journal.append(change.kind, change.to_bytes())

    @property
    def is_due(self) -> bool:
        """Whether the journal is longer than the index file."""
        size = self._journal.size
        return size > max(MIN_JOURNAL, 2 * self._tried) and size > self.path.stat().st_size

    def compact(self, stored: StoredIndex) -> None:
        """Replace the index file by the current content, atomically, and empty its journal."""
        self._journal.check_open()
        write_compacted(self._journal, stored)
        self._tried = 0

    def try_to_compact(self, stored: StoredIndex) -> None:
        """Do the same after a change that is permanent already: a failure is a warning."""
        try:
            self.compact(stored)
        except OSError as error:
            self._tried = self._journal.size
            warnings.warn(
                f"the journal of {self.path} cannot be merged into it ({error}): no change is lost, but its loading "
                "takes longer; free some space and call compact().",
                RuntimeWarning,
                stacklevel=4,
            )

    def close(self) -> None:
        """End the lock on the file."""
        self._journal.close()
