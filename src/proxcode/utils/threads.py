"""One pool of Python threads for all work that is done in parallel.

Kernels and BLAS release Python's lock, so that Python threads use all cores. Unlike the threads of numba's parallel
loops they need no OpenMP, and a process may fork at any time: the child gets a pool of its own. The thread that asks
for work takes part in it, and does what no other thread has begun: work may ask for work without waiting for itself.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_threads(function: Callable[[Task], Result], tasks: Sequence[Task], n_threads: int | None = None) -> list[Result]:
    """Return the results of all tasks, in their order, computed by at most `n_threads` threads; None: all cores."""
    n_workers = 1 if len(tasks) <= 1 else min(n_threads or n_cores(), len(tasks))
    if n_workers == 1:
        return [function(task) for task in tasks]
    waiting = deque(range(len(tasks)))
    results: dict[int, Result] = {}

    def work() -> None:
        while waiting:
            try:
                number = waiting.popleft()
            except IndexError:
                return
            results[number] = function(tasks[number])

    others = [_shared_pool().submit(work) for _ in range(n_workers - 1)]
    try:
        work()
    finally:
        # After an error or an interrupt nothing goes on in the background.
        waiting.clear()
        running = [other for other in others if not other.cancel()]
        wait(running)
    for other in running:
        other.result()
    return [results[number] for number in range(len(tasks))]


def in_order(function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
    """Yield the results of tasks in their order, computed on all cores.

    The tasks begun are at most one per core more than the results that were asked for: memory holds few results.
    """
    n_threads = n_cores()
    if n_threads == 1:
        yield from map(function, tasks)
        return
    begun: deque[tuple[Task, Future[Result]]] = deque()
    try:
        for task in tasks:
            begun.append((task, _shared_pool().submit(function, task)))
            if len(begun) > n_threads:
                yield _result(function, *begun.popleft())
        while begun:
            yield _result(function, *begun.popleft())
    finally:
        wait([future for _, future in begun if not future.cancel()])


def _result(function: Callable[[Task], Result], task: Task, future: Future[Result]) -> Result:
    return function(task) if future.cancel() else future.result()


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    import joblib

    return int(joblib.cpu_count())


@cache
def _shared_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="proxcode")


if hasattr(os, "register_at_fork"):
    # The threads of the parent do not exist in the child.
    os.register_at_fork(after_in_child=_shared_pool.cache_clear)
