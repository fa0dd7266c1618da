"""Near and far pairs of samples from files."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from proxcode.files._arrays import map_npy
from proxcode.files._base import FilePath, by_suffix, existing_file, integer, shown
from proxcode.files._label_parts import LONG
from proxcode.files._text import DELIMITERS, TextTable, is_number

# Words for the sign of a pair.
SIGNS = {"near": 1, "far": -1, "true": 1, "false": -1}
# What a pair may have in its third column.
EXPECTED_SIGN = "expected near or far, +1 or -1, 1 or 0, true or false"


def read_pairs(path: FilePath) -> NDArray[np.int64]:
    """Read pairs of samples, given by their row numbers from 0, and whether they are near or far.

    Parameters
    ----------
    path : path
        A CSV, TSV or npy file with rows i, j, and near, true, 1 or +1 for near pairs, far, false, 0 or -1 for far
        ones. Without the third column, all pairs are near. A first row whose first cell is not a number holds column
        names, which are ignored.

    Returns
    -------
    ndarray of int64, shape (m, 3)
        The `pairs` of `GivenPairs`.
    """
    path = existing_file(path)
    return by_suffix(path, PAIR_FORMATS)(path)


def _pairs_from_text(path: Path) -> NDArray[np.int64]:
    table = TextTable(path)
    _check_width(path, table.n_columns)
    # The row "0,1,near" is a pair, not column names.
    has_pair_first = bool(table.names) and is_number(table.names[0])
    rows = [table.first, *table.rows()] if has_pair_first else list(table.rows())
    if not rows:
        raise ValueError(f"{path} holds no pairs: expected at least one.")
    return np.array([_pair(f"{path}: line {row[0]}", table.cells(row)) for row in rows], dtype=np.int64)


def _pair(where: str, cells: list[str]) -> list[int]:
    i, j, sign = [*(cell.strip() for cell in cells), "near"][:3]
    for row in (i, j):
        if integer(row) is None or int(row) >= LONG:
            raise ValueError(f"{where} holds {shown(row)}: expected row numbers from 0 in the first two columns.")
    number = SIGNS.get(sign.lower()) or (float(sign) if is_number(sign) else None)
    if number not in (-1, 0, 1):
        raise ValueError(f"{where} has the sign {shown(sign)}: {EXPECTED_SIGN}.")
    return [int(i), int(j), 1 if number > 0 else -1]


def _pairs_from_npy(path: Path) -> NDArray[np.int64]:
    array = map_npy(path)
    if array.ndim != 2 or array.dtype.kind not in "iuf" or not len(array):
        raise ValueError(f"{path} holds {array.dtype} values of shape {array.shape}: expected rows i, j, +1 or -1.")
    _check_width(path, array.shape[1])
    samples, signs = array[:, :2], array[:, 2:]
    is_row = (samples >= 0) & (samples == np.floor(samples)) & (samples < LONG)
    if not is_row.all():
        row, column = np.argwhere(~is_row)[0]
        raise ValueError(
            f"{path}: row {row} holds {samples[row, column]}: expected row numbers from 0 in the first two columns."
        )
    if (wrong := np.flatnonzero(~np.isin(signs, (-1, 0, 1)))).size:
        raise ValueError(f"{path}: row {wrong[0]} has the sign {signs[wrong[0], 0]}: {EXPECTED_SIGN}.")
    near = np.where(signs > 0, 1, -1) if signs.size else np.ones((len(array), 1), np.int64)
    return np.hstack([samples.astype(np.int64), near])


def _check_width(path: Path, n_columns: int) -> None:
    if n_columns not in (2, 3):
        raise ValueError(
            f"{path} has {n_columns} columns: expected i, j and a sign (+1 or -1), or i and j for near pairs."
        )


PAIR_FORMATS: dict[str, Callable[[Path], NDArray[np.int64]]] = {
    **dict.fromkeys(DELIMITERS, _pairs_from_text),
    ".npy": _pairs_from_npy,
}
