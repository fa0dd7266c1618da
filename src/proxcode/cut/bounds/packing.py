"""The packing bound: cycles that share no edge each enforce frustration of their own, on graphs of any size.

A cycle is negative if the product of its signs is. Every partition leaves at least one of its edges frustrated, so that
edge-disjoint negative cycles need as many frustrated edges as there are cycles. With weights, a cycle C takes an amount
z_C from the capacity |w_e| of each of its edges, and sum_C z_C is a lower bound of the frustrated weight: z is feasible
for the dual of the linear program of `CycleBound`.

1. Reduce the graph, and switch nodes by a good partition, so that only its frustrated edges are negative.
2. For length 3, 4, 5, ...: for each frustrated edge, find a path of satisfied edges with capacity left that closes a
   cycle of this length, and take the smallest capacity of the cycle from all of its edges.
3. End when no path closes any frustrated edge that has capacity left, or when the time is over.

Short cycles come first because they use few edges. The greedy order gives edges with little satisfied weight around
them the first choice, and prefers paths through nodes with little frustrated weight, where few other cycles must pass.
"""

import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator
from numpy.typing import NDArray

from proxcode.cut.annealing.reduction import Reduction
from proxcode.cut.bounds._packing_kernels import pack_cycles
from proxcode.cut.bounds.base import UpperBound
from proxcode.cut.graph import SUM_ROUNDING, ExplicitGraph, SparseGraph, Vector
from proxcode.cut.result import Partition

# Number of entries that are read between two checks of the clock: about a tenth of a second.
ENTRIES_TOGETHER = 1 << 22
# Number of bits of the sum of all capacities: sums and differences of capacities are exact.
CAPACITY_BITS = 52
# Smallest exponent of a number in double precision.
LEAST_EXPONENT = -1074


class CyclePackingBound(UpperBound):
    """A greedy packing of negative cycles of the reduced graph, for graphs with up to millions of edges.

    The bound is proved whenever it ends: capacities are rounded down to multiples of a power of two, 2^-52 of their
    sum, so that the packing is exact, and 2^-45 of the sum of all `|w_ij|` is added for the rounding of other sums. The
    better the given partition is, the better is the bound.

    Parameters
    ----------
    time_limit : float, default=60.0
        Seconds after which the cycles found so far are returned.

    Examples
    --------
    Two triangles of enemies that share a node leave two edges frustrated:

    >>> from proxcode.cut import CyclePackingBound, Restarts, frustration
    >>> triangles = [(0, 1, -1), (1, 2, -1), (0, 2, -1), (2, 3, -1), (3, 4, -1), (2, 4, -1)]
    >>> found = frustration(triangles, search=Restarts(), bound=CyclePackingBound(), random_state=0)
    >>> found.index, found.lower_bound, found.proved
    (2, 2, True)
    """

    def __init__(self, time_limit: float = 60.0) -> None:
        self.time_limit = time_limit

    def bound(
        self, graph: ExplicitGraph, partition: Partition, rng: Generator, time_limit: float | None = None
    ) -> float:
        """Return the bound; the clock is checked about ten times a second."""
        seconds = self.time_limit if time_limit is None else min(time_limit, self.time_limit)
        deadline = time.perf_counter() + seconds
        reduction = Reduction.of(graph)
        constant = reduction.constant(graph)
        if reduction.graph is None:
            return constant
        packed = packed_weight(reduction.graph, partition[reduction.nodes], deadline)
        total = 2.0 * float(np.abs(reduction.graph.edges()[2]).sum()) + constant
        margin = 0.5 * SUM_ROUNDING * float(graph.absolute_degrees().sum())
        return total - 4.0 * packed + margin


def packed_weight(graph: SparseGraph, partition: Partition, deadline: float = float("inf")) -> float:
    """Return the total of a packing of negative cycles: a lower bound of the frustrated weight of any partition.

    `deadline` is the value of `time.perf_counter` at which the packing ends.
    """
    first, second, weight = graph.edges()
    is_negative = weight * partition[first] * partition[second] < 0
    size, n = np.abs(weight), graph.n_nodes
    satisfied, frustrated = (
        np.bincount(first[chosen], size[chosen], n) + np.bincount(second[chosen], size[chosen], n)
        for chosen in (~is_negative, is_negative)
    )
    capacity = _exact_capacity(size)
    pending = np.flatnonzero(is_negative)
    spare = satisfied - frustrated
    pending = pending[np.argsort(np.minimum(spare[first[pending]], spare[second[pending]]), kind="stable")]
    # Searches read at random: half the memory wherever the numbers of entries fit.
    kind = np.int32 if graph.weights.nnz < 2**31 else np.int64
    rows = _satisfied_rows(n, first, second, ~is_negative, kind)
    memory = _search_memory(n, kind)
    packed, max_hops = 0.0, 2
    while len(pending):
        done = 0
        while done < len(pending):
            if time.perf_counter() > deadline:
                return packed
            amount, done = pack_cycles(
                pending, done, first, second, max_hops, rows, capacity, frustrated, memory, ENTRIES_TOGETHER
            )
            packed += amount
        pending = pending[pending >= 0]
        # Long cycles, which are few, are looked for in larger steps.
        max_hops += max(1, max_hops // 8)
    return packed


def _exact_capacity(size: Vector) -> Vector:
    """Return the sizes, rounded down to multiples of a power of two that is 2^-52 of their sum."""
    exponent = int(np.frexp(size.sum())[1]) - CAPACITY_BITS
    unit = float(np.ldexp(1.0, max(exponent, LEAST_EXPONENT)))
    return np.asarray(size - np.fmod(size, unit))


def _satisfied_rows(
    n: int, first: NDArray[np.int64], second: NDArray[np.int64], is_satisfied: NDArray[np.bool_], kind: type
) -> tuple[NDArray[Any], ...]:
    """Return the neighbours of each node over satisfied edges, and the numbers of these edges."""
    numbers = np.flatnonzero(is_satisfied)
    ends = np.concatenate([first[numbers], second[numbers]]), np.concatenate([second[numbers], first[numbers]])
    rows = sp.coo_array((np.concatenate([numbers, numbers]), ends), shape=(n, n)).tocsr()
    return tuple(part.astype(kind) for part in (rows.indptr[:-1], rows.indptr[1:], rows.indices, rows.data))


def _search_memory(n: int, kind: type) -> tuple[NDArray[Any], ...]:
    """Return the arrays that a breadth-first search from two ends writes to; the first one is zero between searches."""
    return np.zeros(n, np.int8), *(np.empty(n, kind) for _ in range(3)), np.empty((2, n), kind)
