"""Golden model files: those of every format stay readable, and their models can be extended."""

import ast
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

import proxcode
from golden.make import FOLDER, new_models, new_pipelines, new_samples, training_data
from helpers.processor import blas_architecture
from proxcode import KernelHash, LinearHash, ProximityPreservingCode, SameLabel, SVMHash, WithinRadius, unpack
from proxcode.model.saving import _upgraded
from proxcode.storage.container import read_file

PIPELINES = sorted(FOLDER.glob("pipeline_*.proxcode"))
FILES = sorted(set(FOLDER.glob("*.proxcode")) - set(PIPELINES))
# What the parameters of files of format 1 with `coupling` and `cut_points` are upgraded to.
UPGRADED = {
    "kernel_coupling": {"hash_function": KernelHash(n_landmarks=24, refine_steps=3), "max_samples": 150},
    "linear_uncoupled": {"hash_function": LinearHash(refine_steps=0)},
    "default_uncoupled": {"hash_function": KernelHash(refine_steps=0)},
    "svm_uncoupled": {"hash_function": SVMHash(), "error_correction": False},
}
# The architecture of BLAS that the golden files were made on: elsewhere fits agree up to rounding.
ARCHITECTURE = "SkylakeX, SkylakeX"


def expected_model(name):
    """Return the model of a golden file, with the parameters of the present version, not fitted."""
    model = new_models().get(name)
    if name in UPGRADED:
        model = ProximityPreservingCode(n_bits=12, random_state=0, **UPGRADED[name])
    # In all golden files -1 is a label.
    return model.set_params(proximity=SameLabel(unlabelled=None)) if model.proximity is None else model


def name_of(file):
    return file.stem.rpartition("_")[0]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_golden_files_stay_readable(file):
    model = ProximityPreservingCode.load(file)
    assert np.isnan(model.training_loss_)
    scores, codes = model.scores(new_samples()), np.load(file.with_suffix(".npy"))
    is_certain = np.abs(scores) > 1e-6
    np.testing.assert_array_equal((scores >= 0)[is_certain], unpack(codes, model.n_bits_)[is_certain])
    assert is_certain.mean() > 0.99
    if blas_architecture() == ARCHITECTURE:
        np.testing.assert_array_equal(model.encode(new_samples()), codes)


