"""Ray: tasks are remote calls of one function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from proxcode.engines._base import TASKS_AHEAD, import_library, results_in_order, run_task
from proxcode.utils.engine import Engine
from proxcode.utils.threads import n_cores

Task = TypeVar("Task")
Result = TypeVar("Result")


class RayEngine(Engine):
    """Runs tasks on a Ray cluster; a task whose worker dies is run again by another.

    Parameters
    ----------
    address : str, default=None
        Address of a cluster, such as "ray://10.0.0.1:10001" or "auto". None uses the one that is connected already, or
        starts workers on this machine, until `close`.
    """

    def __init__(self, address: str | None = None) -> None:
        self._ray = ray = import_library("ray", "ray")
        if address is not None and not isinstance(address, str):
            raise TypeError(f"address={address!r}: expected the address of a cluster as a string, or None.")
        self._is_owned = not ray.is_initialized()
        if address is not None and not self._is_owned:
            raise ValueError(f"address={address!r}: Ray is connected already; pass None, or call ray.shutdown() first.")
        if self._is_owned:
            local = {"num_cpus": n_cores(), "include_dashboard": False} if address is None else {}
            ray.init(address=address or "local", log_to_driver=False, **local)

    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield the results; parameters as in `Engine.map`."""
        ray = self._ray
        # A reference in a list is not resolved for each task anew.
        sent, remote = [ray.put(function)], ray.remote(num_cpus=1)(_run)
        return results_in_order(
            submit=lambda task: remote.remote(sent, task),
            result=self._result,
            cancel=lambda references: [ray.cancel(reference) for reference in references],
            tasks=tasks,
            n_ahead=TASKS_AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1))),
        )

    def _result(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            # The error of the task itself: its message is one sentence.
            raise error.cause from error

    def close(self) -> None:
        """Disconnect from the cluster, where the engine connected to it."""
        if self._is_owned and self._ray.is_initialized():
            self._ray.shutdown()
        self._is_owned = False


def _run(sent: list[Any], task: Any) -> Any:
    """Run a task in a worker."""
    return run_task(_received(sent[0]), task)


@lru_cache(maxsize=1)
def _received(reference: Any) -> Any:
    """Return the function that was sent, which a worker unpickles once; its arrays are read-only."""
    return import_library("ray", "ray").get(reference)
