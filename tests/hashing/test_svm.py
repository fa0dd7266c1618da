"""SVMHash against scikit-learn's SVM."""

import numpy as np
import pytest
from sklearn.svm import SVC

import proxcode.hashing.svm_training
from helpers.banks import learned
from proxcode import ProximityPreservingCode
from proxcode.hashing import SVMHash


def exact(X, target, **parameters):
    """Return the margins of scikit-learn's SVM, solved to six digits."""
    return SVC(tol=1e-6, **parameters).fit(X, target).decision_function(X)


def dual_objective(X, target, machine):
    """Return a'Ka / 2 - |a|_1, which the coefficients a of an SVM minimise."""
    Z = X[machine.support].astype(np.float64)
    K = np.exp(-machine.gamma * ((Z[:, None] - Z) ** 2).sum(axis=2))
    assert (np.sign(machine.dual_coef) == target[machine.support]).all()
    assert abs(machine.dual_coef.sum()) < 1e-6
    return machine.dual_coef @ K @ machine.dual_coef / 2 - np.abs(machine.dual_coef).sum()


def test_svm_hash_is_a_gaussian_svm(X, bits):
    _, margins = learned(SVMHash(C=2.0, gamma=0.3), X, bits)
    np.testing.assert_allclose(margins[:, 0], exact(X, bits[:, 0], C=2.0, gamma=0.3), atol=2e-3)


@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_named_kernel_coefficients_are_those_of_scikit_learn(gamma, X, bits):
    _, margins = learned(SVMHash(gamma=gamma), 3 * X, bits)
    np.testing.assert_allclose(margins[:, 0], exact(3 * X, bits[:, 0], gamma=gamma), atol=2e-3)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("n_samples", [40, 600, 1300])
def test_the_dual_problem_is_solved_as_well_as_by_scikit_learn(C, n_samples):
    rng = np.random.default_rng(n_samples)
    X = rng.standard_normal((n_samples, 6))
    # A noisy target, equal samples with equal and with opposite targets.
    target = np.where(X[:, 0] * X[:, 1] + rng.standard_normal(n_samples) > 0, 1, -1).astype(np.int8)
    X[1], X[3] = X[0], X[2]
    target[:4] = [1, 1, 1, -1]
    hashed, margins = learned(SVMHash(C=C, gamma=0.5), X, target[:, None])
    machine = hashed.classifiers_[0]
    assert (np.abs(machine.dual_coef) <= C * (1 + 1e-12)).all()
    peer = SVC(C=C, gamma=0.5, tol=1e-6).fit(X, target)
    best = dual_objective(X, target, machine._replace(support=peer.support_, dual_coef=peer.dual_coef_[0]))
    assert dual_objective(X, target, machine) <= best + 1e-5 * abs(best)
    np.testing.assert_allclose(margins[:, 0], peer.decision_function(X), atol=5e-3 * max(1, C))


def test_max_samples_limits_the_training_samples(X, bits):
    hashed, margins = learned(SVMHash(max_samples=30), X, bits)
    assert 1 < len(hashed.support_) == len(hashed.support_vectors_) <= 30
    np.testing.assert_array_equal(hashed.support_vectors_, X[hashed.support_])
    assert margins.shape == (120, 4)
    np.testing.assert_array_equal(learned(SVMHash(max_samples=500), X, bits)[1], learned(SVMHash(), X, bits)[1])


def test_training_margins_are_those_of_the_expansion(X, bits):
    """Whether kernel values are kept, computed again or, for other samples, computed for a bit alone."""
    for hash_function in (SVMHash(), SVMHash(max_samples=30), SVMHash(max_samples=30, cache_size=5000 / 2**20)):
        training = hash_function.begin(X, np.random.default_rng(0))
        for samples in (slice(None), np.arange(0, 120, 2), training.order[60:]):
            bit = training.propose(bits[samples, 0], samples)
            training.bits = [bit.parameters]
            hash_function.finish(training, 1)
            np.testing.assert_allclose(bit.margins, hash_function.scores(X, 1)[:, 0], atol=1e-5)
            np.testing.assert_array_equal(training.margins(bit.parameters), bit.margins)
            assert np.isin(bit.parameters.support, np.arange(120)[samples]).all()


def test_the_kernel_is_computed_once(X, bits, monkeypatch):
    computed = []
    kernel = proxcode.hashing.svm_training._kernel
    monkeypatch.setattr(proxcode.hashing.svm_training, "_kernel", lambda *args: computed.append(1) or kernel(*args))
    learned(SVMHash(), X, bits)
    assert len(computed) == 1


def test_the_kernel_value_of_a_sample_with_itself_is_1(rng):
    # Squared distances by inner products are rounded to some 1e-16 times the squared norms.
    X = np.vstack([rng.standard_normal((20, 3)), 1e8 + rng.standard_normal((20, 3))])
    for max_samples in (40, 30):
        training = SVMHash(gamma=1e6, max_samples=max_samples).begin(X, np.random.default_rng(0))
        np.testing.assert_array_equal(np.diag(training.kernel), np.ones(max_samples, np.float32))


def test_a_bit_constant_on_its_training_samples_is_constant(X):
    target = np.ones((120, 1), np.int8)
    # The training samples are the first ones of this order.
    target[np.random.default_rng(0).permutation(120) >= 10] = -1
    np.testing.assert_array_equal(learned(SVMHash(max_samples=10), X, target)[1], np.ones((120, 1)))


def test_the_samples_to_train_on_are_as_many_as_kernel_values_fit_into_memory(X, bits):
    training = SVMHash(cache_size=0.05).begin(X, np.random.default_rng(0))
    assert training.n_trained == 114
    assert training.propose(bits[:, 0]).parameters.support.size <= 114
    assert training.kernel.nbytes <= 0.05 * 2**20


def test_kernel_values_that_do_not_fit_are_refused(X):
    message = r"cache_size=0.05: the kernel values of 115 samples take 0.0504 meg.* max_samples to at most 114\."
    with pytest.raises(ValueError, match=message):
        SVMHash(max_samples=115, cache_size=0.05).begin(X, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"cache_size=1e-09: the kernel values of 2 samples take"):
        SVMHash(cache_size=1e-9).begin(X, np.random.default_rng(0))


def test_a_resumed_fit_of_the_papers_method_gives_the_same_bits(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 5)), rng.integers(0, 3, 300)
    whole = ProximityPreservingCode.paper(12, random_state=0, hash_function=SVMHash(max_samples=100)).fit(X, y)
    short = ProximityPreservingCode.paper(5, random_state=0, hash_function=SVMHash(max_samples=100)).fit(X, y)
    np.testing.assert_array_equal(short.extend(12, X, y).codes_, whole.codes_)


def test_a_bit_that_does_not_converge_warns(X, bits, monkeypatch):
    monkeypatch.setattr(proxcode.hashing.svm_training, "STEPS", 1)
    monkeypatch.setattr(proxcode.hashing.svm_training, "MOST_STEPS", 2)
    monkeypatch.setattr(proxcode.hashing.svm_training, "STEPS_PER_SAMPLE", 0)
    with pytest.warns(UserWarning, match=r"the SVM of a bit did not converge in 2 steps: lower C=1"):
        learned(SVMHash(), X, bits)
