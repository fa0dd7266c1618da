"""What the readers of all formats share: blocks of rows, the choice of columns, and error messages."""

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Reader = TypeVar("Reader")
FilePath = str | os.PathLike[str]
Column = str | int

# Rows of a block where the caller does not choose the size.
ROWS_AT_ONCE = 8192
# Names that an error message lists before it says how many more there are.
MAX_LISTED = 20


class Choice(NamedTuple):
    """The part of a file to read: an array by its key, columns to take (None: all), columns to drop."""

    key: str | None = None
    columns: Sequence[Column] | None = None
    drop: Sequence[Column] = ()


class Vectors(ABC):
    """Rows of numbers in a file.

    Attributes
    ----------
    path : Path
    n_rows : int or None
        None if the number is unknown before the whole file is read.
    n_columns : int
    dtype : dtype
        Type of the blocks, in native byte order.
    """

    path: Path
    n_rows: int | None
    n_columns: int
    dtype: np.dtype[Any]

    def blocks(self, size: int, start: int = 0) -> Iterator[NDArray[Any]]:
        """Return the rows from `start` on as arrays of `size` rows; the last may be shorter.

        Memory is that of one block, whatever the size of the file.
        """
        if size < 1:
            raise ValueError(f"size={size}: expected at least 1 row per block.")
        if start < 0 or (self.n_rows is not None and start > self.n_rows):
            raise ValueError(f"start={start}: {self.path} has rows 0 to {(self.n_rows or 1) - 1}.")
        return self._blocks(size, start)

    @abstractmethod
    def _blocks(self, size: int, start: int) -> Iterator[NDArray[Any]]:
        """Yield the blocks for a valid `size` and `start`."""

    def read(self) -> NDArray[Any]:
        """Return all rows, as a memory map if the format allows it."""
        if self.n_rows is None:
            return np.concatenate(list(self.blocks(ROWS_AT_ONCE)))
        out = np.empty((self.n_rows, self.n_columns), self.dtype)
        done = 0
        for block in self.blocks(ROWS_AT_ONCE):
            out[done : done + len(block)] = block
            done += len(block)
        return out


class MatrixVectors(Vectors):
    """A matrix of known shape in a file; subclasses read a range of its rows."""

    def __init__(
        self, path: Path, shape: tuple[int, ...], dtype: np.dtype[Any], choice: Choice, name: str = ""
    ) -> None:
        check_matrix(place(path, name), shape, dtype)
        self.path = path
        self.n_rows = shape[0]
        self.dtype = dtype.newbyteorder("=")
        self._chosen = None if choice.columns is None and not choice.drop else choose(path, (), shape[1], choice)
        self.n_columns = shape[1] if self._chosen is None else len(self._chosen)

    def _native(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of rows in memory: the chosen columns, in native byte order."""
        return np.array(rows if self._chosen is None else rows[:, self._chosen], dtype=self.dtype, order="C")


class MappedVectors(MatrixVectors):
    """A matrix that can be memory-mapped."""

    @abstractmethod
    def _map(self) -> NDArray[Any]:
        """Return a new memory map of the matrix."""

    def _blocks(self, size: int, start: int) -> Iterator[NDArray[Any]]:
        for first in range(start, self.n_rows or 0, size):
            # A new map for each block releases the pages of the previous one.
            yield self._native(self._checked(self._map()[first : first + size], first))

    def _checked(self, rows: NDArray[Any], first: int) -> NDArray[Any]:
        return rows

    def read(self) -> NDArray[Any]:
        """Return all rows, as a memory map if all columns are taken."""
        rows = self._checked(self._map(), 0)
        return rows if self._chosen is None and rows.dtype == self.dtype else self._native(rows)


def rebatch(parts: Iterable[NDArray[Any]], size: int) -> Iterator[NDArray[Any]]:
    """Yield the rows of parts of any length in blocks of `size` rows."""
    held: list[NDArray[Any]] = []
    n_held = 0
    for part in parts:
        rest = part
        while len(rest):
            taken, rest = rest[: size - n_held], rest[size - n_held :]
            held.append(taken)
            n_held += len(taken)
            if n_held == size:
                yield np.concatenate(held)
                held, n_held = [], 0
    if held:
        yield np.concatenate(held)


def existing_file(path: FilePath) -> Path:
    """Return the path of a file that exists and is not empty; raise an error otherwise."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name a file in it.")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}: check its name and folder.")
    with path.open("rb") as file:
        if not file.read(1):
            raise ValueError(f"{path} is empty: write it again.")
    return path


