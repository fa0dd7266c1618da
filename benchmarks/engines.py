"""Seconds to encode 8 Parquet files of 50,000 x 512 to files in one thread, and on the engines that are installed.

An engine has a worker for each core of this machine. `same_codes` tells whether its codes are byte for byte those of
one thread, `ratio` is the time of one thread divided by that of the engine. Files are encoded once before the time is
taken: workers import libraries and compile kernels only once.

python benchmarks/engines.py [--rows 2000]
"""

import argparse
import tempfile
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from _common import best_of, record
from proxcode import ProximityPreservingCode, encode_files
from proxcode.engines import DaskEngine, RayEngine, SparkEngine
from proxcode.files import open_samples
from proxcode.utils.threads import limited_threads, n_cores

N_FILES, N_COLUMNS, N_BITS = 8, 512, 64
ENGINES = {"distributed": DaskEngine, "ray": RayEngine, "pyspark": SparkEngine}


def write_files(folder, centres, n_rows):
    for k in range(N_FILES):
        rng = np.random.default_rng(k)
        X = (centres[rng.integers(0, len(centres), n_rows)] + rng.normal(size=(n_rows, N_COLUMNS))).astype(np.float32)
        lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), N_COLUMNS)
        pq.write_table(pa.table({"vector": lists}), folder / f"{k}.parquet")


def fit(centres):
    rng = np.random.default_rng(N_FILES)
    y = rng.integers(0, len(centres), 2000)
    X = (centres[y] + rng.normal(size=(len(y), N_COLUMNS))).astype(np.float32)
    return ProximityPreservingCode(N_BITS, random_state=0).fit(X, y)


def row(engine, n_rows, n_workers, seconds, alone, is_same):
    return {
        "engine": engine,
        "workers": n_workers,
        "rows": n_rows,
        "seconds": seconds,
        "ratio": alone / seconds,
        "same_codes": is_same,
    }


def contents(folder):
    """Return the codes of all files of a folder."""
    return [pq.read_table(file)["code"].to_pylist() for file in sorted(folder.glob("*.parquet"))]


def measure(folder, model, repeats):
    outputs = (folder.parent / f"codes{k}" for k in count())

    def encode(engine):
        return encode_files(model, folder, next(outputs), engine=engine)

    with limited_threads(1):
        encoded = encode(None)
        codes = contents(encoded.manifest.parent)
        alone = best_of(lambda: encode(None), repeats)
    X = open_samples(folder / "0.parquet")[:]
    assert codes[0] == [code.tobytes() for code in model.encode(X)]
    rows = [row("one thread", encoded.rows, 1, alone, alone, True)]
    for library, make in ENGINES.items():
        if find_spec(library) is None:
            continue
        with make() as engine:
            is_same = contents(encode(engine).manifest.parent) == codes
            seconds = best_of(lambda engine=engine: encode(engine), repeats)
        rows.append(row(make.__name__, encoded.rows, n_cores(), seconds, alone, is_same))
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000, help="rows of a file")
    parser.add_argument("--repeats", type=int, default=3, help="the shortest time of so many is taken")
    options = parser.parse_args()
    centres = np.random.default_rng(0).normal(size=(10, N_COLUMNS))
    with tempfile.TemporaryDirectory() as name:
        vectors = Path(name) / "vectors"
        vectors.mkdir()
        write_files(vectors, centres, options.rows)
        record("engines", measure(vectors, fit(centres), options.repeats))
