"""Model files: what was saved comes back, and nothing else does."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from proxcode import (
    ClassifierHash,
    GivenPairs,
    KernelHash,
    LinearHash,
    ProximityPreservingCode,
    SameLabel,
    SharedLabel,
    SVMHash,
    WithinRadius,
)
from proxcode.cut import (
    AlonNaorGuess,
    Annealing,
    BilinearGuess,
    BitUpdate,
    ProjectionGuess,
    Restarts,
    TruncatedRounding,
    VectorUpdate,
)
from proxcode.model.saving import component_classes
from proxcode.storage.components import ComponentReader, ComponentWriter
from proxcode.storage.container import read_file
from proxcode.threshold import CalibratedThreshold, EqualErrorThreshold, Threshold
from proxcode.weights import GradientWeights

PUBLIC = ("n_bits_", "alpha_", "radius_", "training_loss_", "n_features_in_")


@pytest.fixture(scope="module")
def samples(digits):
    X, y = digits
    return X[:200], y[:200]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.proxcode"


def fit(X, y=None, **parameters):
    return ProximityPreservingCode(**{"n_bits": 10, "random_state": 0, **parameters}).fit(X, y)


def saved(model, path, **load):
    model.save(path)
    return ProximityPreservingCode.load(path, **load)


def assert_same(loaded, model, X):
    assert [getattr(loaded, name) for name in PUBLIC] == [getattr(model, name) for name in PUBLIC]
    assert [record[:-1] for record in loaded.history_] == [record[:-1] for record in model.history_]
    assert all(np.isnan(record.seconds) for record in loaded.history_)
    np.testing.assert_array_equal(loaded.scores(X), model.scores(X))
    np.testing.assert_array_equal(loaded.codes_, model.codes_)
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


def test_a_file_without_a_training_loss_is_read_and_saved_again(samples, path):
    model = fit(*samples, n_bits=3)
    model.training_loss_ = float("nan")
    loaded = saved(saved(model, path), path)
    assert np.isnan(loaded.training_loss_)
    assert not np.isnan(loaded.extend(4, *samples).training_loss_)


HASHES = [None, KernelHash(n_landmarks=50, gamma=1e-3), LinearHash(ridge=0.01), SVMHash(), SVMHash(max_samples=40)]


@pytest.mark.parametrize("hash_function", HASHES, ids=repr)
@pytest.mark.parametrize("by_labels", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_loaded_model_is_the_saved_one(hash_function, by_labels, dtype, samples, new, path):
    X, y = samples[0].astype(dtype), samples[1] if by_labels else None
    # Without labels, None stands for Nearest and its hash function.
    proximity = None if by_labels or hash_function is None else WithinRadius()
    model = fit(X, y, proximity=proximity, hash_function=hash_function)
    loaded = saved(model, path)
    assert_same(loaded, model, new[0].astype(dtype))
    assert repr(loaded) == repr(model)
    assert repr(clone(loaded)) == repr(clone(model))
    assert loaded.score(*new) == model.score(*new)


@pytest.mark.parametrize("hash_function", [KernelHash(n_landmarks=40), LinearHash(), SVMHash()], ids=repr)
@pytest.mark.parametrize("error_correction", [True, False])
@pytest.mark.parametrize("by_labels", [True, False])
def test_extending_a_loaded_model_gives_the_file_of_a_longer_fit(
    hash_function, error_correction, by_labels, samples, path
):
    X, y = samples[0], samples[1] if by_labels else None
    proximity = None if by_labels else WithinRadius()
    parameters = {"proximity": proximity, "hash_function": hash_function, "error_correction": error_correction}
    loaded = saved(fit(X, y, n_bits=5, **parameters), path)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'X'"):
        loaded.extend(11)
    loaded.extend(11, X, y)
    assert (loaded.n_bits, loaded.n_bits_) == (5, 11)
    loaded.set_params(n_bits=11).save(path)
    long = path.with_name("long")
    fit(X, y, n_bits=11, **parameters).save(long)
    assert path.read_bytes() == long.read_bytes()


@pytest.mark.parametrize(
    "parameters",
    [
        {"hash_function": SVMHash()},
        {"hash_function": KernelHash(refine_steps=0)},
        {"error_correction": False},
        {"hash_function": LinearHash()},
    ],
    ids=repr,
)
def test_other_training_data_are_refused(parameters, samples, path):
    X, y = samples
    loaded = saved(fit(X, y, n_bits=5, **parameters), path)
    with pytest.raises(ValueError, match="X differs from the samples of the original fit; pass the same"):
        loaded.extend(6, X[::-1], y)
    for other in (y[::-1], y % 3):
        with pytest.raises(ValueError, match="y differs from the labels of the original fit; pass the same"):
            loaded.extend(6, X, other)
    with pytest.raises(ValueError, match="y=None: SameLabel needs labels"):
        loaded.extend(6, X)
    assert loaded.n_bits == loaded.n_bits_ == 5
    assert loaded.extend(6, X, [f"digit {label}" for label in y]).n_bits_ == 6


def test_training_data_in_single_precision_are_the_same_up_to_rounding(samples, path):
    X, y = samples[0] / 3, samples[1]
    assert saved(fit(X, y, n_bits=5), path).extend(6, X.astype(np.float32), y).n_bits_ == 6


def test_rounded_training_data_are_refused_where_codes_are_the_cuts(samples, path):
    X, y = samples[0] / 3, samples[1]
    loaded = saved(fit(X, y, n_bits=5, error_correction=False), path)
    with pytest.raises(ValueError, match="X differs from the samples of the original fit"):
        loaded.extend(6, X.astype(np.float32), y)


def test_coefficients_are_the_same_across_panels_of_bits(samples, path, monkeypatch):
    monkeypatch.setattr("proxcode.hashing.ridge.BIT_PANEL", 4)
    X, hash_function = samples[0], KernelHash(n_landmarks=40)
    long = fit(X, n_bits=13, hash_function=hash_function)
    for n_bits in (3, 4, 9):
        grown = saved(fit(X, n_bits=n_bits, hash_function=hash_function), path).extend(13, X)
        np.testing.assert_array_equal(grown.hash_function_.coef_, long.hash_function_.coef_)
        np.testing.assert_array_equal(grown.hash_function_.intercept_, long.hash_function_.intercept_)


def test_equal_fits_give_equal_files_and_a_loaded_model_the_same_file_again(samples, path):
    again = path.with_name("again")
    fit(*samples).save(path)
    fit(*samples).save(again)
    assert path.read_bytes() == again.read_bytes()
    ProximityPreservingCode.load(path).save(again)
    assert path.read_bytes() == again.read_bytes()


PAIRS = np.array([[i, j, 1 if i % 3 == j % 3 else -1] for i in range(30) for j in range(i)])
MATRIX = sp.coo_array((PAIRS[:, 2], (PAIRS[:, 0], PAIRS[:, 1])), shape=(200, 200))


@pytest.mark.parametrize(
    "proximity",
    [
        SameLabel(unlabelled=3),
        SameLabel(unlabelled=("a", 1)),
        SharedLabel(),
        WithinRadius(),
        WithinRadius(radius=np.float64(180.0), metric="manhattan"),
        WithinRadius(metric="seuclidean", metric_params={"V": np.arange(1.0, 65.0)}),
        GivenPairs(PAIRS),
        GivenPairs(PAIRS.tolist(), others="far"),
        GivenPairs(MATRIX.tocsr()),
        GivenPairs(sp.csc_matrix(MATRIX)),
    ],
    ids=lambda proximity: repr(proximity)[:40],
)
def test_all_proximities_survive(proximity, samples, path):
    X, labels = samples
    y = np.eye(10, dtype=int)[labels] if isinstance(proximity, SharedLabel) else labels
    model = fit(X, y, proximity=proximity, n_bits=4)
    loaded = saved(model, path)
    assert_same(loaded, model, X)
    assert type(loaded.proximity_) is type(proximity) is type(loaded.proximity)
    assert getattr(loaded.proximity_, "radius_", None) == getattr(model.proximity_, "radius_", None)
    again = path.with_name("again")
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()
    if isinstance(proximity, GivenPairs) and sp.issparse(proximity.pairs):
        assert type(loaded.proximity.pairs) is type(proximity.pairs)
        assert (loaded.proximity.pairs != proximity.pairs).nnz == 0


@pytest.mark.parametrize(
    "cut",
    [
        Restarts(ProjectionGuess(n_vectors=2), VectorUpdate(), n_starts=2),
        Restarts(AlonNaorGuess(), BitUpdate()),
        Restarts(BilinearGuess(TruncatedRounding(limit=2.0)), VectorUpdate(max_iter=5, shift=1.5)),
        Annealing(n_sweeps=20),
    ],
    ids=repr,
)
def test_all_components_and_their_parameters_survive(cut, samples, path):
    model = fit(
        *samples,
        n_bits=3,
        threshold=EqualErrorThreshold(),
        weights=GradientWeights(),
        cut=cut,
        hash_function=LinearHash(ridge=0.1, refine_steps=2),
        max_samples=150,
        loss_target=0.001,
        verbose=False,
    )
    assert repr(saved(model, path).get_params()) == repr(model.get_params())


def test_every_component_of_the_package_is_known_in_a_new_process(samples, path):
    cut = Restarts(ProjectionGuess(n_vectors=2), VectorUpdate(), n_starts=2)
    model = fit(*samples, n_bits=3, threshold=EqualErrorThreshold(), weights=GradientWeights(), cut=cut)
    model.save(path)
    script = "import sys; from proxcode import *; print(repr(ProximityPreservingCode.load(sys.argv[1])))"
    process = subprocess.run([sys.executable, "-c", script, path], check=True, capture_output=True, text=True)
    assert process.stdout.strip() == repr(model)


def test_arrays_are_kept_apart_whatever_their_keys():
    value = {"a": {"b": np.zeros(2)}, "a.b": np.ones(2), "c": np.array(3.0)}
    writer = ComponentWriter(component_classes())
    stored = writer.value(value, "parameters")
    loaded = ComponentReader(component_classes(), writer.tensors, []).value(stored)
    np.testing.assert_array_equal(loaded["a"]["b"], np.zeros(2))
    np.testing.assert_array_equal(loaded["a.b"], np.ones(2))
    assert loaded["c"] == 3
    assert loaded["c"].shape == ()


def test_feature_names_survive(samples, path):
    import pandas as pd

    X = pd.DataFrame(samples[0], columns=[f"pixel {i}" for i in range(64)])
    model = fit(X, samples[1])
    loaded = saved(model, path)
    assert loaded.feature_names_in_.tolist() == X.columns.tolist()
    assert_same(loaded, model, X)
    with pytest.raises(ValueError, match="feature names"):
        loaded.encode(X.rename(columns={"pixel 0": "other"}))


def test_a_generator_is_stored_as_none_and_its_seed_kept(samples, path):
    generator = np.random.RandomState(3)
    model = fit(*samples, n_bits=4, random_state=generator)
    loaded = saved(model, path)
    assert loaded.random_state is None
    np.testing.assert_array_equal(loaded.extend(8, *samples).codes_, model.extend(8, *samples).codes_)


def test_svms_are_stored_with_each_support_vector_once(samples, path):
    model = fit(*samples, hash_function=SVMHash())
    model.save(path)
    tensors = read_file(path, "model").tensors
    n_support = [len(machine.support) for machine in model.hash_function_.classifiers_]
    assert len(tensors["hash_function.support_vectors_"]) == len(model.hash_function_.support_) <= 200 < sum(n_support)


def test_constant_bits_of_an_svm_survive(samples, path):
    X, y = samples
    model = fit(X, y, hash_function=SVMHash(max_samples=2), n_bits=12)
    assert any(len(machine.support) == 0 for machine in model.hash_function_.classifiers_)
    assert_same(saved(model, path), model, X)


# Classifiers of other libraries


class OwnClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that skops has never heard of."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.mean_ = float(X[:, 20].mean())
        return self

    def predict(self, X):
        return np.where(X[:, 20] > self.mean_, 1, -1)


@pytest.mark.parametrize(
    "hash_function",
    [LogisticRegression(C=0.01, max_iter=500), ClassifierHash(LinearDiscriminantAnalysis(), max_samples=150)],
    ids=lambda h: type(h).__name__,
)
def test_classifiers_are_loaded_only_when_trusted(hash_function, samples, new, path):
    model = fit(*samples, n_bits=4, hash_function=hash_function)
    model.save(path)
    with pytest.raises(ValueError, match=r"model\.proxcode holds classifiers of another library: pass trusted=\[\]"):
        ProximityPreservingCode.load(path)
    loaded = ProximityPreservingCode.load(path, trusted=[])
    assert_same(loaded, model, new[0])
    assert repr(loaded) == repr(model)
    np.testing.assert_array_equal(loaded.extend(6, *samples).codes_, model.extend(6, *samples).codes_)


@pytest.mark.parametrize("trusted", [None, []])
def test_unknown_types_are_named(trusted, samples, path):
    model = fit(*samples, n_bits=2, hash_function=OwnClassifier())
    model.save(path)
    name = f"{OwnClassifier.__module__}.OwnClassifier"
    with pytest.raises(ValueError, match=rf"skops does not trust, {name}.*pass trusted=\['{name}'\]"):
        ProximityPreservingCode.load(path, trusted=trusted)
    assert_same(ProximityPreservingCode.load(path, trusted=[name]), model, samples[0])


def test_constant_bits_of_a_classifier_survive(samples, path):
    model = fit(*samples, n_bits=12, hash_function=ClassifierHash(LogisticRegression(), max_samples=2))
    assert any(isinstance(classifier, DummyClassifier) for classifier in model.hash_function_.classifiers_)
    assert_same(saved(model, path, trusted=[]), model, samples[0])


def test_without_skops_the_remedy_is_named(samples, path, monkeypatch):
    model = fit(*samples, n_bits=2, hash_function=LogisticRegression(max_iter=500))
    model.save(path)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for act in (lambda: model.save(path), lambda: ProximityPreservingCode.load(path, trusted=[])):
        with pytest.raises(ImportError, match=r"needs skops: pip install 'proxcode\[skops\]'"):
            act()


# Refusals


class OwnThreshold(Threshold):
    """A rule of the user's own."""

    def beta(self, near, far):
        return 0.0


