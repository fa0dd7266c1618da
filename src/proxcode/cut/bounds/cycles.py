"""The cycle bound: the frustration that the cycles of a sparse graph enforce.

A cycle is negative if the product of its signs is. Every partition leaves at least one of its edges frustrated, so that
the smallest frustrated weight is at least the value of the linear program

    minimise sum_e |w_e| x_e  subject to  sum_{e in C} x_e >= 1 for every negative cycle C,  0 <= x <= 1.

1. Reduce the graph, and switch nodes by a good partition, so that only its frustrated edges are negative. The packing
   of cycles of `CyclePackingBound` gives the first bound.
2. Solve the program for the cycles known so far (HiGHS).
3. Find negative cycles that are shorter than 1 in the lengths x: in two copies of the graph, joined crosswise by the
   negative edges, a shortest path between the two copies of a node closes such a cycle. Each one contains a negative
   edge, so that paths from the ends of these edges suffice.
4. Add the cycles and return to step 2, until there is none, the bound equals the value of the partition, or the time is
   over.

Any dual solution z >= 0 proves the bound sum z + sum_e min(0, |w_e| - sum_{C with e} z_C), whatever the tolerances of
the solver are.
"""

import time

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse.csgraph import dijkstra

from proxcode.cut.annealing.reduction import Reduction
from proxcode.cut.bounds.base import UpperBound, attainable
from proxcode.cut.bounds.packing import packed_weight
from proxcode.cut.graph import SUM_ROUNDING, ExplicitGraph, SparseGraph, Vector
from proxcode.cut.result import Partition
from proxcode.utils.validation import check_integer

# Added to every length, so that of equally long cycles the one with fewer edges is found.
SHORTEST = 1e-7
# Amount by which a cycle must be shorter than 1 to be added.
VIOLATION = 1e-6
# Largest number of sources, and of distances, in one call of Dijkstra's algorithm.
SOURCES_TOGETHER, DISTANCES = 64, 1 << 21
Index = NDArray[np.int64]


class CycleBound(UpperBound):
    """A linear program over the negative cycles of the reduced graph, which are added as they are violated.

    The bound is proved whenever it ends, because each round gives the bound of a dual solution; 2^-45 of the sum of all
    `|w_ij|` is added for rounding errors. It is never worse than `CyclePackingBound`, which comes first, provided that
    the time suffices for both. Suitable for graphs with some ten thousands of edges after the reduction.

    Parameters
    ----------
    max_rounds : int, default=100
        Largest number of linear programs that are solved.
    time_limit : float, default=60.0
        Seconds after which the best bound so far is returned.
    """

    def __init__(self, max_rounds: int = 100, time_limit: float = 60.0) -> None:
        self.max_rounds = max_rounds
        self.time_limit = time_limit

    def bound(
        self, graph: ExplicitGraph, partition: Partition, rng: Generator, time_limit: float | None = None
    ) -> float:
        """Return the bound; the clock is checked between shortest paths from some dozens of nodes."""
        check_integer("max_rounds", self.max_rounds, 1)
        seconds = self.time_limit if time_limit is None else min(time_limit, self.time_limit)
        deadline = time.perf_counter() + seconds
        reduction = Reduction.of(graph)
        constant = reduction.constant(graph)
        if reduction.graph is None:
            return constant
        program = _CycleProgram(reduction.graph, partition[reduction.nodes])
        value, total = graph.value(partition), 2.0 * program.cost.sum() + constant
        margin = 0.5 * SUM_ROUNDING * float(graph.absolute_degrees().sum())
        packed = packed_weight(reduction.graph, partition[reduction.nodes], deadline)
        bound = total - 4.0 * packed + margin
        if attainable(graph, bound) <= value:
            return bound
        for _ in range(self.max_rounds):
            if not program.add_violated(deadline) or (left := deadline - time.perf_counter()) <= 0:
                break
            bound = min(bound, total - 4.0 * program.solve(left) + margin)
            if attainable(graph, bound) <= value:
                break
        return bound


