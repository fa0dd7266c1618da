"""Fitted models as ONNX files: from samples to packed codes in one graph.

1. Samples are converted to double precision, in which everything is computed.
2. Transformers of a pipeline, and the unit of samples that are very large or small.
3. The margins of the hash function (`hash_functions.py`), and the posteriors of labels where it has them.
4. Bits, 1 where a margin is at least 0, are packed into bytes as `numpy.packbits` does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from proxcode.export.graph import IR_VERSION, OPSET, Graph
from proxcode.export.hash_functions import Hashed, Samples, add_hash_function
from proxcode.export.transformers import add_transformer
from proxcode.pipeline import CodePipeline, Model, check_fitted_model
from proxcode.pipeline.steps import is_passed_through
from proxcode.storage.atomic import FilePath, atomic_write, check_target
from proxcode.utils.validation import FAR, check_integer

DTYPES = ("float32", "float64")
OUTPUTS = ("codes", "margins", "posteriors")
# Largest size of a message of Protocol Buffers.
MAX_BYTES = 2**31 - 1
# Value of each bit of a byte, the first one largest.
BIT_VALUES = (128, 64, 32, 16, 8, 4, 2, 1)


def export_onnx(
    model: Model,
    path: FilePath,
    *,
    dtype: str = "float32",
    n_bits: int | None = None,
    outputs: Sequence[str] | None = None,
    overwrite: bool = True,
) -> None:
    """Write a fitted model as an ONNX file, whose graph turns samples into packed codes.

    The input is `X`, shape (n, n_features). The outputs are

    - `codes`, uint8 of shape (n, ceil(n_bits / 8)): what `encode` returns;
    - `margins`, shape (n, n_bits): what `scores` returns;
    - `posteriors`, shape (n, n_labels), where the model was learned from labels: the probabilities of the labels, in
      the order of the entry `classes` of the metadata.

    Everything is computed in double precision, so that a bit differs from that of `encode` only where its margin is
    within rounding of zero. Requires `pip install 'proxcode[onnx]'`.

    Parameters
    ----------
    model : ProximityPreservingCode or CodePipeline
        Its hash function is a `KernelHash`, `LinearHash`, `SVMHash`, `RotationHash` or `NewClassHash`; its transformers
        are StandardScaler, MinMaxScaler, Normalizer, PCA and TruncatedSVD.
    path : path
    dtype : {"float32", "float64"}, default="float32"
        Type of the samples, the margins and the posteriors.
    n_bits : int, default=None
        Length of the prefix of the code. None is all bits.
    outputs : list of {"codes", "margins", "posteriors"}, default=None
        Outputs of the graph. None is all that the model has.
    overwrite : bool, default=True
        Whether an existing file is replaced; if not, a FileExistsError is raised.

    Notes
    -----
    A graph cannot refuse samples: where `encode` raises an error for NaN or infinity, the margins of such a sample are
    NaN and the bits of its code are 0.

    The metadata of the file have the entries `fingerprint`, `n_bits`, `radius`, `classes` (JSON, null where they are
    not known), `hash_function` and `proxcode_version`.

    Examples
    --------
    >>> import tempfile
    >>> import onnxruntime
    >>> from sklearn.datasets import load_digits
    >>> from proxcode import ProximityPreservingCode, export_onnx
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ProximityPreservingCode(n_bits=16, random_state=0).fit(X[:1000], y[:1000])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(model, f"{folder}/digits.onnx")
    ...     session = onnxruntime.InferenceSession(f"{folder}/digits.onnx")
    >>> samples = X[1000:].astype("float32")
    >>> (codes,) = session.run(["codes"], {"X": samples})
    >>> codes.shape, int((codes != model.encode(samples)).sum())
    ((797, 2), 0)
    """
    check_target(path)
    exported = onnx_model(model, dtype=dtype, n_bits=n_bits, outputs=outputs)
    if (size := exported.ByteSize()) > MAX_BYTES:
        raise ValueError(
            f"the graph takes {size:,} bytes, and an ONNX file has at most {MAX_BYTES:,}: fit with fewer landmarks, or "
            "SVMs with fewer samples."
        )
    with atomic_write(path, overwrite=overwrite) as partial:
        partial.write_bytes(exported.SerializeToString())


def onnx_model(
    model: Model, *, dtype: str = "float32", n_bits: int | None = None, outputs: Sequence[str] | None = None
) -> Any:
    """Return a fitted model as an `onnx.ModelProto`; the parameters are those of `export_onnx`."""
    helper = import_onnx().helper
    check_fitted_model(model)
    n_bits = model.n_bits_ if n_bits is None else check_integer("n_bits", n_bits, 1, model.n_bits_)
    if dtype not in DTYPES:
        kind = ValueError if isinstance(dtype, str) else TypeError
        raise kind(f"dtype={dtype!r}: expected 'float32' or 'float64'.")
    graph = Graph()
    hashed = _add_model(graph, model, Samples(graph.cast("X", np.float64), np.dtype(dtype)), n_bits)
    hashed = hashed._replace(margins=_add_refusals(graph, hashed.margins))
    names = _checked_outputs(outputs, hashed)
    n_labels = _n_labels(model)
    n_columns = {"codes": -(-n_bits // 8), "margins": n_bits, "posteriors": n_labels}
    for name in names:
        if name == "codes":
            _add_codes(graph, hashed.margins, n_bits)
        else:
            graph.cast(getattr(hashed, name), dtype, name=name)

    def described(name: str, kind: Any, n_columns: int | None) -> Any:
        element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        return helper.make_tensor_value_info(name, element, ["n", n_columns])

    types = {"codes": np.uint8}
    results = [described(name, types.get(name, dtype), n_columns[name]) for name in names]
    samples = described("X", dtype, model.n_features_in_)
    exported = helper.make_model(
        helper.make_graph(graph.nodes, "proxcode", [samples], results, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="proxcode",
        producer_version=version("proxcode"),
    )
    helper.set_model_props(exported, _metadata(model, n_bits))
    return exported


def _add_model(graph: Graph, model: Model, samples: Samples, n_bits: int) -> Hashed:
    """Add the transformers of a model, and its hash function."""
    code: Any = model
    if isinstance(model, CodePipeline):
        *before, (_, code) = model.steps
        for _, step in before:
            if not is_passed_through(step):
                samples = add_transformer(graph, step, samples)
    if code._unit != 1:
        scaled = graph.add("Mul", samples.name, code._unit)
        samples = samples._replace(name=graph.add("Min", graph.add("Max", scaled, -FAR), FAR))
    return add_hash_function(graph, code.hash_function_, samples, n_bits)


def _add_refusals(graph: Graph, margins: str) -> str:
    """Add NaN to the margins of samples that are not finite, whatever the hash function makes of them."""
    zeros = graph.add("Sub", "X", "X")
    return graph.add("Add", margins, graph.cast(graph.add("ReduceSum", zeros, [1], keepdims=1), np.float64))


def _add_codes(graph: Graph, margins: str, n_bits: int) -> None:
    """Add packed bits, filled up with zeros to whole bytes."""
    bits = graph.cast(graph.add("GreaterOrEqual", margins, 0.0), np.int32)
    n_bytes = -(-n_bits // 8)
    if n_bits < 8 * n_bytes:
        bits = graph.add("Pad", bits, np.array([0, 0, 0, 8 * n_bytes - n_bits]))
    # A size of 0 is that of the input, so that there may be no samples at all.
    by_byte = graph.add("Reshape", bits, np.array([0, n_bytes, 8]))
    values = graph.add("Mul", by_byte, np.array(BIT_VALUES, np.int32))
    graph.cast(graph.add("ReduceSum", values, np.array([2]), keepdims=0), np.uint8, name="codes")


def _checked_outputs(outputs: Sequence[str] | None, hashed: Hashed) -> list[str]:
    """Return the names of the outputs in their order. Raises ValueError for what the model does not have."""
    known = [name for name in OUTPUTS if name != "posteriors" or hashed.posteriors is not None]
    if outputs is None:
        return known
    if isinstance(outputs, str):
        raise TypeError(f"outputs={outputs!r}: expected a list of names, such as [{outputs!r}].")
    chosen = list(outputs)
    if unknown := [name for name in chosen if name not in OUTPUTS]:
        raise ValueError(f"outputs={chosen}: {unknown[0]!r} is none of {', '.join(OUTPUTS)}.")
    if missing := [name for name in chosen if name not in known]:
        raise ValueError(f"outputs={chosen}: this model has no {missing[0]}; choose among {', '.join(known)}.")
    if not chosen:
        raise ValueError(f"outputs={chosen}: expected at least one of {', '.join(known)}.")
    return [name for name in known if name in chosen]


def _n_labels(model: Model) -> int | None:
    offset = getattr(getattr(model.hash_function_, "posteriors_", None), "offset", None)
    return None if offset is None else len(offset)


def _metadata(model: Model, n_bits: int) -> dict[str, str]:
    """Return what a program needs to know of a code beside the graph."""
    n_labels, classes = _n_labels(model), getattr(model.proximity_, "classes_", None)
    return {
        "fingerprint": model.fingerprint(n_bits),
        "n_bits": str(n_bits),
        "radius": str(model.history_[n_bits - 1].radius),
        "classes": json.dumps(classes if classes and len(classes) == n_labels else None),
        "hash_function": type(model.hash_function_).__name__,
        "proxcode_version": version("proxcode"),
    }


def import_onnx(package: str = "onnx") -> Any:
    """Import a package of the extra `onnx`."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"ONNX requires {package}: pip install 'proxcode[onnx]'.") from error