class CalibratedThresholdToo(CalibratedThreshold):
    """A component of the package, changed."""


class SameName(Threshold):
    """A rule of the user's own with the name of a class of the package."""

    def beta(self, near, far):
        return 0.0


SameName.__name__ = "CalibratedThreshold"


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"threshold": OwnThreshold()}, r"threshold=OwnThreshold\(\) cannot be stored"),
        ({"threshold": CalibratedThresholdToo()}, r"threshold=CalibratedThresholdToo\(\) cannot be stored"),
        ({"threshold": SameName()}, r"threshold=CalibratedThreshold\(\) cannot be stored"),
        ({"proximity": WithinRadius(metric=lambda a, b: np.abs(a - b).sum())}, r"proximity\.metric=<function"),
    ],
)
def test_components_of_the_users_own_are_refused(parameters, named, samples, path):
    with pytest.raises(TypeError, match=named):
        fit(samples[0][:40], samples[1][:40], n_bits=2, **parameters).save(path)
    assert list(path.parent.iterdir()) == []


def test_what_is_no_fitted_model_is_not_saved(samples, path):
    class Mine(ProximityPreservingCode):
        pass

    with pytest.raises(NotFittedError, match=r"ProximityPreservingCode instance is not fitted yet. Call 'fit'"):
        ProximityPreservingCode().save(path)
    with pytest.raises(TypeError, match=r"Mine cannot be saved: a model file holds a ProximityPreservingCode"):
        Mine(n_bits=2).fit(*samples).save(path)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing.*make it first"):
        fit(*samples, n_bits=2).save(path.parent / "missing" / "model")
    assert list(path.parent.iterdir()) == []
