"""The runs of one annealing search: steps 2 to 6 of `proxcode.cut.annealing.search`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np
from numpy.random import Generator

from proxcode.cut.annealing.reduction import graph_of_parts
from proxcode.cut.annealing.schedule import Budget, Schedule
from proxcode.cut.annealing.tuning import TUNING
from proxcode.cut.annealing.walks import SparseWalk, walk_on
from proxcode.cut.bounds.base import meets_ceiling
from proxcode.cut.graph import ExplicitGraph, SignedGraph, SparseGraph, Vector
from proxcode.cut.initial import InitialGuess
from proxcode.cut.result import Cut, Partition, Progress, Report, signs_of


class RunSettings(Protocol):
    """What the runs need of an `Annealing` search; see its parameters."""

    run_sweeps: int
    reheat_sweeps: int
    patience: int
    report: Report | None

    def solve_parts(self, parts: SparseGraph, n_sweeps: int, budget: Budget, rng: Generator) -> Cut:
        """Return the cut of a graph of parts, within the time that is left."""


class Runs:
    """The best partition so far, and the next step of the search.

    The constant of the reduction is added to all reported values.
    """

    def __init__(
        self, search: RunSettings, graph: SignedGraph, budget: Budget, rng: Generator, constant: float
    ) -> None:
        self.search, self.graph, self.budget, self.rng, self.constant = search, graph, budget, rng, constant
        self.walk = walk_on(graph, rng)
        before = budget.elapsed()
        self.walk.place(np.ones(graph.n_nodes, np.int8))
        budget.reserve(TUNING.ending * (budget.elapsed() - before))
        if budget.n_sweeps is None and budget.seconds is None:
            limits = TUNING.default_sweeps if isinstance(graph, ExplicitGraph) else TUNING.implicit_sweeps
            budget.n_sweeps = int(np.clip(TUNING.default_work / self.walk.sweep_work(), *limits))
        # Whether no edge is frustrated.
        self.is_optimal = False
        self.best = self._random_partition()
        self.best_value = -np.inf
        self.run_best: Partition | None = None
        self.run_value = -np.inf
        self.n_runs, self.stale = 0, 0
        self.share = float(np.clip(graph.n_nodes / TUNING.full_run, TUNING.shortest_run, 1.0))
        self.full_patience = self.patience = self.share * search.patience
        self.is_worth_scouting = isinstance(self.walk, SparseWalk)
        self.history: list[Progress] = []

    @property
    def is_over(self) -> bool:
        """Whether nothing can be gained any more, or the budget is used up."""
        return self.is_optimal or self.budget.is_late or self.budget.left() < 1

    def start(self, initial: InitialGuess | None) -> None:
        """Compute the temperatures and the first local maximum."""
        self.schedule, eigenvector = Schedule.of(self.walk, self.budget, self.rng)
        if initial is None:
            guess = self.best if eigenvector is None else signs_of(eigenvector)
            first = self.walk.better(guess, np.ones(self.walk.n_nodes, np.int8))
        else:
            first = initial.guess(self.graph, self.rng)
        self.walk.place(first)
        self.walk.descend()
        self._keep(self.walk.partition, self.walk.value)

    def step(self) -> None:
        """Make one cooling: the first one of a run, or the one after a reheat."""
        if self.run_best is None:
            self._begin_run()
            self.run_best, self.run_value, self.stale = self.walk.partition, self.walk.value, 0
        else:
            self._cool(partial(self.schedule.reheated, rng=self.rng), self.search.reheat_sweeps)
            self.run_best = self.walk.combine(self.run_best, self.walk.partition)
            self.walk.place(self.run_best)
            self.stale = 0 if self.walk.value > self.run_value else self.stale + 1
            self.run_value = self.walk.value
        self._keep(self.run_best, self.run_value)
        if self.stale >= self.patience:
            self.end_run()
            self.walk.place(self._random_partition())

    def _begin_run(self) -> None:
        """Make the first cooling of a run, with short coolings before it if they are worth it."""
        # The first two sweeps measure the time of a sweep.
        if not self.budget.sweeps:
            self._cool(self.schedule.cooling, 2)
        left = self.budget.left()
        if left < 1:
            return
        n_sweeps = min(self.share * self.search.run_sweeps, max(TUNING.first_share * left, 1.0))
        scout_sweeps = n_sweeps * TUNING.scouting_share[self.n_runs > 0] / TUNING.n_scouts
        self.n_runs += 1
        if not self.is_worth_scouting or scout_sweeps < TUNING.shortest_scout:
            self._cool(self.schedule.melting_and_cooling, n_sweeps)
            return
        self._scout(scout_sweeps)
        if self.is_over:
            return
        found = self.walk.partition
        self._cool(self.schedule.cooling, n_sweeps - TUNING.n_scouts * scout_sweeps)
        self.walk.place(self.walk.combine(found, self.walk.partition))

    def _scout(self, n_sweeps: float) -> None:
        """Combine the results of short coolings, and decide whether later runs begin with them too."""
        found = self._short_coolings(n_sweeps)
        self.walk.place(found[0])
        if self.is_over:
            return
        value = self.walk.value
        n_parts = self._place_combined(found, n_sweeps)
        gain = self.walk.value - value
        # A search that runs out of time may end below the best of the short coolings.
        if gain < 0:
            self.walk.place(found[0])
        self._keep(self.walk.partition, self.walk.value)
        has_few_parts = n_parts < TUNING.few_parts * self.walk.n_nodes
        self.patience = self.full_patience * (TUNING.few_parts_patience if has_few_parts else 1.0)
        self.is_worth_scouting = has_few_parts or gain > TUNING.worth_scouting * abs(value)

    def _short_coolings(self, n_sweeps: float) -> list[Partition]:
        """Return the results of short coolings, the best one first; all but one start from random partitions."""
        found: list[Partition] = []
        values: list[float] = []
        while not found or (len(found) < TUNING.n_scouts and not self.is_over):
            if found:
                self.walk.place(self._random_partition())
            self._cool(self.schedule.melting_and_cooling, n_sweeps)
            found.append(self.walk.partition)
            values.append(self.walk.value)
            self._keep(found[-1], values[-1])
        best = int(np.argmax(values))
        found[0], found[best] = found[best], found[0]
        return found

    def _place_combined(self, found: list[Partition], n_sweeps: float) -> int:
        """Anneal the graph of parts with as many trial flips as one short cooling; returns the number of parts."""
        parts, part = graph_of_parts(self.graph, found)
        n_part_sweeps = max(1, int(n_sweeps * self.walk.n_nodes / parts.n_nodes))
        combined = self.search.solve_parts(parts, n_part_sweeps, self.budget, self.rng)
        self.walk.place(found[0] * combined.partition[part])
        self.walk.descend()
        # Ctrl-C during the inner search ends this one as well.
        if combined.status == "interrupted":
            raise KeyboardInterrupt
        return parts.n_nodes

    def keep_unfinished(self) -> None:
        """Descend from the partition at which a cooling was interrupted: it may be the best one."""
        if self.history:
            # Ctrl-C may have come between a flip and the update of the field.
            self.walk.place(self.walk.partition)
            self.walk.descend()
            self._keep(self.walk.partition, self.walk.value)

    def _cool(self, temperatures: Callable[[int], Vector], n_sweeps: float) -> None:
        n = int(max(1, min(n_sweeps, self.budget.left())))
        self.budget.spend(self.walk, temperatures(n), self.rng.integers(0, TUNING.table_size, n))
        self.walk.descend()

    def end_run(self) -> None:
        """Combine the best partition of the run, if there is one, with the best of all runs."""
        if self.run_best is not None:
            combined = self.walk.combine(self.best, self.run_best)
            self.walk.place(combined)
            self._keep(combined, self.walk.value)
            self.run_best = None

    def _random_partition(self) -> Partition:
        return (2 * self.rng.integers(0, 2, self.walk.n_nodes) - 1).astype(np.int8)

    def _keep(self, partition: Partition, value: float) -> None:
        if value > self.best_value:
            self.best, self.best_value = partition, value
            self.is_optimal = meets_ceiling(self.graph, partition, value, self.walk.ceiling)
            progress = Progress(seconds=self.budget.elapsed(), sweeps=self.budget.sweeps, value=value + self.constant)
            self.history.append(progress)
            if self.search.report is not None:
                self.search.report(progress)
