"""Times of the first call in a new process, beside the import of the libraries alone.

Each task runs in a process of its own. Those that use compiled kernels run once with an empty cache of numba, in a
folder of their own, and then with the cache that this run has filled. Warm times are the best of three. Processor
seconds are those of all threads, user and system.

python benchmarks/startup.py            # about five minutes on an idle machine
python benchmarks/startup.py info fit   # the tasks whose names contain one of these words
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from _common import record

MODEL = Path(__file__).parents[1] / "tests" / "golden" / "kernel_labels_2.proxcode"
REPEATS = 3
SAMPLES = (
    "import numpy as np; import proxcode as p; rng = np.random.default_rng(0)\n"
    "y = rng.integers(0, 10, 1000); X = rng.normal(size=(10, 64))[y] + rng.normal(size=(1000, 64))\n"
    "pairs = np.column_stack([np.arange(1000), rng.integers(0, 1000, 1000)])\n"
    "pairs = pairs[y[pairs[:, 0]] == y[pairs[:, 1]]]\n"
)
CODES = (
    "import numpy as np; from proxcode import FloatQueries, HammingIndex; rng = np.random.default_rng(0)\n"
    "codes = rng.integers(0, 256, (10_000, 8), dtype=np.uint8); queries = codes[:20]\n"
)
FIT = SAMPLES + "p.ProximityPreservingCode({bits}, random_state=0, {parameters}).fit(X, {y})"
PYTHON = {
    "python alone": "pass",
    "import numpy": "import numpy",
    "import sklearn.base": "import sklearn.base",
    "import numba": "import numba",
    "import proxcode": "import proxcode",
    "import the estimator": "from proxcode import ProximityPreservingCode",
}
COMMANDS = {
    "proxcode --help": ["--help"],
    "proxcode --version": ["--version"],
    "proxcode info MODEL": ["info", str(MODEL)],
    "proxcode encode, missing file": ["encode", "missing.proxcode", "missing.npy", "-o", "codes.npy"],
    "proxcode fit, bad argument": ["fit", "vectors.npy", "--bits", "0", "-o", "my.proxcode"],
}
# Commands that end with an error, and its exit code.
ERRORS = {"proxcode encode, missing file": 1, "proxcode fit, bad argument": 2}
# Tasks that use compiled kernels.
KERNELS = {
    "first fit, labels": FIT.format(bits=32, parameters="", y="y"),
    "first fit, radius": FIT.format(bits=32, parameters="proximity=p.WithinRadius()", y="None"),
    "first fit, top-k search": FIT.format(bits=32, parameters="proximity=p.Nearest()", y="None"),
    "first fit, above 64 bits": FIT.format(bits=72, parameters="", y="y"),
    "first fit, near pairs": FIT.format(bits=32, parameters="proximity=p.GivenPairs(pairs)", y="None"),
    "first search": CODES + "HammingIndex(64).add(codes).search(queries)",
    "first within": CODES + "HammingIndex(64).add(codes).within(queries, 10)",
    "first search by hash tables": CODES + "HammingIndex(64, tables=True).add(codes).search(queries)",
    "first float query": CODES
    + "HammingIndex(64).add(codes).search(FloatQueries.from_weights(rng.normal(size=(20, 64))))",
}


def seconds(command, cache=None):
    """Run a command; return the seconds that passed, those of the processor, and the exit code."""
    environment = os.environ if cache is None else {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    start = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return perf_counter() - start, usage.ru_utime + usage.ru_stime, process.returncode


def measure(name, command, *, compiles):
    """Return a row of the table: seconds with an empty and with a warm cache."""
    with tempfile.TemporaryDirectory() as cache:
        # The first run also writes the bytecode of Python.
        first = seconds(command, cache)
        runs = [seconds(command, cache) for _ in range(REPEATS)]
    if first[2] != ERRORS.get(name, 0):
        raise RuntimeError(f"{name}: exit code {first[2]}")
    best = [min(run[column] for run in runs) for column in (0, 1)]
    empty = [f"{value:.2f}" for value in first[:2]] if compiles else ["", ""]
    return {
        "task": name,
        "warm, seconds": f"{best[0]:.2f}",
        "warm, processor": f"{best[1]:.2f}",
        "empty cache, seconds": empty[0],
        "empty cache, processor": empty[1],
    }


if __name__ == "__main__":
    tasks = [(name, [sys.executable, "-c", script], False) for name, script in PYTHON.items()]
    tasks += [(name, [sys.executable, "-m", "proxcode", *rest], False) for name, rest in COMMANDS.items()]
    tasks += [(name, [sys.executable, "-c", script], True) for name, script in KERNELS.items()]
    words = sys.argv[1:] or [""]
    chosen = [task for task in tasks if any(word in task[0] for word in words)]
    record("startup", [measure(name, command, compiles=compiles) for name, command, compiles in chosen])
