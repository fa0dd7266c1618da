"""What `PostgresStore` reads from the catalogue of a database, and PostgreSQL's formats of codes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.hamming import Codes, unpack

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

# Integer types of an id column, with their binary format.
ID_TYPES = {"smallint": ">i2", "integer": ">i4", "bigint": ">i8"}
# First version of pgvector with a Hamming distance.
HAMMING_VERSION = (0, 7)
# Rows that are converted to the binary format at a time.
BLOCK = 65_536
COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_END = b"\xff\xff"
_STAMP = re.compile(r"^proxcode: codes of the model (.+)$", re.MULTILINE)


class Column(NamedTuple):
    """A column of a table."""

    type: str
    is_required: bool
    has_default: bool
    comment: str


class Pgvector(NamedTuple):
    """The extension pgvector as it is installed in a database."""

    version: tuple[int, ...]
    schema: str


def import_psycopg() -> Any:
    """Import psycopg, or raise an error that says how to install it."""
    try:
        import psycopg
    except ImportError as error:
        raise ModuleNotFoundError("PostgresStore requires psycopg: pip install 'proxcode[postgres]'.") from error
    return psycopg


def connect(address: str, *, autocommit: bool = False) -> Connection[Any]:
    """Open a connection. Raises ConnectionError if that is impossible."""
    psycopg = import_psycopg()
    try:
        return psycopg.connect(address, autocommit=autocommit)
    except psycopg.ProgrammingError:
        # Its message repeats the address, which may hold a password.
        raise ValueError("the address is not one of PostgreSQL: expected postgresql://user@host/database.") from None
    except psycopg.OperationalError as error:
        reason = " ".join(str(error).split())
        raise ConnectionError(f"PostgreSQL cannot be reached ({reason}): check the address and the server.") from None


def read_columns(cursor: Cursor[Any], table: str) -> dict[str, Column]:
    """Return the columns of a table by name, none if there is no such table; the name is quoted as in SQL."""
    cursor.execute(
        """
        SELECT attname::text, format_type(atttypid, atttypmod), attnotnull, atthasdef OR attidentity <> '',
               coalesce(col_description(attrelid, attnum), '')
        FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum
        """,
        (table,),
    )
    return {name: Column(*column) for name, *column in cursor.fetchall()}


def read_pgvector(cursor: Cursor[Any]) -> Pgvector | None:
    """Return the installed pgvector, None if there is none that knows the Hamming distance and may be used."""
    cursor.execute(
        """
        SELECT extversion, nspname::text FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
        WHERE extname = 'vector' AND has_schema_privilege(extnamespace, 'USAGE')
        """
    )
    row = cursor.fetchone()
    if row is None:
        return None
    version = tuple(int(part) for part in re.findall(r"\d+", row[0]))
    return Pgvector(version, row[1]) if version >= HAMMING_VERSION else None


def has_hnsw(cursor: Cursor[Any], table: str, column: str) -> bool:
    """Return whether a column of codes has a valid HNSW index for the Hamming distance."""
    cursor.execute(
        """
        SELECT EXISTS (
            SELECT FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
            JOIN pg_opclass ON pg_opclass.oid = indclass[0]
            JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
            WHERE indrelid = to_regclass(%s) AND attname = %s AND indisvalid AND indpred IS NULL
              AND amname = 'hnsw' AND opcname = 'bit_hamming_ops'
        )
        """,
        (table, column),
    )
    return bool(first(cursor))


def has_unique_index(cursor: Cursor[Any], table: str, column: str) -> bool:
    """Return whether no two rows of a table can have the same value in a column."""
    cursor.execute(
        """
        SELECT EXISTS (
            SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
            WHERE indrelid = to_regclass(%s) AND attname = %s AND indisunique AND indisvalid AND indimmediate
              AND indpred IS NULL AND indnkeyatts = 1
        )
        """,
        (table, column),
    )
    return bool(first(cursor))


def first(cursor: Cursor[Any]) -> Any:
    """Return the only value of a result."""
    row = cursor.fetchone()
    return None if row is None else row[0]


def read_stamp(comment: str) -> str | None:
    """Return the fingerprint that a comment on a column holds."""
    found = _STAMP.findall(comment)
    return found[-1] if found else None


def with_stamp(comment: str, fingerprint: str | None) -> str:
    """Return a comment with a last line that holds a fingerprint, if it is not None, and no other such line."""
    lines = [line for line in comment.splitlines() if not _STAMP.match(line)]
    if fingerprint is not None:
        lines.append(f"proxcode: codes of the model {fingerprint}")
    return "\n".join(lines)


def copied_rows(ids: NDArray[np.int64], codes: Codes, n_bits: int, id_type: str) -> Iterator[bytes]:
    """Yield rows of an id and a code in the binary format of COPY, in blocks."""
    n_bytes = codes.shape[1]
    row = np.dtype(
        [
            ("n_fields", ">i2"),
            ("id_size", ">i4"),
            ("id", id_type),
            ("code_size", ">i4"),
            ("n_bits", ">i4"),
            ("code", np.uint8, (n_bytes,)),
        ]
    )
    yield COPY_HEADER
    for start in range(0, len(codes), BLOCK):
        block = codes[start : start + BLOCK]
        rows = np.empty(len(block), row)
        rows["n_fields"], rows["id_size"], rows["id"] = 2, np.dtype(id_type).itemsize, ids[start : start + BLOCK]
        rows["code_size"], rows["n_bits"], rows["code"] = 4 + n_bytes, n_bits, block
        yield rows.tobytes()
    yield COPY_END


def codes_from_binary(values: list[bytes], n_bits: int) -> Codes:
    """Return packed codes from the binary format of bit strings: the number of bits in four bytes, then the bits."""
    rows = np.frombuffer(b"".join(values), np.uint8).reshape(len(values), 4 + -(-n_bits // 8))
    return rows[:, 4:].copy()


def bit_texts(codes: Codes, n_bits: int) -> list[str]:
    """Return codes as texts of the digits 0 and 1.

    Examples
    --------
    >>> bit_texts(np.array([[129, 128]], np.uint8), 9)
    ['100000011']
    """
    digits = unpack(codes, n_bits) + ord("0")
    return [row.tobytes().decode() for row in digits]
