"""A table of PostgreSQL with a column of ids and one of codes: its statements and transactions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from proxcode.hamming import Codes
from proxcode.stores._postgres import (
    ID_TYPES,
    Column,
    Pgvector,
    copied_rows,
    first,
    has_unique_index,
    import_psycopg,
    read_columns,
    read_pgvector,
    read_stamp,
    with_stamp,
)
from proxcode.stores.base import check_same_model
from proxcode.stores.ids import next_ids

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg.sql import Composable, Composed


class CodeTable:
    """A table, named in an open connection.

    Parameters
    ----------
    connection : psycopg.Connection
    names : sequence of str
        Name of the table, or of its schema and the table.
    id_column, code_column : str

    Attributes
    ----------
    n_bits : int
        Code length.
    id_type : str
        Binary format of an id.
    pgvector : Pgvector or None
        The installed extension.
    """

    n_bits: int
    id_type: str
    pgvector: Pgvector | None

    def __init__(self, connection: Connection[Any], names: Sequence[str], id_column: str, code_column: str) -> None:
        for name in (*names, id_column, code_column):
            if not isinstance(name, str) or not name or "\0" in name:
                raise ValueError(f"{name!r} is not the name of a schema, table or column: expected a text.")
        if not 1 <= len(names) <= 2:
            raise ValueError(f"table={tuple(names)!r}: expected the name of a table, or of its schema and the table.")
        if not isinstance(connection, import_psycopg().Connection):
            raise TypeError(f"connection={connection!r}: expected a psycopg.Connection or an address.")
        self.connection, self.id_column, self.code_column = connection, id_column, code_column
        self._names = tuple(names)

    def __str__(self) -> str:
        """Return the name of the table, quoted as in SQL."""
        return ".".join('"' + name.replace('"', '""') + '"' for name in self._names)

    def sql(self, text: str, *values: Any, **parts: Composable) -> Composed:
        """Return a statement: {table}, {id} and {code} are replaced by quoted names, {} by quoted values.

        Percent signs of names and values are doubled, since a statement with parameters, also with none of them,
        contains placeholders.
        """
        sql = import_psycopg().sql
        *names, id_column, code_column = (doubled(name) for name in (*self._names, self.id_column, self.code_column))
        identifiers = {
            "table": sql.Identifier(*names),
            "id": sql.Identifier(id_column),
            "code": sql.Identifier(code_column),
            "table_code": sql.Identifier(*names, code_column),
        }
        composed: Composed = sql.SQL(text).format(*map(doubled, values), **identifiers, **parts)
        return composed

    @contextmanager
    def reading(self) -> Iterator[Cursor[Any]]:
        """Open a cursor whose settings, and a transaction of its own if there is none, end with the block."""
        with self.connection.transaction(force_rollback=True):
            yield self._cursor()

    @contextmanager
    def writing(self) -> Iterator[Cursor[Any]]:
        """Open a cursor whose changes are undone by an exception.

        The block is a savepoint of the current transaction, which the user ends. If the connection is in autocommit
        mode and has no transaction, the block is one.
        """
        cursor = self._cursor()
        if not self.connection.autocommit:
            # Begins a transaction if there is none: else the block would be one, and its end would commit it.
            cursor.execute("SELECT 1")
        with self.connection.transaction():
            yield cursor

    def changes_all(self, change: Callable[[], int], n_rows: int) -> bool:
        """Run a change that returns a number of rows; undo it and return False if these are fewer than `n_rows`."""
        n_changed = 0
        with self.writing():
            n_changed = change()
            if n_changed < n_rows:
                raise import_psycopg().Rollback
        return n_changed == n_rows

    def _cursor(self) -> Cursor[Any]:
        """Return a cursor that binds parameters in the server and returns tuples, whatever the user's own does."""
        psycopg = import_psycopg()
        cursor: Cursor[Any] = psycopg.Cursor(self.connection, row_factory=psycopg.rows.tuple_row)
        cursor.format = psycopg.pq.Format.BINARY
        return cursor

    def open(self, n_bits: int | None) -> str | None:
        """Read the columns and return the fingerprint; with `n_bits`, create a table or column that does not exist."""
        with self.reading() as cursor:
            columns = read_columns(cursor, str(self))
            self.pgvector = read_pgvector(cursor)
        if n_bits is not None and self.code_column not in columns:
            with self.writing() as cursor:
                columns = self._create(cursor, n_bits)
                # An error undoes the creation.
                self._check_columns(columns, n_bits)
        self.n_bits = self._check_columns(columns, n_bits)
        self.id_type = ID_TYPES[columns[self.id_column].type]
        return read_stamp(columns[self.code_column].comment)

    def _create(self, cursor: Cursor[Any], n_bits: int) -> dict[str, Column]:
        """Create the table, or the column of codes in a table with a column of ids."""
        self._lock(cursor)
        columns = read_columns(cursor, str(self))
        if not columns:
            made = "CREATE TABLE IF NOT EXISTS {table} ({id} bigint PRIMARY KEY, {code} bit({}) NOT NULL)"
            cursor.execute(self.sql(made, n_bits), ())
        elif self.id_column in columns:
            cursor.execute(self.sql("ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {code} bit({})", n_bits), ())
        return read_columns(cursor, str(self))

    def _lock(self, cursor: Cursor[Any]) -> None:
        """Wait for other stores of this table that hold this lock, which ends with the transaction."""
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"proxcode {self}",))

    def _check_columns(self, columns: dict[str, Column], n_bits: int | None) -> int:
        """Return the code length. Raises ValueError unless there are integer ids, and codes of `n_bits` bits or any."""
        if not columns:
            raise ValueError(f"there is no table {self}: pass n_bits to create it, or check its name and schema.")
        for name in (self.id_column, self.code_column):
            if name not in columns:
                raise ValueError(f"table {self} has no column {name!r}: its columns are {', '.join(columns)}.")
        of_ids, of_codes = columns[self.id_column].type, columns[self.code_column].type
        if of_ids not in ID_TYPES:
            raise ValueError(
                f"column {self.id_column!r} of {self} has type {of_ids}: expected smallint, integer or bigint; name or "
                "add a unique column of integers."
            )
        found = re.fullmatch(r"bit\((\d+)\)", of_codes)
        if found is None or n_bits not in (None, int(found[1])):
            raise ValueError(
                f"column {self.code_column!r} of {self} has type {of_codes}: expected bit({n_bits or 'n'}); name "
                "another column, or pass the code length of this one."
            )
        return int(found[1])

    def is_own(self, columns: dict[str, Column]) -> bool:
        """Return whether rows consist of an id and a code alone; otherwise they are the user's."""
        return len(columns) == 2 and columns[self.code_column].is_required

    def insert(self, cursor: Cursor[Any], columns: dict[str, Column], ids: NDArray[np.int64], codes: Codes) -> int:
        """Insert rows, or set the codes of rows that exist; return the number of rows changed."""
        if self.is_own(columns):
            rows = copied_rows(ids, codes, self.n_bits, self.id_type)
            _copy(cursor, self.sql("COPY {table} ({id}, {code}) FROM STDIN (FORMAT BINARY)"), rows)
            return len(ids)
        added = self._copy_to_temporary(cursor, ids, codes)
        update = "UPDATE {table} AS old SET {code} = added.code FROM " + added + " AS added "
        cursor.execute(self.sql(update + "WHERE old.{id} = added.id AND old.{code} IS NULL"), ())
        n_updated = cursor.rowcount
        if n_updated == len(ids):
            return n_updated
        insert = "INSERT INTO {table} ({id}, {code}) SELECT id, code FROM " + added + " AS added "
        cursor.execute(self.sql(insert + "WHERE NOT EXISTS (SELECT FROM {table} AS old WHERE old.{id} = added.id)"), ())
        return n_updated + cursor.rowcount

    def merge(self, cursor: Cursor[Any], columns: dict[str, Column], ids: NDArray[np.int64], codes: Codes) -> int:
        """Set the codes of rows that exist and insert the others; return the number of rows changed."""
        added = self._copy_to_temporary(cursor, ids, codes)
        update = "UPDATE {table} AS old SET {code} = added.code FROM " + added + " AS added WHERE old.{id} = added.id"
        cursor.execute(self.sql(update), ())
        n_updated = cursor.rowcount
        if n_updated == len(ids):
            return n_updated
        insert = "INSERT INTO {table} ({id}, {code}) SELECT id, code FROM " + added + " AS added "
        others = "WHERE NOT EXISTS (SELECT FROM {table} AS old WHERE old.{id} = added.id) "
        # Another connection may have inserted a row since the update.
        conflict = "ON CONFLICT ({id}) DO UPDATE SET {code} = excluded.{code}"
        cursor.execute(self.sql(insert + others + conflict), ())
        return n_updated + cursor.rowcount

    def _copy_to_temporary(self, cursor: Cursor[Any], ids: NDArray[np.int64], codes: Codes) -> str:
        """Copy ids and codes to a temporary table and return its name."""
        # One temporary table for a transaction: each holds locks until it ends.
        added = f"pg_temp.proxcode_added_{self.n_bits}"
        made = f"CREATE TEMPORARY TABLE IF NOT EXISTS {added} (id bigint, code bit({self.n_bits})) ON COMMIT DROP"
        cursor.execute(made)
        cursor.execute(f"TRUNCATE {added}")
        rows = copied_rows(ids, codes, self.n_bits, ID_TYPES["bigint"])
        _copy(cursor, f"COPY {added} FROM STDIN (FORMAT BINARY)", rows)
        cursor.execute(f"ANALYZE {added}")
        return added

    def check_unique(self, cursor: Cursor[Any]) -> None:
        """Raise ValueError unless the column of ids has a unique index."""
        if not has_unique_index(cursor, str(self), self.id_column):
            raise ValueError(
                f"column {self.id_column!r} of {self} has no unique index: make it the primary key, or create a unique "
                "index on it."
            )

    def delete(self, cursor: Cursor[Any], ids: NDArray[np.int64]) -> int:
        """Delete rows, or the codes of the user's rows; return the number of rows changed."""
        columns = read_columns(cursor, str(self))
        is_own = self.is_own(columns)
        if not is_own and columns[self.code_column].is_required:
            raise ValueError(
                f"column {self.code_column!r} of {self} may not be NULL, and the table has columns of yours: drop NOT "
                "NULL by ALTER TABLE, or delete the rows."
            )
        change = "DELETE FROM {table}" if is_own else "UPDATE {table} SET {code} = NULL"
        statement = self.sql(change + " WHERE {id} = ANY(%s) AND {code} IS NOT NULL")
        return cursor.execute(statement, (ids.tolist(),)).rowcount

    def are_stored(self, cursor: Cursor[Any], ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for each id whether the table has a code of it."""
        statement = self.sql("SELECT {id}::bigint FROM {table} WHERE {id} = ANY(%s) AND {code} IS NOT NULL")
        found = cursor.execute(statement, (ids.tolist(),)).fetchall()
        return np.isin(ids, np.array(found, np.int64))

    def next_ids(self, cursor: Cursor[Any], columns: dict[str, Column], n_codes: int) -> NDArray[np.int64]:
        """Return ids after the largest of the table; other stores wait for theirs until the transaction ends."""
        if columns[self.id_column].has_default:
            raise ValueError(
                f"ids=None: column {self.id_column!r} of {self} has a default of its own; insert the rows first, then "
                "add the codes of their ids."
            )
        self._lock(cursor)
        return next_ids(first(cursor.execute(self.sql("SELECT max({id})::bigint FROM {table}"), ())), n_codes)

    def has_codes(self, cursor: Cursor[Any]) -> bool:
        """Return whether the table has a code."""
        return bool(first(cursor.execute(self.sql("SELECT EXISTS (SELECT FROM {table} WHERE {code} IS NOT NULL)"), ())))

    def record_model(self, cursor: Cursor[Any], fingerprint: str | None) -> dict[str, Column]:
        """Keep the fingerprint with the first codes; return the columns.

        In a table without codes, None removes the fingerprint that earlier codes left. Stored codes whose model is not
        known do not get one. Raises ValueError if codes of another model are stored.
        """
        columns = read_columns(cursor, str(self))
        stored = read_stamp(columns[self.code_column].comment)
        if fingerprint == stored:
            return columns
        if not self.has_codes(cursor):
            # Another store may be adding the first codes.
            self._lock(cursor)
            columns = read_columns(cursor, str(self))
            stored, comment = read_stamp(columns[self.code_column].comment), columns[self.code_column].comment
            if not self.has_codes(cursor):
                # COMMENT takes no parameters: psycopg quotes the text.
                cursor.execute(self.sql("COMMENT ON COLUMN {table_code} IS {}", with_stamp(comment, fingerprint)), ())
                return columns
        check_same_model(stored, fingerprint)
        return columns


def _copy(cursor: Cursor[Any], statement: Composed | str, rows: Iterable[bytes]) -> None:
    if not isinstance(statement, str):
        # COPY takes no parameters, so that percent signs are not doubled.
        statement = statement.as_string(cursor).replace("%%", "%")
    with cursor.copy(statement) as copy:
        for block in rows:
            copy.write(block)


def doubled(value: Any) -> Any:
    """Return a text with its percent signs doubled; other values as they are."""
    return value.replace("%", "%%") if isinstance(value, str) else value
