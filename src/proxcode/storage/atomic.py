"""Atomic file writes: a file is written under a temporary name, synced to disk and renamed.

A reader sees the old file or the new one, never a part of it, whatever interrupts the write.
"""

import glob
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the name of a file to write; once written without error, it takes the place of `path`.

    The temporary name is always the same, `.NAME.partial` beside the file: what a killed process left there is written
    over by the next one. Two processes that write the same file at once are told apart by a lock.
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
    sync_folder(path.parent)


@contextmanager
def resumable_write(path: str | os.PathLike[str], identity: str) -> Iterator[BinaryIO]:
    """Open a file that is written piece by piece and takes the place of `path` once all is written without error.

    What a run of the same identity left behind when it was killed or interrupted is there to go on from; what others
    left is removed. An error of another kind removes the file.
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
        except Exception:  # an interrupt is none
            partial.unlink(missing_ok=True)
            raise
        partial.replace(path)
    sync_folder(path.parent)


@contextmanager
def _locked(partial: Path, path: Path) -> Iterator[int]:
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to: make it first.")
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if os.name == "posix":
            import fcntl

            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not partial.exists() or not os.path.samestat(os.fstat(descriptor), partial.stat()):
                    raise BlockingIOError  # between opening and locking it, another process was done with it
            except BlockingIOError:
                raise BlockingIOError(f"{path} is being written by another process: wait for it.") from None
        yield descriptor
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Make a rename last through a loss of power, where the system lets folders be synced."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
