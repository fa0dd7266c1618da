"""Seconds and peak memory of a whole default fit: 59,000 x 512 with labels, 20,019 x 40 with a radius, 64 bits each.

python benchmarks/fit_memory.py
"""

import json
import sys
from time import perf_counter

import numpy as np

from _common import gist, in_child, peak_gib, record


def measure(kind):
    from proxcode import ProximityPreservingCode

    X, y = gist(n_components=None if kind == "labels" else 40)
    chosen = np.random.default_rng(0).permutation(len(X))[: 59_000 if kind == "labels" else 20_019]
    X, y = X[chosen], (y[chosen] if kind == "labels" else None)
    start = perf_counter()
    model = ProximityPreservingCode(n_bits=64, random_state=0, verbose=sys.stderr.isatty()).fit(X, y)
    return {
        "relation": kind,
        "n": len(X),
        "d": X.shape[1],
        "bits": model.n_bits_,
        "seconds": perf_counter() - start,
        "peak_GiB": peak_gib(),
        "dense_W_GiB": 4 * len(X) ** 2 / 2**30,
        "loss": model.history_[-1].loss,
    }


if __name__ == "__main__":
    if len(sys.argv) == 2:
        print(json.dumps(measure(sys.argv[1])))
    else:
        record("fit_memory", [in_child(__file__, kind) for kind in ("labels", "radius")])
