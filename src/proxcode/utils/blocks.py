"""Work over the rows of a matrix in blocks: little memory, all cores, the same result for any number of cores.

Each block is one task with BLAS held to one thread. Where BLAS splits a product over its own threads, the last digits
depend on how many there are; a margin near zero would then give another bit.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

BLOCK = 2048

T = TypeVar("T")


@cache
def _blas() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  scipy brings a BLAS of its own, to be seen by the controller

    return ThreadpoolController().select(user_api="blas")


class _OneThread:
    """Holds BLAS to one thread while anyone asks for it; the setting is the process's, the askers may be many."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._askers = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._askers += 1
            if self._askers == 1:
                self._limit = _blas().limit(limits=1)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._askers -= 1
            if self._askers == 0:
                self._limit.restore_original_limits()


one_blas_thread = _OneThread()


def map_blocks(function: Callable[[slice], T], n: int, block: int = BLOCK) -> Iterator[tuple[slice, T]]:
    """Yield (rows, function(rows)) for the slices of `block` rows that make up n, in order.

    A few blocks are under way at a time, so that their results need not all fit in memory.
    """
    slices = [slice(start, min(start + block, n)) for start in range(0, n, block)]
    workers = min(joblib.cpu_count(), len(slices))
    with one_blas_thread:
        if workers <= 1:
            yield from ((rows, function(rows)) for rows in slices)
            return
        with ThreadPoolExecutor(workers) as pool:
            under_way: deque[tuple[slice, Future[T]]] = deque()
            for rows in slices:
                under_way.append((rows, pool.submit(function, rows)))
                if len(under_way) > workers:
                    yield _finished(*under_way.popleft())
            while under_way:
                yield _finished(*under_way.popleft())


def _finished(rows: slice, future: Future[T]) -> tuple[slice, T]:
    return rows, future.result()
