"""A pipeline is exported as one graph, with the transformers before its code."""

import numpy as np
import onnx
import pandas as pd
import pytest
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from helpers.onnx_graphs import check_bits, run_graph
from helpers.pipelines import pipeline_of
from proxcode import KernelHash, export_onnx
from proxcode.export import onnx_model

PIPELINES = {
    "standard": [StandardScaler()],
    "mean alone": [StandardScaler(with_std=False)],
    "deviation alone": [StandardScaler(with_mean=False)],
    "min max": [MinMaxScaler()],
    "clipped": [MinMaxScaler(feature_range=(-2, 3), clip=True)],
    "l2": [Normalizer()],
    "l1": [Normalizer("l1")],
    "max": [Normalizer("max")],
    "PCA": [PCA(12, random_state=0)],
    "whitened": [PCA(12, whiten=True, random_state=0)],
    "SVD": [TruncatedSVD(12, random_state=0)],
    "passed through": ["passthrough"],
    "several": [StandardScaler(), PCA(20, random_state=0), "passthrough", Normalizer()],
}


@pytest.fixture(scope="module")
def samples(digits):
    return digits[0][:300], digits[1][:300]


@pytest.fixture(scope="module")
def new(digits):
    """Samples that were not in the fit, one of zeros and one beyond the range of the others."""
    X = digits[0][300:600].copy()
    X[7], X[8] = 0, 100
    return X


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("model_type", ["float32", "float64"])
def test_codes_are_those_of_the_pipeline(name, model_type, samples, new):
    model = pipeline_of(*PIPELINES[name]).fit(samples[0].astype(model_type), samples[1])
    for dtype in ("float32", "float64"):
        check_bits(run_graph(model, new.astype(dtype)), model, new.astype(dtype))
    assert onnx_model(model).graph.input[0].type.tensor_type.shape.dim[1].dim_value == 64


def test_samples_with_names_of_features(samples, new, recwarn):
    X, y = samples
    names = [f"pixel {number}" for number in range(64)]
    model = pipeline_of(StandardScaler(), PCA(8, random_state=0)).fit(pd.DataFrame(X, columns=names), y)
    named = pd.DataFrame(new, columns=names)
    np.testing.assert_array_equal(run_graph(model, new)["codes"], model.encode(named))
    assert not recwarn.list


def test_posteriors_and_metadata_are_those_of_the_code(samples, new):
    X, y = samples
    model = pipeline_of(StandardScaler(), hash_function=KernelHash(n_landmarks=80)).fit(X, y)
    found = run_graph(model, new)
    check_bits(found, model, new)
    function = model.hash_function_
    expected = function.posteriors_.probabilities(function.label_scores(model.preprocess(new)))
    np.testing.assert_allclose(found["posteriors"], expected, rtol=1e-6, atol=1e-9)
    metadata = {entry.key: entry.value for entry in onnx_model(model).metadata_props}
    assert metadata["fingerprint"] == model.fingerprint() != model[-1].fingerprint()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_samples_of_tiny_norm_are_left_as_they_are_by_a_normalizer(dtype, norm, samples):
    X, y = samples
    model = pipeline_of(Normalizer(norm)).fit(X, y)
    tiny = np.outer([0, 0.5, 0.9, 1.1, 100], X[0] / np.linalg.norm(X[0], {"l1": 1, "l2": 2, "max": np.inf}[norm]))
    tiny = (tiny * 10 * np.finfo(dtype).eps).astype(dtype)
    check_bits(run_graph(model, tiny), model, tiny)


def test_graphs_of_pipelines_are_valid(samples, tmp_path):
    model = pipeline_of(*PIPELINES["several"]).fit(*samples)
    export_onnx(model, tmp_path / "m.onnx")
    onnx.checker.check_model(str(tmp_path / "m.onnx"), full_check=True)


def test_other_transformers_are_refused(samples):
    model = pipeline_of(StandardScaler(), RobustScaler()).fit(*samples)
    with pytest.raises(
        TypeError,
        match=r"^the transformer RobustScaler cannot be exported to ONNX, only StandardScaler, MinMaxScaler, "
        r"Normalizer, PCA, TruncatedSVD: transform samples before the graph, and export the last step alone\.$",
    ):
        onnx_model(model)
    onnx_model(model[-1])
