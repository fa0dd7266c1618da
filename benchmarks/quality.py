"""Quality of codes: datasets x methods x bits x seeds, to results/quality.csv and a table.

    PROXCODE_DATA=/path/to/data python benchmarks/quality.py
    python benchmarks/quality.py --protocols A --datasets cifar10 --methods PPC Hadamard --seeds 0 1 2
    python benchmarks/quality.py --quick      3,000 training points, one seed, results/quality_quick.csv
    python benchmarks/quality.py --table      only show what is there

Protocols; the seed draws the split and seeds the method:

A  labels: 1,000 random test points, all others to train; test against test, self-pairs out,
B  radius: near = within the radius at which training points have so many neighbours on average; the training points
   are the database, the test points the queries,
B-unit  the same after taking off the training mean and scaling rows to unit norm, as the MLH benchmark does,
C  unseen classes: train on some classes, retrieve among up to 2,000 points of the others, self-pairs out.

AUC is the area under the precision-recall curve of all pairs over Hamming thresholds, mAP the mean average precision of
the full ranking. A finished cell (protocol, dataset, method, seed) is not run again; a killed run loses the cell it was
in. ITQ has at most as many bits as dimensions: where more are asked for, it runs at as many as it can.
"""

import argparse
import csv
import fcntl
import os
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from _common import RESULTS
from proxcode import EqualErrorThreshold, GradientWeights, ProximityPreservingCode, Restarts, WithinRadius
from proxcode.hamming import distances, pack
from proxcode.metrics import area_under_curve, mean_average_precision, precision_recall, ranking_counts
from proxcode.peers import PEERS
from proxcode.peers.hadamard import hadamard_order

FILES = {
    "cifar10": "cifar10_gist512.npz",
    "mnist": "mnist.npz",
    "banking77": "banking77_use512.npz",
    "scene15": "scene15_gist512.npz",
    "notredame": "notredame_sift128.npz",
}
QUICK_TRAIN, QUICK_TEST, QUICK_BITS = 3000, 500, (16, 32, 64)
QUERY_BLOCK = 128
PROTOCOLS = ["A", "B", "B-unit", "C"]
COLUMNS = (
    "protocol", "dataset", "method", "bits", "seed", "auc", "map",
    "n_train", "n_test", "d", "fit_bits", "fit_seconds", "encode_seconds",
)  # fmt: skip


# Splits: what a method learns from, and how its codes are judged.


class AmongTest(NamedTuple):
    """Protocols A and C: points of the same label are near; each test point queries all others."""

    train: np.ndarray
    labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray
    proximity = None

    def encode(self, model):
        """Return the bits that `counts` takes, whole or shortened."""
        return (model.transform(self.test),)

    def counts(self, bits):
        """Count near and far points by Hamming distance, for each query."""
        codes = pack(bits)
        return ranking_counts(codes, codes, self.test_labels, self.test_labels, same_set=True)


class AgainstTrain(NamedTuple):
    """Protocol B: training points within the radius of a test point are near; no labels."""

    train: np.ndarray
    test: np.ndarray
    proximity: WithinRadius
    near: list[np.ndarray]  # of each test point, the near training points
    labels = None

    def encode(self, model):
        """Return the bits that `counts` takes, whole or shortened."""
        return model.transform(self.test), model.transform(self.train)

    def counts(self, query_bits, base_bits):
        """Count near and far points by Hamming distance, for each query."""
        queries, base = pack(query_bits), pack(base_bits)
        n_distances = 8 * base.shape[1] + 1
        near, found = np.zeros((2, len(queries), n_distances), np.int64)
        for q, neighbors in enumerate(self.near):
            if q % QUERY_BLOCK == 0:
                block = distances(queries[q : q + QUERY_BLOCK], base)
            row = block[q % QUERY_BLOCK]
            near[q] = np.bincount(row[neighbors], minlength=n_distances)
            found[q] = np.bincount(row, minlength=n_distances)
        return near, found - near


def random_split(dataset, seed, n_train, n_test):
    """Return the numbers of random training and test points; `n_train` None is all others."""
    order = np.random.default_rng(seed).permutation(len(load(dataset)[0]))
    return order[n_test:][:n_train], order[:n_test]


def labels_split(dataset, seed, quick):
    X, y = load(dataset)
    train, test = random_split(dataset, seed, *((QUICK_TRAIN, QUICK_TEST) if quick else (None, 1000)))
    return AmongTest(X[train], y[train], X[test], y[test])


