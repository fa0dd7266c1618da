"""Model files: what was saved comes back, and nothing else does."""

import ast
import itertools
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import proxcode
from golden.make import FOLDER, new_points
from proxcode import (
    CalibratedThreshold,
    ClassifierHash,
    EqualErrorThreshold,
    GivenPairs,
    GradientWeights,
    KernelHash,
    LinearHash,
    ProximityPreservingCode,
    Restarts,
    SameLabel,
    SharedLabel,
    SVMHash,
    VectorUpdate,
    WithinRadius,
    unpack,
)
from proxcode.cut import ProjectionGuess
from proxcode.storage.components import PartsReader, PartsWriter
from proxcode.storage.container import read_file, write_file
from proxcode.threshold import Threshold

PUBLIC = ("n_bits_", "alpha_", "radius_", "n_features_in_")


@pytest.fixture(scope="module")
def points(digits):
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


HASHES = [None, KernelHash(n_landmarks=50, gamma=1e-3), LinearHash(ridge=0.01), SVMHash(), SVMHash(max_samples=40)]


@pytest.mark.parametrize("hash_function", HASHES, ids=repr)
@pytest.mark.parametrize("by_labels", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_loaded_model_is_the_saved_one(hash_function, by_labels, dtype, points, new, path):
    X, y = points[0].astype(dtype), points[1] if by_labels else None
    model = fit(X, y, hash_function=hash_function)
    loaded = saved(model, path)
    assert_same(loaded, model, new[0].astype(dtype))
    assert repr(loaded) == repr(model)
    assert repr(clone(loaded)) == repr(clone(model))
    assert loaded.score(*new) == model.score(*new)


@pytest.mark.parametrize("hash_function", [KernelHash(n_landmarks=40), LinearHash(), SVMHash()], ids=repr)
@pytest.mark.parametrize("error_correction", [True, False])
@pytest.mark.parametrize("by_labels", [True, False])
def test_extending_a_loaded_model_gives_the_file_of_a_longer_fit(
    hash_function, error_correction, by_labels, points, path
):
    X, y = points[0], points[1] if by_labels else None
    parameters = {"hash_function": hash_function, "error_correction": error_correction}
    loaded = saved(fit(X, y, n_bits=5, **parameters), path)
    with pytest.raises(ValueError, match=r"call extend\(n_bits, X, y\)"):
        loaded.extend(11)
    loaded.extend(11, X, y).save(path)
    long = path.with_name("long")
    fit(X, y, n_bits=11, **parameters).save(long)
    assert path.read_bytes() == long.read_bytes()


@pytest.mark.parametrize("parameters", [{"hash_function": SVMHash()}, {"coupling": 0}, {"error_correction": False}])
def test_other_training_data_are_refused(parameters, points, path):
    X, y = points
    loaded = saved(fit(X, y, n_bits=5, **parameters), path)
    with pytest.raises(ValueError, match="X is not what the model was fitted on"):
        loaded.extend(6, X[::-1], y)
    for other in (y[::-1], y % 3):
        with pytest.raises(ValueError, match="learned with other labels: give the same y"):
            loaded.extend(6, X, other)
    with pytest.raises(ValueError, match="SameLabel needs labels"):
        loaded.extend(6, X)
    assert loaded.n_bits == loaded.n_bits_ == 5
    assert loaded.extend(6, X, [f"digit {label}" for label in y]).n_bits_ == 6


def test_training_data_in_single_precision_are_the_same_but_for_rounding(points, path):
    X, y = points[0] / 3, points[1]
    assert saved(fit(X, y, n_bits=5), path).extend(6, X.astype(np.float32), y).n_bits_ == 6


def test_coefficients_are_the_same_across_panels_of_bits(points, path, monkeypatch):
    monkeypatch.setattr("proxcode.hashing.ridge.BIT_PANEL", 4)
    X, hash_function = points[0], KernelHash(n_landmarks=40)
    long = fit(X, n_bits=13, hash_function=hash_function)
    for n_bits in (3, 4, 9):
        grown = saved(fit(X, n_bits=n_bits, hash_function=hash_function), path).extend(13, X)
        np.testing.assert_array_equal(grown.hash_function_.coef_, long.hash_function_.coef_)
        np.testing.assert_array_equal(grown.hash_function_.intercept_, long.hash_function_.intercept_)


def test_equal_fits_give_equal_files_and_a_loaded_model_the_same_file_again(points, path):
    again = path.with_name("again")
    fit(*points).save(path)
    fit(*points).save(again)
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
def test_all_proximities_survive(proximity, points, path):
    X, labels = points
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


def test_all_parts_and_their_parameters_survive(points, path):
    model = fit(
        *points,
        n_bits=3,
        threshold=EqualErrorThreshold(),
        weights=GradientWeights(),
        cut=Restarts(ProjectionGuess(n_vectors=2), VectorUpdate(), n_starts=2),
        coupling=0,
        loss_target=0.001,
        verbose=False,
    )
    assert repr(saved(model, path).get_params()) == repr(model.get_params())


def test_arrays_keep_apart_whatever_their_keys():
    value = {"a": {"b": np.zeros(2)}, "a.b": np.ones(2), "c": np.array(3.0)}
    writer = PartsWriter()
    stored = writer.value(value, "parameters")
    loaded = PartsReader(writer.tensors, []).value(stored)
    np.testing.assert_array_equal(loaded["a"]["b"], np.zeros(2))
    np.testing.assert_array_equal(loaded["a.b"], np.ones(2))
    assert loaded["c"] == 3
    assert loaded["c"].shape == ()


def test_feature_names_survive(points, path):
    import pandas as pd

    X = pd.DataFrame(points[0], columns=[f"pixel {i}" for i in range(64)])
    model = fit(X, points[1])
    loaded = saved(model, path)
    assert loaded.feature_names_in_.tolist() == X.columns.tolist()
    assert_same(loaded, model, X)
    with pytest.raises(ValueError, match="feature names"):
        loaded.encode(X.rename(columns={"pixel 0": "other"}))


def test_a_generator_is_stored_as_none_and_its_seed_kept(points, path):
    generator = np.random.RandomState(3)
    model = fit(*points, n_bits=4, random_state=generator)
    loaded = saved(model, path)
    assert loaded.random_state is None
    np.testing.assert_array_equal(loaded.extend(8, *points).codes_, model.extend(8).codes_)


def test_an_svm_bank_is_stored_with_each_support_vector_once(points, path):
    model = fit(*points, hash_function=SVMHash())
    model.save(path)
    tensors = read_file(path, "model").tensors
    n_support = [len(machine.support) for machine in model.hash_function_.classifiers_]
    assert len(tensors["hash_function.support_vectors_"]) == len(model.hash_function_.support_) <= 200 < sum(n_support)


def test_constant_bits_of_an_svm_survive(points, path):
    X, y = points
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
def test_classifiers_are_loaded_only_when_trusted(hash_function, points, new, path):
    model = fit(*points, n_bits=4, hash_function=hash_function)
    model.save(path)
    with pytest.raises(ValueError, match=r"model\.proxcode holds classifiers of another library: pass trusted=\[\]"):
        ProximityPreservingCode.load(path)
    loaded = ProximityPreservingCode.load(path, trusted=[])
    assert_same(loaded, model, new[0])
    assert repr(loaded) == repr(model)
    np.testing.assert_array_equal(loaded.extend(6, *points).codes_, model.extend(6).codes_)


@pytest.mark.parametrize("trusted", [None, []])
def test_unknown_types_are_named(trusted, points, path):
    model = fit(*points, n_bits=2, hash_function=OwnClassifier())
    model.save(path)
    name = f"{OwnClassifier.__module__}.OwnClassifier"
    with pytest.raises(ValueError, match=rf"skops does not trust by itself, {name}.*pass trusted=\['{name}'\]"):
        ProximityPreservingCode.load(path, trusted=trusted)
    assert_same(ProximityPreservingCode.load(path, trusted=[name]), model, points[0])


def test_constant_bits_of_a_classifier_survive(points, path):
    model = fit(*points, n_bits=12, hash_function=ClassifierHash(LogisticRegression(), max_samples=2))
    assert any(isinstance(classifier, DummyClassifier) for classifier in model.hash_function_.classifiers_)
    assert_same(saved(model, path, trusted=[]), model, points[0])


def test_without_skops_the_remedy_is_named(points, path, monkeypatch):
    model = fit(*points, n_bits=2, hash_function=LogisticRegression(max_iter=500))
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
    """A part of ours, changed."""


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"threshold": OwnThreshold()}, r"threshold=OwnThreshold\(\) cannot be stored"),
        ({"threshold": CalibratedThresholdToo()}, r"threshold=CalibratedThresholdToo\(\) cannot be stored"),
        ({"proximity": WithinRadius(metric=lambda a, b: np.abs(a - b).sum())}, r"proximity\.metric=<function"),
    ],
)
def test_parts_of_the_users_own_are_refused(parameters, named, points, path):
    with pytest.raises(TypeError, match=named):
        fit(points[0][:40], points[1][:40], n_bits=2, **parameters).save(path)
    assert list(path.parent.iterdir()) == []