class _CycleProgram:
    """The linear program over the cycles known so far."""

    def __init__(self, graph: SparseGraph, partition: Partition) -> None:
        first, second, weight = graph.edges()
        self.cost: Vector = np.abs(weight)
        # Costs are divided by the largest one, because the solver's tolerances are absolute.
        self.unit = float(self.cost.max(initial=0.0)) or 1.0
        self.first, self.second = first, second
        is_negative = weight * partition[first] * partition[second] < 0
        self.negative = np.flatnonzero(is_negative)
        self.n_nodes = graph.n_nodes
        # Two copies of the graph, whose entries are the numbers of the edges, from 1 on.
        within, across = self._numbers(~is_negative), self._numbers(is_negative)
        self.edge_of = sp.block_array([[within, across], [across, within]], format="csr")
        self.edge_of.sort_indices()
        self.copies = self.edge_of.astype(np.float64)
        self.length = np.zeros(len(weight))
        self.cycles: list[Index] = []
        self._known: set[bytes] = set()

    def _numbers(self, chosen: NDArray[np.bool_]) -> sp.csr_array:
        """Return the matrix of the numbers of some of the edges."""
        ends = self.first[chosen], self.second[chosen]
        upper = sp.coo_array((1 + np.flatnonzero(chosen), ends), shape=(self.n_nodes, self.n_nodes))
        return (upper + upper.T).tocsr()

    def add_violated(self, deadline: float) -> int:
        """Add negative cycles shorter than 1, one or more for each negative edge, until the deadline.

        Returns the number of new cycles.
        """
        self.copies.data = self.length[self.edge_of.data - 1] + SHORTEST
        before = len(self.cycles)
        by_source: dict[int, list[int]] = {}
        for negative in self.negative.tolist():
            by_source.setdefault(int(self.first[negative]), []).append(negative)
        sources = list(by_source)
        together = int(np.clip(DISTANCES // (2 * self.n_nodes), 1, SOURCES_TOGETHER))
        for start in range(0, len(sources), together):
            if time.perf_counter() > deadline:
                break
            chunk = sources[start : start + together]
            distance, previous = dijkstra(self.copies, indices=chunk, return_predecessors=True, limit=1.0)
            for row, source in enumerate(chunk):
                for edge in by_source[source]:
                    target = int(self.second[edge])
                    if distance[row, target] + self.length[edge] < 1.0 - VIOLATION:
                        self._add(previous[row], target, edge)
                if distance[row, source + self.n_nodes] < 1.0 - VIOLATION:
                    self._add(previous[row], source + self.n_nodes, None)
        return len(self.cycles) - before

    def _add(self, previous: NDArray[np.int32], node: int, closing: int | None) -> None:
        """Add the cycle of the path from the source to a node; edges that occur twice cancel."""
        edges = set() if closing is None else {closing}
        while previous[node] >= 0:
            edges ^= {self._edge(int(previous[node]), node)}
            node = int(previous[node])
        cycle = np.array(sorted(edges), np.int64)
        if cycle.tobytes() not in self._known:
            self._known.add(cycle.tobytes())
            self.cycles.append(cycle)

    def _edge(self, u: int, v: int) -> int:
        lower, upper = self.edge_of.indptr[u : u + 2]
        return int(self.edge_of.data[lower + np.searchsorted(self.edge_of.indices[lower:upper], v)]) - 1

    def solve(self, seconds: float) -> float:
        """Return a proved lower bound of the frustrated weight from the cycles known so far; 0 if time is too short."""
        counts = [len(cycle) for cycle in self.cycles]
        indptr = np.concatenate([[0], np.cumsum(counts)])
        covers = sp.csr_array(
            (np.ones(indptr[-1]), np.concatenate(self.cycles), indptr), shape=(len(counts), len(self.cost))
        )
        cost, ones = self.cost / self.unit, np.ones(len(counts))
        options = {"time_limit": seconds}
        solution = linprog(cost, A_ub=-covers, b_ub=-ones, bounds=(0, 1), method="highs", options=options)
        if solution.x is None or solution.ineqlin.marginals is None:
            return 0.0
        self.length = np.clip(solution.x, 0.0, 1.0)
        dual = self.unit * np.maximum(-solution.ineqlin.marginals, 0.0)
        return float(dual.sum() + np.minimum(0.0, self.cost - covers.T @ dual).sum())