def unseen_split(dataset, seed, quick, *, n_seen):
    X, y = load(dataset)
    n_train, n_test = (QUICK_TRAIN, QUICK_TEST) if quick else (None, 2000)
    rng = np.random.default_rng(seed)
    is_seen = np.isin(y, rng.permutation(np.unique(y))[:n_seen])
    order = rng.permutation(len(X))
    train, test = order[is_seen[order]][:n_train], order[~is_seen[order]][:n_test]
    return AmongTest(X[train], y[train], X[test], y[test])


def radius_split(dataset, seed, quick, *, n_train, n_test, mean_neighbors, n_components=None, unit_rows=False):
    X, _ = load(dataset)
    train, test = random_split(dataset, seed, *((QUICK_TRAIN, QUICK_TEST) if quick else (n_train, n_test)))
    train, test = X[train], X[test]
    if n_components:
        from sklearn.decomposition import PCA

        pca = PCA(n_components, svd_solver="covariance_eigh").fit(train)
        train, test = pca.transform(train), pca.transform(test)
    if unit_rows:
        train, test = to_unit_rows(train, train.mean(axis=0)), to_unit_rows(test, train.mean(axis=0))
    proximity = WithinRadius(mean_neighbors=mean_neighbors)
    radius = proximity.fit(train).radius_
    blocks = [test[start : start + QUERY_BLOCK] for start in range(0, len(test), QUERY_BLOCK)]
    near = [np.flatnonzero(row <= radius) for block in blocks for row in cdist(block, train)]
    return AgainstTrain(train, test, proximity, near)


def to_unit_rows(X, mean):
    norms = np.linalg.norm(X - mean, axis=1, keepdims=True)
    return (X - mean) / np.where(norms > 0, norms, 1)


@cache
def load(dataset):
    """Return the points in single precision and their labels, None where they have none."""
    data = np.load(Path(os.environ["PROXCODE_DATA"]) / FILES[dataset])
    return data["x"].astype(np.float32), data.get("y")


class Task(NamedTuple):
    """A protocol on a dataset of d dimensions."""

    protocol: str
    dataset: str
    d: int
    split: Callable[..., Any]
    bits: tuple[int, ...]
    bits_of_ppc: tuple[int, ...] = ()  # and these for PPC alone


LABEL_BITS, RADIUS_BITS, UNSEEN_BITS = (12, 16, 24, 32, 48, 64, 96, 128), (16, 32, 50, 64), (16, 32, 64, 128)
CIFAR_RADIUS = partial(radius_split, n_train=20_019, n_test=2000, mean_neighbors=100, n_components=40)
SCENE_RADIUS = partial(radius_split, n_train=4000, n_test=485, mean_neighbors=50)
SIFT_RADIUS = partial(radius_split, n_train=20_000, n_test=2000, mean_neighbors=100)
TASKS = [
    Task("A", "cifar10", 512, labels_split, LABEL_BITS),
    Task("A", "mnist", 784, labels_split, LABEL_BITS),
    Task("A", "banking77", 512, labels_split, LABEL_BITS),
    Task("B", "cifar10", 40, CIFAR_RADIUS, RADIUS_BITS, (96, 128)),
    Task("B", "scene15", 512, SCENE_RADIUS, RADIUS_BITS, (96, 128)),
    Task("B", "notredame", 128, SIFT_RADIUS, RADIUS_BITS, (96, 128)),
    Task("B-unit", "cifar10", 40, partial(CIFAR_RADIUS, unit_rows=True), RADIUS_BITS, (96, 128)),
    Task("B-unit", "scene15", 512, partial(SCENE_RADIUS, unit_rows=True), RADIUS_BITS, (96, 128)),
    Task("B-unit", "notredame", 128, partial(SIFT_RADIUS, unit_rows=True), RADIUS_BITS, (96, 128)),
    Task("C", "cifar10", 512, partial(unseen_split, n_seen=7), UNSEEN_BITS),
    Task("C", "mnist", 784, partial(unseen_split, n_seen=7), UNSEEN_BITS),
    Task("C", "banking77", 512, partial(unseen_split, n_seen=55), UNSEEN_BITS),
]


# Methods: how to make one, and which lengths one fit serves.


def one_fit(bits, n_classes):
    """Serve all lengths: a shorter code is the beginning of a longer one."""
    return [bits]


def fit_each(bits, n_classes):
    return [[n_bits] for n_bits in bits]


def fit_each_order(bits, n_classes):
    """Serve the Hadamard codes out of the same matrix, which begin alike."""
    orders = [hadamard_order(n_classes, n_bits) for n_bits in bits]
    return [[n_bits for n_bits, order in zip(bits, orders, strict=True) if order == o] for o in sorted(set(orders))]


def fit_each_unless_one_hot(bits, n_classes):
    one_hot = [n_bits for n_bits in bits if n_bits >= n_classes]
    return fit_each([n_bits for n_bits in bits if n_bits < n_classes], n_classes) + ([one_hot] if one_hot else [])


