"""Search with float queries compared with the scan by Hamming distance: ratios of the medians of interleaved runs.

    python benchmarks/float_search.py [--codes 1000000] [--bits 64] [--queries 100 1] [--k 10 100] [--threads 1]

Codes are random; noisy copies of 1,000 random codes, each bit flipped with probability 0.1; or noisy copies of 10
codes, of which most are duplicates. The float queries are weighted Hamming distances, with and without an offset per
code, and tables of independent random numbers, which are no sums over bits. Each method runs once per round, in turn,
so that other load of the machine meets all of them alike. FAISS is compared if it is installed.
"""

import argparse
from time import perf_counter

import numpy as np

from _common import record
from proxcode.hamming import pack
from proxcode.search import FloatQueries, HammingIndex

# Name of a set of codes: number of codes that are copied, and probability that a bit of a copy is flipped.
SETS = {"random": None, "clustered": (1000, 0.1), "duplicates": (10, 0.005)}


def make_codes(name, n, n_bits, rng):
    """Return codes, and the weights of as many queries as there may be."""
    if SETS[name] is None:
        return pack(rng.integers(0, 2, (n, n_bits), dtype=np.uint8)), rng.normal(size=(1000, n_bits))
    n_centers, noise = SETS[name]
    centers = rng.integers(0, 2, (n_centers, n_bits), dtype=np.uint8)
    bits = centers[rng.integers(0, n_centers, n)] ^ (rng.random((n, n_bits), dtype=np.float32) < noise)
    signs = 2.0 * centers[rng.integers(0, n_centers, 1000)] - 1
    return pack(bits), signs + rng.normal(size=signs.shape)


def number_of_ones(codes):
    """Return an offset for each code."""
    return np.bitwise_count(codes).sum(axis=1) / 8


def methods(codes, weights, k, n_threads, rng):
    """Return functions that search, by name; the first is the one that the others are compared with."""
    n_bits = weights.shape[1]
    index = HammingIndex(n_bits, n_threads=n_threads, tables=False).add(codes)
    queries, floats = pack(weights >= 0), FloatQueries.from_weights(weights)
    with_offsets = FloatQueries(floats.tables, number_of_ones)
    tables = FloatQueries(rng.normal(size=floats.tables.shape))
    functions = {
        "Hamming": lambda: index.search(queries, k),
        "weights": lambda: index.search(floats, k),
        "weights, made": lambda: index.search(FloatQueries.from_weights(weights), k),
        "with offsets": lambda: index.search(with_offsets, k),
        "tables": lambda: index.search(tables, k),
    }
    try:
        import faiss
    except ImportError:
        return functions
    faiss.omp_set_num_threads(n_threads)
    flat = faiss.IndexBinaryFlat(8 * codes.shape[1])
    flat.add(codes)
    return functions | {"FAISS Hamming": lambda: flat.search(queries, k)}


def median_ms(functions, rounds):
    """Return the median time of each function in milliseconds; the first call is not counted."""
    seconds = {name: [] for name in functions}
    for _ in range(rounds + 1):
        for name, function in functions.items():
            start = perf_counter()
            function()
            seconds[name].append(perf_counter() - start)
    return {name: 1e3 * float(np.median(times[1:])) for name, times in seconds.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codes", type=int, default=1_000_000)
    parser.add_argument("--bits", type=int, nargs="+", default=[64])
    parser.add_argument("--queries", type=int, nargs="+", default=[100, 1])
    parser.add_argument("--k", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int, default=11)
    arguments = parser.parse_args()
    rows = []
    for n_bits in arguments.bits:
        for name in SETS:
            rng = np.random.default_rng(0)
            codes, weights = make_codes(name, arguments.codes, n_bits, rng)
            for n_threads in arguments.threads:
                for n_queries in arguments.queries:
                    for k in arguments.k:
                        functions = methods(codes, weights[:n_queries], k, n_threads, rng)
                        ms = median_ms(functions, arguments.rounds)
                        row = {"codes": name, "bits": n_bits, "threads": n_threads, "queries": n_queries, "k": k}
                        row["Hamming_ms"] = ms.pop("Hamming")
                        rows.append(row | {what: time / row["Hamming_ms"] for what, time in ms.items()})
    record("float_search", rows)


if __name__ == "__main__":
    main()
