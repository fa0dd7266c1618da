"""Codes of embeddings beside their signs at equal bytes: sentences by intent, image features by class.

    PROXCODE_DATA=/path/to/data python benchmarks/embeddings.py
    PROXCODE_DATA=/path/to/data python benchmarks/embeddings.py --data cifar10-gist --bits 64
    PROXCODE_DATA=/path/to/data python benchmarks/embeddings.py --bits 64 --new-classes 22
    PROXCODE_DATA=/path/to/data python benchmarks/embeddings.py --times
    python benchmarks/embeddings.py --draw docs/images/banking77.png

The samples are split at random into those of fit, the stored ones and the queries: neither stored samples nor queries
are in fit. With --new-classes their classes are not in fit either. Prints the mean and the standard deviation over
seeds; writes results/embeddings_DATA.csv, or results/embeddings_DATA_new_classes.csv:

- precision@10: share of the 10 first with the class of the query;
- mAP: mean average precision by class, over all stored samples;
- recall@10: share of the 10 nearest by cosine (Euclidean distance for GIST) among the 10 first.

--times measures 64 learned bits, 512 signs and float vectors of Banking77 in one thread, for one query at a time: the
time to encode it, and to find its 10 nearest in a HammingIndex, or by a product with all float vectors. Each is the
smallest of 5 medians over 200 queries. Stored are the 7,083 samples, and 200,000 copies of them with noise. It writes
results/embeddings_times.csv. --draw makes the picture of precision@10 against bytes from
docs/results/embeddings_banking77.csv; it needs no data.

"signs p" are the signs of the first p coordinates: np.packbits(X[:, :p] > 0), what sentence-transformers calls ubinary,
truncated. GIST coordinates are centred first. A float query compares the query itself with the stored codes.
"""

import argparse
import csv
import os
import re
from pathlib import Path
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from _common import record
from proxcode import HammingIndex, ProximityPreservingCode, SameLabel
from proxcode.hamming import distances, unpack
from proxcode.hashing import ReconstructionHash

K = 10
# Queries whose time is measured, repeats, and the standard deviation of the noise of copies.
N_TIMED, N_REPEATS, NOISE = 200, 5, 0.02
SIZES = (7083, 200_000)
PICTURE = "Banking77: questions with the intent of the query"
# File, number of samples of fit, stored samples and queries.
DATA = {
    "banking77": ("banking77_use512.npz", 5000, 7083, 1000),
    "cifar10-gist": ("cifar10_gist512.npz", 5000, 10_000, 1000),
}


def split(data, seed, n_new=0):
    """Return the samples of fit, the stored ones and the queries, each with its labels."""
    file, *sizes = DATA[data]
    with np.load(Path(os.environ["PROXCODE_DATA"]) / file) as arrays:
        X, y = arrays["x"].astype(np.float32), arrays["y"]
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    rows = np.split(order, np.cumsum(sizes))[:3]
    if n_new:
        is_new = np.isin(y[order], rng.choice(np.unique(y), n_new, replace=False))
        new = order[is_new]
        rows = [order[~is_new][: sizes[0]], new[sizes[2] :], new[: sizes[2]]]
    return [(X[some], y[some]) for some in rows]


def signs(n_bits, center):
    """Return a function of samples: the packed signs of their first coordinates."""
    return lambda X: np.packbits(X[:, :n_bits] > center[:n_bits], axis=1)


def rankings(data, seed, lengths, n_new):
    """Yield the name of a method, its bytes per stored sample, and the distances of queries to stored samples."""
    (X, y), (stored, _), (queries, _) = split(data, seed, n_new)
    center = np.zeros(X.shape[1]) if data == "banking77" else X.mean(axis=0)
    yield "float vectors", 4 * X.shape[1], exact(data, queries, stored)
    for n_bits in (*lengths, X.shape[1]):
        encode = signs(n_bits, center)
        codes = encode(stored)
        yield f"signs {n_bits}, Hamming", n_bits // 8, distances(encode(queries), codes)
        yield (
            f"signs {n_bits}, float query",
            n_bits // 8,
            -((queries - center)[:, :n_bits] @ (2.0 * unpack(codes, n_bits) - 1).T),
        )
    methods = [
        ("fit(X, y)", {}, y),
        ("fit(X)", {}, None),
        ("fit(X), ReconstructionHash", {"hash_function": ReconstructionHash()}, None),
    ]
    if n_new:
        methods.insert(1, ("fit(X, y), new_classes", {"proximity": SameLabel(new_classes=True)}, y))
    for name, options, labels in methods:
        for n_bits in lengths:
            model = ProximityPreservingCode(n_bits=n_bits, random_state=seed, **options).fit(X, labels)
            codes = model.encode(stored)
            if "hash_function" not in options:
                yield f"{name} {n_bits}, Hamming", n_bits // 8, distances(model.encode(queries), codes)
            yield f"{name} {n_bits}, float query", n_bits // 8, model.query(queries).distances(codes)


def nearest(distance):
    """Return the K smallest of each row, in order."""
    first = np.argpartition(distance, K, axis=1)[:, :K]
    return np.take_along_axis(first, np.argsort(np.take_along_axis(distance, first, axis=1), axis=1), axis=1)


