"""Samples that need not be in memory, and sums over them that do not depend on where they are computed.

1. The rows are divided into pieces of 65,536, fewer where they have more than 1,024 features. A piece is one task of an
   engine (`utils/engine.py`): a worker reads it.
2. A piece is divided into blocks, whose size the caller chooses. The blocks of a piece are computed on all cores.
3. Sums over the blocks of a piece are added up in order, then those of the pieces: the same digits for any engine and
   any number of workers.

`InMemory` is an array; `proxcode.files.open_samples` gives samples in files. Both take the same way, so that a model
fitted to files equals one fitted to an array.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from proxcode.utils.blocks import BLOCK, map_blocks
from proxcode.utils.engine import LOCAL, Engine
from proxcode.utils.progress import progress_of_pass
from proxcode.utils.rows import Index, Rows

# Rows of a piece, which are read at once.
PIECE = 65_536
# Largest number of values in a piece: wide samples have fewer rows in a piece, a multiple of PIECE_UNIT.
PIECE_VALUES, PIECE_UNIT = 2**26, 8192

Matrix = NDArray[Any]
Reader = Callable[[], Matrix]
Sums = tuple[NDArray[np.float64], ...]
T = TypeVar("T")


class Samples(ABC):
    """Rows of numbers, in memory or in files.

    Attributes
    ----------
    shape : tuple of int
        Numbers of samples and of features.
    dtype : dtype
        float32 or float64.
    engine : Engine
        What `map` and `sum` are computed by.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    engine: Engine = LOCAL

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """Memory that all samples would take, in bytes."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    @abstractmethod
    def reader(self, rows: slice | Index) -> Reader:
        """Return a function that reads rows, given as a slice with both ends or in ascending order.

        It can be pickled and is small where samples are in files.
        """

    def __getitem__(self, rows: Rows) -> Matrix:
        """Read rows into memory: a slice, row numbers in any order, or a boolean for each sample."""
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step != 1:
                return self[np.arange(start, stop, step)]
            return self.reader(slice(start, max(start, stop)))()
        rows = _row_numbers(rows, len(self))
        if len(rows) < 2 or (np.diff(rows) > 0).all():
            return self.reader(rows)()
        distinct, place = np.unique(rows, return_inverse=True)
        return self.reader(distinct)()[place]

    def map(
        self, function: Callable[..., T], size: int = BLOCK, along: Sequence[NDArray[Any]] = ()
    ) -> Iterator[tuple[slice, T]]:
        """Yield `(rows, function(samples, *values))` for consecutive blocks, in order.

        Parameters
        ----------
        function : callable
            Takes a block of samples and the rows of `along` that belong to it. Where the engine is a cluster it can be
            pickled, and what it holds is sent to each worker once.
        size : int
            Rows of a block.
        along : sequence of arrays with a row for each sample
        """
        for piece, results in self._computed(_Mapped(function, size), along):
            for k, result in enumerate(results):
                start = piece.start + k * size
                yield slice(start, min(start + size, piece.stop)), result

    def sum(self, function: Callable[..., Sums], size: int = BLOCK, along: Sequence[NDArray[Any]] = ()) -> Sums:
        """Return the sums of `function(samples, *values)`, a tuple of arrays, over blocks; parameters as in `map`."""
        totals: Sums | None = None
        for _, sums in self._computed(_Summed(function, size), along):
            totals = _added(totals, sums)
        if totals is None:
            raise ValueError("there are no samples: expected at least one.")
        return totals

    def select(self, rows: Index) -> Samples:
        """Return some of the samples, given by ascending row numbers; returns self if all rows are chosen.

        Samples in files are not read.
        """
        return self if len(rows) == len(self) else Selected(self, rows)

    def place_note(self, row: int) -> str:
        """Return where a row lies, in brackets, for an error message; nothing where there is no more to say."""
        return ""

    @cached_property
    def scan(self) -> Scan:
        """Limits and digests of all samples, from one pass over them."""
        return Scan.joined(list(self.map(scan_of, PIECE)))

    def _computed(self, function: _Mapped, along: Sequence[NDArray[Any]]) -> Iterator[tuple[_Piece, Any]]:
        """Yield the pieces and what a function gives for them; show progress where there are several."""
        size = min(PIECE, max(1, PIECE_VALUES // max(1, self.shape[1]) // PIECE_UNIT) * PIECE_UNIT)
        slices = [slice(start, min(start + size, len(self))) for start in range(0, len(self), size)]
        pieces = [
            _Piece(rows.start, rows.stop, self.reader(rows), tuple(values[rows] for values in along)) for rows in slices
        ]
        with progress_of_pass(len(self), len(pieces)) as progress:
            for piece, result in zip(pieces, self.engine.map(function, pieces), strict=True):
                yield piece, result
                progress.update(piece.stop - piece.start)


def _row_numbers(rows: Any, n: int) -> Index:
    """Return row numbers from 0 to n - 1; raise IndexError for what NumPy would not take as rows of a matrix."""
    rows = np.asarray(rows)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iub") or (rows.dtype == bool and len(rows) != n):
        raise IndexError(f"rows of {rows.dtype} and shape {rows.shape}: expected row numbers, or {n} booleans.")
    if rows.dtype == bool:
        return np.flatnonzero(rows)
    rows = rows.astype(np.int64)
    if rows.size and not -n <= rows.min() <= rows.max() < n:
        raise IndexError(f"rows {rows.min()} to {rows.max()} of {n} samples: expected at most {n - 1}.")
    return np.where(rows < 0, rows + n, rows)


class InMemory(Samples):
    """Samples in an array."""

    def __init__(self, X: Matrix) -> None:
        self.X, self.shape, self.dtype = X, (X.shape[0], X.shape[1]), X.dtype

    def reader(self, rows: slice | Index) -> Reader:
        """Return a function that gives the rows, a view of a slice."""
        return lambda: self.X[rows]

    def __getitem__(self, rows: Rows) -> Matrix:
        return self.X[rows]

    def select(self, rows: Index) -> Samples:
        """Return some of the samples, in ascending order; returns self if all rows are chosen."""
        return self if len(rows) == len(self) else InMemory(self.X[rows])


class Selected(Samples):
    """Some rows of other samples, in ascending order."""

    def __init__(self, samples: Samples, rows: Index) -> None:
        self.samples, self.rows = samples, rows
        self.shape, self.dtype, self.engine = (len(rows), samples.shape[1]), samples.dtype, samples.engine

    def reader(self, rows: slice | Index) -> Reader:
        """Return a function that reads the rows from the other samples."""
        return self.samples.reader(self.rows[rows])

    def place_note(self, row: int) -> str:
        """Return where a row lies in the other samples."""
        return self.samples.place_note(int(self.rows[row]))


class InUnits(Samples):
    """Samples multiplied by a number."""

    def __init__(self, samples: Samples, in_units: Callable[[Matrix], Matrix]) -> None:
        self.samples, self.in_units = samples, in_units
        self.shape, self.dtype, self.engine = samples.shape, samples.dtype, samples.engine

    def reader(self, rows: slice | Index) -> Reader:
        """Return a function that reads the rows and multiplies them."""
        return _ReaderInUnits(self.samples.reader(rows), self.in_units)

    def place_note(self, row: int) -> str:
        """Return where a row lies in the other samples."""
        return self.samples.place_note(row)


@dataclass(frozen=True)
class _ReaderInUnits:
    read: Reader
    in_units: Callable[[Matrix], Matrix]

    def __call__(self) -> Matrix:
        return self.in_units(self.read())


class Scan(NamedTuple):
    """What one pass over samples tells.

    Attributes
    ----------
    low, high : ndarrays of shape (n_features,)
        Smallest and largest value of each feature.
    digests : list of bytes
        SHA-256 digests of the pieces.
    not_finite : tuple of (int, int, float) or None
        Row, column and value of the first number that is NaN or infinite.
    """

    low: Matrix
    high: Matrix
    digests: list[bytes]
    not_finite: tuple[int, int, float] | None

    @classmethod
    def joined(cls, scanned: Sequence[tuple[slice, Scan]]) -> Scan:
        """Return the scans of blocks of rows as one."""
        scans, wrong = [scan for _, scan in scanned], None
        for rows, scan in scanned:
            if scan.not_finite is not None:
                row, column, value = scan.not_finite
                wrong = (rows.start + row, column, value)
                break
        low, high = np.min([scan.low for scan in scans], axis=0), np.max([scan.high for scan in scans], axis=0)
        return cls(low, high, [digest for scan in scans for digest in scan.digests], wrong)


def scan_of(samples: Matrix) -> Scan:
    """Return the scan of one piece."""
    low, high, wrong = samples.min(axis=0), samples.max(axis=0), None
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        row, column = (int(where[0]) for where in np.nonzero(~np.isfinite(samples)))
        wrong = (row, column, float(samples[row, column]))
    digest = hashlib.sha256(np.ascontiguousarray(samples).data.cast("B")).digest()
    return Scan(low, high, [digest], wrong)


def select(X: Any, rows: Index) -> Any:
    """Return some rows of an array or of samples, in ascending order; returns X itself if all rows are chosen."""
    if len(rows) == len(X):
        return X
    return X.select(rows) if isinstance(X, Samples) else X[rows]


def as_samples(X: Matrix | Samples) -> Samples:
    """Return samples as such, an array as samples in memory."""
    return X if isinstance(X, Samples) else InMemory(X)


class _Piece(NamedTuple):
    """Rows from `start` to `stop`, how to read them, and the values that belong to them."""

    start: int
    stop: int
    read: Reader
    along: tuple[NDArray[Any], ...]


@dataclass(frozen=True)
class _Mapped:
    """Applies a function to the blocks of a piece."""

    function: Callable[..., Any]
    size: int

    def results(self, piece: _Piece) -> Iterator[Any]:
        samples = piece.read()

        def of_block(rows: slice) -> Any:
            return self.function(samples[rows], *(values[rows] for values in piece.along))

        for _, result in map_blocks(of_block, len(samples), self.size):
            yield result

    def __call__(self, piece: _Piece) -> Any:
        """Return the results of all blocks."""
        return list(self.results(piece))


class _Summed(_Mapped):
    """Adds up a function over the blocks of a piece, in order and in double precision."""

    def __call__(self, piece: _Piece) -> Any:
        """Return the sums."""
        totals: Sums | None = None
        for sums in self.results(piece):
            totals = _added(totals, sums)
        return totals


def _added(totals: Sums | None, sums: Sums) -> Sums:
    """Return the sums of arrays, in place where there are totals; the first arrays become these totals."""
    if totals is None:
        # Arrays from other machines may be read-only.
        return tuple(np.require(array, np.float64, "W") for array in sums)
    for total, array in zip(totals, sums, strict=True):
        np.add(total, array, out=total)
    return totals
