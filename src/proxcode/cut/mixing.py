"""The semidefinite relaxation at low rank: maximise sum_ij w_ij v_i'v_j over unit vectors v_i.

Mixing method (Wang, Chang, Kolter): node by node, v_i <- sum_j w_ij v_j, normalised, which never decreases the sum.
At convergence y_i = |sum_j w_ij v_j| solves the dual: Diag(y) - W is positive semidefinite and sum_i y_i is the
relaxation's value, which no partition exceeds.
"""

import time

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cut._kernels import mix_sparse
from proxcode.cut.graph import ExplicitGraph, SignedGraph, Vector
from proxcode.cut.spectral import diagonal_shift
from proxcode.utils.validation import check_whole

Vectors = NDArray[np.float64]
# Range of the largest |w_ij| within which squares of weights neither overflow nor vanish.
SQUARED = (1e-100, 1e100)
# Smallest exponent of a power of two that weights are divided by; the inverse of 2^-1000 is finite.
LEAST_EXPONENT = -1000


def mix(
    graph: ExplicitGraph,
    rank: int | None,
    max_iter: int,
    tolerance: float,
    rng: np.random.Generator,
    time_limit: float | None = None,
) -> tuple[Vectors, Vector]:
    """Return unit vectors, one per row, and the dual y of explicit weights that can be squared (`scaled`).

    Stops when a sweep gains less than `tolerance` of the sum, or after the first sweep beyond `time_limit` seconds.
    """
    check_whole("max_iter", max_iter, 1)
    deadline = float("inf") if time_limit is None else time.perf_counter() + time_limit
    n = graph.n_nodes
    rows = sp.csr_array(graph.weights) if isinstance(graph.weights, np.ndarray) else graph.weights
    if rows.diagonal().any():
        rows = (rows - sp.diags_array(rows.diagonal())).tocsr()
    vectors, norms = unit_rows(rng.standard_normal((n, _rank(rank, n)))), np.zeros(n)
    for _ in range(max_iter):
        gain = mix_sparse(rows.indptr, rows.indices, rows.data, vectors, norms)
        if gain <= tolerance * norms.sum() or time.perf_counter() > deadline:
            break
    return vectors, norms


def scaled(graph: ExplicitGraph) -> tuple[ExplicitGraph, float]:
    """Return a graph whose weights can be squared, and the power of two that the weights were divided by."""
    largest = max(float(np.abs(block).max(initial=0.0)) for block in graph.weight_blocks())
    if largest == 0.0 or SQUARED[0] < largest < SQUARED[1]:
        return graph, 1.0
    unit = float(np.ldexp(1.0, max(int(np.frexp(largest)[1]), LEAST_EXPONENT)))
    return type(graph)(graph.weights / unit), unit


def shifted_vectors(
    graph: SignedGraph, rank: int | None, max_iter: int, tolerance: float, rng: np.random.Generator
) -> Vectors:
    """Return unit vectors by products with W alone: all nodes at once, the normalised rows of (W + shift I) V."""
    check_whole("max_iter", max_iter, 1)
    vectors = unit_rows(rng.standard_normal((graph.n_nodes, _rank(rank, graph.n_nodes))))
    shift = diagonal_shift(graph)
    value = -np.inf
    for _ in range(max_iter):
        product = np.column_stack([graph.matvec(column) for column in np.ascontiguousarray(vectors.T)])
        previous, value = value, float((product * vectors).sum())
        if value - previous <= tolerance * abs(value):
            break
        vectors = unit_rows(product + shift * vectors)
    return vectors


def _rank(rank: int | None, n: int) -> int:
    """Return the given rank; for None the one from which on almost all W have no spurious local maxima."""
    if rank is None:
        return int(np.ceil(np.sqrt(2 * n))) + 1
    return check_whole("rank", rank, 1)


def unit_rows(vectors: Vectors) -> Vectors:
    """Return the rows scaled to length 1; rows of zeros are not changed."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1.0)
