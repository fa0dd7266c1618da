"""The map learned from classes for codes of new classes: against its formulae, on left-out classes, in edge cases."""

import numpy as np
import pytest
from scipy.linalg import inv, sqrtm
from sklearn.metrics import average_precision_score

from proxcode.hashing import class_map as module
from proxcode.hashing.class_map import PLAIN, STRENGTHS, Strength, choose_strength, fit_class_map


def generator(seed=0):
    return np.random.default_rng(seed)


def classes_with_noise(n_classes, per_class, seed=0, d=30):
    """Class means in the first ten features, and in the others noise of much larger variance."""
    rng = generator(seed)
    y = np.repeat(np.arange(n_classes), per_class)
    scale = np.r_[np.full(10, 0.6), np.full(d - 10, 4.0)]
    X = rng.normal(size=(len(y), d)) * scale
    X[:, :10] += rng.normal(size=(n_classes, 10))[y]
    return X, y


def precision(Z, y):
    """Average precision of pairs by their cosine, by scikit-learn."""
    Z = Z - Z.mean(axis=0)
    Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    pairs = np.triu_indices(len(y), 1)
    return average_precision_score((y[:, None] == y)[pairs], (Z @ Z.T)[pairs])


def slow_matrix(Z, y, s, tau):
    """F K for samples in rows, with matrix functions in the order of the module's steps."""
    means = np.array([Z[y == c].mean(axis=0) for c in y])
    W = (Z - means).T @ (Z - means) / len(Z)
    B = np.cov(means.T, bias=True)
    q = len(W)
    C = W + B + 1e-3 * np.trace(W + B) / q * np.eye(q)
    share = np.trace(B) / np.trace(W + B)
    filter_ = sqrtm(tau * share * np.eye(q) + (1 - tau) * inv(C) @ B).real
    return filter_ @ inv(sqrtm((1 - s) * W + s * np.trace(W) / q * np.eye(q)))


def test_new_classes_are_nearer_to_themselves_in_the_map():
    X, y = classes_with_noise(60, 20)
    known = y < 40
    fitted = fit_class_map(X[known], y[known], generator())
    assert not fitted.is_plain
    assert fitted.strength in STRENGTHS[1:]
    assert precision(fitted(X[~known]), y[~known]) > 2 * precision(X[~known], y[~known])


@pytest.mark.parametrize("strength", STRENGTHS[1:])
def test_the_map_follows_its_formulae(strength, monkeypatch):
    X, y = classes_with_noise(12, 20, d=14)
    monkeypatch.setattr(module, "choose_strength", lambda scores: strength)
    fitted = fit_class_map(X, y, generator())
    mean, axes = X.mean(axis=0), np.linalg.svd(X - X.mean(axis=0))[2].T
    Z = (X - mean) @ axes
    expected = Z @ slow_matrix(Z, y, *strength)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    # Axes are determined up to their signs: compare inner products.
    ours = fitted(X)
    np.testing.assert_allclose(ours @ ours.T, expected @ expected.T, atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(ours, axis=1), 1)


def test_average_precision_is_that_of_scikit_learn():
    X, y = classes_with_noise(5, 12)
    centred = X - X.mean(axis=0)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    assert module._average_precision(unit, y) == pytest.approx(precision(X, y))


def test_labels_without_meaning_leave_samples_as_they_are():
    rng = generator(3)
    X, y = rng.normal(size=(600, 12)) * np.arange(1, 13), rng.integers(0, 8, 600)
    fitted = fit_class_map(X, y, generator())
    assert fitted.is_plain
    assert fitted.strength == PLAIN
    assert fitted(X) is X
    assert fitted.scores.shape == (module.N_ROUNDS, len(STRENGTHS))


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_too_few_classes_to_leave_some_out_give_a_plain_map(n_classes):
    X, y = classes_with_noise(n_classes, 30)
    fitted = fit_class_map(X, y, generator())
    assert fitted.is_plain
    assert fitted.scores.shape == (0, len(STRENGTHS))


def test_one_standard_error():
    # What all strengths share in a round does not count; the standard error of +-1 over 8 rounds is 0.38.
    common, turns = np.arange(8.0)[:, None], np.resize([1.0, -1.0], (8, 1))
    gains = np.array([0, 1, 3, 3.1, 2])
    assert choose_strength(common + gains) == STRENGTHS[3]
    assert choose_strength(common + gains + turns * [0, 0, 0, 1, 0]) == STRENGTHS[2]
    assert choose_strength(common + gains / 10 + turns * [0, 1, 1, 1, 1]) == PLAIN
    assert choose_strength(np.zeros((8, 5))) == PLAIN
    assert choose_strength(np.zeros((0, 5))) == Strength(1, 1)


def test_classes_of_one_sample_count_as_known_only():
    X, y = classes_with_noise(30, 20)
    y[:100] = 1000 + np.arange(100)
    fitted = fit_class_map(X, y, generator())
    assert fitted.scores.shape == (module.N_ROUNDS, len(STRENGTHS))
    assert np.isfinite(fitted(X)).all()
    assert fit_class_map(X[:100], y[:100], generator()).is_plain


def test_many_small_classes():
    X, y = classes_with_noise(600, 5)
    fitted = fit_class_map(X, y, generator())
    assert not fitted.is_plain
    new, labels = classes_with_noise(600, 5)
    assert precision(fitted(new[:500]), labels[:500]) > precision(new[:500], labels[:500])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_features_and_precision(dtype):
    X, y = classes_with_noise(30, 20)
    X = np.column_stack([X, np.full(len(X), 7.0), np.zeros(len(X))]).astype(dtype)
    fitted = fit_class_map(X, y, generator())
    assert not fitted.is_plain
    assert fitted(X).dtype == dtype
    double = fit_class_map(X.astype(np.float64), y, generator())
    np.testing.assert_allclose(fitted(X) @ fitted(X[:9]).T, double(X) @ double(X[:9]).T, atol=1e-3)


@pytest.mark.parametrize("X", [np.ones((40, 3)), np.zeros((40, 3), np.float32)])
def test_equal_samples_do_not_fail(X):
    assert np.isfinite(fit_class_map(X, np.arange(40) % 8, generator())(X)).all()


def test_classes_without_spread_do_not_fail():
    X = np.repeat(generator().normal(size=(8, 5)), 6, axis=0)
    assert np.isfinite(fit_class_map(X, np.repeat(np.arange(8), 6), generator())(X)).all()


def test_same_seed_same_map_and_labels_of_any_type():
    X, y = classes_with_noise(30, 20)
    first, second = (fit_class_map(X, labels, generator(5)) for labels in (y, np.array([f"{k:03}" for k in y])))
    np.testing.assert_array_equal(first.scores, second.scores)
    np.testing.assert_array_equal(first(X), second(X))


def test_more_features_than_samples():
    rng = generator()
    X, y = classes_with_noise(30, 10)
    wide = (X @ rng.normal(size=(30, 900))).astype(np.float32)
    fitted = fit_class_map(wide, y, generator())
    # The samples lie in a space of 30 dimensions, found in spite of rounding.
    assert 30 <= fitted.directions.shape[1] <= 60
    assert np.isfinite(fitted(wide)).all()