def times():
    """Yield the times to encode a query and to search, by method and number of stored samples."""
    (X, y), (some, _), (queries, _) = split("banking77", 0)
    model = ProximityPreservingCode(n_bits=64, random_state=0).fit(X, y)
    rng = np.random.default_rng(0)
    for size in SIZES:
        stored = some[np.arange(size) % len(some)]
        stored[len(some) :] += NOISE * rng.normal(size=(size - len(some), some.shape[1])).astype(np.float32)
        methods = {"fit(X, y) 64": (64, model.encode), "signs 512": (512, signs(512, np.zeros(512)))}
        for name, (n_bits, encode) in methods.items():
            index = HammingIndex(n_bits, n_threads=1).add(encode(stored))
            codes = encode(queries)
            yield {
                "method": name,
                "stored": size,
                "encode ms": milliseconds(encode, queries),
                "search ms": milliseconds(lambda code, index=index: index.search(code, K), codes),
            }
        search_ms = milliseconds(lambda query, stored=stored: nearest(-(query @ stored.T)), queries)
        yield {"method": "float vectors", "stored": size, "encode ms": 0.0, "search ms": search_ms}


def milliseconds(function, queries):
    """Return the smallest of several medians of the time of a call with one query, in one thread."""
    medians = []
    with threadpool_limits(1):
        for _ in range(N_REPEATS):
            seconds = []
            for number in range(N_TIMED):
                start = perf_counter()
                function(queries[number : number + 1])
                seconds.append(perf_counter() - start)
            medians.append(np.median(seconds))
    return round(1000 * float(min(medians)), 4)


def exact(data, queries, stored):
    """Return the distances that the nearest are defined by."""
    products = queries @ stored.T
    if data == "banking77":
        return -products / np.linalg.norm(stored, axis=1)
    return (stored**2).sum(axis=1) - 2 * products


def measured(distance, is_same, true):
    """Return precision@10, mAP and recall@10; stored samples are in random order, in which ties are kept."""
    order = np.argsort(distance, axis=1, kind="stable")
    hit = np.take_along_axis(is_same, order, axis=1)
    precision = np.cumsum(hit, axis=1) / np.arange(1, hit.shape[1] + 1)
    average = (precision * hit).sum(axis=1) / np.maximum(hit.sum(axis=1), 1)
    recall = [len(np.intersect1d(*pair)) / K for pair in zip(order[:, :K], true, strict=True)]
    return hit[:, :K].mean(), average.mean(), np.mean(recall)


def draw(path):
    """Draw precision@10 against bytes per sample, both distances of each kind of code."""
    from matplotlib.figure import Figure

    from proxcode.plots import COLOURS, MARKERS, save_figure

    with (Path(__file__).parents[1] / "docs" / "results" / "embeddings_banking77.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    kinds = {
        "fit(X, y), Hamming": "fit(X, y): learned with intents",
        "float vectors": "float vectors, cosine",
        "signs, Hamming": "signs of the coordinates",
        "fit(X), Hamming": "fit(X): learned without intents",
    }
    figure = Figure(figsize=(7, 4.4), layout="constrained")
    ax = figure.subplots()
    for (kind, label), colour, marker in zip(kinds.items(), COLOURS, MARKERS, strict=False):
        chosen = [row for row in rows if re.sub(r" \d+,", ",", row["method"]) == kind]
        x, y, spread = (
            [float(row[name]) for row in chosen] for name in ("bytes", "precision@10", "precision@10 spread")
        )
        ax.errorbar(x, y, spread, color=colour, marker=marker, markersize=6, capsize=3, linewidth=1.5, label=label)
    ax.set_xscale("log", base=2)
    ticks = sorted({int(row["bytes"]) for row in rows})
    ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.set(xlabel="bytes per text", ylabel="precision@10 by intent", ylim=(0.4, 0.9), title=PICTURE)
    ax.grid(color="0.9")
    ax.legend(loc="lower right", frameon=False)
    save_figure(figure, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=list(DATA), default="banking77")
    parser.add_argument("--bits", nargs="+", type=int, default=[64, 128, 256])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--new-classes", type=int, default=0, help="number of classes that are not in fit")
    parser.add_argument("--times", action="store_true", help="measure times of Banking77 instead")
    parser.add_argument("--draw", type=Path, help="draw the picture of Banking77 instead")
    options = parser.parse_args()
    if options.draw:
        draw(options.draw)
        return
    if options.times:
        record("embeddings_times", list(times()))
        return
    found = {}
    for seed in options.seeds:
        _, (stored, y), (queries, y_queries) = split(options.data, seed, options.new_classes)
        is_same = y_queries[:, None] == y
        true = nearest(exact(options.data, queries, stored))
        for name, n_bytes, distance in rankings(options.data, seed, options.bits, options.new_classes):
            found.setdefault((name, n_bytes), []).append(measured(distance, is_same, true))
            print(seed, name, *(f"{value:.3f}" for value in found[name, n_bytes][-1]), flush=True)
    rows = []
    for (name, n_bytes), values in found.items():
        row = {"method": name, "bytes": n_bytes}
        columns = ("precision@10", "mAP", "recall@10")
        for column, mean, spread in zip(columns, np.mean(values, axis=0), np.std(values, axis=0), strict=True):
            row[column], row[f"{column} spread"] = round(float(mean), 3), round(float(spread), 3)
        rows.append(row)
    record(f"embeddings_{options.data}" + "_new_classes" * bool(options.new_classes), rows)


if __name__ == "__main__":
    main()
