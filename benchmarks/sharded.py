"""Search of several index files as one compared with one index: seconds for 100 queries, and their ratio.

    python benchmarks/sharded.py [--size 1000000] [--shards 4] [--processes 2]

Codes are random, of 64 bits. Each of the files has `--size` codes; the one index, in memory, has all of them. Hash
tables are not built, so that all ways compare the same codes. Shards are searched in this process, and by processes of
a local Dask cluster with one thread each. The first searches, which open the files, are not counted; a time is the
shortest of three.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster

from _common import best_of, record
from proxcode import HammingIndex, ShardedIndex
from proxcode.engines import DaskEngine

N_BITS, N_QUERIES, K = 64, 100, 10


def save_shards(folder, codes, n_shards):
    for number, part in enumerate(np.split(codes, n_shards)):
        HammingIndex(N_BITS).add(part).save(Path(folder, f"{number:03}.index"))


def row(way, index, one_seconds, expected, queries):
    found = index.search(queries, K)
    seconds = best_of(lambda: index.search(queries, K))
    return {
        "way": way,
        "shards": len(index.paths),
        "n": len(index),
        "one_index_seconds": one_seconds,
        "seconds": seconds,
        "ratio": seconds / one_seconds,
        "same_result": all(map(np.array_equal, found, expected)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    n_codes = arguments.size * arguments.shards
    codes, queries = (rng.integers(0, 256, (n, N_BITS // 8), dtype=np.uint8) for n in (n_codes, N_QUERIES))
    one = HammingIndex(N_BITS, tables=False).add(codes)
    expected = one.search(queries, K)
    compared = best_of(lambda: one.search(queries, K)), expected, queries
    with tempfile.TemporaryDirectory() as folder:
        save_shards(folder, codes, arguments.shards)
        rows = [row("in this process", ShardedIndex(folder, renumber=True, tables=False), *compared)]
        with (
            LocalCluster(arguments.processes, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            index = ShardedIndex(folder, engine=DaskEngine(client), renumber=True, tables=False)
            # Each process opens each file.
            for _ in range(5):
                index.search(queries, K)
            rows.append(row(f"Dask, {arguments.processes} processes", index, *compared))
    record("sharded", rows)


if __name__ == "__main__":
    main()
