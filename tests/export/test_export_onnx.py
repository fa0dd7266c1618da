"""Codes of ONNX graphs are those of `encode`."""

import numpy as np
import onnx
import onnxruntime
import pytest

from proxcode import KernelHash, ProximityPreservingCode, export_onnx


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_codes_of_a_kernel_hash_are_those_of_encode(digits, dtype, tmp_path):
    X, y = digits
    model = ProximityPreservingCode(64, hash_function=KernelHash(), random_state=0).fit(X[:1000], y[:1000])
    export_onnx(model, tmp_path / "digits.onnx", dtype=dtype)
    onnx.checker.check_model(str(tmp_path / "digits.onnx"), full_check=True)
    session = onnxruntime.InferenceSession(tmp_path / "digits.onnx")
    samples = X.astype(dtype)
    codes, margins, _ = session.run(None, {"X": samples})
    np.testing.assert_array_equal(codes, model.encode(samples))
    np.testing.assert_allclose(margins, model.scores(samples), rtol=1e-5, atol=1e-4)
