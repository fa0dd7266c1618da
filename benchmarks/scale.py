"""Seconds, peak memory and quality of a fit of 64 bits by number of samples, 10,000 to a million.

    python benchmarks/scale.py [--sizes 10000 ...] [--kinds labels radius top-k] [--data mnist banking77]
    python benchmarks/scale.py --parquet

MNIST and Banking77, as 128 principal components, are divided into training samples and samples held back. The samples
of a fit are training samples drawn with repetition, with their labels, moved by noise of half the mean distance to the
nearest training sample. They are in npy files of 100,000 samples, read in blocks by `open_samples`. The area under the
precision-recall curve is that of the real samples held back, as queries and base: near by class, within the radius that
makes 1 % of the pairs of training samples near, or among the 20 nearest.

A run in a child process gives seconds for finding pairs, for what all bits share (features, normal equations), for bits
and for the codes of all samples, and the peak memory of the process. The exponent of n between 100,000 and a million
samples is printed below. Rows of earlier runs, of other data, kinds and sizes, stay in results/scale.csv.

--parquet makes ten million samples of MNIST in Parquet files, fits 64 bits to 50,000 of them and encodes all, both by
the command line, and gives seconds and peak memory.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from _common import peak_gib, read_record, record

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
KINDS = ("labels", "radius", "top-k")
N_BITS, N_FEATURES, N_NEAREST = 64, 128, 20
# Samples held back, and samples of a file.
N_HELD_BACK, FILE_ROWS = 3000, 100_000
# Samples that are learned from, of those in Parquet files.
PARQUET_SAMPLES = 50_000
# Share of pairs within the radius.
NEAR_SHARE = 0.01


def real_data(name):
    """Return training samples and samples held back, each with labels, as principal components."""
    from sklearn.decomposition import PCA

    folder = os.environ.get("PROXCODE_DATA")
    if folder is None:
        sys.exit("PROXCODE_DATA is not set: this benchmark needs real data")
    data = np.load(Path(folder) / {"mnist": "mnist.npz", "banking77": "banking77_use512.npz"}[name])
    X, y = data["x"].astype(np.float32), data["y"]
    order = np.random.default_rng(0).permutation(len(X))
    held, train = order[:N_HELD_BACK], order[N_HELD_BACK:]
    pca = PCA(N_FEATURES, random_state=0).fit(X[train])
    return pca.transform(X[train]), y[train], pca.transform(X[held]), y[held]


def noise_of(X):
    """Return the standard deviation of noise whose norm is half the mean distance to the nearest sample."""
    from sklearn.neighbors import NearestNeighbors

    distances = NearestNeighbors(n_neighbors=2).fit(X).kneighbors(X[:500])[0][:, 1]
    return float(distances.mean() / 2 / np.sqrt(X.shape[1]))


def noisy_blocks(X, y, n):
    """Yield blocks of samples with labels: training samples drawn with repetition, and noise."""
    rng, noise = np.random.default_rng(1), noise_of(X)
    for start in range(0, n, FILE_ROWS):
        rows = rng.integers(len(X), size=min(FILE_ROWS, n - start))
        yield (X[rows] + noise * rng.standard_normal((len(rows), X.shape[1]))).astype(np.float32), y[rows]


def measure(name, kind, n):
    from proxcode import ProximityPreservingCode, WithinRadius
    from proxcode.files import open_samples
    from proxcode.hamming import distances
    from proxcode.metrics import area_under_curve, count_pairs, precision_recall

    X, y, held, held_labels = real_data(name)
    some = X[:3000]
    radius = float(np.quantile(np.linalg.norm(some[:1500, None] - some[None, 1500:1600], axis=2), NEAR_SHARE))
    with tempfile.TemporaryDirectory() as folder:
        labels = []
        for k, (block, of_block) in enumerate(noisy_blocks(X, y, n)):
            np.save(Path(folder) / f"{k:03}.npy", block)
            labels.append(of_block)
        del X
        proximity = WithinRadius(radius) if kind == "radius" else None
        model = ProximityPreservingCode(N_BITS, proximity=proximity, random_state=0, verbose=sys.stderr.isatty())
        before, start = peak_gib(), perf_counter()
        model.fit(open_samples(folder), np.concatenate(labels) if kind == "labels" else None)
        seconds = perf_counter() - start
    gaps = np.sqrt(np.maximum((held**2).sum(1)[:, None] + (held**2).sum(1) - 2 * held @ held.T, 0))
    np.fill_diagonal(gaps, np.inf)
    limit = np.sort(gaps, axis=1)[:, N_NEAREST - 1 : N_NEAREST]
    is_near = {"labels": held_labels[:, None] == held_labels, "radius": gaps <= radius, "top-k": gaps <= limit}[kind]
    codes = model.encode(held)
    near, far = count_pairs(
        len(held),
        N_BITS + 1,
        lambda rows: is_near[rows],
        lambda rows: distances(codes[rows], codes),
        np.arange(len(held)),
    )
    curve = precision_recall(near.sum(axis=0), far.sum(axis=0))
    of_bits = [bit.seconds for bit in model.history_]
    shared = max(0.0, of_bits[0] - float(np.median(of_bits)))
    return {
        "data": name,
        "kind": kind,
        "n": n,
        "seconds": seconds,
        "shared_s": shared,
        "bits_s": sum(of_bits) - shared,
        "pairs_and_codes_s": seconds - sum(of_bits),
        "peak_GiB": peak_gib(),
        "before_GiB": before,
        "samples_of_pairs": model.n_paired_samples_,
        "area": area_under_curve(curve),
    }


def measure_parquet(n):
    """Return seconds and peak memory of fit and encode by the command line, from Parquet files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y, _, _ = real_data("mnist")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        vectors = Path(folder) / "vectors"
        vectors.mkdir()
        first = 0
        for k, (block, labels) in enumerate(noisy_blocks(X, y, n)):
            lists = pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), N_FEATURES)
            ids = pa.array(np.arange(first, first + len(block)))
            first += len(block)
            pq.write_table(pa.table({"id": ids, "class": labels, "vector": lists}), vectors / f"{k:04}.parquet")
        model, codes = Path(folder) / "m.proxcode", Path(folder) / "codes"
        pattern = str(vectors / "*.parquet")
        commands = {
            "fit": [
                "fit",
                pattern,
                "--labels",
                f"{pattern}:class",
                "--samples",
                str(PARQUET_SAMPLES),
                "--columns",
                "vector",
            ],
            "encode": ["encode", model, pattern],
        }
        for verb, command in commands.items():
            start = perf_counter()
            arguments = [sys.executable, "-m", "proxcode", *command, "-o", model if verb == "fit" else codes]
            child = subprocess.Popen(list(map(str, arguments)), stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(child.pid, 0)
            if status:
                sys.exit(f"proxcode {verb} failed")
            peak = used.ru_maxrss / 2**20
            rows.append({"verb": verb, "n": n, "seconds": perf_counter() - start, "peak_GiB": peak})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--data", nargs="+", choices=("mnist", "banking77"), default=("mnist", "banking77"))
    parser.add_argument("--parquet", action="store_true")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, kind, n = options.one
        print(json.dumps(measure(name, kind, int(n))))
        return
    if options.parquet:
        record("scale_parquet", measure_parquet(10_000_000))
        return
    measured = {(row["data"], row["kind"], int(row["n"])): row for row in read_record("scale")}
    for name in options.data:
        for kind in options.kinds:
            for n in options.sizes:
                command = [sys.executable, __file__, "--one", name, kind, str(n)]
                row = json.loads(subprocess.check_output(command, text=True).splitlines()[-1])
                print(json.dumps(row), file=sys.stderr)
                measured[name, kind, n] = row
    rows = [measured[key] for key in sorted(measured)]
    record("scale", rows)
    for name in options.data:
        for kind in options.kinds:
            seconds = {n: float(row["seconds"]) for (*which, n), row in measured.items() if which == [name, kind]}
            if {100_000, 1_000_000} <= set(seconds):
                exponent = np.log10(seconds[1_000_000] / seconds[100_000])
                print(f"{name}, {kind}: from 100,000 to 1,000,000 samples the time grows as n^{exponent:.2f}")


if __name__ == "__main__":
    main()
