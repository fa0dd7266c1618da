"""Weighted graphs from files, for `signed_cut`.

1. A format gives edges (i, j, w), what it calls the points, and nothing else.
2. Loops (i, i) are dropped; an edge listed more than once in one direction is summed.
3. An edge may stand in one direction or, with the same weight, in both, and counts once: the matrix is symmetric
   either way (`proxcode.cut.as_graph` sums the two). The matrices of .npy and .npz must be symmetric themselves.

Weights stay as the file has them: for the largest cut of a Gset graph, negate them.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.files._arrays import ZIP_ERRORS, map_npy
from proxcode.files._base import FilePath, by_suffix, existing_file, readable
from proxcode.files._text import DELIMITERS, TextTable, is_number, text_lines

_WORDS = {("i", "j"), ("u", "v"), ("source", "target"), ("from", "to"), ("src", "dst"), ("node1", "node2")}


class Graph(NamedTuple):
    """A graph: symmetric weights of shape (n, n) without diagonal, and the n names the file has for its points."""

    weights: Any
    names: NDArray[Any]


class _Edges(NamedTuple):
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    weight: NDArray[np.float64]
    names: NDArray[Any]
    asymmetry: float | None = None  # allowed part of an entry, where both directions must be there, as in a matrix


class _Row(NamedTuple):
    line: int
    cells: list[str]


def read_graph(path: FilePath) -> Graph:
    r"""Read a weighted graph.

    Parameters
    ----------
    path : path
        - `.csv`, `.tsv`: an edge list, rows i, j and a weight, 1 if there is none. Points that are all whole numbers
          come in their order, names in order of appearance; a point without an edge is not in such a file. The first
          row holds names of columns if none of its cells is a number and it has a third; if it has two, where they are
          a known pair of words (source, target) or all other cells are numbers.
        - `.txt`, `.edges`, `.gset`, or no suffix: an edge list separated by blanks, where lines that start with # or %
          are passed over; or Gset's format, a first row n, m and then m rows i, j, w that count points from 1. It is
          Gset's if the first row has two whole numbers and either the others have three cells or they are m in number
          and name points 1 to n; a row n, 0 alone is a graph without edges.
        - `.mtx`: Matrix Market, points counted from 1. `.npy`: a square array. `.npz`: by
          `scipy.sparse.save_npz`.

    Returns
    -------
    Graph
        `weights`, a symmetric scipy.sparse.csr_array, and `names`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "friends.csv")
    ...     _ = path.write_text("ann,bob,1\nbob,cid,-2\n")
    ...     graph = read_graph(path)
    >>> graph.weights.toarray()
    array([[ 0.,  1.,  0.],
           [ 1.,  0., -2.],
           [ 0., -2.,  0.]])
    """
    path = existing_file(path)
    edges = by_suffix(path, _GRAPH_FORMATS)(path)
    return Graph(_symmetric(path, edges), edges.names)


def _symmetric(path: Path, edges: _Edges) -> Any:
    n = len(edges.names)
    if (wrong := np.flatnonzero(~np.isfinite(edges.weight))).size:
        i, j = edges.names[edges.first[wrong[0]]], edges.names[edges.second[wrong[0]]]
        raise ValueError(f"{path}: edge ({i}, {j}) has the weight {edges.weight[wrong[0]]}: leave unknown edges out.")
    is_edge = edges.first != edges.second
    if not is_edge.any():
        raise ValueError(f"{path} has no edge between two different points: list at least one.")
    i, j, weight = edges.first[is_edge], edges.second[is_edge], edges.weight[is_edge]
    distinct, where = np.unique(np.minimum(i, j) * n + np.maximum(i, j), return_inverse=True)
    upward, downward = (np.bincount(where[way], weight[way], len(distinct)) for way in (i < j, i > j))
    has_both = (np.bincount(where[i < j], minlength=len(distinct)) > 0) & (
        np.bincount(where[i > j], minlength=len(distinct)) > 0
    )
    low, high = distinct // n, distinct % n
    allowed = 1e-10 if edges.asymmetry is None else edges.asymmetry
    has_both |= edges.asymmetry is not None
    if (torn := np.flatnonzero(has_both & ~np.isclose(upward, downward, rtol=allowed, atol=0))).size:
        edge = torn[0]
        remedy = "give it once, or twice the same" if edges.asymmetry is None else "make the matrix symmetric"
        raise ValueError(
            f"{path}: edge ({edges.names[low[edge]]}, {edges.names[high[edge]]}) has the weight {upward[edge]:g}, but "
            f"{downward[edge]:g} the other way: {remedy}."
        )
    once = np.where(has_both, upward, upward + downward)
    both = np.concatenate([low, high]), np.concatenate([high, low])
    weights = sp.csr_array((np.concatenate([once, once]), both), shape=(n, n))
    weights.eliminate_zeros()  # a weight of 0 is no edge
    return weights


def _from_table(path: Path) -> _Edges:
    table = TextTable(path)
    lines = [table.first, *table.rows()] if table.names else list(table.rows())
    return _edge_list(path, [_Row(line[0], table.cells(line)) for line in lines])


def _from_blanks(path: Path) -> _Edges:
    rows = _split_lines(path)
    if rows and _is_gset(rows):
        n, m = map(int, rows[0].cells)
        return _numbered(path, n, m, rows[1:])
    return _edge_list(path, rows)


def _split_lines(path: Path) -> list[_Row]:
    return [
        _Row(line, text.split()) for line, text in text_lines(path) if text.strip() and text.lstrip()[0] not in "#%"
    ]


def _is_gset(rows: list[_Row]) -> bool:
    (_, first), others = rows[0], rows[1:]
    if len(first) != 2 or not all(map(str.isdecimal, first)):
        return False
    n, m = map(int, first)
    if others and len(others[0].cells) == 3:
        return True
    points = {cell for row in others for cell in row.cells[:2]}
    return len(others) == m and all(cell.isdecimal() and 1 <= int(cell) <= n for cell in points)


def _numbered(path: Path, n: int, m: int, rows: list[_Row]) -> _Edges:
    """Return m edges between points that are counted from 1 to n."""
    if len(rows) != m:
        raise ValueError(f"{path} announces {m} entries and has {len(rows)}: copy it again.")
    if not rows:
        return _Edges(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.arange(1, n + 1))
    weights = _weights(path, rows)
    for line, cells in rows:
        for cell in cells[:2]:
            if not (cell.isdecimal() and 1 <= int(cell) <= n):
                raise ValueError(f"{path}: line {line} names point {cell!r}: the points here are 1 to {n}.")
    points = np.array([row.cells[:2] for row in rows]).astype(np.int64) - 1
    return _Edges(points[:, 0], points[:, 1], weights, np.arange(1, n + 1))


def _edge_list(path: Path, rows: list[_Row]) -> _Edges:
    rows = rows[1:] if rows and _is_header(rows) else rows
    if not rows:
        raise ValueError(f"{path} is an empty table: list at least one edge.")
    weights = _weights(path, rows)
    points = [cell.strip() for row in rows for cell in row.cells[:2]]
    if "" in points:
        raise ValueError(f"{path}: line {rows[points.index('') // 2].line} names no point: give both ends of the edge.")
    names, where = _numbered_names(points)
    ends = where.astype(np.int64).reshape(-1, 2)
    return _Edges(ends[:, 0], ends[:, 1], weights, names)


def _numbered_names(points: list[str]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the distinct points, and where among them each is."""
    if all(map(is_number, points)):  # "1_0" is a name, though int takes it for 10
        try:
            return np.unique(np.array(points).astype(np.int64), return_inverse=True)
        except (ValueError, OverflowError):
            pass
    numbers = {name: number for number, name in enumerate(dict.fromkeys(points))}
    return np.array(list(numbers)), np.array([numbers[point] for point in points])


