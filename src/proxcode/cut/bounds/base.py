"""The interface of upper bounds, and the comparison of an upper bound with the values that b'Wb can attain.

With integer weights b'Wb moves in steps of 4 times their common divisor, so that bounds are rounded down to the next
value that can be attained; sums are exact, and so is what they prove. With other weights a bound counts as attained up
to the rounding of sums, 2^-44 of the sum of all |w_ij|. A bound below a value that is attained is wrong and is ignored.
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.random import Generator
from sklearn.base import BaseEstimator

from proxcode.cut.graph import SUM_ROUNDING, ExplicitGraph, SignedGraph, SparseGraph
from proxcode.cut.result import Partition

# Sums of integer weights below this number are exact, with room for the fractions of a bound.
EXACT_WITH_FRACTIONS = 2.0**50
# Sums of integer weights below this number are exact.
EXACT = 2.0**53
# Relative distance from sum_ij |w_ij| within which frustrated edges are looked for.
NEAR_CEILING = 1e-9
# Part of a step up to which a bound below an attainable value counts as that value.
STEP_ROUNDING = 1e-6


class UpperBound(ABC, BaseEstimator):
    """Base class of upper bounds of b'Wb over all partitions."""

    @abstractmethod
    def bound(
        self, graph: ExplicitGraph, partition: Partition, rng: Generator, time_limit: float | None = None
    ) -> float:
        """Return a number that b'Wb of no partition exceeds.

        `partition` is a good partition, for bounds that can use one. After about `time_limit` seconds the best bound so
        far is returned.
        """


def ceiling_bound(graph: SignedGraph, partition: Partition, value: float) -> float:
    """Return the upper bound sum_ij |w_ij|, compared with a partition; infinity if weights are not stored."""
    if not isinstance(graph, ExplicitGraph):
        return float("inf")
    total = float(graph.absolute_degrees().sum())
    if meets_ceiling(graph, partition, value, total):
        return value
    return checked_bound(graph, value, total, is_ceiling=True)


def meets_ceiling(graph: SignedGraph, partition: Partition, value: float, ceiling: float) -> bool:
    """Whether no edge is frustrated; edges are examined only if the value is near the ceiling sum_ij |w_ij|."""
    return value >= (1.0 - NEAR_CEILING) * ceiling and graph.is_satisfied(partition)


def checked_bound(graph: SignedGraph, value: float, bound: float, *, is_ceiling: bool = False) -> float:
    """Compare an upper bound with a value that is attained.

    Returns the value itself if the two agree, infinity if the value refutes the bound, and otherwise the bound. The
    ceiling sum_ij |w_ij|, which is attained only if no edge is frustrated, never agrees by rounding alone.
    """
    total, is_integer = float(graph.absolute_degrees().sum()), _has_integer_weights(graph)
    rounding = 0.0 if is_integer and total < EXACT else SUM_ROUNDING * total
    if is_ceiling:
        bound += 3.0 * rounding
    bound = attainable(graph, bound)
    if bound < value - rounding:
        return float("inf")
    return value if bound <= value + rounding else bound


def attainable(graph: SignedGraph, bound: float) -> float:
    """Return the largest value up to `bound` that b'Wb can attain if all weights are integers, otherwise the bound."""
    is_exact = _has_integer_weights(graph) and float(graph.absolute_degrees().sum()) < EXACT_WITH_FRACTIONS
    if not is_exact or not np.isfinite(bound):
        return bound
    divisor = 1
    # Dense graphs keep 1, because computing the common divisor of all their weights takes too long.
    if isinstance(graph, SparseGraph):
        divisor = int(np.gcd.reduce(graph.weights.data.astype(np.int64), initial=0)) or 1
    total, step = float(graph.matvec(np.ones(graph.n_nodes)).sum()), 4.0 * divisor
    return total + step * float(np.floor((bound - total) / step + STEP_ROUNDING))


def _has_integer_weights(graph: SignedGraph) -> bool:
    if not isinstance(graph, ExplicitGraph):
        return False
    return all(bool(np.all(block == np.rint(block))) for block in graph.weight_blocks())
