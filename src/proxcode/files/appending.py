"""Tabular files written block by block, atomically: memory is that of one block."""

import csv
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from proxcode.files._arrow import import_arrow
from proxcode.files._base import FilePath, by_suffix
from proxcode.files._text import DELIMITERS
from proxcode.files.writing import write_json_lines
from proxcode.storage.atomic import atomic_write

# Appends a block: one array per column, of equal lengths, in the order of the columns.
Append = Callable[[list[NDArray[Any]]], None]
Types = dict[str, np.dtype[Any]]
Appender = Callable[[Path, Types, Path], AbstractContextManager[Append]]


@contextmanager
def append_table(
    path: FilePath, types: Mapping[str, DTypeLike], *, overwrite: bool = True
) -> Iterator[Callable[..., None]]:
    """Yield a function that appends blocks of rows to a new tabular file; the suffix determines the format.

    The file has its name once the block of the `with` statement ends; after an error or an interrupt there is no file,
    or the old one.

    Parameters
    ----------
    path : path
        A file `.csv`, `.tsv`, `.jsonl`, `.npz` or `.parquet`.
    types : mapping of str to dtype
        Names of the columns and types of their numbers; `object` for text, which an `.npz` file cannot take.
    overwrite : bool, default=True
        Whether an existing file is replaced; if not, a FileExistsError is raised.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "squares.csv")
    ...     with append_table(path, {"number": int, "square": int}) as append:
    ...         for start in (0, 2):
    ...             numbers = np.arange(start, start + 2)
    ...             append(numbers, numbers**2)
    ...     print(path.read_text())
    number,square
    0,0
    1,1
    2,4
    3,9
    <BLANKLINE>
    """
    path = Path(path)
    appender = by_suffix(path, _APPENDERS)
    dtypes = {name: np.dtype(kind) for name, kind in types.items()}
    with atomic_write(path, overwrite=overwrite) as partial, appender(partial, dtypes, path) as append:

        def append_block(*columns: NDArray[Any]) -> None:
            append([np.asarray(column, kind) for column, kind in zip(columns, dtypes.values(), strict=True)])

        yield append_block


@contextmanager
def _append_text(partial: Path, types: Types, path: Path) -> Iterator[Append]:
    with partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=DELIMITERS[path.suffix.lower()], lineterminator="\n")
        writer.writerow(types)
        yield lambda columns: writer.writerows(zip(*(column.tolist() for column in columns), strict=True))


@contextmanager
def _append_json_lines(partial: Path, types: Types, path: Path) -> Iterator[Append]:
    with partial.open("w", encoding="utf-8") as file:
        yield lambda columns: write_json_lines(file, dict(zip(types, columns, strict=True)))


@contextmanager
def _append_npz(partial: Path, types: Types, path: Path) -> Iterator[Append]:
    if any(dtype.kind == "O" for dtype in types.values()):
        raise ValueError(f"{path}: text cannot be appended to an .npz file; write .csv, .tsv, .jsonl or .parquet.")
    with ExitStack() as stack:
        # The length of an array comes before its values: these are kept in files without a name, which no one else
        # sees and which end with the process.
        files = [stack.enter_context(tempfile.TemporaryFile(dir=path.parent)) for _ in types]

        def append(columns: list[NDArray[Any]]) -> None:
            for file, column in zip(files, columns, strict=True):
                file.write(np.ascontiguousarray(column).data)

        yield append
        with zipfile.ZipFile(partial, "w") as archive:
            for file, (name, dtype) in zip(files, types.items(), strict=True):
                header = {"descr": dtype.str, "fortran_order": False, "shape": (file.tell() // dtype.itemsize,)}
                file.seek(0)
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array_header_1_0(entry, header)
                    shutil.copyfileobj(file, entry, 2**20)


@contextmanager
def _append_parquet(partial: Path, types: Types, path: Path) -> Iterator[Append]:
    pa = import_arrow(path)
    kinds = [pa.string() if dtype.kind == "O" else pa.from_numpy_dtype(dtype) for dtype in types.values()]
    schema = pa.schema(list(zip(types, kinds, strict=True)))
    with pa.parquet.ParquetWriter(partial, schema) as writer:
        yield lambda columns: writer.write_batch(pa.record_batch([pa.array(column) for column in columns], schema))


_APPENDERS: dict[str, Appender] = {
    **dict.fromkeys(DELIMITERS, _append_text),
    ".jsonl": _append_json_lines,
    ".npz": _append_npz,
    ".parquet": _append_parquet,
}
