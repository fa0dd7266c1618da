"""When the next checkpoint of a fit is due."""

from collections.abc import Callable
from time import monotonic

# Shortest time between two writes of a checkpoint: in seconds, and as a multiple of the time that a write takes.
CHECKPOINT_SECONDS, CHECKPOINT_MULTIPLE = 30.0, 20.0


class CheckpointTimer:
    """Tells when the next checkpoint is due, and measures what writing one takes."""

    def __init__(self) -> None:
        self._last, self._cost = monotonic(), 0.0

    def is_due(self) -> bool:
        """Return whether enough time has passed since the last write."""
        return monotonic() - self._last >= max(CHECKPOINT_SECONDS, CHECKPOINT_MULTIPLE * self._cost)

    def run(self, write: Callable[[], None]) -> None:
        """Write a checkpoint."""
        start = monotonic()
        write()
        self._last = monotonic()
        self._cost = self._last - start