def _is_header(rows: list[_Row]) -> bool:
    cells = [cell.strip() for cell in rows[0].cells]
    if any(map(is_number, cells)):
        return False
    others = [cell for row in rows[1:] for cell in row.cells]
    is_known = tuple(map(str.lower, cells)) in _WORDS
    return len(cells) != 2 or is_known or (bool(others) and all(map(is_number, others)))


def _weights(path: Path, rows: list[_Row]) -> NDArray[np.float64]:
    width = len(rows[0].cells)
    for line, cells in rows:
        if len(cells) not in (2, 3) or len(cells) != width:
            raise ValueError(
                f"{path}: line {line} has {len(cells)} cells: an edge is i, j, or in all lines i, j, weight."
            )
        if width == 3 and not is_number(cells[2]):
            raise ValueError(f"{path}: line {line} has the weight {cells[2]!r}: give a number.")
    return np.array([float(row.cells[2]) if width == 3 else 1.0 for row in rows])


def _from_market(path: Path) -> _Edges:
    # Not with scipy.io.mmread: SciPy 1.17 crashes on some damaged files, and the process with it.
    banner = next(text_lines(path))[1].lower().split()
    if len(banner) != 5 or banner[:2] != ["%%matrixmarket", "matrix"] or banner[2] not in _MARKET_LAYOUTS:
        raise ValueError(f"{path} is no Matrix Market file, its first line is no %%MatrixMarket: make it again.")
    _, _, layout, field, symmetry = banner
    if field not in ("real", "double", "integer", "pattern") or symmetry not in ("general", "symmetric"):
        raise ValueError(f"{path} holds a {field} {symmetry} matrix: weights are real and symmetric.")
    rows = _split_lines(path)
    n_sizes = {"coordinate": 3, "array": 2}[layout]
    if not rows or len(rows[0].cells) != n_sizes or not all(map(str.isdecimal, rows[0].cells)):
        raise ValueError(f"{path} has no line of {n_sizes} sizes below its comments: copy or make it again.")
    n, n_columns, *_ = sizes = [int(cell) for cell in rows[0].cells]
    if n != n_columns or not n:
        raise ValueError(f"{path} has shape ({n}, {n_columns}): the weights of n points are an n x n matrix.")
    return _MARKET_LAYOUTS[layout](path, sizes, rows[1:], symmetry)


