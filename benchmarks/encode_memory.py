"""Seconds and peak memory of `proxcode encode` on a file of 2,000,000 x 512 in single precision, 4 GB.

The file is sparse: its zeros take no space on the disk, but are read and encoded like other values.

python benchmarks/encode_memory.py
"""

import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from _common import in_child, peak_gib, record

N_ROWS, N_COLUMNS, N_BITS = 2_000_000, 512, 64


def fit(folder, hash_name):
    from proxcode import KernelHash, LinearHash, ProximityPreservingCode

    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 2000)
    X = (rng.normal(size=(10, N_COLUMNS))[y] + rng.normal(size=(2000, N_COLUMNS))).astype(np.float32)
    hash_function = {"linear": LinearHash(), "kernel": KernelHash()}[hash_name]
    model = ProximityPreservingCode(N_BITS, hash_function=hash_function, random_state=0).fit(X, y)
    model.save(folder / f"{hash_name}.proxcode")
    return {"n_samples": len(X)}


def write_zeros(path):
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (N_ROWS, N_COLUMNS)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 4 * N_ROWS * N_COLUMNS)


def encode(folder, hash_name):
    from proxcode.cli import main

    start = perf_counter()
    arguments = ["encode", folder / f"{hash_name}.proxcode", folder / "X.npy", "-o", folder / f"{hash_name}.npy"]
    main([str(argument) for argument in arguments], standalone_mode=False)
    seconds = perf_counter() - start
    return {
        "hash_function": hash_name,
        "rows": N_ROWS,
        "columns": N_COLUMNS,
        "bits": N_BITS,
        "file_GiB": (folder / "X.npy").stat().st_size / 2**30,
        "peak_GiB": peak_gib(),
        "seconds": seconds,
        "rows_per_second": N_ROWS / seconds,
    }


STEPS = {"fit": fit, "encode": encode}

if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(STEPS[sys.argv[1]](Path(sys.argv[2]), sys.argv[3])))
    else:
        with tempfile.TemporaryDirectory() as name:
            write_zeros(Path(name, "X.npy"))
            rows = []
            for hash_name in ("linear", "kernel"):
                # The fit has a process of its own: a child process inherits the peak memory of its parent.
                in_child(__file__, "fit", name, hash_name)
                rows.append(in_child(__file__, "encode", name, hash_name))
        record("encode_memory", rows)
