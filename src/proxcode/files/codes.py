"""Parquet files of codes, beside the other columns of the samples.

1. The vectors of a file are read in blocks, and the other columns of a Parquet or Arrow file in step with them. A file
   of vectors alone gets a column of row numbers.
2. Blocks are gathered into row groups: memory is that of one row group, whatever the size of the file.
3. The metadata of the schema are those of the input, and a stamp that tells what the codes were computed from.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.files._arrow import ArrowVectors, import_arrow
from proxcode.files._base import ROWS_AT_ONCE, Vectors

# A row group ends when it has this many rows, or this many bytes.
GROUP_ROWS, GROUP_BYTES = 65_536, 2**25
ROW_COLUMN = "row"
PREFIX = "proxcode."
# Spark reads the columns from this entry, which does not know the codes, in place of the schema of the file.
SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"


class Stamped(NamedTuple):
    """What the footer of a file of codes tells: the stamp, without the prefix of its keys, and the number of rows."""

    stamp: dict[str, str]
    rows: int


def write_codes(
    path: Path,
    vectors: Vectors,
    encode: Callable[[NDArray[Any]], NDArray[np.uint8]],
    *,
    column: str,
    stamp: Mapping[str, str],
) -> int:
    """Write the codes of vectors to a Parquet file, beside the other columns; return the number of rows.

    Parameters
    ----------
    path : Path
    vectors : Vectors
    encode : callable
        Returns the packed codes of a block of vectors.
    column : str
        Name of the column of codes.
    stamp : mapping of str to str
        Added to the metadata of the schema, each key with the prefix "proxcode.".
    """
    pa = import_arrow(path)
    own = {f"{PREFIX}{key}".encode(): value.encode() for key, value in stamp.items()}
    kept = vectors.metadata if isinstance(vectors, ArrowVectors) else {}
    metadata = {**{key: value for key, value in kept.items() if key != SPARK_SCHEMA}, **own}
    n_rows, group, writer = 0, [], None
    try:
        for block, others in _blocks(pa, vectors, column):
            vectors.check_finite(block, n_rows)
            codes = np.ascontiguousarray(encode(block))
            kind = pa.binary(codes.shape[1])
            values = pa.FixedSizeBinaryArray.from_buffers(kind, len(codes), [None, pa.py_buffer(codes)])
            table = others.append_column(pa.field(column, kind, nullable=False), values)
            group.append(table.replace_schema_metadata(metadata))
            n_rows += len(codes)
            if writer is None:
                writer = pa.parquet.ParquetWriter(path, group[0].schema)
            if sum(map(len, group)) >= GROUP_ROWS or sum(table.nbytes for table in group) >= GROUP_BYTES:
                writer.write_table(pa.concat_tables(group))
                group = []
        if writer is None:
            raise ValueError(f"{vectors.path} has no rows: expected at least one.")
        if group:
            writer.write_table(pa.concat_tables(group))
    except pa.ArrowNotImplementedError as error:
        raise ValueError(
            f"{vectors.path} has a column that Parquet cannot hold ({error}): drop it, or store it as another type."
        ) from error
    finally:
        if writer is not None:
            writer.close()
    return n_rows


def _blocks(pa: Any, vectors: Vectors, column: str) -> Iterator[tuple[NDArray[Any], Any]]:
    """Yield blocks of vectors, each with a table of the other columns."""
    others = vectors.other_columns() if isinstance(vectors, ArrowVectors) else []
    if column in (others or [ROW_COLUMN]):
        raise ValueError(
            f"{vectors.path} has a column {column!r} already: choose another name for that of the codes "
            "(--code-column, code_column=...)."
        )
    if isinstance(vectors, ArrowVectors) and others:
        yield from zip(vectors.blocks(ROWS_AT_ONCE), vectors.other_blocks(ROWS_AT_ONCE), strict=True)
        return
    first = 0
    for block in vectors.blocks(ROWS_AT_ONCE):
        yield block, pa.table({ROW_COLUMN: np.arange(first, first + len(block), dtype=np.int64)})
        first += len(block)


def read_stamp(path: Path) -> Stamped | None:
    """Return the stamp of a file of codes; None for any other file, a damaged or missing one included."""
    pa = import_arrow(path)
    try:
        footer = pa.parquet.read_metadata(path)
    except (pa.ArrowException, OSError):
        return None
    entries = {
        key.decode(errors="replace"): value.decode(errors="replace") for key, value in (footer.metadata or {}).items()
    }
    stamp = {key.removeprefix(PREFIX): value for key, value in entries.items() if key.startswith(PREFIX)}
    return Stamped(stamp, footer.num_rows) if stamp else None
