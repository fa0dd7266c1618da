"""Labels from files: one label per row, or a 0/1 indicator matrix."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.files._arrays import KEYED_FORMATS, TEXMEX_ELEMENTS, map_npy, read_keyed
from proxcode.files._arrow import ARROW_FORMATS, open_arrow, read_arrow_column
from proxcode.files._base import ROWS_AT_ONCE, Column, FilePath, by_suffix, existing_file, find_column, listing, place
from proxcode.files._text import DELIMITERS, TextTable, is_number, text_lines
from proxcode.files.vectors import open_vectors

Labels = NDArray[Any]
# From this magnitude on, different integers are equal as floats.
LONG = 2**53


def read_labels(source: FilePath) -> Labels:
    r"""Read labels.

    Parameters
    ----------
    source : str or path
        "FILE", "FILE:COLUMN" for a column of a tabular file, by name or by number from 0, or "FILE:KEY" for an array of
        an npz, safetensors or HDF5 file (without a key: the only one of one dimension). Each line of a `.txt` file is a
        label. The first row of a CSV or TSV file holds column names if one of its cells is not a number.

    Returns
    -------
    ndarray of shape (n,) or (n, n_labels)
        One number or string per row. A missing label, an empty cell of a text file, is NaN among numbers, and None
        among strings and among integers too large for a float. Or an indicator matrix of 0 and 1, if a file has several
        columns and none is named.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "samples.csv")
    ...     _ = path.write_text("x,y,label\n0,1,cat\n2,3,\n")
    ...     read_labels(f"{path}:label")
    array(['cat', None], dtype=object)
    """
    path, column = split_column(source)
    labels = by_suffix(path, LABEL_FORMATS)(path, column)
    if len(labels) == 0:
        raise ValueError(f"{place(path, column or '')} holds no labels: expected at least one.")
    return labels


def split_column(source: FilePath) -> tuple[Path, str | None]:
    """Split "FILE", "FILE:COLUMN" or "FILE:KEY" into the file and the column or key.

    The names of files and columns may contain colons: the file ends at the first colon that follows the name of an
    existing file. A path that exists as a whole has no column.

    Returns
    -------
    path : Path
    column : str or None
        None for a file alone.
    """
    text = str(source)
    if Path(text).exists():
        return existing_file(text), None
    splits = [(Path(text[:at]), text[at + 1 :]) for at, character in enumerate(text) if character == ":"]
    for path, column in splits:
        if path.is_file():
            return existing_file(path), column
    # Nothing exists: the error names the first part that looks like a file of labels.
    named = [path for path, _ in splits if path.suffix.lower() in LABEL_FORMATS]
    return existing_file(named[0] if named else text), None


def _from_npy(path: Path, column: str | None) -> Labels:
    array = map_npy(path)
    if column is None:
        return _checked(path, np.array(array))
    if array.ndim != 2:
        raise ValueError(f"{path} has shape {array.shape} and no column {column!r}: omit the column.")
    return _checked(path, np.array(array[:, find_column(path, (), array.shape[1], column)]))


def _from_keyed(path: Path, key: str | None) -> Labels:
    return _checked(path, read_keyed(path, key, 1))


def _from_texmex(path: Path, column: str | None) -> Labels:
    return _checked(path, np.array(open_vectors(path, columns=None if column is None else [column]).read()))


def _from_lines(path: Path, column: str | None) -> Labels:
    if column is not None:
        raise ValueError(f"{path} has one label per line and no column {column!r}: omit the column.")
    lines = [line.strip() for _, line in text_lines(path)]
    while lines and not lines[-1]:
        lines.pop()
    return _from_cells(lines)


def _from_text(path: Path, column: str | None) -> Labels:
    table = TextTable(path)
    table.check_not_empty()
    if column is None and table.n_columns > 1:
        return _indicator(path, table.names or range(table.n_columns))
    number = find_column(path, table.names, table.n_columns, 0 if column is None else column)
    return _from_cells([table.cells(row)[number].strip() for row in table.rows()])


def _from_arrow(path: Path, column: str | None) -> Labels:
    file = open_arrow(path)
    names = file.names
    if column is None and len(names) > 1:
        return _indicator(path, names)
    number = find_column(path, names, len(names), 0 if column is None else column)
    values = read_arrow_column(file, file.name_of(number))
    if any(isinstance(value, list) for value in values):
        return _indicator(path, [names[0] if column is None else column])
    is_long = any(isinstance(value, int) and abs(value) >= LONG for value in values)
    if all(isinstance(value, bool | int) for value in values):
        return np.array(values, np.uint64 if max(values, default=0) >= 2**63 else None)
    if not is_long and all(value is None or isinstance(value, bool | int | float) for value in values):
        return np.array([np.nan if value is None else value for value in values])
    return _strings(values)


LABEL_FORMATS: dict[str, Callable[[Path, str | None], Labels]] = {
    ".npy": _from_npy,
    **dict.fromkeys(KEYED_FORMATS, _from_keyed),
    **dict.fromkeys(TEXMEX_ELEMENTS, _from_texmex),
    **dict.fromkeys(DELIMITERS, _from_text),
    ".txt": _from_lines,
    **dict.fromkeys(ARROW_FORMATS, _from_arrow),
}


def _checked(path: Path, array: NDArray[Any]) -> Labels:
    """Return an array as labels; raise ValueError for a wrong type or shape."""
    if array.dtype.kind == "O":
        array = _strings(array.tolist())
    if array.dtype.kind not in "biufUSO":
        raise ValueError(f"{path} holds {array.dtype} values: expected numbers or strings.")
    if array.ndim == 2 and array.shape[1] == 1:
        return array[:, 0]
    if array.ndim not in (1, 2):
        raise ValueError(f"{path} has shape {array.shape}: expected one label per row, or a 0/1 matrix.")
    return array if array.ndim == 1 else _zeros_and_ones(path, array, 0)


def _indicator(path: Path, columns: Sequence[Column]) -> Labels:
    """Read columns as a 0/1 matrix; the error for other values asks for the column of the labels."""
    blocks = []
    done = 0
    try:
        for block in open_vectors(path, columns=columns).blocks(ROWS_AT_ONCE):
            blocks.append(_zeros_and_ones(path, block, done))
            done += len(block)
    except ValueError as error:
        shown = listing([str(column) for column in columns])
        raise ValueError(f"{error} For labels in one column, pass {path}:COLUMN with one of {shown}.") from error
    return np.concatenate(blocks)


def _zeros_and_ones(path: Path, rows: NDArray[Any], first: int) -> NDArray[np.uint8]:
    wrong = np.argwhere((rows != 0) & (rows != 1)) if rows.dtype.kind in "biuf" else np.zeros((1, 2), int)
    if len(wrong):
        row, column = wrong[0]
        raise ValueError(
            f"{path} has {rows.shape[1]} columns, but row {first + row}, column {column} holds {rows[row, column]}: "
            "expected one column of labels, or a matrix of 0 and 1."
        )
    return rows.astype(np.uint8)


def _from_cells(cells: list[str]) -> Labels:
    """Return cells as numbers if all of them are, otherwise as strings; an empty cell is a missing label."""
    given = [cell for cell in cells if cell]
    if not given or not all(map(is_number, given)):
        return _strings([cell or None for cell in cells])
    if len(given) == len(cells):
        try:
            return np.array(cells).astype(np.int64)
        except (ValueError, OverflowError):
            pass
    numbers = np.array([float(cell) if cell else np.nan for cell in cells])
    is_long = (np.abs(numbers[np.isfinite(numbers)]) >= LONG).any()
    return _strings([cell or None for cell in cells]) if is_long else numbers


def _strings(values: list[Any]) -> Labels:
    """Return an array of strings, or of objects if some values are None."""
    if all(isinstance(value, str) for value in values):
        return np.array(values, dtype=np.str_)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
