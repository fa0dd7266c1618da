"""Positions of 64-bit keys: sorted runs of growing length, as in a log-structured merge tree.

1. The keys of one addition are sorted: a run.
2. A run that is at least half as long as the one before it is merged with it, so that few runs remain.
3. A key is searched for in each run by bisection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.int64]
# Tells for some of the keys, by their rows, whether they are really at these positions.
Matches = Callable[[Positions, Positions], NDArray[np.bool_]]


class Run(NamedTuple):
    """Sorted keys and their positions; None for consecutive positions from `start` on."""

    keys: NDArray[Any]
    start: int
    positions: NDArray[Any] | None

    @classmethod
    def of(cls, keys: NDArray[Any], start: int) -> Run:
        """Return the run of keys at positions start, start + 1, ..."""
        if (keys[1:] > keys[:-1]).all():
            return cls(keys, start, None)
        # Not stable: the order of equal keys does not matter, and NumPy sorts integers several times as fast.
        order = np.argsort(keys)
        return cls(keys[order], 0, order + start)

    def at(self, places: Positions) -> Positions:
        """Return the positions of the keys at these places of the run."""
        return places + self.start if self.positions is None else self.positions[places].astype(np.int64)

    def merged(self, other: Run) -> Run:
        """Return the run of the keys of both."""
        is_next = self.positions is None and other.positions is None and other.start == self.start + len(self.keys)
        if is_next and other.keys[0] > self.keys[-1]:
            return Run(np.concatenate([self.keys, other.keys]), self.start, None)
        keys = np.concatenate([self.keys, other.keys])
        positions = np.concatenate([run.at(np.arange(len(run.keys))) for run in (self, other)])
        # Stable sorts of two sorted sequences merge them.
        order = np.argsort(keys, kind="stable")
        return Run(keys[order], 0, positions[order])


class KeyLookup(NamedTuple):
    """The positions of keys 0, ..., n - 1. Immutable: changes return a new object."""

    n: int = 0
    runs: tuple[Run, ...] = ()

    def extended(self, keys: NDArray[Any]) -> KeyLookup:
        """Append keys."""
        if len(keys) == 0:
            return self
        runs = [*self.runs, Run.of(keys, self.n)]
        while len(runs) > 1 and len(runs[-2].keys) <= 2 * len(runs[-1].keys):
            last = runs.pop()
            runs[-1] = runs[-1].merged(last)
        return KeyLookup(self.n + len(keys), tuple(runs))

    def kept(self, is_kept: NDArray[np.bool_]) -> KeyLookup:
        """Return the lookup of the keys at some positions, numbered in the same order."""
        new_position = np.cumsum(is_kept) - 1
        runs = []
        for run in self.runs:
            positions = run.at(np.arange(len(run.keys)))
            of_run = is_kept[positions]
            if of_run.any():
                runs.append(Run(run.keys[of_run], 0, new_position[positions[of_run]]))
        return KeyLookup(int(is_kept.sum()), tuple(runs))

    def find(self, keys: NDArray[Any], matches: Matches | None = None) -> Positions:
        """Return the position of each key, -1 where there is none.

        Parameters
        ----------
        keys : ndarray
        matches : callable, default=None
            Where keys may be equal by chance: matches(rows, positions) tells whether the keys in these rows are those
            at the positions. None: equal keys are the same.
        """
        found = np.full(len(keys), -1)
        for run in self.runs:
            rows = np.flatnonzero(found < 0)
            places = np.searchsorted(run.keys, keys[rows])
            while len(rows):
                is_equal = run.keys[np.minimum(places, len(run.keys) - 1)] == keys[rows]
                is_equal &= places < len(run.keys)
                rows, places = rows[is_equal], places[is_equal]
                positions = run.at(places)
                is_match = np.ones(len(rows), bool) if matches is None else matches(rows, positions)
                found[rows[is_match]] = positions[is_match]
                rows, places = rows[~is_match], places[~is_match] + 1
        return found

    def joined(self) -> Run:
        """Return one run of all keys, of which there is at least one."""
        runs = list(self.runs)
        while len(runs) > 1:
            last = runs.pop()
            runs[-1] = runs[-1].merged(last)
        return runs[0]

    @property
    def largest(self) -> Any:
        """Largest key; None if there is none."""
        return max((run.keys[-1].item() for run in self.runs), default=None)

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(run.keys.nbytes + (0 if run.positions is None else run.positions.nbytes) for run in self.runs)
