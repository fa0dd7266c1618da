"""Atomic file writes: write a temporary file, sync it to disk, rename it.

A reader sees the old file or the complete new one, whatever interrupts the write. The temporary file lies in the folder
of the output, starts with a dot and ends in `.partial`; its writer holds a lock on it.
"""

import glob
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

FilePath = str | os.PathLike[str]


@contextmanager
def atomic_write(path: FilePath) -> Iterator[Path]:
    """Yield the path of a temporary file; after the block, rename it to `path`, or remove it if the block raised.

    The temporary file is always `.NAME.partial`, so that the next write replaces what a killed process left. A second
    process that writes the same file gets a BlockingIOError.
    """
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial")
    with _locked(partial, path) as descriptor:
        try:
            yield partial
            os.fsync(descriptor)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        partial.replace(path)
    _sync_folder(path.parent)


@contextmanager
def resumable_write(path: FilePath, identity: str) -> Iterator[BinaryIO]:
    """Yield a temporary file opened for reading and writing; after the block, rename it to `path`.

    If an earlier run of the same `identity` was killed or interrupted, the file holds what that run wrote. The files
    of other identities are removed. An exception other than an interrupt removes the file.
    """
    path = Path(path)
    partial = path.with_name(f".{path.name}.{hashlib.sha256(identity.encode()).hexdigest()[:16]}.partial")
    with _locked(partial, path) as descriptor:
        for other in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
            if other != partial:
                with _locked(other, path):
                    other.unlink()
        try:
            with os.fdopen(os.dup(descriptor), "r+b", buffering=0) as file:
                yield file
            os.fsync(descriptor)
        # KeyboardInterrupt is not an Exception: the file stays for the next run.
        except Exception:
            partial.unlink(missing_ok=True)
            raise
        partial.replace(path)
    _sync_folder(path.parent)


@contextmanager
def _locked(partial: Path, path: Path) -> Iterator[int]:
    """Open a temporary file of `path` and lock it; yield its descriptor."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to: make it first.")
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not _lock(descriptor, partial):
            raise BlockingIOError(f"{path} is being written by another process: wait for it.")
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int, partial: Path) -> bool:
    """Lock an open file without waiting; return whether it is locked and still has its name."""
    if os.name != "posix":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    # Another process may have renamed or removed the file between its opening and its locking.
    return partial.exists() and os.path.samestat(os.fstat(descriptor), partial.stat())


def _sync_folder(folder: Path) -> None:
    """Sync a folder to disk, so that a rename survives a power failure, on systems that support it."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
