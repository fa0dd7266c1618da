"""Ridge hash functions and what is built on them, against scikit-learn and brute force."""

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import Ridge
from sklearn.utils import check_random_state

import proxcode.hashing.ridge
from helpers.banks import learned
from proxcode import ClassifierHash, KernelHash, LinearHash, ProximityPreservingCode
from proxcode.hashing.kernel import JITTER
from proxcode.hashing.posteriors import SOFTENING, Posteriors, fit_posteriors
from proxcode.hashing.ridge import DEFAULT_RIDGE, RIDGES
from proxcode.peers import ClassifierCode, Hadamard
from proxcode.peers.hadamard import hadamard_codewords


@pytest.fixture(name="X")
def points(rng):
    return 3 * rng.normal(size=(120, 6)) + 10 * rng.normal(size=6)


@pytest.fixture
def bits(X, rng):
    projections = (X - X.mean(axis=0)) @ rng.normal(size=(6, 4)) + rng.normal(size=(120, 4))
    return np.where(projections >= 0, 1, -1).astype(np.int8)


def plus_minus(classes):
    return np.where(classes[:, None] == np.arange(classes.max() + 1), 1, -1).astype(np.int8)


# LinearHash


@pytest.mark.parametrize("ridge", [None, 1e-3, 1.0])
def test_linear_hash_is_ridge_regression_on_scaled_points(ridge, X, bits):
    bank, margins = learned(LinearHash(ridge), X, bits)
    centred = X - X.mean(axis=0)
    scaled = centred / np.sqrt((centred**2).sum(axis=1).mean())
    np.testing.assert_allclose(bank.center_, X.mean(axis=0))
    assert (bank._inputs(X) ** 2).sum(axis=1).mean() == pytest.approx(1)
    assert bank.ridge_ == (DEFAULT_RIDGE if ridge is None else ridge)
    expected = Ridge(alpha=bank.ridge_ * len(X)).fit(scaled, bits).predict(scaled)
    np.testing.assert_allclose(margins, expected, atol=1e-8)


@pytest.mark.parametrize("hash_function", [LinearHash(), KernelHash(n_landmarks=30)], ids=lambda h: type(h).__name__)
@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-7), (np.float32, 1e-2)])
def test_scores_of_training_points_are_their_training_margins(hash_function, dtype, atol, X, bits):
    bank, margins = learned(hash_function, X.astype(dtype), bits)
    np.testing.assert_allclose(bank.scores(X.astype(dtype), 4), margins, atol=atol)
    np.testing.assert_array_equal(bank.scores(X.astype(dtype), 2), bank.scores(X.astype(dtype), 4)[:, :2])


def test_linear_hash_in_single_precision_is_nearly_that_in_double(X, bits):
    expected = learned(LinearHash(), X, bits)[1]
    np.testing.assert_allclose(learned(LinearHash(), X.astype(np.float32), bits)[1], expected, atol=1e-3)


def test_linear_hash_learns_a_side_of_some_points_only(X, bits):
    bank = LinearHash(ridge=1e-3)
    bank.begin(X, np.random.default_rng(0))
    some = np.arange(0, 120, 2)
    flipped = bits[:, 0].copy()
    flipped[1::2] *= -1
    np.testing.assert_array_equal(bank.learn(bits[some, 0], some), bank.learn(flipped[some], some))
    assert (np.sign(bank.training_margins(0)) == bits[:, 0]).mean() > 0.7


def test_linear_hash_pickles_and_clones(X, bits):
    bank, _ = learned(LinearHash(ridge=1e-2), X, bits)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(bank)).scores(X, 4), bank.scores(X, 4))
    assert clone(bank).get_params() == {"ridge": 1e-2}
    assert not hasattr(clone(bank), "coef_")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("by_labels", [True, False])
def test_linear_hash_carries_codes(by_labels, dtype, train, new):
    X, y = train[0].astype(dtype), train[1] if by_labels else None
    model = ProximityPreservingCode(12, hash_function=LinearHash(), random_state=0).fit(X, y)
    assert model.hash_function_.coef_.shape == (10 if by_labels else 12, 64)
    assert (model.hash_function_.posteriors_ is None) is not by_labels
    assert model.score(new[0].astype(dtype), new[1] if by_labels else None) > (0.6 if by_labels else 0.3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).encode(X), model.codes_)


