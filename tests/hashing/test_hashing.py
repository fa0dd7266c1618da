"""Hash functions against independent solves and the classifiers they are made of."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import proxcode.hashing.svm
from helpers.banks import learned
from proxcode.hashing import ClassifierHash, KernelHash, SVMHash, as_hash_function
from proxcode.hashing.kernel import JITTER


class Stump(ClassifierMixin, BaseEstimator):
    """A classifier with nothing but predict."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.cut_ = np.median(X[:, 0])
        return self

    def predict(self, X):
        return np.where(X[:, 0] > self.cut_, self.classes_[-1], self.classes_[0])


FOREST = RandomForestClassifier(n_estimators=5, n_jobs=1)
HASHES = [
    KernelHash(n_landmarks=40),
    SVMHash(),
    SVMHash(max_samples=50),
    ClassifierHash(LogisticRegression()),
    ClassifierHash(FOREST),
    ClassifierHash(Stump()),
]


@pytest.fixture(name="X")
def points(rng):
    return rng.normal(size=(120, 4))


@pytest.fixture
def bits(X, rng):
    projections = X @ rng.normal(size=(4, 4)) + 0.3 * rng.normal(size=(120, 4))
    return np.where(projections >= 0, 1, -1).astype(np.int8)


# KernelHash


@pytest.mark.parametrize("ridge", [1e-2, 1.0])
def test_kernel_hash_solves_its_objective(ridge, X, bits):
    bank, margins = learned(KernelHash(n_landmarks=20, ridge=ridge), X, bits)
    n, m = len(X), len(bank.landmarks_)
    design = np.column_stack([rbf_kernel(X - bank.center_, bank.landmarks_, gamma=bank.gamma_), np.ones(n)])
    penalty = np.zeros((m + 1, m + 1))
    penalty[:m, :m] = rbf_kernel(bank.landmarks_, gamma=bank.gamma_) + JITTER * np.eye(m)
    solution = np.linalg.solve(design.T @ design + ridge * n * penalty, design.T @ bits)
    np.testing.assert_allclose(margins, design @ solution, atol=1e-4)


def test_kernel_hash_with_every_point_a_landmark_is_kernel_ridge_regression(X, bits):
    ridge = 1e-2
    bank, margins = learned(KernelHash(n_landmarks=len(X), ridge=ridge), X, bits)
    eigenvalues, eigenvectors = np.linalg.eigh(rbf_kernel(X, gamma=bank.gamma_))
    features = eigenvectors * np.sqrt(np.maximum(eigenvalues, 0))
    expected = Ridge(alpha=ridge * len(X)).fit(features, bits).predict(features)
    np.testing.assert_allclose(margins, expected, atol=1e-3)


def test_landmarks_are_training_points(X, bits):
    bank, _ = learned(KernelHash(n_landmarks=30), X, bits)
    assert bank.landmarks_.shape == (30, 4)
    assert {tuple(row) for row in bank.landmarks_} <= {tuple(row) for row in X - bank.center_}
    assert len(learned(KernelHash(n_landmarks=1000), X, bits)[0].landmarks_) == 120


def test_default_gamma_is_one_over_the_median_squared_distance(X, bits):
    bank, _ = learned(KernelHash(n_landmarks=50), X, bits)
    assert bank.gamma_ == pytest.approx(1 / np.median(pdist(bank.landmarks_, "sqeuclidean")))
    assert learned(KernelHash(gamma=0.7), X, bits)[0].gamma_ == 0.7


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_kernel_hash_does_not_depend_on_the_unit_of_the_data(unit, X, bits):
    expected = learned(KernelHash(n_landmarks=40, ridge=1e-2), X, bits)[1]
    np.testing.assert_allclose(learned(KernelHash(n_landmarks=40, ridge=1e-2), unit * X, bits)[1], expected, atol=1e-8)


def test_default_gamma_does_not_depend_on_the_origin_of_the_data(X, bits):
    expected, shifted = (learned(KernelHash(), points, bits)[0].gamma_ for points in (X, X + 1e4))
    assert shifted == pytest.approx(expected, rel=1e-3)


def test_margins_do_not_depend_on_the_origin_of_the_data(X, bits):
    hash_function = KernelHash(n_landmarks=40, gamma=0.1, ridge=1e-2)
    expected, shifted = (learned(hash_function, points, bits)[1] for points in (X, X + 1e4))
    np.testing.assert_allclose(shifted, expected, atol=1e-4)


