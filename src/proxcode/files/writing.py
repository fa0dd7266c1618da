"""Tables to files, whole or not at all."""

import csv
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.files._arrow import import_arrow
from proxcode.files._base import FilePath, by_suffix
from proxcode.files._text import DELIMITERS
from proxcode.storage.atomic import atomic_write

Columns = dict[str, NDArray[Any]]


def write_table(path: FilePath, columns: Mapping[str, ArrayLike]) -> None:
    """Write columns of equal length; the format goes by the suffix.

    Parameters
    ----------
    path : path
        A file `.csv`, `.tsv`, `.npz` or `.parquet`. It is written beside its place and takes it when it is whole.
    columns : mapping of str to array
        A matrix is a column of lists in Parquet, an array in npz, and in text one column for each of its own, named
        NAME_0, NAME_1, ... A missing label, None, is an empty cell of text, and an empty string in npz.
    """
    path = Path(path)
    write = check_table_name(path)
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    if not arrays:
        raise ValueError(f"there are no columns to write to {path}: give at least one.")
    n_rows = len(np.atleast_1d(next(iter(arrays.values()))))
    for name, array in arrays.items():
        if array.ndim not in (1, 2) or len(array) != n_rows:
            raise ValueError(
                f"column {name!r} for {path} has shape {array.shape}: give {n_rows} rows, as in the first."
            )
    with atomic_write(path) as partial:
        write(partial, arrays, path)


def check_table_name(path: Path) -> Callable[[Path, Columns, Path], None]:
    """Return what writes such a file; refuse a suffix that nothing writes."""
    return by_suffix(path, _WRITERS)


def _write_text(partial: Path, columns: Columns, path: Path) -> None:
    flat: Columns = {}
    for name, array in columns.items():
        parts = {name: array} if array.ndim == 1 else {f"{name}_{k}": column for k, column in enumerate(array.T)}
        if twice := sorted(flat.keys() & parts):
            raise ValueError(f"{path} would have two columns {twice[0]!r}: rename one.")
        flat |= parts
    with partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=DELIMITERS[path.suffix.lower()], lineterminator="\n")
        writer.writerow(flat)
        writer.writerows(zip(*map(_texts, flat.values()), strict=True))


def _texts(column: NDArray[Any]) -> list[str]:
    """Return values as the shortest text that gives them back."""
    if column.dtype == object:
        return ["" if value is None else str(value) for value in column.tolist()]
    return column.astype(np.str_).tolist()


def _write_npz(partial: Path, columns: Columns, path: Path) -> None:
    # np.savez has no room for columns that are called as its own parameters.
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


_WRITERS: dict[str, Callable[[Path, Columns, Path], None]] = {
    **dict.fromkeys(DELIMITERS, _write_text),
    ".npz": _write_npz,
    ".parquet": _write_parquet,
}
