"""Spark: tasks are the elements of resilient distributed datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from proxcode.engines._base import TASKS_AHEAD, import_library, run_task
from proxcode.utils.engine import Engine

Task = TypeVar("Task")
Result = TypeVar("Result")


class SparkEngine(Engine):
    """Runs tasks on a Spark cluster; a task whose worker dies is run again by another.

    Parameters
    ----------
    session : pyspark.sql.SparkSession or str, default=None
        A session, or the address of a master such as "spark://10.0.0.1:7077". None starts workers on this machine,
        until `close`.
    """

    def __init__(self, session: Any = None) -> None:
        sql = import_library("spark", "pyspark.sql")
        self._is_owned = session is None or isinstance(session, str)
        if self._is_owned:
            builder = sql.SparkSession.builder.appName("proxcode").master(session or "local[*]")
            if session is None:
                # The name of this machine need not lead to it.
                builder = builder.config("spark.driver.host", "127.0.0.1")
            session = builder.config("spark.ui.enabled", "false").getOrCreate()
        self.session = session

    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield the results; parameters as in `Engine.map`. Tasks are run in batches, since a batch keeps its order."""
        context = self.session.sparkContext
        sent = context.broadcast(function)
        try:
            size = TASKS_AHEAD * max(1, context.defaultParallelism)
            for start in range(0, len(tasks), size):
                batch = tasks[start : start + size]
                yield from context.parallelize(batch, len(batch)).map(lambda task: run_task(sent.value, task)).collect()
        finally:
            sent.destroy()

    def close(self) -> None:
        """Stop the session, where the engine started it."""
        if self._is_owned:
            self.session.stop()
