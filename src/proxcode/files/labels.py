"""Labels of samples from files."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.files._arrays import ARRAY_FORMATS, KEYED_FORMATS, open_array
from proxcode.files._arrow import ARROW_FORMATS, open_arrow
from proxcode.files._base import (
    ROWS_AT_ONCE,
    Column,
    FilePath,
    Taken,
    by_suffix,
    existing_file,
    find_column,
    listing,
    shown,
)
from proxcode.files._cells import Cells, cells_of_column, cells_of_lines
from proxcode.files._label_parts import LONG, Labels, check_sizes, joined
from proxcode.files._text import DELIMITERS, TextTable, is_number
from proxcode.files.samples import is_empty, list_files, stands_for_many
from proxcode.files.vectors import open_vectors


def read_labels(source: FilePath, sizes: Mapping[Path, int] | None = None) -> Labels:
    r"""Read labels.

    Parameters
    ----------
    source : str or path
        "FILE", "FILE:COLUMN" for a column of a tabular file, by name or by number from 0, or "FILE:KEY" for an array of
        an npz, safetensors or HDF5 file (without a key: the only one of one dimension). Each line of a `.txt` file is a
        label. The first row of a CSV or TSV file holds column names if one of its cells is not a number. FILE may be a
        folder or a pattern: the labels are those of all its files, as `open_samples` has their rows.
    sizes : mapping of path to int, default=None
        Number of samples of each file of vectors, in order. Where the labels are in several files too, each must have
        as many labels.

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
    return take_labels(source, sizes).labels


class TakenLabels(NamedTuple):
    """Labels, and the array or the columns of the file, of several the first one, that they were taken of.

    `n_blank` is the number of blank lines at the end of a text file, which are no labels.
    """

    labels: Labels
    taken: Taken
    n_blank: int = 0

    def for_samples(self, n_samples: int) -> "TakenLabels":
        """Return the labels with blank lines at the end as missing labels, if the samples are as many."""
        n_more = n_samples - len(self.labels)
        if not 0 < n_more <= self.n_blank:
            return self
        labels = np.append(self.labels.astype(object), [None] * n_more)
        return TakenLabels(labels, self.taken)


def take_labels(source: FilePath, sizes: Mapping[Path, int] | None = None) -> TakenLabels:
    """Read labels as `read_labels` does, and return with them what they were taken of."""
    _, column = split_column(source)
    files = label_files(source)
    read = {file: by_suffix(file, LABEL_FORMATS)(file, column) for file in files if not is_empty(file)}
    parts = {file: part.labels for file, part in read.items()}
    if sizes and len(parts) > 1:
        check_sizes(parts, sizes)
    labels = next(iter(parts.values())) if len(parts) == 1 else joined(parts)
    if len(labels) == 0:
        raise ValueError(f"{source} holds no labels: expected at least one.")
    first = next(iter(read.values()))
    return TakenLabels(labels, first.taken, first.n_blank if len(read) == 1 else 0)


def label_files(source: FilePath) -> list[Path]:
    """Return the files that a source of `read_labels` stands for."""
    return list_files(split_column(source)[0], LABEL_FORMATS, "labels")


def split_column(source: FilePath) -> tuple[Path, str | None]:
    """Split "FILE", "FILE:COLUMN" or "FILE:KEY" into the file and the column or key.

    The names of files and columns may contain colons: the file ends at the first colon that follows the name of an
    existing file, or a folder or a pattern. A path that exists as a whole has no column.

    Returns
    -------
    path : Path
    column : str or None
        None for a file alone.
    """
    text = str(source)
    if Path(text).is_dir():
        return Path(text), None
    if Path(text).exists():
        return existing_file(text), None
    splits = [(Path(text[:at]), text[at + 1 :]) for at, character in enumerate(text) if character == ":"]
    for path, column in splits:
        if path.is_file():
            return existing_file(path), column
    many = next(((path, column) for path, column in splits if stands_for_many(path)), None)
    if many is not None or stands_for_many(Path(text)):
        return many or (Path(text), None)
    # Nothing exists: the error names the first part that looks like a file of labels.
    named = [path for path, _ in splits if path.suffix.lower() in LABEL_FORMATS]
    return existing_file(named[0] if named else text), None


