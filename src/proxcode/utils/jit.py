"""Compiled kernels: numba's, kept on disk where that is possible.

A kernel is compiled at its first call, which takes a second or less, and kept in a cache for the next process. Numba
raises an error where the cache is in a place that cannot be written or where a file of it is damaged. Here neither
matters: the kernel is compiled again, and a warning says so once in a process.

Kernels are serial and release Python's lock; `utils.threads` runs them on all cores.
"""

import hashlib
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.compiler_lock import global_compiler_lock

if hasattr(os, "register_at_fork"):
    # A child that is forked while another thread compiles would wait for that thread for ever.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )

# Size in bytes of the digest at the end of a file.
DIGEST = 32
# Options that leave out numba's wrappers for calls from C and from Python: they take a fifth of the time to compile.
NOT_FOR_C: dict[str, Any] = {"no_cfunc_wrapper": True}
NOT_FOR_PYTHON: dict[str, Any] = {"no_cpython_wrapper": True}


def kernel(function: Callable[..., Any] | None = None, *, fastmath: bool = False) -> Any:
    """Compile a function at its first call, and keep it for later processes; a decorator."""
    if function is None:
        return lambda function: kernel(function, fastmath=fastmath)
    compiled = numba.njit(nogil=True, fastmath=fastmath, **NOT_FOR_C)(function)
    try:
        compiled._cache = KernelCache(function)
    except (RuntimeError, OSError) as error:
        # Numba finds no folder that can be written.
        compiled._cache = NoCache(error)
    return compiled


def subroutine(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function that kernels call, and Python cannot; a decorator with the options of `numba.njit`."""
    if function is None:
        return lambda function: subroutine(function, **options)
    return numba.njit(**NOT_FOR_C, **NOT_FOR_PYTHON, **options)(function)


@cache
def _stamps_of_kernels() -> tuple[tuple[int, int], ...]:
    """Return the time of the last change and the size of all modules with kernels."""
    files = sorted(Path(__file__).parents[1].rglob("*kernels.py"))
    return tuple((status.st_mtime_ns, status.st_size) for status in map(Path.stat, files))


class KernelCache(FunctionCache):
    """Numba's cache of one function, which a failure to read or to write does not stop."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        # Another version of numba, whose files cannot be read by this one, has files of its own.
        name = f"{self._impl.filename_base}.numba-{numba.__version__}"
        # Numba looks at the file of the function alone, not at those of the functions that it calls.
        stamp = self._impl.locator.get_source_stamp(), _stamps_of_kernels()
        self._cache_file = CheckedFiles(self._cache_path, name, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kernel for a signature, None where it is not in the cache."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:
            _warn(f"the compiled kernels in {self._cache_path} cannot be read ({error}): they are compiled again.")
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            _warn_of_missing_cache(error)


class NoCache(NullCache):
    """No cache, and why."""

    def __init__(self, reason: Exception) -> None:
        self.reason = reason

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep nothing."""
        _warn_of_missing_cache(self.reason)


class CheckedFiles(IndexDataCacheFile):
    """Files of a cache, each with a digest at its end: machine code that was damaged is never run."""

    def _load_index(self) -> Any:
        if Path(self._index_path).exists():
            _check_digest(self._index_path)
        # Numba reads a file up to the end of its own content.
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        _check_digest(self._data_path(name))
        return super()._load_data(name)

    def save(self, key: Any, data: Any) -> None:
        """Write a kernel and the index."""
        try:
            self._load_index()
        except Exception:
            # A damaged index would be read again and again.
            self.flush()
        super().save(key, (self._source_stamp, key, data))

    def load(self, key: Any) -> Any:
        """Return a kernel, None where there is none; two processes may have written files of the same name."""
        stamp, owner, data = super().load(key) or (None, None, None)
        return data if (stamp, owner) == (self._source_stamp, key) else None

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[BytesIO]:
        with super()._open_for_write(filepath) as file:
            content = BytesIO()
            yield content
            data = content.getvalue()
            file.write(data + hashlib.sha256(data).digest())


def _check_digest(path: str) -> None:
    content = Path(path).read_bytes()
    if hashlib.sha256(content[:-DIGEST]).digest() != content[-DIGEST:]:
        raise ValueError(f"{path} is damaged")


_warnings: list[str] = []


def _warn(message: str) -> None:
    """Warn, once in a process."""
    if not _warnings:
        _warnings.append(message)
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def _warn_of_missing_cache(error: Exception) -> None:
    _warn(
        f"compiled kernels cannot be kept ({error}): every process compiles them anew, which takes seconds; set "
        "NUMBA_CACHE_DIR to a folder that can be written."
    )
