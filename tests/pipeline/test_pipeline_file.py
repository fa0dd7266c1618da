"""Files of pipelines: what was saved comes back to the last digit, and nothing else does."""

import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, RobustScaler, StandardScaler

import proxcode
from helpers.pipelines import pipeline_of, small_code
from proxcode import CodePipeline, ProximityPreservingCode
from proxcode.pipeline.forms import FORMS
from proxcode.storage.container import read_file, write_file

SOLVERS = ("auto", "full", "covariance_eigh", "arpack", "randomized")
TRANSFORMERS = [
    *(StandardScaler(with_mean=mean, with_std=std) for mean in (True, False) for std in (True, False)),
    StandardScaler(copy=False),
    MinMaxScaler(),
    MinMaxScaler((-1.5, 2), clip=True),
    *(Normalizer(norm) for norm in ("l1", "l2", "max")),
    *(PCA(8, svd_solver=solver, whiten=white, random_state=0) for solver in SOLVERS for white in (False, True)),
    PCA(),
    PCA(0.8),
    PCA("mle"),
    PCA(np.int64(8), random_state=np.random.RandomState(0), svd_solver="randomized"),
    TruncatedSVD(8, algorithm="arpack", random_state=0),
    TruncatedSVD(8, random_state=0, n_iter=2),
]


def learned(transformer):
    return {name: value for name, value in vars(transformer).items() if name.endswith("_") and name[0] != "_"}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda one: re.sub(r" at 0x\w+", "", repr(one)))
def test_transformers_transform_alike_to_the_last_digit(transformer, dtype, samples, digits, path):
    if transformer.get_params().get("n_components") == "mle" and dtype == np.float32:
        pytest.skip("scikit-learn cannot fit it in single precision")
    X, new = samples[0].astype(dtype), digits[0][300:].astype(dtype)
    pipeline = pipeline_of(clone(transformer)).fit(X.copy(), samples[1])
    pipeline.save(path)
    loaded = CodePipeline.load(path)
    for rows in (new, new[:1], new[:7], new[:100:3]):
        np.testing.assert_array_equal(loaded[0].transform(rows.copy()), pipeline[0].transform(rows.copy()))
    # Copies: with copy=False a transformer writes to what it is given.
    np.testing.assert_array_equal(loaded.scores(new.copy()), pipeline.scores(new.copy()))
    assert loaded.preprocess(new.copy()).dtype == pipeline.preprocess(new.copy()).dtype
    assert loaded.fingerprint() == pipeline.fingerprint()
    # All that the transformer learned is there, so that it can do more than transform.
    before, after = learned(pipeline[0]), learned(loaded[0])
    assert set(after) == set(before)
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)
    again = path.with_name("again")
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()
    parameters = {**pipeline[0].get_params(), "random_state": None}
    assert {**loaded[0].get_params(), "random_state": None} == parameters


def test_a_scaler_goes_on_learning(samples, path):
    X, y = samples
    pipeline = pipeline_of(StandardScaler()).fit(X, y)
    pipeline.save(path)
    scaler = CodePipeline.load(path)[0]
    expected = pipeline[0].partial_fit(X[:50] + 1)
    np.testing.assert_array_equal(scaler.partial_fit(X[:50] + 1).mean_, expected.mean_)
    assert scaler.n_samples_seen_ == expected.n_samples_seen_ == 350


def test_numbers_of_samples_of_each_feature_survive(samples, path):
    X, y = samples
    pipeline = pipeline_of(StandardScaler()).fit(X, y)
    pipeline[0].n_samples_seen_ = np.arange(64) + 200
    pipeline.save(path)
    np.testing.assert_array_equal(CodePipeline.load(path)[0].n_samples_seen_, np.arange(64) + 200)


