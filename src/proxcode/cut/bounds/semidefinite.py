"""The semidefinite bound: b'Wb <= lambda sum_i y_i wherever lambda Diag(y) - W is positive semidefinite.

1. Reduce the graph.
2. Compute y by the mixing method.
3. Compute the factor lambda that makes the matrix positive semidefinite, whether or not the mixing method converged.
"""

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.random import Generator

from proxcode.cut.annealing.reduction import Reduction
from proxcode.cut.annealing.tuning import TUNING
from proxcode.cut.bounds.base import UpperBound
from proxcode.cut.graph import DenseGraph, ExplicitGraph, Vector
from proxcode.cut.relaxation import mix, scaled, smallest_eigenpairs
from proxcode.cut.result import Partition

# Largest number of nodes for which the eigenvalue is computed by a full decomposition.
FULL_SPECTRUM = 1500
# Relative accuracy of Lanczos' method, low because the largest eigenvalues crowd together; the residual is added to the
# bound.
LANCZOS_TOLERANCE = 1e-5
# Margin of an eigenvalue by Lanczos' method, in addition to its residual.
LANCZOS_MARGIN = 1e-6
# Margin of an eigenvalue by a full decomposition, per node and relative to the norm of the matrix.
DECOMPOSITION_MARGIN = 1e-13
# Smallest entry of y, relative to its mean: the matrix is scaled by 1 / sqrt(y).
SMALLEST_DUAL = 1e-6


class SemidefiniteBound(UpperBound):
    """The dual of the semidefinite relaxation on the reduced graph, made feasible by a factor.

    With y from the mixing method, D = Diag(y) and lambda = lambda_max(D^-1/2 W D^-1/2), the matrix lambda D - W is
    positive semidefinite, and no b'Wb exceeds lambda sum y. Up to 1,500 nodes lambda is computed by a full
    decomposition, with a margin of 1e-13 n times the norm of the matrix for rounding errors: the bound is proved,
    whether or not the mixing method has converged. On larger graphs lambda is computed by Lanczos' method, with its
    residual plus 1e-6 as the margin: the bound is proved provided that the method has found the largest eigenvalue,
    which it misses from a random start with very small probability only.

    Parameters
    ----------
    rank : int, default=None
        Dimension of the vectors of the mixing method. None: ceil(sqrt(2 n)) + 1. A smaller rank is faster and gives a
        weaker, but still proved bound.
    max_iter : int, default=2000
        Largest number of sweeps of the mixing method.
    tolerance : float, default=1e-7
        Relative gain of a sweep below which the mixing method stops.
    """

    def __init__(self, rank: int | None = None, max_iter: int = 2000, tolerance: float = 1e-7) -> None:
        self.rank = rank
        self.max_iter = max_iter
        self.tolerance = tolerance

    def bound(
        self, graph: ExplicitGraph, partition: Partition, rng: Generator, time_limit: float | None = None
    ) -> float:
        """Return the bound; the clock is checked between sweeps of the mixing method."""
        graph, unit = scaled(graph)
        left, constant = _reduced(graph)
        if left is None:
            return unit * constant
        dual = mix(left, self.rank, self.max_iter, self.tolerance, rng, time_limit)[1]
        # Vectors of a low rank may cancel everywhere.
        if not dual.any():
            dual = left.absolute_degrees()
        if not dual.any():
            return unit * constant
        dual = np.maximum(dual, SMALLEST_DUAL * dual.mean())
        return unit * (constant + float(dual.sum()) * _largest_eigenvalue(left, dual, rng))


def _reduced(graph: ExplicitGraph) -> tuple[ExplicitGraph | None, float]:
    """Return the reduced graph and its constant; a large dense graph, whose list of edges is long, is not reduced."""
    if isinstance(graph, DenseGraph) and graph.n_nodes > TUNING.dense_reducible:
        return graph, 0.0
    reduction = Reduction.of(graph)
    return reduction.graph, reduction.constant(graph)


def _largest_eigenvalue(graph: ExplicitGraph, dual: Vector, rng: Generator) -> float:
    """Return an upper bound of lambda_max(D^-1/2 W D^-1/2), D = Diag(dual)."""
    n, root = graph.n_nodes, 1.0 / np.sqrt(dual)
    if n <= FULL_SPECTRUM:
        matrix = graph.weights.toarray() if sp.issparse(graph.weights) else graph.weights.astype(np.float64)
        np.fill_diagonal(matrix, 0.0)
        matrix *= root[:, None] * root
        norm = float(np.abs(matrix).sum(axis=1).max())
        largest = float(scipy.linalg.eigvalsh(matrix, subset_by_index=[n - 1, n - 1])[0])
        return largest + DECOMPOSITION_MARGIN * n * norm

    def negated(x: Vector) -> Vector:
        return -root * graph.matvec(root * x)

    values, vectors = smallest_eigenpairs(negated, n, 1, rng, LANCZOS_TOLERANCE)
    residual = float(np.linalg.norm(negated(vectors[:, 0]) - values[0] * vectors[:, 0]))
    return residual + LANCZOS_MARGIN - float(values[0])
