"""Codes of an ONNX file beside those of its model: which bits differ, and at which margins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.export.onnx_file import import_onnx
from proxcode.hamming import unpack
from proxcode.pipeline import Model, check_fitted_model
from proxcode.storage.atomic import FilePath

# Samples that are encoded at a time, and evenly spaced samples at most whose margins enter the median.
BLOCK, MAX_MEDIAN = 8192, 20_000
TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64}


@dataclass(frozen=True)
class DifferingBits:
    """Bits in which the codes of an ONNX file differ from those of its model.

    Attributes
    ----------
    n_samples, n_bits : int
        Number of samples that were compared, and the code length.
    margins : ndarray of shape (n_differing,)
        Absolute margins that the model gives these bits, the largest first.
    median : float
        Median absolute margin of all bits, over at most 20,000 evenly spaced samples.
    """

    n_samples: int
    n_bits: int
    margins: NDArray[np.float64]
    median: float

    @property
    def largest(self) -> float:
        """Largest margin of a differing bit, as a multiple of the median; 0 where no bit differs."""
        return float(self.margins.max(initial=0.0)) / (self.median or 1.0)


def differing_bits(model: Model, path: FilePath, X: NDArray[Any]) -> DifferingBits:
    """Compare the codes of an ONNX file that `export_onnx` wrote with those of `encode`.

    Parameters
    ----------
    model : ProximityPreservingCode or CodePipeline
        The model that was exported.
    path : path
    X : ndarray of shape (n_samples, n_features)
        The file gets the samples in its own precision, the model as they are.

    Returns
    -------
    DifferingBits

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_digits
    >>> from proxcode import ProximityPreservingCode, export_onnx
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ProximityPreservingCode(n_bits=16, random_state=0).fit(X[:1000], y[:1000])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(model, f"{folder}/digits.onnx")
    ...     found = differing_bits(model, f"{folder}/digits.onnx", X[1000:])
    >>> found.n_samples, found.margins, found.largest
    (797, array([], dtype=float64), 0.0)
    """
    check_fitted_model(model)
    session = import_onnx("onnxruntime").InferenceSession(path)
    metadata = session.get_modelmeta().custom_metadata_map
    n_bits = int(metadata.get("n_bits", 0))
    if not 1 <= n_bits <= model.n_bits_ or metadata.get("fingerprint") != model.fingerprint(n_bits):
        raise ValueError(f"{path} was not exported from this model: export it again.")
    if "codes" not in [output.name for output in session.get_outputs()]:
        raise ValueError(f"{path} has no output codes to compare: export it with this output.")
    dtype = TYPES[session.get_inputs()[0].type]
    every = max(1, -(-len(X) // MAX_MEDIAN))
    spaced, differing = [np.empty((0, n_bits))], [np.empty(0)]
    for start in range(0, len(X), BLOCK):
        block = X[start : start + BLOCK]
        # First, since the model says in a sentence what is wrong with samples.
        margins = np.abs(model.scores(block, n_bits))
        (codes,) = session.run(["codes"], {"X": np.ascontiguousarray(block, dtype)})
        differing.append(margins[unpack(codes, n_bits) != unpack(model.encode(block, n_bits), n_bits)])
        # A copy: a view would keep the margins of all samples in memory.
        spaced.append(margins[-start % every :: every].copy())
    median = float(np.median(np.concatenate(spaced))) if len(X) else 0.0
    return DifferingBits(len(X), n_bits, np.sort(np.concatenate(differing))[::-1], median)
