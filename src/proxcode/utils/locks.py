"""A lock of threads that survives a fork."""

import os
from threading import Lock
from typing import Any


class ForkSafeLock:
    """Lock that a forked process finds open: `with lock.own: ...`.

    A plain lock that another thread holds at a fork stays locked in the child, where nobody releases it. Here each
    process has a lock of its own. Copies and pickles are new locks.
    """

    def __init__(self) -> None:
        self._locks: dict[int, Lock] = {}

    @property
    def own(self) -> Lock:
        """Lock of this process.

        It is the context manager itself: an interrupt within an `__enter__` or `__exit__` written in Python would leave
        the lock closed for ever.
        """
        # `setdefault` is atomic: threads that come first at the same time get the same lock.
        return self._locks.setdefault(os.getpid(), Lock())

    def __reduce__(self) -> tuple[Any, ...]:
        return ForkSafeLock, ()
