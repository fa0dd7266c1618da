"""A pipeline is a model: it does what its last step does to samples that its other steps have transformed."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, RobustScaler, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from helpers.pipelines import pipeline_of, small_code
from proxcode import CodePipeline, Nearest, ProximityPreservingCode, RotationHash, encode_files, open_samples
from proxcode.engines import make_engine
from proxcode.evaluation import evaluate
from proxcode.hashing.encoder import without_codes
from proxcode.pipeline.forms import traits


@pytest.fixture(scope="module")
def fitted(samples):
    return pipeline_of(StandardScaler(), PCA(12, random_state=0)).fit(*samples)


@pytest.fixture(scope="module")
def transformed(fitted, digits):
    return fitted[1].transform(fitted[0].transform(digits[0]))


def test_codes_and_margins_are_those_of_the_last_step(fitted, transformed, digits):
    X, code = digits[0], fitted.steps[-1][1]
    np.testing.assert_array_equal(fitted.preprocess(X), transformed)
    np.testing.assert_array_equal(fitted.scores(X), code.scores(transformed))
    np.testing.assert_array_equal(fitted.scores(X, 3), code.scores(transformed, 3))
    np.testing.assert_array_equal(fitted.encode(X), code.encode(transformed))
    np.testing.assert_array_equal(fitted.encode(X, 4), code.encode(transformed, 4))
    np.testing.assert_array_equal(fitted.transform(X), code.transform(transformed))
    assert fitted.score(*digits) == code.score(transformed, digits[1])
    for name in ("n_bits_", "radius_", "alpha_", "history_", "codes_", "training_loss_", "n_paired_samples_"):
        assert getattr(fitted, name) is getattr(code, name)
    assert fitted.hash_function_ is code.hash_function_
    assert fitted.proximity_ is code.proximity_
    assert fitted.n_features_in_ == 64
    assert fitted.get_feature_names_out().tolist() == [f"bit{k}" for k in range(10)]


def test_searches_find_what_the_last_step_finds(fitted, transformed, digits):
    X, code = digits[0], fitted.steps[-1][1]
    index, own = fitted.index(fitted.encode(X[:300])), code.index(code.encode(transformed[:300]))
    assert index.fingerprint == fitted.fingerprint() != own.fingerprint
    for found, expected in [
        (fitted.search(index, X[300:350], 5), code.search(own, transformed[300:350], 5)),
        (index.search(fitted.query(X[300:350]), 5), own.search(code.query(transformed[300:350]), 5)),
        (index.search(fitted.encode(X[300:350]), 5), own.search(code.encode(transformed[300:350]), 5)),
    ]:
        np.testing.assert_array_equal(found.neighbor, expected.neighbor)
        np.testing.assert_array_equal(found.distance, expected.distance)
    with pytest.raises(ValueError, match="codes of different models cannot be compared"):
        fitted.search(own, X[:2])
    with pytest.raises(ValueError, match="codes of different models cannot be compared"):
        own.search(fitted.query(X[:2]), 1)


def test_extending_a_pipeline_extends_its_code(samples):
    grown = pipeline_of(StandardScaler(), n_bits=4).fit(*samples).extend(10, *samples)
    long = pipeline_of(StandardScaler(), n_bits=10).fit(*samples)
    np.testing.assert_array_equal(grown.codes_, long.codes_)
    assert grown.fingerprint() == long.fingerprint()


# Fingerprints


def test_fingerprints_tell_preprocessing_apart(samples):
    X, y = samples
    code = small_code().fit(X, y)
    scalers = [
        StandardScaler().fit(X),
        StandardScaler(with_mean=False).fit(X),
        StandardScaler().fit(X[:200]),
        Normalizer().fit(X),
        Normalizer("l1").fit(X),
        PCA(whiten=True).fit(X),
        PCA().fit(X),
        TruncatedSVD(64).fit(X),
        RobustScaler().fit(X),
        RobustScaler().fit(X[:200]),
    ]
    # The code is the same: only the transformer before it differs.
    prints = [CodePipeline([("a", scaler), ("code", code)]).fingerprint() for scaler in scalers]
    prints.append(CodePipeline([("a", scalers[0]), ("b", scalers[3]), ("code", code)]).fingerprint())
    prints.append(CodePipeline([("a", scalers[3]), ("b", scalers[0]), ("code", code)]).fingerprint())
    prints.append(code.fingerprint())
    assert len(set(prints)) == len(prints)
    assert CodePipeline([("other", "passthrough"), ("name", code)]).fingerprint() == code.fingerprint()
    assert CodePipeline([("z", None), ("b", clone(scalers[0]).fit(X)), ("n", code)]).fingerprint() == prints[0]
    shorter = CodePipeline([("a", scalers[0]), ("code", code)])
    assert shorter.fingerprint(4) != shorter.fingerprint(5)
    assert code.fingerprint() == prints[-1]


def test_fingerprints_tell_functions_and_objects_apart(samples):
    X, y = samples
    code = small_code().fit(X, y)
    functions = [np.log1p, np.sqrt, np.float32, np.float64, lambda X: 2 * X, lambda X: 3 * X, lambda X: X + 2]
    functions += [partial(np.power, 2), partial(np.power, 3), partial(np.multiply, 3)]
    transformers = [FunctionTransformer(function).fit(X) for function in functions]
    prints = [CodePipeline([("a", transformer), ("code", code)]).fingerprint() for transformer in transformers]
    assert len(set(prints)) == len(prints)
    assert CodePipeline([("a", clone(transformers[0]).fit(X)), ("code", code)]).fingerprint() == prints[0]
    values = [sp.eye_array(3, format="csr"), 2 * sp.eye_array(3, format="csr"), {1, 2}, {1, 3}, np.nan, np.inf, None]
    described = [str(traits(FunctionTransformer(kw_args={"by": value}))) for value in values]
    assert len(set(described)) == len(described)
    again = sp.coo_array(values[0])
    assert str(traits(FunctionTransformer(kw_args={"by": again}))) == described[0]


def test_fingerprint_of_a_vectorizer_of_text_is_that_of_any_process(rng):
    texts = [" ".join(words) for words in rng.choice(["sun", "moon", "tree", "bee", "sea", "sky"], (60, 5))]
    pipeline = pipeline_of(TfidfVectorizer(), TruncatedSVD(4)).fit(texts, np.arange(60) % 3)
    before = pipeline.fingerprint()
    # In another process the list of stop words has another address, which a transformation writes down.
    pipeline[0]._stop_words_id = 1
    assert pipeline.fingerprint() == before
    pipeline.transform(texts)
    assert pipeline.fingerprint() == before
    pipeline[0]._tfidf.idf_ = pipeline[0]._tfidf.idf_ + 1
    assert pipeline.fingerprint() != before


# From pipelines of scikit-learn, and to them


def test_a_pipeline_of_scikit_learn_is_taken_over(samples, digits):
    pipeline = make_pipeline(StandardScaler(), small_code()).fit(*samples)
    taken = CodePipeline.from_pipeline(pipeline)
    assert taken.steps == pipeline.steps
    np.testing.assert_array_equal(taken.transform(digits[0]), pipeline.transform(digits[0]))
    assert taken.n_bits_ == 10
    assert type(clone(taken)) is CodePipeline
    assert repr(clone(taken)) == repr(taken)
    assert not hasattr(clone(taken), "n_bits_")


@pytest.mark.parametrize(
    ("pipeline", "error"),
    [
        (make_pipeline(StandardScaler(), LogisticRegression()), "the last step is LogisticRegression"),
        (make_pipeline(small_code(), StandardScaler()), "the last step is StandardScaler"),
        (small_code(), "expected a sklearn.pipeline.Pipeline"),
    ],
)
def test_other_pipelines_are_refused(pipeline, error, samples):
    with pytest.raises(TypeError, match=error):
        CodePipeline.from_pipeline(pipeline)
    if isinstance(pipeline, Pipeline):
        with pytest.raises(TypeError, match=error):
            CodePipeline(pipeline.steps).fit(*samples)


def test_a_pipeline_that_is_not_fitted_says_so(samples, path):
    pipeline = pipeline_of(StandardScaler())
    index = pipeline_of(StandardScaler()).fit(*samples).index(np.zeros((1, 2), np.uint8))
    for act in (
        lambda: pipeline.encode(samples[0]),
        lambda: pipeline.query(samples[0]),
        lambda: pipeline.search(index, samples[0]),
        pipeline.fingerprint,
        lambda: pipeline.save(path),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            act()
    assert not path.exists()


def test_slices_are_pipelines_of_scikit_learn(fitted, transformed, digits):
    assert type(fitted[:-1]) is type(fitted[1:]) is Pipeline
    np.testing.assert_array_equal(fitted[:-1].transform(digits[0]), transformed)
    assert fitted["code"] is fitted[-1]
    classifier = make_pipeline(clone(fitted), KNeighborsClassifier(3, metric="hamming"))
    assert classifier.fit(*(part[:800] for part in digits)).score(*(part[800:1000] for part in digits)) > 0.5


def test_the_checks_of_scikit_learn_that_its_own_pipeline_passes():
    results = check_estimator(pipeline_of(StandardScaler(), n_bits=4), on_skip=None, on_fail=None)
    unusual = {result["check_name"] for result in results if result["status"] != "passed"}
    # A pipeline fits the steps themselves, not copies. The last one needs another setting of scikit-learn.
    expected = {"check_estimators_overwrite_params", "check_dont_overwrite_parameters", "check_array_api_input"}
    assert unusual <= expected


# Inputs


def test_sparse_samples_pass_transformers_that_take_them(samples, digits, path):
    X, y = sp.csr_array(samples[0]), samples[1]
    pipeline = pipeline_of(StandardScaler(with_mean=False), Normalizer(), TruncatedSVD(8, random_state=0)).fit(X, y)
    new = sp.csr_array(digits[0][300:400])
    np.testing.assert_allclose(pipeline.scores(new), pipeline.scores(new.toarray()), atol=1e-9)
    pipeline.save(path)
    np.testing.assert_array_equal(CodePipeline.load(path).scores(new), pipeline.scores(new))
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        pipeline_of(Normalizer()).fit(X, y)


def test_names_of_columns_are_checked_as_scikit_learn_does(samples, path):
    frame = pd.DataFrame(samples[0], columns=[f"pixel {i}" for i in range(64)])
    for first in (StandardScaler(), "passthrough"):
        pipeline = pipeline_of(first).fit(frame, samples[1])
        assert pipeline.feature_names_in_.tolist() == frame.columns.tolist()
        pipeline.save(path)
        for model in (pipeline, CodePipeline.load(path)):
            assert model.feature_names_in_.tolist() == frame.columns.tolist()
            np.testing.assert_array_equal(model.encode(frame), pipeline.codes_)
            with pytest.raises(ValueError, match="feature names"):
                model.encode(frame.rename(columns={"pixel 0": "other"}))
            with pytest.raises(ValueError, match="feature names"):
                model.encode(frame[frame.columns[::-1]])
            with pytest.warns(UserWarning, match="does not have valid feature names"):
                model.encode(samples[0])


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.filterwarnings("error")
def test_outputs_of_data_frames_survive(library, samples, path):
    pipeline = pipeline_of(StandardScaler(), PCA(5, random_state=0)).set_output(transform=library).fit(*samples)
    pipeline.save(path)
    loaded = CodePipeline.load(path)
    for model in (pipeline, loaded):
        frame = model.transform(samples[0])
        assert list(frame.columns) == [f"bit{k}" for k in range(10)]
        assert type(frame).__module__.startswith(library)
        np.testing.assert_array_equal(frame.to_numpy(), pipeline.scores(samples[0]) >= 0)
    np.testing.assert_array_equal(loaded.encode(samples[0]), pipeline.encode(samples[0]))


def test_samples_in_files_are_encoded_in_blocks(fitted, digits, tmp_path):
    np.save(tmp_path / "a.npy", digits[0][:900])
    np.save(tmp_path / "b.npy", digits[0][900:])
    files = open_samples(f"{tmp_path}/*.npy")
    before = len(fitted.codes_)
    np.testing.assert_array_equal(fitted.encode(files), fitted.encode(digits[0]))
    np.testing.assert_array_equal(fitted.encode(files, 4), fitted.encode(digits[0], 4))
    assert len(fitted.codes_) == before
    with pytest.raises(TypeError, match=r"is in files: pass it to `encode`"):
        fitted.scores(files)
    with pytest.raises(TypeError, match="transformers are fitted to an array"):
        clone(fitted).fit(files, digits[1])
    np.save(tmp_path / "c.npy", digits[0][:, :3])
    with pytest.raises(ValueError, match="has 3 features, but CodePipeline expects 64"):
        fitted.encode(open_samples(tmp_path / "c.npy"))
    alone = pipeline_of().fit(files, digits[1])
    np.testing.assert_array_equal(alone.codes_, pipeline_of().fit(*digits).codes_)


def test_files_of_codes_hold_the_fingerprint_of_the_pipeline(fitted, digits, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for name, rows in (("a", slice(900)), ("b", slice(900, None))):
        np.save(tmp_path / f"{name}.npy", digits[0][rows])
    encoded = encode_files(fitted, f"{tmp_path}/*.npy", tmp_path / "codes")
    codes = b"".join(code for file in encoded.outputs for code in parquet.read_table(file)["code"].to_pylist())
    np.testing.assert_array_equal(np.frombuffer(codes, np.uint8).reshape(-1, 2), fitted.encode(digits[0]))
    assert encode_files(fitted, f"{tmp_path}/*.npy", tmp_path / "codes").n_kept == 2
    other = pipeline_of(StandardScaler()).fit(*digits)
    with pytest.raises(FileExistsError, match="codes of another model"):
        encode_files(other, f"{tmp_path}/*.npy", tmp_path / "codes")
    with pytest.raises(TypeError, match="expected a fitted ProximityPreservingCode or CodePipeline"):
        encode_files(Pipeline(fitted.steps), f"{tmp_path}/*.npy", tmp_path / "other")


def test_workers_get_a_pipeline_without_training_codes(fitted, digits):
    light = without_codes(fitted)
    assert len(light.codes_) == 0
    assert len(fitted.codes_) == 300
    assert len(pickle.dumps(light)) < len(pickle.dumps(fitted))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(light)).encode(digits[0]), fitted.encode(digits[0]))


def test_workers_of_an_engine_transform_and_encode(fitted, digits, tmp_path):
    pytest.importorskip("dask.distributed")
    np.save(tmp_path / "a.npy", digits[0])
    with make_engine("dask", None) as engine:
        codes = fitted.encode(open_samples(tmp_path / "a.npy", engine=engine))
    np.testing.assert_array_equal(codes, fitted.encode(digits[0]))


def test_an_evaluation_is_that_of_the_code_on_transformed_samples(fitted, transformed, digits):
    y = digits[1]
    found = evaluate(fitted, digits[0][300:600], y[300:600], train=digits[0][:300], peers=["LSH", "ITQ"])
    expected = evaluate(fitted[-1], transformed[300:600], y[300:600], train=transformed[:300], peers=["LSH", "ITQ"])
    times = {"fit_seconds": 0, "encode_ms": 0}
    assert [row._replace(**times) for row in found.rows] == [row._replace(**times) for row in expected.rows]


# Search for parameters


def test_grid_search_over_components_that_are_none(samples, digits):
    pipeline = CodePipeline([("reduce", PCA(10, random_state=0)), ("code", ProximityPreservingCode(8, random_state=0))])
    grid = {
        "code__hash_function__ridge": [1e-4, 1e4],
        "code__hash_function__n_landmarks": [40],
        "reduce__n_components": [4, 10],
    }
    frame = pd.DataFrame(samples[0], columns=[f"pixel {i}" for i in range(64)])
    search = GridSearchCV(pipeline, grid, cv=2, n_jobs=2, error_score="raise").fit(frame, samples[1])
    assert type(search.best_estimator_) is CodePipeline
    best = search.best_estimator_.hash_function_
    assert best.ridge == best.ridge_ == search.best_params_["code__hash_function__ridge"]
    assert len(set(search.cv_results_["mean_test_score"])) == 4
    assert pipeline[-1].hash_function is None
    half = np.arange(300) % 2 == 0
    model = clone(pipeline).set_params(**search.cv_results_["params"][0])
    assert model[-1].hash_function.get_params()["n_landmarks"] == 40
    assert 0 < model.fit(frame[half], samples[1][half]).score(frame[~half], samples[1][~half]) <= 1


def test_grid_search_without_labels_names_the_default_hash_function(samples):
    pipeline = CodePipeline([("scale", Normalizer()), ("code", ProximityPreservingCode(8, random_state=0))])
    grid = {"code__hash_function__n_rotations": [1, 20], "code__proximity__n_neighbors": [10]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(samples[0])
    code = search.best_estimator_[-1]
    assert isinstance(code.hash_function, RotationHash)
    assert isinstance(code.proximity, Nearest)
