"""Spectral and semidefinite relaxations of the cut.

Smallest eigenvectors are computed of symmetric matrices that are given by their products with vectors.

The semidefinite relaxation maximises sum_ij w_ij v_i'v_j over unit vectors v_i of low rank by the mixing method (Wang,
Chang, Kolter): node by node, v_i <- sum_j w_ij v_j, normalised, which never decreases the sum. At convergence
y_i = |sum_j w_ij v_j| solves the dual: Diag(y) - W is positive semidefinite and sum_i y_i is the relaxation's value,
which no partition exceeds.

The bilinear relaxation (Alon, Naor) has two unit vectors u_i and v_i for each node and maximises sum_ij w_ij u_i'v_j.
"""

import time
from collections.abc import Callable

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg
from numpy.random import Generator
from numpy.typing import NDArray

from proxcode.cut._kernels import mix_sparse
from proxcode.cut.graph import DenseGraph, ExplicitGraph, SignedGraph, SparseGraph, Vector
from proxcode.utils.validation import check_integer

Vectors = NDArray[np.float64]
# Largest number of rows for which all eigenvectors are computed: cheaper than Lanczos' method, and always converges.
DENSE_LIMIT = 64
# Range of the largest |w_ij| within which squares of weights neither overflow nor vanish.
SQUARED = (1e-100, 1e100)
# Smallest exponent of a power of two that weights are divided by; the inverse of 2^-1000 is finite.
LEAST_EXPONENT = -1000


def smallest_eigenpairs(
    matvec: Callable[[Vector], Vector], n: int, k: int, rng: Generator, tolerance: float = 1e-6
) -> tuple[Vector, NDArray[np.float64]]:
    """Return the k smallest eigenvalues of a symmetric operator, ascending, and their eigenvectors as columns."""
    if n <= max(DENSE_LIMIT, 2 * k):
        matrix = np.column_stack([matvec(column) for column in np.eye(n)])
        values, vectors = scipy.linalg.eigh(0.5 * (matrix + matrix.T))
        return values[:k], vectors[:, :k]
    start = rng.standard_normal(n)
    scale = float(np.abs(matvec(start)).max())
    # Without weights every vector is an eigenvector.
    if scale == 0.0:
        return np.zeros(k), np.linalg.qr(rng.standard_normal((n, k)))[0]
    # Lanczos' method stops by an absolute measure, so the operator is scaled to unit size.
    operator = scipy.sparse.linalg.LinearOperator(
        (n, n), matvec=lambda x: matvec(np.ravel(x)) / scale, dtype=np.float64
    )
    values, vectors = scipy.sparse.linalg.eigsh(operator, k=k, which="SA", v0=start, tol=tolerance, maxiter=50 * n)
    order = np.argsort(values)
    return scale * values[order], vectors[:, order]


def diagonal_shift(graph: SignedGraph) -> float:
    """Return a shift that makes W positive semidefinite (Theorem 3): |lambda_min|, rounded up.

    Lanczos' method approaches lambda_min from above; the norm of its residual bounds the distance of the nearest
    eigenvalue from the estimate, and is added. A Gershgorin bound would be safe too, but so large that no step of the
    vector update would change anything. The shift is cached in the graph for later starts; it does not depend on the
    caller's random numbers.
    """
    if graph.shift is None:
        values, vectors = smallest_eigenpairs(graph.matvec, graph.n_nodes, 1, np.random.default_rng(0))
        rest = graph.matvec(vectors[:, 0]) - values[0] * vectors[:, 0]
        # Squares of the largest weights would overflow.
        unit = float(np.abs(rest).max()) or 1.0
        residual = unit * float(np.linalg.norm(rest / unit))
        graph.shift = float(max(0.0, -values[0]) + residual + 1e-9 * abs(values[0]))
    return graph.shift


