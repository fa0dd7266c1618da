"""Updates of a model with new classes, beside a new fit: precision at 10 and time.

    PROXCODE_DATA=/path/to/data python benchmarks/update.py
    python benchmarks/update.py --datasets digits --seeds 10

A model is fitted without some classes; 200 samples of each of these (all, where there are fewer) are then learned by
`update`. The database holds the codes that were stored before the update, and the codes of the new samples. Queries are
test samples, of old classes and of new ones. Beside it: the database and queries encoded by a new fit to all samples,
and the model without an update. Times are the shortest of `--repeats` updates, of the model as it was fitted and of one
loaded from a file, and that of one fit.
"""

import argparse
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
from sklearn.datasets import load_digits

from _common import record
from proxcode import HammingIndex, KernelHash, ProximityPreservingCode

N_BITS = 64
N_NEW = 200
K = 10
# Number of new classes.
DATASETS = {"mnist": 1, "banking77": 7, "digits": 1}


def load(dataset):
    """Return training samples with labels, and test samples with labels."""
    if dataset == "digits":
        X, y = load_digits(return_X_y=True)
        return X[:1200], y[:1200], X[1200:], y[1200:]
    folder = Path(os.environ["PROXCODE_DATA"])
    if dataset == "mnist":
        data = np.load(folder / "mnist.npz")
        X, is_train = data["x"].astype(np.float32) / 255, np.arange(len(data["x"])) < data["n_train"]
    else:
        data = np.load(folder / "banking77_use512.npz")
        X, is_train = data["x"].astype(np.float32), data["is_train"]
    y = data["y"].astype(int)
    return X[is_train], y[is_train], X[~is_train], y[~is_train]


def precision(codes, labels, queries, query_labels):
    found = HammingIndex(N_BITS).add(codes).search(queries, K).neighbor
    return (labels[found] == query_labels[:, None]).mean(axis=1)


def measure(dataset, seed, repeats):
    X, y, queries, query_labels = load(dataset)
    rng = np.random.default_rng(seed)
    new_classes = rng.choice(np.unique(y), DATASETS[dataset], replace=False)
    is_new = np.isin(y, new_classes)
    some = np.concatenate([rng.permutation(np.flatnonzero(y == label))[:N_NEW] for label in new_classes])
    old, new = (X[~is_new], y[~is_new]), (X[some], y[some])
    labels = np.append(old[1], new[1])

    def fit(*data):
        model = ProximityPreservingCode(N_BITS, hash_function=KernelHash(updatable=True), random_state=seed)
        start = perf_counter()
        model.fit(*data)
        return model, perf_counter() - start

    model, _ = fit(*old)
    stored = model.encode(old[0])
    learned = model._learned()
    found = {"before": precision(stored, old[1], model.encode(queries), query_labels)}
    found["not updated"] = precision(
        np.vstack([stored, model.encode(new[0])]), labels, model.encode(queries), query_labels
    )

    def update_seconds(model, learned):
        """Return the shortest time of updates, each from the same state."""
        seconds = []
        for _ in range(repeats):
            model._set_fitted(learned)
            start = perf_counter()
            model.update(*new)
            seconds.append(perf_counter() - start)
        return min(seconds)

    with TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.proxcode")
        loaded = ProximityPreservingCode.load(Path(folder) / "model.proxcode")
    loaded_seconds = update_seconds(loaded, loaded._learned())
    del loaded
    seconds = update_seconds(model, learned)
    found["update"] = precision(np.vstack([stored, model.encode(new[0])]), labels, model.encode(queries), query_labels)
    refitted, refit_seconds = fit(np.vstack([old[0], new[0]]), labels)
    found["refit"] = precision(
        refitted.encode(np.vstack([old[0], new[0]])), labels, refitted.encode(queries), query_labels
    )
    of_new = np.isin(query_labels, new_classes)
    figures = {f"old {name}": values[~of_new].mean() for name, values in found.items()}
    figures |= {f"new {name}": values[of_new].mean() for name, values in found.items() if name != "before"}
    times = {"update s": seconds, "loaded update s": loaded_seconds, "refit s": refit_seconds}
    times |= {"share of time": seconds / refit_seconds, "loaded share": loaded_seconds / refit_seconds}
    return {"dataset": dataset, "seed": seed, **figures, **times}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", choices=list(DATASETS), default=["mnist", "banking77"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rows = []
    for dataset in options.datasets:
        of_dataset = [measure(dataset, seed, options.repeats) for seed in options.seeds]
        mean = {
            name: np.mean([row[name] for row in of_dataset])
            for name in of_dataset[0]
            if name not in ("dataset", "seed")
        }
        rows += [*of_dataset, {"dataset": dataset, "seed": "mean", **mean}]
    record("update", rows)


if __name__ == "__main__":
    main()
