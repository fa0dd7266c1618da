"""Bad parameters and bad data of the estimator: one clear sentence, and the right type of error."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from proxcode import (
    ClassifierHash,
    GivenPairs,
    KernelHash,
    LinearHash,
    ProximityPreservingCode,
    SameLabel,
    SVMHash,
    WithinRadius,
)
from proxcode.cut import BitUpdate, Restarts
from proxcode.threshold import CalibratedThreshold


def fit(train, **parameters):
    return ProximityPreservingCode(**{"n_bits": 4, "random_state": 0, **parameters}).fit(*train)


@pytest.mark.parametrize(
    ("parameters", "data", "error", "message"),
    [
        ({"n_bits": 0}, {}, ValueError, "n_bits=0: expected an integer from 1 to 1024"),
        ({"n_bits": 1025}, {}, ValueError, "n_bits=1025: expected an integer from 1 to 1024"),
        ({"n_bits": 8.0}, {}, TypeError, "n_bits=8.0: expected an integer from 1 to 1024"),
        ({"n_bits": True}, {}, TypeError, "n_bits=True: expected an integer from 1 to 1024"),
        ({"max_samples": 1}, {}, ValueError, "max_samples=1: expected an integer of at least 2"),
        ({"max_samples": 0.5}, {}, TypeError, "max_samples=0.5: expected an integer of at least 2"),
        ({"loss_target": "low"}, {}, TypeError, "loss_target='low': expected a number"),
        ({"loss_target": np.nan}, {}, ValueError, "loss_target=nan: expected a number"),
        ({}, {"y": np.zeros(50)}, ValueError, "no far pair among 50 of 50 samples.*: check the proximity"),
        ({}, {"y": np.arange(50)}, ValueError, "no near pair among 50 of 50 samples.*: check the proximity"),
        ({}, {"y": np.full(50, np.nan)}, ValueError, "all 50 samples are unlabelled"),
        ({}, {"y": np.arange(49)}, ValueError, "X has 50 samples but y has 49 labels"),
        ({}, {"y": np.full((50, 3), 7)}, ValueError, "y contains 7: expected an indicator matrix of 0 and 1"),
        ({}, {"X": np.full((50, 4), np.nan)}, ValueError, "first nan in row 0, column 0: drop"),
        ({}, {"X": np.full((50, 4), np.inf)}, ValueError, "first inf in row 0, column 0: drop"),
        ({}, {"X": np.zeros((1, 4)), "y": [0]}, ValueError, "minimum of 2 is required"),
        ({}, {"X": np.zeros((0, 4)), "y": []}, ValueError, "minimum of 2 is required"),
        ({}, {"X": np.zeros(50)}, ValueError, "Expected 2D array"),
        ({}, {"X": np.array([["a"] * 4] * 50)}, ValueError, "could not convert string"),
        ({"hash_function": "svm"}, {}, TypeError, r"hash_function='svm': expected an object such as KernelHash\(\)"),
        ({"hash_function": KernelHash}, {}, TypeError, r"KernelHash'>: expected an object such as KernelHash\(\)"),
        ({"hash_function": KernelHash(ridge=-1)}, {}, ValueError, "ridge=-1: expected a number above 0"),
        ({"hash_function": KernelHash(gamma=0)}, {}, ValueError, "gamma=0: expected a number above 0"),
        ({"hash_function": KernelHash(refine_steps=-1)}, {}, ValueError, "refine_steps=-1: expected an integer from 0"),
        (
            {"hash_function": LinearHash(refine_steps=1.5)},
            {},
            TypeError,
            "refine_steps=1.5: expected an integer from 0",
        ),
        ({"hash_function": SVMHash(max_samples=1)}, {}, ValueError, "max_samples=1: expected an integer of at least 2"),
        ({"hash_function": ClassifierHash()}, {}, ValueError, "classifier=None: expected a scikit-learn classifier"),
        ({"threshold": "equal"}, {}, TypeError, r"threshold='equal': expected an object such as CalibratedThreshold\("),
        ({"threshold": CalibratedThreshold}, {}, TypeError, r"expected an object such as CalibratedThreshold\(\)"),
        ({"weights": 1.0}, {}, TypeError, r"weights=1.0: expected an object such as DifferenceWeights\(\)"),
        ({"cut": BitUpdate()}, {}, TypeError, r"cut=BitUpdate\(\): expected an object such as Restarts\(\)"),
        ({"cut": Restarts}, {}, TypeError, r"Restarts'>: expected an object such as Restarts\(\)"),
        ({"proximity": "label"}, {}, TypeError, r"proximity='label': expected an object such as SameLabel\(\)"),
        (
            {"proximity": WithinRadius(mean_neighbors=50)},
            {},
            ValueError,
            "mean_neighbors=50: expected at most 49 for 50 samples",
        ),
        ({"proximity": WithinRadius(mean_neighbors=0)}, {}, ValueError, "mean_neighbors=0: expected a number above 0"),
        ({"proximity": SameLabel()}, {"y": None}, ValueError, "SameLabel needs labels"),
        ({"proximity": WithinRadius(radius=-1)}, {}, ValueError, "radius=-1: expected a number of at least 0"),
        ({"proximity": WithinRadius(radius="3")}, {}, TypeError, "radius='3': expected a number of at least 0"),
        ({"proximity": WithinRadius(radius=0.0)}, {}, ValueError, "no near pair"),
        ({"proximity": WithinRadius(radius=1e9)}, {}, ValueError, "no far pair"),
        ({"proximity": GivenPairs([[0, 1, 1]])}, {}, ValueError, "all pairs of the 2 listed samples are near"),
        (
            {"proximity": GivenPairs([[0, 99, 1]])},
            {},
            ValueError,
            "row numbers from 0 to 99: expected integers from 0 to 49",
        ),
        ({"proximity": GivenPairs([[0, 1, 1]], others="near")}, {}, ValueError, "others='near': expected 'unknown' or"),
    ],
)
def test_bad_input_gets_one_clear_sentence(parameters, data, error, message):
    rng = np.random.default_rng(0)
    data = {"X": rng.normal(size=(50, 4)), "y": rng.integers(0, 3, 50), **data}
    with pytest.raises(error, match=message) as raised:
        ProximityPreservingCode(**{"n_bits": 4, **parameters}).fit(**data)
    assert type(raised.value) is error
    assert len(str(raised.value).splitlines()) == 1 or "Expected 2D" in message


def test_more_bits_than_learned_are_refused(train):
    model = fit(train)
    with pytest.raises(ValueError, match=r"n_bits=5: expected an integer from 1 to 4; extend\(\) learns more"):
        model.encode(train[0], n_bits=5)
    with pytest.raises(ValueError, match="n_bits=0: expected an integer from 1 to 4"):
        model.scores(train[0], n_bits=0)


def test_extensions_with_fewer_bits_or_other_data_are_refused(train):
    model = fit(train, hash_function=KernelHash(updatable=False))
    with pytest.raises(ValueError, match="n_bits=3: expected an integer from 4 to 1024"):
        model.extend(3, *train)
    with pytest.raises(TypeError, match=r"n_bits=8\.5: expected an integer from 4 to 1024"):
        model.extend(8.5, *train)
    with pytest.raises(ValueError, match="X differs from the samples of the original fit; pass the same ones in order"):
        model.extend(8, train[0][::-1], train[1])
    with pytest.raises(ValueError, match="y differs from the labels of the original fit; pass the same ones in order"):
        model.extend(8, train[0], train[1][::-1])
    with pytest.raises(ValueError, match="X has 10 samples but the model was fitted on 500: pass the same"):
        model.extend(8, train[0][:10], train[1][:10])
    assert model.n_bits_ == 4


@pytest.mark.parametrize("method", ["encode", "transform", "scores", "score"])
def test_models_that_are_not_fitted_are_refused(method, train):
    with pytest.raises(NotFittedError):
        getattr(ProximityPreservingCode(), method)(train[0])
    with pytest.raises(NotFittedError):
        ProximityPreservingCode().extend(8, *train)
    with pytest.raises(NotFittedError):
        ProximityPreservingCode().index(np.zeros((2, 8), np.uint8))
