"""Seconds, size and peak memory of a report.

    python benchmarks/report.py [--samples 100000]

Samples are synthetic: 512 features, 50 classes, Gaussian clusters. The model, 64 bits with labels, is fitted to 10,000
further samples, which is not timed. `proxcode report` then runs as a process of its own, from files to the page, with
peers and labels, after one small report that compiles the kernels. `seconds` is the time that passes, which other work
on the machine prolongs; `cpu_seconds` is the time of all its threads.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from _common import record
from proxcode import ProximityPreservingCode

N_FEATURES, N_CLASSES, N_BITS, N_TRAIN = 512, 50, 64, 10_000
MAX_SECONDS, MAX_MEGABYTES = 60, 5


def make_files(folder, n_samples):
    """Write samples, labels and a fitted model."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, N_CLASSES, N_TRAIN + n_samples)
    X = rng.normal(size=(N_CLASSES, N_FEATURES)).astype(np.float32)[y]
    X += 4 * rng.normal(size=X.shape).astype(np.float32)
    model = ProximityPreservingCode(N_BITS, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
    model.save(folder / "model.proxcode")
    for name, rows in {"train": slice(N_TRAIN), "x": slice(N_TRAIN, None), "small": slice(200)}.items():
        np.save(folder / f"{name}.npy", X[rows])
        np.save(folder / f"{name}_labels.npy", y[rows])


def report(folder, name):
    """Run the command; return seconds, seconds of the processor, peak memory in GiB and bytes of the page."""
    command = [sys.executable, "-m", "proxcode", "report", "model.proxcode", f"{name}.npy"]
    command += ["--labels", f"{name}_labels.npy", "--train", "train.npy", "-o", f"{name}.html"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    seconds, after = perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu, after.ru_maxrss / 2**20, (folder / f"{name}.html").stat().st_size


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder, options.samples)
        report(folder, "small")
        seconds, cpu, peak, n_bytes = report(folder, "x")
    row = {"samples": options.samples, "features": N_FEATURES, "bits": N_BITS, "seconds": round(seconds, 1)}
    row |= {"cpu_seconds": round(cpu, 1), "peak_gib": round(peak, 2), "bytes": n_bytes}
    record("report", [row])
    if seconds > MAX_SECONDS or n_bytes > MAX_MEGABYTES * 10**6:
        sys.exit(f"above the limits of {MAX_SECONDS} s and {MAX_MEGABYTES} MB")


if __name__ == "__main__":
    main()
