"""Graphs in the forms that users have them: matrices, networkx graphs, lists of edges.

1. An object with nodes and edges is read as a networkx graph.
2. A list of tuples (i, j) or (i, j, weight), or an array of shape (m, 3) with m other than 3, is a list of edges whose
   nodes are numbered from 0; a set or an iterator of tuples likewise.
3. Everything else must be a square matrix; the names of a pandas DataFrame are those of the nodes.

Repeated edges and edges with a direction follow the one rule of `proxcode.cut.symmetric`.
"""

import reprlib
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import suppress
from numbers import Complex, Real
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cut.graph import Edges, ExplicitGraph, SignedGraph, SparseGraph
from proxcode.cut.symmetric import Directed, check_directed, check_real, matrix_graph, undirected_weights

# Array, DataFrame, scipy.sparse matrix, networkx graph, list of edges or SignedGraph; most of them have no types.
GraphLike: TypeAlias = Any
# Range of the sum of all |w_ij| within which b'Wb and its changes stay finite and keep their digits.
LARGEST_SUM = float(np.finfo(np.float64).max) / 8
SMALLEST_SUM = 16 * float(np.finfo(np.float64).tiny)


def as_graph(W: GraphLike, directed: Directed | None = None) -> SignedGraph:
    """Convert a matrix, a networkx graph or a list of edges to a signed graph.

    Self-loops and the diagonal of a matrix are ignored. Edges repeated in the same direction are summed. An edge given
    in both directions with equal weights counts once; with different weights it is an error, unless `directed` says how
    to combine them.

    Parameters
    ----------
    W : array, DataFrame, scipy.sparse matrix, networkx graph, list of edges or SignedGraph
        - A square matrix of shape (n, n), symmetric up to rounding; (W + W.T) / 2 is used. An array of shape (3, 3) is
          a matrix: give three edges as a list of tuples. The names of a pandas DataFrame, whose index and columns must
          be equal, are those of the nodes. Masked arrays are refused: `W.filled(0)` turns masked pairs into no edges.
        - A networkx graph. The weight of an edge is its attribute `weight` or `sign`, `sign * |weight|` if it has both,
          and 1 if it has neither. Nodes are numbered in the order of `list(G)`.
        - Edges as a list, set or iterator of tuples (i, j, weight) or (i, j), of weight 1, or as an array of shape
          (m, 3). Nodes are numbered from 0.
        - A `SignedGraph` is returned as it is.
    directed : {"sum", "mean", "sign"} or None, default=None
        How the two directions of an edge, W[i, j] and W[j, i], are combined. "sum" adds them, "mean" averages the
        directions that are given (an entry of 0 in a matrix is not), "sign" adds the signs of the two directions and
        takes the sign of the result, so that ties drop out.

    Returns
    -------
    SignedGraph

    Examples
    --------
    >>> from proxcode.cut import as_graph
    >>> as_graph([(0, 1, 1.0), (1, 2, -1.0)]).n_nodes
    3
    >>> as_graph([(0, 1, 5.0), (1, 0, -2.0)], directed="mean").weights.toarray()
    array([[0. , 1.5],
           [1.5, 0. ]])
    """
    check_directed(directed)
    return _read(W, directed, _weight_of)


def sign_graph(G: GraphLike, directed: Directed | None = None) -> SparseGraph:
    """Return the graph of the signs of all weights; None combines two directions by "sign"."""
    check_directed(directed)
    graph = _read(G, directed or "sign", _sign_of)
    if not isinstance(graph, ExplicitGraph):
        raise ValueError(f"{type(graph).__name__} does not store its weights: pass a matrix or a list of edges")
    signs = SparseGraph(graph.weights.sign() if sp.issparse(graph.weights) else np.sign(graph.weights))
    signs.nodes = graph.nodes
    return signs


def listed(W: Any) -> Any:
    """Return a set or an iterator, which can be read only once, as a list; everything else as it is."""
    return list(W) if isinstance(W, Set | Iterator) else W


def check_unmasked(name: str, values: Any) -> None:
    """Raise TypeError for a masked array, whose mask would be lost."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array: pass {name}.filled(0), in which masked entries are 0")


def check_sum(graph: SignedGraph) -> None:
    """Raise ValueError for weights whose sums overflow or vanish."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(graph.absolute_degrees().sum())
    if not total <= LARGEST_SUM or 0 < total < SMALLEST_SUM:
        raise ValueError(
            f"the absolute weights add up to {total:g}: expected {SMALLEST_SUM:g} to {LARGEST_SUM:g}; divide all "
            "weights by the largest one"
        )


def as_number(u: Any, v: Any, weight: Any) -> float:
    """Return the weight of the edge (u, v) as a float."""
    try:
        if not isinstance(weight, Real) and (isinstance(weight, str | bytes | Complex) or np.ndim(weight)):
            raise TypeError
        return float(weight)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"edge ({u!r}, {v!r}) has weight {reprlib.repr(weight)}: expected a number that a float can hold"
        ) from None


def _read(W: Any, directed: Directed | None, weight_of: Callable[..., float]) -> SignedGraph:
    """Read a graph; `weight_of` returns the weight of an edge of a networkx graph from its ends and attributes."""
    if isinstance(W, SignedGraph):
        return W
    names, W = _names(W), _as_known_form(W)
    is_edge_array = isinstance(W, np.ndarray) and W.ndim == 2 and W.shape[1] == 3 and W.shape[0] != 3
    if _is_networkx(W) or isinstance(W, list) or is_edge_array:
        n, first, second, weight = _networkx_edges(W, weight_of) if _is_networkx(W) else _numbered_edges(W)
        symmetric = undirected_weights(n, first, second, weight, directed=directed, names=names)
        graph: SignedGraph = SparseGraph(symmetric)
    else:
        graph = matrix_graph(W, directed)
    graph.nodes = names
    check_sum(graph)
    return graph