def _from_array(path: Path, column: str | None) -> TakenLabels:
    is_keyed = path.suffix.lower() in KEYED_FORMATS
    stored = open_array(path, column if is_keyed else None, 1)
    taken = Taken(stored.name or None)
    if stored.dtype.kind not in "biufUSO":
        raise ValueError(f"{stored.place} holds {stored.dtype} values: expected numbers or strings.")
    array = stored.read(...)
    if column is not None and not is_keyed:
        if array.ndim != 2:
            raise ValueError(f"{path} has shape {array.shape} and no column {column!r}: omit the column.")
        number = find_column(path, (), array.shape[1], column)
        array, taken = array[:, number], Taken(columns=(number,))
    if array.ndim == 2 and array.shape[1] != 1:
        return TakenLabels(_zeros_and_ones(path, array, 0), taken)
    if array.ndim not in (1, 2):
        raise ValueError(f"{path} has shape {array.shape}: expected one label per row, or a 0/1 matrix.")
    labels = np.array(array.reshape(len(array)))
    if labels.dtype.kind == "S":
        labels = _decoded(stored.place, labels)
    return TakenLabels(_strings(labels.tolist()) if labels.dtype.kind == "O" else labels, taken)


def _decoded(place: str, labels: Labels) -> Labels:
    """Return bytes as text, which labels of other files are."""
    try:
        return np.strings.decode(labels, "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{place} holds bytes that are not UTF-8 ({error}): store strings.") from None


def _from_lines(path: Path, column: str | None) -> TakenLabels:
    return _from_cells(cells_of_lines(path, column))


def _from_text(path: Path, column: str | None) -> TakenLabels:
    table = TextTable(path)
    table.check_not_empty()
    if column is None and table.n_columns > 1:
        return _indicator(path, table.names or range(table.n_columns))
    return _from_cells(cells_of_column(table, column))


def _from_arrow(path: Path, column: str | None) -> TakenLabels:
    file = open_arrow(path)
    names = file.names
    if column is None and len(names) > 1:
        return _indicator(path, names)
    number = find_column(path, names, len(names), 0 if column is None else column)
    name = file.name_of(number)
    values: list[Any] = []
    for _, batch in file.batches([name]):
        # Python lacks some dates, durations and time zones of Arrow.
        try:
            values += batch.column(name).to_pylist()
        except (ArithmeticError, LookupError, ValueError) as error:
            kind = batch.column(name).type
            raise ValueError(f"{path}: column {shown(name)} holds a {kind} that Python lacks ({error}).") from error
    if any(isinstance(value, list) for value in values):
        return _indicator(path, [names[0] if column is None else column])
    return TakenLabels(_from_values(values), Taken(columns=(name,)))


def _from_values(values: list[Any]) -> Labels:
    """Return values of Python as numbers if all of them are, otherwise as strings; None is a missing label."""
    is_long = any(isinstance(value, int) and abs(value) >= LONG for value in values)
    if all(isinstance(value, bool | int) for value in values):
        return np.array(values, np.uint64 if max(values, default=0) >= 2**63 else None)
    if not is_long and all(value is None or isinstance(value, bool | int | float) for value in values):
        return np.array([np.nan if value is None else value for value in values])
    return _strings(values)


LABEL_FORMATS: dict[str, Callable[[Path, str | None], TakenLabels]] = {
    **dict.fromkeys(ARRAY_FORMATS, _from_array),
    **dict.fromkeys(DELIMITERS, _from_text),
    ".txt": _from_lines,
    **dict.fromkeys(ARROW_FORMATS, _from_arrow),
}


def _indicator(path: Path, columns: Sequence[Column]) -> TakenLabels:
    """Read columns as a 0/1 matrix; the error for other values asks for the column of the labels."""
    blocks = []
    done = 0
    try:
        for block in open_vectors(path, columns=columns).blocks(ROWS_AT_ONCE):
            blocks.append(_zeros_and_ones(path, block, done))
            done += len(block)
    except ValueError as error:
        names = listing([str(column) for column in columns])
        raise ValueError(f"{error} For labels in one column, pass {path}:COLUMN with one of {names}.") from error
    return TakenLabels(np.concatenate(blocks), Taken(columns=tuple(columns)))


def _zeros_and_ones(path: Path, rows: NDArray[Any], first: int) -> NDArray[np.uint8]:
    wrong = np.argwhere((rows != 0) & (rows != 1)) if rows.dtype.kind in "biuf" else np.zeros((1, 2), int)
    if len(wrong):
        row, column = wrong[0]
        raise ValueError(
            f"{path} has {rows.shape[1]} columns, but row {first + row}, column {column} holds {rows[row, column]}: "
            "expected one column of labels, or a matrix of 0 and 1."
        )
    return rows.astype(np.uint8)


def _from_cells(cells: Cells) -> TakenLabels:
    return TakenLabels(_labels_of(cells.values), cells.taken, cells.n_blank)


def _labels_of(cells: list[str]) -> Labels:
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
