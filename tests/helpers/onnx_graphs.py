"""ONNX graphs of models, run by onnxruntime."""

import numpy as np
import onnxruntime

from proxcode.export import onnx_model


def run_graph(model, samples, **options):
    """Export a model, for samples of this type unless `dtype` is given; return the outputs by name."""
    exported = onnx_model(model, **{"dtype": str(samples.dtype), **options})
    session = onnxruntime.InferenceSession(exported.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": samples}), strict=True))


def check_bits(found, model, samples, n_bits=None, tolerance=1e-9):
    """Compare the outputs of a graph with `encode` and `scores` of the same samples.

    `tolerance` is that of margins of samples in double precision, relative to their size and to their median.
    """
    margins, codes = model.scores(samples, n_bits), model.encode(samples, n_bits)
    unit = np.median(np.abs(margins))
    assert found["codes"].dtype == np.uint8
    assert found["codes"].shape == codes.shape
    assert found["margins"].dtype == samples.dtype
    differs = np.unpackbits(found["codes"] ^ codes, axis=1)
    assert not differs[:, margins.shape[1] :].any()
    assert not differs[:, : margins.shape[1]][np.abs(margins) > 1e-4 * unit].any()
    # `scores` rounds too, where the samples are in single precision.
    tolerance = tolerance if samples.dtype == np.float64 else 1e-3
    np.testing.assert_allclose(found["margins"], margins, rtol=tolerance, atol=tolerance * unit)
