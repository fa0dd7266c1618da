"""Certificates: numbers that no partition's b'Wb exceeds.

1. sum_ij |w_ij|, which a graph without frustration attains; every search gives this one;
2. enumeration: `Annealing` tries all partitions where the reduced graph has at most 20 points;
3. `SemidefiniteBound`: b'Wb <= lambda sum y wherever lambda Diag(y) - W is positive semidefinite, with y from the
   mixing method;
4. `CycleBound`: a linear program over the cycles that cannot be free of frustration, for sparse graphs.

With whole weights b'Wb moves in steps of 4 times their common divisor, and bounds are rounded down to the next value
that can be attained; the sums are exact, and so is what they prove. With other weights a bound counts as met up to the
rounding of sums, 2^-44 of the sum of all |w_ij|. A bound below a value that is reached is wrong, and is ignored: it
proves nothing.
"""

from abc import ABC, abstractmethod

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from proxcode.cut.annealing.reduction import DENSE_REDUCIBLE, Reduction
from proxcode.cut.graph import SUM_ROUNDING, DenseGraph, ExplicitGraph, SignedGraph, SparseGraph, Vector
from proxcode.cut.mixing import mix, scaled
from proxcode.cut.result import Partition
from proxcode.cut.spectral import smallest_eigenpairs

FULL_SPECTRUM = 1500  # points up to which all eigenvalues are computed
LANCZOS_TOLERANCE = 1e-5  # the largest eigenvalues crowd together; what is left of the residual is added to the bound
WHOLE, EXACT = 2.0**50, 2.0**53  # sums of whole weights below are exact: with room for fractions, and without
NEARLY = 1e-9  # this near to the ceiling, frustrated edges are looked for
ROUNDING = 1e-6  # of a step: a bound this little below an attainable value counts as that value


class UpperBound(ABC, BaseEstimator):
    """A way to bound b'Wb from above."""

    @abstractmethod
    def bound(
        self, graph: ExplicitGraph, partition: Partition, rng: np.random.Generator, time_limit: float | None = None
    ) -> float:
        """Return a number that no partition's b'Wb exceeds.

        `partition` is a good partition, where that helps; after about `time_limit` seconds the best number so far will do.
        """


class SemidefiniteBound(UpperBound):
    """The semidefinite relaxation's dual on the reduced graph, made feasible by a factor.

    With y from the mixing method, D = Diag(y) and lambda = lambda_max(D^-1/2 W D^-1/2), the matrix lambda D - W is
    positive semidefinite, and no b'Wb exceeds lambda sum y. Up to 1,500 points lambda comes from a full decomposition,
    and a margin of 1e-13 n times the matrix' norm exceeds its rounding errors: the bound is proved, whether or not the
    mixing method has converged. Above, lambda comes from Lanczos' method and the margin is its residual plus 1e-6:
    proved provided that Lanczos has met the largest eigenvalue, which it does from a random start but for chance.

    Parameters
    ----------
    rank : int, default=None
        Dimension of its vectors; None is ceil(sqrt(2 n)) + 1. Less is faster; the bound stays proved, if less tight.
    max_iter : int, default=2000
        Sweeps of the mixing method.
    tolerance : float, default=1e-7
        Relative gain of a sweep under which it ends.
    """

    def __init__(self, rank: int | None = None, max_iter: int = 2000, tolerance: float = 1e-7) -> None:
        self.rank = rank
        self.max_iter = max_iter
        self.tolerance = tolerance

    def bound(
        self, graph: ExplicitGraph, partition: Partition, rng: np.random.Generator, time_limit: float | None = None
    ) -> float:
        """Return the bound; the time is looked at between sweeps of the mixing method."""
        graph, unit = scaled(graph)
        return unit * self._scaled_bound(graph, rng, time_limit)

    def _scaled_bound(self, graph: ExplicitGraph, rng: np.random.Generator, time_limit: float | None) -> float:
        left, constant = _reduced(graph)
        if left is None:
            return constant
        dual = mix(left, self.rank, self.max_iter, self.tolerance, rng, time_limit)[1]
        if not dual.any():  # vectors of a low rank may cancel everywhere
            dual = left.absolute_degrees()
        if not dual.any():
            return constant
        dual = np.maximum(dual, 1e-6 * dual.mean())
        return constant + float(dual.sum()) * _largest_eigenvalue(left, dual, rng)


