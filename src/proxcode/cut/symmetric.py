"""Symmetric weights of lists of edges and of square matrices.

One rule for repeated edges, shared by Python objects (`as_graph`) and files (`read_graph`):

1. Self-loops and the diagonal are ignored: they add a constant to b'Wb.
2. Edges repeated in the same direction are summed.
3. An edge given in one direction only, or in both with equal weights, counts once. A matrix gives both directions.
4. An edge whose two directions have different weights is an error, unless `directed` says how to combine them.
"""

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cut.graph import DenseGraph, SparseGraph, Vector, row_blocks

Directed = Literal["sum", "mean", "sign"]
# Relative difference up to which the weights of an edge's two directions count as equal, by their precision.
ASYMMETRY = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-10}
# The same for entries of a matrix that are sums: multiple of the machine epsilon, relative to the largest entry.
ROUNDING_UNITS = 8.0
REMEDY = 'pass directed="sum", "mean" or "sign" to combine the directions'


def check_directed(directed: object) -> None:
    """Raise ValueError unless `directed` is None or names a way to combine two directions."""
    if directed not in (None, "sum", "mean", "sign"):
        raise ValueError(f'directed={directed!r}: expected "sum", "mean", "sign" or None')


def undirected_weights(
    n: int, first: NDArray[Any], second: NDArray[Any], weight: Vector, *, directed: Directed | None, names: Any = None
) -> Any:
    """Return the symmetric weights, as a scipy.sparse.csr_array, of edges between nodes 0 to n - 1.

    `names` are the names of the nodes for error messages. None: their numbers.
    """
    check_directed(directed)
    names = range(n) if names is None else names
    if (wrong := np.flatnonzero(~np.isfinite(weight))).size:
        raise _not_finite(names[first[wrong[0]]], names[second[wrong[0]]], weight[wrong[0]])
    is_edge = first != second
    first, second, weight = first[is_edge].astype(np.int64), second[is_edge].astype(np.int64), weight[is_edge]
    pairs, pair = np.unique(np.minimum(first, second) * n + np.maximum(first, second), return_inverse=True)
    low, high, is_forward = pairs // n, pairs % n, first < second
    there, back = pair[is_forward], pair[~is_forward]
    forward = np.bincount(there, weight[is_forward], len(pairs))
    backward = np.bincount(back, weight[~is_forward], len(pairs))
    has_both = (np.bincount(there, minlength=len(pairs)) > 0) & (np.bincount(back, minlength=len(pairs)) > 0)
    if directed is None:
        equal = np.isclose(forward, backward, rtol=ASYMMETRY[np.dtype(np.float64)], atol=0)
        if (differs := np.flatnonzero(has_both & ~equal)).size:
            k = differs[0]
            raise _different_weights(names[low[k]], names[high[k]], forward[k], backward[k])
    upper = sp.coo_array((_combined(forward, backward, has_both, directed), (low, high)), shape=(n, n)).tocsr()
    return (upper + upper.T).tocsr()


def matrix_graph(W: Any, directed: Directed | None = None) -> DenseGraph | SparseGraph:
    """Return the graph of a square array or scipy.sparse matrix; see `as_graph` for `directed`."""
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise ValueError(f"W has shape {W.shape}: expected a square matrix or a list of edges of shape (m, 3)")
    if W.shape[0] == 0:
        raise ValueError("W has no nodes: expected at least one")
    check_real(W)
    return _sparse_graph(W, directed) if sp.issparse(W) else DenseGraph(_symmetric_array(W, directed))


def check_real(W: Any) -> None:
    """Raise ValueError unless an array or scipy.sparse matrix holds real numbers."""
    if W.dtype.kind not in "biuf":
        raise ValueError(f"W has dtype {W.dtype}: expected real numbers, as made by W.astype(float)")