class Method(NamedTuple):
    """A way to make codes: `make(n_bits, seed, proximity)` gives an object with fit and transform."""

    make: Callable[[int, int, Any], Any]
    fits: Callable[[list[int], int], list[list[int]]]
    protocols: str = "ABC"


def ppc(n_bits, seed, proximity):
    return ProximityPreservingCode(n_bits, proximity=proximity, random_state=seed)


def ppc_of_the_paper(n_bits, seed, proximity):
    parts = {"threshold": EqualErrorThreshold(), "weights": GradientWeights(), "cut": Restarts()}
    return ProximityPreservingCode(n_bits, proximity=proximity, random_state=seed, **parts)


def peer(name):
    return lambda n_bits, seed, proximity: PEERS[name](n_bits=n_bits, random_state=seed)


METHODS = {
    "PPC": Method(ppc, one_fit),
    "PPC-paper": Method(ppc_of_the_paper, one_fit),
    "LSH": Method(peer("LSH"), one_fit),
    "ITQ": Method(peer("ITQ"), fit_each),
    "SH": Method(peer("SH"), fit_each, "AB"),
    "Hadamard": Method(peer("Hadamard"), fit_each_order, "AC"),
    "ClassifierCode": Method(peer("ClassifierCode"), fit_each_unless_one_hot, "A"),
}


def is_peer(name):
    return not name.startswith("PPC")


def lengths(task, name, asked):
    """Return the code lengths of a method on a task."""
    bits = asked or task.bits + (() if is_peer(name) else task.bits_of_ppc)
    return sorted({min(n_bits, task.d) if name == "ITQ" else n_bits for n_bits in bits})


# Results: one row per (cell, bits), replaced as a whole file.


def read(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [typed(row) for row in csv.DictReader(file)]


def typed(row):
    whole = {"bits", "seed", "n_train", "n_test", "d", "fit_bits"}
    words = {"protocol", "dataset", "method"}
    return {key: value if key in words else (int if key in whole else float)(value) for key, value in row.items()}


def key(row):
    return tuple(row[name] for name in ("protocol", "dataset", "method", "bits", "seed"))


def store(path, rows):
    """Add rows, in place of older ones of the same key; other processes may do so at the same time."""
    with locked(path.parent):
        kept = {key(row): row for row in [*read(path), *rows]}
        draft = path.with_suffix(".part")
        with draft.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(kept[k] for k in sorted(kept))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)


