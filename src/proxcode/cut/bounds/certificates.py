"""Certificates: upper bounds of b'Wb that prove how good a cut is.

1. sum_ij |w_ij|, which is attained if no edge is frustrated; every search gives this bound.
2. Enumeration: `Annealing` tries all partitions if the reduced graph has at most 20 nodes.
3. `SemidefiniteBound`: the dual of the semidefinite relaxation.
4. `CyclePackingBound`: cycles that share no edge and cannot be free of frustration, for graphs of any size.
5. `CycleBound`: a linear program over the cycles of the same kind, for sparse graphs.
"""

from __future__ import annotations

import time
from dataclasses import replace

from numpy.random import Generator

from proxcode.cut.annealing.tuning import TUNING
from proxcode.cut.bounds.base import UpperBound, checked_bound
from proxcode.cut.bounds.cycles import CycleBound
from proxcode.cut.bounds.packing import CyclePackingBound
from proxcode.cut.bounds.semidefinite import SemidefiniteBound
from proxcode.cut.graph import DenseGraph, ExplicitGraph
from proxcode.cut.result import Cut, Partition
from proxcode.cut.validation import RandomState, as_generator, check_time_limit

# Largest number of edges per node for the cycle bound (20 neighbours on average): cycles are short, and the linear
# program is small.
FEW_EDGES = 10
# Number of edges above which the linear program added nothing to the packing of cycles within a minute.
LARGE = 200_000
# Part of the time limit after which the packing of cycles ends on graphs of many edges.
PACKING_SHARE = 0.5
# Part of the time limit that must be left for the semidefinite bound of a large sparse graph, whose eigenvalue takes
# long and is not interrupted.
LEAST_LEFT = 0.5
# Part of the frustrated weight from which on the packing of cycles is near enough: on random signs it is far from it.
NEAR_ENOUGH = 0.95
# Rank and number of sweeps of the semidefinite bound on large sparse graphs, whose usual rank would be hundreds.
LOW_RANK, FEW_SWEEPS = 30, 400


class SuitableBound(UpperBound):
    """The bound that suits the number of nodes and edges.

    1. Up to 20 edges at a node on average and 200,000 in all: `CycleBound()`.
    2. Other graphs: `CyclePackingBound()`, and if it proves less than 95 % of the frustrated weight, the better one of
       it and `SemidefiniteBound()`. On graphs with at most 20 edges at a node, the semidefinite bound has rank 30, and
       is left out if half of the time limit is over.
    3. Dense arrays of more than 2,000 nodes, whose list of edges would be long: `SemidefiniteBound()`.
    """

    def bound(
        self, graph: ExplicitGraph, partition: Partition, rng: Generator, time_limit: float | None = None
    ) -> float:
        """Return the bound."""
        n_edges = graph.count_edges()
        has_few_edges = n_edges <= FEW_EDGES * graph.n_nodes
        if has_few_edges and n_edges <= LARGE:
            return CycleBound().bound(graph, partition, rng, time_limit)
        by_vectors = SemidefiniteBound(LOW_RANK, FEW_SWEEPS) if has_few_edges else SemidefiniteBound()
        if isinstance(graph, DenseGraph) and graph.n_nodes > TUNING.dense_reducible:
            return by_vectors.bound(graph, partition, rng, time_limit)
        start = time.perf_counter()
        share = 1.0 if has_few_edges else PACKING_SHARE
        packing = CyclePackingBound().bound(graph, partition, rng, None if time_limit is None else share * time_limit)
        total = float(graph.absolute_degrees().sum())
        if total - packing >= NEAR_ENOUGH * (total - graph.value(partition)):
            return packing
        if time_limit is None:
            return min(packing, by_vectors.bound(graph, partition, rng))
        left = time_limit - (time.perf_counter() - start)
        if has_few_edges and left < LEAST_LEFT * time_limit:
            return packing
        return min(packing, by_vectors.bound(graph, partition, rng, left))


def certify(
    cut: Cut, bound: UpperBound | None = None, random_state: RandomState = None, time_limit: float | None = None
) -> Cut:
    """Return a cut with an upper bound, from which its `gap` and `proved` follow.

    Parameters
    ----------
    cut : Cut
        Result of `signed_cut` on explicit weights.
    bound : UpperBound, default=None
        None: `SuitableBound()`.
    random_state : int, Generator, RandomState or None, default=None
    time_limit : float, default=None
        Approximate number of seconds: the clock is checked between steps, and the best bound so far is returned. None:
        the limit of the bound itself.

    Returns
    -------
    Cut
        The same partition with the better one of the two upper bounds.

    Examples
    --------
    A triangle of enemies leaves one edge frustrated:

    >>> from proxcode.cut import Restarts, certify, signed_cut
    >>> cut = signed_cut([(0, 1, -1), (1, 2, -1), (0, 2, -1)], search=Restarts(), random_state=0)
    >>> certify(cut).proved, cut.value
    (True, 2.0)
    """
    check_time_limit(time_limit)
    graph = cut.graph
    if not isinstance(graph, ExplicitGraph):
        raise ValueError("this cut has no explicit weights: use signed_cut on a matrix or a list of edges")
    if cut.proved:
        return cut
    found = (bound or SuitableBound()).bound(graph, cut.partition, as_generator(random_state), time_limit)
    return replace(cut, upper_bound=min(cut.upper_bound, checked_bound(graph, cut.value, found)))
