"""Samples in many files: rows that are read when they are needed, by whoever computes with them.

A worker of a cluster gets the names of files and the numbers of rows, and reads the rows itself: the files must have
the same names there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from proxcode.files._arrays import map_npy
from proxcode.files._arrow import ARROW_FORMATS, open_arrow
from proxcode.files._base import ROWS_AT_ONCE, Choice, Column, FilePath, Vectors, existing_file, listing
from proxcode.files.vectors import VECTOR_FORMATS, open_vectors
from proxcode.storage.listing import files_of
from proxcode.utils.samples import Samples

if TYPE_CHECKING:
    from proxcode.utils.engine import Engine
    from proxcode.utils.rows import Index


def open_samples(
    source: Any,
    *,
    key: str | None = None,
    columns: Sequence[Column] | str | None = None,
    drop: Sequence[Column] | str = (),
    engine: Engine | None = None,
) -> FileSamples:
    """Open the rows of one or many files as samples, which `fit` and `encode` read in blocks.

    Parameters
    ----------
    source : path, sequence of paths, or pyarrow.dataset.Dataset
        A file of any format of `open_vectors`, a folder, a pattern such as `vectors/*.parquet`, a list of files, or an
        Arrow dataset of Parquet or Arrow files. The files of a folder or pattern are taken in the order of their names.
    key, columns, drop
        As in `open_vectors`, the same for all files.
    engine : Engine, default=None
        Where sums over all samples are computed. None: in this process. See `proxcode.engines`.

    Returns
    -------
    FileSamples

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for k in range(2):
    ...         np.save(Path(folder, f"part{k}.npy"), np.full((3, 2), k, np.float32))
    ...     samples = open_samples(folder)
    ...     samples.shape, samples[[0, 5]]
    ((6, 2), array([[0., 0.],
           [1., 1.]], dtype=float32))
    """
    choice = Choice(
        key,
        (columns,) if isinstance(columns, str) else None if columns is None else tuple(columns),
        (drop,) if isinstance(drop, str) else tuple(drop),
    )
    return FileSamples(list_files(source), choice, engine)


def list_files(source: Any, formats: Collection[str] = VECTOR_FORMATS, kind: str = "vectors") -> list[Path]:
    """Return the files that a path, a folder, a pattern, a list of paths or an Arrow dataset stands for.

    Parameters
    ----------
    source : path, sequence of paths, or pyarrow.dataset.Dataset
    formats : collection of str
        Suffixes of the files that are taken of a folder.
    kind : str
        What the files hold, for the error message.
    """
    if hasattr(source, "files") and hasattr(source, "schema"):
        return [Path(file) for file in source.files]
    if not isinstance(source, str) and isinstance(source, Iterable):
        paths = [Path(path) for path in source]
        if not paths:
            raise ValueError("the list of files is empty: name at least one.")
        return paths
    path = Path(source)
    found = files_of(path)
    if found is None:
        return [path]
    if path.is_dir():
        found = [file for file in found if file.suffix.lower() in formats]
    if not found:
        known = ", ".join(formats)
        raise FileNotFoundError(f"{path} has no file of {kind}: expected files with one of the suffixes {known}.")
    return found


def is_empty(path: Path) -> bool:
    """Return whether a Parquet, Arrow or npy file has no rows, as one of many parts may."""
    suffix = path.suffix.lower()
    if suffix in ARROW_FORMATS:
        return open_arrow(existing_file(path)).n_rows == 0
    return suffix == ".npy" and map_npy(existing_file(path)).shape[:1] == (0,)


def stands_for_many(path: Path) -> bool:
    """Return whether a path is a folder or a pattern, not the name of a file."""
    return files_of(path) is not None


class FileSamples(Samples):
    """Samples in files, one file after another.

    Parameters
    ----------
    paths : sequence of paths
    choice : Choice
        The array or the columns to take of each file.
    engine : Engine, default=None

    Attributes
    ----------
    paths : list of Path
    starts : ndarray of int, shape (n_files + 1,)
        Number of the first sample of each file; the last entry is the number of samples.
    taken : Taken
        The array and the columns of the first file that the samples are taken of.
    """

    def __init__(self, paths: Sequence[FilePath], choice: Choice, engine: Engine | None = None) -> None:
        # Not parts without rows, as Spark writes them; if there are no others, the first one raises an error.
        listed = [Path(path).absolute() for path in paths]
        self.paths, self.choice = [path for path in listed if not is_empty(path)] or listed[:1], choice
        if engine is not None:
            self.engine = engine
        opened = [_opened(path, choice) for path in self.paths]
        n_columns, self.taken = opened[0].n_columns, opened[0].taken
        for vectors in opened:
            if vectors.n_columns != n_columns:
                raise ValueError(
                    f"{vectors.path} has {vectors.n_columns} features, but {self.paths[0]} has {n_columns}: choose "
                    "columns, or leave it out."
                )
            if vectors.names and opened[0].names and vectors.names != opened[0].names:
                raise ValueError(
                    f"the columns of {vectors.path} are {listing(vectors.names)}, but those of {self.paths[0]} "
                    f"{listing(opened[0].names)}: choose columns by name, or leave it out."
                )
        sizes = [_n_rows(vectors) for vectors in opened]
        self.starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self.shape = int(self.starts[-1]), n_columns
        self.dtype = _precision([vectors.dtype for vectors in opened])

    def reader(self, rows: slice | Index) -> FileRows:
        """Return a function that reads rows, a slice with both ends or row numbers in ascending order."""
        parts: list[tuple[Path, slice | Index]] = []
        if isinstance(rows, slice):
            first, last = np.searchsorted(self.starts, [rows.start, max(rows.start, rows.stop - 1)], side="right") - 1
            for number in range(first, min(last, len(self.paths) - 1) + 1):
                start, stop = self.starts[number], self.starts[number + 1]
                parts.append((self.paths[number], slice(max(0, rows.start - start), min(stop, rows.stop) - start)))
        else:
            places = np.searchsorted(rows, self.starts)
            for number, path in enumerate(self.paths):
                own = rows[places[number] : places[number + 1]]
                if len(own):
                    parts.append((path, own - self.starts[number]))
        return FileRows(tuple(parts), self.choice, self.shape[1], self.dtype)

    def place(self, row: int) -> tuple[Path, int]:
        """Return the file of a sample and its row in this file."""
        number = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.paths[number], row - int(self.starts[number])

    def place_note(self, row: int) -> str:
        """Return the file and the row of a sample, in brackets."""
        path, own_row = self.place(row)
        return f" (row {own_row} of {path})"

    def __repr__(self) -> str:
        return f"FileSamples({self.shape[0]:,} x {self.shape[1]} in {listing([path.name for path in self.paths])})"


@dataclass(frozen=True)
class FileRows:
    """Reads rows of files when it is called, on any machine that has the files."""

    parts: tuple[tuple[Path, Any], ...]
    choice: Choice
    n_columns: int
    dtype: np.dtype[Any]

    def __call__(self) -> NDArray[Any]:
        """Return the rows; raise ValueError where a file has other rows than when the samples were opened."""
        blocks = []
        for path, rows in self.parts:
            own = list(_read(_opened(path, self.choice), rows))
            n_rows = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
            if sum(map(len, own)) != n_rows or any(block.shape[1] != self.n_columns for block in own):
                raise ValueError(f"{path} has changed since it was opened: open the samples again.")
            blocks += own
        if len(blocks) == 1:
            return blocks[0].astype(self.dtype, copy=False)
        return np.concatenate([np.empty((0, self.n_columns), self.dtype), *blocks], dtype=self.dtype)


def _read(vectors: Vectors, rows: slice | Index) -> Iterable[NDArray[Any]]:
    """Yield rows of one file in blocks."""
    if isinstance(rows, slice):
        if rows.stop > rows.start and rows.start < (vectors.n_rows or rows.stop):
            yield from islice(vectors.blocks(rows.stop - rows.start, start=int(rows.start)), 1)
        return
    start = int(rows[0])
    if start >= (vectors.n_rows or start + 1):
        return
    for block in vectors.blocks(ROWS_AT_ONCE, start=start):
        own = rows[np.searchsorted(rows, start) : np.searchsorted(rows, start + len(block))]
        yield block[own - start]
        start += len(block)
        if start > rows[-1]:
            return


def _opened(path: Path, choice: Choice) -> Vectors:
    """Open a file; opened again, its header is not read again unless the file has changed."""
    status = existing_file(path).stat()
    return _opened_as_of(path, choice, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=4096)
def _opened_as_of(path: Path, choice: Choice, size: int, modified: int) -> Vectors:
    return open_vectors(path, key=choice.key, columns=choice.columns, drop=choice.drop)


def _n_rows(vectors: Vectors) -> int:
    """Return the number of rows, which for text only reading tells."""
    if vectors.n_rows is not None:
        return vectors.n_rows
    return sum(len(block) for block in vectors.blocks(ROWS_AT_ONCE))


def _precision(dtypes: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """Return the precision of samples: single where it holds the numbers of all files, as for arrays in memory."""
    is_single = all(dtype.kind in "biuf" and (dtype.itemsize <= 2 or dtype == np.float32) for dtype in dtypes)
    return np.dtype(np.float32 if is_single else np.float64)
