"""Annealing: the search for all sizes.

1. reduce the graph exactly (`Reduction`), unless it is large and dense or its edges are not listed; with at most 20
   points left, try all partitions, which proves the cut;
2. start from the signs of the largest eigenvector of W or, where that is worth more, from all points together; later
   from random partitions. Where time is too short for Lanczos' method, a random partition stands for the eigenvector;
3. anneal: single flips by Metropolis' rule, the temperature falling linearly from 0.45 times the root mean square
   local field to 0.05 times the median local field; where 0.25 lambda_max(W) is more, as on networks with hubs, a tenth
   of the sweeps falls from there first. Then flip until no flip improves;
4. reheat to between 0.15 and 0.3 times the root mean square local field, cool again, and take over from the result
   each connected component of its difference to the run's best that does not lower it;
5. begin a run, if the graph is sparse and sweeps are enough, by eight short coolings: points joined by edges on which
   all of them agree, same side or not, become one (`graph_of_parts`), the smaller graph is annealed in the same way,
   and step 3, without melting, goes on from there; what it finds is combined with that as in 4. Where parts gained
   less than 0.2 % and are many, as with random graphs, later runs begin without;
6. after `patience` reheats in a row without a gain, go back to 2 with a new run; best partitions of runs are combined
   as in 4.

Whatever ends it, a limit, Ctrl-C or a partition without frustration, the best partition so far is returned, undone to
the whole graph. With a limit in sweeps the same seed gives the same cut; with one in seconds it depends on the machine.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator

from proxcode.cut._kernels import enumerate_partitions
from proxcode.cut.annealing.limits import Budget, check_whole
from proxcode.cut.annealing.parts import graph_of_parts
from proxcode.cut.annealing.reduction import DENSE_REDUCIBLE, Reduction
from proxcode.cut.annealing.schedule import Schedule
from proxcode.cut.annealing.walks import TABLE_SIZE, SparseWalk, Walk, is_dense, walk_on
from proxcode.cut.bounds.semidefinite import checked_bound, meets_ceiling
from proxcode.cut.graph import DenseGraph, SignedGraph, SparseGraph, Vector
from proxcode.cut.initial import InitialGuess, signs_of
from proxcode.cut.result import Cut, Partition, Progress
from proxcode.cut.updates import BitUpdate

SCOUTS, SHORTEST = 8, 5  # short coolings that a run begins with, and sweeps of each at least
SCOUTING_SHARE = (0.25, 0.5)  # of a run's sweeps for them, in the first run and later
WORTH_SCOUTING = 0.002  # gain by parts, relative to the value, from which on later runs begin so too
FEW_PARTS = 0.1  # of the points: with fewer parts later runs begin so too,
FEW_PARTS_PATIENCE = 0.3  # and with so much of the patience, as reheats move no large part
MOST_ENUMERATED = 28  # points: 2^27 partitions take seconds
FULL_RUN = 2000  # points from which on runs have their full length; fewer have shorter and more runs
FIRST_SHARE = 0.3  # of the budget left at most, for a run's first cooling
ENDING = 8.0  # the end takes so many times as long as to place a walk
DEFAULT_WORK, DEFAULT_SWEEPS = 3e8, (200, 50_000)  # weights read at most, and the range of sweeps that makes
IMPLICIT_SWEEPS = (50, 200)  # the range where weights are not stored: reading one costs more


class Annealing(BaseEstimator):
    """Single-flip annealing on the reduced graph, with reheats of which only the parts that help are kept.

    Parameters
    ----------
    n_sweeps : int, default=None
        Sweeps in all, over the graph itself. None is without end where a time limit is given, and otherwise what the
        graph's size suggests: up to about a second's work, but at least 200 sweeps, or 50 where weights are not stored.
    run_sweeps : int, default=8000
        Sweeps of a run's first cooling, short ones before it included, at most; with n below 2,000 points n / 2000 of
        it, but at least a tenth.
    reheat_sweeps : int, default=300
        Sweeps of each cooling after a reheat.
    patience : int, default=30
        Reheats in a row without a gain after which a new run begins; fewer with fewer points, as above, and where
        short coolings agree on large parts.
    initial : InitialGuess, default=None
        Start of the first run; None is the sign of the largest eigenvector of W, or all points together.
    enumerate_up_to : int, default=20
        Graphs with so few points left after the reduction are solved by trying all partitions; at most 28.
    clock : callable, default=None
        What time limits are measured by; None is `time.perf_counter`, `time.process_time` counts processor time.
    report : callable, default=None
        Called with a `Progress` whenever a better partition is found.

    Examples
    --------
    >>> import numpy as np
    >>> from proxcode.cut import Annealing, signed_cut
    >>> W = np.triu(np.random.default_rng(0).normal(size=(60, 60)), 1)
    >>> cut = signed_cut(W + W.T, search=Annealing(n_sweeps=2000), random_state=0)
    >>> cut.status, cut.sweeps
    ('finished', 2000)
    """

    def __init__(
        self,
        n_sweeps: int | None = None,
        run_sweeps: int = 8000,
        reheat_sweeps: int = 300,
        patience: int = 30,
        initial: InitialGuess | None = None,
        enumerate_up_to: int = 20,
        clock: Callable[[], float] | None = None,
        report: Callable[[Progress], object] | None = None,
    ) -> None:
        self.n_sweeps = n_sweeps
        self.run_sweeps = run_sweeps
        self.reheat_sweeps = reheat_sweeps
        self.patience = patience
        self.initial = initial
        self.enumerate_up_to = enumerate_up_to
        self.clock = clock
        self.report = report

    def solve(self, graph: SignedGraph, rng: np.random.Generator, time_limit: float | None = None) -> Cut:
        """Return the best partition found within `time_limit` seconds, or within the sweeps."""
        self._check_numbers()
        budget = Budget(self.n_sweeps, time_limit, self.clock or time.perf_counter)
        if not isinstance(graph, DenseGraph | SparseGraph) or (graph.n_nodes > DENSE_REDUCIBLE and is_dense(graph)):
            return _polished(graph, self._search(graph, budget, rng))
        return self._solve_reduced(graph, budget, rng)

    def _check_numbers(self) -> None:
        if self.n_sweeps is not None:
            check_whole("n_sweeps", self.n_sweeps)
        for name in ("run_sweeps", "reheat_sweeps", "patience"):
            check_whole(name, getattr(self, name))
        check_whole("enumerate_up_to", self.enumerate_up_to, 0)
        if self.enumerate_up_to > MOST_ENUMERATED:
            raise ValueError(
                f"enumerate_up_to={self.enumerate_up_to}: 2^{self.enumerate_up_to - 1} partitions are too many to try; "
                f"give at most {MOST_ENUMERATED}, and for larger graphs a bound."
            )

    def _solve_reduced(self, graph: SignedGraph, budget: Budget, rng: np.random.Generator) -> Cut:
        reduction = Reduction.of(graph)
        left, constant = reduction.graph, reduction.constant(graph)
        if left is None or left.n_nodes <= self.enumerate_up_to:
            partition = (
                np.ones(0, np.int8) if left is None else enumerate_partitions(left.weights.toarray()).astype(np.int8)
            )
            return _optimal(graph, reduction.restore(partition), budget.elapsed())
        found = self._search(left, budget, rng, constant)
        return _polished(graph, replace(found, partition=reduction.restore(found.partition)))

    def _search(self, graph: SignedGraph, budget: Budget, rng: np.random.Generator, constant: float = 0.0) -> Cut:
        walk = walk_on(graph, rng)
        before = budget.elapsed()
        walk.place(np.ones(graph.n_nodes, np.int8))
        budget.keep_back(ENDING * (budget.elapsed() - before))
        if budget.n_sweeps is None and budget.seconds is None:
            low, high = DEFAULT_SWEEPS if isinstance(graph, DenseGraph | SparseGraph) else IMPLICIT_SWEEPS
            budget.n_sweeps = int(np.clip(DEFAULT_WORK / walk.sweep_work(), low, high))
        search = _Search(self, graph, walk, budget, rng, constant)
        try:
            search.start()
            while not search.is_over:
                search.step()
            status = "finished" if budget.sweeps == budget.n_sweeps else "time limit"
        except KeyboardInterrupt:
            status = "interrupted"
            search.keep_unfinished()
        partition, value = search.result()
        status = "optimal" if search.is_optimal else status
        ceiling = walk.ceiling + constant
        return Cut(partition, value, walk.flips, budget.sweeps, tuple(search.history), status, ceiling)


class _Search:
    """The runs of one `Annealing.solve`: what is best so far, and what comes next.

    Values are told with `constant` added, that of the reduction.
    """

    def __init__(
        self,
        settings: Annealing,
        graph: SignedGraph,
        walk: Walk,
        budget: Budget,
        rng: np.random.Generator,
        constant: float,
    ) -> None:
        self.graph, self.constant = graph, constant
        self.is_optimal = False  # whether no edge is frustrated
        self.settings, self.walk, self.budget, self.rng = settings, walk, budget, rng
        self.best = self._random_side()
        self.best_value = -np.inf
        self.run_best: Partition | None = None
        self.run_value = -np.inf
        self.n_runs, self.stale = 0, 0
        self.share = float(np.clip(walk.n_nodes / FULL_RUN, 0.1, 1.0))
        self.history: list[Progress] = []
        self.schedule = Schedule(0.0, 0.0, 0.0)  # found in start
        self.patience = self.share * settings.patience
        self.is_worth_scouting = isinstance(walk, SparseWalk)

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to gain, or nothing left to spend."""
        return self.is_optimal or self.budget.is_late or self.budget.left() < 1

    def start(self) -> None:
        """Find the temperatures and the first start."""
        self.schedule, eigenvector = Schedule.of(self.walk, self.budget, self.rng)
        self.walk.place(self._first_side(eigenvector))
        self.walk.descend()
        self._keep(self.walk.partition, self.walk.value)

    def _first_side(self, eigenvector: Vector | None) -> Partition:
        if self.settings.initial is not None:
            return self.settings.initial.guess(self.graph, self.rng)
        guess = self.best if eigenvector is None else signs_of(eigenvector)
        return self.walk.better(guess, np.ones(self.walk.n_nodes, np.int8))

    def step(self) -> None:
        """One cooling: the first of a run, or a reheat."""
        if self.run_best is None:
            self._begin_run()
            self.run_best, self.run_value, self.stale = self.walk.partition, self.walk.value, 0
        else:
            self._cool(partial(self.schedule.reheated, rng=self.rng), self.settings.reheat_sweeps)
            self.run_best = self.walk.combine(self.run_best, self.walk.partition)
            self.walk.place(self.run_best)
            self.stale = 0 if self.walk.value > self.run_value else self.stale + 1
            self.run_value = self.walk.value
        self._keep(self.run_best, self.run_value)
        if self.stale >= self.patience:
            self._end_run()
            self.walk.place(self._random_side())

    def _begin_run(self) -> None:
        """Place the result of a run's first cooling, short ones before it included."""
        left = self.budget.left() if self.budget.sweeps else self._probe()
        if left < 1:
            return
        n_sweeps = min(self.share * self.settings.run_sweeps, max(FIRST_SHARE * left, 1.0))
        scout_sweeps = n_sweeps * SCOUTING_SHARE[self.n_runs > 0] / SCOUTS
        self.n_runs += 1
        if not self.is_worth_scouting or scout_sweeps < SHORTEST:
            self._cool(self.schedule.melting_and_cooling, n_sweeps)
            return
        self._scout(scout_sweeps)
        if self.is_over:
            return
        found = self.walk.partition
        self._cool(self.schedule.cooling, n_sweeps - SCOUTS * scout_sweeps)
        self.walk.place(self.walk.combine(found, self.walk.partition))

    def _scout(self, n_sweeps: float) -> None:
        """Place what short coolings find together, and decide whether later runs begin so too."""
        found = self._short_coolings(n_sweeps)
        self.walk.place(found[0])
        if self.is_over:
            return
        value = self.walk.value
        n_parts = self._place_combined(found, n_sweeps)
        gain = self.walk.value - value
        if gain < 0:  # out of time, say
            self.walk.place(found[0])
        self._keep(self.walk.partition, self.walk.value)
        has_few_parts = n_parts < FEW_PARTS * self.walk.n_nodes
        self.patience = self.share * self.settings.patience * (FEW_PARTS_PATIENCE if has_few_parts else 1.0)
        self.is_worth_scouting = has_few_parts or gain > WORTH_SCOUTING * abs(value)

    def _short_coolings(self, n_sweeps: float) -> list[Partition]:
        """Return what they find, the best one first; one starts from where the walk is, the others at random."""
        found: list[Partition] = []
        values: list[float] = []
        while not found or (len(found) < SCOUTS and not self.is_over):
            if found:
                self.walk.place(self._random_side())
            self._cool(self.schedule.melting_and_cooling, n_sweeps)
            found.append(self.walk.partition)
            values.append(self.walk.value)
            self._keep(found[-1], values[-1])
        best = int(np.argmax(values))
        found[0], found[best] = found[best], found[0]
        return found

    def _place_combined(self, found: list[Partition], n_sweeps: float) -> int:
        """Anneal the graph of parts, trying as many flips as for one of the partitions; returns the number of parts."""
        parts, part = graph_of_parts(self.graph, found)
        search = Annealing(max(1, int(n_sweeps * self.walk.n_nodes / parts.n_nodes)), clock=self.budget.clock)
        combined = search.solve(parts, self.rng, self.budget.seconds_left())
        self.walk.place(found[0] * combined.partition[part])
        self.walk.descend()
        if combined.status == "interrupted":  # Ctrl-C is meant for this search too
            raise KeyboardInterrupt
        return parts.n_nodes

    def keep_unfinished(self) -> None:
        """Descend from where a cooling was cut short: what it reached may be the best."""
        if self.history:
            self.walk.place(self.walk.partition)  # Ctrl-C may have come between a flip and its field
            self.walk.descend()
            self._keep(self.walk.partition, self.walk.value)

    def result(self) -> tuple[Partition, float]:
        """Return the best partition, all runs combined, and its value."""
        self._end_run()
        return self.best, self.best_value

    def _probe(self) -> float:
        """Sweep a few times to learn what a sweep takes; returns the sweeps left."""
        self._cool(self.schedule.cooling, 2)
        return self.budget.left()

    def _cool(self, temperatures: Callable[[int], Vector], n_sweeps: float) -> None:
        n = int(max(1, min(n_sweeps, self.budget.left())))
        self.budget.spend(self.walk, temperatures(n), self.rng.integers(0, TABLE_SIZE, n))
        self.walk.descend()

    def _end_run(self) -> None:
        """Combine the run's best, if there is one, with the best of all."""
        if self.run_best is not None:
            combined = self.walk.combine(self.best, self.run_best)
            self.walk.place(combined)
            self._keep(combined, self.walk.value)
            self.run_best = None

    def _random_side(self) -> Partition:
        return (2 * self.rng.integers(0, 2, self.walk.n_nodes) - 1).astype(np.int8)

    def _keep(self, partition: Partition, value: float) -> None:
        if value > self.best_value:
            self.best, self.best_value = partition, value
            self.is_optimal = meets_ceiling(self.graph, partition, value, self.walk.ceiling)
            self.history.append(Progress(self.budget.elapsed(), self.budget.sweeps, value + self.constant))
            if self.settings.report is not None:
                self.settings.report(self.history[-1])


def _optimal(graph: SignedGraph, partition: Partition, seconds: float) -> Cut:
    """Return the cut of a partition that is known to be a best one."""
    value = graph.value(partition)
    return Cut(partition, value, 0, 0, (Progress(seconds, 0, value),), "optimal", value, graph)


def _polished(graph: SignedGraph, cut: Cut) -> Cut:
    """Make sure, on the graph itself, that no flip improves; give the cut its graph, value and bound."""
    final = BitUpdate().improve(graph, cut.partition, np.random.default_rng(0))
    value = graph.value(final.partition) if final.flips else final.value
    is_optimal = cut.status == "optimal"
    bound = value if is_optimal else checked_bound(graph, value, cut.upper_bound, is_ceiling=True)
    return Cut(final.partition, value, cut.flips + final.flips, cut.sweeps, cut.history, cut.status, bound, graph)