def _reduced(graph: ExplicitGraph) -> tuple[ExplicitGraph | None, float]:
    """Return what is left of a graph, and the constant; a large dense one, whose list of edges is long, as it is."""
    if isinstance(graph, DenseGraph) and graph.n_nodes > DENSE_REDUCIBLE:
        return graph, 0.0
    reduction = Reduction.of(graph)
    return reduction.graph, reduction.constant(graph)


def _largest_eigenvalue(graph: ExplicitGraph, dual: Vector, rng: np.random.Generator) -> float:
    """Return an upper bound of lambda_max(D^-1/2 W D^-1/2), D = Diag(dual)."""
    n, root = graph.n_nodes, 1.0 / np.sqrt(dual)
    if n <= FULL_SPECTRUM:
        matrix = graph.weights.toarray() if sp.issparse(graph.weights) else graph.weights.astype(np.float64)
        np.fill_diagonal(matrix, 0.0)
        matrix *= root[:, None] * root
        norm = float(np.abs(matrix).sum(axis=1).max())
        return float(scipy.linalg.eigvalsh(matrix, subset_by_index=[n - 1, n - 1])[0]) + 1e-13 * n * norm

    def negated(x: Vector) -> Vector:
        return -root * graph.matvec(root * x)

    values, vectors = smallest_eigenpairs(negated, n, 1, rng, LANCZOS_TOLERANCE)
    residual = float(np.linalg.norm(negated(vectors[:, 0]) - values[0] * vectors[:, 0]))
    return residual + 1e-6 - float(values[0])


def ceiling_bound(graph: ExplicitGraph, partition: Partition, value: float) -> float:
    """Return the bound sum_ij |w_ij|, as it stands beside a partition and its value."""
    total = float(graph.absolute_degrees().sum())
    return (
        value if meets_ceiling(graph, partition, value, total) else checked_bound(graph, value, total, is_ceiling=True)
    )


def meets_ceiling(graph: SignedGraph, partition: Partition, value: float, ceiling: float) -> bool:
    """Whether no edge is frustrated; edges are looked at only where the value is near sum_ij |w_ij|, the ceiling."""
    return value >= (1.0 - NEARLY) * ceiling and graph.is_satisfied(partition)


def checked_bound(graph: SignedGraph, value: float, bound: float, *, is_ceiling: bool = False) -> float:
    """Return a bound as it stands beside a value that is reached.

    That is the value itself where they agree, and infinity where the bound is refuted. A ceiling, which is met where no
    edge is frustrated, never agrees by rounding alone.
    """
    total, is_whole = float(graph.absolute_degrees().sum()), _are_whole(graph)
    rounding = 0.0 if is_whole and total < EXACT else SUM_ROUNDING * total
    if is_ceiling:
        bound += 3.0 * rounding
    if is_whole and total < WHOLE:
        bound = _rounded_down(graph, bound)
    if bound < value - rounding:
        return float("inf")
    return value if bound <= value + rounding else bound


def attainable(graph: SignedGraph, bound: float) -> float:
    """Return the largest value up to `bound` that b'Wb can have, where the weights are whole; else the bound."""
    is_exact = _are_whole(graph) and float(graph.absolute_degrees().sum()) < WHOLE
    return _rounded_down(graph, bound) if is_exact else bound


def _rounded_down(graph: SignedGraph, bound: float) -> float:
    if not np.isfinite(bound):
        return bound
    total, step = float(graph.matvec(np.ones(graph.n_nodes)).sum()), 4.0 * _common_divisor(graph)
    return total + step * float(np.floor((bound - total) / step + ROUNDING))


def _common_divisor(graph: SignedGraph) -> float:
    """Return the largest number that divides all weights, which are whole; 1 where finding it takes long."""
    if not isinstance(graph, SparseGraph):
        return 1.0
    return float(np.gcd.reduce(graph.weights.data.astype(np.int64), initial=0)) or 1.0


def _are_whole(graph: SignedGraph) -> bool:
    if not isinstance(graph, ExplicitGraph):
        return False
    return all(bool(np.all(block == np.rint(block))) for block in graph.weight_blocks())
