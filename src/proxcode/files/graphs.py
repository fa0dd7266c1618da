"""Weighted graphs from files, for `signed_cut`.

1. A format is parsed into edges (i, j, weight) and the names of the nodes, or into a square matrix.
2. Repeated edges and edges with a direction are combined by the rule of `proxcode.cut.as_graph`.

Weights have the sign of the file: use `max_cut` for the Gset graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.files._arrays import ZIP_ERRORS, map_npy, npz_arrays
from proxcode.files._base import MAX_RATIO, FilePath, by_suffix, existing_file, integer, readable, shown
from proxcode.files._text import DELIMITERS, TextTable, is_number, text_lines

if TYPE_CHECKING:
    from proxcode.cut.symmetric import Directed

# Names of two columns that are recognised as a header in any file.
_HEADERS = {("i", "j"), ("u", "v"), ("source", "target"), ("from", "to"), ("src", "dst"), ("node1", "node2")}


class Graph(NamedTuple):
    """A graph of n nodes.

    Attributes
    ----------
    weights : scipy.sparse.csr_array of shape (n, n)
        Symmetric, without a diagonal.
    names : ndarray of shape (n,)
        Names of the nodes in the file.
    """

    weights: Any
    names: NDArray[Any]


class _Edges(NamedTuple):
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    weight: NDArray[np.float64]
    names: NDArray[Any]


class _Row(NamedTuple):
    line: int
    cells: list[str]


def read_graph(path: FilePath, directed: Directed | None = None) -> Graph:
    r"""Read a weighted graph.

    Self-loops and the diagonal of a matrix are ignored. Edges repeated in the same direction are summed. An edge given
    in both directions with equal weights counts once; with different weights it is an error, unless `directed` says how
    to combine them.

    Parameters
    ----------
    path : path
        - `.csv`, `.tsv`: an edge list with rows i, j, weight or i, j, of weight 1. Nodes are sorted if all of them are
          integers, and otherwise in order of appearance; a node without an edge is not part of such a graph. The first
          row holds the names of columns if none of its cells is a number and it has three cells; if it has two, if they
          are a known pair of words such as source, target, or if all other cells are numbers.
        - `.txt`, `.edges`, `.gset`, or no suffix: an edge list separated by blanks, in which lines that start with # or
          % are comments; or the Gset format, a first row n, m followed by m rows i, j, weight with nodes numbered from
          1. A file has the Gset format if its first row consists of two integers n, m, and either the other rows have
          three cells, or they are m rows with nodes from 1 to n.
        - `.mtx`: Matrix Market, with nodes numbered from 1.
        - `.npy`: a square array. `.npz`: a file of `scipy.sparse.save_npz`. Both must be symmetric, unless `directed`
          is given.
    directed : {"sum", "mean", "sign"} or None, default=None
        How the two directions of an edge are combined if their weights differ; see `proxcode.cut.as_graph`.

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
    content = by_suffix(path, _GRAPH_FORMATS)(path)
    try:
        return _symmetric(content, directed)
    except ValueError as error:
        hint = " (command line: --directed)" if "directed=" in str(error) else ""
        raise ValueError(f"{path}: {error}{hint}") from None


def _symmetric(content: Any, directed: Directed | None) -> Graph:
    """Return the graph of `_Edges` or of a square matrix."""
    from proxcode.cut.graph import SparseGraph
    from proxcode.cut.symmetric import matrix_graph, undirected_weights

    if isinstance(content, _Edges):
        first, second, weight, names = content
        weights = undirected_weights(len(names), first, second, weight, directed=directed, names=names)
        has_edges = (first != second).any()
    else:
        weights = SparseGraph(matrix_graph(content, directed).weights).weights
        names, has_edges = np.arange(content.shape[0]), weights.nnz > 0
    if not has_edges:
        raise ValueError("no edge between two different nodes: expected at least one")
    weights.eliminate_zeros()
    return Graph(weights=weights, names=names)


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
    """Return the lines that are neither blank nor comments."""
    rows = [_Row(line, text.split()) for line, text in text_lines(path)]
    return [row for row in rows if row.cells and row.cells[0][0] not in "#%"]


def _is_gset(rows: list[_Row]) -> bool:
    (_, first), others = rows[0], rows[1:]
    n, m = map(integer, first) if len(first) == 2 else (None, None)
    if n is None or m is None:
        return False
    if others and len(others[0].cells) == 3:
        return True
    nodes = {cell for row in others for cell in row.cells[:2]}
    return len(others) == m and all(1 <= (integer(cell) or 0) <= n for cell in nodes)


def _numbered(path: Path, n: int, m: int, rows: list[_Row]) -> _Edges:
    """Return m edges between nodes that are numbered from 1 to n."""
    _check_count(path, rows, m)
    _check_size(path, n)
    weights = _weights(path, rows)
    for line, cells in rows:
        for cell in cells[:2]:
            if not 1 <= (integer(cell) or 0) <= n:
                raise ValueError(f"{path}: line {line} has the node {shown(cell)}: expected an integer from 1 to {n}")
    ends = np.array([row.cells[:2] for row in rows]).astype(np.int64).reshape(-1, 2) - 1
    return _Edges(ends[:, 0], ends[:, 1], weights, np.arange(1, n + 1))


def _check_count(path: Path, rows: list[_Row], n_expected: int) -> None:
    if len(rows) != n_expected:
        raise ValueError(f"{path} has {len(rows)} entries, but announces {n_expected}: copy or create the file again")


