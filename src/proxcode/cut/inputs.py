"""Graphs as people have them: matrices, networkx graphs, lists of edges.

1. what has nodes and edges is read as a networkx graph,
2. an m x 3 array, or a list of tuples, is a list of edges (i, j, weight), points counted from 0,
3. everything else must be a symmetric matrix.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cut.graph import DenseGraph, Edges, SignedGraph, SparseGraph, row_blocks, sparse_graph

LARGEST = float(np.finfo(np.float64).max) / 8  # b'Wb and its changes stay finite below


def as_graph(W: Any) -> SignedGraph:
    """Make a graph of what describes one, or say why it does not.

    Parameters
    ----------
    W : array, scipy.sparse matrix, networkx graph, list of edges or SignedGraph
        A symmetric matrix of shape (n, n), its diagonal ignored; a networkx graph, whose edges have a number `weight`
        or `sign` (1 where they have neither) and whose points are numbered in the order of `list(G)`; or edges as an
        array of shape (m, 3) or a list of tuples (i, j, weight). Edges given several times, or in both directions, are
        summed. An array of shape (3, 3) is a matrix: give three edges as a list of tuples.

    Examples
    --------
    >>> from proxcode.cut import as_graph
    >>> as_graph([(0, 1, 1.0), (1, 2, -1.0)]).n_points
    3
    """
    if isinstance(W, SignedGraph):
        return W
    if _is_edge_list(W) or _is_networkx(W):
        return sparse_graph(*_checked_edges(W))
    W = W if sp.issparse(W) else np.asarray(W)
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise ValueError(f"W must be a square matrix of weights or an m x 3 list of edges; got shape {W.shape}.")
    if W.shape[0] == 0:
        raise ValueError("W has no points: give at least one.")
    _check_real(W)
    graph = SparseGraph(_checked_sparse(W)) if sp.issparse(W) else DenseGraph(_checked_dense(W))
    _check_sum(graph)
    return graph


def sign_graph(G: Any) -> SparseGraph:
    """Return the graph of the signs alone: +1 and -1 summed over parallel edges, then their sign; ties drop out."""
    if _is_edge_list(G) or _is_networkx(G):
        n, first, second, weight = _checked_edges(G)
        summed = sparse_graph(n, first, second, np.sign(weight))
    else:
        graph = as_graph(G)
        summed = sparse_graph(graph.n_points, *graph.edges())
    summed.weights.data = np.sign(summed.weights.data)
    return summed


def _is_networkx(W: Any) -> bool:
    return hasattr(W, "nodes") and hasattr(W, "edges") and hasattr(W, "is_directed")


def _is_edge_list(W: Any) -> bool:
    if isinstance(W, list):
        return len(W) > 0 and all(isinstance(edge, tuple) and len(edge) == 3 for edge in W)
    return isinstance(W, np.ndarray) and W.ndim == 2 and W.shape[1] == 3 and W.shape[0] != 3


def _checked_edges(W: Any) -> tuple[int, *Edges]:
    """Return the number of points, and first point, second point and weight of each edge."""
    if _is_networkx(W):
        return _networkx_edges(W)
    edges = np.asarray(W)
    _check_real(edges)
    points, weight = edges[:, :2], edges[:, 2].astype(np.float64)
    if len(edges) == 0:
        raise ValueError("W has no points: give at least one edge, or a matrix.")
    if not (np.isfinite(points.astype(np.float64)).all() and (points >= 0).all() and (points % 1 == 0).all()):
        raise ValueError("edges must name their points by whole numbers from 0 on in their first two columns.")
    points = points.astype(np.int64)
    _check_finite(weight)
    n = int(points.max()) + 1
    if n > 100 * len(edges) + 1_000_000:
        raise ValueError(f"an edge names point {n - 1}, but there are {len(edges)} edges: number points from 0 on.")
    return n, points[:, 0], points[:, 1], weight


def _networkx_edges(G: Any) -> tuple[int, *Edges]:
    number = {node: i for i, node in enumerate(G.nodes)}
    if not number:
        raise ValueError("the graph has no points: give at least one.")
    first, second, weights = [], [], []
    for u, v, attributes in G.edges(data=True):
        weight = attributes.get("weight", attributes.get("sign", 1))
        if isinstance(weight, str) or not np.isreal(weight):
            raise ValueError(f"edge ({u!r}, {v!r}) has weight {weight!r}: `weight` or `sign` must be a number.")
        first.append(number[u])
        second.append(number[v])
        weights.append(float(weight))
    weight_array = np.array(weights, np.float64)
    _check_finite(weight_array)
    return len(number), np.array(first, np.int64), np.array(second, np.int64), weight_array


def _check_real(W: Any) -> None:
    if W.dtype.kind not in "biuf":
        raise ValueError(f"W must hold real numbers; got dtype {W.dtype}.")


def _check_finite(weight: NDArray[Any]) -> None:
    if not np.isfinite(weight).all():
        raise ValueError("W has NaN or infinite weights: set unknown pairs to 0.")


def _check_sum(graph: SignedGraph) -> None:
    with np.errstate(over="ignore"):
        total = graph.absolute_degrees().sum()
    if total > LARGEST:
        raise ValueError(f"the weights add up to {total:g}, more than {LARGEST:g}: divide W by its largest weight.")


def _checked_sparse(W: Any) -> Any:
    W = sp.csr_array(W, dtype=np.float64)
    _check_finite(W.data)
    if W.nnz:
        _check_difference(float(abs(W - W.T).max()), float(abs(W).max()))
    return W


def _checked_dense(W: NDArray[Any]) -> NDArray[Any]:
    """Check row blocks against column blocks: no second array of W's size."""
    if W.dtype not in (np.float32, np.float64):
        W = W.astype(np.float64)
    largest, difference = 0.0, 0.0
    for rows in row_blocks(len(W)):
        block = W[rows]
        _check_finite(block)
        largest = max(largest, float(np.abs(block).max()))
        with np.errstate(over="ignore"):
            difference = max(difference, float(np.abs(block - W[:, rows].T).max()))
    _check_difference(difference, largest, 1e-5 if W.dtype == np.float32 else 1e-10)
    return W


def _check_difference(difference: float, largest: float, tolerance: float = 1e-10) -> None:
    if difference > tolerance * largest:
        raise ValueError(f"W must be symmetric; W and W.T differ by up to {difference:g}: use (W + W.T) / 2.")
