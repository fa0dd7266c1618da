"""Journals: the changes of an index file since it was written, appended to a file beside it.

1. The journal of `items.index` is `items.index.journal`. Its header names the digest of the index file that it changes.
2. A record is the length and kind of a change with their checksum, the change, and a SHA-256 digest of the record
   before it and of all this: no record can be altered, left out or moved without notice.
3. A record is synced to disk before a change is acknowledged. One that was not written in full, at the end, is ignored
   by readers and overwritten by the next writer.
4. A writer holds a lock on the journal as long as it is open.
5. When the index file is written anew, the journal first records the digest of the new file: after an interruption it
   belongs to the old file, or its changes are known to be in the new one.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from proxcode.storage.atomic import CompleteFile, FilePath, open_locked, sync_folder
from proxcode.storage.container import digest_of

MAGIC = b"PXJRNL1\n"
# Length of a change, its kind, and the CRC-32 of both.
HEAD = struct.Struct("<QII")
DIGEST = 32
HEADER = len(MAGIC) + 2 * DIGEST
# Kind of the record with the digest of the file that replaces the index file.
REPLACED = 4


class Record(NamedTuple):
    """Kind and content of a record."""

    kind: int
    data: memoryview


class JournalContents(NamedTuple):
    """What a journal holds: the digest of its index file, records, their end in bytes, and the digest of the last one.

    `base` is empty where the journal has no complete header.
    """

    base: str = ""
    records: tuple[Record, ...] = ()
    end: int = 0
    last: bytes = b""

    @property
    def replaced_by(self) -> str | None:
        """Digest of the file that was about to replace the index file at last."""
        last = self.records[-1] if self.records else None
        return bytes(last.data).hex() if last is not None and last.kind == REPLACED else None

    def of(self, path: FilePath, digest: str) -> JournalContents:
        """Return the contents for an index file with this digest: none if they are in it already.

        Raises ValueError if the journal belongs to another file.
        """
        if self.base in ("", digest):
            return self
        if self.replaced_by == digest:
            return JournalContents()
        raise ValueError(
            f"{journal_of(path)} has changes of another version of {path} (its digest differs): restore that version, "
            "or remove the journal to drop the changes."
        )


def journal_of(path: FilePath) -> Path:
    """Return the path of the journal of an index file."""
    return Path(f"{os.fspath(path)}.journal")


def read_journal(path: FilePath) -> JournalContents:
    """Read the journal of an index file; empty if there is none.

    Raises ValueError for a file that is no journal, or was changed after it was written.
    """
    journal = journal_of(path)
    try:
        data = memoryview(journal.read_bytes())
    except FileNotFoundError:
        return JournalContents()
    if data[: len(MAGIC)] != MAGIC[: len(data)]:
        if _is_zero(data):
            return JournalContents()
        raise ValueError(f"{journal} is not a journal of proxcode: rename it, its name is needed for the journal.")
    if len(data) < HEADER:
        return JournalContents()
    header = data[: HEADER - DIGEST]
    last = sha256(header).digest()
    if data[HEADER - DIGEST : HEADER] != last:
        raise _changed(journal, 0)
    records, end = [], HEADER
    while (record := _record_at(journal, data, end, last)) is not None:
        stop = end + HEAD.size + len(record.data) + DIGEST
        last, end = bytes(data[stop - DIGEST : stop]), stop
        records.append(record)
    return JournalContents(bytes(header[len(MAGIC) :]).hex(), tuple(records), end, last)


def _record_at(journal: Path, data: memoryview, start: int, last: bytes) -> Record | None:
    """Return the record at a position; None if it was not written in full."""
    rest = data[start:]
    if len(rest) < HEAD.size:
        return None
    length, kind, checksum = HEAD.unpack(rest[: HEAD.size])
    if zlib.crc32(rest[: HEAD.size - 4]) != checksum:
        if _is_zero(rest):
            return None
        raise _changed(journal, start)
    stop = HEAD.size + length
    if len(rest) < stop + DIGEST:
        return None
    if rest[stop : stop + DIGEST] != sha256(last + rest[:stop]).digest():
        if len(rest) == stop + DIGEST and _is_zero(rest[stop:]):
            return None
        raise _changed(journal, start)
    return Record(kind, rest[HEAD.size : stop])


def _is_zero(data: memoryview) -> bool:
    """Return whether a system that stopped may have left these bytes where nothing was written."""
    return not np.frombuffer(data, np.uint8).any()


def _changed(journal: Path, start: int) -> ValueError:
    return ValueError(
        f"{journal} was changed after it was written (its digest differs at byte {start:,}): copy it again, or cut it "
        f"to {start:,} bytes to keep the changes before."
    )


class Journal:
    """The journal of an index file, open to append records; `close` ends the lock on it.

    Parameters
    ----------
    path : path
        The index file.
    replaces : bool, default=False
        Whether the index file is about to be replaced: it need not exist, nor the journal belong to it.
    """

    def __init__(self, path: FilePath, *, replaces: bool = False) -> None:
        self.path = Path(path).absolute()
        self._process = os.getpid()
        self._closed = False
        self._seen: tuple[int, int, int] | None
        if not replaces:
            # Raises the error of a missing or other file before a journal is made.
            digest_of(path)
        busy = f"{path} is open for writing in another process or index: close it there first."
        self._file = CompleteFile(open_locked(journal_of(self.path), busy), "r+b")
        try:
            found = read_journal(self.path)
            if replaces:
                self._base, self._seen = found.base, None
                kept = JournalContents() if _is_merged(found, self.path) else found
            else:
                self._base, self._seen = digest_of(self.path), _identity(self.path)
                kept = found.of(path, self._base)
            if kept.end == 0:
                # What an interrupted merge left is in the index file, and would not belong to the one that replaces it.
                self._file.truncate(0)
            self.n_records, self.size, self._last = len(kept.records), kept.end, kept.last
        except BaseException:
            self.close()
            raise

    def append(self, kind: int, data: bytes) -> None:
        """Append a record and sync it to disk. An error leaves the journal as it was."""
        self.check_open()
        if self._seen is not None and _identity(self.path) != self._seen:
            raise ValueError(f"{self.path} was replaced after it was opened: open it again, then repeat the change.")
        parts = []
        if self.size == 0:
            header = MAGIC + bytes.fromhex(self._base)
            self._last = sha256(header).digest()
            parts = [header, self._last]
        head = HEAD.pack(len(data), kind, 0)[:-4]
        record = head + zlib.crc32(head).to_bytes(4, "little") + data
        last = sha256(self._last + record).digest()
        written = b"".join((*parts, record, last))
        self._write(written)
        self.n_records, self.size, self._last = self.n_records + 1, self.size + len(written), last

    def _write(self, data: bytes) -> None:
        """Write to the end of the last record, over what an interrupted writer left."""
        try:
            self._file.truncate(self.size)
            self._file.seek(self.size)
            self._file.write(data)
            os.fsync(self._file.fileno())
            if self.size == 0:
                sync_folder(self.path.parent)
        except BaseException as error:
            with suppress(OSError):
                self._file.truncate(self.size)
            if isinstance(error, OSError) and error.filename is None:
                error.filename = str(journal_of(self.path))
            raise

    def announce(self, digest: str) -> None:
        """Record the digest of the file that is about to replace the index file."""
        if self.n_records:
            self.append(REPLACED, bytes.fromhex(digest))

    def restart(self) -> None:
        """Remove all records, which are in the new index file."""
        self._base, self._seen = digest_of(self.path), _identity(self.path)
        self.n_records, self.size = 0, 0
        self._file.truncate(0)
        os.fsync(self._file.fileno())

    def check_open(self) -> None:
        """Raise ValueError unless this process opened the journal and has not closed it."""
        if self._closed:
            raise ValueError(f"{self.path} is closed: open it again to change it.")
        if os.getpid() != self._process:
            raise ValueError(
                f"{self.path} was opened by another process, from which this one was forked: open it here."
            )

    def close(self) -> None:
        """End the lock. A journal without records is removed."""
        if self._closed:
            return
        self._closed = True
        if os.getpid() == self._process and getattr(self, "n_records", 1) == 0:
            journal_of(self.path).unlink(missing_ok=True)
        self._file.close()


def _is_merged(found: JournalContents, path: Path) -> bool:
    """Return whether the changes of a journal are in the index file, which may be missing or damaged."""
    try:
        return found.replaced_by is not None and found.replaced_by == digest_of(path)
    except (OSError, ValueError):
        return False


def _identity(path: Path) -> tuple[int, int, int]:
    """Return what tells whether a path still leads to the same file."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns
