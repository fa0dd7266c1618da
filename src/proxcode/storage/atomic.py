"""Atomic file writes: write a temporary file, sync it to disk, rename it.

A reader sees the old file or the complete new one, whatever interrupts the write. The temporary file lies in the folder
of the output, starts with a dot and ends in `.partial`; its writer holds a lock on it.

An output that is a symbolic link is replaced itself; the file that it points to is not changed.
"""

import errno
import hashlib
import io
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

FilePath = str | os.PathLike[str]

# Errors of a disk that is full, of a limit on the size of files, and of a disk that fails.
DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
# Errors of file systems that have no locks, or do not sync folders.
UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EACCES})
# Folders of devices and of the system, in which a rename would replace more than a file; files in /dev/shm are regular.
SYSTEM = (Path("/dev"), Path("/proc"), Path("/sys"))
SHARED_MEMORY = Path("/dev/shm")


@contextmanager
def atomic_write(path: FilePath, *, overwrite: bool = True) -> Iterator[Path]:
    """Yield the path of a temporary file; after the block, rename it to `path`, or remove it if the block raised.

    The temporary file is always `.NAME.partial`, so that the next write replaces what a killed process left. A second
    process that writes the same file gets a BlockingIOError. Without `overwrite` an existing file, or one that appears
    while the block runs, is kept and raises a FileExistsError.
    """
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial")
    with _locked(partial, path, overwrite) as descriptor:
        try:
            yield partial
            os.fsync(descriptor)
            _publish(partial, path, overwrite)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    sync_folder(path.parent)


