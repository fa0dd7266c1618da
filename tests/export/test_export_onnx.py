"""Graphs of ONNX give the codes, margins and posteriors of their models."""

from functools import cache

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from sklearn.datasets import load_digits

from helpers.onnx_graphs import check_bits, run_graph
from proxcode import (
    GivenPairs,
    KernelHash,
    LinearHash,
    NewClassHash,
    ProximityPreservingCode,
    RotationHash,
    SharedLabel,
    SVMHash,
    WithinRadius,
)
from proxcode.export import onnx_model
from proxcode.hashing.svm_training import KernelMachine

N_BITS = 9
X, y = load_digits(return_X_y=True)
X_NEW, Y_NEW = X[300:600], y[300:600]
X, y = X[:300], y[:300]
SETS = np.column_stack([y % 2 == 0, y % 3 == 0, y > 4])
KERNEL = KernelHash(n_landmarks=80)
PAIRS = np.argwhere((y[:120, None] == y[:120]) & (np.arange(120)[:, None] < np.arange(120)))
RADIUS = WithinRadius(mean_neighbors=10)

# Hash function, y, proximity.
MODELS = {
    "kernel with labels": (KERNEL, y, None),
    "kernel with label sets": (KERNEL, SETS, SharedLabel()),
    "kernel with labels and without posteriors": (KernelHash(n_landmarks=80, refine_steps=0), y, None),
    "kernel with a radius": (KERNEL, None, RADIUS),
    "kernel with near pairs": (KERNEL, None, GivenPairs(PAIRS)),
    "linear with labels": (LinearHash(), y, None),
    "linear with label sets": (LinearHash(), SETS, SharedLabel()),
    "linear with a radius": (LinearHash(), None, RADIUS),
    "linear with near pairs": (LinearHash(), None, GivenPairs(PAIRS)),
    "SVMs with labels": (SVMHash(), y, None),
    "SVMs with a radius": (SVMHash(), None, RADIUS),
    "rotation": (RotationHash(gamma=0.0, n_rotations=5), None, None),
    "rotation with a kernel": (RotationHash(80, gamma=1e-3, n_rotations=5), None, None),
    "new classes": (NewClassHash(), y, None),
}
WITH_POSTERIORS = [name for name in MODELS if name.endswith(("with labels", "sets")) and not name.startswith("SVM")]


@cache
def fitted(name, dtype="float64"):
    function, labels, proximity = MODELS[name]
    model = ProximityPreservingCode(N_BITS, hash_function=function, proximity=proximity, random_state=0)
    return model.fit(X.astype(dtype), labels)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("model_type", ["float32", "float64"])
def test_codes_and_margins_are_those_of_the_model(name, model_type):
    model = fitted(name, model_type)
    # A map of samples in single precision rounds its results.
    is_rounded = name == "new classes" and model_type == "float32"
    for dtype in ("float32", "float64"):
        samples = X_NEW.astype(dtype)
        found = run_graph(model, samples)
        check_bits(found, model, samples, tolerance=1e-5 if is_rounded else 1e-9)
        assert list(found) == ["codes", "margins", *(["posteriors"] if name in WITH_POSTERIORS else [])]
        if dtype == "float32":
            check_precision(found["margins"], model.scores(samples.astype(np.float64)), model_type)


def check_precision(margins, exact, model_type):
    """Compare margins of samples in single precision with those computed in double precision."""
    # They are rounded at last; gamma, and samples that a class map has reshaped, are so by the model too.
    tolerance = 1e-6 if model_type == "float64" else 1e-5
    np.testing.assert_allclose(margins, exact, rtol=tolerance, atol=tolerance * np.median(np.abs(exact)))


@pytest.mark.parametrize("name", ["kernel with labels", "linear with a radius", "SVMs with labels", "rotation"])
@pytest.mark.parametrize("n_bits", [1, 7, 8])
def test_a_prefix_of_the_code(name, n_bits):
    model = fitted(name)
    found = run_graph(model, X_NEW, n_bits=n_bits)
    check_bits(found, model, X_NEW, n_bits)
    np.testing.assert_array_equal(found["codes"], np.packbits(found["margins"] >= 0, axis=1))


