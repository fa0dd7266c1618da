"""Codes from near pairs alone, such as items clicked together, and codes of rare classes.

Near pairs: 10,000 random pairs of training samples of one class are all that a fit is told. Beside float vectors
compared by cosine and beside a fit to the labels of the same samples, the figures are

- precision@10: the share of the 10 nearest training samples, by Hamming distance of 64-bit codes, that have the class
  of a test sample,
- time: seconds of the fit, and as a multiple of the fit to labels,
- near and far pairs within `radius_`: of the near pairs held back from the list and of sampled far pairs, as the model
  reports them, and of all pairs of test samples.

Rare classes: of 20 classes (10 of MNIST), three random ones are cut to 10 training samples. Precision@5 of the test
samples of these classes, and of the others.

    PROXCODE_DATA=... python benchmarks/pairs.py [near | rare]
"""

import os
import sys
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np

from proxcode import GivenPairs, ProximityPreservingCode, SameLabel
from proxcode.hamming import distances

N_PAIRS, N_RARE, SIZE_OF_RARE = 10_000, 3, 10
SEEDS = (0, 1, 2)


def banking(rng):
    """Return all training and test samples of Banking77, 512-d sentence embeddings of 77 intents."""
    data = np.load(Path(os.environ["PROXCODE_DATA"]) / "banking77_use512.npz")
    X, y, is_train = data["x"].astype(np.float32), data["y"].astype(int), data["is_train"].astype(bool)
    return X[is_train], y[is_train], X[~is_train], y[~is_train]


def mnist(rng):
    """Return 20,000 random training and 2,000 random test samples of MNIST."""
    data = np.load(Path(os.environ["PROXCODE_DATA"]) / "mnist.npz")
    n_train, n = int(data["n_train"]), len(data["y"])
    rows = np.concatenate([rng.choice(n_train, 20_000, replace=False), rng.choice(np.arange(n_train, n), 2000, False)])
    X, y = data["x"][rows].astype(np.float32) / 255, data["y"][rows].astype(int)
    return X[:20_000], y[:20_000], X[20_000:], y[20_000:]


def same_class_pairs(y, rng):
    """Return random pairs of samples of one class."""
    i, j = rng.integers(len(y), size=(2, 200 * N_PAIRS))
    return np.column_stack([i, j])[(y[i] == y[j]) & (i != j)][:N_PAIRS]


def precision(distance, y_test, y_train, k):
    """Return for each test sample the share of its k nearest training samples that have its class."""
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :k]
    return (y_train[nearest] == y_test[:, None]).mean(axis=1)


def cosine_distances(A, B):
    """Return minus the cosines."""
    return -(A / np.linalg.norm(A, axis=1, keepdims=True)) @ (B / np.linalg.norm(B, axis=1, keepdims=True)).T


def timed_fit(X, y=None, proximity=None, seed=0):
    """Return a model of 64 bits, and the seconds that its fit took."""
    start = perf_counter()
    model = ProximityPreservingCode(64, proximity=proximity, random_state=seed).fit(X, y)
    return model, perf_counter() - start


def near_pairs(load, seed):
    """Return the figures of codes from near pairs."""
    rng = np.random.default_rng(seed)
    X, y, X_test, y_test = load(rng)
    pairs = same_class_pairs(y, rng)
    by_labels, label_seconds = timed_fit(X, y, seed=seed)
    by_pairs, pair_seconds = timed_fit(X, proximity=GivenPairs(pairs), seed=seed)
    codes = by_pairs.encode(X_test)
    is_within = distances(codes, codes) <= by_pairs.radius_
    is_near, is_pair = y_test[:, None] == y_test, ~np.eye(len(y_test), dtype=bool)
    last = by_pairs.history_[-1]
    return {
        "precision@10, float cosine": precision(cosine_distances(X_test, X), y_test, y, 10).mean(),
        "precision@10, near pairs": precision(distances(codes, by_pairs.encode(X)), y_test, y, 10).mean(),
        "precision@10, labels": precision(
            distances(by_labels.encode(X_test), by_labels.encode(X)), y_test, y, 10
        ).mean(),
        "seconds, near pairs": pair_seconds,
        "seconds, labels": label_seconds,
        "seconds, ratio": pair_seconds / label_seconds,
        "radius": by_pairs.radius_,
        "within radius: near pairs held back": last.near_within,
        "within radius: sampled far pairs": last.far_within,
        "within radius: near pairs of test samples": is_within[is_near & is_pair].mean(),
        "within radius: far pairs of test samples": is_within[~is_near].mean(),
    }


def rare_classes(load, seed):
    """Return the figures of codes of rare classes."""
    rng = np.random.default_rng(seed)
    X, y, X_test, y_test = load(rng)
    classes = rng.permutation(np.unique(y))[:20]
    rare = classes[:N_RARE]
    rows = np.concatenate([np.flatnonzero(y == label)[: SIZE_OF_RARE if label in rare else None] for label in classes])
    X, y = X[rows], y[rows]
    X_test, y_test = X_test[np.isin(y_test, classes)], y_test[np.isin(y_test, classes)]
    found = {"float cosine": precision(cosine_distances(X_test, X), y_test, y, 5)}
    for name, balanced in (("default", False), ("balanced", True)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, _ = timed_fit(X, y, SameLabel(balanced=balanced), seed)
        found[name] = precision(distances(model.encode(X_test), model.encode(X)), y_test, y, 5)
    is_rare = np.isin(y_test, rare)
    return {
        f"precision@5, {kind} classes, {name}": values[chosen].mean()
        for kind, chosen in (("rare", is_rare), ("other", ~is_rare))
        for name, values in found.items()
    }


def main(protocols):
    for protocol in protocols:
        for name, load in (("Banking77", banking), ("MNIST", mnist)):
            rows = [protocol(load, seed) for seed in SEEDS]
            print(f"{name}, {protocol.__name__}, mean and standard deviation over {len(SEEDS)} seeds")
            for figure in rows[0]:
                values = np.array([row[figure] for row in rows])
                print(f"  {figure:46}{values.mean():9.4f} +- {values.std(ddof=1):.4f}", flush=True)


if __name__ == "__main__":
    kinds = {"near": near_pairs, "rare": rare_classes}
    # Compiles the kernels.
    rng = np.random.default_rng(0)
    ProximityPreservingCode(64, random_state=0).fit(rng.normal(size=(400, 4)), np.arange(400) % 4)
    main([kinds[name] for name in sys.argv[1:] or kinds])
