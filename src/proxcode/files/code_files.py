"""Files of packed codes, with their ids and the fingerprint of their model where the file has them.

Codes are the rows of an array of uint8, a column of fixed-size binary values of a Parquet file, or a saved index.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.files._arrow import import_arrow
from proxcode.files._base import FilePath, Taken, Vectors, readable
from proxcode.files.codes import read_stamp
from proxcode.files.vectors import holds_vectors, open_vectors
from proxcode.storage.index_file import read_current
from proxcode.storage.texts import Texts, as_object_array

# Bytes of codes that are read at once: a table of a database is better changed by few large blocks.
BLOCK_BYTES = 2**23


class CodeBlock(NamedTuple):
    """Packed codes of consecutive rows, and their ids; None if the file has no ids."""

    codes: NDArray[np.uint8]
    ids: NDArray[Any] | None


class CodeFile(ABC):
    """Packed codes in a file.

    Attributes
    ----------
    path : Path
    n_bytes : int
        Bytes per code.
    n_rows : int or None
        Number of codes; None if only reading all of them tells it.
    n_bits : int or None
        Code length, None if the file does not tell it.
    fingerprint : str or None
        That of the model, None if the file does not tell it.
    has_ids : bool
        Whether the file has ids.
    taken : Taken
        The array or the column of codes, and after it the column of ids if there is one.
    """

    path: Path
    n_bytes: int
    n_rows: int | None
    n_bits: int | None = None
    fingerprint: str | None = None
    has_ids: bool = False
    taken: Taken = Taken()

    @property
    def _block(self) -> int:
        """Rows that are read at once."""
        return max(1, BLOCK_BYTES // self.n_bytes)

    @abstractmethod
    def blocks(self) -> Iterator[CodeBlock]:
        """Yield the codes in blocks of rows."""

    def read(self) -> CodeBlock:
        """Return all codes."""
        blocks = list(self.blocks())
        if not blocks:
            raise ValueError(f"{self.path} has no rows: expected at least one code.")
        ids = [block.ids for block in blocks if block.ids is not None]
        return CodeBlock(np.concatenate([block.codes for block in blocks]), np.concatenate(ids) if ids else None)

    def code_length(self, n_bits: int | None, of_model: int | None) -> int:
        """Return the code length: that of the file, or the one asked for, or that of a model, or all bits of the bytes.

        Raises ValueError where they do not fit together.
        """
        found = n_bits or self.n_bits or of_model or 8 * self.n_bytes
        if self.n_bits not in (None, found):
            raise ValueError(f"--bits {n_bits}: {self.path} has codes of {self.n_bits} bits; omit --bits.")
        if -(-found // 8) != self.n_bytes:
            raise ValueError(
                f"{self.path} has codes of {self.n_bytes} bytes, not of {found} bits: pass --bits as in encode."
            )
        return found


class ArrayCodes(CodeFile):
    """Rows of an array of uint8."""

    def __init__(self, vectors: Vectors) -> None:
        if vectors.dtype != "uint8":
            raise ValueError(
                f"{vectors.path} holds {vectors.dtype} numbers, not packed codes of uint8: encode vectors with "
                "proxcode encode; queries alone are encoded by --model."
            )
        self.path, self.n_bytes, self.n_rows = vectors.path, vectors.n_columns, vectors.n_rows
        self._vectors, self.taken = vectors, vectors.taken

    def blocks(self) -> Iterator[CodeBlock]:
        """Yield the codes in blocks of rows."""
        for block in self._vectors.blocks(self._block):
            yield CodeBlock(np.ascontiguousarray(block), None)


class _ParquetCodes(CodeFile):
    """A column of fixed-size binary values of a Parquet file, and a column of integers for the ids."""

    def __init__(self, path: Path, column: str, id_column: str | None) -> None:
        self.path, self._pa = path, import_arrow(path)
        with readable(path, "Parquet", self._pa.ArrowException, OSError):
            schema = self._pa.parquet.read_schema(path)
            self.n_rows = self._pa.parquet.read_metadata(path).num_rows
        kinds = {
            name: schema.field(name).type
            for name in schema.names
            if self._pa.types.is_fixed_size_binary(schema.field(name).type)
        }
        if column not in kinds:
            known = f"its columns of codes are {', '.join(kinds)}" if kinds else "it has no column of fixed-size binary"
            raise ValueError(f"{path} has no column {column!r} of codes: {known}; write one with proxcode encode.")
        self._column, self.n_bytes = column, kinds[column].byte_width
        self._ids = [id_column] if id_column is not None and id_column in schema.names else []
        self.has_ids, self.taken = bool(self._ids), Taken(columns=(column, *self._ids))
        if self._ids and not self._pa.types.is_integer(schema.field(id_column).type):
            raise ValueError(f"{path}: column {id_column!r} holds {schema.field(id_column).type}: expected integers.")
        stamp = read_stamp(path)
        if stamp is not None:
            self.fingerprint = stamp.stamp.get("model")
            n_bits = stamp.stamp.get("n_bits", "")
            self.n_bits = int(n_bits) if n_bits.isdecimal() else None

    def blocks(self) -> Iterator[CodeBlock]:
        with readable(self.path, "Parquet", self._pa.ArrowException, OSError):
            file = self._pa.parquet.ParquetFile(self.path)
            for batch in file.iter_batches(self._block, columns=[self._column, *self._ids]):
                for name in (self._column, *self._ids):
                    if batch.column(name).null_count:
                        raise ValueError(f"{self.path}: column {name!r} has missing values: expected one for each row.")
                values = self._pa.concat_arrays([batch.column(self._column)])
                start = values.offset * self.n_bytes
                flat = np.frombuffer(values.buffers()[1], np.uint8)[start : start + len(values) * self.n_bytes]
                ids = batch.column(self._ids[0]).to_numpy(zero_copy_only=False) if self._ids else None
                yield CodeBlock(flat.reshape(len(values), self.n_bytes), ids)


class _IndexCodes(CodeFile):
    """A saved index, with the changes of its journal."""

    def __init__(self, path: Path) -> None:
        self.n_bits, self.fingerprint, self._planes, self._ids, _ = read_current(path)
        self.path, (self.n_bytes, self.n_rows) = path, self._planes.shape
        self.has_ids = True

    def blocks(self) -> Iterator[CodeBlock]:
        for start in range(0, self._planes.shape[1], self._block):
            rows = slice(start, start + self._block)
            codes = np.ascontiguousarray(self._planes[:, rows].T)
            numbers = np.arange(start, start + len(codes))
            if isinstance(self._ids, Texts):
                ids: NDArray[Any] = as_object_array(self._ids.at(numbers))
            else:
                ids = numbers if self._ids is None else np.array(self._ids[rows])
            yield CodeBlock(codes, ids)


def open_codes(path: FilePath, *, column: str = "code", id_column: str | None = None) -> CodeFile:
    """Open a file of packed codes.

    Parameters
    ----------
    path : path
        An array of uint8 in any format of vectors, a Parquet file with a column of codes, or a saved index.
    column : str, default="code"
        Column of codes of a Parquet file.
    id_column : str, default=None
        Column of ids of a Parquet file; None, or a name that the file does not have, is no column.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder, "codes.npy"), np.zeros((5, 2), np.uint8))
    ...     file = open_codes(Path(folder, "codes.npy"))
    >>> file.n_rows, file.n_bytes, file.n_bits
    (5, 2, None)
    """
    path = Path(path)
    if path.suffix.lower() == ".parquet" and path.is_file() and _has_binary_column(path):
        return _ParquetCodes(path, column, id_column)
    if holds_vectors(path):
        return ArrayCodes(open_vectors(path))
    return _IndexCodes(path)


def _has_binary_column(path: Path) -> bool:
    """Return whether a Parquet file has a column that may be one of codes."""
    pa = import_arrow(path)
    with readable(path, "Parquet", pa.ArrowException, OSError):
        types: Any = pa.parquet.read_schema(path).types
    return any(pa.types.is_fixed_size_binary(kind) for kind in types)
