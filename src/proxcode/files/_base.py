"""What all tables share: rows in blocks, the choice of columns, and the sentences that say what is wrong."""

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
ROWS_AT_ONCE = 8192


class Choice(NamedTuple):
    """What a user asks for: the array of a file by its key, columns to take (None: all) and to leave out."""

    key: str | None = None
    columns: Sequence[str | int] | None = None
    drop: Sequence[str | int] = ()


class Vectors(ABC):
    """The rows of a table of numbers.

    Attributes
    ----------
    path : Path
    n_rows : int or None
        None where it is not known without reading all.
    n_columns : int
    dtype : dtype
        Of the blocks, in the byte order of this machine.
    """

    path: Path
    n_rows: int | None
    n_columns: int
    dtype: np.dtype[Any]

    def blocks(self, size: int, start: int = 0) -> Iterator[NDArray[Any]]:
        """Return the rows from `start` on as arrays of `size` rows; the last may be shorter.

        Memory is that of a block, whatever the size of the file.
        """
        if size < 1:
            raise ValueError(f"size={size}: a block has at least 1 row.")
        if start < 0 or (self.n_rows is not None and start > self.n_rows):
            raise ValueError(f"start={start}: {self.path} has rows 0 to {(self.n_rows or 1) - 1}.")
        return self._blocks(size, start)

    @abstractmethod
    def _blocks(self, size: int, start: int) -> Iterator[NDArray[Any]]:
        """Give the blocks; `size` and `start` are checked."""

    def read(self) -> NDArray[Any]:
        """Return all rows, as a memory map where the format allows it."""
        if self.n_rows is None:
            return np.concatenate(list(self.blocks(ROWS_AT_ONCE)))
        out = np.empty((self.n_rows, self.n_columns), self.dtype)
        done = 0
        for block in self.blocks(ROWS_AT_ONCE):
            out[done : done + len(block)] = block
            done += len(block)
        return out


class MatrixVectors(Vectors):
    """A matrix of known shape in a file; subclasses say how it is sliced."""

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
        """Return a copy in memory of rows of the file: the chosen columns, in this machine's byte order."""
        return np.array(rows if self._chosen is None else rows[:, self._chosen], dtype=self.dtype, order="C")


class MappedVectors(MatrixVectors):
    """A matrix that can be mapped."""

    @abstractmethod
    def _map(self) -> NDArray[Any]:
        """Map the matrix anew."""

    def _blocks(self, size: int, start: int) -> Iterator[NDArray[Any]]:
        for first in range(start, self.n_rows or 0, size):
            # A map for each block: pages that were read are given back with it.
            yield self._native(self._checked(self._map()[first : first + size], first))

    def _checked(self, rows: NDArray[Any], first: int) -> NDArray[Any]:
        return rows

    def read(self) -> NDArray[Any]:
        """Return all rows, mapped where all columns are taken."""
        rows = self._checked(self._map(), 0)
        return rows if self._chosen is None and rows.dtype == self.dtype else self._native(rows)


def rebatch(parts: Iterable[NDArray[Any]], size: int, skip: int) -> Iterator[NDArray[Any]]:
    """Leave out the first `skip` rows of parts of any length and give the rest in blocks of `size` rows."""
    held: list[NDArray[Any]] = []
    n_held = 0
    for part in parts:
        rest = part[skip:]
        skip -= len(part) - len(rest)
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
    """Return the path of a file that is there and holds something, or say what is wrong."""
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
    """Return the reader for a file, or list the suffixes there are."""
    suffix = path.suffix.lower()
    if suffix not in readers:
        raise ValueError(
            f"{path} has the suffix {suffix!r}: use one of {', '.join(name or 'none' for name in readers)}."
        )
    return readers[suffix]


@contextmanager
def readable(path: Path, form: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn a library's error into a sentence that names the file."""
    try:
        yield
    except errors as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path} is cut short or no {form} file ({reason}): copy or make it again.") from error


def no_key(path: Path, choice: Choice) -> None:
    """Refuse a key where a file holds one array only."""
    if choice.key is not None:
        raise ValueError(f"{path} takes no key, got {choice.key!r}: only npz, safetensors and h5 files have keys.")


def place(path: Path, name: str) -> str:
    """Name an array of a file."""
    return f"{path}:{name}" if name else f"{path}"


def check_matrix(where: str, shape: Sequence[int], dtype: np.dtype[Any]) -> None:
    """Refuse what is no table of real numbers."""
    if dtype.kind not in "biuf":
        raise ValueError(f"{where} holds {dtype} values: vectors are real numbers, store them as float32.")
    if len(shape) != 2:
        raise ValueError(
            f"{where} has shape {tuple(shape)}: vectors are the rows of a matrix, reshape to (rows, columns)."
        )
    if 0 in shape:
        raise ValueError(f"{where} is an empty table of shape {tuple(shape)}: give at least one row and one column.")


def choose(path: Path, names: Sequence[str], n_columns: int, choice: Choice) -> list[int]:
    """Return the numbers of the columns to take."""
    taken = range(n_columns) if choice.columns is None else choice.columns
    numbers = [find_column(path, names, n_columns, column) for column in taken]
    dropped = {find_column(path, names, n_columns, column) for column in choice.drop}
    numbers = [number for number in numbers if number not in dropped]
    if not numbers:
        raise ValueError(f"{path}: no column is left of {n_columns}: take at least one.")
    return numbers


def find_column(path: Path, names: Sequence[str], n_columns: int, column: str | int) -> int:
    """Return the number of a column given by its name or, counted from 0, by its number."""
    if isinstance(column, str) and column in names:
        if names.count(column) > 1:
            raise ValueError(f"{path} has {names.count(column)} columns {column!r}: give the number, from 0, instead.")
        return names.index(column)
    if str(column).isdecimal() and int(column) < n_columns:
        return int(column)
    known = listing(names) if names else f"0 to {n_columns - 1}"
    raise ValueError(f"{path} has no column {column!r}: it has {known}.")


def listing(names: Collection[str]) -> str:
    """Return names as prose; of many, the first twenty."""
    shown = ", ".join(list(names)[:20])
    return shown if len(names) <= 20 else f"{shown} and {len(names) - 20} more"
