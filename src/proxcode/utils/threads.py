"""One pool of Python threads for all work that is done in parallel.

Kernels and BLAS release Python's lock, so that Python threads use all cores. Unlike the threads of numba's parallel
loops they need no OpenMP, and a process may fork: the child gets a pool of its own. The thread that asks for work takes
part in it, and does what no other thread has begun: work may ask for work without waiting for itself.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

# Largest number of threads that work may take; None: as many as there are cores.
_limit: ContextVar[int | None] = ContextVar("limit", default=None)


def in_threads(function: Callable[[Task], Result], tasks: Sequence[Task], n_threads: int | None = None) -> list[Result]:
    """Return the results of all tasks, in their order, computed by at most `n_threads` threads; None: all cores."""
    n_workers = 1 if len(tasks) <= 1 else min(n_threads or n_cores(), len(tasks))
    if n_workers == 1:
        return [function(task) for task in tasks]
    waiting = deque(range(len(tasks)))
    results: dict[int, Result] = {}

    def work() -> None:
        try:
            while (number := _next(waiting)) is not None:
                results[number] = function(tasks[number])
        except BaseException:
            waiting.clear()
            raise

    others: list[Future[None]] = []
    try:
        while len(others) < n_workers - 1 and (other := _begin(work)) is not None:
            others.append(other)
        work()
    finally:
        # After an error or an interrupt nothing goes on in the background.
        waiting.clear()
        _end(others)
    for other in others:
        if not other.cancelled():
            other.result()
    return [results[number] for number in range(len(tasks))]


def in_order(
    function: Callable[[Task], Result], tasks: Iterable[Task], n_threads: int | None = None
) -> Iterator[Result]:
    """Yield the results of tasks in their order, computed by at most `n_threads` threads; None: all cores.

    The tasks begun are at most one per thread more than the results that were asked for: memory holds few results.
    """
    n_ahead = n_cores() if n_threads is None else n_threads - 1
    is_serial = n_cores() == 1 or n_threads == 1
    begun: deque[tuple[Task, Future[Result] | None]] = deque()

    def next_result() -> Result:
        task, future = begun[0]
        result = function(task) if future is None or future.cancel() else future.result()
        begun.popleft()
        return result

    try:
        for task in tasks:
            begun.append((task, None if is_serial else _begin(function, task)))
            if is_serial or len(begun) > n_ahead:
                yield next_result()
        while begun:
            yield next_result()
    finally:
        _end([future for _, future in begun if future is not None])


def _next(waiting: deque[int]) -> int | None:
    with suppress(IndexError):
        return waiting.popleft()
    return None


def _begin(function: Callable[..., Result], *arguments: Any) -> Future[Result] | None:
    """Give work to the pool; return None where no thread can be started, as when the interpreter ends."""
    future: Future[Result] = Future()
    work = [(function, arguments)]

    def run() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            function, arguments = work.pop()
            future.set_result(function(*arguments))
        except BaseException as error:
            future.set_exception(error)

    try:
        _shared_pool().submit(run)
    except RuntimeError:
        # The pool may keep what it could not begin, and run it later.
        future.cancel()
        work.clear()
        return None
    return future


def _end(futures: Sequence[Future[Any]]) -> None:
    """Take back what was not begun, and wait for the rest."""
    running = [future for future in futures if not future.cancel()]
    try:
        wait(running)
    except KeyboardInterrupt:
        wait(running)
        raise


@contextmanager
def limited_threads(n_threads: int) -> Iterator[None]:
    """Use at most so many threads for work that begins in this context, as in one of several workers on a machine."""
    token = _limit.set(n_threads)
    try:
        yield
    finally:
        _limit.reset(token)


def n_cores() -> int:
    """Return the number of cores that this process may use, and this context if it is limited."""
    import joblib

    limit = _limit.get()
    return int(joblib.cpu_count()) if limit is None else min(int(joblib.cpu_count()), limit)


@cache
def _shared_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="proxcode")


if hasattr(os, "register_at_fork"):
    # The threads of the parent do not exist in the child.
    os.register_at_fork(after_in_child=_shared_pool.cache_clear)
