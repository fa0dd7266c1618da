"""A lock of threads that survives a fork."""

import os
from threading import Lock
from typing import Any


class ForkSafeLock:
    """Lock as a context manager, which a forked process finds open.

    A plain lock that another thread holds at a fork stays locked in the child, where nobody releases it. Here each
    process has a lock of its own. Copies and pickles are new locks.
    """

    def __init__(self) -> None:
        self._locks: dict[int, Lock] = {}

    def _own(self) -> Lock:
        # `setdefault` is atomic: threads that come first at the same time get the same lock.
        return self._locks.setdefault(os.getpid(), Lock())

    def __enter__(self) -> None:
        self._own().acquire()

    def __exit__(self, *error: object) -> None:
        self._own().release()

    def __reduce__(self) -> tuple[Any, ...]:
        return ForkSafeLock, ()