@pytest.mark.parametrize("by_labels", [True, False])
def test_constant_features_change_nothing(by_labels, train, new):
    y = train[1] if by_labels else None
    codes = []
    for columns in ([], [0.0, 7.0]):
        X, X_new = (np.insert(points, [0] * len(columns), columns, axis=1) for points in (train[0], new[0]))
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


def test_linear_hash_of_equal_points_is_the_mean_of_the_side(bits):
    bank, margins = learned(LinearHash(), np.full((120, 3), 0.1), bits)
    assert bank.scale_ > 0
    np.testing.assert_allclose(margins, np.broadcast_to(bits.mean(axis=0), (120, 4)), atol=1e-9)


@pytest.mark.parametrize("hash_function", [LinearHash, KernelHash])
@pytest.mark.parametrize("ridge", [0, -1.0, float("nan")])
def test_a_bad_ridge_is_refused(hash_function, ridge, X):
    with pytest.raises(ValueError, match=f"ridge={ridge}: give a number above 0, or None to have it chosen"):
        hash_function(ridge=ridge).begin(X, np.random.default_rng(0))


def test_points_too_large_to_square_are_refused():
    X = np.array([[1e200, 0.0], [-1e200, 1.0], [0.0, 2.0]])
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="overflow float64: scale X down"):
        LinearHash().begin(X, np.random.default_rng(0))


# The ridge


def noisy_labels(rng, noise, size):
    """Return points whose first coordinate, of this size, shows their class."""
    classes, X = rng.integers(0, 2, 60), rng.normal(size=(60, 12))
    X[:, 0] = size * (2 * classes - 1 + noise * rng.normal(size=60))
    return X, plus_minus(classes)


def left_out_error(inputs, penalty, labels, ridge):
    """Return the squared error of fits without each point, the penalty being that of all points."""
    n, m = inputs.shape
    design, penalties = np.column_stack([inputs, np.ones(n)]), np.zeros((m + 1, m + 1))
    penalties[:m, :m] = ridge * n * penalty
    error = 0.0
    for point in range(n):
        rest = np.arange(n) != point
        solution = np.linalg.solve(design[rest].T @ design[rest] + penalties, design[rest].T @ labels[rest])
        error += ((labels[point] - design[point] @ solution) ** 2).sum()
    return error


@pytest.mark.parametrize(("noise", "size"), [(0.0, 0.3), (0.3, 0.3), (1.0, 0.3), (1.0, 0.1)])
@pytest.mark.parametrize(
    "hash_function", [LinearHash(), KernelHash(n_landmarks=15), KernelHash()], ids=["linear", "few", "all"]
)
def test_the_ridge_of_least_leave_one_out_error_is_chosen(hash_function, noise, size, rng):
    X, labels = noisy_labels(rng, noise, size)
    bank = clone(hash_function)
    bank.begin(X, np.random.default_rng(0), labels=labels)
    inputs = bank._inputs(X)
    penalty = np.eye(inputs.shape[1])
    if isinstance(bank, KernelHash):
        penalty = bank._centred_kernel(bank.landmarks_) + JITTER * np.eye(len(bank.landmarks_))
    errors = [left_out_error(inputs, penalty, labels, ridge) for ridge in RIDGES]
    assert bank.ridge_ == RIDGES[int(np.argmin(errors))]


def test_every_ridge_is_best_somewhere():
    chosen = set()
    for noise, size in [(0.0, 0.3), (0.3, 0.3), (1.0, 0.3), (1.0, 0.1)]:
        X, labels = noisy_labels(np.random.default_rng(0), noise, size)
        bank = LinearHash()
        bank.begin(X, np.random.default_rng(0), labels=labels)
        chosen.add(bank.ridge_)
    assert chosen == set(RIDGES)


@pytest.mark.parametrize("hash_function", [LinearHash(), KernelHash(n_landmarks=30)], ids=lambda h: type(h).__name__)
def test_a_given_ridge_is_used_as_it_is(hash_function, train):
    model = ProximityPreservingCode(3, hash_function=clone(hash_function).set_params(ridge=0.02), random_state=0)
    assert model.fit(*train).hash_function_.ridge_ == 0.02
    assert model.fit(train[0]).hash_function_.ridge_ == 0.02


