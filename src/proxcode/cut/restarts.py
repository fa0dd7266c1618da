"""Restarts: the paper's search, a local search from each of several initial guesses."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator

from proxcode.cut.graph import SignedGraph
from proxcode.cut.initial import GivenGuess, InitialGuess, RandomGuess
from proxcode.cut.result import Clock, Cut, Progress, Report
from proxcode.cut.updates import BitUpdate, LocalSearch
from proxcode.cut.values import ceiling_bound
from proxcode.utils.validation import check_whole


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

    def solve(self, graph: SignedGraph, rng: np.random.Generator, time_limit: float | None = None) -> Cut:
        """Return the best partition found."""
        check_whole("n_starts", self.n_starts, 1)
        initial, update = self.initial or RandomGuess(), self.update or BitUpdate()
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
