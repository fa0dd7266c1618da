"""Codes in Milvus; requires `pip install 'proxcode[milvus]'`.

1. A collection has a primary key of ids, INT64, and a BINARY_VECTOR field of codes, filled up with zero bits to whole
   bytes. Its description records the code length and the fingerprint of the model.
2. Searches ask for strong consistency: they see all codes that were added before.
3. Milvus returns at most 16,384 results per query. What would exceed this raises an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.hamming import Codes, check_codes
from proxcode.stores.base import ServerStore, check_same_model, read_record, written_record
from proxcode.stores.ids import MAX_ID, already_stored, check_ids, check_new_ids, next_ids, not_stored
from proxcode.stores.results import Neighborhoods, Neighbors
from proxcode.utils.validation import check_integer

# Limit of Milvus on the results of one query, and on the rows that a statement returns.
MAX_RESULTS = 16_384
# Codes or ids per request; requests of Milvus are limited to 64 MB.
BLOCK_ROWS = 8_192
# Results of one search request, over all of its queries.
BLOCK_RESULTS = 131_072
METRIC = "HAMMING"


class MilvusStore(ServerStore):
    """Codes in a collection of Milvus or Milvus Lite, with the methods of `HammingIndex`.

    Parameters
    ----------
    client : pymilvus.MilvusClient
        An open client; it is not closed by the store.
    collection : str
        Name of the collection. With `n_bits`, a collection that does not exist is created, with the exact index
        BIN_FLAT.
    n_bits : int, default=None
        Code length in bits, from 1 to 1024. None: as recorded in the collection.
    id_field, code_field : str, default="id", "code"
        Fields of ids, an INT64 primary key, and of codes, a BINARY_VECTOR of 8 * ceil(n_bits / 8) dimensions with an
        index of metric HAMMING.
    model : ProximityPreservingCode or str, default=None
        As in `CodeStore`. It is recorded when the collection is created; an existing collection is never altered.

    Notes
    -----
    Milvus has neither unique keys nor transactions. What holds:

    - Ids are compared with the stored ones before they are added. Two writers that add the same id at the same time are
      not noticed, and both codes are stored.
    - Codes are added 8,192 per request. If a request fails, the codes of the earlier ones are removed again, unless
      the connection is lost: then they stay.
    - `upsert` is that of Milvus, 8,192 codes per request: an error at a later request leaves the earlier codes
      replaced or added, and the same call completes the change.
    - `remove` deletes 8,192 ids per request: an error at a later request leaves the earlier ones removed.
    - An index other than BIN_FLAT, in a collection of your own, is approximate: `search` and `within` may miss codes.

    Examples
    --------
    With `client = pymilvus.MilvusClient("http://localhost:19530")`, or a file name for Milvus Lite, and a fitted
    model::

        store = MilvusStore(client, "items", n_bits=64, model=model)
        store.add(model.encode(X), ids)
        model.search(store, queries, k=10)
    """

    def __init__(
        self,
        client: Any,
        collection: str,
        n_bits: int | None = None,
        *,
        id_field: str = "id",
        code_field: str = "code",
        model: Any = None,
    ) -> None:
        milvus = _import_pymilvus()
        if not isinstance(client, milvus.MilvusClient):
            raise TypeError(f"client={client!r}: expected a pymilvus.MilvusClient.")
        self._client, self._collection, self._id, self._code = client, collection, id_field, code_field
        exists = client.has_collection(collection)
        if n_bits is None and not exists:
            raise ValueError(f"collection {collection!r} does not exist: pass n_bits to create it.")
        if n_bits is not None:
            super().__init__(n_bits, model=model)
            if not exists:
                self._create(milvus)
        described = client.describe_collection(collection)
        self._check_fields(milvus.DataType, described["fields"])
        recorded, fingerprint = read_record(described["description"])
        if n_bits is None:
            if recorded is None:
                raise ValueError(f"collection {collection!r} does not record the code length: pass n_bits.")
            super().__init__(recorded, model=model)
        dimension = next(field["params"]["dim"] for field in described["fields"] if field["name"] == code_field)
        if recorded not in {None, self.n_bits} or dimension != 8 * self._n_bytes:
            stored = f"{dimension} dimensions" + (f" for n_bits={recorded}" if recorded else "")
            raise ValueError(
                f"n_bits={self.n_bits}: the codes of collection {collection!r} have {stored}; pass their n_bits or "
                "another collection."
            )
        check_same_model(fingerprint, self.fingerprint)
        self.fingerprint = self.fingerprint if fingerprint is None else fingerprint
        client.load_collection(collection)

    @property
    def _n_bytes(self) -> int:
        return -(-self.n_bits // 8)

    def _create(self, milvus: Any) -> None:
        description = written_record(self.n_bits, self.fingerprint)
        schema = milvus.MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False, description=description)
        schema.add_field(self._id, milvus.DataType.INT64, is_primary=True)
        schema.add_field(self._code, milvus.DataType.BINARY_VECTOR, dim=8 * self._n_bytes)
        index = milvus.MilvusClient.prepare_index_params()
        index.add_index(self._code, index_type="BIN_FLAT", metric_type=METRIC)
        self._client.create_collection(self._collection, schema=schema, index_params=index, consistency_level="Strong")

    def _check_fields(self, types: Any, fields: list[dict[str, Any]]) -> None:
        found = {field["name"]: field["type"] for field in fields}
        for name, kind in ((self._id, types.INT64), (self._code, types.BINARY_VECTOR)):
            if found.get(name) != kind:
                actual = types(found[name]).name if name in found else "missing"
                raise ValueError(
                    f"field {name!r} of collection {self._collection!r} is {actual}: expected {kind.name}."
                )
        own = next(field for field in fields if field["name"] == self._id)
        if not own.get("is_primary") or own.get("auto_id"):
            raise ValueError(
                f"field {self._id!r} of collection {self._collection!r} is not a primary key that takes ids: create "
                "the collection with is_primary=True and auto_id=False for it."
            )

    def __len__(self) -> int:
        return int(self._query("", ["count(*)"])[0]["count(*)"])

    def _query(self, expression: str, fields: list[str], **options: Any) -> list[dict[str, Any]]:
        """Return the rows that satisfy an expression."""
        rows: list[dict[str, Any]] = list(
            self._client.query(
                self._collection, filter=expression, output_fields=fields, consistency_level="Strong", **options
            )
        )
        return rows

    def add(self, codes: ArrayLike, ids: ArrayLike | None = None) -> Self:
        """Add codes; parameters as in `CodeStore.add`."""
        codes = check_codes(codes, self.n_bits)
        given = None if ids is None else check_new_ids(ids, len(codes))
        if len(codes) == 0:
            return self
        if given is None:
            new = next_ids(self._largest_id(), len(codes))
        else:
            new = given
            if stored := self._stored(new, [self._id]):
                raise already_stored(min(stored))
        rows = self._rows(codes, new)
        n_added = 0
        try:
            for start in range(0, len(rows), BLOCK_ROWS):
                self._client.insert(self._collection, rows[start : start + BLOCK_ROWS])
                n_added = min(start + BLOCK_ROWS, len(rows))
        except BaseException:
            self._delete(new[:n_added])
            raise
        return self

    def upsert(self, codes: ArrayLike, ids: ArrayLike) -> Self:
        """Replace or add codes; parameters as in `CodeStore.upsert`."""
        codes = check_codes(codes, self.n_bits)
        rows = self._rows(codes, check_new_ids(ids, len(codes)))
        for start in range(0, len(rows), BLOCK_ROWS):
            self._client.upsert(self._collection, rows[start : start + BLOCK_ROWS])
        return self

    def _rows(self, codes: Codes, ids: NDArray[np.int64]) -> list[dict[str, Any]]:
        """Return the rows of a request."""
        return [{self._id: one, self._code: code.tobytes()} for one, code in zip(ids.tolist(), codes, strict=True)]

    def _largest_id(self) -> int | None:
        """Return the largest stored id by bisection, since Milvus has no maximum; None if nothing is stored."""
        found = self._query(f"{self._id} >= {-MAX_ID}", [self._id], limit=1)
        if not found:
            # An expression of Milvus cannot hold the smallest int64.
            return -MAX_ID - 1 if len(self) else None
        largest, bound = int(found[0][self._id]), MAX_ID
        while largest < bound:
            # The middle, rounded up, so that each step narrows the interval.
            middle = (largest + bound + 1) // 2
            found = self._query(f"{self._id} >= {middle}", [self._id], limit=1)
            largest, bound = (int(found[0][self._id]), bound) if found else (largest, middle - 1)
        return largest

    def _stored(self, ids: NDArray[np.int64], fields: list[str]) -> dict[int, dict[str, Any]]:
        """Return the rows of those of the ids that are stored, by id."""
        found: dict[int, dict[str, Any]] = {}
        for block in _blocks(ids, BLOCK_ROWS):
            rows = self._client.get(
                self._collection, ids=block.tolist(), output_fields=fields, consistency_level="Strong"
            )
            found.update({int(row[self._id]): row for row in rows})
        return found

    def remove(self, ids: ArrayLike) -> Self:
        """Remove codes; parameters as in `CodeStore.remove`."""
        wanted = check_ids(ids)
        removed = np.unique(wanted)
        stored = self._stored(removed, [self._id])
        for one in wanted.tolist():
            if one not in stored:
                raise not_stored(one)
        self._delete(removed)
        return self

    def _delete(self, ids: NDArray[np.int64]) -> None:
        for block in _blocks(ids, BLOCK_ROWS):
            self._client.delete(self._collection, ids=block.tolist())

    def _stored_codes(self, ids: NDArray[np.int64]) -> tuple[Codes, NDArray[np.bool_]]:
        stored = self._stored(np.unique(ids), [self._id, self._code])
        is_stored = np.array([one in stored for one in ids.tolist()], bool)
        # A vector is returned as a list with one value.
        values = [stored[one][self._code] for one in ids[is_stored].tolist()]
        codes = b"".join(value[0] if isinstance(value, list) else value for value in values)
        return np.frombuffer(codes, np.uint8).reshape(len(values), self._n_bytes), is_stored

    def _hits(self, queries: Codes, limit: int, **parameters: Any) -> Iterator[list[Any]]:
        """Yield the results of each query."""
        for block in _blocks(queries, max(1, BLOCK_RESULTS // limit)):
            yield from self._client.search(
                self._collection,
                [query.tobytes() for query in block],
                anns_field=self._code,
                limit=limit,
                search_params={"metric_type": METRIC, "params": parameters},
                consistency_level="Strong",
            )

    def _id_of(self, hit: Any) -> int:
        # Servers name the id by its field, Milvus Lite names it "id".
        return int(hit[self._id] if self._id in hit else hit["id"])

    def _nearest(self, queries: Codes, k: int) -> Neighbors:
        k = min(k, len(self))
        if k > MAX_RESULTS:
            raise ValueError(f"k={k}: expected at most {MAX_RESULTS}, the limit of Milvus.")
        distance, neighbor = np.full((len(queries), k), -1, np.int32), np.full((len(queries), k), -1)
        if k:
            for query, hits in enumerate(self._hits(queries, k)):
                distance[query, : len(hits)] = [hit["distance"] for hit in hits]
                neighbor[query, : len(hits)] = [self._id_of(hit) for hit in hits]
        return Neighbors(distance, neighbor)

    def within(self, codes: ArrayLike, radius: int) -> Neighborhoods:
        """Find codes at Hamming distance at most `radius`, fewer than 16,384 per query; as in `CodeStore.within`."""
        queries, radius = check_codes(codes, self.n_bits), check_integer("radius", radius, 0)
        found = []
        # The radius of Milvus is exclusive.
        for query, hits in enumerate(self._hits(queries, MAX_RESULTS, radius=min(radius, self.n_bits) + 1)):
            if len(hits) == MAX_RESULTS:
                raise ValueError(
                    f"radius={radius}: query {query} has {MAX_RESULTS} or more neighbours, the limit of Milvus; pass a "
                    "smaller radius, or use HammingIndex."
                )
            found += [(query, int(hit["distance"]), self._id_of(hit)) for hit in hits]
        rows = np.array(found, np.int64).reshape(-1, 3)
        return Neighborhoods.of_rows(len(queries), rows[:, 0], rows[:, 1], rows[:, 2])


def _blocks(rows: NDArray[Any], size: int) -> Iterator[NDArray[Any]]:
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _import_pymilvus() -> Any:
    try:
        import pymilvus
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("MilvusStore requires pymilvus: pip install 'proxcode[milvus]'.") from error
    return pymilvus
