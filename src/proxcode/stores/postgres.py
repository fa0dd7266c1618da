"""Codes in a table of PostgreSQL; requires `pip install 'proxcode[postgres]'`.

A code is a value of a `bit(n)` column, in the bit order of `numpy.packbits`. The statements of one call take effect
together or not at all:

1. `add` copies ids and codes in PostgreSQL's binary format into the table, or, if the table has further columns, into a
   temporary table, from which the codes of existing rows are updated and the other rows inserted; `upsert` always
   uses the temporary table.
2. `search` and `within` run one statement per query: an exact scan, which PostgreSQL may run in parallel, or an HNSW
   index of pgvector.
3. A comment on the column holds the fingerprint of the model whose codes are stored.

Names of tables and columns are quoted by psycopg, and values are parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.hamming import Codes, check_codes
from proxcode.stores._postgres import codes_from_binary, connect, has_hnsw, import_psycopg
from proxcode.stores._postgres_search import MAX_EF_SEARCH, Selection
from proxcode.stores._postgres_table import CodeTable, doubled
from proxcode.stores.base import MAX_BITS, ServerStore, check_same_model
from proxcode.stores.ids import MAX_ID, already_stored, check_ids, check_new_ids, not_stored
from proxcode.stores.rescoring import Rescoring
from proxcode.stores.results import Neighborhoods, Neighbors
from proxcode.utils.validation import check_integer

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composable


class PostgresStore(ServerStore):
    """Codes in a `bit(n)` column of a PostgreSQL table, with the methods of `HammingIndex`.

    The table may be your own, with any further columns: rows whose code is NULL are not searched, `add` sets the codes
    of existing rows and inserts the others, `remove` sets codes to NULL. In a table of ids and codes alone, as this
    class creates it, rows are inserted and deleted.

    All statements run in the current transaction of `connection`, unless it is in autocommit mode: nothing is visible
    to others, or permanent, before you commit. A call that fails changes nothing, and the transaction can go on. As the
    transactions of a connection, a store serves one thread at a time, and it cannot be used in pipeline mode.

    Parameters
    ----------
    connection : psycopg.Connection or str
        An open connection, or a connection string such as "postgresql://user@host/database" or "service=name", for
        which the store opens a connection in autocommit mode; `close` ends it. Passwords belong in PGPASSWORD, a
        password file or a service file.
    table : str or tuple of str
        Name of the table, or of its schema and the table. With `n_bits`, a table or a column of codes that does not
        exist is created.
    n_bits : int, default=None
        Code length in bits, from 1 to 1024. None: that of the existing column.
    id_column, code_column : str, default="id", "code"
        Columns of ids, an integer type with a unique index, and of codes.
    ef_search : int, default=None
        None: `search` is an exact scan. A number up to 1000: `search` is approximate, by the index that `create_index`
        made, with this number of candidates. `within` is always exact.
    model : ProximityPreservingCode or str, default=None
        The model whose codes are stored, or its `fingerprint(n_bits)`: kept as a comment on the column with the first
        codes. A column with codes of another model is refused.

    Attributes
    ----------
    connection : psycopg.Connection
    has_pgvector : bool
        Whether pgvector 0.7 or later is installed in the database. Exact scans do not need it.

    Examples
    --------
    With `connection = psycopg.connect("service=shop")` and a fitted model::

        store = PostgresStore(connection, "items", n_bits=64, model=model)
        store.add(model.encode(X), ids)
        connection.commit()
        store.search(model.encode(queries), k=10)
        model.search(store, queries, k=10)
    """

    def __init__(
        self,
        connection: Connection[Any] | str,
        table: str | Sequence[str],
        n_bits: int | None = None,
        *,
        id_column: str = "id",
        code_column: str = "code",
        ef_search: int | None = None,
        model: Any = None,
    ) -> None:
        n_bits = None if n_bits is None else check_integer("n_bits", n_bits, 1, MAX_BITS)
        self.ef_search = None if ef_search is None else check_integer("ef_search", ef_search, 1, MAX_EF_SEARCH)
        self._is_opened_here = isinstance(connection, str)
        self.connection: Connection[Any] = (
            connect(connection, autocommit=True) if isinstance(connection, str) else connection
        )
        try:
            names = [table] if isinstance(table, str) else table
            self._table = CodeTable(self.connection, names, id_column, code_column)
            stored = self._table.open(n_bits)
            super().__init__(self._table.n_bits, model=model)
            if stored not in (None, self.fingerprint):
                with self._table.reading() as cursor:
                    # The model of codes that were all removed does not matter.
                    stored = stored if self._table.has_codes(cursor) else None
            check_same_model(stored, self.fingerprint)
        except BaseException:
            self.close()
            raise
        self.fingerprint = stored or self.fingerprint
        self.has_pgvector = self._table.pgvector is not None
        self._selection = Selection(self._table)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection, if the store opened it."""
        if self._is_opened_here:
            self.connection.close()

    def __len__(self) -> int:
        return self._selection.count()

    def add(self, codes: ArrayLike, ids: ArrayLike | None = None) -> Self:
        """Add codes; parameters as in `CodeStore.add`.

        In your own table ids=None continues from the largest id of all rows. Other stores that add codes so, or first
        codes, wait until this transaction ends.
        """
        codes = check_codes(codes, self.n_bits)
        new = None if ids is None else self._in_range(check_new_ids(ids, len(codes)))
        return self._write(codes, new, self._table.insert)

    def upsert(self, codes: ArrayLike, ids: ArrayLike) -> Self:
        """Replace or add codes, all or none of them; parameters as in `CodeStore.upsert`."""
        codes = check_codes(codes, self.n_bits)
        return self._write(codes, self._in_range(check_new_ids(ids, len(codes))), self._table.merge)

    def _write(self, codes: Codes, new: NDArray[np.int64] | None, change: Callable[..., int]) -> Self:
        """Write codes by a method of the table, all or none of them."""
        self._check_unfiltered()
        if len(codes) == 0:
            return self
        errors = import_psycopg().errors
        with self._table.writing() as cursor:
            self._table.check_unique(cursor)
            columns = self._table.record_model(cursor, self.fingerprint)
            if new is None:
                new = self._in_range(self._table.next_ids(cursor, columns, len(codes)))
            reason = "a trigger or another connection prevented it"
            try:
                is_written = self._table.changes_all(lambda: change(cursor, columns, new, codes), len(codes))
            except errors.UniqueViolation as error:
                is_written, reason = False, str(error.diag.message_primary)
            except (errors.NotNullViolation, errors.GeneratedAlways) as error:
                raise ValueError(
                    f"rows of an id and a code alone cannot be inserted into {self._table} "
                    f"({error.diag.message_primary}): insert the rows first, then add the codes of their ids."
                ) from error
            if not is_written:
                stored = new[self._table.are_stored(cursor, new)]
                if len(stored) == 0 or change == self._table.merge:
                    raise ValueError(f"the codes could not be added to {self._table}: {reason}.")
                raise already_stored(stored.min())
        return self

    def remove(self, ids: ArrayLike) -> Self:
        """Remove codes; parameters as in `CodeStore.remove`. In your own table codes are set to NULL, rows are kept."""
        removed = check_ids(ids)
        self._check_unfiltered()
        distinct = np.unique(removed)
        with self._table.writing() as cursor:
            if not self._table.changes_all(lambda: self._table.delete(cursor, distinct), len(distinct)):
                raise not_stored(removed[~self._table.are_stored(cursor, removed)][0])
        return self

    def _stored_codes(self, ids: NDArray[np.int64]) -> tuple[Codes, NDArray[np.bool_]]:
        statement = "SELECT {id}::bigint, {code} FROM {table} WHERE {id} = ANY(%(ids)s) AND {code} IS NOT NULL"
        with self._table.reading() as cursor:
            found = dict(cursor.execute(self._table.sql(statement), {"ids": np.unique(ids).tolist()}).fetchall())
        is_stored = np.array([one in found for one in ids.tolist()], bool)
        return codes_from_binary([found[one] for one in ids[is_stored].tolist()], self.n_bits), is_stored

    def search(
        self,
        codes: ArrayLike,
        k: int = 10,
        *,
        rescore: Rescoring | None = None,
        oversample: float = 4.0,
        where: Composable | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Neighbors:
        """Find the k nearest codes of each query.

        Parameters
        ----------
        codes, k, rescore, oversample
            As in `CodeStore.search`.
        where, parameters
            As in `filtered`.
        """
        store = self._restricted(where, parameters)
        return super(PostgresStore, store).search(codes, k, rescore=rescore, oversample=oversample)

    def _nearest(self, queries: Codes, k: int) -> Neighbors:
        if len(queries) == 0:
            shape = (0, min(k, len(self)))
            return Neighbors(np.empty(shape, np.int32), np.empty(shape, np.int64))
        # A number of rows is a bigint.
        return self._selection.nearest(queries, min(k, MAX_ID), self.ef_search).as_neighbors()

    def within(
        self,
        codes: ArrayLike,
        radius: int,
        *,
        where: Composable | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Neighborhoods:
        """Find all codes at Hamming distance at most `radius`, exactly.

        Parameters
        ----------
        codes, radius
            As in `CodeStore.within`.
        where, parameters
            As in `filtered`.
        """
        queries, radius = check_codes(codes, self.n_bits), check_integer("radius", radius, 0)
        store = self._restricted(where, parameters)
        return store._selection.within(queries, min(radius, self.n_bits))

    def _restricted(self, where: Composable | None, parameters: Mapping[str, Any] | None) -> PostgresStore:
        if where is None and parameters:
            raise ValueError(f"parameters={dict(parameters)!r:.60} without where: pass the condition that uses them.")
        return self if where is None else self.filtered(where, parameters)

    def filtered(self, where: Composable, parameters: Mapping[str, Any] | None = None) -> PostgresStore:
        """Return the same store restricted to some rows, to search only.

        Parameters
        ----------
        where : psycopg.sql.Composable
            A condition on columns of the table, with named placeholders for values, for example
            `psycopg.sql.SQL("price < %(price)s")`; any other percent sign is doubled, as in `LIKE 'a%%'`.
        parameters : mapping of str to values, default=None
            Values of the placeholders, {"price": 20}.
        """
        store = copy(self)
        store._selection = self._selection.filtered(where, parameters or {})
        return store

    def create_index(self, *, n_links: int = 16, ef_construction: int = 64) -> Self:
        """Create an HNSW index of pgvector on the codes, for approximate searches; set `ef_search` to use it.

        The index is kept up to date by later changes. It is faster to build after codes are added, and with
        `SET maintenance_work_mem` large enough to hold it.

        Parameters
        ----------
        n_links : int, default=16
            Number of links per node, from 2 to 100.
        ef_construction : int, default=64
            Number of candidates during construction, from 4 to 1000 and at least twice `n_links`.
        """
        n_links = check_integer("n_links", n_links, 2, 100)
        ef_construction = check_integer("ef_construction", ef_construction, max(4, 2 * n_links), 1000)
        if self._table.pgvector is None:
            raise ValueError(
                "pgvector 0.7 or later is not installed in this database: run CREATE EXTENSION vector, or ALTER "
                "EXTENSION vector UPDATE, as an owner of the database, and open the store again."
            )
        statement = "CREATE INDEX ON {table} USING hnsw ({code} {operators}) WITH (m = {}, ef_construction = {})"
        operators = import_psycopg().sql.Identifier(doubled(self._table.pgvector.schema), "bit_hamming_ops")
        with self._table.writing() as cursor:
            if not has_hnsw(cursor, str(self._table), self._table.code_column):
                cursor.execute(self._table.sql(statement, n_links, ef_construction, operators=operators), ())
        return self

    def _in_range(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return ids. Raises ValueError if the type of the id column cannot hold one of them."""
        limits = np.iinfo(self._table.id_type)
        if len(outside := ids[(ids < limits.min) | (ids > limits.max)]):
            raise ValueError(
                f"ids contains {outside[0]}: column {self._table.id_column!r} of {self._table} holds integers from "
                f"{limits.min} to {limits.max}."
            )
        return ids

    def _check_unfiltered(self) -> None:
        if self._selection.condition is not None:
            raise ValueError("a filtered store can only be searched: change the store that it was made from.")