@pytest.mark.parametrize("file", PIPELINES, ids=lambda file: file.stem)
def test_golden_pipelines_stay_readable(file):
    pipeline, expected = proxcode.load(file), new_pipelines()[name_of(file)]
    assert repr(pipeline) == repr(expected)
    scores, codes = pipeline.scores(new_samples()), np.load(file.with_suffix(".npy"))
    is_certain = np.abs(scores) > 1e-6
    np.testing.assert_array_equal((scores >= 0)[is_certain], unpack(codes, 12)[is_certain])
    assert is_certain.mean() > 0.99
    X, y = training_data(name_of(file))
    np.testing.assert_allclose(pipeline.preprocess(X), expected.fit(X, y).preprocess(X), atol=1e-9)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_parameters_are_those_of_the_present_version(file):
    model, expected = ProximityPreservingCode.load(file), expected_model(name_of(file))
    assert repr(model.get_params()) == repr(expected.get_params())
    assert repr(clone(model).get_params()) == repr(expected.get_params())
    fitted = model.hash_function_.get_params()
    assert fitted == (expected.hash_function or KernelHash()).get_params()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_loaded_models_extend_with_their_training_data(file):
    X, y = training_data(name_of(file))
    model = ProximityPreservingCode.load(file)
    before = model.encode(new_samples())
    model.extend(16, X, y)
    assert (model.n_bits, model.n_bits_, len(model.history_)) == (12, 16, 16)
    np.testing.assert_array_equal(model.encode(new_samples(), n_bits=12), before)
    if blas_architecture() == ARCHITECTURE:
        long = expected_model(name_of(file)).set_params(n_bits=16).fit(X, y)
        np.testing.assert_array_equal(model.codes_, long.codes_)
        np.testing.assert_array_equal(model.encode(new_samples()), long.encode(new_samples()))
        # Some files of format 1 were made on another machine: the last digits of their thresholds differ.
        # They do not hold the last two figures before the seconds, and their losses allow for "nothing is near".
        names = ("alpha", "logistic_loss", "flips", "sweeps", "hash_accuracy")
        histories = [
            [[getattr(record, name) for name in names] for record in fitted.history_] for fitted in (model, long)
        ]
        np.testing.assert_allclose(*histories, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_loaded_models_refuse_other_training_data(file):
    X, y = training_data(name_of(file))
    with pytest.raises(ValueError, match="X differs from the samples of the original fit"):
        ProximityPreservingCode.load(file).extend(16, X[::-1], y)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_golden_files_are_checkpoints(file, tmp_path):
    X, y = training_data(name_of(file))
    checkpoint = shutil.copy(file, tmp_path / "fit.proxcode")
    resumed = expected_model(name_of(file)).set_params(n_bits=14).fit(X, y, checkpoint=checkpoint)
    assert resumed.n_bits_ == 14
    np.testing.assert_array_equal(resumed.encode(new_samples(), n_bits=12), np.load(file.with_suffix(".npy")))
    with pytest.raises(ValueError, match="belongs to a fit with a different max_samples"):
        expected_model(name_of(file)).set_params(n_bits=15, max_samples=33).fit(X, y, checkpoint=checkpoint)


@pytest.mark.parametrize("number", [1, 2])
def test_a_fit_without_labels_was_within_a_radius(number, tmp_path):
    """Files of earlier versions hold `proximity=None`, which now stands for another proximity."""
    file = FOLDER / f"kernel_radius_{number}.proxcode"
    assert read_file(file, "model").content["parameters"]["proximity"] is None
    X, _ = training_data("kernel_radius")
    model = ProximityPreservingCode.load(file)
    assert repr(model.proximity) == "WithinRadius()"
    assert model.proximity_.radius_ == WithinRadius().fit(X).radius_
    np.testing.assert_array_equal(clone(model).fit(X).codes_, model.codes_)
    model.extend(13, X).save(tmp_path / "longer.proxcode")
    assert ProximityPreservingCode.load(tmp_path / "longer.proxcode").extend(14, X).n_bits_ == 14
    checkpoint = shutil.copy(file, tmp_path / "fit.proxcode")
    with pytest.raises(ValueError, match="belongs to a fit with a different proximity"):
        model.set_params(proximity=None).fit(X, checkpoint=checkpoint)


@pytest.mark.parametrize("number", [1, 2])
def test_minus_one_was_a_class(number, tmp_path):
    """Files of earlier versions hold `proximity=None` and `SameLabel(unlabelled=None)`, no longer the default."""
    file = FOLDER / f"kernel_labels_{number}.proxcode"
    assert read_file(file, "model").content["parameters"]["proximity"] is None
    X, y = training_data("kernel_labels")
    model = ProximityPreservingCode.load(file)
    assert (repr(model.proximity), repr(model.proximity_)) == (2 * ("SameLabel(unlabelled=None)",))
    # The digits 0 are -1: to this model they are a class as before.
    renamed = np.where(y == 0, -1, y)
    assert model.score(X, renamed) == model.score(X, y)
    np.testing.assert_array_equal(clone(model).fit(X, renamed).codes_, clone(model).fit(X, y).codes_)
    model.extend(13, X, renamed).save(tmp_path / "longer.proxcode")
    assert ProximityPreservingCode.load(tmp_path / "longer.proxcode").proximity_.unlabelled is None
    checkpoint = shutil.copy(file, tmp_path / "fit.proxcode")
    with pytest.raises(ValueError, match="belongs to a fit with a different proximity"):
        model.set_params(proximity=None).fit(X, y, checkpoint=checkpoint)


def test_a_model_of_format_1_is_saved_in_the_present_format(tmp_path):
    path = tmp_path / "model.proxcode"
    model = ProximityPreservingCode.load(FOLDER / "kernel_coupling_1.proxcode")
    model.save(path)
    parameters = read_file(path, "model").content["parameters"]
    assert "coupling" not in parameters
    assert "cut_points" not in parameters
    assert repr(ProximityPreservingCode.load(path)) == repr(model)


def test_a_classifier_without_a_truth_value_is_upgraded():
    forest = RandomForestClassifier(3)
    parameters = {"proximity": None, "hash_function": forest, "coupling": 0, "cut_points": None}
    upgraded = {"proximity": None, "hash_function": forest, "max_samples": None}
    assert _upgraded(parameters, SameLabel(), LinearHash()) == upgraded


def test_golden_files_of_all_formats_exist_and_are_small():
    names = {number: {name_of(file) for file in FILES if file.stem.endswith(f"_{number}")} for number in (1, 2)}
    assert names == {1: {"kernel_labels", "kernel_radius", "linear", "svm", *UPGRADED}, 2: set(new_models())}
    assert len(FILES) == 13
    assert all(file.stat().st_size < 50_000 for file in FILES)


def test_nothing_but_engines_imports_pickle():
    unsafe = {"pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve"}
    package = Path(proxcode.__file__).parent
    # Engines send functions to the workers of the user's own cluster; no file is read by pickle.
    for file in set(package.rglob("*.py")) - set((package / "engines").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not unsafe & {name.split(".")[0] for name in names}, file
