"""Search of codes compared with FAISS: time per query, memory, and the gain of multi-index hashing.

    python benchmarks/search.py [--sizes 1000000 10000000] [--bits 64 128] [--threads 1 2]

Codes are random or learned. Learned codes are those of CIFAR-10 GIST (from PROXCODE_DATA, otherwise of Gaussian
clusters), repeated until there are enough, with each bit flipped with probability 0.1. Queries are learned codes of
other samples. All methods run in the same process, one after another; a time is the shortest of three. The peer is the
flat index of FAISS with `use_heap`, without which it is slower. Hash tables are compared with our own scan.
"""

import argparse
from functools import partial
from time import perf_counter

import faiss
import numpy as np

from _common import best_of, gist, record
from proxcode import HammingIndex, KernelHash, ProximityPreservingCode

N_QUERIES, K = 64, 10
NOISE = 0.1
RADII = (0, 1, 2, 3, 4)


def random_codes(n, n_bits, rng):
    base, queries = (rng.integers(0, 256, (size, n_bits // 8), dtype=np.uint8) for size in (n, N_QUERIES))
    return base, queries


def learned_codes(n, n_bits, rng, n_queries=N_QUERIES):
    X, y = gist()
    model = ProximityPreservingCode(n_bits, hash_function=KernelHash(n_landmarks=1000), random_state=0)
    model.fit(X[:20_000], y[:20_000])
    codes = model.encode(X)
    order = rng.permutation(len(codes))
    queries, base = codes[order[:n_queries]], codes[order[n_queries:]]
    spread = np.resize(base, (n, n_bits // 8))
    for byte in range(n_bits // 8):
        for bit in range(8):
            spread[:, byte] ^= (rng.random(n, dtype=np.float32) < NOISE).astype(np.uint8) << np.uint8(bit)
    return spread, queries


SETS = {"random": random_codes, "learned": learned_codes}


def flat_rows(name, codes, queries, threads):
    n, n_bits = len(codes), 8 * codes.shape[1]
    theirs = faiss.IndexBinaryFlat(n_bits)
    theirs.add(codes)
    for n_threads in threads:
        faiss.omp_set_num_threads(n_threads)
        ours = HammingIndex(n_bits, n_threads=n_threads, tables=False).add(codes)
        same = (ours.search(queries, K).distance == theirs.search(queries, K)[0]).all()
        seconds = {
            "ours": best_of(lambda ours=ours: ours.search(queries, K)),
            "faiss": best_of(lambda: theirs.search(queries, K)),
            "ours, one query": best_of(lambda ours=ours: ours.search(queries[:1], K)) * N_QUERIES,
            "faiss, one query": best_of(lambda: theirs.search(queries[:1], K)) * N_QUERIES,
        }
        pairs = N_QUERIES * n
        yield {
            "codes": name,
            "n": n,
            "bits": n_bits,
            "threads": n_threads,
            "ns_per_pair": 1e9 * seconds["ours"] / pairs,
            "faiss_ns_per_pair": 1e9 * seconds["faiss"] / pairs,
            "ratio": seconds["ours"] / seconds["faiss"],
            "ratio_one_query": seconds["ours, one query"] / seconds["faiss, one query"],
            "memory_of_codes": ours.nbytes / codes.nbytes,
            "same_distances": same,
        }


def table_rows(name, codes, queries):
    n, n_bits = len(codes), 8 * codes.shape[1]
    flat = HammingIndex(n_bits, n_threads=1, tables=False).add(codes)
    start = perf_counter()
    tables = HammingIndex(n_bits, n_threads=1, tables=True).add(codes)
    tables.search(queries[:1], 1)
    build_seconds = perf_counter() - start
    searches = {f"within {radius}": lambda index, radius=radius: index.within(queries, radius) for radius in RADII}
    searches["10 nearest"] = lambda index: index.search(queries, K)
    for what, search in searches.items():
        search(tables)
        flat_seconds, table_seconds = (best_of(partial(search, index)) for index in (flat, tables))
        is_radius = what.startswith("within")
        found, expected = (search(index) for index in (tables, flat))
        yield {
            "codes": name,
            "n": n,
            "bits": n_bits,
            "search": what,
            "flat_ms": 1e3 * flat_seconds / N_QUERIES,
            "tables_ms": 1e3 * table_seconds / N_QUERIES,
            "times_faster": flat_seconds / table_seconds,
            "found_per_query": len(found.neighbor) / N_QUERIES if is_radius else K,
            "same_result": np.array_equal(found.neighbor, expected.neighbor),
            "build_seconds": build_seconds,
            "memory_of_codes": tables.nbytes / codes.nbytes,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--bits", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    flat, tables = [], []
    for n_bits in arguments.bits:
        for name, make in SETS.items():
            for n in arguments.sizes:
                codes, queries = make(n, n_bits, np.random.default_rng(0))
                flat += flat_rows(name, codes, queries, arguments.threads)
                tables += table_rows(name, codes, queries)
                record("search_flat", flat)
                record("search_tables", tables)


if __name__ == "__main__":
    main()