def _sparse_graph(W: Any, directed: Directed | None) -> SparseGraph:
    graph = SparseGraph(W)
    weights, entries = graph.weights, graph.weights.tocoo()
    if directed is not None:
        symmetric = undirected_weights(graph.n_nodes, entries.row, entries.col, entries.data, directed=directed)
        return SparseGraph(symmetric)
    if not (is_finite := np.isfinite(entries.data)).all():
        entry = int(np.argmin(is_finite))
        raise _not_finite(entries.row[entry], entries.col[entry], entries.data[entry])
    difference, size = abs(weights - weights.T), abs(weights)
    if not difference.nnz:
        return graph
    relative, rounding = _tolerances(W.dtype)
    excess = (difference - relative * size.maximum(size.T)).tocoo()
    if excess.max() > rounding * float(size.max()):
        worst = int(np.argmax(excess.data))
        raise _not_symmetric(weights, int(excess.row[worst]), int(excess.col[worst]))
    return SparseGraph(_symmetrised(weights))


def _symmetric_array(W: NDArray[Any], directed: Directed | None) -> NDArray[Any]:
    """Compare blocks of rows with blocks of columns: no second array of W's size is made, unless W is asymmetric."""
    if W.dtype not in ASYMMETRY:
        W = W.astype(np.float64)
    relative, rounding = _tolerances(W.dtype)
    largest, excess, worst, is_symmetric = 0.0, 0.0, (0, 0), True
    for rows in row_blocks(len(W)):
        block, mirrored = W[rows], W[:, rows].T
        if not (is_finite := np.isfinite(block)).all():
            i, j = np.unravel_index(np.argmin(is_finite), block.shape)
            raise _not_finite(rows.start + i, j, block[i, j])
        with np.errstate(over="ignore"):
            between = np.abs(block - mirrored)
        if between.any():
            is_symmetric = False
            above = between - relative * np.maximum(np.abs(block), np.abs(mirrored))
            if above.max() > excess:
                i, j = np.unravel_index(np.argmax(above), above.shape)
                excess, worst = float(above[i, j]), (rows.start + int(i), int(j))
        largest = max(largest, float(np.abs(block).max()))
    if directed is not None:
        return _combined(W, W.T, (W != 0) & (W.T != 0), directed)
    if excess > rounding * largest:
        raise _not_symmetric(W, *worst)
    return W if is_symmetric else _symmetrised(W)


def _tolerances(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Return the differences that count as rounding: relative to an entry, and to the largest entry."""
    kind = dtype if dtype in ASYMMETRY else np.dtype(np.float64)
    return ASYMMETRY[kind], ROUNDING_UNITS * float(np.finfo(kind).eps)


def _symmetrised(W: Any) -> Any:
    """Return (W + W.T) / 2; sums that overflow are refused by `check_sum`."""
    with np.errstate(over="ignore"):
        mean = W + W.T
    mean /= 2
    return mean


def _not_symmetric(W: Any, i: int, j: int) -> ValueError:
    error = f"W must be symmetric; {_different_weights(i, j, W[i, j], W[j, i])}"
    return ValueError(error + ("; or give three edges as a list of tuples" if W.shape == (3, 3) else ""))


def _combined(forward: Any, backward: Any, has_both: NDArray[np.bool_], directed: Directed | None) -> NDArray[Any]:
    """Combine the weights of the two directions of edges; the weight of a direction that is not given is 0."""
    if directed == "sign":
        return np.sign(np.sign(forward) + np.sign(backward))
    with np.errstate(over="ignore"):
        total = forward + backward
    if directed == "sum":
        return total
    both = 0.5 * total if directed == "mean" else forward
    return np.where(has_both, both, total).astype(total.dtype, copy=False)


def _not_finite(u: object, v: object, weight: object) -> ValueError:
    """Return the error for a weight that is NaN or infinite."""
    return ValueError(f"edge ({u}, {v}) has weight {weight}: expected a finite number; leave unknown edges out")


def _different_weights(u: object, v: object, forward: float, backward: float) -> ValueError:
    """Return the error for an edge whose two directions have different weights."""
    return ValueError(f"edge ({u}, {v}) has weight {forward:g}, but {backward:g} in the opposite direction: {REMEDY}")
