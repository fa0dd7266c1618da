"""Posteriors of labels from their scores."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from proxcode import ProximityPreservingCode, SameLabel
from proxcode.hashing.posteriors import SOFTENING, Posteriors, fit_posteriors


def plus_minus(classes):
    return np.where(classes[:, None] == np.arange(classes.max() + 1), 1, -1).astype(np.int8)


def noisy_scores(rng, n=400, n_labels=5, noise=0.6):
    classes = rng.integers(0, n_labels, n)
    labels = plus_minus(classes)
    return 0.3 * (labels + noise * 3 * rng.normal(size=labels.shape)), labels


def shared_labels(rng, n=400):
    labels = np.where(rng.random((n, 5)) < [0.1, 0.2, 0.3, 0.5, 0.7], 1, -1).astype(np.int8)
    return 0.3 * (labels + 1.5 * rng.normal(size=labels.shape)), labels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exclusive_posteriors_are_a_scaled_softmax(dtype, rng):
    scores, labels = noisy_scores(rng)
    posteriors = fit_posteriors(scores.astype(dtype), labels)
    values = posteriors(scores.astype(dtype))
    assert posteriors.exclusive
    assert values.dtype == dtype
    np.testing.assert_allclose(values.sum(axis=1), np.sqrt(5), rtol=1e-5)
    expected = np.sqrt(5) * softmax(posteriors.slope * scores + posteriors.offset, axis=1)
    np.testing.assert_allclose(values, expected, rtol=1e-4)


def test_posteriors_of_labels_that_points_share_are_sigmoids(rng):
    scores, labels = shared_labels(rng)
    posteriors = fit_posteriors(scores, labels)
    assert not posteriors.exclusive
    np.testing.assert_allclose(posteriors(scores), 2 * expit(posteriors.slope * scores + posteriors.offset))


@pytest.mark.parametrize("exclusive", [True, False])
def test_posteriors_are_a_softened_maximum_likelihood_fit(exclusive, rng):
    scores, labels = noisy_scores(rng) if exclusive else shared_labels(rng)
    n, owned = len(scores), labels > 0
    target = (n * owned + 1) / (n + (5 if exclusive else 2))

    def loss(parameters):
        logits = scores * parameters[0] + parameters[1:]
        if exclusive:
            return -(target * log_softmax(logits, axis=1)).sum() / n
        return (np.logaddexp(0, logits) - target * logits).sum() / n

    posteriors = fit_posteriors(scores, labels)
    fitted = np.append(posteriors.slope, posteriors.offset) / SOFTENING
    best = minimize(loss, fitted, method="BFGS", options={"gtol": 1e-4})
    assert loss(fitted) == pytest.approx(best.fun, abs=1e-5)
    assert fitted[0] == pytest.approx(best.x[0], rel=0.02)
    assert loss(fitted) < loss(SOFTENING * fitted)


def test_probabilities_are_not_softened_and_calibrated(rng):
    classes = rng.choice(5, 2000, p=[0.5, 0.2, 0.15, 0.1, 0.05])
    labels = plus_minus(classes)
    scores = 0.3 * (labels + 1.8 * rng.normal(size=labels.shape))
    posteriors = fit_posteriors(scores, labels)
    found = posteriors.probabilities(scores)
    np.testing.assert_allclose(found, softmax((posteriors.slope * scores + posteriors.offset) / SOFTENING, axis=1))
    # At the maximum of the likelihood the offsets make the mean probability of a label its frequency.
    np.testing.assert_allclose(found.mean(axis=0), np.bincount(classes) / 2000, atol=0.005)
    for label in range(5):
        is_likely = (found[:, label] > 0.4) & (found[:, label] < 0.6)
        assert abs((classes[is_likely] == label).mean() - 0.5) < 0.2


@pytest.mark.parametrize("gap", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("exclusive", [True, False])
def test_posteriors_of_separable_scores_are_finite(gap, exclusive, rng):
    labels = plus_minus(rng.integers(0, 4, 200))
    if not exclusive:
        labels[:, 3] = labels[:, 0]
    posteriors = fit_posteriors(gap * labels, labels)
    values = posteriors(gap * labels.astype(np.float64))
    assert np.isfinite(posteriors.slope)
    assert posteriors.slope > 0
    assert np.isfinite(values).all()
    assert values[labels > 0].min() > values[labels < 0].max()


@pytest.mark.parametrize("row", [np.zeros(4), np.full(4, 0.7), np.array([0.1, -0.2, 0.3, 0.0])])
@pytest.mark.parametrize("exclusive", [True, False])
def test_constant_scores_give_constant_posteriors(row, exclusive, rng):
    labels = plus_minus(rng.integers(0, 4, 100))
    if not exclusive:
        labels[:, 3] = labels[:, 0]
    scores = np.tile(row, (100, 1))
    values = fit_posteriors(scores, labels)(scores)
    assert np.isfinite(values).all()
    np.testing.assert_allclose(values, values[:1].repeat(100, axis=0))


def test_posteriors_of_huge_scores_do_not_overflow():
    values = Posteriors(1e3, np.zeros(3), True)(np.array([[1e3, 0.0, -1e3]]))
    np.testing.assert_allclose(values, [[np.sqrt(3), 0, 0]])


def test_weights_make_rare_labels_as_probable_as_others():
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], [1000, 1000, 20])
    labels = plus_minus(classes)
    scores = 0.1 * labels * [1, 1, 0.1] + 0.1 * rng.normal(size=labels.shape) * [1, 1, 0.1]
    weighted = fit_posteriors(scores, labels, 1 / np.bincount(classes)[classes])
    assert weighted.slope[2] > 3 * weighted.slope[0]
    found = [fitted(scores).argmax(axis=1) == classes for fitted in (fit_posteriors(scores, labels), weighted)]
    plain_rare, weighted_rare = (is_right[2000:].mean() for is_right in found)
    assert weighted_rare > plain_rare + 0.2


def test_weighted_posteriors_maximise_the_weighted_likelihood(rng):
    scores, labels = noisy_scores(rng)
    weights = rng.random(len(scores)) ** 3
    n, units = len(scores), scores.std(axis=0)
    target, share = (n * (labels > 0) + 1) / (n + 5), weights / weights.sum()

    def loss(parameters):
        return -share @ (target * log_softmax(scores / units * parameters[0] + parameters[1:], axis=1)).sum(axis=1)

    posteriors = fit_posteriors(scores, labels, weights)
    slopes = posteriors.slope * units
    np.testing.assert_allclose(slopes, slopes[0])
    fitted = np.append(slopes[0], posteriors.offset) / SOFTENING
    best = minimize(loss, fitted, method="BFGS", options={"gtol": 1e-4})
    assert loss(fitted) == pytest.approx(best.fun, abs=1e-5)
    # Without weights the fit is another one.
    plain = fit_posteriors(scores / units, labels)
    assert loss(np.append(plain.slope, plain.offset) / SOFTENING) > best.fun + 1e-3


def test_balanced_classes_serve_rare_ones():
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(20, 16))
    y = np.concatenate([np.repeat(np.arange(17), 100), np.repeat([17, 18, 19], 10)])
    X = centres[y] + 0.9 * rng.normal(size=(len(y), 16))
    y_new = np.repeat(np.arange(20), 50)
    X_new = centres[y_new] + 0.9 * rng.normal(size=(1000, 16))

    def precision(proximity):
        model = ProximityPreservingCode(32, proximity=proximity, random_state=0).fit(X, y)
        _, found = model.index(model.encode(X)).search(model.encode(X_new), k=5)
        is_right = (y[found] == y_new[:, None]).mean(axis=1)
        return is_right[y_new >= 17].mean(), is_right[y_new < 17].mean()

    with pytest.warns(UserWarning, match=r"classes 17 \(10\), 18 \(10\), 19 \(10\) have few samples"):
        rare, others = precision(None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        balanced_rare, balanced_others = precision(SameLabel(balanced=True))
    assert balanced_rare > rare + 0.05
    assert balanced_others > others - 0.03


def test_a_balanced_model_is_saved_and_extended(train, tmp_path):
    X, y = train
    rows = np.flatnonzero((y > 0) | (np.arange(len(y)) < 100))
    model = ProximityPreservingCode(12, proximity=SameLabel(balanced=True), random_state=0).fit(X[rows], y[rows])
    model.save(tmp_path / "m.proxcode")
    loaded = ProximityPreservingCode.load(tmp_path / "m.proxcode")
    assert loaded.proximity_.balanced
    longer = ProximityPreservingCode(20, proximity=SameLabel(balanced=True), random_state=0).fit(X[rows], y[rows])
    np.testing.assert_array_equal(loaded.extend(20, X[rows], y[rows]).encode(X), longer.encode(X))
