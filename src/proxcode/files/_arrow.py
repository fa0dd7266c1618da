"""Columns of Parquet and Arrow files, record batch by record batch.

Without a choice of columns, the vectors are the column of lists of numbers (an embedding) if the file has one, and all
columns of numbers otherwise.

The lengths, offsets and strings of a batch are validated before a value is used: pyarrow trusts those of a file, and a
damaged one would end the process.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.files._base import (
    ROWS_AT_ONCE,
    Choice,
    Taken,
    Vectors,
    bad_start,
    choose,
    import_optional,
    listing,
    readable,
)

# Options by which a row group of a Parquet file is read in small parts; by default it is held in memory as a whole.
STREAMED: dict[str, Any] = {"pre_buffer": False, "buffer_size": 2**16}
NUMERIC = {f"{sign}int{8 * size}" for sign in ("", "u") for size in (1, 2, 4, 8)} | {"halffloat", "float", "double"}


def import_arrow(path: Path) -> Any:
    """Import pyarrow; raise ValueError if it is not installed."""
    pa = import_optional(path, "pyarrow")
    import_optional(path, "pyarrow.parquet")
    return pa


@contextmanager
def _readable(path: Path) -> Iterator[Any]:
    pa = import_arrow(path)
    with readable(path, path.suffix[1:].capitalize(), pa.ArrowException, OSError, UnicodeDecodeError):
        yield pa


class ArrowFile(ABC):
    """A file of record batches: names and types of its columns; `n_rows` is None if only reading all rows tells it."""

    path: Path
    names: list[str]
    types: list[Any]
    metadata: dict[bytes, bytes]
    n_rows: int | None

    def _describe(self, schema: Any) -> None:
        self.names, self.types, self.metadata = schema.names, schema.types, schema.metadata or {}

    def name_of(self, column: int) -> str:
        """Return the name of a column; raise ValueError if another has it too, since batches are read by name."""
        name = self.names[column]
        if self.names.count(name) > 1:
            raise ValueError(f"{self.path} has {self.names.count(name)} columns {name!r}: rename them.")
        return name

    @abstractmethod
    def batches(
        self, columns: Sequence[str], start: int = 0, *, needs_values: bool = True
    ) -> Iterator[tuple[int, Any]]:
        """Yield record batches with the number of their first row, from the batch of row `start` on.

        Without `needs_values` columns may hold nothing but missing values, which take no memory: for columns beside
        others that have values.
        """


class ParquetFile(ArrowFile):
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with _readable(path) as pa, pa.parquet.ParquetFile(path) as file:
            self._describe(file.schema_arrow)
            self.n_rows = n_rows = file.metadata.num_rows
            sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
            if min(sizes, default=0) < 0 or sum(sizes) != n_rows:
                raise pa.ArrowInvalid(f"{n_rows} rows in row groups of {sum(sizes)} rows")

    def batches(
        self, columns: Sequence[str], start: int = 0, *, needs_values: bool = True
    ) -> Iterator[tuple[int, Any]]:
        """Yield record batches; row groups before `start` are not read."""
        with _readable(self.path) as pa, pa.parquet.ParquetFile(self.path, **STREAMED) as file:
            sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
            groups = [group for group, end in enumerate(np.cumsum(sizes, dtype=np.int64)) if end > start]
            done = sum(sizes[: groups[0]]) if groups else 0
            for batch in file.iter_batches(ROWS_AT_ONCE, row_groups=groups, columns=list(columns)):
                # The name of a column may also be the beginning of another's.
                yield done, _validated(pa, batch.select(list(columns)), needs_values)
                done += len(batch)


class IpcFile(ArrowFile):
    """An Arrow file (also named Feather), or a stream of record batches written to a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n_rows = None
        with self._open() as (_, reader):
            self._describe(reader.schema)
            if hasattr(reader, "num_record_batches"):
                import pyarrow.dataset

                self.n_rows = pyarrow.dataset.dataset(str(path), format="ipc").count_rows()

    @contextmanager
    def _open(self) -> Iterator[tuple[Any, Any]]:
        """Yield pyarrow and the reader of the file."""
        with _readable(self.path) as pa, pa.memory_map(str(self.path)) as source:
            is_stream = source.read(6) != b"ARROW1"
            source.seek(0)
            yield pa, pa.ipc.open_stream(source) if is_stream else pa.ipc.open_file(source)

    def batches(
        self, columns: Sequence[str], start: int = 0, *, needs_values: bool = True
    ) -> Iterator[tuple[int, Any]]:
        """Yield record batches; raise ValueError for a start behind the end of a stream."""
        done = 0
        with self._open() as (pa, reader):
            is_stream = self.n_rows is None
            for batch in reader if is_stream else map(reader.get_batch, range(reader.num_record_batches)):
                if done + len(batch) > start:
                    yield done, _validated(pa, batch.select(list(columns)), needs_values)
                done += len(batch)
        if start > done:
            raise bad_start(self.path, start, done)


def _validated(pa: Any, batch: Any, needs_values: bool) -> Any:
    """Return a record batch whose lengths, offsets and strings are valid; raise ArrowInvalid for another."""
    batch.validate(full=True)
    # Some types need no memory for their values, so that a few bytes may claim any number of rows.
    is_null = all(pa.types.is_null(column.type) for column in batch.columns)
    if (needs_values or not is_null) and len(batch) > 8 * batch.get_total_buffer_size():
        raise pa.ArrowInvalid(f"{len(batch)} rows in {batch.get_total_buffer_size()} bytes")
    return batch


ARROW_FORMATS: dict[str, type[Any]] = {".parquet": ParquetFile, ".arrow": IpcFile, ".feather": IpcFile}