def test_a_pipeline_of_several_steps_comes_back(samples, digits, path):
    pipeline = pipeline_of(Normalizer(), "passthrough", StandardScaler(), None, PCA(20, random_state=0)).fit(*samples)
    pipeline.save(path)
    for loaded in (proxcode.load(path), CodePipeline.load(path)):
        assert type(loaded) is CodePipeline
        assert [name for name, _ in loaded.steps] == ["a", "b", "c", "d", "e", "code"]
        assert loaded.named_steps["b"] == loaded.named_steps["d"] == "passthrough"
        np.testing.assert_array_equal(loaded.scores(digits[0]), pipeline.scores(digits[0]))
        assert (loaded.n_bits_, loaded.radius_, loaded.n_features_in_) == (10, pipeline.radius_, 64)
        assert loaded.fingerprint() == pipeline.fingerprint()
    np.testing.assert_array_equal(loaded.extend(12, *samples).encode(digits[0], 10), pipeline.encode(digits[0]))
    assert clone(loaded).fit(*samples).fingerprint() == pipeline.fingerprint()


def test_a_new_process_gives_the_same_bits(samples, digits, path):
    pipeline = pipeline_of(StandardScaler(), PCA(20, whiten=True, random_state=0), hash_function=None).fit(*samples)
    pipeline.save(path)
    np.save(path.with_name("X.npy"), digits[0])
    script = (
        "import sys, numpy as np, proxcode\n"
        "model = proxcode.load(sys.argv[1])\n"
        "np.save(sys.argv[3], model.scores(np.load(sys.argv[2])))\n"
        "print(model.fingerprint(), *sorted(m for m in sys.modules if m.split('.')[0] in ('pickle', 'skops')))"
    )
    names = [str(path.with_name(name)) for name in ("X.npy", "scores.npy")]
    run = [sys.executable, "-c", script, str(path), *names]
    result = subprocess.run(run, check=True, capture_output=True, text=True)
    assert result.stdout.split()[0] == pipeline.fingerprint()
    assert "skops" not in result.stdout
    np.testing.assert_array_equal(np.load(names[1]), pipeline.scores(digits[0]))


def test_one_function_loads_both_kinds_of_model(samples, path):
    code = small_code().fit(*samples)
    code.save(path)
    assert type(proxcode.load(path)) is ProximityPreservingCode
    with pytest.raises(ValueError, match=r"holds a proxcode model, not a pipeline: proxcode\.load reads both"):
        CodePipeline.load(path)
    CodePipeline([("a", "passthrough"), ("code", code)]).save(path)
    assert type(proxcode.load(path)) is CodePipeline
    assert proxcode.load(path).fingerprint() == code.fingerprint()
    with pytest.raises(ValueError, match=r"holds a proxcode pipeline, not a model: proxcode\.load reads both"):
        ProximityPreservingCode.load(path)
    code.index(code.codes_).save(path)
    with pytest.raises(ValueError, match="holds a proxcode index, not a model: pass another file"):
        proxcode.load(path)


def test_files_are_not_replaced_unless_allowed(samples, path):
    pipeline = pipeline_of(Normalizer()).fit(*samples)
    pipeline.save(path)
    with pytest.raises(FileExistsError):
        pipeline.save(path, overwrite=False)

    class Mine(CodePipeline):
        pass

    with pytest.raises(TypeError, match="Mine cannot be saved"):
        Mine(pipeline.steps).save(path)


# Other versions of scikit-learn


def test_parameters_of_other_versions_of_scikit_learn(samples, path):
    pipeline = pipeline_of(PCA(6, random_state=0), StandardScaler()).fit(*samples)

    def change(content):
        content["steps"][0]["parameters"]["power_iteration_normalizer"] = "QR"
        del content["steps"][0]["parameters"]["random_state"]

    changed(pipeline, path, change)
    known = PCA._get_param_names()
    with pytest.MonkeyPatch.context() as patch:
        # A version without this parameter, which only matters to `fit`.
        patch.setattr(PCA, "_get_param_names", lambda: [name for name in known if name != "power_iteration_normalizer"])
        loaded = CodePipeline.load(path)
    np.testing.assert_array_equal(loaded.scores(samples[0]), pipeline.scores(samples[0]))
    assert loaded.fingerprint() == pipeline.fingerprint()


