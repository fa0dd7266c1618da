"""Near-duplicates among codes compared with searches for each code: seconds, ratios and peak memory.

    python benchmarks/dedupe.py [--size 1000000] [--large 10000000]

Codes are random, of 64 bits; 5 % of them are planted duplicates at distance 1 to 3 of another code, a third of them in
chains: duplicates of a duplicate. Each size runs in a child process of its own, from a memory-mapped .npy file to the
groups, kernels compiled before. It is verified that

- the groups are those of the planted duplicates; random codes are hardly ever within the radius by chance,
- the pairs among the first 20,000 codes are those of a comparison of all of them, with NumPy.

At the first size the same pairs are found by `HammingIndex.within`, one query for each code: by a scan of all codes
(`tables=False`), timed for 2,000 queries and extrapolated to all codes, and with hash tables (`tables=True`), built
before, timed for 50,000 queries and extrapolated. All times of a row are from one run on one machine.
"""

import argparse
import json
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from _common import in_child, peak_gib, record
from proxcode import HammingIndex, find_duplicates
from proxcode.hamming import distances

N_BITS, RADIUS, SHARE = 64, 3, 0.05
N_SCANNED, N_PROBED, N_COMPARED = 2_000, 50_000, 20_000


def planted(rng, n):
    """Return codes and the source of each code: itself, or the code that it is a duplicate of."""
    codes = rng.integers(0, 256, (n, N_BITS // 8), dtype=np.uint8)
    source = np.arange(n)
    new = rng.permutation(n)[: int(SHARE * n)]
    first, later = np.split(new, [2 * len(new) // 3])
    plain = np.setdiff1d(np.arange(n), new)
    source[first] = rng.choice(plain, len(first))
    # Chains: the source of each is a duplicate itself, the one before it in the list.
    source[later] = np.append(first[-1], later[:-1])
    source[later[::5]] = rng.choice(first, len(later[::5]))
    for code in new:
        flipped = rng.choice(N_BITS, rng.integers(1, RADIUS + 1), replace=False)
        bits = np.unpackbits(codes[source[code]])
        bits[flipped] ^= 1
        codes[code] = np.packbits(bits)
    return codes, source


def plant(n, folder):
    """Write codes and their sources to files."""
    codes, source = planted(np.random.default_rng(0), n)
    np.save(folder / "codes.npy", codes)
    np.save(folder / "source.npy", source)
    print(json.dumps({}))


def firsts_of(source):
    """Return the smallest position in the group of each code, by the planted links alone."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(source)
    graph = coo_array((np.ones(n), (np.arange(n), source)), shape=(n, n))
    component = connected_components(graph, directed=False)[1]
    return np.unique(component, return_index=True)[1][component]


def run(n, folder):
    """Find the duplicates in a file of codes, in this process; print the figures as JSON."""
    codes, source = np.load(folder / "codes.npy", mmap_mode="r"), np.load(folder / "source.npy")
    list(find_duplicates(codes[:5000], RADIUS).pairs())
    find_duplicates(codes[:5000], RADIUS).group  # noqa: B018
    before = peak_gib()
    start = perf_counter()
    found = find_duplicates(codes, RADIUS)
    n_groups = found.n_groups
    seconds = perf_counter() - start
    peak = peak_gib()
    start = perf_counter()
    n_pairs = sum(len(block.first) for block in found.pairs())
    pair_seconds = perf_counter() - start
    figures = {
        "seconds": seconds,
        "pair_seconds": pair_seconds,
        "peak_gib": peak,
        "peak_gib_before": before,
        "groups": n_groups,
        "duplicates": found.n_duplicates,
        "pairs": n_pairs,
        "planted_found": bool((found.representative == firsts_of(source)).all()),
        "subset_exact": subset_is_exact(codes[:N_COMPARED]),
    }
    print(json.dumps(figures))


def subset_is_exact(codes):
    """Return whether the pairs among some codes are those of a comparison of all of them."""
    found = [np.column_stack(block) for block in find_duplicates(codes, RADIUS).pairs()]
    pairs = np.concatenate([np.empty((0, 3), np.int64), *found])
    expected = []
    for start in range(0, len(codes), 1000):
        near = distances(codes[start : start + 1000], codes)
        first, second = np.nonzero(near <= RADIUS)
        rows = np.column_stack([first + start, second, near[first, second]])
        expected.append(rows[rows[:, 0] < rows[:, 1]])
    return np.array_equal(pairs[np.lexsort(pairs.T[::-1])], np.concatenate(expected))


def compare(n, folder):
    """Time searches for each code; print the seconds for all codes, extrapolated, as JSON."""
    codes = np.load(folder / "codes.npy")
    rng = np.random.default_rng(1)
    figures = {}
    for name, tables, n_queries in (("scan", False, N_SCANNED), ("tables", True, N_PROBED)):
        index = HammingIndex(N_BITS, tables=tables).add(codes)
        queries = codes[rng.choice(n, min(n, n_queries), replace=False)]
        start = perf_counter()
        index.within(queries[:64], RADIUS)
        if tables:
            figures["build_seconds"] = perf_counter() - start
        start = perf_counter()
        index.within(queries, RADIUS)
        figures[f"{name}_seconds"] = (perf_counter() - start) * n / len(queries)
    print(json.dumps(figures))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--large", type=int, default=10_000_000)
    parser.add_argument("--child", choices=["plant", "run", "compare"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        {"plant": plant, "run": run, "compare": compare}[arguments.child](arguments.size, arguments.folder)
        return
    rows = []
    for n in (arguments.size, arguments.large):
        with tempfile.TemporaryDirectory() as folder:
            # In a child too: the peak memory of a process begins with that of its parent.
            in_child(__file__, "--child", "plant", "--size", n, "--folder", folder)
            figures = {"n": n, "bits": N_BITS, "radius": RADIUS}
            figures |= in_child(__file__, "--child", "run", "--size", n, "--folder", folder)
            searches = dict.fromkeys(("scan_seconds", "tables_seconds", "build_seconds"))
            if n == arguments.size:
                searches |= in_child(__file__, "--child", "compare", "--size", n, "--folder", folder)
            figures |= searches
            for name in ("scan", "tables"):
                other = figures[f"{name}_seconds"]
                figures[f"{name}_ratio"] = None if other is None else other / figures["seconds"]
            rows.append(figures)
    record("dedupe", rows)


if __name__ == "__main__":
    main()
