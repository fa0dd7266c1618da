"""Defaults of the learned codes beside their neighbours, on samples that no reported test split contains.

    PROXCODE_DATA=/path/to/data python benchmarks/choices.py
    python benchmarks/choices.py --data mnist scene15-gist --train 5000 --seeds 10 11

1. Take the test samples of seeds 0 to 2 out of a dataset: figures of `docs/results` and of the README are of these.
2. Split the rest by each validation seed into training and test samples.
3. Fit the default and each neighbour, which differs from it in one choice, with the same seed.
4. Print the area under the precision-recall curve of the default, and the mean and standard deviation over seeds of
   the difference to it. "worse" and "better" mark differences of more than twice their standard error.

Near is by class (CIFAR-10 GIST, MNIST, Banking77) or within a radius (scene15 GIST, 50 neighbours on average). Choices
that have an effect above 10,000 or 20,000 samples alone (far pairs that are drawn, candidates) are not covered.
"""

import argparse
import sys
from contextlib import ExitStack
from time import perf_counter
from unittest.mock import patch

import numpy as np
from scipy.spatial.distance import cdist

from _common import record
from proxcode import KernelHash, ProximityPreservingCode, WithinRadius
from proxcode.experiments.datasets import load
from proxcode.experiments.protocols import PROTOCOLS
from proxcode.experiments.runner import SEEDS as REPORTED_SEEDS
from proxcode.hamming import distances
from proxcode.metrics import area_under_curve, precision_recall
from proxcode.threshold import CalibratedThreshold, LogisticThreshold
from proxcode.weights import GradientWeights

VALIDATION_SEEDS = (10, 11, 12)
N_TEST, N_BITS, MEAN_NEIGHBORS = 1000, 32, 50
DATA = {"cifar10-gist": "labels", "mnist": "labels", "banking77": "labels", "scene15-gist": "radius"}

# Neighbours of the defaults: parameters of the constructor, of `KernelHash`, or constants of a module. A factor of
# gamma is one of the default gamma.
BOTH = {
    "threshold: scale 1, logistic": {"threshold": LogisticThreshold()},
    "threshold: scale up to 0.5": {"threshold": CalibratedThreshold(max_scale=0.5)},
    "threshold: scale up to 2": {"threshold": CalibratedThreshold(max_scale=2.0)},
    "weights: gradient": {"weights": GradientWeights()},
    "gamma: half": {"hash": {"gamma": 0.5}},
    "gamma: twice": {"hash": {"gamma": 2.0}},
    "landmarks: 500": {"hash": {"n_landmarks": 500}},
    "landmarks: 2,000": {"hash": {"n_landmarks": 2000}},
}
NEIGHBORS = {
    "labels": BOTH
    | {
        "refinement: 8 steps": {"hash": {"refine_steps": 8}},
        "refinement: 30 steps": {"hash": {"refine_steps": 30}},
        "softening: 0.125": {"constants": {"proxcode.hashing.posteriors.SOFTENING": 0.125}},
        "softening: 0.5": {"constants": {"proxcode.hashing.posteriors.SOFTENING": 0.5}},
        "softening: 1, none": {"constants": {"proxcode.hashing.posteriors.SOFTENING": 1.0}},
        "cuts: 1 for each bit": {"constants": {"proxcode.pairs.base.CUTS": 1}},
        "cuts: 256 / k, at most 24": {
            "constants": {"proxcode.pairs.base.CUTS": 256, "proxcode.pairs.base.MAX_CUTS": 24}
        },
        "max_samples: 5,000": {"max_samples": 5000},
    },
    "radius": BOTH
    | {
        "refinement: 4 steps": {"hash": {"refine_steps": 4}},
        "refinement: 15 steps": {"hash": {"refine_steps": 15}},
        "ridge: 1e-4": {"hash": {"ridge": 1e-4}},
        "ridge: 1e-6": {"hash": {"ridge": 1e-6}},
    },
}