def test_a_parameter_of_a_later_scikit_learn_is_refused_unless_it_is_the_default(samples, path, monkeypatch):
    class Later(Normalizer):
        def __init__(self, norm="l2", *, copy=True, novelty=False):
            super().__init__(norm, copy=copy)
            self.novelty = novelty

    monkeypatch.setitem(FORMS, Later, FORMS[Normalizer])
    pipeline_of(Later()).fit(*samples).save(path)
    with pytest.raises(TypeError, match=r"novelty=True of Later\(novelty=True\) is not known to this version"):
        pipeline_of(Later(novelty=True)).fit(*samples).save(path)


def test_a_version_that_needs_more_is_named(samples, path, monkeypatch):
    pipeline_of(PCA(4)).fit(*samples).save(path)

    def transform(self, X):
        return X @ self.rotation_

    monkeypatch.setattr(PCA, "transform", transform)
    with pytest.raises(ValueError, match=r"cannot use its PCA \(.*rotation_.*\): install the version that"):
        CodePipeline.load(path)


# Other transformers, by skops


class Doubled(TransformerMixin, BaseEstimator):
    """A transformer that skops has never heard of."""

    def fit(self, X, y=None):
        self.factor_, self.n_features_in_ = 2.0, X.shape[1]
        return self

    def transform(self, X):
        return self.factor_ * np.asarray(X)


def test_other_transformers_are_loaded_only_when_trusted(samples, digits, path):
    pipeline = pipeline_of(RobustScaler(), StandardScaler()).fit(*samples)
    pipeline.save(path)
    name = "sklearn.preprocessing._data.RobustScaler"
    sentence = rf"holds transformers that skops has to load, {name}: if you trust them, pass trusted=\['{name}'\]"
    for load in (CodePipeline.load, proxcode.load):
        with pytest.raises(ValueError, match=sentence):
            load(path)
        for trusted in ([], [name]):
            loaded = load(path, trusted=trusted)
            np.testing.assert_array_equal(loaded.scores(digits[0]), pipeline.scores(digits[0]))
            assert loaded.fingerprint() == pipeline.fingerprint()


def test_types_that_skops_does_not_trust_are_named(samples, path):
    pipeline = pipeline_of(Doubled(), StandardScaler()).fit(*samples)
    pipeline.save(path)
    name = f"{Doubled.__module__}.Doubled"
    with pytest.raises(ValueError, match=rf"has to load, {name}: if you trust"):
        CodePipeline.load(path)
    with pytest.raises(ValueError, match=rf"of types that skops does not trust, {name}.*trusted=\['{name}'\]"):
        CodePipeline.load(path, trusted=[])
    loaded = CodePipeline.load(path, trusted=[name])
    np.testing.assert_array_equal(loaded.codes_, pipeline.codes_)
    assert loaded.fingerprint() == pipeline.fingerprint()


def test_a_subclass_is_not_taken_for_its_base(samples, path):
    class Shifted(StandardScaler):
        def transform(self, X, copy=None):
            return super().transform(X, copy) + 1

    Shifted.__name__ = Shifted.__qualname__ = "StandardScaler"
    pipeline_of(Shifted()).fit(*samples).save(path)
    with pytest.raises(ValueError, match="holds transformers that skops has to load"):
        CodePipeline.load(path)


def test_classifiers_and_transformers_share_a_file(samples, digits, path):
    pipeline = pipeline_of(RobustScaler(), n_bits=2, hash_function=LogisticRegression(max_iter=500)).fit(*samples)
    pipeline.save(path)
    np.testing.assert_array_equal(CodePipeline.load(path, trusted=[]).scores(digits[0]), pipeline.scores(digits[0]))
    pipeline_of(StandardScaler(), n_bits=2, hash_function=LogisticRegression(max_iter=500)).fit(*samples).save(path)
    with pytest.raises(ValueError, match=r"holds transformers or classifiers of another library: pass trusted=\[\]"):
        CodePipeline.load(path)


