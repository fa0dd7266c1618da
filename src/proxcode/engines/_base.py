"""What the engines of clusters share."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, TypeVar

from proxcode.utils.threads import limited_threads

Result = TypeVar("Result")

# Tasks that are given to a cluster ahead of the result that is waited for, for each of its cores.
TASKS_AHEAD = 2


def import_library(name: str, package: str) -> Any:
    """Import the library of an engine; raise ImportError with the remedy where it is not installed."""
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(f"engine {name!r} needs {package}: pip install 'proxcode[{name}]'.") from error


def run_task(function: Callable[[Any], Result], task: Any) -> Result:
    """Run a task in a worker, in one thread: each core of a machine has a worker, or a thread of one."""
    with limited_threads(1):
        return function(task)


def results_in_order(
    submit: Callable[[Any], Any],
    result: Callable[[Any], Result],
    cancel: Callable[[list[Any]], object],
    tasks: Sequence[Any],
    n_ahead: int,
) -> Iterator[Result]:
    """Yield the results of tasks in their order, with a limited number of them begun; cancel the rest at the end.

    Parameters
    ----------
    submit : callable
        Begins a task and returns its future.
    result : callable
        Waits for a future.
    cancel : callable
        Cancels a list of futures.
    tasks : sequence
    n_ahead : int
        Number of tasks begun beyond the one whose result is waited for.
    """
    begun: deque[Any] = deque()
    try:
        for task in tasks:
            begun.append(submit(task))
            if len(begun) > n_ahead:
                yield result(begun.popleft())
        while begun:
            yield result(begun.popleft())
    finally:
        if begun:
            cancel(list(begun))