def test_what_is_no_fitted_model_is_not_saved(points, path):
    class Mine(ProximityPreservingCode):
        pass

    with pytest.raises(NotFittedError, match=r"nothing to save to .*model\.proxcode: call fit first"):
        ProximityPreservingCode().save(path)
    with pytest.raises(TypeError, match=r"holds a ProximityPreservingCode, not its subclass Mine"):
        Mine(n_bits=2).fit(*points).save(path)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing.*make it first"):
        fit(*points, n_bits=2).save(path.parent / "missing" / "model")
    assert list(path.parent.iterdir()) == []


def test_a_file_has_the_permissions_of_any_other(points, path):
    fit(*points, n_bits=2).save(path)
    other = path.with_name("other")
    other.touch()
    assert path.stat().st_mode == other.stat().st_mode


def test_a_file_is_read_whole_while_others_take_its_place(path):
    stop = Event()

    def write():
        for i in itertools.count():
            write_file(path, "test", {"i": i}, {"a": np.full(1000 + i % 7, i), "b": np.zeros(i % 5)})
            if stop.is_set():
                return

    write_file(path, "test", {"i": 0}, {"a": np.zeros(1000)})
    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        try:
            for _ in range(300):
                content, tensors = read_file(path, "test")
                assert (tensors["a"] == content["i"]).all()
        finally:
            stop.set()
        writer.result()


