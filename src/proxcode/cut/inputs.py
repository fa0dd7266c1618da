"""Graphs as people have them: matrices, networkx graphs, lists of edges.

1. what has nodes and edges is read as a networkx graph,
2. a list of tuples (i, j) or (i, j, weight), or m x 3 numbers with m other than 3, is a list of edges, points counted
   from 0; so is a set of tuples, or what yields them,
3. everything else must be a symmetric matrix, of which a pandas DataFrame names the points.
"""

import reprlib
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import suppress
from functools import cached_property, partial
from numbers import Complex, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cut.graph import DenseGraph, Edges, ExplicitGraph, SignedGraph, SparseGraph, row_blocks, sparse_graph

LARGEST = float(np.finfo(np.float64).max) / 8  # b'Wb and its changes stay finite below
SMALLEST = 16 * float(np.finfo(np.float64).tiny)  # and keep their digits above


class Unread:
    """A graph that is read when it is first looked at: by `signed_cut`, whose clock then runs."""

    def __init__(self, read: Callable[[], ExplicitGraph]) -> None:
        self._read = read

    @cached_property
    def graph(self) -> ExplicitGraph:
        """What is read, once."""
        return self._read()


def as_graph(W: Any) -> SignedGraph:
    """Make a graph of what describes one, or say why it does not.

    Parameters
    ----------
    W : array, DataFrame, scipy.sparse matrix, networkx graph, list of edges or SignedGraph
        A symmetric matrix of shape (n, n), its diagonal ignored; a networkx graph, whose edges have a number `weight`
        or `sign`, 1 where they have neither and sign |weight| where they have both, and whose points are numbered in
        the order of `list(G)`; or edges as a list of tuples (i, j, weight) or (i, j), of weight 1, or as numbers of
        shape (m, 3). Edges given several times, or in both directions, are summed (files of edges that the command line
        reads count both directions once). Numbers of shape (3, 3) are a matrix: give three edges as a list of tuples.
        A matrix that is symmetric up to rounding is replaced by (W + W.T) / 2, which has the same b'Wb. Names of a
        pandas DataFrame, its index and columns alike, are those of the points. A set or a generator is read as the list
        of what it holds. Masked arrays are refused: W.filled(0) makes masked pairs no edges.

    Examples
    --------
    >>> from proxcode.cut import as_graph
    >>> as_graph([(0, 1, 1.0), (1, 2, -1.0)]).n_nodes
    3
    """
    if isinstance(W, SignedGraph):
        return W
    if isinstance(W, Unread):
        return W.graph
    given, W = W, _as_known_form(W)
    graph = sparse_graph(*_checked_edges(W)) if has_edges(W) else _matrix_graph(W)
    graph.nodes = _names(given)
    check_sum(graph)
    return graph


def sign_graph(G: Any) -> SparseGraph:
    """Return the graph of the signs alone: +1 and -1 summed over parallel edges, then their sign; ties drop out."""
    G = listed(G)
    if has_edges(G):
        n, first, second, weight = _checked_edges(G, _sign_of)
        summed = sparse_graph(n, first, second, np.sign(weight))
        summed.nodes = _names(G)
    else:
        graph = as_graph(G)
        summed = sparse_graph(graph.n_nodes, *graph.edges())
        summed.nodes = graph.nodes
    summed.weights.data = np.sign(summed.weights.data)
    return summed


def listed(W: Any) -> Any:
    """Return a set, or what can be read but once, as a list; everything else as it is."""
    return list(W) if isinstance(W, Set | Iterator) else W


def check_unmasked(name: str, values: Any) -> None:
    """Refuse masked arrays, whose mask would be lost."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array: give {name}.filled(0), where what is masked counts as 0.")


def has_edges(W: Any) -> bool:
    """Whether a graph is given by its edges, instead of by a matrix."""
    if isinstance(W, SignedGraph):
        return False
    W = _as_known_form(W)
    if isinstance(W, np.ndarray):
        return W.ndim == 2 and W.shape[1] == 3 and W.shape[0] != 3
    return not sp.issparse(W)


def check_sum(graph: SignedGraph) -> None:
    """Refuse weights whose sums overflow, or vanish."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(graph.absolute_degrees().sum())
    if not total <= LARGEST:
        raise ValueError(f"the weights add up to {total:g}, more than {LARGEST:g}: divide W by its largest weight.")
    if 0 < total < SMALLEST:
        raise ValueError(f"the weights add up to {total:g}, less than {SMALLEST:g}: divide W by its largest weight.")


def _is_networkx(W: Any) -> bool:
    return hasattr(W, "nodes") and hasattr(W, "edges") and hasattr(W, "is_directed")


def _is_frame(W: Any) -> bool:
    """Whether it is a table with names for its rows and columns, such as pandas has."""
    return hasattr(W, "index") and hasattr(W, "columns") and getattr(W, "ndim", 0) == 2