def test_long_codes():
    model = ProximityPreservingCode(65, hash_function=LinearHash(refine_steps=0), random_state=0).fit(X, y)
    for n_bits in (64, 65):
        np.testing.assert_array_equal(run_graph(model, X_NEW, n_bits=n_bits)["codes"], model.encode(X_NEW, n_bits))


@pytest.mark.parametrize("name", MODELS)
def test_no_sample_and_one_sample(name):
    model, one = fitted(name), X_NEW[:1].astype(np.float32)
    check_bits(run_graph(model, one), model, one)
    none = run_graph(model, one[:0])
    assert (none["codes"].shape, none["margins"].shape) == ((0, 2), (0, N_BITS))


@pytest.mark.parametrize("name", WITH_POSTERIORS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_posteriors_are_those_of_the_labels(name, dtype):
    model = fitted(name)
    found = run_graph(model, X_NEW.astype(dtype))["posteriors"]
    function = model.hash_function_
    expected = function.posteriors_.probabilities(function.label_scores(X_NEW))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)


def test_posteriors_are_in_the_order_of_the_classes():
    names = np.array([f"digit {9 - digit}" for digit in range(10)])
    model = ProximityPreservingCode(8, hash_function=KERNEL, random_state=0).fit(X, names[y])
    found = run_graph(model, X_NEW, outputs=["posteriors"])
    assert list(found) == ["posteriors"]
    classes = np.array(model.proximity_.classes_)
    assert (classes[found["posteriors"].argmax(axis=1)] == names[Y_NEW]).mean() > 0.8


@pytest.mark.parametrize("name", MODELS)
def test_samples_that_are_not_finite_have_no_margins_and_no_bits(name):
    samples = X_NEW[:5].astype(np.float32)
    samples[[1, 2, 3], 5] = np.nan, np.inf, -np.inf
    model = fitted(name)
    found = run_graph(model, samples)
    assert np.isnan(found["margins"]).all(axis=1).tolist() == [False, True, True, True, False]
    assert not found["codes"][1:4].any()
    np.testing.assert_array_equal(found["codes"][::4], model.encode(samples[::4]))


@pytest.mark.parametrize("name", MODELS)
def test_graphs_are_valid_and_use_common_operators(name):
    exported = onnx_model(fitted(name))
    onnx.checker.check_model(exported, full_check=True)
    assert [(opset.domain, opset.version) for opset in exported.opset_import] == [("", 17)]
    assert exported.ir_version == 8
    used = {node.op_type for node in exported.graph.node}
    common = {"Cast", "Add", "Sub", "Mul", "Div", "MatMul", "Exp", "Min", "Max", "Softmax", "Sigmoid", "Pad", "Reshape"}
    common |= {"ReduceSum", "ReduceSumSquare", "ReduceL2", "GreaterOrEqual", "Less", "Where"}
    assert used <= common
    shapes = {
        value.name: [size.dim_param or size.dim_value for size in value.type.tensor_type.shape.dim]
        for value in (*exported.graph.input, *exported.graph.output)
    }
    n_labels = SETS.shape[1] if "sets" in name else 10
    expected = {"X": ["n", 64], "codes": ["n", 2], "margins": ["n", N_BITS], "posteriors": ["n", n_labels]}
    assert shapes == {output: expected[output] for output in shapes}


@pytest.mark.parametrize("name", ["kernel with labels", "SVMs with labels", "linear with label sets", "new classes"])
def test_another_runtime_gives_the_same_codes(name):
    model = fitted(name)
    evaluator = ReferenceEvaluator(onnx_model(model, dtype="float64"))
    codes, margins = evaluator.run(["codes", "margins"], {"X": X_NEW})
    check_bits({"codes": codes, "margins": margins}, model, X_NEW)


