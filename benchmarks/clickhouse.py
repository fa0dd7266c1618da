"""Searches of `ClickHouseStore` beside `HammingIndex`, and the ways to write a batch of queries in ClickHouse.

python benchmarks/clickhouse.py [--n 1000000] [--queries 100] [--k 10] [--slow]

The engine is chdb, inside this process. `--slow` also times `LIMIT k BY` and `groupArraySorted` over tuples.
"""

import argparse
import time

import numpy as np

from proxcode.search import HammingIndex
from proxcode.stores import ClickHouseStore


def timed(name, call, *arguments):
    start = time.perf_counter()
    result = call(*arguments)
    print(f"  {name}: {time.perf_counter() - start:.2f} s", flush=True)
    return result


def statements(store, queries, k):
    """Return other ways to find the k nearest of all queries, each as a function that runs it."""
    client, width = store._client, queries.shape[1]
    texts = [query.tobytes().hex() for query in queries]
    array = f"arrayMap(x -> toFixedString(unhex(x), {width}), {{q:Array(String)}})"
    joined = f"FROM codes ARRAY JOIN {array} AS query, range({len(texts)}) AS number"
    one = f"bitHammingDistance(code, toFixedString(unhex({{q:String}}), {width}))"
    each = f"SELECT id, {one} AS distance FROM codes ORDER BY distance, id LIMIT {k}"
    distance = "bitHammingDistance(code, query)"
    return {
        "one statement per query": lambda: [client.raw_query(each, parameters={"q": text}) for text in texts],
        "LIMIT k BY": lambda: client.raw_query(
            f"SELECT number, id, {distance} AS distance {joined} ORDER BY number, distance, id LIMIT {k} BY number",
            parameters={"q": texts},
        ),
        "groupArraySorted over tuples, GROUP BY": lambda: client.raw_query(
            f"SELECT number, groupArraySorted({k})(({distance}, id)) {joined} GROUP BY number", parameters={"q": texts}
        ),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("--n", 1_000_000), ("--queries", 100), ("--k", 10)):
        parser.add_argument(name, type=int, default=default)
    parser.add_argument("--slow", action="store_true")
    given = parser.parse_args()

    import clickhouse_connect

    client = clickhouse_connect.get_client(interface="chdb")
    rng = np.random.default_rng(0)
    for n_bits in (64, 128):
        print(f"{given.n:,} codes of {n_bits} bits, {given.queries} queries, k={given.k}")
        codes = rng.integers(0, 256, (given.n, n_bits // 8), dtype=np.uint8)
        queries = rng.integers(0, 256, (given.queries, n_bits // 8), dtype=np.uint8)
        client.command("DROP TABLE IF EXISTS codes")
        store = ClickHouseStore(client, "codes", n_bits)
        timed("add", store.add, codes)
        timed("first search", store.search, queries, given.k)
        found = timed("search", store.search, queries, given.k)
        timed("search, one query", store.search, queries[:1], given.k)
        radius = int(found.distance.max())
        within = timed(f"within {radius}", store.within, queries, radius)
        index = HammingIndex(n_bits).add(codes)
        expected = timed("HammingIndex.search", index.search, queries, given.k)
        assert (found.distance == expected.distance).all()
        assert (within.distance == index.within(queries, radius).distance).all()
        others = statements(store, queries, given.k)
        for name in list(others) if given.slow else list(others)[:1]:
            timed(name, others[name])
        ids = rng.choice(given.n, 10_000, replace=False)
        timed("get 10,000", store.get, ids)
        timed("remove 10,000", store.remove, ids)
        timed("search after the removal", store.search, queries, given.k)
        timed("add 10,000 with ids", store.add, codes[ids], ids)


if __name__ == "__main__":
    main()
