"""The scikit-learn contract."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from proxcode import (
    KernelHash,
    LinearHash,
    Nearest,
    NewClassHash,
    ProximityPreservingCode,
    ReconstructionHash,
    RotationHash,
    SameLabel,
    SVMHash,
    WithinRadius,
)
from proxcode.cut import Annealing, ProjectionGuess, Restarts, VectorUpdate
from proxcode.peers import PEERS
from proxcode.threshold import EqualErrorThreshold, LogisticThreshold
from proxcode.weights import GradientWeights

# At most one bit per dimension, and the checks go down to one dimension; FastHash takes long.
MOST_BITS = {"ITQ": 1, "KMH": 1, "Sign": 1, "WCW-ITQ": 1, "LDA-ITQ": 1, "CCA-ITQ": 1, "FastHash": 1}
MODELS = [
    ProximityPreservingCode(n_bits=8),
    ProximityPreservingCode(n_bits=8, hash_function=SVMHash()),
    ProximityPreservingCode(n_bits=8, hash_function=LinearHash(refine_steps=2)),
    ProximityPreservingCode(n_bits=8, hash_function=KernelHash(refine_steps=0), max_samples=20),
    ProximityPreservingCode(n_bits=8, hash_function=GaussianNB()),
    ProximityPreservingCode(n_bits=8, proximity=WithinRadius()),
    ProximityPreservingCode(n_bits=8, proximity=Nearest()),
    ProximityPreservingCode(n_bits=8, hash_function=ReconstructionHash()),
    ProximityPreservingCode(n_bits=8, proximity=SameLabel(new_classes=True)),
    ProximityPreservingCode(n_bits=8, proximity=WithinRadius(), error_correction=False),
    ProximityPreservingCode(n_bits=8, proximity=SameLabel(unlabelled=None), loss_target=0.05),
    ProximityPreservingCode(
        n_bits=8,
        threshold=EqualErrorThreshold(),
        weights=GradientWeights(),
        cut=Restarts(ProjectionGuess(n_vectors=2), VectorUpdate(), n_starts=2),
        hash_function=SVMHash(max_samples=30),
    ),
    ProximityPreservingCode(n_bits=4, threshold=LogisticThreshold(), cut=Annealing(n_sweeps=5)),
]


@parametrize_with_checks([*MODELS, *[peer(n_bits=MOST_BITS.get(name, 8)) for name, peer in PEERS.items()]])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", MODELS[:1], ids=repr)
def test_no_estimator_check_is_skipped_or_expected_to_fail(model):
    results = check_estimator(model, on_skip=None, on_fail=None)
    unusual = {result["check_name"]: result["status"] for result in results if result["status"] != "passed"}
    assert set(unusual.values()) <= {"skipped"}, unusual
    # These need another setting of scikit-learn, SCIPY_ARRAY_API.
    assert all("array_api" in name for name in unusual), unusual


def test_clone_keeps_components_and_nested_parameters():
    model = ProximityPreservingCode(n_bits=12, proximity=WithinRadius(mean_neighbors=7), hash_function=KernelHash())
    copy = clone(model).set_params(proximity__mean_neighbors=9, hash_function__ridge=0.1)
    assert copy.get_params()["proximity__mean_neighbors"] == 9
    assert copy.get_params()["hash_function__ridge"] == 0.1
    assert model.proximity.mean_neighbors == 7
    assert model.hash_function.ridge is None


@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[24:70])
def test_fit_leaves_parameters_and_components_as_they_were(model, digits):
    X, y = digits
    model = clone(model)
    before, components = repr(model.get_params()), {k: v for k, v in model.get_params().items() if hasattr(v, "fit")}
    learned = {name: sorted(vars(component)) for name, component in components.items()}
    model.fit(X[:120], y[:120])
    assert repr(model.get_params()) == before
    assert all(model.get_params()[name] is component for name, component in components.items())
    assert {name: sorted(vars(component)) for name, component in components.items()} == learned
    np.testing.assert_array_equal(clone(model).set_params(random_state=3).fit(X[:120], y[:120]).codes_.shape, (120, 1))


def test_all_parameters_can_be_set_by_name():
    model = ProximityPreservingCode()
    names = {
        *("n_bits", "proximity", "threshold", "weights", "cut", "hash_function", "error_correction", "max_samples"),
        *("loss_target", "random_state", "verbose"),
    }
    assert set(model.get_params()) == names
    for name in ("coupling", "cut_points"):
        with pytest.raises(ValueError, match=f"Invalid parameter '{name}'"):
            model.set_params(**{name: 3})


def test_works_in_a_pipeline_with_a_classifier_behind_it(digits):
    X, y = digits
    pipeline = make_pipeline(
        StandardScaler(),
        ProximityPreservingCode(n_bits=24, random_state=0),
        KNeighborsClassifier(n_neighbors=3, metric="hamming"),
    )
    assert pipeline.fit(X[:800], y[:800]).score(X[800:1200], y[800:1200]) > 0.8


def test_grid_search_scores_codes_by_area_under_the_curve(digits):
    X, y = digits
    grid = GridSearchCV(ProximityPreservingCode(random_state=0), {"n_bits": [1, 16]}, cv=2).fit(X[:400], y[:400])
    assert grid.best_params_ == {"n_bits": 16}
    assert 0.5 < grid.best_score_ <= 1


@pytest.mark.parametrize("hash_function", [KernelHash(n_landmarks=100), LinearHash()], ids=repr)
def test_grid_search_over_parameters_of_a_component(hash_function, digits):
    X, y = digits
    model = ProximityPreservingCode(n_bits=12, hash_function=hash_function, random_state=0)
    ridges = [1e-4, 1e4]
    grid = GridSearchCV(model, {"hash_function__ridge": ridges, "hash_function__refine_steps": [0, 4]}, cv=2)
    grid.fit(X[:400], y[:400])
    assert grid.best_params_["hash_function__ridge"] == 1e-4
    assert grid.best_estimator_.hash_function_.ridge_ == 1e-4
    assert len(grid.cv_results_["mean_test_score"]) == 4
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
    assert model.hash_function.ridge is None


def test_grid_search_in_a_pipeline_over_components(digits):
    X, y = digits
    pipeline = make_pipeline(StandardScaler(), ProximityPreservingCode(n_bits=12, random_state=0))
    parameters = {"proximitypreservingcode__hash_function": [LinearHash(), KernelHash(n_landmarks=60)]}
    grid = GridSearchCV(pipeline, parameters, cv=2).fit(X[:300], y[:300])
    assert 0.5 < grid.best_score_ <= 1
    fitted = grid.best_estimator_[-1]
    assert type(fitted.hash_function_) is type(grid.best_params_["proximitypreservingcode__hash_function"])


def test_grid_search_without_labels_scores_by_the_learned_radius(digits):
    X, _ = digits
    grid = GridSearchCV(ProximityPreservingCode(random_state=0), {"n_bits": [1, 24]}, cv=2).fit(X[:400])
    assert grid.best_params_ == {"n_bits": 24}


@pytest.mark.parametrize("library", [pd, pl])
def test_data_frames_give_the_same_codes_as_arrays(library, digits):
    X, y = digits
    X, y = X[:200], y[:200]
    frame = library.DataFrame(X, **({"columns": [f"p{i}" for i in range(64)]} if library is pd else {}))
    from_frame = ProximityPreservingCode(n_bits=8, random_state=0).fit(frame, library.Series(y))
    from_array = ProximityPreservingCode(n_bits=8, random_state=0).fit(X, y)
    np.testing.assert_array_equal(from_frame.encode(frame), from_array.encode(X))


def test_feature_names_and_pandas_output(digits):
    X, y = digits
    model = ProximityPreservingCode(n_bits=3, random_state=0).fit(X[:100], y[:100])
    names = ["bit0", "bit1", "bit2"]
    assert model.get_feature_names_out().tolist() == names
    frame = model.set_output(transform="pandas").transform(X[:5])
    assert frame.columns.tolist() == names
    np.testing.assert_array_equal(frame.to_numpy(), model.scores(X[:5]) >= 0)
    assert model.set_output(transform="polars").transform(X[:5]).columns == names
    assert model.encode(X[:5]).shape == (5, 1)
    with pytest.raises(ValueError, match="input_features should have length equal to number of features"):
        model.get_feature_names_out(["a"])
    with pytest.raises(NotFittedError, match="not fitted yet"):
        ProximityPreservingCode().get_feature_names_out()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_bits_are_columns_of_data_frames_beside_others(library, digits):
    X, y = digits
    model = ProximityPreservingCode(n_bits=3, random_state=0).set_output(transform=library)
    frame = model.fit_transform(X[:100], y[:100])
    assert type(frame).__module__.startswith(library)
    assert list(frame.columns) == ["bit0", "bit1", "bit2"]
    assert set(np.unique(frame.to_numpy())) <= {0, 1}
    union = make_union(StandardScaler(), ProximityPreservingCode(n_bits=2, random_state=0)).fit(X[:100], y[:100])
    names = union.get_feature_names_out().tolist()
    assert names[-2:] == ["proximitypreservingcode__bit0", "proximitypreservingcode__bit1"]


# Parameters of components that are None


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"hash_function__ridge": 0.1}, {"hash_function": KernelHash(ridge=0.1)}),
        ({"hash_function__n_landmarks": 9}, {"hash_function": KernelHash(n_landmarks=9)}),
        ({"hash_function__n_rotations": 9}, {"hash_function": RotationHash(n_rotations=9)}),
        (
            {"hash_function__n_landmarks": 9, "proximity": Nearest()},
            {"hash_function": RotationHash(n_landmarks=9), "proximity": Nearest()},
        ),
        (
            {"hash_function__rotation": RotationHash(), "proximity__new_classes": True},
            {"hash_function": NewClassHash(RotationHash()), "proximity": SameLabel(new_classes=True)},
        ),
        ({"proximity__balanced": True}, {"proximity": SameLabel(balanced=True)}),
        ({"proximity__n_neighbors": 7}, {"proximity": Nearest(7)}),
        (
            {"proximity__radius": 30.0, "proximity": WithinRadius()},
            {"proximity": WithinRadius(30.0)},
        ),
        ({"cut__n_starts": 3}, {"cut": Restarts(n_starts=3)}),
        (
            {"cut__initial": ProjectionGuess(), "cut__initial__n_vectors": 2},
            {"cut": Restarts(ProjectionGuess(n_vectors=2))},
        ),
    ],
)
def test_parameters_of_components_that_are_none(parameters, expected, digits):
    model = ProximityPreservingCode(n_bits=3, random_state=0)
    copy = clone(model).set_params(**clone(parameters, safe=False))
    assert repr(copy) == repr(ProximityPreservingCode(n_bits=3, random_state=0, **expected))
    assert repr(clone(copy)) == repr(copy)
    assert repr(model) == repr(ProximityPreservingCode(n_bits=3, random_state=0))
    copy.fit(*(part[:100] for part in digits))


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"hash_function__gama": 1}, r"Invalid parameter 'gama' for hash_function=None, which stands for KernelHash"),
        ({"hash_function__ridge": 1, "hash_function__n_rotations": 2}, "set parameters of one of these, or"),
        ({"hash_function__ridge": 1, "proximity": Nearest()}, r"Invalid parameter 'ridge' for estimator RotationHash"),
        (
            {"proximity__radius": 1.0},
            r"'radius' for proximity=None, which stands for SameLabel\(\), SharedLabel\(\) or",
        ),
        ({"cut__sweeps": 1}, r"Invalid parameter 'sweeps' for estimator Restarts\(\)"),
        ({"threshold__beta": 1}, r"Invalid parameter 'beta' for estimator CalibratedThreshold\(\)"),
        (
            {"cut__initial__n_vectors": 2},
            r"`initial` of Restarts\(\) is None and has no parameters; set `cut__initial`",
        ),
        ({"bits": 3}, "Invalid parameter 'bits' for estimator ProximityPreservingCode"),
        ({"bits__n": 3}, "Invalid parameter 'bits' for estimator ProximityPreservingCode"),
    ],
)
def test_parameters_that_no_default_has_are_named(parameters, sentence):
    model = ProximityPreservingCode()
    with pytest.raises(ValueError, match=sentence) as raised:
        model.set_params(**parameters)
    assert "\n" not in str(raised.value)
    assert repr(model.set_params(proximity=None)) == repr(ProximityPreservingCode())


def test_grid_search_over_parameters_of_default_components(digits):
    X, y = digits
    frame = pd.DataFrame(X[:300], columns=[f"p{i}" for i in range(64)])
    grid = {"hash_function__ridge": [1e-4, 1e4], "proximity__balanced": [False, True], "cut__n_starts": [1, 2]}
    model = ProximityPreservingCode(n_bits=6, random_state=0)
    search = GridSearchCV(model, grid, cv=2, n_jobs=2, error_score="raise").fit(frame, y[:300])
    assert len(search.cv_results_["params"]) == 8
    given = ProximityPreservingCode(
        n_bits=6, proximity=SameLabel(), cut=Restarts(), hash_function=KernelHash(), random_state=0
    )
    again = GridSearchCV(given, grid, cv=2, error_score="raise").fit(frame, y[:300])
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], again.cv_results_["mean_test_score"])
    assert repr(search.best_estimator_) == repr(again.best_estimator_)
    assert model.hash_function is model.proximity is model.cut is None


def test_feature_names_follow_the_number_of_bits_learned(digits):
    X, y = digits
    model = ProximityPreservingCode(n_bits=3, random_state=0).fit(X[:100], y[:100]).extend(5, X[:100], y[:100])
    assert len(model.get_feature_names_out()) == model.transform(X[:2]).shape[1] == 5
    stopped = ProximityPreservingCode(n_bits=40, loss_target=0.05, random_state=0).fit(X[:100], y[:100])
    assert len(stopped.get_feature_names_out()) == stopped.transform(X[:2]).shape[1] == stopped.n_bits_ < 40


def test_names_of_columns_are_checked(digits):
    X, y = digits
    frame = pd.DataFrame(X[:100], columns=[f"pixel {i}" for i in range(64)])
    model = ProximityPreservingCode(n_bits=3, random_state=0).fit(frame, y[:100])
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    with pytest.raises(ValueError, match="feature names"):
        model.encode(frame.rename(columns={"pixel 0": "other"}))
    with pytest.raises(ValueError, match="feature names"):
        model.extend(4, frame.rename(columns={"pixel 0": "other"}), y[:100])
