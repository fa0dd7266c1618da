"""Annealing: the search for graphs of all sizes.

1. Reduce the graph exactly (`Reduction`), unless it is large and dense or its edges are not listed. If at most 20 nodes
   are left, try all partitions, which proves the cut.
2. Start from the signs of the largest eigenvector of W, or from equal signs if that is better; later runs start from
   random partitions. If time is too short for Lanczos' method, a random partition replaces the eigenvector.
3. Anneal: single flips by Metropolis' rule, while the temperature falls linearly from 0.45 times the root mean square
   local field to 0.05 times the median local field. If 0.25 lambda_max(W) is larger, as on networks with hubs, a tenth
   of the sweeps falls from there first. Then flip nodes until no flip improves.
4. Reheat to between 0.15 and 0.3 times the root mean square local field, cool again, and adopt from the result each
   connected component of its difference to the run's best partition that does not decrease the value.
5. On sparse graphs with enough sweeps, begin a run with eight short coolings. Nodes joined by edges on which all of
   them agree become one part (`graph_of_parts`), the smaller graph is annealed in the same way, and step 3 continues
   from its result without melting; the two are combined as in step 4. If parts gained less than 0.2 % and are many, as
   on random graphs, later runs begin without short coolings.
6. After `patience` reheats in a row without a gain, return to step 2 with a new run; the best partitions of all runs
   are combined as in step 4.

However the search ends (a limit, Ctrl-C, a partition without frustrated edges), the best partition so far is restored
to the whole graph and returned. With a limit in sweeps the same seed gives the same cut; with a limit in seconds the
cut depends on the machine.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.random import Generator
from sklearn.base import BaseEstimator

from proxcode.cut._kernels import enumerate_partitions
from proxcode.cut.annealing.reduction import Reduction
from proxcode.cut.annealing.runs import Runs
from proxcode.cut.annealing.schedule import Budget
from proxcode.cut.annealing.tuning import TUNING
from proxcode.cut.annealing.walks import is_dense
from proxcode.cut.bounds.base import checked_bound
from proxcode.cut.graph import DenseGraph, SignedGraph, SparseGraph
from proxcode.cut.initial import InitialGuess
from proxcode.cut.restarts import BitUpdate
from proxcode.cut.result import Clock, Cut, Partition, Progress, Report
from proxcode.cut.validation import check_functions
from proxcode.utils.validation import check_component, check_integer


class Annealing(BaseEstimator):
    """Simulated annealing by single flips on the reduced graph, with reheats of which only improvements are kept.

    Parameters
    ----------
    n_sweeps : int, default=None
        Total number of sweeps over the graph. None: unlimited if a time limit is given, and otherwise a number that
        depends on the size of the graph, for up to about one second of work but at least 200 sweeps, or 50 if weights
        are not stored.
    run_sweeps : int, default=8000
        Largest number of sweeps of the first cooling of a run, short coolings included; on graphs with n < 2000 nodes
        n / 2000 of it, but at least a tenth.
    reheat_sweeps : int, default=300
        Number of sweeps of each cooling after a reheat.
    patience : int, default=30
        Number of reheats in a row without a gain after which a new run begins; less on small graphs, as above, and if
        short coolings agree on large parts.
    initial : InitialGuess, default=None
        Start of the first run. None: the signs of the largest eigenvector of W, or equal signs.
    enumerate_up_to : int, default=20
        Largest number of nodes, after the reduction, of a graph of which all partitions are tried; at most 28.
    clock : callable, default=None
        Returns the seconds that time limits are measured by. None: `time.perf_counter`; `time.process_time` counts
        processor time.
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
        clock: Clock | None = None,
        report: Report | None = None,
    ) -> None:
        self.n_sweeps = n_sweeps
        self.run_sweeps = run_sweeps
        self.reheat_sweeps = reheat_sweeps
        self.patience = patience
        self.initial = initial
        self.enumerate_up_to = enumerate_up_to
        self.clock = clock
        self.report = report

    def solve(self, graph: SignedGraph, rng: Generator, time_limit: float | None = None) -> Cut:
        """Return the best partition found within `time_limit` seconds, or within the number of sweeps."""
        self._check_parameters()
        budget = Budget(self.n_sweeps, time_limit, self.clock or time.perf_counter)
        if not _is_reducible(graph):
            return _polished(graph, self._search(graph, self.initial, budget, rng))
        reduction = Reduction.of(graph)
        left, constant = reduction.graph, reduction.constant(graph)
        if left is None:
            return _optimal(graph, reduction.restore(np.ones(0, np.int8)), budget.elapsed())
        if left.n_nodes <= self.enumerate_up_to:
            best = enumerate_partitions(left.weights.toarray()).astype(np.int8)
            return _optimal(graph, reduction.restore(best), budget.elapsed())
        initial = None if self.initial is None else self.initial.restricted(graph, reduction.nodes)
        found = self._search(left, initial, budget, rng, constant)
        return _polished(graph, replace(found, partition=reduction.restore(found.partition)))

    def _check_parameters(self) -> None:
        if self.n_sweeps is not None:
            check_integer("n_sweeps", self.n_sweeps, 1)
        for name in ("run_sweeps", "reheat_sweeps", "patience"):
            check_integer(name, getattr(self, name), 1)
        check_integer("enumerate_up_to", self.enumerate_up_to, 0, TUNING.most_enumerated)
        if self.initial is not None:
            check_component("initial", self.initial, InitialGuess, "RandomGuess()")
        check_functions(self)

    def _search(
        self, graph: SignedGraph, initial: InitialGuess | None, budget: Budget, rng: Generator, constant: float = 0.0
    ) -> Cut:
        """Return the cut of a graph to whose values the constant of its reduction is added."""
        runs = Runs(self, graph, budget, rng, constant)
        try:
            runs.start(initial)
            while not runs.is_over:
                runs.step()
            status = "finished" if budget.sweeps == budget.n_sweeps else "time limit"
        except KeyboardInterrupt:
            status = "interrupted"
            runs.keep_unfinished()
        runs.end_run()
        return Cut(
            partition=runs.best,
            value=runs.best_value,
            flips=runs.walk.flips,
            sweeps=budget.sweeps,
            history=tuple(runs.history),
            status="optimal" if runs.is_optimal else status,
            upper_bound=runs.walk.ceiling + constant,
        )

    @staticmethod
    def solve_parts(parts: SparseGraph, n_sweeps: int, budget: Budget, rng: Generator) -> Cut:
        """Return the cut of a graph of parts, annealed in the same way within the time that is left."""
        return Annealing(n_sweeps, clock=budget.clock).solve(parts, rng, budget.seconds_left())


