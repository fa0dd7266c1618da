"""Blockwise computation over the rows of a matrix: bounded memory, all cores, the same result for any number of cores.

Each block is one task, with BLAS limited to one thread. If BLAS distributed a product over its own threads, the last
digits would depend on their number, and a margin near zero could change its bit.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from proxcode.utils.locks import ForkSafeLock
from proxcode.utils.threads import in_order

# Rows per block.
BLOCK = 2048

T = TypeVar("T")


@cache
def _blas() -> ThreadpoolController:
    # SciPy bundles its own BLAS; the controller finds only libraries that are loaded.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController().select(user_api="blas")


class _OneThread:
    """Context manager that limits BLAS to one thread.

    The limit applies to the whole process. It is counted, so that several Python threads may hold it at the same time:
    the first sets it, the last restores the original number of threads.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._holders = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock.own:
            if self._holders == 0:
                self._limit = _blas().limit(limits=1)
            self._holders += 1

    def __exit__(self, *error: object) -> None:
        with self._lock.own:
            self._holders -= 1
            if self._holders == 0:
                self._limit.restore_original_limits()


one_blas_thread = _OneThread()


def map_blocks(function: Callable[[slice], T], n: int, block: int = BLOCK) -> Iterator[tuple[slice, T]]:
    """Yield (rows, function(rows)) for consecutive slices of `block` rows of 0, ..., n - 1, in order.

    The blocks are computed in parallel, a few at a time, so that memory holds the results of only a few blocks.
    """
    slices = [slice(start, min(start + block, n)) for start in range(0, n, block)]
    with one_blas_thread:
        if len(slices) == 1:
            yield slices[0], function(slices[0])
        else:
            yield from zip(slices, in_order(function, slices), strict=True)


def sum_blocks(function: Callable[[slice], NDArray[Any]], n: int) -> NDArray[np.float64]:
    """Return the sum of function(rows) over blocks of the rows 0, ..., n - 1, computed on all cores."""
    blocks = (block for _, block in map_blocks(function, n))
    total = next(blocks).astype(np.float64)
    for block in blocks:
        total += block
    return total
