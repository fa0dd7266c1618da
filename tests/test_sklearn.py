"""The scikit-learn contract."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from proxcode import KernelHash, ProximityPreservingCode, SVMHash, WithinRadius
from proxcode.peers import PEERS

MOST_BITS = {"ITQ": 1, "KMH": 1, "Sign": 1}  # at most one bit per dimension, and the checks go down to one


@parametrize_with_checks(
    [
        ProximityPreservingCode(n_bits=8),
        ProximityPreservingCode(n_bits=8, hash_function=SVMHash()),
        ProximityPreservingCode(n_bits=8, proximity=WithinRadius()),
        *[peer(n_bits=MOST_BITS.get(name, 8)) for name, peer in PEERS.items()],
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_clone_keeps_parts_and_nested_parameters():
    model = ProximityPreservingCode(n_bits=12, proximity=WithinRadius(mean_neighbors=7), hash_function=KernelHash())
    copy = clone(model).set_params(proximity__mean_neighbors=9, hash_function__ridge=0.1)
    assert copy.get_params()["proximity__mean_neighbors"] == 9
    assert copy.get_params()["hash_function__ridge"] == 0.1
    assert model.proximity.mean_neighbors == 7


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
    names = ["proximitypreservingcode0", "proximitypreservingcode1", "proximitypreservingcode2"]
    assert model.get_feature_names_out().tolist() == names
    frame = model.set_output(transform="pandas").transform(X[:5])
    assert frame.columns.tolist() == names
    assert model.encode(X[:5]).shape == (5, 1)
