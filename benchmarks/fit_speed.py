"""Processor seconds of fits of 11,314 x 256 samples, 64 bits, and for near by distance the area on new samples.

    python benchmarks/fit_speed.py

labels, label sets   near where the class of CIFAR-10 is the same, once as a label and once as a set of labels
radius, all pairs    `WithinRadius()` with `max_samples` as large as the samples: all far pairs in every step
radius               the default: far pairs are drawn
pairs                a list of near pairs, all others far

The area under the precision-recall curve is that of 1,000 new samples against the training samples, at 64 bits, the
mean of the seeds given by `--seeds`; times are those of the first seed.
"""

import argparse
import time

import numpy as np

from _common import gist, record
from proxcode import GivenPairs, ProximityPreservingCode, SharedLabel, WithinRadius
from proxcode.hamming import distances
from proxcode.metrics import area_under_curve, precision_recall

N, N_NEW, N_FEATURES, N_BITS, N_PAIRS = 11_314, 1000, 256, 64, 200_000


def area(model, X, new, radius):
    squared = (new**2).sum(1)[:, None] + (X**2).sum(1) - 2 * new @ X.T
    near, h = squared <= radius**2, distances(model.encode(new), model.encode(X))
    counts = [np.bincount(h[kind], minlength=N_BITS + 1) for kind in (near, ~near)]
    return area_under_curve(precision_recall(*counts))


def fits(X, y, seed):
    """Yield the names of fits, their parameters and what is passed with X."""
    yield "labels", {}, y
    yield "label sets", {"proximity": SharedLabel()}, np.eye(10, dtype=int)[y]
    yield "radius, all pairs", {"proximity": WithinRadius(), "max_samples": len(X)}, None
    yield "radius", {"proximity": WithinRadius()}, None
    pairs = WithinRadius().fit(X).find_pairs(X).pairs
    chosen = np.random.default_rng(seed).permutation(len(pairs.first))[:N_PAIRS]
    listed = np.column_stack([pairs.first, pairs.second])[chosen]
    yield "pairs", {"proximity": GivenPairs(listed, others="far")}, None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    n_seeds = parser.parse_args().seeds
    X_all, y_all = gist(n_components=N_FEATURES)
    rows = {}
    for seed in range(n_seeds):
        order = np.random.default_rng(seed).permutation(len(X_all))
        X, y, new = X_all[order[:N]], y_all[order[:N]].astype(int), X_all[order[N : N + N_NEW]]
        for name, parameters, given in fits(X, y, seed):
            is_radius = name.startswith("radius")
            if seed and not is_radius:
                continue
            if not seed:
                # The first fit compiles the kernels.
                few = None if given is None else given[:500]
                if name != "pairs":
                    ProximityPreservingCode(2, **{**parameters, "max_samples": None}, random_state=0).fit(X[:500], few)
            model = ProximityPreservingCode(N_BITS, **parameters, random_state=seed)
            start, processor = time.perf_counter(), time.process_time()
            model.fit(X, given)
            seconds, processor = time.perf_counter() - start, time.process_time() - processor
            row = rows.setdefault(name, {"fit": name, "seconds": seconds, "processor_s": processor, "areas": []})
            if is_radius:
                row["areas"].append(area(model, X, new, model.proximity_.radius_))
    for row in rows.values():
        areas = row.pop("areas")
        row |= {"areas": " ".join(f"{value:.4f}" for value in areas), "mean": float(np.mean(areas or [np.nan]))}
    record("fit_speed", list(rows.values()))
