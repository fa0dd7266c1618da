"""What a search may take, sweeps and seconds, and checks of what is asked for."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from proxcode.cut.annealing.walks import Offsets, Walk
from proxcode.cut.graph import Vector

KERNEL_SECONDS = 0.05  # about so long no signal is heard


class Budget:
    """Sweeps and seconds that a search may take.

    Parameters
    ----------
    n_sweeps : int or None
    seconds : float or None
    clock : callable
        Returns seconds.
    """

    def __init__(self, n_sweeps: int | None, seconds: float | None, clock: Callable[[], float]) -> None:
        self.n_sweeps, self.seconds, self.clock = n_sweeps, seconds, clock
        self.start = clock()
        self.sweeps, self.per_sweep = 0, 0.0
        self.end = None if seconds is None else 0.98 * seconds

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return self.clock() - self.start

    def keep_back(self, seconds: float) -> None:
        """Leave some time, up to a fifth of all, for what follows the search."""
        if self.end is not None and self.seconds is not None:
            self.end -= min(seconds, 0.2 * self.seconds)

    def left(self) -> float:
        """Return about how many sweeps are left."""
        by_sweeps = float("inf") if self.n_sweeps is None else self.n_sweeps - self.sweeps
        if self.end is None:
            return by_sweeps
        return min(by_sweeps, 0.98 * (self.end - self.elapsed()) / max(self.per_sweep, 1e-9))

    def seconds_left(self) -> float | None:
        """Return the seconds until the search must end, a little above 0 at least; None is without end."""
        return None if self.end is None else max(self.end - self.elapsed(), 1e-3)

    @property
    def is_late(self) -> bool:
        """Whether the seconds are over."""
        return self.end is not None and self.elapsed() >= self.end

    def spend(self, walk: Walk, temperatures: Vector, offsets: Offsets) -> None:
        """Let a walk anneal in pieces short enough to hear Ctrl-C and to see the clock."""
        done = 0
        while done < len(temperatures) and not self.is_late:
            at_once = KERNEL_SECONDS / self.per_sweep if self.per_sweep else 1.0
            size = int(min(max(1.0, at_once), len(temperatures) - done))
            before = self.clock()
            walk.anneal(temperatures[done : done + size], offsets[done : done + size])
            self.per_sweep = (self.clock() - before) / size
            done += size
            self.sweeps += size


def as_generator(random_state: Any) -> np.random.Generator:
    """Return the generator of a seed, or say that it is none."""
    if isinstance(random_state, np.random.RandomState):  # default_rng itself takes it from NumPy 2.2 on, like this
        return np.random.Generator(random_state._bit_generator)
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state={random_state!r}: give a whole number from 0 on, a Generator, a RandomState or None."
        ) from None


def check_seconds(time_limit: object) -> None:
    """Refuse what is no time limit."""
    if time_limit is not None and not (isinstance(time_limit, Real) and float(time_limit) > 0):
        raise ValueError(f"time_limit={time_limit!r}: give seconds above 0, or None.")


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Refuse what is no whole number from `least` on."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name}={value!r}: give a whole number, at least {least}.")
