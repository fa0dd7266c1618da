"""What the readers of all formats share: blocks of rows, the choice of columns, and error messages."""

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Reader = TypeVar("Reader")
FilePath = str | os.PathLike[str]
Column = str | int

# Rows of a block where the caller does not choose the size.
ROWS_AT_ONCE = 8192
# Bytes of values per byte of a file above which its number of rows is not trusted: the limit of zlib's compression.
MAX_RATIO = 1032
# Names that an error message lists before it says how many more there are.
MAX_LISTED = 20
# Characters of a cell, of a name and of the reason given by another library that an error message shows.
MAX_CELL, MAX_REASON = 60, 300
# Digits of an integer that fits into int64.
MAX_DIGITS = 18


class Choice(NamedTuple):
    """The part of a file to read: an array by its key, columns to take (None: all), columns to drop."""

    key: str | None = None
    columns: Sequence[Column] | None = None
    drop: Sequence[Column] = ()


class Taken(NamedTuple):
    """What was taken of a file.

    Attributes
    ----------
    array : str or None
        Name of the array; None where the file has no names of arrays.
    columns : tuple of str or int, or None
        Names of the columns, or their numbers where they have no names; None for all columns of an array.
    """

    array: str | None = None
    columns: tuple[Column, ...] | None = None


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
    names : sequence of str
        Names of the columns taken, in order; empty where they have none.
    taken : Taken
        The array and the columns that the rows were taken of.
    """

    path: Path
    n_rows: int | None
    n_columns: int
    dtype: np.dtype[Any]
    names: Sequence[str] = ()
    taken: Taken = Taken()

    def blocks(self, size: int, start: int = 0) -> Iterator[NDArray[Any]]:
        """Return the rows from `start` on as arrays of `size` rows; the last may be shorter.

        Memory is that of one block, whatever the size of the file.
        """
        if size < 1:
            raise ValueError(f"size={size}: expected at least 1 row per block.")
        if start < 0 or (self.n_rows is not None and start > self.n_rows):
            raise bad_start(self.path, start, self.n_rows or 1)
        return self._blocks(size, start)

    @abstractmethod
    def _blocks(self, size: int, start: int) -> Iterator[NDArray[Any]]:
        """Yield the blocks for a valid `size` and `start`."""

    def check_finite(self, block: NDArray[Any], first: int) -> None:
        """Raise ValueError for NaN and infinity in a block whose first row is row `first` of the file."""
        if np.isfinite(block.sum(dtype=np.float64)) or (finite := np.isfinite(block)).all():
            return
        row, column = np.argwhere(~finite)[0]
        raise ValueError(
            f"{self.path} contains {block[row, column]} in row {first + row}, column {column}: drop these rows or "
            "impute their values."
        )

    def check_features(self, n_features: int) -> None:
        """Raise ValueError unless the vectors have as many features as a model was fitted to."""
        if self.n_columns != n_features:
            raise ValueError(
                f"{self.path} has {self.n_columns} features, but the model was fitted to {n_features}: choose columns, "
                "or another file."
            )

    def read(self) -> NDArray[Any]:
        """Return all rows, as a memory map if the format allows it."""
        n_values = (self.n_rows or 0) * self.n_columns
        if self.n_rows is None or n_values * self.dtype.itemsize > MAX_RATIO * self.path.stat().st_size:
            out = np.concatenate([np.empty((0, self.n_columns), self.dtype), *self.blocks(ROWS_AT_ONCE)])
            done = len(out)
        else:
            out, done = np.empty((self.n_rows, self.n_columns), self.dtype), 0
            for block in self.blocks(ROWS_AT_ONCE):
                out[done:][: len(block)] = block[: len(out) - done]
                done += len(block)
        if self.n_rows not in (None, done):
            raise ValueError(f"{self.path} has {done} rows, but announces {self.n_rows}: write it again.")
        return out


def bad_start(path: Path, start: int, n_rows: int) -> ValueError:
    """Return the error for a first row that a file does not have."""
    return ValueError(f"start={start}: {path} has rows 0 to {n_rows - 1}.")


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
        reason = shortened(" ".join(str(error).split()) or type(error).__name__, MAX_REASON)
        raise ValueError(f"{path} is truncated or not a valid {form} file ({reason}): write it again.") from error


def import_optional(path: Path, package: str) -> Any:
    """Import an optional package that reading or writing a file requires; raise ValueError if it is not installed."""
    try:
        return import_module(package)
    except ImportError:
        raise ValueError(
            f"{path} requires {package}, which is not installed: pip install 'proxcode[tables]'."
        ) from None


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
    number = integer(str(column))
    if number is not None and number < n_columns:
        return number
    known = listing(names) if names else f"0 to {n_columns - 1}"
    raise ValueError(f"{path} has no column {shown(column)}: expected one of {known}.")


def integer(cell: str) -> int | None:
    """Return a cell of at most 18 decimal digits as an integer, None for any other."""
    return int(cell) if cell.isdecimal() and len(cell) <= MAX_DIGITS else None


def shown(value: Any) -> str:
    """Return a value as an error message shows it: text in quotes, and shortened where it is long."""
    return repr(shortened(value, MAX_CELL) if isinstance(value, str) else value)


def shortened(text: str, length: int) -> str:
    """Return a text, or its beginning followed by dots if it is longer."""
    return text if len(text) <= length else f"{text[:length]}..."


def listing(names: Collection[str]) -> str:
    """Return names separated by commas, at most the first `MAX_LISTED`."""
    first = ", ".join(shortened(name, MAX_CELL) for name in list(names)[:MAX_LISTED])
    return first if len(names) <= MAX_LISTED else f"{first} and {len(names) - MAX_LISTED} more"
