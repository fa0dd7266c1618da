"""Codes of ONNX graphs beside those of `encode`: differing bits, the margins at which they differ, sizes and times.

    python benchmarks/onnx_bits.py
    PROXCODE_DATA=/path/to/data python benchmarks/onnx_bits.py --data synthetic digits banking77 mnist gist

Models of 64 bits are fitted to 5,000 samples (digits: 1,000), SVMs to 1,000 of these. 100,000 others are encoded: as
many as the data have, then copies with noise of a tenth of the standard deviation of each feature. The type of a model
is that of the samples of its fit; a graph and `encode` get the same samples, in the type of the graph. Margins are
those of `encode`, in units of their median. Since `encode` of a model in single precision rounds too,
`differing_double` counts the bits in which a graph differs from `encode` of the same samples in double precision.
`differing_single` and `largest_single` are what the same graph would give if it computed in single precision. Times are
processor seconds of all samples in blocks of 8,192, those of onnxruntime with one thread: other work on the machine
counts little.
"""

import argparse
import os
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.datasets import load_digits

from _common import record
from proxcode import (
    KernelHash,
    LinearHash,
    Nearest,
    NewClassHash,
    ProximityPreservingCode,
    RotationHash,
    SVMHash,
    WithinRadius,
    export_onnx,
    unpack,
)
from proxcode.export import onnx_model

N_BITS, N_FIT, N_SAMPLES, BLOCK = 64, 5000, 100_000, 8192
# A hash function, and the proximity that it learns from; None is that of the labels.
FUNCTIONS = {
    "KernelHash": (KernelHash(), None),
    "KernelHash without posteriors": (KernelHash(refine_steps=0), None),
    "KernelHash by a radius": (KernelHash(), WithinRadius(mean_neighbors=20)),
    "LinearHash": (LinearHash(), None),
    "SVMHash": (SVMHash(max_samples=1000), None),
    "RotationHash": (RotationHash(), Nearest()),
    "NewClassHash": (NewClassHash(), None),
}
# Those that are measured with larger data.
WITH_LABELS = ("KernelHash", "LinearHash", "SVMHash")
SMALL = ("synthetic", "digits")
# Types of the model and of the graph.
TYPES = (("float64", "float64"), ("float64", "float32"), ("float32", "float32"))


def load(name):
    """Return samples and labels."""
    if name == "synthetic":
        rng = np.random.default_rng(0)
        y = rng.integers(0, 20, N_FIT + N_SAMPLES)
        return 0.4 * rng.normal(size=(20, 64))[y] + rng.normal(size=(len(y), 64)), y
    if name == "digits":
        return load_digits(return_X_y=True)
    folder = Path(os.environ["PROXCODE_DATA"])
    files = {"mnist": "mnist.npz", "banking77": "banking77_use512.npz", "gist": "cifar10_gist512.npz"}
    with np.load(folder / files[name]) as file:
        return file["x"].astype(np.float64), file["y"].astype(int)


def split(X, y):
    """Return samples to fit to, their labels, and samples to encode."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    n_fit = min(N_FIT, 1000 * (len(X) // 1500))
    fitted, others = order[:n_fit], order[n_fit:]
    new = X[np.resize(others, N_SAMPLES)]
    n_copies = N_SAMPLES - len(others)
    if n_copies > 0:
        new[-n_copies:] += 0.1 * X.std(axis=0) * rng.normal(size=(n_copies, X.shape[1]))
    return X[fitted], y[fitted], new


def in_blocks(function, samples):
    """Return a function of the samples, computed block by block, and the processor seconds that this takes."""
    function(samples[:10])
    start = process_time()
    results = [function(samples[at : at + BLOCK]) for at in range(0, len(samples), BLOCK)]
    return np.concatenate(results), process_time() - start


def measure(model, samples, path, fitted, dtype):
    """Return the figures of one graph."""
    import onnxruntime

    export_onnx(model, path, dtype=dtype)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    codes, graph_seconds = in_blocks(lambda block: session.run(["codes"], {"X": block})[0], samples)
    # `encode` packs the signs of these.
    margins, seconds = in_blocks(model.scores, samples)
    exact = margins
    if fitted == dtype == "float32":
        exact, _ = in_blocks(lambda block: model.scores(block.astype(np.float64)), samples)
    bits, sizes = unpack(codes, N_BITS), np.abs(margins)
    differing, single = bits != (margins >= 0), np.zeros(bits.shape, bool)
    if dtype == "float32":
        rounded = onnxruntime.InferenceSession(in_single_precision(onnx_model(model)).SerializeToString(), options)
        single_codes, _ = in_blocks(lambda block: rounded.run(["codes"], {"X": block})[0], samples)
        single = unpack(single_codes, N_BITS) != (exact >= 0)
    return {
        "bits": differing.size,
        "differing": int(differing.sum()),
        "largest_margin": float(sizes[differing].max(initial=0.0) / np.median(sizes)),
        "differing_double": int((bits != (exact >= 0)).sum()),
        "differing_single": int(single.sum()) if dtype == "float32" else "",
        "largest_single": float(np.abs(exact)[single].max(initial=0.0) / np.median(sizes))
        if dtype == "float32"
        else "",
        "kilobytes": round(path.stat().st_size / 1024),
        "encode_s": seconds,
        "onnx_s": graph_seconds,
        "ratio": graph_seconds / seconds,
    }


def in_single_precision(exported):
    """Return a graph with all of double precision replaced by single precision."""
    from onnx import TensorProto, numpy_helper

    for constant in exported.graph.initializer:
        if constant.data_type == TensorProto.DOUBLE:
            values = numpy_helper.to_array(constant).astype(np.float32)
            constant.CopyFrom(numpy_helper.from_array(values, constant.name))
    for node in exported.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.i == TensorProto.DOUBLE:
                attribute.i = TensorProto.FLOAT
    return exported


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=list(SMALL))
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for data in options.data:
            X, y, new = split(*load(data))
            for name in FUNCTIONS if data in SMALL else WITH_LABELS:
                function, proximity = FUNCTIONS[name]
                models = {}
                for fitted, dtype in TYPES:
                    if fitted not in models:
                        parameters = {"proximity": proximity, "hash_function": function, "random_state": 0}
                        code = ProximityPreservingCode(N_BITS, **parameters)
                        models[fitted] = code.fit(X.astype(fitted), y if proximity is None else None)
                    found = measure(models[fitted], new.astype(dtype), Path(folder, "model.onnx"), fitted, dtype)
                    rows.append({"data": data, "function": name, "model": fitted, "graph": dtype, **found})
                    print(rows[-1], flush=True)
            record("onnx", rows)


if __name__ == "__main__":
    main()
