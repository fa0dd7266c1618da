"""SVMHash against scikit-learn's SVM."""

import numpy as np
import pytest
from sklearn.svm import SVC

import proxcode.hashing.svm
from helpers.banks import learned
from proxcode.hashing import SVMHash


def test_svm_hash_is_a_gaussian_svm(X, bits):
    _, margins = learned(SVMHash(C=2.0, gamma=0.3), X, bits)
    np.testing.assert_allclose(margins[:, 0], SVC(C=2.0, gamma=0.3).fit(X, bits[:, 0]).decision_function(X))


@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_named_kernel_coefficients_are_those_of_scikit_learn(gamma, X, bits):
    _, margins = learned(SVMHash(gamma=gamma), 3 * X, bits)
    expected = SVC(gamma=gamma).fit(3 * X, bits[:, 0]).decision_function(3 * X)
    np.testing.assert_allclose(margins[:, 0], expected)


def test_margins_of_one_bit_are_a_column_of_the_scores(X, bits):
    hashed, margins = learned(SVMHash(), X, bits)
    np.testing.assert_allclose(hashed.margins(hashed.classifiers_[2], X), margins[:, 2], atol=1e-10)


def test_max_samples_limits_the_training_samples(X, bits):
    hashed, margins = learned(SVMHash(max_samples=30), X, bits)
    assert 1 < len(hashed.support_) == len(hashed.support_vectors_) <= 30
    np.testing.assert_array_equal(hashed.support_vectors_, X[hashed.support_])
    assert margins.shape == (120, 4)
    np.testing.assert_array_equal(learned(SVMHash(max_samples=500), X, bits)[1], learned(SVMHash(), X, bits)[1])


def test_a_bit_constant_on_its_training_samples_is_constant(X):
    target = np.ones((120, 1), np.int8)
    # The training samples are the first ones of this order.
    target[np.random.default_rng(0).permutation(120) >= 10] = -1
    np.testing.assert_array_equal(learned(SVMHash(max_samples=10), X, target)[1], np.ones((120, 1)))


def test_svm_hash_warns_where_training_takes_long(X, monkeypatch):
    monkeypatch.setattr(proxcode.hashing.svm, "COMFORTABLE_SAMPLES", 100)
    with pytest.warns(UserWarning, match=r"SVMHash on 120 samples.*max_samples=100.*KernelHash\(\)"):
        SVMHash().begin(X, np.random.default_rng(0))


def test_svm_hash_is_silent_with_few_samples(X, monkeypatch, recwarn):
    monkeypatch.setattr(proxcode.hashing.svm, "COMFORTABLE_SAMPLES", 100)
    SVMHash(max_samples=100).begin(X, np.random.default_rng(0))
    assert not recwarn