def test_texts_can_be_encoded(path):
    texts = [f"{animal} {verb} {i % 7}" for i in range(60) for animal, verb in [("cat", "sleeps"), ("dog", "barks")]]
    labels = np.tile([0, 1], 60)
    steps = [("words", TfidfVectorizer()), ("reduce", TruncatedSVD(4, random_state=0)), ("code", small_code(n_bits=4))]
    pipeline = CodePipeline(steps).fit(texts, labels)
    pipeline.save(path)
    with pytest.raises(ValueError, match="TfidfVectorizer"):
        proxcode.load(path)
    loaded = proxcode.load(
        path, trusted=["scipy.sparse._dia.dia_matrix", "sklearn.feature_extraction.text.TfidfVectorizer"]
    )
    np.testing.assert_array_equal(loaded.encode(texts), pipeline.encode(texts))
    assert loaded.fingerprint() == pipeline.fingerprint()
    assert len({tuple(code) for code in loaded.encode(["the cat sleeps", "a cat sleeps"])}) == 1


# Damage


def changed(pipeline, path, change):
    """Write the file of a pipeline with another content, and a digest that fits it."""
    pipeline.save(path)
    content, tensors = read_file(path, "pipeline")
    change(content, tensors) if change.__code__.co_argcount == 2 else change(content)
    write_file(path, "pipeline", content, tensors)


@pytest.fixture(scope="module")
def three_steps(samples):
    return pipeline_of(MinMaxScaler((0, 2)), StandardScaler(), PCA(6, whiten=True, random_state=0)).fit(*samples)


def set_at(*keys, value):
    def change(content):
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return change


def set_array(name, change_array):
    def change(content, tensors):
        tensors[name] = change_array(tensors[name])

    return change


def with_nan(array):
    array = array.copy()
    array.flat[1] = np.nan
    return array


