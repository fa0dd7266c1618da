"""Limits of an annealing search in sweeps and seconds, and its temperatures."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from proxcode.cut.annealing.tuning import TUNING
from proxcode.cut.annealing.walks import Offsets, Walk
from proxcode.cut.graph import Vector
from proxcode.cut.relaxation import smallest_eigenpairs
from proxcode.cut.result import Clock


class Budget:
    """Sweeps and seconds that a search may use; None: unlimited. The clock starts when the budget is made."""

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


@dataclass(frozen=True)
class Schedule:
    """Temperatures at which the coolings of a graph start and end, in the unit of local fields s_i = sum_j w_ij b_j."""

    # Root mean square local field of a random partition. Single nodes freeze below it.
    scale: float
    # 0.05 times the median local field.
    cold: float
    # 0.25 lambda_max(W), or 0.45 times the scale if that is larger: large parts of networks with hubs freeze above it.
    melting: float

    @classmethod
    def of(cls, walk: Walk, budget: Budget, rng: Generator) -> tuple["Schedule", Vector | None]:
        """Return the schedule of a walk's graph and the largest eigenvector of W, None if time is too short for it."""
        norms = walk.row_norms(rng)
        top = float(norms.max()) or 1.0
        scale = top * float(np.sqrt(np.mean((norms / top) ** 2)))
        cold = TUNING.cold * float(np.median(norms[norms > 0])) if (norms > 0).any() else 0.0
        largest, eigenvector = _largest_eigenpair(walk, norms, budget, rng)
        melting = max(TUNING.hot * scale, TUNING.hot_spectral * largest)
        return cls(scale=scale, cold=cold, melting=melting), eigenvector

    def cooling(self, n_sweeps: int) -> Vector:
        """Return temperatures that fall linearly from 0.45 times the scale to the cold temperature."""
        return np.linspace(TUNING.hot * self.scale, self.cold, n_sweeps)

    def melting_and_cooling(self, n_sweeps: int) -> Vector:
        """Return the temperatures of a cooling; if melting is hotter, a tenth of the sweeps falls from there first."""
        hot = TUNING.hot * self.scale
        n_melting = int(TUNING.melting_share * n_sweeps) if self.melting > hot else 0
        melting = np.linspace(self.melting, hot, n_melting, endpoint=False)
        return np.concatenate([melting, self.cooling(n_sweeps - n_melting)])

    def reheated(self, n_sweeps: int, rng: Generator) -> Vector:
        """Return temperatures that fall from a random start between 0.15 and 0.3 times the scale."""
        return np.linspace(rng.uniform(*TUNING.reheat) * self.scale, self.cold, n_sweeps)


def _largest_eigenpair(walk: Walk, norms: Vector, budget: Budget, rng: Generator) -> tuple[float, Vector | None]:
    """Return the largest eigenvalue of W and its eigenvector; if time is short, the largest norm of a row and None."""
    deadline = float("inf")
    if budget.seconds is not None:
        deadline = budget.elapsed() + TUNING.lanczos_share * (budget.seconds - budget.elapsed())

    def negated(x: Vector) -> Vector:
        if budget.elapsed() > deadline:
            raise TimeoutError
        return -walk.product(x)

    try:
        values, vectors = smallest_eigenpairs(negated, len(norms), 1, rng, TUNING.lanczos_tolerance)
    except TimeoutError:
        # No row is longer than the largest |eigenvalue|.
        return float(norms.max()), None
    return -float(values[0]), vectors[:, 0]