def _market_entries(path: Path, sizes: list[int], rows: list[_Row], symmetry: str) -> _Edges:
    return _numbered(path, sizes[0], sizes[2], rows)


def _market_array(path: Path, sizes: list[int], rows: list[_Row], symmetry: str) -> _Edges:
    """Read all values column by column; of a symmetric matrix, from the diagonal down."""
    n = sizes[0]
    n_values = n * n if symmetry == "general" else n * (n + 1) // 2
    if len(rows) != n_values:
        raise ValueError(f"{path} announces {n_values} entries and has {len(rows)}: copy it again.")
    for line, cells in rows:
        if len(cells) != 1 or not is_number(cells[0]):
            raise ValueError(f"{path}: line {line} holds {' '.join(cells)!r}: give one number.")
    columns = np.zeros((n, n))
    where = np.indices((n, n)).reshape(2, -1) if symmetry == "general" else np.triu_indices(n)
    columns[where[0], where[1]] = [float(row.cells[0]) for row in rows]
    return _from_matrix(path, columns.T, 1)


_MARKET_LAYOUTS = {"coordinate": _market_entries, "array": _market_array}


def _from_npy(path: Path) -> _Edges:
    matrix = map_npy(path)
    return _both_ways(_from_matrix(path, matrix, 0), matrix.dtype)


def _from_npz(path: Path) -> _Edges:
    # Opened here, for NumPy leaves a file open that it cannot read.
    with readable(path, "scipy.sparse npz", *ZIP_ERRORS), path.open("rb") as file:
        matrix = sp.load_npz(file)
    return _both_ways(_from_matrix(path, matrix, 0), matrix.dtype)


def _both_ways(edges: _Edges, dtype: np.dtype[Any]) -> _Edges:
    return edges._replace(asymmetry=1e-5 if dtype == np.float32 else 1e-10)


def _from_matrix(path: Path, matrix: Any, base: int) -> _Edges:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.shape[0]:
        raise ValueError(f"{path} has shape {matrix.shape}: the weights of n points are an n x n matrix.")
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{path} holds {matrix.dtype} values: weights are real numbers.")
    entries = sp.coo_array(matrix)
    names = np.arange(base, matrix.shape[0] + base)
    return _Edges(entries.row.astype(np.int64), entries.col.astype(np.int64), entries.data.astype(np.float64), names)


_GRAPH_FORMATS: dict[str, Callable[[Path], _Edges]] = {
    **dict.fromkeys(DELIMITERS, _from_table),
    **dict.fromkeys((".txt", ".edges", ".gset", ""), _from_blanks),
    ".mtx": _from_market,
    ".npy": _from_npy,
    ".npz": _from_npz,
}