DAMAGES = {
    "unknown class": (set_at("steps", 0, "class", value="os.system"), "names a transformer 'os.system'"),
    "class of another type": (set_at("steps", 0, "class", value=["PCA"]), r"names a transformer \['PCA'\]"),
    "class without a table": (set_at("steps", 0, "class", value="KernelPCA"), "names a transformer 'KernelPCA'"),
    "another class": (set_at("steps", 1, "class", value="MinMaxScaler"), "has a parameter 'with_mean'|lacks|missing"),
    "no steps": (set_at("steps", value=None), "lacks a part|cannot be read"),
    "steps of text": (set_at("steps", value="abc"), "lacks a part|cannot be read"),
    "step of a number": (set_at("steps", 1, value=3), "lacks a part|cannot be read"),
    "no parameters": (set_at("steps", 1, "parameters", value={}), "lacks a part"),
    "flag": (set_at("steps", 1, "parameters", "with_mean", value="yes"), "with_mean of its StandardScaler is 'yes'"),
    "range": (set_at("steps", 0, "parameters", "feature_range", value={"tuple": [2, 0]}), "feature_range of its"),
    "long range": (set_at("steps", 0, "parameters", "feature_range", value={"tuple": [0, 1, 2]}), "cannot be read"),
    "parameter": (set_at("steps", 2, "parameters", "solver", value="x"), "has a parameter 'solver'"),
    "features": (set_at("steps", 1, "n_features", value=63), "takes 63 features, but gets 64"),
    "features of text": (set_at("steps", 1, "n_features", value="64"), "expected an integer"),
    "features of all": (set_at("n_features", value=-1), "its n_features=-1: expected an integer"),
    "fewer features of all": (set_at("n_features", value=3), "takes 64 features, but gets 3"),
    "names": (set_at("steps", 0, "feature_names", value=["a"]), "feature_names are not those of 64"),
    "output": (set_at("steps", 0, "output", value="sql"), "the output of a step is 'sql'"),
    "axis": (set_at("steps", 2, "learned", "components_", "flipped", value=[7]), "axis of an array=7"),
    "missing array": (set_at("steps", 2, "learned", "mean_", "array", value="gone"), "'gone' is missing"),
    "no array": (set_at("steps", 2, "learned", "components_", value=None), "'components_' is missing"),
    "no scale": (set_at("steps", 1, "learned", "scale_", value=None), "'scale_' is missing"),
    "number": (set_at("steps", 2, "learned", "n_samples_", value="many"), "n_samples_='many': expected a number"),
    "same names": (set_at("steps", 0, "name", value="b"), r"names of its steps are \['b', 'b'"),
    "name of the code": (set_at("name", value=7), "names of its steps are"),
    "bits": (set_at("model", "history", value=[]), "it holds no bits"),
    "no model": (set_at("model", value={}), "lacks a part"),
    "NaN": (set_array("steps.c.components_", with_nan), "'components_' holds NaN or infinity"),
    "shape": (set_array("steps.c.mean_", lambda a: a[:-1]), r"'mean_' has shape \(63,\): expected \(n_features=64\)"),
    "rank": (set_array("steps.b.mean_", lambda a: a[None]), r"'mean_' has shape \(1, 64\)"),
    "spectrum": (set_array("steps.c.explained_variance_", lambda a: a[:3]), r"'explained_variance_' has shape \(3,\)"),
    "type": (set_array("steps.b.mean_", lambda a: a.astype(np.int32)), "'mean_' holds int32"),
    "scale of 0": (set_array("steps.b.scale_", lambda a: a * 0), "'scale_' holds 0.0: expected numbers above 0"),
    "components": (set_array("steps.c.components_", lambda a: np.ascontiguousarray(a[:, :5])), r"shape"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_content_that_no_pipeline_has_is_refused_in_one_sentence(name, three_steps, path):
    change, sentence = DAMAGES[name]
    changed(three_steps, path, change)
    with pytest.raises(ValueError, match=sentence) as raised:
        proxcode.load(path)
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)


def test_a_code_that_does_not_fit_the_transformers_is_refused(three_steps, samples, path):
    CodePipeline([*three_steps.steps[:-1], ("code", small_code().fit(*samples))]).save(path)
    with pytest.raises(ValueError, match="its code takes 64 features, but gets 6: save the pipeline again"):
        proxcode.load(path)


def test_flipped_bytes_are_noticed(three_steps, path, rng):
    three_steps.save(path)
    data = path.read_bytes()
    for where in rng.integers(len(data), size=200):
        damaged = bytearray(data)
        damaged[where] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(
            ValueError, match=r"changed after it was written|truncated|did not write|has format|holds a"
        ):
            proxcode.load(path)
    for length in (0, 7, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(ValueError, match="truncated"):
            proxcode.load(path)


def test_random_values_in_the_content_are_refused_or_read(three_steps, path, rng):
    three_steps.save(path)
    content, tensors = read_file(path, "pipeline")
    places = list(_places(content))
    values = [None, -1, 0, 2**70, 0.5, "x", "", [], {}, [1, "a"], {"array": "x"}, {"object": 0}, True]
    n_refused = 0
    for _ in range(300):
        damaged = json.loads(json.dumps(content))
        where = places[rng.integers(len(places))]
        set_at(*where, value=values[rng.integers(len(values))])(damaged)
        write_file(path, "pipeline", damaged, tensors)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                proxcode.load(path)
        except ValueError as error:
            n_refused += 1
            assert str(error).startswith(str(path)), where
            assert "\n" not in str(error), where
    assert n_refused > 100


def _places(value, where=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*where, key)
        yield from _places(item, (*where, key))


def test_a_pipeline_of_scikit_learn_is_saved_once_it_is_taken_over(samples, digits, path):
    pipeline = make_pipeline(StandardScaler(), PCA(10, random_state=0), small_code()).fit(*samples)
    CodePipeline.from_pipeline(pipeline).save(path)
    np.testing.assert_array_equal(proxcode.load(path).transform(digits[0]), pipeline.transform(digits[0]))
