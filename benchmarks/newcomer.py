"""Seconds from the built wheel to the first search result, in an empty environment.

    python benchmarks/newcomer.py

Builds the wheel with pip, creates an empty virtual environment, and runs the four commands of the README (install, fit,
encode, search) on the digits of scikit-learn, written to .npy files. Reports the seconds of each command, including the
compilation of kernels: the environment has no cache of compiled kernels.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from _common import record

ROOT = Path(__file__).parents[1]
DATA = (
    "import numpy as np; from sklearn.datasets import load_digits; X, y = load_digits(return_X_y=True);"
    "np.save('vectors.npy', X[:1000]); np.save('labels.npy', y[:1000]); np.save('queries.npy', X[1000:])"
)
COMMANDS = {
    "install": "pip install --quiet --constraint {constraints} {wheel}",
    "fit": "proxcode fit vectors.npy --labels labels.npy --bits 64 -o my.proxcode",
    "encode": "proxcode encode my.proxcode vectors.npy -o codes.npy",
    "search": "proxcode search codes.npy queries.npy --model my.proxcode -k 10",
}


def main():
    with tempfile.TemporaryDirectory(prefix="newcomer") as created:
        folder = Path(created)
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT]
        subprocess.run(build, check=True)
        subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
        subprocess.run([sys.executable, "-c", DATA], cwd=folder, check=True)
        names = {"constraints": ROOT / "constraints.txt", "wheel": next(folder.glob("*.whl"))}
        rows = []
        for name, command in COMMANDS.items():
            program, *arguments = command.format(**names).split()
            start = perf_counter()
            output = subprocess.check_output([folder / "env" / "bin" / program, *arguments], cwd=folder, text=True)
            rows.append({"command": name, "seconds": perf_counter() - start, "lines": len(output.splitlines())})
        rows.append({"command": "all", "seconds": sum(row["seconds"] for row in rows), "lines": 0})
        record("newcomer", rows)


if __name__ == "__main__":
    main()
