"""Seconds and peak memory of a fit of 64 bits: 59,000 x 512 with labels, 20,019 x 40 with a radius.

Labels are fitted with the default parameters and without refinement, as in the paper, where the cut of each bit covers
all pairs of the 59,000 samples.

python benchmarks/fit_memory.py
"""

import json
import sys
from time import perf_counter

import numpy as np

from _common import gist, in_child, peak_gib, record


def measure(kind):
    from proxcode import KernelHash, ProximityPreservingCode

    by_labels = kind != "radius"
    X, y = gist(n_components=None if by_labels else 40)
    chosen = np.random.default_rng(0).permutation(len(X))[: 59_000 if by_labels else 20_019]
    X, y = X[chosen], (y[chosen] if by_labels else None)
    hash_function = KernelHash(refine_steps=0 if kind == "labels, paper" else None)
    model = ProximityPreservingCode(64, hash_function=hash_function, random_state=0, verbose=sys.stderr.isatty())
    start = perf_counter()
    model.fit(X, y)
    return {
        "pairs": kind,
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
        record("fit_memory", [in_child(__file__, kind) for kind in ("labels", "labels, paper", "radius")])
