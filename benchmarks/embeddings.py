"""Codes of embeddings beside their signs at equal bytes: sentences by intent, image features by class.

    PROXCODE_DATA=/path/to/data python benchmarks/embeddings.py
    PROXCODE_DATA=/path/to/data python benchmarks/embeddings.py --data cifar10-gist --bits 64

The samples are split at random into those of fit, the stored ones and the queries: neither stored samples nor queries
are in fit. Prints the mean and the standard deviation over seeds; writes results/embeddings_DATA.csv:

- precision@10: share of the 10 first with the class of the query;
- mAP: mean average precision by class, over all stored samples;
- recall@10: share of the 10 nearest by cosine (Euclidean distance for GIST) among the 10 first.

"signs p" are the signs of the first p coordinates: np.packbits(X[:, :p] > 0), what sentence-transformers calls ubinary,
truncated. GIST coordinates are centred first. A float query compares the query itself with the stored codes.
"""

import argparse
import os
from pathlib import Path

import numpy as np

from _common import record
from proxcode import ProximityPreservingCode
from proxcode.hamming import distances, unpack
from proxcode.hashing import ReconstructionHash

K = 10
# File, number of samples of fit, stored samples and queries.
DATA = {
    "banking77": ("banking77_use512.npz", 5000, 7083, 1000),
    "cifar10-gist": ("cifar10_gist512.npz", 5000, 10_000, 1000),
}


def split(data, seed):
    """Return the samples of fit, the stored ones and the queries, each with its labels."""
    file, *sizes = DATA[data]
    with np.load(Path(os.environ["PROXCODE_DATA"]) / file) as arrays:
        X, y = arrays["x"].astype(np.float32), arrays["y"]
    order = np.random.default_rng(seed).permutation(len(X))
    return [(X[rows], y[rows]) for rows in np.split(order, np.cumsum(sizes))[:3]]


def signs(n_bits, center):
    """Return a function of samples: the packed signs of their first coordinates."""
    return lambda X: np.packbits(X[:, :n_bits] > center[:n_bits], axis=1)


def rankings(data, seed, lengths):
    """Yield the name of a method, its bytes per stored sample, and the distances of queries to stored samples."""
    (X, y), (stored, _), (queries, _) = split(data, seed)
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
    for name, options, labels in (
        ("fit(X, y)", {}, y),
        ("fit(X)", {}, None),
        ("fit(X), ReconstructionHash", {"hash_function": ReconstructionHash()}, None),
    ):
        for n_bits in lengths:
            model = ProximityPreservingCode(n_bits=n_bits, random_state=seed, **options).fit(X, labels)
            codes = model.encode(stored)
            if not options:
                yield f"{name} {n_bits}, Hamming", n_bits // 8, distances(model.encode(queries), codes)
            yield f"{name} {n_bits}, float query", n_bits // 8, model.query(queries).distances(codes)


def exact(data, queries, stored):
    """Return the distances that the nearest are defined by."""
    products = queries @ stored.T
    if data == "banking77":
        return -products / np.linalg.norm(stored, axis=1)
    return (stored**2).sum(axis=1) - 2 * products


def measured(distance, is_same, nearest):
    """Return precision@10, mAP and recall@10; stored samples are in random order, in which ties are kept."""
    order = np.argsort(distance, axis=1, kind="stable")
    hit = np.take_along_axis(is_same, order, axis=1)
    precision = np.cumsum(hit, axis=1) / np.arange(1, hit.shape[1] + 1)
    average = (precision * hit).sum(axis=1) / np.maximum(hit.sum(axis=1), 1)
    recall = [len(np.intersect1d(*pair)) / K for pair in zip(order[:, :K], nearest, strict=True)]
    return hit[:, :K].mean(), average.mean(), np.mean(recall)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=list(DATA), default="banking77")
    parser.add_argument("--bits", nargs="+", type=int, default=[64, 128, 256])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options = parser.parse_args()
    found = {}
    for seed in options.seeds:
        _, (stored, y), (queries, y_queries) = split(options.data, seed)
        is_same = y_queries[:, None] == y
        nearest = np.argsort(exact(options.data, queries, stored), axis=1, kind="stable")[:, :K]
        for name, n_bytes, distance in rankings(options.data, seed, options.bits):
            found.setdefault((name, n_bytes), []).append(measured(distance, is_same, nearest))
            print(seed, name, *(f"{value:.3f}" for value in found[name, n_bytes][-1]), flush=True)
    rows = []
    for (name, n_bytes), values in found.items():
        row = {"method": name, "bytes": n_bytes}
        for column, mean, spread in zip(
            ("precision@10", "mAP", "recall@10"), np.mean(values, axis=0), np.std(values, axis=0), strict=True
        ):
            row[column], row[f"{column} spread"] = round(float(mean), 3), round(float(spread), 3)
        rows.append(row)
    record(f"embeddings_{options.data}", rows)


if __name__ == "__main__":
    main()