def by_suffix(path: Path, readers: Mapping[str, Reader]) -> Reader:
    """Return the reader of a file; raise ValueError for an unknown suffix."""
    suffix = path.suffix.lower()
    if suffix not in readers:
        known = ", ".join(name or "none" for name in readers)
        raise ValueError(f"{path} has the unknown suffix {suffix!r}: expected one of {known}.")
    return readers[suffix]


@contextmanager
def readable(path: Path, form: str, *errors: type[Exception]) -> Iterator[None]:
    """Replace an error of another library by a ValueError that names the file."""
    try:
        yield
    except errors as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path} is truncated or not a valid {form} file ({reason}): write it again.") from error


def missing_package(path: Path, package: str) -> ValueError:
    """Return the error for an optional package that reading or writing a file requires."""
    return ValueError(f"{path} requires {package}, which is not installed: pip install 'proxcode[tables]'.")


def no_key(path: Path, choice: Choice) -> None:
    """Raise ValueError for a key where a file holds a single array."""
    if choice.key is not None:
        raise ValueError(f"key={choice.key!r}: {path} has no keys; only npz, safetensors and HDF5 files have.")


def place(path: Path, name: str) -> str:
    """Return the name of an array of a file, as FILE:KEY."""
    return f"{path}:{name}" if name else f"{path}"


def check_matrix(where: str, shape: Sequence[int], dtype: np.dtype[Any]) -> None:
    """Raise ValueError unless an array is a matrix of real numbers with rows and columns."""
    if dtype.kind not in "biuf":
        raise ValueError(f"{where} holds {dtype} values: expected real numbers, such as float32.")
    if len(shape) != 2:
        raise ValueError(f"{where} has shape {tuple(shape)}: expected a matrix of shape (rows, columns).")
    if 0 in shape:
        raise ValueError(f"{where} has shape {tuple(shape)}: expected at least one row and one column.")


def choose(path: Path, names: Sequence[str], n_columns: int, choice: Choice) -> list[int]:
    """Return the numbers of the columns to take."""
    taken = range(n_columns) if choice.columns is None else choice.columns
    numbers = [find_column(path, names, n_columns, column) for column in taken]
    dropped = {find_column(path, names, n_columns, column) for column in choice.drop}
    numbers = [number for number in numbers if number not in dropped]
    if not numbers:
        raise ValueError(f"{path}: no column is chosen of {n_columns}: expected at least one.")
    return numbers


def find_column(path: Path, names: Sequence[str], n_columns: int, column: Column) -> int:
    """Return the number of a column given by its name or by its number, from 0."""
    if isinstance(column, str) and column in names:
        if names.count(column) > 1:
            raise ValueError(f"{path} has {names.count(column)} columns {column!r}: choose by number, from 0.")
        return names.index(column)
    if str(column).isdecimal() and int(column) < n_columns:
        return int(column)
    known = listing(names) if names else f"0 to {n_columns - 1}"
    raise ValueError(f"{path} has no column {column!r}: expected one of {known}.")


def listing(names: Collection[str]) -> str:
    """Return names separated by commas, at most the first `MAX_LISTED`."""
    shown = ", ".join(list(names)[:MAX_LISTED])
    return shown if len(names) <= MAX_LISTED else f"{shown} and {len(names) - MAX_LISTED} more"