def test_single_precision_gives_nearly_the_same_margins(X, bits):
    expected = learned(KernelHash(n_landmarks=40, ridge=1e-2), X, bits)[1]
    bank, margins = learned(KernelHash(n_landmarks=40, ridge=1e-2), X.astype(np.float32), bits)
    assert bank.landmarks_.dtype == np.float32
    np.testing.assert_allclose(margins, expected, atol=1e-3)


def test_equal_points_get_equal_margins(bits):
    bank, margins = learned(KernelHash(), np.full((120, 4), 0.1), bits)
    np.testing.assert_allclose(margins, np.tile(bits.mean(axis=0), (120, 1)), atol=1e-6)
    assert bank.gamma_ == 1.0


def test_more_points_than_a_block_give_the_margins_of_scores(rng):
    X = rng.normal(size=(5000, 3)).astype(np.float32)
    side = np.where(X[:, 0] > 0, 1, -1).astype(np.int8)[:, None]
    bank, margins = learned(KernelHash(n_landmarks=20), X, side)
    np.testing.assert_allclose(bank.scores(X, 1), margins, atol=1e-3)
    np.testing.assert_allclose(bank.scores(X[1234:4321], 1), margins[1234:4321], atol=1e-3)


# All hash functions


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("hash_function", HASHES, ids=repr)
def test_margins_of_learning_are_the_scores_of_the_training_points(hash_function, dtype, X, bits):
    bank, margins = learned(hash_function, X.astype(dtype), bits)
    scores = bank.scores(X.astype(dtype), 4)
    assert bank.n_bits_ == 4
    assert scores.dtype == np.float64
    tolerance = 1e-3 if dtype == np.float32 else 1e-8
    np.testing.assert_allclose(scores, margins, atol=tolerance)
    np.testing.assert_allclose(bank.scores(X.astype(dtype), 2), margins[:, :2], atol=tolerance)


@pytest.mark.parametrize("hash_function", HASHES[:-1], ids=repr)
def test_bits_that_can_be_learned_are_learned(hash_function, X):
    side = np.where(X[:, :1] + X[:, 1:2] > 0, 1, -1).astype(np.int8)
    _, margins = learned(hash_function, X, side)
    assert ((margins >= 0) == (side > 0)).mean() > 0.85


@pytest.mark.parametrize("hash_function", HASHES, ids=repr)
def test_a_bank_begun_again_keeps_its_bits_and_goes_on_as_if_never_stopped(hash_function, X, bits):
    whole, _ = learned(hash_function, X, bits)
    bank, margins = learned(hash_function, X, bits[:, :2])
    bank.begin(X, np.random.default_rng(0))
    for side in bits.T[2:]:
        bank.learn(side)
    bank.finish()
    scores = bank.scores(X, 4)
    assert bank.n_bits_ == 4
    np.testing.assert_allclose(scores[:, :2], margins, atol=1e-8)
    np.testing.assert_allclose(scores, whole.scores(X, 4), atol=1e-12)


@pytest.mark.parametrize("hash_function", HASHES, ids=repr)
def test_finish_forgets_the_training_points(hash_function, X, bits):
    bank, _ = learned(hash_function, X, bits)
    assert not [name for name in vars(bank) if name.startswith("_")]


@pytest.mark.parametrize("constant", [-1, 1])
@pytest.mark.parametrize("hash_function", HASHES, ids=repr)
def test_a_constant_bit_stays_constant(hash_function, constant, X):
    side = np.full((120, 1), constant, np.int8)
    bank, margins = learned(hash_function, X, side)
    np.testing.assert_allclose(margins, side)
    np.testing.assert_array_equal(bank.scores(X[:7] + 1, 1) >= 0, np.full((7, 1), constant > 0))


