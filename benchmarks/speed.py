"""Time of fitting and encoding relative to the matrix products that they need, measured in the same run.

    python benchmarks/speed.py

fit      59,000 x 512, labels, 64 bits, 3,000 landmarks; bare: n m d + n m^2 multiply-adds in single precision
encode   10,000 x 512 with that model; bare: the products with the landmarks and with the coefficients
single   one sample at a time
radius   20,019 x 40, 50 bits, default parameters

Peak memory is measured by fit_memory.py.
"""

import json
import sys

import numpy as np

from _common import best_of, gist, in_child, record

N, N_LANDMARKS, N_BITS, BATCH = 59_000, 3000, 64, 10_000


def labels():
    from proxcode import KernelHash, ProximityPreservingCode

    X, y = gist()
    X, y, queries = X[:N], y[:N], X[-BATCH:]
    warm_up = ProximityPreservingCode(n_bits=N_BITS, hash_function=KernelHash(100), random_state=0)
    warm_up.fit(X[:2000], y[:2000]).encode(queries[:10])
    landmarks = X[:N_LANDMARKS]
    kernel = np.random.default_rng(0).random((N, N_LANDMARKS), np.float32)
    # BLAS computes only half of the product of a matrix with itself.
    other = kernel + 1
    bare_fit = best_of(lambda: X @ landmarks.T, repeats=2) + best_of(lambda: kernel.T @ other, repeats=2)
    model = ProximityPreservingCode(n_bits=N_BITS, hash_function=KernelHash(N_LANDMARKS), random_state=0)
    fit = best_of(lambda: model.fit(X, y), repeats=1)
    coef = model.hash_function_.coef_.T.astype(np.float32)
    bare_encode = best_of(lambda: (queries @ landmarks.T) @ coef, repeats=5)
    encode = best_of(lambda: model.encode(queries), repeats=5)
    single = best_of(lambda: [model.encode(query[None]) for query in queries[:100]], repeats=5) / 100
    return [
        row("fit", fit, bare_fit, "at most 3"),
        row("encode 10,000", encode, bare_encode, "at most 1.43"),
        row("single sample", single, None, "under 0.001 s"),
    ]


def radius():
    from proxcode import ProximityPreservingCode

    X, _ = gist(n_components=40)
    X = X[np.random.default_rng(0).permutation(len(X))[:20_019]]
    model = ProximityPreservingCode(n_bits=50, random_state=0)
    # The first fit compiles the kernels.
    model.fit(X[:2000])
    return [row("radius fit", best_of(lambda: model.fit(X), repeats=1), None, "120 s")]


def row(task, measured, bare, target):
    return {
        "task": task,
        "seconds": measured,
        "bare": bare or float("nan"),
        "ratio": measured / bare if bare else float("nan"),
        "target": target,
    }


if __name__ == "__main__":
    if len(sys.argv) == 2:
        print(json.dumps({"labels": labels, "radius": radius}[sys.argv[1]]()))
    else:
        record("speed", in_child(__file__, "labels") + in_child(__file__, "radius"))
