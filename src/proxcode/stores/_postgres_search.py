"""Statements that search a table of PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from proxcode.hamming import Codes
from proxcode.stores._postgres import bit_texts, first, has_hnsw, import_psycopg
from proxcode.stores._postgres_table import CodeTable, doubled
from proxcode.stores.results import Neighborhoods

if TYPE_CHECKING:
    from psycopg import Cursor
    from psycopg.sql import Composable, Composed

# First version of pgvector whose index scans continue until k rows pass a filter.
ITERATIVE_VERSION = (0, 8)
MAX_EF_SEARCH = 1000
# Names of the placeholders of the statements here.
OWN_PARAMETERS = frozenset({"_query", "_k", "_radius"})


@dataclass(frozen=True)
class Selection:
    """The rows of a table that are searched: those with a code that satisfy a condition, if there is one."""

    table: CodeTable
    condition: Composable | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def filtered(self, where: Any, parameters: Mapping[str, Any]) -> Selection:
        """Return a selection of the rows that satisfy a further condition."""
        sql = import_psycopg().sql
        if not isinstance(where, sql.Composable):
            raise TypeError(
                f"where={where!r}: expected a psycopg.sql.SQL, with placeholders such as %(price)s for values."
            )
        if own := sorted(OWN_PARAMETERS.intersection(parameters)):
            raise ValueError(f"parameters has {own[0]!r}, a name that the store itself uses: choose another.")
        if used := sorted(self.parameters.keys() & parameters):
            raise ValueError(f"parameters has {used[0]!r}, a name that another filter uses: choose another.")
        conditions = [condition for condition in (self.condition, where) if condition is not None]
        condition = sql.SQL(" AND ").join(sql.SQL("({})").format(one) for one in conditions)
        return Selection(self.table, condition, {**self.parameters, **parameters})

    def count(self) -> int:
        """Return the number of rows."""
        with self.table.reading() as cursor:
            statement = self._sql("SELECT count(*) FROM {table} WHERE {is_searched}")
            return int(first(cursor.execute(statement, self.parameters)))

    def nearest(self, queries: Codes, k: int, ef_search: int | None) -> Neighborhoods:
        """Find the k nearest codes of each query, with `ef_search` by an index."""
        statement = "SELECT {id}::bigint, {distance} FROM {table} WHERE {is_searched} ORDER BY {order} LIMIT %(_k)s"
        # The index answers its operator alone; a scan can order ties.
        order = "2, 1" if ef_search is None else "{code} {operator} {query}"
        with self.table.reading() as cursor:
            if ef_search is not None:
                self._set_up_index(cursor, ef_search, k)
            return self._rows(cursor, statement.replace("{order}", order), queries, {"_k": k})

    def within(self, queries: Codes, radius: int) -> Neighborhoods:
        """Find all codes within a radius."""
        statement = "SELECT {id}::bigint, {distance} FROM {table} WHERE {is_searched} AND {distance} <= %(_radius)s"
        with self.table.reading() as cursor:
            return self._rows(cursor, statement, queries, {"_radius": radius})

    def _set_up_index(self, cursor: Cursor[Any], ef_search: int, k: int) -> None:
        """Choose the number of candidates of index scans in this transaction."""
        pgvector = self.table.pgvector
        if pgvector is None or not has_hnsw(cursor, str(self.table), self.table.code_column):
            raise ValueError(
                f"ef_search={ef_search}: {self.table} has no HNSW index; make one by create_index(), or by proxcode "
                "load --hnsw."
            )
        statement = "SELECT set_config('hnsw.ef_search', %s, true)"
        if pgvector.version >= ITERATIVE_VERSION:
            statement += ", set_config('hnsw.iterative_scan', 'strict_order', true)"
        cursor.execute(statement, (str(min(max(ef_search, k), MAX_EF_SEARCH)),))

    def _rows(
        self, cursor: Cursor[Any], statement: str, queries: Codes, parameters: Mapping[str, Any]
    ) -> Neighborhoods:
        """Run a statement that selects ids and distances for each query."""
        if len(queries) == 0:
            return Neighborhoods.of_rows(0, *np.empty((3, 0), np.int64))
        texts = bit_texts(queries, self.table.n_bits)
        given = [{"_query": text, **parameters, **self.parameters} for text in texts]
        cursor.executemany(self._sql(statement), given, returning=True)
        found = []
        for query in range(len(queries)):
            rows = np.array(cursor.fetchall(), np.int64).reshape(-1, 2)
            found.append(np.column_stack([np.full(len(rows), query), rows]))
            cursor.nextset()
        query_numbers, neighbor, distance = np.concatenate(found).T
        return Neighborhoods.of_rows(len(queries), query_numbers, distance, neighbor)

    def _sql(self, text: str) -> Composed:
        """Return a statement: {distance} is that from {query}, {is_searched} is true for the rows of this selection."""
        sql, pgvector = import_psycopg().sql, self.table.pgvector
        query = self.table.sql("%(_query)s::bit({})", self.table.n_bits)
        if pgvector is None:
            operator, distance = sql.SQL("#"), "bit_count({code} # {query})::integer"
        else:
            operator = sql.SQL("OPERATOR({}.<~>)").format(sql.Identifier(doubled(pgvector.schema)))
            distance = "({code} {operator} {query})::integer"
        condition = sql.SQL("TRUE") if self.condition is None else self.condition
        return self.table.sql(
            text,
            query=query,
            operator=operator,
            distance=self.table.sql(distance, query=query, operator=operator),
            is_searched=self.table.sql("{code} IS NOT NULL AND {id} IS NOT NULL AND ({all})", all=condition),
        )