@pytest.mark.parametrize("hash_function", HASHES, ids=repr)
def test_same_seed_same_scores(hash_function, X, bits):
    first, second = (learned(hash_function, X, bits, seed=3)[0].scores(X, 4) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_same_seed_same_scores_for_a_random_classifier_in_a_pipeline(X, bits):
    hash_function = ClassifierHash(make_pipeline(StandardScaler(), FOREST))
    first, second = (learned(hash_function, X, bits, seed=3)[0].scores(X, 4) for _ in range(2))
    np.testing.assert_array_equal(first, second)


# Classifiers


def test_margin_is_the_decision_function(X, bits):
    bank, margins = learned(ClassifierHash(LogisticRegression()), X, bits)
    np.testing.assert_allclose(margins[:, 1], LogisticRegression().fit(X, bits[:, 1]).decision_function(X))
    assert len(bank.classifiers_) == 4


def test_margin_is_the_probability_of_plus_one_less_a_half(X, bits):
    forest = clone(FOREST).set_params(random_state=4)
    _, margins = learned(ClassifierHash(forest), X, bits)
    np.testing.assert_allclose(margins[:, 1], clone(forest).fit(X, bits[:, 1]).predict_proba(X)[:, 1] - 0.5)


def test_margin_is_the_prediction_where_there_is_nothing_else(X, bits):
    _, margins = learned(ClassifierHash(Stump()), X, bits)
    np.testing.assert_array_equal(margins[:, 1], Stump().fit(X, bits[:, 1]).predict(X))


def test_bits_of_a_random_classifier_have_seeds_of_their_own(X, bits):
    bank, _ = learned(ClassifierHash(FOREST), X, bits)
    assert len({forest.random_state for forest in bank.classifiers_}) == 4


def test_the_given_classifier_is_left_alone(X, bits):
    classifier = clone(FOREST)
    bank = ClassifierHash(classifier)
    bank.begin(X, np.random.default_rng(0))
    bank.learn(bits[:, 0])
    assert not hasattr(classifier, "estimators_")
    assert classifier.random_state is None


def test_svm_hash_is_a_gaussian_svm(X, bits):
    _, margins = learned(SVMHash(C=2.0, gamma=0.3), X, bits)
    np.testing.assert_allclose(margins[:, 0], SVC(C=2.0, gamma=0.3).fit(X, bits[:, 0]).decision_function(X))


def test_max_samples_trains_on_as_many_points(X, bits):
    bank, margins = learned(SVMHash(max_samples=30), X, bits)
    assert 1 < len(bank.support_) == len(bank.support_vectors_) <= 30
    np.testing.assert_array_equal(bank.support_vectors_, X[bank.support_])
    assert margins.shape == (120, 4)
    np.testing.assert_array_equal(learned(SVMHash(max_samples=500), X, bits)[1], learned(SVMHash(), X, bits)[1])


def test_a_bit_constant_on_the_sample_is_constant(X):
    side = np.ones((120, 1), np.int8)
    side[np.random.default_rng(0).permutation(120) >= 10] = -1  # the order that samples are the first of
    np.testing.assert_array_equal(learned(SVMHash(max_samples=10), X, side)[1], np.ones((120, 1)))


def test_svm_hash_warns_above_its_comfort(X, monkeypatch):
    monkeypatch.setattr(proxcode.hashing.svm, "SVM_COMFORT", 100)
    with pytest.warns(UserWarning, match=r"SVMHash on 120 points.*max_samples=100.*KernelHash\(\)"):
        SVMHash().begin(X, np.random.default_rng(0))


def test_svm_hash_is_silent_with_few_samples(X, monkeypatch, recwarn):
    monkeypatch.setattr(proxcode.hashing.svm, "SVM_COMFORT", 100)
    SVMHash(max_samples=100).begin(X, np.random.default_rng(0))
    assert not recwarn


# What is taken as a hash function


def test_default_is_the_kernel_hash():
    assert isinstance(as_hash_function(None), KernelHash)


def test_a_hash_function_is_cloned():
    given = KernelHash(n_landmarks=7)
    taken = as_hash_function(given)
    assert taken is not given
    assert taken.n_landmarks == 7


def test_a_classifier_becomes_a_bank():
    taken = as_hash_function(LogisticRegression(C=3))
    assert isinstance(taken, ClassifierHash)
    assert taken.classifier.C == 3


@pytest.mark.parametrize("wrong", ["svm", Ridge(), LogisticRegression, 3])
def test_anything_else_is_refused(wrong):
    with pytest.raises(
        TypeError, match=r"hash_function=.*KernelHash.*LinearHash.*SVMHash.*or a scikit-learn classifier"
    ):
        as_hash_function(wrong)


@pytest.mark.parametrize(
    ("hash_function", "message"),
    [
        (KernelHash(n_landmarks=0), r"n_landmarks=0: give a whole number, at least 1"),
        (SVMHash(max_samples=1), r"max_samples=1.*at least 2"),
        (ClassifierHash(LogisticRegression(), max_samples=0), r"max_samples=0.*at least 2"),
    ],
)
def test_errors(hash_function, message, X):
    with pytest.raises(ValueError, match=message):
        hash_function.begin(X, np.random.default_rng(0))
