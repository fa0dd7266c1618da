"""A saved index that grows: seconds of an addition in place, compared with writing the file anew.

    python benchmarks/index_life.py [--sizes 10000 1000000 10000000] [--added 1000]

Codes are random, of 64 bits, with integer ids in random order or with string ids. For each size: opening the file, the
first addition and the median of 20 further ones; an upsert and a removal, which also copy the codes in memory; loading
the file with its journal, merging the journal into the file, and for comparison: adding the codes to a loaded index and
saving it. Then searches of 10 queries among a part of the codes, compared with all of them.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from _common import best_of, record
from proxcode import HammingIndex

N_BITS, N_ADDITIONS, K = 64, 20, 10


def seconds_of(function):
    start = perf_counter()
    function()
    return perf_counter() - start


def ids_of(kind, rng, start, n):
    if kind == "strings":
        return [f"folder/{number:09}.jpg" for number in rng.permutation(n) + start]
    return rng.permutation(n) + start


def times(path, kind, n_codes, n_added, rng):
    """Return the seconds of each operation on the index file."""
    codes = rng.integers(0, 256, (n_added, N_BITS // 8), dtype=np.uint8)
    batches = [ids_of(kind, rng, n_codes + number * n_added, n_added) for number in range(N_ADDITIONS + 3)]
    row = {"ids": kind, "n": n_codes, "added": n_added, "file_mb": path.stat().st_size / 1e6}
    start = perf_counter()
    index = HammingIndex.open(path)
    row["open"] = perf_counter() - start
    row["first_add"] = seconds_of(lambda: index.add(codes, batches[0]))
    row["add"] = median(seconds_of(lambda ids=ids: index.add(codes, ids)) for ids in batches[1 : N_ADDITIONS + 1])
    row["journal_mb"] = Path(f"{path}.journal").stat().st_size / 1e6
    row["load"] = best_of(lambda: HammingIndex.load(path))
    row["upsert"] = seconds_of(lambda: index.upsert(codes, batches[0]))
    row["remove"] = seconds_of(lambda: index.remove(batches[0]))
    row["compact"] = seconds_of(index.compact)
    index.close()

    def rewrite():
        HammingIndex.load(path).add(codes, batches[-1]).save(path)

    row["rewrite"] = seconds_of(rewrite)
    row["rewrite_per_add"] = row["rewrite"] / row["add"]
    return row


def filtered(codes, rng):
    """Return the seconds of searches among a part of the codes."""
    index, queries = HammingIndex(N_BITS, tables=False).add(codes), codes[:10]
    everything = best_of(lambda: index.search(queries, K))
    rows = []
    for share in (0.001, 0.01, 0.1, 0.5, 0.9):
        is_among = rng.random(len(codes)) < share
        ids = np.flatnonzero(is_among)
        rows.append(
            {
                "n": len(codes),
                "share": share,
                "all": everything,
                "among_mask": best_of(lambda is_among=is_among: index.search(queries, K, among=is_among)),
                "among_ids": best_of(lambda ids=ids: index.search(queries, K, among=ids)),
                "exclude": best_of(lambda: index.search(queries, K, exclude=np.arange(10))),
            }
        )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 1_000_000, 10_000_000])
    parser.add_argument("--added", type=int, default=1000)
    arguments = parser.parse_args()
    rng, rows = np.random.default_rng(0), []
    with tempfile.TemporaryDirectory() as folder:
        for n_codes in arguments.sizes:
            codes = rng.integers(0, 256, (n_codes, N_BITS // 8), dtype=np.uint8)
            for kind in ("integers", "strings"):
                path = Path(folder, f"{kind}.index")
                HammingIndex(N_BITS).add(codes, ids_of(kind, rng, 0, n_codes)).save(path)
                rows.append(times(path, kind, n_codes, arguments.added, rng))
    record("index_life", rows)
    record("index_filters", filtered(codes, rng))


if __name__ == "__main__":
    main()