def open_arrow(path: Path) -> ArrowFile:
    """Open a Parquet or Arrow file."""
    file: ArrowFile = ARROW_FORMATS[path.suffix.lower()](path)
    return file


class ArrowVectors(Vectors):
    """Columns of numbers, or one column of lists of numbers."""

    def __init__(self, path: Path, choice: Choice) -> None:
        self.path = path
        self._file = open_arrow(path)
        self._chosen = self._choose(choice)
        self.n_rows = self._file.n_rows
        first = next((batch for _, batch in self._file.batches(self._chosen) if len(batch)), None)
        if first is None:
            raise ValueError(f"{path} has no rows: expected at least one.")
        self._width: int | None = None
        rows = self._numbers(0, first.slice(0, 1))
        if not rows.shape[1]:
            raise ValueError(f"{path}: the list in row 0 of column {self._chosen[0]!r} is empty: expected numbers.")
        self._width = self.n_columns = rows.shape[1]
        # The numbers of a list have no names.
        self.names = self._chosen if len(self._chosen) == self.n_columns else ()
        self.dtype = rows.dtype
        self.taken = Taken(columns=tuple(self._chosen))

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """Metadata of the schema."""
        return self._file.metadata

    def other_columns(self) -> list[str]:
        """Return the names of the columns that are not vectors; raise ValueError if two have the same."""
        others = [number for number, name in enumerate(self._file.names) if name not in self._chosen]
        return [self._file.name_of(number) for number in others]

    def other_blocks(self, size: int) -> Iterator[Any]:
        """Yield the other columns as tables of Arrow, of the rows that `blocks(size)` yields."""
        pa, held, n_held = import_arrow(self.path), [], 0
        for _, batch in self._file.batches(self.other_columns(), needs_values=False):
            held.append(batch)
            n_held += len(batch)
            while n_held >= size:
                table = pa.Table.from_batches(held)
                yield table.slice(0, size)
                held, n_held = table.slice(size).to_batches(), n_held - size
        if n_held:
            yield pa.Table.from_batches(held)

    def _choose(self, choice: Choice) -> list[str]:
        """Return the names of the columns of the vectors."""
        names, types = self._file.names, self._file.types
        numbers = choose(self.path, names, len(names), choice)
        if choice.columns is None:
            shown = listing([f"{names[number]} ({types[number]})" for number in numbers])
            lists = [number for number in numbers if _is_list(types[number]) and _is_numeric(types[number].value_type)]
            numbers = lists or [number for number in numbers if _is_numeric(types[number])]
            if not numbers:
                raise ValueError(f"{self.path} has no column of numbers among {shown}: store the vectors as numbers.")
        if len(numbers) > 1 and any(_is_list(types[number]) for number in numbers):
            shown = listing([names[number] for number in numbers])
            raise ValueError(f"{self.path}: a column of lists cannot be combined with others: choose one of {shown}.")
        return [self._file.name_of(number) for number in numbers]

    def _blocks(self, size: int, start: int) -> Iterator[NDArray[Any]]:
        held, n_held = [], 0
        for first, batch in self._file.batches(self._chosen, start):
            held.append(self._numbers(first, batch)[max(0, start - first) :])
            n_held += len(held[-1])
            if n_held >= size:
                rows, n_rest = np.concatenate(held), n_held % size
                yield from rows[: n_held - n_rest].reshape(-1, size, self.n_columns)
                held, n_held = [rows[n_held - n_rest :]], n_rest
        if n_held:
            yield np.concatenate(held)

    def _numbers(self, first: int, batch: Any) -> NDArray[Any]:
        """Return a batch, whose first row is row `first` of the file, as a matrix."""
        columns = [batch.column(name) for name in self._chosen]
        if _is_list(columns[0].type):
            return self._from_lists(first, columns[0])
        arrays = [self._plain(first, name, column) for name, column in zip(self._chosen, columns, strict=True)]
        return np.column_stack(arrays).astype(np.result_type(*arrays), copy=False)

    def _from_lists(self, first: int, column: Any) -> NDArray[Any]:
        name = self._chosen[0]
        if column.null_count:
            row = first + _first_missing(column)
            raise ValueError(f"{self.path}: row {row} of column {name!r} is missing: drop the row.")
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        width = int(lengths[0]) if self._width is None and len(lengths) else self._width or 0
        if (wrong := np.flatnonzero(lengths != width)).size:
            raise ValueError(
                f"{self.path}: row {first + wrong[0]} of column {name!r} has {lengths[wrong[0]]} values, the first row "
                f"{width}: expected equal lengths."
            )
        return self._plain(first, name, column.flatten(), max(width, 1)).reshape(len(column), width)

    def _plain(self, first: int, name: str, values: Any, width: int = 1) -> NDArray[Any]:
        """Return numbers as an array, missing ones as NaN; raise ValueError if the type has no NaN."""
        if not (_is_numeric(values.type) or str(values.type) == "bool"):
            raise ValueError(f"{self.path}: column {name!r} holds {values.type}, not numbers: drop it.")
        if values.null_count and not str(values.type).endswith(("float", "double")):
            row = first + _first_missing(values) // width
            raise ValueError(f"{self.path}: row {row} of column {name!r} is missing: impute it, or store floats.")
        return np.asarray(values.to_numpy(zero_copy_only=False))


def _first_missing(values: Any) -> int:
    return int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))


def _is_list(kind: Any) -> bool:
    return str(kind).startswith(("list<", "large_list<", "fixed_size_list<"))


def _is_numeric(kind: Any) -> bool:
    return str(kind) in NUMERIC