@pytest.fixture(scope="module")
def small(points, tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "model.proxcode"
    fit(points[0][:40, 16:24], points[1][:40], hash_function=LinearHash(), n_bits=3).save(path)
    return path.read_bytes()


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0, 1, exclude_max=True), mask=st.integers(1, 255))
def test_a_changed_byte_is_noticed(where, mask, small, path):
    changed = bytearray(small)
    changed[int(where * len(small))] ^= mask
    _assert_refused(bytes(changed), path)


@pytest.mark.parametrize("mask", [0x20, 0x2A])  # the other case of a letter; a line feed for a blank
def test_a_changed_byte_of_the_header_is_noticed(mask, small, path):
    length = 8 + int.from_bytes(small[:8], "little")
    for place in range(8, length):
        changed = bytearray(small)
        changed[place] ^= mask
        _assert_refused(bytes(changed), path)


def test_a_truncated_file_is_noticed(small, path):
    for length in [*range(20), 100, 1000, len(small) // 2, len(small) - 1]:
        _assert_refused(small[:length], path)
    _assert_refused(small + b"\0", path)


def _assert_refused(data, path):
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"model\.proxcode .*(again|name another file|upgrade proxcode)\.$"):
        ProximityPreservingCode.load(path)


def test_foreign_files_are_refused_by_name(path, small):
    load = ProximityPreservingCode.load
    with pytest.raises(FileNotFoundError, match=r"there is no file .*model\.proxcode: check"):
        load(path)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(1000))
    with pytest.raises(ValueError, match=r"model\.proxcode is cut short or no file of proxcode's"):
        load(path)
    save_file({"a": np.zeros(3)}, path)
    with pytest.raises(ValueError, match=r"model\.proxcode is a safetensors file, but none that proxcode wrote"):
        load(path)
    write_file(path, "index", {}, {})
    with pytest.raises(ValueError, match=r"model\.proxcode holds a proxcode index, not a model"):
        load(path)
    path.write_bytes(small.replace(rb"\"format\":1,", rb"\"format\":2,"))
    with pytest.raises(ValueError, match=r"model\.proxcode has format 2, this version reads up to 1: upgrade proxcode"):
        load(path)


def _with(path, small, change):
    """Write a file that is whole but holds something else."""
    path.write_bytes(small)
    content, tensors = read_file(path, "model")
    change(content)
    write_file(path, "model", content, tensors)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["hash_function"].update({"class": "os.system"}), r"names a part 'os\.system' that this version"),
        (lambda c: c["hash_function"]["parameters"].update(speed=3), r"its LinearHash has a parameter 'speed'"),
        (lambda c: c["parameters"].update(speed=3), r"its model has a parameter 'speed'.*upgrade proxcode"),
        (lambda c: c.pop("seed"), r"does not hold all that a model file holds \(KeyError\('seed'\)\): save it again"),
        (lambda c: c["parameters"].update(verbose={"eval": "1"}), r"does not hold all.*'eval'"),
    ],
)
def test_contents_that_are_not_known_are_refused(change, message, small, path):
    _with(path, small, change)
    with pytest.raises(ValueError, match=rf"model\.proxcode .*{message}"):
        ProximityPreservingCode.load(path)


def test_the_header_is_readable_json(small):
    length = int.from_bytes(small[:8], "little")
    header = json.loads(json.loads(small[8 : 8 + length])["__metadata__"]["proxcode"])
    assert (header["kind"], header["format"]) == ("model", 1)
    assert header["content"]["versions"]["proxcode"] == proxcode.__version__
    assert header["content"]["hash_function"]["class"] == "LinearHash"


# For ever


@pytest.mark.parametrize("golden", sorted(FOLDER.glob("*.proxcode")), ids=lambda golden: golden.stem)
def test_golden_files_stay_readable(golden):
    model = ProximityPreservingCode.load(golden)
    scores, codes = model.scores(new_points()), np.load(golden.with_suffix(".npy"))
    is_certain = np.abs(scores) > 1e-6
    np.testing.assert_array_equal((scores >= 0)[is_certain], unpack(codes, model.n_bits_)[is_certain])
    assert is_certain.mean() > 0.99


def test_golden_files_are_there_and_small():
    files = list(FOLDER.glob("*_1.proxcode"))
    assert len(files) == 4
    assert all(file.stat().st_size < 50_000 for file in files)


def test_nothing_in_the_package_imports_pickle():
    unsafe = {"pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve"}
    for file in Path(proxcode.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not unsafe & {name.split(".")[0] for name in names}, file