def test_more_bits_keep_the_ridge(train, monkeypatch):
    model = ProximityPreservingCode(3, hash_function=LinearHash(), random_state=0).fit(*train)
    ridge = model.hash_function_.ridge_
    assert ridge in RIDGES
    monkeypatch.setattr(proxcode.hashing.ridge, "RIDGES", (0.5,))
    assert model.extend(5).hash_function_.ridge_ == ridge


# Posteriors


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


# ClassifierHash


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier that remembers what it was fitted to."""

    def fit(self, X, y):
        self.classes_, self.X_, self.y_ = np.unique(y), X, y
        return self

    def predict(self, X):
        return np.where(X[:, 0] > 0, 1, -1)


def numbers_of(classifier):
    return classifier.X_[:, 1].astype(int)


def numbered_points(n):
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(size=n), np.arange(n)]), np.where(np.arange(n) % 4 < 2, -1, 1).astype(np.int8)


def test_a_classifier_is_trained_on_the_given_points_only():
    X, side = numbered_points(80)
    some = np.arange(1, 80, 3)
    bank = ClassifierHash(Recorder())
    bank.begin(X, np.random.default_rng(0))
    margins = bank.learn(side[some], some)
    np.testing.assert_array_equal(numbers_of(bank.classifiers_[0]), some)
    np.testing.assert_array_equal(bank.classifiers_[0].y_, side[some])
    np.testing.assert_array_equal(margins, np.where(X[:, 0] > 0, 1, -1))


def test_max_samples_are_drawn_among_the_given_points():
    X, side = numbered_points(80)
    bank = ClassifierHash(Recorder(), max_samples=10)
    bank.begin(X, np.random.default_rng(0))
    odd = np.arange(1, 80, 2)
    for points in (odd, odd, None, odd[:8]):
        bank.learn(side if points is None else side[points], points)
    first, again, of_all, few = (numbers_of(classifier) for classifier in bank.classifiers_)
    assert len(first) == len(of_all) == 10
    assert set(first) <= set(odd)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(few, odd[:8])
    assert set(of_all) & set(odd) <= set(first)
    for classifier in bank.classifiers_:
        np.testing.assert_array_equal(classifier.y_, side[numbers_of(classifier)])


def test_points_are_places_among_the_rows_that_a_bank_began_with():
    X, side = numbered_points(80)
    rows, some = np.arange(10, 50), np.array([0, 5, 12, 39])
    bank = ClassifierHash(Recorder())
    bank.begin(X, np.random.default_rng(0), rows=rows)
    assert len(bank.learn(side[rows[some]], some)) == 40
    np.testing.assert_array_equal(numbers_of(bank.classifiers_[0]), rows[some])


# Peers by class scores


def words_learned_bit_by_bit(hash_function, train, words, rng):
    X, y = train
    bank = clone(hash_function)
    bank.begin(X, np.random.default_rng(rng.randint(2**31)))
    for bit in words.T:
        bank.learn(bit[y])
    bank.finish()
    return bank


RIDGE_HASHES = [LinearHash(ridge=1e-3), KernelHash(n_landmarks=50, ridge=1e-3)]


@pytest.mark.parametrize("hash_function", RIDGE_HASHES, ids=lambda h: type(h).__name__)
def test_codewords_by_class_scores_are_those_learned_bit_by_bit(hash_function, train, new):
    peer = Hadamard(n_bits=24, hash_function=hash_function, random_state=0).fit(*train)
    assert peer.hash_function_.posteriors_ is not None
    rng = check_random_state(0)
    words = hadamard_codewords(10, 24, rng)
    bank = words_learned_bit_by_bit(hash_function, train, words, rng)
    np.testing.assert_array_equal(peer.codewords_, words)
    np.testing.assert_allclose(peer._word_scores(new[0]), bank.scores(new[0], 24), atol=1e-6)
    np.testing.assert_array_equal(peer.transform(new[0]), bank.scores(new[0], 24) >= 0)


@pytest.mark.parametrize("n_bits", [6, 12])
@pytest.mark.parametrize("hash_function", RIDGE_HASHES, ids=lambda h: type(h).__name__)
def test_the_class_of_the_largest_score_is_predicted(hash_function, n_bits, train, new):
    peer = ClassifierCode(n_bits=n_bits, hash_function=hash_function, random_state=0).fit(*train)
    rng = check_random_state(0)
    if n_bits < 10:
        hadamard_codewords(10, n_bits, rng)
    bank = words_learned_bit_by_bit(hash_function, train, 2 * np.eye(10, dtype=np.int8) - 1, rng)
    scores = bank.scores(new[0], 10)
    np.testing.assert_allclose(peer._word_scores(new[0]), scores, atol=1e-6)
    predicted = scores.argmax(axis=1)
    assert (predicted == new[1]).mean() > 0.8
    np.testing.assert_array_equal(peer.transform(new[0]), peer.codewords_[predicted] > 0)


def test_a_bank_with_few_features_learns_words_bit_by_bit(train, new):
    hash_function = KernelHash(n_landmarks=15, ridge=1e-3)
    peer = Hadamard(n_bits=8, hash_function=hash_function, random_state=0).fit(*train)
    assert peer.hash_function_.n_bits_ == 8
    rng = check_random_state(0)
    bank = words_learned_bit_by_bit(hash_function, train, hadamard_codewords(10, 8, rng), rng)
    np.testing.assert_allclose(peer._word_scores(new[0]), bank.scores(new[0], 8), atol=1e-10)


def test_a_peer_by_class_scores_pickles(train, new):
    peer = Hadamard(n_bits=8, hash_function=RIDGE_HASHES[1], random_state=0).fit(*train)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(peer)).encode(new[0]), peer.encode(new[0]))


# Going on with other labels


@pytest.mark.parametrize("hash_function", [LinearHash(), KernelHash(n_landmarks=60)], ids=lambda h: type(h).__name__)
def test_extending_with_other_labels_is_refused_and_leaves_the_model_whole(hash_function, train):
    X, y = train
    model = ProximityPreservingCode(6, hash_function=hash_function, random_state=0).fit(X, y)
    codes = model.encode(X)
    for other in (np.random.default_rng(0).permutation(y), y % 3):
        with pytest.raises(ValueError, match="these bits were learned with other labels"):
            model.extend(7, X, other)
        np.testing.assert_array_equal(model.encode(X), codes)
    assert not any(name.startswith("_") for name in vars(model.hash_function_))
    assert model.extend(7, X, y).n_bits_ == 7


@pytest.mark.parametrize("ridge", [1e-6, 1e-7])
def test_points_that_explain_themselves_show_nothing_of_their_labels(ridge, rng):
    X = rng.normal(size=(100, 400)).astype(np.float32)
    labels = np.where(rng.integers(0, 2, (100, 1)) > 0, [[1, -1]], [[-1, 1]]).astype(np.int8)
    bank = LinearHash(ridge=ridge)
    bank.begin(X, np.random.default_rng(0), labels=labels)
    scores = bank._basis[:, 0] - bank._basis[:, 1]
    if scores.std() > 0:
        assert abs(np.corrcoef(scores, labels[:, 0])[0, 1]) < 0.5


@pytest.mark.parametrize(
    ("hash_function", "message"),
    [
        (KernelHash(gamma=np.inf), "gamma=inf: give a number above 0"),
        (KernelHash(gamma="scale"), "gamma='scale': give a number above 0"),
        (KernelHash(n_landmarks=10.5), "n_landmarks=10.5: give a whole number"),
        (LinearHash(ridge=np.inf), "ridge=inf: give a number above 0"),
        (LinearHash(ridge="a"), "ridge='a': give a number above 0"),
    ],
)
def test_bad_parameters_are_refused(hash_function, message, train):
    with pytest.raises(ValueError, match=message):
        ProximityPreservingCode(2, hash_function=hash_function).fit(*train)


def test_points_too_close_for_single_precision_are_refused(train):
    X, y = train
    with pytest.raises(ValueError, match="vanish in float32: scale X up"):
        ProximityPreservingCode(2, hash_function=KernelHash(n_landmarks=20)).fit((X * 1e-20).astype(np.float32), y)