@contextmanager
def resumable_write(path: FilePath, identity: str, *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """Yield a temporary file opened for reading and writing; after the block, rename it to `path`.

    If an earlier run of the same `identity` was killed or interrupted, or met a full disk, the file holds what that run
    wrote. The files of other identities are removed. Any other exception removes the file. `overwrite` is that of
    `atomic_write`; the temporary file of a run that may not replace a file is kept.
    """
    path = Path(path)
    partial = path.with_name(f".{path.name}.{hashlib.sha256(identity.encode()).hexdigest()[:16]}.partial")
    with _locked(partial, path, overwrite) as descriptor:
        _remove_others(partial, path)
        try:
            with CompleteFile(os.dup(descriptor), "r+b") as file:
                yield cast(BinaryIO, file)
            os.fsync(descriptor)
        # KeyboardInterrupt is not an Exception: the file stays for the next run.
        except Exception as error:
            if not is_disk_error(error):
                partial.unlink(missing_ok=True)
                raise
            error.add_note(resume_note(error))
            raise
        _publish(partial, path, overwrite)
    sync_folder(path.parent)


class CompleteFile(io.FileIO):
    """Unbuffered file whose `write` writes all bytes or raises: a write to an almost full disk may be short."""

    def write(self, data: Any, /) -> int:
        """Write all bytes of `data`; return their number."""
        view = memoryview(data).cast("B")
        n_written = 0
        while n_written < len(view):
            n_written += super().write(view[n_written:]) or 0
        return n_written


def is_disk_error(error: BaseException) -> bool:
    """Return whether an exception says that the disk is full or fails."""
    return isinstance(error, OSError) and error.errno in DISK_ERRORS


def resume_note(error: BaseException) -> str:
    """Return the remedy for a disk error after which the same command resumes."""
    works = "the disk works" if isinstance(error, OSError) and error.errno == errno.EIO else "there is room"
    return f"the progress so far is kept, and the same command resumes once {works}"


def check_target(path: FilePath) -> None:
    """Raise an OSError unless a regular file can be put at `path`: it is no folder or device, and its folder exists."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to: make it first.")
    folder = path.parent.resolve()
    in_system = any(folder.is_relative_to(system) for system in SYSTEM) and not folder.is_relative_to(SHARED_MEMORY)
    if in_system or (path.exists() and not path.is_file()):
        raise OSError(f"{path} is a device, a pipe or a file of the system: name a regular file to write.")


@contextmanager
def _locked(partial: Path, path: Path, overwrite: bool = True) -> Iterator[int]:
    """Open a temporary file of `path` and lock it; yield its descriptor. Disk errors in the block name `path`."""
    check_target(path)
    if not overwrite and os.path.lexists(path):
        raise _exists(path)
    busy = f"{path} is being written by another process: wait for it."
    try:
        descriptor = _open_regular(partial)
        try:
            if not _lock(descriptor, partial):
                raise BlockingIOError(busy)
            if os.fstat(descriptor).st_nlink > 1:
                # A process was killed after it had linked the file to its output, which must not be written to.
                partial.unlink()
                try:
                    new = _open_regular(partial, os.O_EXCL)
                except FileExistsError as error:
                    raise BlockingIOError(busy) from error
                os.close(descriptor)
                descriptor = new
                if not _lock(descriptor, partial):
                    raise BlockingIOError(busy)
            yield descriptor
        finally:
            os.close(descriptor)
    except OSError as error:
        # An error that names another file is one of an input.
        if is_disk_error(error) and (error.filename is None or str(error.filename) == str(partial)):
            # Libraries add details of their own, and the name of the temporary file.
            error.filename, error.strerror = str(path), os.strerror(cast(int, error.errno))
        raise


def open_locked(path: Path, busy: str) -> int:
    """Open a file to read and write, made if there is none, and lock it until it is closed; return its descriptor.

    Raises BlockingIOError with the text `busy` if another process, or this one, has locked it.
    """
    descriptor = _open_regular(path)
    try:
        if not _lock(descriptor, path):
            raise BlockingIOError(busy)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _open_regular(partial: Path, flags: int = 0) -> int:
    """Open a temporary file; raise OSError if it is a link or a pipe, which another user may have put there."""
    refusal = f"{partial} is not a regular file: remove it, or choose another name for the output."
    if partial.is_symlink() or partial.is_dir():
        raise OSError(refusal)
    flags |= os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(partial, flags, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(refusal)
    return descriptor


def _remove_others(partial: Path, path: Path) -> None:
    """Remove the temporary files of other identities.

    The name may also be that of `atomic_write` for an output `NAME.<16 digits>`; then it is locked, or left by a killed
    process and never read.
    """
    name = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{16}}\.partial")
    for other in path.parent.iterdir():
        if other != partial and name.fullmatch(other.name):
            with _locked(other, path):
                other.unlink()


def _publish(partial: Path, path: Path, overwrite: bool) -> None:
    """Give a complete temporary file the name of the output, and the permissions of the file that it replaces."""
    if overwrite:
        if path.is_file() and not path.is_symlink():
            with suppress(PermissionError):
                partial.chmod(stat.S_IMODE(path.stat().st_mode))
        partial.replace(path)
        return
    try:
        # Unlike a rename, a link never replaces a file that appeared meanwhile.
        os.link(partial, path)
    except FileExistsError:
        raise _exists(path) from None
    except (OSError, AttributeError, NotImplementedError):
        # The file system or the system has no hard links: a file that appears between these two lines is replaced.
        if os.path.lexists(path):
            raise _exists(path) from None
        partial.replace(path)
    else:
        partial.unlink()


def _exists(path: Path) -> FileExistsError:
    return FileExistsError(f"{path} already exists; choose another name or replace it (--force, overwrite=True).")


def _lock(descriptor: int, partial: Path) -> bool:
    """Lock an open file without waiting; return whether it is locked and still has its name."""
    if os.name != "posix":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
    # Another process may have renamed or removed the file between its opening and its locking.
    return partial.exists() and os.path.samestat(os.fstat(descriptor), partial.stat())


def sync_folder(folder: Path) -> None:
    """Sync a folder to disk, so that a rename survives a power failure, on systems that support it."""
    if os.name != "posix":
        return
    with suppress(PermissionError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise
        finally:
            os.close(descriptor)
