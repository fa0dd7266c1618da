"""Near and far pairs from files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.files._arrays import map_npy
from proxcode.files._base import FilePath, by_suffix, existing_file
from proxcode.files._text import DELIMITERS, TextTable, is_number

_SIGNS = {"near": 1, "far": -1}
# Row numbers from here on are not exact as floats.
LARGEST_ROW = 2**53


def read_pairs(path: FilePath) -> NDArray[np.int64]:
    """Read pairs of samples, given by their row numbers from 0, and whether they are near or far.

    Parameters
    ----------
    path : path
        A CSV, TSV or npy file with rows i, j, sign: +1 or near, -1 or far. Without the third column, all pairs are
        near. A first row whose first cell is not a number holds column names, which are ignored.

    Returns
    -------
    ndarray of int64, shape (m, 3)
        The `pairs` of `GivenPairs`.
    """
    path = existing_file(path)
    return by_suffix(path, _PAIR_FORMATS)(path)


def _from_text(path: Path) -> NDArray[np.int64]:
    table = TextTable(path)
    _check_width(path, table.n_columns)
    # The row "0,1,near" is a pair, not column names.
    has_pair_first = bool(table.names) and is_number(table.names[0])
    rows = [table.first, *table.rows()] if has_pair_first else list(table.rows())
    if not rows:
        raise ValueError(f"{path} holds no pairs: expected near and far pairs.")
    return np.array([_pair(f"{path}: line {row[0]}", table.cells(row)) for row in rows], dtype=np.int64)


def _pair(where: str, cells: list[str]) -> tuple[int, int, int]:
    i, j = (_row_number(where, cell.strip()) for cell in cells[:2])
    return i, j, _sign(where, cells[2].strip()) if len(cells) == 3 else 1


def _row_number(where: str, cell: str) -> int:
    if not cell.isdecimal() or int(cell) >= LARGEST_ROW:
        raise ValueError(f"{where} holds {cell!r}: expected row numbers from 0 in the first two columns.")
    return int(cell)


def _sign(where: str, cell: str) -> int:
    if cell.lower() in _SIGNS:
        return _SIGNS[cell.lower()]
    if is_number(cell) and float(cell) in (-1.0, 1.0):
        return int(float(cell))
    raise ValueError(f"{where} has the sign {cell!r}: expected +1 or near, -1 or far.")


def _from_npy(path: Path) -> NDArray[np.int64]:
    array: NDArray[Any] = map_npy(path)
    if array.ndim != 2 or array.dtype.kind not in "iuf" or not len(array):
        raise ValueError(f"{path} holds {array.dtype} values of shape {array.shape}: expected rows i, j, +1 or -1.")
    _check_width(path, array.shape[1])
    samples, signs = array[:, :2], array[:, 2:]
    is_row = (samples >= 0) & (samples == np.floor(samples)) & (samples < LARGEST_ROW)
    if not is_row.all():
        row, column = np.argwhere(~is_row)[0]
        raise ValueError(
            f"{path}: row {row} holds {samples[row, column]}: expected row numbers from 0 in the first two columns."
        )
    if (wrong := np.flatnonzero(np.abs(signs) != 1)).size:
        raise ValueError(f"{path}: row {wrong[0]} has the sign {signs[wrong[0], 0]}: expected +1 (near) or -1 (far).")
    near = np.ones((len(array), 1), np.int64)
    return np.hstack([samples.astype(np.int64), signs.astype(np.int64) if signs.size else near])


def _check_width(path: Path, n_columns: int) -> None:
    if n_columns not in (2, 3):
        raise ValueError(
            f"{path} has {n_columns} columns: expected i, j and a sign (+1 or -1), or i and j for near pairs."
        )


_PAIR_FORMATS: dict[str, Callable[[Path], NDArray[np.int64]]] = {
    **dict.fromkeys(DELIMITERS, _from_text),
    ".npy": _from_npy,
}
