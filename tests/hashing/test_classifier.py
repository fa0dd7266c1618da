"""ClassifierHash against the classifiers that it trains."""

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from helpers.banks import append, begin, learned
from helpers.classifiers import FOREST, Recorder, Stump
from proxcode.hashing import ClassifierHash
from proxcode.utils.rows import ALL


def test_margin_is_the_decision_function(X, bits):
    hashed, margins = learned(ClassifierHash(LogisticRegression()), X, bits)
    np.testing.assert_allclose(margins[:, 1], LogisticRegression().fit(X, bits[:, 1]).decision_function(X))
    assert len(hashed.classifiers_) == 4


def test_margin_is_the_probability_of_plus_one_minus_a_half(X, bits):
    forest = clone(FOREST).set_params(random_state=4)
    _, margins = learned(ClassifierHash(forest), X, bits)
    np.testing.assert_allclose(margins[:, 1], clone(forest).fit(X, bits[:, 1]).predict_proba(X)[:, 1] - 0.5)


def test_margin_is_the_prediction_where_the_classifier_gives_nothing_else(X, bits):
    _, margins = learned(ClassifierHash(Stump()), X, bits)
    np.testing.assert_array_equal(margins[:, 1], Stump().fit(X, bits[:, 1]).predict(X))


def test_bits_of_a_random_classifier_have_different_seeds(X, bits):
    hashed, _ = learned(ClassifierHash(FOREST), X, bits)
    assert len({forest.random_state for forest in hashed.classifiers_}) == 4


def test_the_given_classifier_is_not_changed(X, bits):
    classifier = clone(FOREST)
    training = ClassifierHash(classifier).begin(X, np.random.default_rng(0))
    append(training, bits[:, 0])
    assert not hasattr(classifier, "estimators_")
    assert classifier.random_state is None


# The samples that a classifier is trained on


def numbers_of(classifier):
    """Return the row numbers of the samples that a classifier was trained on."""
    return classifier.X_[:, 1].astype(int)


def numbered_samples(n):
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(size=n), np.arange(n)]), np.where(np.arange(n) % 4 < 2, -1, 1).astype(np.int8)


def test_a_classifier_is_trained_on_the_given_samples_only():
    X, target = numbered_samples(80)
    some = np.arange(1, 80, 3)
    _, training = begin(ClassifierHash(Recorder()), X)
    margins = append(training, target[some], some)
    np.testing.assert_array_equal(numbers_of(training.bits[0]), some)
    np.testing.assert_array_equal(training.bits[0].y_, target[some])
    np.testing.assert_array_equal(margins, np.where(X[:, 0] > 0, 1, -1))


def test_max_samples_are_drawn_among_the_given_samples():
    X, target = numbered_samples(80)
    hashed, training = begin(ClassifierHash(Recorder(), max_samples=10), X)
    odd = np.arange(1, 80, 2)
    for samples in (odd, odd, ALL, odd[:8]):
        append(training, target[samples], samples)
    hashed.finish(training, 4)
    first, again, of_all, few = (numbers_of(classifier) for classifier in hashed.classifiers_)
    assert len(first) == len(of_all) == 10
    assert set(first) <= set(odd)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(few, odd[:8])
    assert set(of_all) & set(odd) <= set(first)
    for classifier in hashed.classifiers_:
        np.testing.assert_array_equal(classifier.y_, target[numbers_of(classifier)])


def test_samples_are_numbered_among_the_rows_of_begin():
    X, target = numbered_samples(80)
    rows, some = np.arange(10, 50), np.array([0, 5, 12, 39])
    _, training = begin(ClassifierHash(Recorder()), X, rows=rows)
    assert len(append(training, target[rows[some]], some)) == 40
    np.testing.assert_array_equal(numbers_of(training.bits[0]), rows[some])
