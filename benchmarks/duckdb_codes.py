"""Search among codes in DuckDB: the statements of docs/duckdb.md on random codes, beside HammingIndex.

    python benchmarks/duckdb_codes.py
    python benchmarks/duckdb_codes.py --codes 100000

Prints seconds for 1, 10 and 100 queries, the 10 nearest of each; writes results/duckdb_codes.csv.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from _common import best_of, record
from proxcode import HammingIndex

K = 10
ONE = "SELECT id, bit_count(xor(code, ?::UBIGINT)) AS distance FROM items ORDER BY distance, id LIMIT 10"
IN_FILE = (
    "SELECT id, bit_count(xor(code::BIT{0}, ?::BLOB::BIT{0})) AS distance FROM '{1}' ORDER BY distance, id LIMIT 10"
)
BATCHES = {
    "min": "SELECT query, unnest(min({'distance': bit_count(xor(items.code, asked.code)), 'id': id}, 10)) "
    "FROM asked, items GROUP BY query",
    "QUALIFY": "SELECT query, id, bit_count(xor(items.code, asked.code)) AS distance FROM asked, items "
    "QUALIFY row_number() OVER (PARTITION BY query ORDER BY distance, id) <= 10",
    "LATERAL": "SELECT query, id, distance FROM asked, LATERAL "
    "(SELECT id, bit_count(xor(items.code, asked.code)) AS distance FROM items ORDER BY distance, id LIMIT 10)",
    "within 12": "SELECT query, id, bit_count(xor(items.code, asked.code)) AS distance FROM asked, items "
    "WHERE distance <= 12",
}
# Statements that sort all pairs are measured with fewer queries.
MAX_QUERIES = {"QUALIFY": 10, "LATERAL": 10}


def duckdb_times(codes, n_queries):
    """Yield the name of a way to search codes of 8 bytes, and its seconds for `n_queries` queries."""
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    queries = codes[:n_queries].view(">u8").ravel().astype(np.uint64)
    kind = pa.binary(8)
    column = pa.FixedSizeBinaryArray.from_buffers(kind, len(codes), [None, pa.py_buffer(codes)])
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as db:
        path = Path(folder, "codes.parquet")
        pq.write_table(pa.table({"id": np.arange(len(codes)), "code": column}), path)
        load = f"CREATE OR REPLACE TABLE items AS SELECT id, code::BIT::UBIGINT AS code FROM '{path}'"
        yield "table from Parquet", best_of(lambda: db.execute(load), 1)
        db.register("arrow", pa.table({"query": np.arange(n_queries), "code": queries}))
        db.execute("CREATE TABLE asked AS SELECT * FROM arrow")
        yield "one statement per query", best_of(lambda: [db.execute(ONE, [int(q)]).fetchall() for q in queries])
        for name, statement in BATCHES.items():
            if n_queries <= MAX_QUERIES.get(name, n_queries):
                yield name, best_of(lambda statement=statement: db.execute(statement).fetchall(), 1)
        if n_queries == 1:
            for name, cast in (("Parquet, as UBIGINT", "::UBIGINT"), ("Parquet, as BIT", "")):
                statement, query = IN_FILE.format(cast, path), codes[0].tobytes()
                yield name, best_of(lambda statement=statement, query=query: db.execute(statement, [query]).fetchall())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codes", type=int, default=1_000_000)
    options = parser.parse_args()
    codes = np.random.default_rng(0).integers(0, 256, (options.codes, 8), dtype=np.uint8)
    index = HammingIndex(64).add(codes)
    rows = []
    for n_queries in (1, 10, 100):
        index.search(codes[:n_queries], K)  # compiles
        times = {"HammingIndex": best_of(lambda n=n_queries: index.search(codes[:n], K))}
        times.update(duckdb_times(codes, n_queries))
        rows += [{"queries": n_queries, "way": way, "seconds": seconds} for way, seconds in times.items()]
    record("duckdb_codes", rows)


if __name__ == "__main__":
    main()
