"""Spark: tasks are the elements of resilient distributed datasets."""

from __future__ import annotations

import pickle
import sys
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
        A session, or the address of a master such as "spark://10.0.0.1:7077". None uses the one that runs in
        this process, or starts workers on this machine, until `close`.
    """

    def __init__(self, session: Any = None) -> None:
        sql = import_library("spark", "pyspark.sql")
        if session is not None and not isinstance(session, str | sql.SparkSession):
            raise TypeError(f"session={session!r}: expected a SparkSession, the address of a master, or None.")
        context = import_library("spark", "pyspark").SparkContext
        # A context may run without a session, or with a session of another thread.
        is_running = context._active_spark_context is not None
        if is_running and isinstance(session, str):
            raise ValueError(f"session={session!r}: Spark runs already; pass its session, or stop it first.")
        self._is_owned = not is_running and (session is None or isinstance(session, str))
        self._starts_java = context._gateway is None
        if session is None and is_running:
            session = sql.SparkSession.builder.getOrCreate()
        elif session is None:
            # The name of this machine need not lead to it; a task may fail three times, as on a cluster.
            builder = sql.SparkSession.builder.master("local[*,4]").config("spark.driver.host", "127.0.0.1")
            builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
            session = builder.appName("proxcode").getOrCreate()
            session.sparkContext.pythonExec = sys.executable
        elif isinstance(session, str):
            session = sql.SparkSession.builder.master(session).appName("proxcode").getOrCreate()
        self.session = session

    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield the results; parameters as in `Engine.map`. Tasks are run in batches, since a batch keeps its order."""
        context = self.session.sparkContext
        sent = context.broadcast(_Sent(function))
        try:
            size = TASKS_AHEAD * max(1, context.defaultParallelism)
            for start in range(0, len(tasks), size):
                batch = tasks[start : start + size]
                for result, error in context.parallelize(batch, len(batch)).map(_Run(sent)).collect():
                    if error is not None:
                        raise error
                    yield result
        finally:
            sent.destroy()

    def close(self) -> None:
        """Stop the session and its Java process, where the engine started them."""
        if not self._is_owned:
            return
        self._is_owned = False
        context = type(self.session.sparkContext)
        self.session.stop()
        if self._starts_java:
            # Spark keeps the process, which ends with its standard input, for the next session.
            gateway, context._gateway, context._jvm = context._gateway, None, None
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait()


class _Sent:
    """A function that pickle can send: Spark broadcasts values by pickle, which knows no functions without a name."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __reduce__(self) -> tuple[Any, ...]:
        dumps = import_library("spark", "pyspark.cloudpickle").dumps
        return _unpickled, (dumps(self.function),)


def _unpickled(function: bytes) -> _Sent:
    return _Sent(pickle.loads(function))


class _Run:
    """Runs a task in a worker; its own error is a result, since Spark would run it again and hide its type."""

    def __init__(self, sent: Any) -> None:
        self.sent = sent

    def __call__(self, task: Any) -> tuple[Any, Exception | None]:
        try:
            return run_task(self.sent.value.function, task), None
        except Exception as error:
            return None, error