def _names(W: Any) -> list[Any] | None:
    """Return what the points are called; None where they are numbers."""
    if _is_networkx(W):
        return list(W.nodes)
    if not _is_frame(W) or W.shape[0] != W.shape[1]:  # a table of edges has none
        return None
    rows, columns = list(W.index), list(W.columns)
    if rows != columns:
        told = f"rows {reprlib.repr(rows)} and columns {reprlib.repr(columns)}"
        raise ValueError(f"W has {told}: give both the same names in the same order, or W.to_numpy().")
    return rows


def _is_list_of_tuples(W: Any) -> bool:
    return isinstance(W, list) and len(W) > 0 and all(isinstance(edge, tuple) for edge in W)


def _as_known_form(W: Any) -> Any:
    """Return a graph, a sparse matrix and a list of tuples as they are, everything else as an array."""
    W = listed(W)
    if _is_networkx(W) or sp.issparse(W) or _is_list_of_tuples(W):
        return W
    if isinstance(W, Mapping):
        raise ValueError("W is a dictionary: give edges as a list of tuples (i, j, weight).")
    check_unmasked("W", W)
    try:
        array = np.asarray(W)
    except ValueError:
        raise ValueError("W has rows of different lengths: give a square matrix, or edges as tuples.") from None
    if array.ndim == 0:
        raise ValueError(
            f"W is {reprlib.repr(W)}: give a square matrix, a networkx graph or a list of tuples (i, j, weight)."
        )
    return array


def _matrix_graph(W: Any) -> DenseGraph | SparseGraph:
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise ValueError(f"W must be a square matrix of weights or an m x 3 list of edges; got shape {W.shape}.")
    if W.shape[0] == 0:
        raise ValueError("W has no points: give at least one.")
    _check_real(W)
    return _sparse_graph(W) if sp.issparse(W) else DenseGraph(_symmetric_array(W))


def _checked_edges(W: Any, weight_of: Callable[..., float] | None = None) -> tuple[int, *Edges]:
    """Return the number of points, and first point, second point and weight of each edge."""
    if _is_networkx(W):
        return _networkx_edges(W, weight_of or _weight_of)
    edges = _tuples(W) if _is_list_of_tuples(W) else np.asarray(W)
    _check_real(edges)
    if len(edges) == 0:
        raise ValueError("W has no points: give at least one edge, or a matrix.")
    named, weight = edges[:, :2].astype(np.float64), edges[:, 2].astype(np.float64)
    if (wrong := ~((named >= 0) & (named < np.inf) & (named == np.rint(named)))).any():
        raise ValueError(f"an edge names point {named[wrong][0]:g}: give points whole numbers from 0 on.")
    if (largest := float(named.max())) >= 100 * len(edges) + 1_000_000:
        raise ValueError(
            f"an edge names point {largest:.0f}, but there are {len(edges)} edges: number points from 0 on."
        )
    points = named.astype(np.int64)
    _check_finite(weight, lambda edge: (points[edge, 0], points[edge, 1]))
    return int(largest) + 1, points[:, 0], points[:, 1], weight


def _tuples(edges: list[tuple[Any, ...]]) -> NDArray[Any]:
    """Return edges as numbers of shape (m, 3)."""
    for edge in edges:
        if len(edge) not in (2, 3):
            raise ValueError(f"{reprlib.repr(edge)} is no edge: give tuples (i, j) or (i, j, weight).")
    full = [edge if len(edge) == 3 else (*edge, 1) for edge in edges]
    with suppress(ValueError):  # numbers all, as a rule: much faster than to look at each
        numbers = np.array(full)
        if numbers.dtype.kind in "biuf":
            return numbers
    for u, v, weight in full:
        for point in (u, v):
            if not isinstance(point, int | float | np.integer | np.floating):
                raise ValueError(
                    f"edge ({u!r}, {v!r}) names a point {point!r}: number the points 0..n-1, or use a networkx graph."
                )
        as_number(u, v, weight)
    try:
        return np.array(full, np.float64)
    except OverflowError:
        raise ValueError("an edge names a point larger than a float can hold: number points from 0 on.") from None


def _networkx_edges(G: Any, weight_of: Callable[..., float]) -> tuple[int, *Edges]:
    number = {node: i for i, node in enumerate(G.nodes)}
    if not number:
        raise ValueError("the graph has no points: give at least one.")
    edges = [(number[u], number[v], weight_of(u, v, attributes)) for u, v, attributes in G.edges(data=True)]
    first, second, weight = np.array(edges, np.float64).reshape(-1, 3).T
    _check_finite(weight, lambda edge: list(G.edges)[edge][:2])
    return len(number), first.astype(np.int64), second.astype(np.int64), weight