def _is_networkx(W: Any) -> bool:
    return hasattr(W, "nodes") and hasattr(W, "edges") and hasattr(W, "is_directed")


def _as_known_form(W: Any) -> Any:
    """Return a networkx graph, a sparse matrix or a list of tuples as it is, everything else as an array."""
    W = listed(W)
    is_list_of_tuples = isinstance(W, list) and len(W) > 0 and all(isinstance(edge, tuple) for edge in W)
    if _is_networkx(W) or sp.issparse(W) or is_list_of_tuples:
        return W
    if isinstance(W, Mapping):
        raise TypeError("W is a dictionary: expected a matrix, a networkx graph or a list of tuples (i, j, weight)")
    check_unmasked("W", W)
    try:
        array = np.asarray(W)
    except ValueError:
        raise ValueError("W has rows of different lengths: expected a square matrix or tuples (i, j, weight)") from None
    if array.ndim == 0:
        expected = "a square matrix, a networkx graph or a list of tuples (i, j, weight)"
        raise TypeError(f"W is {reprlib.repr(W)}: expected {expected}")
    return array


def _names(W: Any) -> list[Any] | None:
    """Return the names of the nodes; None where they are numbers."""
    if _is_networkx(W):
        return list(W.nodes)
    is_frame = hasattr(W, "index") and hasattr(W, "columns") and getattr(W, "ndim", 0) == 2
    if not is_frame or W.shape[0] != W.shape[1]:
        return None
    rows, columns = list(W.index), list(W.columns)
    if rows != columns:
        raise ValueError(
            f"W has the index {reprlib.repr(rows)} but the columns {reprlib.repr(columns)}: expected the same names in "
            "the same order; or pass W.to_numpy()"
        )
    return rows


def _networkx_edges(G: Any, weight_of: Callable[..., float]) -> tuple[int, *Edges]:
    """Return the number of nodes, and the first node, the second node and the weight of each edge."""
    number = {node: i for i, node in enumerate(G.nodes)}
    if not number:
        raise ValueError("the graph has no nodes: expected at least one")
    edges = [(number[u], number[v], weight_of(u, v, attributes)) for u, v, attributes in G.edges(data=True)]
    first, second, weight = np.array(edges, np.float64).reshape(-1, 3).T
    if not G.is_directed():
        first, second = np.minimum(first, second), np.maximum(first, second)
    return len(number), first.astype(np.int64), second.astype(np.int64), weight


def _weight_of(u: Any, v: Any, attributes: Mapping[str, Any]) -> float:
    """Return the weight of an edge of a networkx graph: sign * |weight| if it has both."""
    if "weight" not in attributes:
        return as_number(u, v, attributes.get("sign", 1))
    weight = as_number(u, v, attributes["weight"])
    if "sign" not in attributes:
        return weight
    sign = float(np.sign(as_number(u, v, attributes["sign"])))
    if weight < 0 < sign:
        raise ValueError(f"edge ({u!r}, {v!r}) has weight {weight:g} but a positive sign: remove one of the two")
    return sign * abs(weight)


def _sign_of(u: Any, v: Any, attributes: Mapping[str, Any]) -> float:
    """Return the number whose sign is that of an edge of a networkx graph: `sign` if there is one, else `weight`."""
    return as_number(u, v, attributes.get("sign", attributes.get("weight", 1)))


def _numbered_edges(W: Any) -> tuple[int, *Edges]:
    """Return the number of nodes, and the first node, the second node and the weight of each edge."""
    edges = _tuples(W) if isinstance(W, list) else W
    check_real(edges)
    if len(edges) == 0:
        raise ValueError("W has no nodes: expected at least one edge, or a matrix")
    nodes, weight = edges[:, :2].astype(np.float64), edges[:, 2].astype(np.float64)
    if (wrong := ~((nodes >= 0) & (nodes < np.inf) & (nodes == np.rint(nodes)))).any():
        raise ValueError(f"an edge has the node {nodes[wrong][0]:g}: expected nodes numbered by integers from 0 on")
    if (largest := float(nodes.max())) >= 100 * len(edges) + 1_000_000:
        raise ValueError(
            f"an edge has the node {largest:.0f}, but there are only {len(edges)} edges: number the nodes from 0 on"
        )
    first, second = nodes.astype(np.int64).T
    return int(largest) + 1, first, second, weight


def _tuples(edges: list[tuple[Any, ...]]) -> NDArray[Any]:
    """Return edges as an array of shape (m, 3)."""
    for edge in edges:
        if len(edge) not in (2, 3):
            raise ValueError(f"W holds {reprlib.repr(edge)}: expected tuples (i, j) or (i, j, weight)")
    full = [edge if len(edge) == 3 else (*edge, 1) for edge in edges]
    # Conversion of all numbers at once is much faster than a check of each.
    with suppress(ValueError):
        numbers = np.array(full)
        if numbers.dtype.kind in "biuf":
            return numbers
    for u, v, weight in full:
        for node in (u, v):
            if not isinstance(node, int | float | np.integer | np.floating):
                raise ValueError(
                    f"edge ({u!r}, {v!r}) has the node {node!r}: number the nodes 0..n-1, or use a networkx graph"
                )
        as_number(u, v, weight)
    try:
        return np.array(full, np.float64)
    except OverflowError:
        raise ValueError("an edge has a node larger than a float can hold: number the nodes from 0 on") from None
