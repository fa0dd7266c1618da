"""LinearHash against ridge regression, and the codes that it carries."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

from helpers.banks import begin, learned
from proxcode import KernelHash, LinearHash, ProximityPreservingCode
from proxcode.hashing.ridge import DEFAULT_RIDGE


@pytest.fixture(name="X")
def samples(rng):
    return 3 * rng.normal(size=(120, 6)) + 10 * rng.normal(size=6)


@pytest.fixture
def bits(X, rng):
    projections = (X - X.mean(axis=0)) @ rng.normal(size=(6, 4)) + rng.normal(size=(120, 4))
    return np.where(projections >= 0, 1, -1).astype(np.int8)


@pytest.mark.parametrize("ridge", [None, 1e-3, 1.0])
def test_linear_hash_is_ridge_regression_on_scaled_samples(ridge, X, bits):
    hashed, margins = learned(LinearHash(ridge), X, bits)
    centred = X - X.mean(axis=0)
    scaled = centred / np.sqrt((centred**2).sum(axis=1).mean())
    np.testing.assert_allclose(hashed.center_, X.mean(axis=0))
    assert (hashed._inputs(X) ** 2).sum(axis=1).mean() == pytest.approx(1)
    assert hashed.ridge_ == (DEFAULT_RIDGE if ridge is None else ridge)
    expected = Ridge(alpha=hashed.ridge_ * len(X)).fit(scaled, bits).predict(scaled)
    np.testing.assert_allclose(margins, expected, atol=1e-8)


@pytest.mark.parametrize("hash_function", [LinearHash(), KernelHash(n_landmarks=30)], ids=lambda h: type(h).__name__)
@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-7), (np.float32, 1e-2)])
def test_scores_of_training_samples_are_their_training_margins(hash_function, dtype, atol, X, bits):
    hashed, margins = learned(hash_function, X.astype(dtype), bits)
    np.testing.assert_allclose(hashed.scores(X.astype(dtype), 4), margins, atol=atol)
    np.testing.assert_array_equal(hashed.scores(X.astype(dtype), 2), hashed.scores(X.astype(dtype), 4)[:, :2])


def test_linear_hash_in_single_precision_is_nearly_that_in_double(X, bits):
    expected = learned(LinearHash(), X, bits)[1]
    np.testing.assert_allclose(learned(LinearHash(), X.astype(np.float32), bits)[1], expected, atol=1e-3)


def test_linear_hash_learns_a_target_given_for_a_subset(X, bits):
    _, training = begin(LinearHash(ridge=1e-3), X)
    some = np.arange(0, 120, 2)
    flipped = bits[:, 0].copy()
    flipped[1::2] *= -1
    bit = training.propose(bits[some, 0], some)
    np.testing.assert_array_equal(bit.margins, training.propose(flipped[some], some).margins)
    assert (np.sign(training.margins(bit.parameters)) == bits[:, 0]).mean() > 0.7


@pytest.mark.parametrize("hash_function", [LinearHash(ridge=1e-3), KernelHash(n_landmarks=30, ridge=1e-3)], ids=repr)
def test_a_bit_of_some_rows_is_on_the_scale_of_all_samples(hash_function, X, bits):
    rows = np.arange(0, 120, 2)
    _, training = begin(hash_function, X)
    _, of_rows = begin(hash_function, X, rows=rows)
    margins, expected = of_rows.propose(bits[rows, 0]).margins, training.propose(bits[rows, 0], rows).margins[rows]
    np.testing.assert_allclose(margins, expected, atol=1e-8)


def test_linear_hash_pickles_and_clones(X, bits):
    hashed, _ = learned(LinearHash(ridge=1e-2), X, bits)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(hashed)).scores(X, 4), hashed.scores(X, 4))
    assert clone(hashed).get_params() == {"ridge": 1e-2, "refine_steps": None, "updatable": False}
    assert not hasattr(clone(hashed), "coef_")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("with_labels", [True, False])
def test_linear_hash_carries_codes(with_labels, dtype, train, new):
    X, y = train[0].astype(dtype), train[1] if with_labels else None
    model = ProximityPreservingCode(12, hash_function=LinearHash(), random_state=0).fit(X, y)
    assert model.hash_function_.coef_.shape == (10 if with_labels else 12, 64)
    assert (model.hash_function_.posteriors_ is None) is not with_labels
    assert model.score(new[0].astype(dtype), new[1] if with_labels else None) > (0.6 if with_labels else 0.3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).encode(X), model.codes_)


@pytest.mark.parametrize("with_labels", [True, False])
def test_constant_features_change_nothing(with_labels, train, new):
    y = train[1] if with_labels else None
    codes = []
    for columns in ([], [0.0, 7.0]):
        X, X_new = (np.insert(samples, [0] * len(columns), columns, axis=1) for samples in (train[0], new[0]))
        model = ProximityPreservingCode(6, hash_function=LinearHash(), random_state=0).fit(X, y)
        codes.append(model.transform(X_new))
    assert (codes[0] == codes[1]).mean() > 0.99


def test_linear_hash_of_one_feature(rng):
    X = rng.normal(size=(150, 1))
    for y in ((X[:, 0] > 0.3).astype(int), None):
        model = ProximityPreservingCode(3, hash_function=LinearHash(), random_state=0).fit(X, y)
        assert model.transform(X).shape == (150, 3)
    model = ProximityPreservingCode(1, hash_function=LinearHash(), random_state=0).fit(X, (X[:, 0] > 0.3).astype(int))
    assert model.score(X, (X[:, 0] > 0.3).astype(int)) > 0.7


def test_margins_of_equal_samples_are_the_mean_of_the_target(bits):
    hashed, margins = learned(LinearHash(), np.full((120, 3), 0.1), bits)
    assert hashed.scale_ > 0
    np.testing.assert_allclose(margins, np.broadcast_to(bits.mean(axis=0), (120, 4)), atol=1e-9)


@pytest.mark.parametrize("hash_function", [LinearHash, KernelHash])
@pytest.mark.parametrize("ridge", [0, -1.0, float("nan")])
def test_a_bad_ridge_is_refused(hash_function, ridge, X):
    with pytest.raises(ValueError, match=f"ridge={ridge}: expected a number above 0"):
        hash_function(ridge=ridge).begin(X, np.random.default_rng(0))


def test_samples_too_large_to_square_are_refused():
    X = np.array([[1e200, 0.0], [-1e200, 1.0], [0.0, 2.0]])
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="overflow float64: scale X down"):
        LinearHash().begin(X, np.random.default_rng(0))