def _is_reducible(graph: SignedGraph) -> bool:
    """Whether the edges of a graph can be listed, and are not too many."""
    if not isinstance(graph, DenseGraph | SparseGraph):
        return False
    return graph.n_nodes <= TUNING.dense_reducible or not is_dense(graph)


def _optimal(graph: SignedGraph, partition: Partition, seconds: float) -> Cut:
    """Return the cut of a partition that is known to be optimal."""
    value = graph.value(partition)
    return Cut(
        partition=partition,
        value=value,
        flips=0,
        sweeps=0,
        history=(Progress(seconds=seconds, sweeps=0, value=value),),
        status="optimal",
        upper_bound=value,
        graph=graph,
    )


def _polished(graph: SignedGraph, cut: Cut) -> Cut:
    """Flip nodes of the graph itself until no flip improves; return the cut with its graph, value and bound."""
    final = BitUpdate().improve(graph, cut.partition, np.random.default_rng(0))
    value = graph.value(final.partition) if final.flips else final.value
    is_optimal = cut.status == "optimal"
    return replace(
        cut,
        partition=final.partition,
        value=value,
        flips=cut.flips + final.flips,
        upper_bound=value if is_optimal else checked_bound(graph, value, cut.upper_bound, is_ceiling=True),
        graph=graph,
    )
