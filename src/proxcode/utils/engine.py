"""Where blocks of samples are computed: in this process, or on the workers of a cluster.

An engine runs one function on many small tasks, each of which says where to read its samples, and gives the results in
the order of the tasks. What the function holds (landmarks, a fitted model) is sent to each worker once; samples are
never sent: a worker reads its own. `proxcode.engines` has the engines of clusters.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


class Engine(ABC):
    """Runs a function on tasks; a subclass implements `map`. A context manager: leaving it closes what it opened."""

    @abstractmethod
    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield function(task) for all tasks, in their order.

        Parameters
        ----------
        function : callable
            Can be pickled by cloudpickle; it is sent to each worker once.
        tasks : sequence
            Small objects that can be pickled.
        """

    def close(self) -> None:  # noqa: B027
        """Close connections that the engine opened itself; by default there are none."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class LocalEngine(Engine):
    """Runs one task after another in this process; each task uses all cores."""

    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield the results; parameters as in `Engine.map`."""
        for task in tasks:
            yield function(task)


LOCAL = LocalEngine()