@contextmanager
def locked(folder):
    folder.mkdir(exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


# The run.


def run_cell(task, name, seed, split, bits):
    """Yield a row for each length."""
    method = METHODS[name]
    n_classes = 0 if split.labels is None else len(np.unique(split.labels))
    for group in method.fits(bits, n_classes):
        model = method.make(max(group), seed, split.proximity)
        start = time.perf_counter()
        model.fit(split.train, split.labels)
        fitted = time.perf_counter()
        codes = split.encode(model)
        encoded = time.perf_counter()
        for n_bits in group:
            near, far = split.counts(*(code[:, :n_bits] for code in codes))
            yield {
                **dict(zip(COLUMNS, (task.protocol, task.dataset, name, n_bits, seed), strict=False)),
                "auc": round(area_under_curve(precision_recall(near.sum(axis=0), far.sum(axis=0))), 5),
                "map": round(mean_average_precision(near, far), 5),
                **{"n_train": len(split.train), "n_test": len(split.test), "d": split.train.shape[1]},
                "fit_bits": max(group),
                "fit_seconds": round(fitted - start, 3),
                "encode_seconds": round(encoded - fitted, 3),
            }


def pending_cells(options, path):
    """Return (task, seed, method, bits still to run), in the order in which they share a split."""
    done = set() if options.redo else {key(row) for row in read(path)}
    cells = []
    for task in TASKS:
        if task.protocol not in options.protocols or task.dataset not in options.datasets:
            continue
        for seed in options.seeds:
            for name in options.methods:
                all_bits = lengths(task, name, options.bits)
                bits = [b for b in all_bits if (task.protocol, task.dataset, name, b, seed) not in done]
                if bits and task.protocol[0] in METHODS[name].protocols:
                    cells.append((task, seed, name, bits))
    return cells


def run(options, path):
    """Run what is pending; return the number of cells that failed."""
    cells = pending_cells(options, path)
    log(f"{len(cells)} cells to run, results in {path}")
    current, n_failed = None, 0
    for number, (task, seed, name, bits) in enumerate(cells, start=1):
        label = f"[{number}/{len(cells)}] {task.protocol} {task.dataset} seed {seed} {name}"
        if current != (task, seed):
            split, current = task.split(task.dataset, seed, options.quick), (task, seed)
        log(f"{label}: {len(split.train):,} points, {bits[0]} to {bits[-1]} bits ...")
        start = time.perf_counter()
        try:
            rows = list(run_cell(task, name, seed, split, bits))
        except Exception as error:  # one method's failure is no reason to lose a night's run of the others
            n_failed += 1
            log(f"{label}: failed, {type(error).__name__}: {error}")
            continue
        store(path, rows)
        areas = " ".join(f"{row['bits']}:{row['auc']:.3f}" for row in rows)
        log(f"{label}: AUC {areas} in {time.perf_counter() - start:.1f} s")
    return n_failed


def log(line):
    print(line, file=sys.stderr, flush=True)


# The table.


def show(rows, options):
    for task in TASKS:
        mine = [row for row in rows if (row["protocol"], row["dataset"]) == (task.protocol, task.dataset)]
        mine = [row for row in mine if row["seed"] in options.seeds]
        if mine and task.protocol in options.protocols and task.dataset in options.datasets:
            for metric in ("auc", "map"):
                show_task(task, mine, metric)


def show_task(task, rows, metric):
    """Print means and spreads (standard deviation) over seeds, then each PPC less the best peer of at most its bits."""
    values = {}
    for row in rows:
        values.setdefault((row["method"], row["bits"]), {})[row["seed"]] = row[metric]
    bits = sorted({n_bits for _, n_bits in values})
    names = [name for name in METHODS if any(method == name for method, _ in values)]
    n_seeds = " to ".join(map(str, sorted({len(by_seed) for by_seed in values.values()})))
    name_of_metric = {"auc": "AUC", "map": "mAP"}[metric]
    print(f"\n{task.protocol} {task.dataset}: {name_of_metric}, mean and spread over {n_seeds} seed(s)")
    print(f"{'bits':<22}" + "".join(f"{n_bits:>14}" for n_bits in bits))
    for name in names:
        print(f"{name:<22}" + "".join(f"{mean_and_spread(values.get((name, n_bits), {})):>14}" for n_bits in bits))
    for name in filter(lambda name: not is_peer(name), names):
        gains = [gain_over_best_peer(values, name, n_bits) for n_bits in bits]
        for part, title in enumerate((f"{name} - best peer", f"{name} / best peer", "best peer")):
            print(f"{title:<22}" + "".join(f"{gain[part]:>14}" for gain in gains))


def mean_and_spread(by_seed, sign=""):
    if not by_seed:
        return ""
    numbers = list(by_seed.values())
    spread = f" ±{np.std(numbers, ddof=1):.3f}" if len(numbers) > 1 else ""
    return f"{np.mean(numbers):{sign}.3f}{spread}"


def gain_over_best_peer(values, name, n_bits):
    """Return difference, ratio and name of the best peer: a code of fewer bits may stand in for one of so many."""
    mine = values.get((name, n_bits))
    peers = [cell for cell in values if is_peer(cell[0]) and cell[1] <= n_bits]
    if not mine or not peers:
        return "", "", ""
    best = max(peers, key=lambda cell: np.mean(list(values[cell].values())))
    both = mine.keys() & values[best].keys()
    difference = mean_and_spread({seed: mine[seed] - values[best][seed] for seed in both}, "+")
    ratio = mean_and_spread({seed: mine[seed] / values[best][seed] for seed in both})
    return difference, ratio, best[0] if best[1] == n_bits else f"{best[0]}@{best[1]}"


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--protocols", nargs="+", choices=PROTOCOLS, default=PROTOCOLS)
    parser.add_argument("--datasets", nargs="+", choices=list(FILES), default=list(FILES))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--seeds", nargs="+", type=int, default=None, help="0 1 2; with --quick 0")
    parser.add_argument("--bits", nargs="+", type=int, default=None, help="in place of the protocols' own lengths")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_TRAIN} training points, a file of its own")
    parser.add_argument("--redo", action="store_true", help="run the chosen cells anew and replace their rows")
    parser.add_argument("--table", action="store_true", help="run nothing, show what is there")
    options = parser.parse_args(arguments)
    options.seeds = options.seeds or ([0] if options.quick else [0, 1, 2])
    options.bits = options.bits or (QUICK_BITS if options.quick else None)
    return options


def main():
    options = parse()
    path = RESULTS / ("quality_quick.csv" if options.quick else "quality.csv")
    n_failed = 0
    if not options.table:
        if not os.environ.get("PROXCODE_DATA"):
            sys.exit("PROXCODE_DATA is not set: point it to the folder with the datasets (cifar10_gist512.npz, ...).")
        n_failed = run(options, path)
    show(read(path), options)
    if n_failed:
        sys.exit(f"{n_failed} cells failed: see above.")


if __name__ == "__main__":
    main()
