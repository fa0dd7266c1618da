"""Fits and encodings with the arithmetic of other processors: rows of codes that differ, and their quality.

OpenBLAS and numba are told to use the instructions of another processor, each in a process of its own. A refit learns a
model anew; the model of this processor is also loaded there and encodes the same samples.

python benchmarks/other_processor.py                # all codes, 64 bits: about ten minutes
python benchmarks/other_processor.py 32 radius      # a code length and kinds of code
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from _common import record

PROCESSORS = {
    "this": {},
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "Sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge"},
    "generic kernels": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
}
CASES = ("labels", "labels, linear", "labels, no refinement", "radius", "near pairs", "top-k search", "float queries")


def fit(case, n_bits, X, y):
    """Return a model fitted to one kind of near pairs."""
    import proxcode as p

    labels, rng = case.startswith("labels"), np.random.default_rng(0)
    i, j = rng.integers(0, len(X), (2, 40_000))
    parameters = {
        "labels, linear": {"hash_function": p.LinearHash()},
        "labels, no refinement": {"hash_function": p.KernelHash(refine_steps=0)},
        "radius": {"proximity": p.WithinRadius()},
        "near pairs": {"proximity": p.GivenPairs(np.column_stack([i, j])[(y[i] == y[j]) & (i != j)])},
        "float queries": {"hash_function": p.ReconstructionHash()},
    }.get(case, {})
    return p.ProximityPreservingCode(n_bits, random_state=0, **parameters).fit(X, y if labels else None)


def child(case, dtype, n_bits, folder, processor):
    """Fit and encode in this process; write the codes, print the quality as JSON."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from proxcode import ProximityPreservingCode
    from proxcode.metrics import mean_average_precision, ranking_counts

    X, y = load_digits(return_X_y=True)
    X = X.astype(dtype)
    X, X_new, y, y_new = train_test_split(X, y, test_size=797, random_state=0, stratify=y)
    model = fit(case, n_bits, X, y)
    if processor == "this":
        model.save(folder / "this.proxcode")
    loaded = ProximityPreservingCode.load(folder / "this.proxcode")
    np.savez(folder / f"{processor}.npz", refit=model.encode(X_new), loaded=loaded.encode(X_new))
    precision = mean_average_precision(*ranking_counts(model.encode(X_new), model.codes_, y_new, y))
    print(json.dumps({"precision": precision, "loss": model.history_[-1].loss}))


def compare(case, dtype, n_bits):
    """Yield one row of figures for each processor."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for processor, settings in PROCESSORS.items():
            command = [sys.executable, __file__, "child", case, dtype, str(n_bits), folder, processor]
            output = subprocess.check_output(command, text=True, env={**os.environ, **settings})
            figures = json.loads(output.splitlines()[-1])
            ours, theirs = np.load(folder / "this.npz"), np.load(folder / f"{processor}.npz")
            rows = {kind: int((ours[kind] != theirs[kind]).any(axis=1).sum()) for kind in ("refit", "loaded")}
            n_different = int(np.bitwise_count(ours["refit"] ^ theirs["refit"]).sum())
            yield {
                "code": case,
                "samples": dtype,
                "processor": processor,
                "rows that a refit changes": rows["refit"],
                "share of bits": n_different / (8 * ours["refit"].size),
                "rows that encode changes": rows["loaded"],
                "average precision": figures["precision"],
                "training loss": figures["loss"],
            }


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(sys.argv[2], sys.argv[3], int(sys.argv[4]), Path(sys.argv[5]), sys.argv[6])
    else:
        n_bits, cases = int((sys.argv[1:] or [64])[0]), sys.argv[2:] or CASES
        rows = [row for case in cases for dtype in ("float64", "float32") for row in compare(case, dtype, n_bits)]
        record("other_processor", rows)
