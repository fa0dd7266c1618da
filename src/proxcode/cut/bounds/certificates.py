"""Certificates: upper bounds of b'Wb that prove how good a cut is.

1. sum_ij |w_ij|, which is attained if no edge is frustrated; every search gives this bound.
2. Enumeration: `Annealing` tries all partitions if the reduced graph has at most 20 nodes.
3. `SemidefiniteBound`: the dual of the semidefinite relaxation.
4. `CycleBound`: a linear program over the cycles that cannot be free of frustration, for sparse graphs.
"""

from __future__ import annotations

from dataclasses import replace

from numpy.random import Generator

from proxcode.cut.bounds.base import UpperBound, checked_bound
from proxcode.cut.bounds.cycles import CycleBound
from proxcode.cut.bounds.semidefinite import SemidefiniteBound
from proxcode.cut.graph import ExplicitGraph
from proxcode.cut.result import Cut, Partition
from proxcode.cut.validation import RandomState, as_generator, check_time_limit

# Largest number of edges per node for the cycle bound (20 neighbours on average): cycles are short, and the linear
# program is small.
FEW_EDGES = 10


class SuitableBound(UpperBound):
    """`CycleBound()` if nodes have at most 20 edges on average, otherwise `SemidefiniteBound()`."""

    def bound(
        self, graph: ExplicitGraph, partition: Partition, rng: Generator, time_limit: float | None = None
    ) -> float:
        """Return the bound."""
        has_few_edges = graph.count_edges() <= FEW_EDGES * graph.n_nodes
        chosen = CycleBound() if has_few_edges else SemidefiniteBound()
        return chosen.bound(graph, partition, rng, time_limit)


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