@pytest.mark.parametrize("function", [KERNEL, LinearHash(), SVMHash(), RotationHash(n_rotations=5)], ids=repr)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_samples_far_from_the_origin(function, dtype):
    far = X.astype(dtype) + 10_000
    labels = None if isinstance(function, RotationHash) else y
    model = ProximityPreservingCode(N_BITS, hash_function=function, random_state=0).fit(far, labels)
    samples = X_NEW.astype(dtype) + 10_000
    check_bits(run_graph(model, samples), model, samples)


@pytest.mark.parametrize("scale", [2.0**60, 2.0**-60])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_samples_that_are_encoded_in_another_unit(scale, dtype):
    model = ProximityPreservingCode(N_BITS, hash_function=KERNEL, random_state=0).fit(X * scale, y)
    assert model._unit != 1
    samples = (X_NEW * scale).astype(dtype)
    # As far as single precision goes, and beyond what can be squared.
    samples[0] *= samples.dtype.type(1e15)
    check_bits(run_graph(model, samples), model, samples)


def test_svms_with_different_kernels_and_constant_bits():
    model = ProximityPreservingCode(3, hash_function=SVMHash(), random_state=0).fit(X, y)
    function = model.hash_function_
    first, second, _ = function.classifiers_
    constant = KernelMachine(first.support[:0], first.dual_coef[:0], intercept=-1.0, gamma=first.gamma)
    function.classifiers_ = [first, second._replace(gamma=second.gamma * 3), constant]
    found = run_graph(model, X_NEW)
    check_bits(found, model, X_NEW)
    assert (found["margins"][:, 2] == -1).all()


def test_svms_without_support_vectors():
    model = ProximityPreservingCode(2, hash_function=SVMHash(), random_state=0).fit(X, y)
    function = model.hash_function_
    function.support_, function.support_vectors_ = function.support_[:0], function.support_vectors_[:0]
    nothing = np.empty(0, np.int64), np.empty(0)
    function.classifiers_ = [KernelMachine(*nothing, intercept, 1.0) for intercept in (0.5, -0.5)]
    found = run_graph(model, X_NEW)
    assert (found["codes"] == 128).all()
    np.testing.assert_array_equal(found["margins"], model.scores(X_NEW))


def test_a_map_of_samples_that_labels_reshape():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 40)
    samples = rng.normal(size=(12, 5))[labels] @ rng.normal(size=(5, 30)) + rng.normal(size=(480, 30)) * 3
    model = ProximityPreservingCode(16, hash_function=NewClassHash(), random_state=0).fit(samples, labels)
    assert not model.hash_function_.class_map_.is_plain
    new = np.vstack([rng.normal(size=(200, 30)) * 3, model.hash_function_.class_map_.mean])
    found = run_graph(model, new[:-1])
    check_bits(found, model, new[:-1])
    # The mean of the samples has no direction: it is not divided by its length.
    assert np.isfinite(run_graph(model, new)["margins"]).all()


def test_updated_models():
    known = y < 8
    model = ProximityPreservingCode(N_BITS, hash_function=KERNEL, random_state=0).fit(X[known], y[known])
    model.update(X[~known], y[~known])
    found = run_graph(model, X_NEW)
    check_bits(found, model, X_NEW)
    classes = np.array(model.proximity_.classes_)
    assert sorted(classes) == list(range(10))
    assert (classes[found["posteriors"].argmax(axis=1)] == Y_NEW).mean() > 0.8


def test_arrays_in_single_precision_take_half_the_bytes():
    sizes = {dtype: onnx_model(fitted("kernel with a radius", dtype)).ByteSize() for dtype in ("float32", "float64")}
    assert sizes["float64"] - sizes["float32"] > 0.9 * 4 * 80 * 64


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_real_images(dtype, mnist):
    samples, labels, new, _ = mnist
    model = ProximityPreservingCode(64, random_state=0).fit(samples[:2000].astype(dtype), labels[:2000])
    check_bits(run_graph(model, new.astype(dtype)), model, new.astype(dtype))
