"""Dask: tasks are futures of a `distributed.Client`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from proxcode.engines._base import TASKS_AHEAD, import_library, results_in_order, run_task
from proxcode.utils.engine import Engine

Task = TypeVar("Task")
Result = TypeVar("Result")

# Dask lets workers return memory to the system at once, and blocks of samples would be taken from it again and again:
# encoding took a third longer.
ENVIRONMENT = "distributed.nanny.pre-spawn-environ"
MEMORY_KEPT = {"MALLOC_TRIM_THRESHOLD_": 2**28, "MALLOC_MMAP_THRESHOLD_": 2**26}
# Size of what is sent to the scheduler above which Dask warns; the function of a map is sent once.
LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"


class DaskEngine(Engine):
    """Runs tasks on a Dask cluster; a task whose worker dies is run again by another.

    Parameters
    ----------
    client : distributed.Client or str, default=None
        A client, or the address of a scheduler such as "tcp://10.0.0.1:8786". None starts a process for each core of
        this machine, until `close`.

    Examples
    --------
    >>> from proxcode.engines import DaskEngine
    >>> with DaskEngine() as engine:  # doctest: +SKIP
    ...     model.fit(open_samples("vectors/*.parquet", engine=engine), labels)
    """

    def __init__(self, client: Any = None) -> None:
        distributed = import_library("dask", "distributed")
        self._owned: list[Any] = []
        if client is None:
            dask = import_library("dask", "dask")
            with dask.config.set({ENVIRONMENT: {**dask.config.get(ENVIRONMENT, {}), **MEMORY_KEPT}}):
                # Any free port of this machine alone: another cluster may have the usual one.
                cluster = distributed.LocalCluster(
                    threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
                )
            client = distributed.Client(cluster)
            self._owned = [client, cluster]
        elif isinstance(client, str):
            try:
                client = distributed.Client(client)
            except (OSError, ValueError) as error:
                # A ValueError is that of an address that no scheduler can have.
                raise ConnectionError(
                    f"the scheduler {client!r} does not answer: start it, or check its address."
                ) from error
            self._owned = [client]
        elif not isinstance(client, distributed.Client):
            raise TypeError(f"client={client!r}: expected a distributed.Client, the address of a scheduler, or None.")
        self.client = client

    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield the results; parameters as in `Engine.map`."""
        client = self.client
        cloudpickle, dask = import_library("dask", "cloudpickle"), import_library("dask", "dask")
        # The result of a task, not scattered data: Dask computes it again when the workers that hold it have died.
        with dask.config.set({LARGE_GRAPH: "1TB"}):
            sent = client.submit(cloudpickle.loads, cloudpickle.dumps(function), pure=False)
        # Tasks are placed where their data are: each worker gets a copy.
        client.replicate(sent)
        return results_in_order(
            submit=lambda task: client.submit(run_task, sent, task, pure=False),
            result=lambda future: future.result(),
            cancel=client.cancel,
            tasks=tasks,
            n_ahead=TASKS_AHEAD * max(1, sum(client.nthreads().values())),
        )

    def close(self) -> None:
        """Close the connection and the workers, where the engine opened them."""
        for opened in self._owned:
            opened.close()
        self._owned = []
