"""The number of sweeps and seconds that a search may use."""

from proxcode.cut.annealing.tuning import TUNING
from proxcode.cut.annealing.walks import Offsets, Walk
from proxcode.cut.graph import Vector
from proxcode.cut.result import Clock


class Budget:
    """Sweeps and seconds that a search may use.

    Parameters
    ----------
    n_sweeps : int or None
        Largest number of sweeps.
    seconds : float or None
        Time limit, counted from the construction of the budget.
    clock : callable
        Returns seconds.
    """

    def __init__(self, n_sweeps: int | None, seconds: float | None, clock: Clock) -> None:
        self.n_sweeps, self.seconds, self.clock = n_sweeps, seconds, clock
        self.start = clock()
        self.sweeps, self.per_sweep = 0, 0.0
        self.end = None if seconds is None else TUNING.usable_share * seconds

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return self.clock() - self.start

    def reserve(self, seconds: float) -> None:
        """Reserve time, up to a fifth of the limit, for the steps that follow the search."""
        if self.end is not None and self.seconds is not None:
            self.end -= min(seconds, TUNING.ending_share * self.seconds)

    def left(self) -> float:
        """Return the approximate number of sweeps left."""
        by_sweeps = float("inf") if self.n_sweeps is None else self.n_sweeps - self.sweeps
        if self.end is None:
            return by_sweeps
        return min(by_sweeps, TUNING.usable_share * (self.end - self.elapsed()) / max(self.per_sweep, 1e-9))

    def seconds_left(self) -> float | None:
        """Return the seconds until the search must end, at least a millisecond; None without a limit."""
        return None if self.end is None else max(self.end - self.elapsed(), 1e-3)

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return self.end is not None and self.elapsed() >= self.end

    def spend(self, walk: Walk, temperatures: Vector, offsets: Offsets) -> None:
        """Anneal in steps that are short enough to check the clock and to react to Ctrl-C."""
        done = 0
        while done < len(temperatures) and not self.is_late:
            at_once = TUNING.kernel_seconds / self.per_sweep if self.per_sweep else 1.0
            size = int(min(max(1.0, at_once), len(temperatures) - done))
            before = self.clock()
            walk.anneal(temperatures[done : done + size], offsets[done : done + size])
            self.per_sweep = (self.clock() - before) / size
            done += size
            self.sweeps += size