def _edge_list(path: Path, rows: list[_Row]) -> _Edges:
    rows = rows[1:] if rows and _is_header(rows) else rows
    if not rows:
        raise ValueError(f"{path} is an empty table: expected at least one edge")
    weights = _weights(path, rows)
    nodes = [cell.strip() for row in rows for cell in row.cells[:2]]
    if "" in nodes:
        line = rows[nodes.index("") // 2].line
        raise ValueError(f"{path}: line {line} has an empty cell: expected the names of both nodes of the edge")
    names, number = _distinct(nodes)
    ends = number.astype(np.int64).reshape(-1, 2)
    return _Edges(ends[:, 0], ends[:, 1], weights, names)


def _distinct(nodes: list[str]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the distinct names of the nodes, and the position of each node among them."""
    # "1_0" is a name, although NumPy would convert it to 10.
    if all(map(is_number, nodes)):
        try:
            return np.unique(np.array(nodes).astype(np.int64), return_inverse=True)
        except (ValueError, OverflowError):
            pass
    numbers = {name: number for number, name in enumerate(dict.fromkeys(nodes))}
    return np.array(list(numbers)), np.array([numbers[node] for node in nodes])


def _is_header(rows: list[_Row]) -> bool:
    cells = [cell.strip() for cell in rows[0].cells]
    if any(map(is_number, cells)):
        return False
    others = [cell for row in rows[1:] for cell in row.cells]
    is_known = tuple(map(str.lower, cells)) in _HEADERS
    return len(cells) != 2 or is_known or (bool(others) and all(map(is_number, others)))


def _weights(path: Path, rows: list[_Row]) -> NDArray[np.float64]:
    width = len(rows[0].cells) if rows else 2
    for line, cells in rows:
        if len(cells) not in (2, 3) or len(cells) != width:
            expected = "expected i, j or, in all lines, i, j, weight"
            raise ValueError(f"{path}: line {line} has {len(cells)} cells: {expected}")
        if width == 3 and not is_number(cells[2]):
            raise ValueError(f"{path}: line {line} has the weight {shown(cells[2])}: expected a number")
    return np.array([float(row.cells[2]) if width == 3 else 1.0 for row in rows])


def _from_market(path: Path) -> _Edges:
    # scipy.io.mmread is not used, because SciPy 1.17 terminates the process on some damaged files.
    banner = next(text_lines(path))[1].lower().split()
    if len(banner) != 5 or banner[:2] != ["%%matrixmarket", "matrix"] or banner[2] not in ("coordinate", "array"):
        raise ValueError(f"{path} is not a Matrix Market file: expected %%MatrixMarket in its first line")
    _, _, layout, field, symmetry = banner
    if field not in ("real", "double", "integer", "pattern") or symmetry not in ("general", "symmetric"):
        kind = shown(f"{field} {symmetry}")
        raise ValueError(f"{path} holds a {kind} matrix: expected a real general or symmetric one")
    rows = _split_lines(path)
    n_sizes = 3 if layout == "coordinate" else 2
    sizes = [size for cell in rows[0].cells if (size := integer(cell)) is not None] if rows else []
    if len(sizes) != n_sizes or len(rows[0].cells) != n_sizes:
        raise ValueError(f"{path} has no line of {n_sizes} sizes below its comments: copy or create the file again")
    _check_square(path, tuple(sizes[:2]))
    if layout == "coordinate":
        return _numbered(path, sizes[0], sizes[2], rows[1:])
    return _market_array(path, sizes[0], rows[1:], symmetry)


def _market_array(path: Path, n: int, rows: list[_Row], symmetry: str) -> _Edges:
    """Read all values column by column; those of a symmetric matrix from the diagonal down."""
    import scipy.sparse as sp

    _check_count(path, rows, n * n if symmetry == "general" else n * (n + 1) // 2)
    for line, cells in rows:
        if len(cells) != 1 or not is_number(cells[0]):
            raise ValueError(f"{path}: line {line} holds {shown(' '.join(cells))}: expected one number")
    columns = np.zeros((n, n))
    where = np.indices((n, n)).reshape(2, -1) if symmetry == "general" else np.triu_indices(n)
    columns[where[0], where[1]] = [float(row.cells[0]) for row in rows]
    entries = sp.coo_array(columns.T)
    return _Edges(entries.row.astype(np.int64), entries.col.astype(np.int64), entries.data, np.arange(1, n + 1))


def _from_npy(path: Path) -> Any:
    matrix = map_npy(path)
    _check_square(path, matrix.shape)
    return matrix


def _from_npz(path: Path) -> Any:
    import scipy.sparse as sp

    # NumPy leaves a file open that it cannot read, so it is opened here.
    npz_arrays(path)
    with readable(path, "scipy.sparse npz", *ZIP_ERRORS), path.open("rb") as file:
        matrix = sp.load_npz(file)
        # SciPy trusts the row and column numbers of a file.
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)
    _check_square(path, matrix.shape)
    _check_size(path, matrix.shape[0])
    return matrix


def _check_size(path: Path, n: int) -> None:
    """Raise ValueError for a number of nodes that a file of this size cannot mean."""
    if n > MAX_RATIO * path.stat().st_size:
        raise ValueError(f"{path} announces {n} nodes in {path.stat().st_size} bytes: copy or create the file again")


def _check_square(path: Path, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
        raise ValueError(f"{path} has shape {shape}: expected an n x n matrix of the weights of n nodes")


_GRAPH_FORMATS: dict[str, Callable[[Path], Any]] = {
    **dict.fromkeys(DELIMITERS, _from_table),
    **dict.fromkeys((".txt", ".edges", ".gset", ""), _from_blanks),
    ".mtx": _from_market,
    ".npy": _from_npy,
    ".npz": _from_npz,
}