def validation_rows(dataset, seed, n_train):
    """Return the rows of training and test samples, none of which is a test sample of a reported split."""
    n_samples, n_reported = len(load(dataset).X), PROTOCOLS[f"{DATA[dataset]} {dataset}"].size.n_test
    is_reported = np.zeros(n_samples, bool)
    for reported in REPORTED_SEEDS:
        is_reported[np.random.default_rng(reported).permutation(n_samples)[:n_reported]] = True
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(~is_reported))
    n_test = min(N_TEST, len(rows) // 5)
    return rows[n_test:][:n_train], rows[:n_test]


def areas(dataset, seed, n_train, asked):
    """Return the area of the default and of its neighbours on one split, by name."""
    data, by = load(dataset), DATA[dataset]
    train, test = validation_rows(dataset, seed, n_train)
    X, queries = data.X[train], data.X[test]
    if by == "labels":
        y, proximity, base = data.labels[train], None, queries
        is_near = data.labels[test][:, None] == data.labels[test]
        is_pair = ~np.eye(len(test), dtype=bool)
    else:
        y, proximity, base = None, WithinRadius(mean_neighbors=MEAN_NEIGHBORS), X
        is_near = cdist(queries, X) <= proximity.fit(X).radius_
        is_pair = np.ones_like(is_near)
    found, gamma = {}, None
    for name, change in {"default": {}, **NEIGHBORS[by]}.items():
        if asked and name != "default" and not any(text in name for text in asked):
            continue
        of_hash = dict(change.get("hash", {}))
        if "gamma" in of_hash:
            of_hash["gamma"] *= gamma
        parameters = {key: value for key, value in change.items() if key not in ("hash", "constants")}
        with ExitStack() as stack:
            for place, value in change.get("constants", {}).items():
                stack.enter_context(patch(place, value))
            model = ProximityPreservingCode(
                N_BITS, proximity=proximity, hash_function=KernelHash(**of_hash), random_state=seed, **parameters
            )
            start = perf_counter()
            model.fit(X, y)
        seconds = perf_counter() - start
        gamma = model.hash_function_.gamma_ if name == "default" else gamma
        hamming = distances(model.encode(queries), model.encode(base))
        near, far = (np.bincount(hamming[kind & is_pair], minlength=N_BITS + 1) for kind in (is_near, ~is_near))
        found[name] = area_under_curve(precision_recall(near, far))
        print(f"{dataset} seed {seed} {name}: area {found[name]:.4f}, {seconds:.1f} s", file=sys.stderr, flush=True)
    return found


def summary(dataset, of_seeds):
    """Return a row for each choice: its mean area, and its difference to the default."""
    rows = []
    for name in of_seeds[0]:
        values = np.array([found[name] for found in of_seeds])
        difference = values - np.array([found["default"] for found in of_seeds])
        spread = float(difference.std(ddof=1)) if len(values) > 1 else float("nan")
        clear = abs(difference.mean()) > 2 * spread / np.sqrt(len(values))
        rows.append(
            {
                "data": dataset,
                "choice": name,
                "area": f"{values.mean():.4f}",
                "difference": f"{difference.mean():+.4f}",
                "spread": f"{spread:.4f}",
                "clear": ("better" if difference.mean() > 0 else "worse") if clear else "",
            }
        )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(VALIDATION_SEEDS))
    parser.add_argument("--train", type=int, default=10_000, help="number of training samples (default: 10,000)")
    parser.add_argument("--only", nargs="+", help="compare choices whose name contains one of these texts")
    options = parser.parse_args()
    if reported := set(options.seeds) & set(REPORTED_SEEDS):
        parser.error(f"--seeds: {sorted(reported)} are seeds of reported splits; choose others.")
    rows = []
    for dataset in options.data:
        rows += summary(dataset, [areas(dataset, seed, options.train, options.only) for seed in options.seeds])
    record("choices", rows)


if __name__ == "__main__":
    main()
