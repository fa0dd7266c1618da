"""Shared helpers of the benchmarks: data, child processes, time, peak memory and results."""

import csv
import json
import os
import resource
import subprocess
import sys
import tracemalloc
from pathlib import Path
from time import perf_counter

import numpy as np

RESULTS = Path(__file__).parent / "results"


def gist(n_components=None):
    """Return X (float32) and labels of CIFAR-10 GIST from PROXCODE_DATA, or of Gaussian clusters of the same shape."""
    folder = os.environ.get("PROXCODE_DATA")
    if folder:
        data = np.load(Path(folder) / "cifar10_gist512.npz")
        X, y = data["x"].astype(np.float32), data["y"]
    else:
        print("PROXCODE_DATA is not set: using Gaussian clusters in place of CIFAR-10 GIST", file=sys.stderr)
        rng = np.random.default_rng(0)
        y = rng.integers(0, 10, 60_000)
        X = (rng.normal(size=(10, 512))[y] + 4 * rng.normal(size=(60_000, 512))).astype(np.float32)
    if n_components:
        from sklearn.decomposition import PCA

        X = PCA(n_components, random_state=0).fit_transform(X)
    return X, y


def in_child(script, *arguments):
    """Run a benchmark script in a child process; return the JSON record that it prints as its last line."""
    command = [sys.executable, script, *map(str, arguments)]
    output = subprocess.check_output(command, text=True)
    return json.loads(output.splitlines()[-1])


def best_of(function, repeats=3):
    """Return the shortest time of several calls, in seconds."""
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        function()
        seconds.append(perf_counter() - start)
    return min(seconds)


def peak_gib():
    """Return the peak resident memory of this process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def allocated_mib(function):
    """Run a function; return the peak memory that it allocated, in MiB."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def record(name, rows):
    """Write rows (dictionaries with the same keys) to results/NAME.csv and print them as a table."""
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    widths = {key: max(len(key), *(len(_cell(row[key])) for row in rows)) for key in rows[0]}
    print("  ".join(f"{key:>{widths[key]}}" for key in rows[0]))
    for row in rows:
        print("  ".join(f"{_cell(row[key]):>{widths[key]}}" for key in row))


def read_record(name):
    """Return the rows of results/NAME.csv, whose values are text; none where there is no such file."""
    path = RESULTS / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _cell(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)
