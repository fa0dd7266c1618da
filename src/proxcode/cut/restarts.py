"""Restarts: the paper's search, a local search from each of several initial guesses.

The local searches are Algorithm 1, vector update, and Algorithm 2, bit update. Both take a partition b and return one
that is at least as good: b'Wb never decreases.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from proxcode.cut.bounds.base import ceiling_bound
from proxcode.cut.graph import SignedGraph
from proxcode.cut.initial import GivenGuess, InitialGuess, RandomGuess
from proxcode.cut.relaxation import diagonal_shift
from proxcode.cut.result import Clock, Cut, Partition, Progress, Report
from proxcode.cut.validation import check_functions, check_shift
from proxcode.utils.validation import check_component, check_integer

# A node is flipped if its field exceeds this part of its absolute weights: far above rounding errors and far below
# any gain of interest.
RELATIVE_TOLERANCE = 1e-10


class LocalSearch(ABC, BaseEstimator):
    """Base class of local searches."""

    @abstractmethod
    def improve(self, graph: SignedGraph, partition: Partition, rng: Generator) -> Cut:
        """Return a partition no worse than `partition`, which is not changed."""


class NoUpdate(LocalSearch):
    """The initial guess without any improvement, to study it on its own."""

    def improve(self, graph: SignedGraph, partition: Partition, rng: Generator) -> Cut:
        """Return the same partition."""
        return Cut(partition=partition, value=graph.value(partition), flips=0, sweeps=0)


class BitUpdate(LocalSearch):
    """Algorithm 2: each node in turn takes the sign of its field, until a sweep changes none.

    The field s = Wb is kept up to date: a flip costs one row of W, and a sweep as many rows as it makes flips. A node
    whose field is 0 is not flipped.
    """

    def improve(self, graph: SignedGraph, partition: Partition, rng: Generator) -> Cut:
        """Return a partition that no single flip improves."""
        partition = partition.copy()
        field = graph.field(partition)
        tolerance = RELATIVE_TOLERANCE * graph.absolute_degrees()
        flips, sweeps, flips_before = 0, 0, -1
        while flips > flips_before:
            flips_before = flips
            flips += graph.sweep(partition, field, tolerance)
            sweeps += 1
        value = float(partition @ graph.local_fields(partition, field))
        return Cut(partition=partition, value=value, flips=flips, sweeps=sweeps)


class VectorUpdate(LocalSearch):
    """Algorithm 1: all nodes at once, `b <- sign((W + |lambda_min| I) b)`, until nothing changes.

    The shift makes the matrix positive semidefinite, so that no step decreases b'Wb (Theorems 1 to 4). The best
    partition visited is returned, so that the result is never worse than the start, whatever the shift is.

    The diagonal of W itself is ignored, as everywhere in `proxcode.cut`, because it adds a constant to b'Wb. It does
    change the steps of this update: to keep a diagonal of your own, pass it as `shift`, such as
    `VectorUpdate(shift=W.diagonal())` for W whose diagonal makes it positive semidefinite.

    Parameters
    ----------
    max_iter : int, default=1000
        Largest number of steps. With a shift that is too small, steps may alternate between partitions for ever.
    shift : float or array-like of shape (n,), default=None
        Diagonal that is added to W, one number for all nodes or one for each; not negative. None: `|lambda_min|`.

    Examples
    --------
    On a positive semidefinite W with its own diagonal no step decreases b'Wb:

    >>> import numpy as np
    >>> from proxcode.cut import Restarts, VectorUpdate, signed_cut
    >>> X = np.random.default_rng(0).normal(size=(50, 20))
    >>> W = X @ X.T
    >>> own, default = (
    ...     signed_cut(W, search=Restarts(update=VectorUpdate(shift=shift)), random_state=0)
    ...     for shift in (W.diagonal(), None)
    ... )
    >>> bool((own.partition * (W @ own.partition) >= 0).all()), own.sweeps > 1, default.sweeps > 1
    (True, True, True)
    """

    def __init__(self, max_iter: int = 1000, shift: ArrayLike | None = None) -> None:
        self.max_iter = max_iter
        self.shift = shift

    def improve(self, graph: SignedGraph, partition: Partition, rng: Generator) -> Cut:
        """Return the best partition visited: a fixed point, unless the shift or `max_iter` is too small."""
        max_iter = check_integer("max_iter", self.max_iter, 1)
        shift = diagonal_shift(graph) if self.shift is None else check_shift(self.shift, graph.n_nodes)
        tolerance = RELATIVE_TOLERANCE * (graph.absolute_degrees() + shift)
        best, best_value = partition, -np.inf
        flips, sweeps, changed = 0, 0, 1
        while changed and sweeps < max_iter:
            b = partition.astype(np.float64)
            field = graph.matvec(b)
            if (value := float(b @ field)) >= best_value:
                best, best_value = partition, value
            updated = np.where(b * (field + shift * b) < -tolerance, -partition, partition)
            changed = int((updated != partition).sum())
            partition, flips, sweeps = updated, flips + changed, sweeps + 1
        # The last step, if it changed anything, has not been evaluated yet.
        if changed and graph.value(partition) >= best_value:
            best = partition
        return Cut(partition=best, value=graph.value(best), flips=flips, sweeps=sweeps)


class Restarts(BaseEstimator):
    """Best of several starts of one local search.

    Parameters
    ----------
    initial : InitialGuess, default=None
        Partition that each start begins with. None: `RandomGuess()`. With a `GivenGuess`, the starts after the first
        one are random.
    update : LocalSearch, default=None
        Local search that improves the initial guess. None: `BitUpdate()`.
    n_starts : int, default=1
        Number of starts; a time limit or Ctrl-C ends the search earlier, but not before the first start is complete.
    clock : callable, default=None
        Returns the seconds that time limits are measured by. None: `time.perf_counter`; `time.process_time` counts
        processor time.
    report : callable, default=None
        Called with a `Progress` whenever a better partition is found.
    """

    def __init__(
        self,
        initial: InitialGuess | None = None,
        update: LocalSearch | None = None,
        n_starts: int = 1,
        clock: Clock | None = None,
        report: Report | None = None,
    ) -> None:
        self.initial = initial
        self.update = update
        self.n_starts = n_starts
        self.clock = clock
        self.report = report

    def solve(self, graph: SignedGraph, rng: Generator, time_limit: float | None = None) -> Cut:
        """Return the best partition found."""
        check_integer("n_starts", self.n_starts, 1)
        initial = RandomGuess() if self.initial is None else self.initial
        update = BitUpdate() if self.update is None else self.update
        check_component("initial", initial, InitialGuess, "RandomGuess()")
        check_component("update", update, LocalSearch, "BitUpdate()")
        check_functions(self)
        clock, status = self.clock or time.perf_counter, "finished"
        start = clock()
        best, flips, sweeps = Cut(partition=np.ones(0, np.int8), value=-np.inf, flips=0, sweeps=0), 0, 0
        history: list[Progress] = []
        try:
            for _ in range(self.n_starts):
                found = update.improve(graph, initial.guess(graph, rng), rng)
                flips, sweeps = flips + found.flips, sweeps + found.sweeps
                elapsed = clock() - start
                if found.value > best.value:
                    best = found
                    history.append(Progress(seconds=elapsed, sweeps=sweeps, value=found.value))
                    if self.report is not None:
                        self.report(history[-1])
                if time_limit is not None and elapsed >= time_limit:
                    status = "time limit"
                    break
                if isinstance(initial, GivenGuess):
                    initial = RandomGuess()
        except KeyboardInterrupt:
            if not history:
                raise
            status = "interrupted"
        return replace(
            best,
            flips=flips,
            sweeps=sweeps,
            history=tuple(history),
            status=status,
            upper_bound=ceiling_bound(graph, best.partition, best.value),
            graph=graph,
        )
