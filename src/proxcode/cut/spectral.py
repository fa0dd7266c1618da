"""Smallest eigenvectors of symmetric matrices that are given by their products with vectors."""

from collections.abc import Callable

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from numpy.typing import NDArray

from proxcode.cut.graph import SignedGraph, Vector

# Largest number of rows for which all eigenvectors are computed: cheaper than Lanczos' method, and always converges.
DENSE_LIMIT = 64


def smallest_eigenpairs(
    matvec: Callable[[Vector], Vector], n: int, k: int, rng: np.random.Generator, tolerance: float = 1e-6
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


def smallest_laplacian_eigenvectors(graph: SignedGraph, k: int, rng: np.random.Generator) -> NDArray[np.float64]:
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
