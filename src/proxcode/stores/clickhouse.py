"""Codes in ClickHouse; requires `pip install 'proxcode[clickhouse]'`.

1. A table has a column of ids, Int64, and a column of packed codes, FixedString; a comment on the latter records the
   code length and the fingerprint of the model.
2. Codes, ids and results pass as RowBinary, which numpy reads and writes without a loop over rows.
3. The nearest codes of many queries are found in one scan: one aggregate `groupArraySorted(k)` per query, over numbers
   that hold the distance above the id, so that they are ordered by distance and then by id.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.hamming import Codes, check_codes
from proxcode.stores._clickhouse_rows import MAX_IDS, blocks, bound, delete, insert, neighborhoods, numbered_blocks
from proxcode.stores._clickhouse_sql import (
    Parameters,
    Scan,
    Where,
    check_name,
    conditions,
    quoted_name,
    quoted_table,
    quoted_text,
)
from proxcode.stores.base import ServerStore, check_same_model, read_record, written_record
from proxcode.stores.ids import already_stored, check_ids, check_new_ids, next_ids, not_stored
from proxcode.stores.rescoring import Rescoring
from proxcode.stores.results import Neighborhoods, Neighbors
from proxcode.utils.validation import check_integer

# Queries per statement: more of them save no time, and the text and parameters stay within the limits of HTTP servers.
MAX_QUERIES = 100
# Numbers that the aggregates of one statement and thread hold, of 16 bytes each.
MAX_HELD = 2**20
# The largest k of `groupArraySorted`.
MAX_K = 0xFFFFFF


class ClickHouseStore(ServerStore):
    """Codes in a table of ClickHouse, with the methods of `HammingIndex`; searches are exact scans.

    Parameters
    ----------
    client : clickhouse_connect.driver.Client
        A connection, `clickhouse_connect.get_client(host=...)`, or an engine inside this process,
        `get_client(interface="chdb")`. As all such clients, it serves one thread at a time.
    table : str or tuple of two str
        Name of the table, or of its database and the table. With `n_bits`, the table is created if it does not exist.
    n_bits : int, default=None
        Code length in bits, from 1 to 1024. None: as recorded in the table.
    id_column, code_column : str, default="id", "code"
        Names of the columns of ids, Int64, and of codes, FixedString(ceil(n_bits / 8)). The table may have others.
    model : ProximityPreservingCode or str, default=None
        As in `CodeStore`. It is recorded when the table is created; an existing table is never altered.

    Notes
    -----
    ClickHouse has neither unique keys nor transactions of several statements. What holds:

    - The codes of one call of `add` are one block and one part of the table: all of them are stored, or none. A client
      that repeats the request after a lost connection adds them once, if the table has a deduplication window: tables
      that are created here and replicated tables have one.
    - Ids are compared with the stored ones before they are added. Two writers that add the same id at the same time are
      not noticed, and both codes are stored.
    - `upsert` inserts codes that are new or changed, then deletes the old rows of the changed ones. In between, and if
      the deletion fails, an id has both codes; no code is lost, and the same call completes the change.
    - `remove` waits until all replicas have removed the codes. It deletes 4,096 ids per statement: an error at a later
      statement leaves the codes of the earlier ones removed.

    Examples
    --------
    >>> import clickhouse_connect, numpy as np
    >>> client = clickhouse_connect.get_client(interface="chdb")
    >>> store = ClickHouseStore(client, "example_of_store", n_bits=16)
    >>> store.add(np.array([[0, 0], [0, 7], [255, 255]], np.uint8), ids=[10, 20, 30])
    ClickHouseStore(n_bits=16), 3 codes
    >>> store.search(np.array([[0, 1]], np.uint8), k=2)
    Neighbors(distance=array([[1, 2]], dtype=int32), neighbor=array([[10, 20]]))
    >>> client.close()
    """

    def __init__(
        self,
        client: Any,
        table: str | tuple[str, str],
        n_bits: int | None = None,
        *,
        id_column: str = "id",
        code_column: str = "code",
        model: Any = None,
    ) -> None:
        if not hasattr(client, "raw_query") or inspect.iscoroutinefunction(client.raw_query):
            raise TypeError(f"client={client!r}: expected a client of clickhouse_connect.get_client().")
        self._client, self._name, self._table = client, table, quoted_table(table)
        self._id, self._code = quoted_name(id_column), quoted_name(code_column)
        columns = self._columns()
        if n_bits is not None:
            super().__init__(n_bits, model=model)
            if not columns:
                self._create()
                columns = self._columns()
        elif not columns:
            raise ValueError(f"table {table!r} does not exist: pass n_bits to create it.")
        for column, kind in ((id_column, "Int64"), (code_column, "FixedString")):
            found = columns.get(column, ("missing", ""))[0]
            if found.partition("(")[0] != kind:
                raise ValueError(f"column {column!r} of table {table!r} is {found}: expected {kind}.")
        kind, comment = columns[code_column]
        recorded, fingerprint = read_record(comment)
        if n_bits is None:
            if recorded is None:
                raise ValueError(f"table {table!r} does not record the code length: pass n_bits.")
            super().__init__(recorded, model=model)
        if recorded not in {None, self.n_bits} or kind != f"FixedString({self._n_bytes})":
            stored = f"{kind} for n_bits={recorded}" if recorded else kind
            raise ValueError(
                f"n_bits={self.n_bits}: the codes of table {table!r} are {stored}; pass their n_bits or another table."
            )
        check_same_model(fingerprint, self.fingerprint)
        self._scan, self._where = Scan(self._table, self._id, self._code, self._n_bytes), dict[str, Any]()
        self.fingerprint = fingerprint or self.fingerprint

    @property
    def _n_bytes(self) -> int:
        return -(-self.n_bits // 8)

    def _columns(self) -> dict[str, tuple[str, str]]:
        """Return the type and the comment of each column by its name; none if the table does not exist."""
        database, table = ("", self._name) if isinstance(self._name, str) else self._name
        # Hexadecimal: names and comments may contain any character.
        found = self._client.raw_query(
            "SELECT hex(name), hex(type), hex(comment) FROM system.columns WHERE table = {table:String} "
            "AND database = if({database:String} = '', currentDatabase(), {database:String})",
            parameters={"database": database, "table": table},
            fmt="TSV",
        )
        rows = [[bytes.fromhex(text).decode() for text in line.split("\t")] for line in found.decode().splitlines()]
        return {name: (kind, comment) for name, kind, comment in rows}

    def _create(self) -> None:
        self._client.command(
            f"CREATE TABLE IF NOT EXISTS {self._table} ({self._id} Int64, {self._code} FixedString({self._n_bytes}) "
            f"COMMENT {quoted_text(written_record(self.n_bits, self.fingerprint))}) ENGINE = MergeTree "
            f"ORDER BY {self._id} SETTINGS non_replicated_deduplication_window = 100"
        )

    def _rows(self, sql: str, dtype: Any, parameters: Parameters | None = None) -> NDArray[Any]:
        """Return the rows that a statement selects, as an array of records."""
        return np.frombuffer(self._client.raw_query(sql, parameters=parameters, fmt="RowBinary"), dtype)

    def __len__(self) -> int:
        return int(self._rows(f"SELECT count() FROM {self._table}", "<u8")[0])

    def add(self, codes: ArrayLike, ids: ArrayLike | None = None) -> Self:
        """Add codes, all or none of them; parameters as in `CodeStore.add`."""
        codes = check_codes(codes, self.n_bits)
        given = None if ids is None else check_new_ids(ids, len(codes))
        if len(codes) == 0:
            return self
        # ClickHouse returns 0 and 0 for an empty table.
        n_stored, smallest, largest = self._rows(
            f"SELECT toInt64(count()), min({self._id}), max({self._id}) FROM {self._table}", "<i8"
        ).tolist()
        if given is None:
            new = next_ids(largest if n_stored else None, len(codes))
        else:
            new = given
            in_range = np.sort(new[(new >= smallest) & (new <= largest)]) if n_stored else new[:0]
            for found in self._stored(in_range):
                if len(found):
                    raise already_stored(found["id"].min())
        insert(self._client, self._columns_text, self._records(codes, new))
        return self

    def upsert(self, codes: ArrayLike, ids: ArrayLike) -> Self:
        """Replace or add codes; parameters as in `CodeStore.upsert`."""
        codes = check_codes(codes, self.n_bits)
        new = check_new_ids(ids, len(codes))
        order = np.argsort(new)
        stored = np.concatenate([np.empty(0, self._row_type), *self._stored(new[order])])
        row = order[np.searchsorted(new, stored["id"], sorter=order)]
        is_same = (stored["code"] == codes[row]).all(axis=1)
        changed = np.delete(np.arange(len(codes)), row[is_same])
        if len(changed):
            insert(self._client, self._columns_text, self._records(codes[changed], new[changed]))
        delete(self._client, self._table, self._id, self._code, np.unique(stored[~is_same]))
        return self

    @property
    def _columns_text(self) -> str:
        return f"{self._table} ({self._id}, {self._code})"

    def _records(self, codes: Codes, ids: NDArray[np.int64]) -> NDArray[Any]:
        rows = np.empty(len(codes), self._row_type)
        rows["id"], rows["code"] = ids, codes
        return rows

    @property
    def _row_type(self) -> np.dtype[Any]:
        return np.dtype([("id", "<i8"), ("code", np.uint8, self._n_bytes)])

    def _stored(self, ids: NDArray[np.int64]) -> Iterator[NDArray[Any]]:
        """Yield those of the ids that are stored, with their codes, block by block."""
        for block in blocks(ids, MAX_IDS):
            yield self._rows(
                f"SELECT {self._id}, {self._code} FROM {self._table} WHERE {self._id} IN {{ids:Array(Int64)}}",
                self._row_type,
                {"ids": block.tolist()},
            )

    def remove(self, ids: ArrayLike) -> Self:
        """Remove codes; parameters as in `CodeStore.remove`."""
        wanted = check_ids(ids)
        removed = np.unique(wanted)
        stored = np.concatenate([wanted[:0], *(found["id"] for found in self._stored(removed))])
        if not (is_stored := np.isin(wanted, stored)).all():
            raise not_stored(wanted[~is_stored][0])
        for block in blocks(removed, MAX_IDS):
            self._client.command(
                f"DELETE FROM {self._table} WHERE {self._id} IN {{ids:Array(Int64)}}",
                parameters={"ids": block.tolist()},
                settings={"lightweight_deletes_sync": 2},
            )
        return self

    def _stored_codes(self, ids: NDArray[np.int64]) -> tuple[Codes, NDArray[np.bool_]]:
        stored = np.concatenate([np.empty(0, self._row_type), *self._stored(np.unique(ids))])
        stored = stored[np.argsort(stored["id"], kind="stable")]
        is_stored = np.isin(ids, stored["id"])
        return stored["code"][np.searchsorted(stored["id"], ids[is_stored])], is_stored

    def search(
        self,
        codes: ArrayLike,
        k: int = 10,
        *,
        rescore: Rescoring | None = None,
        oversample: float = 4.0,
        where: Where | None = None,
    ) -> Neighbors:
        """Find the k nearest codes of each query; other parameters as in `CodeStore.search`.

        Parameters
        ----------
        where : mapping, default=None
            Values of other columns of the table, by the name of the column: a value, a list of which one is required,
            or None for NULL. `{"language": "en", "year": [2024, 2025]}` searches among the rows that have all of them.
        """
        store = self if where is None else self.filtered(where)
        return super(ClickHouseStore, store).search(codes, k, rescore=rescore, oversample=oversample)

    def filtered(self, where: Where) -> ClickHouseStore:
        """Return the same store, whose searches are among the rows that `where`, as in `search`, describes."""
        for name in where:
            check_name(name)
        if unknown := set(where) - set(self._columns()):
            raise ValueError(f"where has {min(unknown)!r}: expected names of columns of table {self._name!r}.")
        if used := set(where) & set(self._where):
            raise ValueError(f"where has {min(used)!r}, which another filter has already: pass all its values at once.")
        filtered = copy.copy(self)
        filtered._where = {**self._where, **where}
        filter_, values = conditions(filtered._where)
        filtered._scan = dataclasses.replace(self._scan, filter=filter_, values=values)
        return filtered

    def _nearest(self, queries: Codes, k: int) -> Neighbors:
        k = min(k, len(self))
        if k > MAX_K:
            raise ValueError(f"k={k}: expected at most {MAX_K}, the limit of ClickHouse.")
        if k == 0 or len(queries) == 0:
            return Neighbors(np.empty((len(queries), k), np.int32), np.empty((len(queries), k), np.int64))
        row_type = [("query", "<u4"), ("id", "<i8"), ("high", "<i8")]
        found = []
        for start, block in numbered_blocks(queries, min(MAX_QUERIES, max(1, MAX_HELD // k))):
            rows = self._rows(self._scan.nearest(len(block), k), row_type, bound(block) | self._scan.values)
            # A negative id borrows 1 from the distance above it.
            found.append((start + rows["query"], rows["high"] + (rows["id"] < 0), rows["id"]))
        return neighborhoods(len(queries), found).as_neighbors()

    def within(self, codes: ArrayLike, radius: int, *, where: Where | None = None) -> Neighborhoods:
        """Find codes at Hamming distance at most `radius`; parameters as in `CodeStore.within` and `search`."""
        queries, radius = check_codes(codes, self.n_bits), check_integer("radius", radius, 0)
        scan = (self if where is None else self.filtered(where))._scan
        row_type = [("query", "<u4"), ("distance", "<u2"), ("id", "<i8")]
        found = []
        for start, block in numbered_blocks(queries, MAX_QUERIES):
            rows = self._rows(
                scan.within(len(block)),
                row_type,
                bound(block) | {"radius": min(radius, self.n_bits)} | scan.values,
            )
            found.append((start + rows["query"], rows["distance"], rows["id"]))
        return neighborhoods(len(queries), found)
