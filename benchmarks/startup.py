"""Seconds of `import proxcode`, of starting the command line and of the first fit in a new process, kernels cached.

python benchmarks/startup.py
"""

import subprocess
import sys
from pathlib import Path
from time import perf_counter

from _common import record

FIRST_FIT = (
    "import numpy as np; from proxcode import ProximityPreservingCode\n"
    "rng = np.random.default_rng(0)\n"
    "X, y = rng.normal(size=(1000, 64)), rng.integers(0, 10, 1000)\n"
    "ProximityPreservingCode(n_bits=32, random_state=0).fit(X, {y})"
)
TASKS = {
    "python alone": [sys.executable, "-c", "pass"],
    "import proxcode": [sys.executable, "-c", "import proxcode"],
    "proxcode --version": [str(Path(sys.executable).parent / "proxcode"), "--version"],
    "first fit of 1,000 samples, labels": [sys.executable, "-c", FIRST_FIT.format(y="y")],
    "first fit of 1,000 samples, radius": [sys.executable, "-c", FIRST_FIT.format(y="None")],
}


def seconds(command):
    start = perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return perf_counter() - start


if __name__ == "__main__":
    for command in TASKS.values():
        # The first run fills the cache of compiled kernels.
        seconds(command)
    best = {name: min(seconds(command) for _ in range(3)) for name, command in TASKS.items()}
    record("startup", [{"task": name, "seconds": value} for name, value in best.items()])