def _weight_of(u: Any, v: Any, attributes: Mapping[str, Any]) -> float:
    """Return the weight of a networkx edge; with a sign beside it, the sign times its size."""
    if "weight" not in attributes:
        return as_number(u, v, attributes.get("sign", 1))
    weight = as_number(u, v, attributes["weight"])
    if "sign" not in attributes:
        return weight
    sign = float(np.sign(as_number(u, v, attributes["sign"])))
    if weight < 0 < sign:
        raise ValueError(f"edge ({u!r}, {v!r}) has weight {weight:g} but a positive sign: leave one of them out.")
    return sign * abs(weight)


def _sign_of(u: Any, v: Any, attributes: Mapping[str, Any]) -> float:
    """Return what tells the sign of a networkx edge: `sign` before `weight`."""
    return as_number(u, v, attributes.get("sign", attributes.get("weight", 1)))


def as_number(u: Any, v: Any, weight: Any) -> float:
    """Return the weight of an edge as a float, or say of which edge it is none."""
    try:
        if not isinstance(weight, Real) and (isinstance(weight, str | bytes | Complex) or np.ndim(weight)):
            raise TypeError
        return float(weight)
    except (TypeError, ValueError, OverflowError):
        told = reprlib.repr(weight)
        raise ValueError(
            f"edge ({u!r}, {v!r}) has weight {told}: `weight` or `sign` must be a number that a float can hold."
        ) from None


def _check_real(W: Any) -> None:
    if W.dtype.kind not in "biuf":
        raise ValueError(f"W must hold real numbers; got dtype {W.dtype}: convert them, as by W.astype(float).")


def _check_finite(weight: NDArray[Any], pair_of: Callable[[int], tuple[Any, Any]]) -> None:
    """Refuse weights that are no finite numbers; `pair_of` tells the points of an entry."""
    if (is_finite := np.isfinite(weight)).all():
        return
    entry = int(np.argmin(is_finite))
    u, v = pair_of(entry)
    raise ValueError(f"W has NaN or infinite weights, {weight.flat[entry]} at ({u}, {v}): set unknown pairs to 0.")


def _sparse_graph(W: Any) -> SparseGraph:
    graph = SparseGraph(W)  # a copy: what follows sorts its entries
    weights = graph.weights
    entries = weights.tocoo()
    _check_finite(entries.data, lambda entry: (entries.row[entry], entries.col[entry]))
    difference, size = abs(weights - weights.T), abs(weights)
    if not difference.nnz:
        return graph
    excess = (difference - _asymmetry(W.dtype) * size.maximum(size.T)).max()
    _check_symmetric(weights, float(excess), float(difference.max()), _rounding(W.dtype) * float(size.max()))
    return SparseGraph(_symmetrised(weights))


def _symmetric_array(W: NDArray[Any]) -> NDArray[Any]:
    """Check row blocks against column blocks: no second array of W's size, unless W is asymmetric."""
    if W.dtype not in (np.float32, np.float64):
        W = W.astype(np.float64)
    largest, difference, excess = 0.0, 0.0, 0.0
    for rows in row_blocks(len(W)):
        block, mirrored = W[rows], W[:, rows].T
        _check_finite(block, partial(_row_and_column, rows.start * len(W), len(W)))
        with np.errstate(over="ignore"):
            between = np.abs(block - mirrored)
        if between.any():
            size = np.maximum(np.abs(block), np.abs(mirrored))
            difference = max(difference, float(between.max()))
            excess = max(excess, float((between - _asymmetry(W.dtype) * size).max()))
        largest = max(largest, float(np.abs(block).max()))
    _check_symmetric(W, excess, difference, _rounding(W.dtype) * largest)
    return _symmetrised(W) if difference else W


def _row_and_column(before: int, n_columns: int, entry: int) -> tuple[int, int]:
    return divmod(before + entry, n_columns)


def _asymmetry(dtype: np.dtype[Any]) -> float:
    """Return what part of an entry may differ from its mirror image."""
    return 1e-5 if dtype == np.float32 else 1e-10


def _rounding(dtype: np.dtype[Any]) -> float:
    """Return what part of the largest entry may differ too, for entries that are sums."""
    return 8.0 * float(np.finfo(np.float32 if dtype == np.float32 else np.float64).eps)


def _symmetrised(W: Any) -> Any:
    """Return (W + W.T) / 2; sums that overflow are refused by `check_sum`."""
    with np.errstate(over="ignore"):
        mean = W + W.T
    mean /= 2
    return mean


def _check_symmetric(W: Any, excess: float, difference: float, allowed: float) -> None:
    """Refuse entries that differ from their mirror image by more than rounding: their own, or that of sums."""
    if excess <= allowed:
        return
    triangles = (sp.triu(W, 1), sp.tril(W, -1)) if sp.issparse(W) else (np.triu(W, 1), np.tril(W, -1))
    is_triangular = any(abs(triangle).max() == 0 for triangle in triangles)
    remedy = "W + W.T, for it holds one triangle" if is_triangular else "(W + W.T) / 2"
    if W.shape == (3, 3):
        remedy += "; or give three edges as a list of tuples"
    raise ValueError(f"W must be symmetric; W and W.T differ by up to {difference:g}: use {remedy}.")
