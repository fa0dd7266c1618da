"""Square matrices of weights: symmetric up to rounding, or with directions that are combined."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cut.edges import Directed, different_weights, not_finite, undirected_array, undirected_weights
from proxcode.cut.graph import DenseGraph, SparseGraph, row_blocks

# Relative difference up to which an entry of a matrix equals its mirror image, by the precision of the entries.
ASYMMETRY = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-10}
# The same for entries that are sums: multiple of the machine epsilon, relative to the largest entry.
ROUNDING_UNITS = 8.0


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
        raise not_finite(entries.row[entry], entries.col[entry], entries.data[entry])
    difference, size = abs(weights - weights.T), abs(weights)
    if not difference.nnz:
        return graph
    excess = (difference - _asymmetry(W.dtype) * size.maximum(size.T)).tocoo()
    if excess.max() > _rounding(W.dtype) * float(size.max()):
        worst = int(np.argmax(excess.data))
        raise _not_symmetric(weights, int(excess.row[worst]), int(excess.col[worst]))
    return SparseGraph(_symmetrised(weights))


def _symmetric_array(W: NDArray[Any], directed: Directed | None) -> NDArray[Any]:
    """Compare blocks of rows with blocks of columns: no second array of W's size is made, unless W is asymmetric."""
    if W.dtype not in ASYMMETRY:
        W = W.astype(np.float64)
    largest, excess, worst, is_symmetric = 0.0, 0.0, (0, 0), True
    for rows in row_blocks(len(W)):
        block, mirrored = W[rows], W[:, rows].T
        if not (is_finite := np.isfinite(block)).all():
            i, j = np.unravel_index(np.argmin(is_finite), block.shape)
            raise not_finite(rows.start + i, j, block[i, j])
        with np.errstate(over="ignore"):
            between = np.abs(block - mirrored)
        if between.any():
            is_symmetric = False
            above = between - _asymmetry(W.dtype) * np.maximum(np.abs(block), np.abs(mirrored))
            if above.max() > excess:
                i, j = np.unravel_index(np.argmax(above), above.shape)
                excess, worst = float(above[i, j]), (rows.start + int(i), int(j))
        largest = max(largest, float(np.abs(block).max()))
    if directed is not None:
        return undirected_array(W, directed)
    if excess > _rounding(W.dtype) * largest:
        raise _not_symmetric(W, *worst)
    return W if is_symmetric else _symmetrised(W)


def _asymmetry(dtype: np.dtype[Any]) -> float:
    return ASYMMETRY.get(dtype, ASYMMETRY[np.dtype(np.float64)])


def _rounding(dtype: np.dtype[Any]) -> float:
    return ROUNDING_UNITS * float(np.finfo(np.float32 if dtype == np.float32 else np.float64).eps)


def _symmetrised(W: Any) -> Any:
    """Return (W + W.T) / 2; sums that overflow are refused by `check_sum`."""
    with np.errstate(over="ignore"):
        mean = W + W.T
    mean /= 2
    return mean


def _not_symmetric(W: Any, i: int, j: int) -> ValueError:
    error = f"W must be symmetric; {different_weights(i, j, W[i, j], W[j, i])}"
    return ValueError(error + ("; or give three edges as a list of tuples" if W.shape == (3, 3) else ""))
