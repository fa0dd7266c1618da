"""Seconds and peak memory of one cut by number of samples n, compared with a dense product W @ b of the same n.

    python benchmarks/fit_scaling.py

The code so far has 32 random bits of CIFAR-10 GIST (PCA to 40 dimensions), so that nearly all samples have different
rows of W. The times are those of one bit update from a random start and of one field W b; ns per pair refers to the
field. The peak memory is that of the cut without the codes.
"""

import json
import sys

import numpy as np

from _common import allocated_mib, best_of, gist, in_child, record

SIZES = (5_000, 10_000, 20_000, 40_000)
# Largest n with a dense float32 W, which then takes 1.6 GB.
DENSE_LIMIT = 20_000


def measure(kind, n):
    from proxcode import SameLabel, WithinRadius
    from proxcode.cut import Restarts
    from proxcode.hamming import GrowingCode
    from proxcode.peers import LSH
    from proxcode.threshold import LogisticThreshold
    from proxcode.weights import DifferenceWeights

    X, y = gist(n_components=40)
    X, y = X[:n], y[:n]
    code = GrowingCode.from_packed(LSH(n_bits=32, random_state=0).fit(X).encode(X), 32)
    proximity = SameLabel() if kind == "labels" else WithinRadius(mean_neighbors=100)
    pairs = proximity.fit(X, y).find_pairs(X, y).pairs.with_code(code)
    beta = LogisticThreshold().beta(*pairs.counts())
    graph = pairs.graph(*DifferenceWeights().tables(beta, 32))
    partition = np.where(np.random.default_rng(0).random(n) < 0.5, -1, 1).astype(np.int8)
    # The first call compiles the kernels.
    Restarts().solve(pairs.graph(*DifferenceWeights().tables(beta, 32)), np.random.default_rng(0))
    field_seconds = best_of(lambda: graph.field(partition))
    cut_seconds = best_of(lambda: Restarts().solve(graph, np.random.default_rng(0)))
    count_seconds = best_of(pairs.counts)
    memory = allocated_mib(lambda: Restarts().solve(graph, np.random.default_rng(0)))
    row = {
        "pairs": kind,
        "n": n,
        "cut_s": cut_seconds,
        "field_s": field_seconds,
        "count_s": count_seconds,
        "peak_MiB": memory,
        "ns_per_pair": 1e9 * field_seconds / n**2,
        "dense_Wb_s": float("nan"),
        "field/dense": float("nan"),
        "cut/dense": float("nan"),
    }
    if n <= DENSE_LIMIT:
        W, b = np.ones((n, n), np.float32), partition.astype(np.float32)
        dense = best_of(lambda: W @ b)
        row |= {"dense_Wb_s": dense, "field/dense": field_seconds / dense, "cut/dense": cut_seconds / dense}
    return row


def main():
    rows = [in_child(__file__, kind, n) for kind in ("labels", "radius") for n in SIZES]
    record("fit_scaling", rows)
    for kind in ("labels", "radius"):
        n, seconds = zip(*((row["n"], row["cut_s"]) for row in rows if row["pairs"] == kind), strict=True)
        exponent = np.polyfit(np.log(n), np.log(seconds), 1)[0]
        print(f"{kind}: the time of the cut grows as n^{exponent:.2f}")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
    else:
        main()
