"""Tabular files, written atomically."""

import csv
import json
import math
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.files._arrow import import_arrow
from proxcode.files._base import FilePath, by_suffix
from proxcode.files._text import DELIMITERS
from proxcode.storage.atomic import atomic_write

Columns = dict[str, NDArray[Any]]
Writer = Callable[[Path, Columns, Path], None]


def write_table(path: FilePath, columns: Mapping[str, ArrayLike], *, overwrite: bool = True) -> None:
    """Write columns of equal length to a tabular file; the suffix determines the format.

    Parameters
    ----------
    path : path
        A file `.csv`, `.tsv`, `.jsonl` (one JSON object per line), `.npz` or `.parquet`.
    columns : mapping of str to array
        A matrix becomes a column of lists in Parquet and JSON, an array in npz, and columns NAME_0, NAME_1, ... in
        text. A missing label, None, becomes an empty cell in text, null in JSON, and an empty string in npz. NaN and
        infinity become null in JSON, which has neither.
    overwrite : bool, default=True
        Whether an existing file is replaced, once the new one is complete; if not, a FileExistsError is raised.
    """
    path = Path(path)
    write = check_suffix(path)
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    if not arrays:
        raise ValueError(f"no columns to write to {path}: expected at least one.")
    n_rows = len(np.atleast_1d(next(iter(arrays.values()))))
    for name, array in arrays.items():
        if array.ndim not in (1, 2) or len(array) != n_rows:
            raise ValueError(
                f"column {name!r} for {path} has shape {array.shape}: expected {n_rows} rows, as in the first column."
            )
    with atomic_write(path, overwrite=overwrite) as partial:
        write(partial, arrays, path)


def check_suffix(path: Path) -> Writer:
    """Return the writer for a file; raise ValueError for an unknown suffix."""
    return by_suffix(path, _WRITERS)


def _write_text(partial: Path, columns: Columns, path: Path) -> None:
    flat: Columns = {}
    for name, array in columns.items():
        parts = {name: array} if array.ndim == 1 else {f"{name}_{k}": column for k, column in enumerate(array.T)}
        if twice := sorted(flat.keys() & parts):
            raise ValueError(f"{path} would have two columns {twice[0]!r}: rename one of them.")
        flat |= parts
    with partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=DELIMITERS[path.suffix.lower()], lineterminator="\n")
        writer.writerow(flat)
        writer.writerows(zip(*map(_texts, flat.values()), strict=True))


def _texts(column: NDArray[Any]) -> list[str]:
    """Return values as the shortest text that represents them exactly, None as an empty string."""
    if column.dtype == object:
        return ["" if value is None else str(value) for value in column.tolist()]
    return column.astype(np.str_).tolist()


def _write_json_lines(partial: Path, columns: Columns, path: Path) -> None:
    with partial.open("w", encoding="utf-8") as file:
        write_json_lines(file, columns)


def write_json_lines(file: TextIO, columns: Columns) -> None:
    """Write a JSON object for each row to an open file."""
    for row in zip(*map(_json_values, columns.values()), strict=True):
        json.dump(dict(zip(columns, row, strict=True)), file, ensure_ascii=False, allow_nan=False)
        file.write("\n")


def _json_values(column: NDArray[Any]) -> list[Any]:
    """Return values that JSON has: a row of a matrix as a list, NaN and infinity as None, other objects as text."""
    if column.ndim == 2:
        return [_json_values(row) for row in column]
    if column.dtype.kind == "f":
        # The shortest text of a number in single precision has fewer digits than that of the same number in double.
        numbers = map(float, _texts(column))
        return [number if math.isfinite(number) else None for number in numbers]
    values = _texts(column) if column.dtype.kind in "SMm" else column.tolist()
    return [_json_value(value) for value in values] if column.dtype == object else values


def _json_value(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _write_npz(partial: Path, columns: Columns, path: Path) -> None:
    # np.savez takes columns as keyword arguments: a column "file" would collide with its own parameter.
    with zipfile.ZipFile(partial, "w") as archive:
        for name, array in columns.items():
            plain = np.array(_texts(array)) if array.dtype == object else array
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, plain, allow_pickle=False)


def _write_parquet(partial: Path, columns: Columns, path: Path) -> None:
    pa = import_arrow(path)
    fields = {}
    for name, array in columns.items():
        if array.ndim == 1:
            fields[name] = pa.array(array.tolist() if array.dtype.kind in "OUS" else array)
        else:
            fields[name] = pa.FixedSizeListArray.from_arrays(pa.array(array.ravel()), array.shape[1])
    pa.parquet.write_table(pa.table(fields), partial)


_WRITERS: dict[str, Writer] = {
    **dict.fromkeys(DELIMITERS, _write_text),
    ".jsonl": _write_json_lines,
    ".npz": _write_npz,
    ".parquet": _write_parquet,
}
