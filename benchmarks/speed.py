"""Time of fitting and encoding relative to the matrix products that they need, measured in the same run.

    python benchmarks/speed.py

fit      59,000 x 512, labels, 64 bits, with the default number of landmarks m and with 3,000; bare: n m d + n m^2
         multiply-adds in single precision
encode   10,000 x 512 with these models; bare: the products with the landmarks and with the coefficients
single   one sample at a time
radius   20,019 x 40, 50 bits, default parameters

The area under the precision-recall curve of the same model, among the 1,000 samples not seen in fit, is listed beside
the time of fit. Peak memory is measured by fit_memory.py.
"""

import json
import sys

import numpy as np

from _common import best_of, gist, in_child, record

N, N_BITS, BATCH = 59_000, 64, 10_000


def labels(n_landmarks=None):
    from proxcode import KernelHash, ProximityPreservingCode

    X, y = gist()
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    X, y, new, new_labels, queries = X[:N], y[:N], X[N:], y[N:], X[-BATCH:]
    warm_up = ProximityPreservingCode(n_bits=N_BITS, hash_function=KernelHash(100), random_state=0)
    warm_up.fit(X[:2000], y[:2000]).encode(queries[:10])
    model = ProximityPreservingCode(n_bits=N_BITS, hash_function=KernelHash(n_landmarks), random_state=0)
    fit = best_of(lambda: model.fit(X, y), repeats=1)
    landmarks = X[: len(model.hash_function_.landmarks_)]
    kernel = np.random.default_rng(0).random((N, len(landmarks)), np.float32)
    # BLAS computes only half of the product of a matrix with itself.
    other = kernel + 1
    bare_fit = best_of(lambda: X @ landmarks.T, repeats=2) + best_of(lambda: kernel.T @ other, repeats=2)
    coef = model.hash_function_.coef_.T.astype(np.float32)
    bare_encode = best_of(lambda: (queries @ landmarks.T) @ coef, repeats=5)
    encode = best_of(lambda: model.encode(queries), repeats=5)
    single = best_of(lambda: [model.encode(query[None]) for query in queries[:100]], repeats=5) / 100
    about = f"{len(landmarks):,} landmarks" if n_landmarks else "default"
    return [
        row(f"fit, {about}", fit, bare_fit, "at most 3") | {"auc": model.score(new, new_labels)},
        row(f"encode 10,000, {about}", encode, bare_encode, "at most 1.43"),
        row(f"single sample, {about}", single, None, "under 0.001 s"),
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
        "auc": float("nan"),
    }


if __name__ == "__main__":
    tasks = {"default": labels, "landmarks": lambda: labels(3000), "radius": radius}
    if len(sys.argv) == 2:
        print(json.dumps(tasks[sys.argv[1]]()))
    else:
        record("speed", [row for name in tasks for row in in_child(__file__, name)])