def smallest_laplacian_eigenvectors(graph: SignedGraph, k: int, rng: Generator) -> NDArray[np.float64]:
    """Return the k smallest non-trivial eigenvectors of L = D - W, as columns.

    The constant vector is an eigenvector of L with eigenvalue 0. With signed weights other eigenvalues may be negative,
    so that it is not always the smallest one: it is moved to the top of the spectrum instead.
    """
    n = graph.n_nodes
    degrees = graph.matvec(np.ones(n))
    # No eigenvalue of L is larger.
    top = 2.0 * graph.absolute_degrees().max()

    def laplacian(x: Vector) -> Vector:
        return degrees * x - graph.matvec(x) + top * x.mean()

    return smallest_eigenpairs(laplacian, n, min(k, n), rng)[1]


def mix(
    graph: ExplicitGraph,
    rank: int | None,
    max_iter: int,
    tolerance: float,
    rng: Generator,
    time_limit: float | None = None,
) -> tuple[Vectors, Vector]:
    """Return unit vectors, one per row, and the dual y of explicit weights that can be squared (`scaled`).

    Stops when a sweep gains less than `tolerance` of the sum, or after the first sweep beyond `time_limit` seconds.
    """
    check_integer("max_iter", max_iter, 1)
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


def shifted_vectors(graph: SignedGraph, rank: int | None, max_iter: int, tolerance: float, rng: Generator) -> Vectors:
    """Return unit vectors by products with W alone: all nodes at once, the normalised rows of (W + shift I) V."""
    check_integer("max_iter", max_iter, 1)
    vectors = unit_rows(rng.standard_normal((graph.n_nodes, _rank(rank, graph.n_nodes))))
    shift = diagonal_shift(graph)
    value = -np.inf
    for _ in range(max_iter):
        product = _product(graph, vectors)
        previous, value = value, float((product * vectors).sum())
        if value - previous <= tolerance * abs(value):
            break
        vectors = unit_rows(product + shift * vectors)
    return vectors


def bilinear_vectors(
    graph: SignedGraph, rank: int | None, max_iter: int, tolerance: float, rng: Generator
) -> tuple[Vectors, Vectors, float]:
    """Return unit vectors u_i and v_j, as rows, that maximise sum_ij w_ij u_i'v_j, and this sum.

    Alternately all u_i <- sum_j w_ij v_j and all v_j <- sum_i w_ij u_i, normalised: each step is the maximum given the
    other vectors. A sum of zero leaves its vector unchanged.
    """
    check_integer("max_iter", max_iter, 1)
    # Weights that are not stored cannot be scaled.
    graph, unit = scaled(graph) if isinstance(graph, ExplicitGraph) else (graph, 1.0)
    shape = graph.n_nodes, _rank(rank, 2 * graph.n_nodes)
    left, right = unit_rows(rng.standard_normal(shape)), unit_rows(rng.standard_normal(shape))
    value = -np.inf
    for _ in range(max_iter):
        left = unit_rows(_product(graph, right), left)
        sums = _product(graph, left)
        right = unit_rows(sums, right)
        previous, value = value, float((sums * right).sum())
        if value - previous <= tolerance * abs(value):
            break
    return left, right, unit * value


def _product(graph: SignedGraph, vectors: Vectors) -> Vectors:
    """Return W times the vectors."""
    if isinstance(graph, SparseGraph):
        return np.asarray(graph.weights @ vectors)
    # Single precision would be converted as a whole.
    if isinstance(graph, DenseGraph) and graph.weights.dtype == np.float64:
        return np.asarray(graph.weights @ vectors - graph.diagonal[:, None] * vectors)
    return np.column_stack([graph.matvec(column) for column in np.ascontiguousarray(vectors.T)])


def _rank(rank: int | None, n: int) -> int:
    """Return the given rank; for None the one from which on almost all W have no spurious local maxima."""
    if rank is None:
        return int(np.ceil(np.sqrt(2 * n))) + 1
    return check_integer("rank", rank, 1)


def unit_rows(vectors: Vectors, otherwise: Vectors | None = None) -> Vectors:
    """Return the rows scaled to length 1; rows of zeros are not changed, or replaced by those of `otherwise`."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors / np.where(norms > 0, norms, 1.0)
    return units if otherwise is None else np.where(norms > 0, units, otherwise)
