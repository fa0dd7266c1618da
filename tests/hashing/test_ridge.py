"""Ridge hash functions with labels: the choice of the ridge, leave-one-out scores, further bits."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import proxcode.hashing.features
import proxcode.hashing.ridge
from helpers.banks import append, begin
from proxcode import KernelHash, LinearHash, ProximityPreservingCode, WithinRadius
from proxcode.cut.initial import signs_of
from proxcode.hashing.components import JITTER
from proxcode.hashing.features import RIDGES

NAMED = pytest.mark.parametrize(
    "hash_function", [LinearHash(), KernelHash(n_landmarks=60)], ids=lambda h: type(h).__name__
)


def indicator(classes):
    """Return the labels of samples, given by their classes, as a sparse 0/1 matrix."""
    return sp.csr_array((classes[:, None] == np.arange(classes.max() + 1)).astype(np.int8))


# The choice of the ridge


def noisy_classes(rng, noise, size):
    """Return samples whose first coordinate, of this size, depends on their class, and the classes."""
    classes, X = rng.integers(0, 2, 60), rng.normal(size=(60, 12))
    X[:, 0] = size * (2 * classes - 1 + noise * rng.normal(size=60))
    return X, classes


def left_out_error(inputs, penalty, labels, ridge):
    """Return the squared error of fits without each sample, the penalty being that of all samples."""
    n, m = inputs.shape
    design, penalties = np.column_stack([inputs, np.ones(n)]), np.zeros((m + 1, m + 1))
    penalties[:m, :m] = ridge * n * penalty
    error = 0.0
    for sample in range(n):
        rest = np.arange(n) != sample
        solution = np.linalg.solve(design[rest].T @ design[rest] + penalties, design[rest].T @ labels[rest])
        error += ((labels[sample] - design[sample] @ solution) ** 2).sum()
    return error


@pytest.mark.parametrize(("noise", "size"), [(0.0, 0.3), (0.3, 0.3), (1.0, 0.3), (1.0, 0.1)])
@pytest.mark.parametrize(
    "hash_function", [LinearHash(), KernelHash(n_landmarks=15), KernelHash()], ids=["linear", "few", "all"]
)
def test_the_ridge_of_least_leave_one_out_error_is_chosen(hash_function, noise, size, rng):
    X, classes = noisy_classes(rng, noise, size)
    hashed, _ = begin(hash_function, X, labels=indicator(classes))
    inputs = hashed._inputs(X)
    penalty = np.eye(inputs.shape[1])
    if isinstance(hashed, KernelHash):
        penalty = hashed._centred_kernel(hashed.landmarks_) + JITTER * np.eye(len(hashed.landmarks_))
    labels = 2 * indicator(classes).toarray() - 1
    errors = [left_out_error(inputs, penalty, labels, ridge) for ridge in RIDGES]
    assert hashed.ridge_ == RIDGES[int(np.argmin(errors))]


def test_every_ridge_is_best_somewhere():
    chosen = set()
    for noise, size in [(0.0, 0.3), (0.3, 0.3), (1.0, 0.3), (1.0, 0.1)]:
        X, classes = noisy_classes(np.random.default_rng(0), noise, size)
        chosen.add(begin(LinearHash(), X, labels=indicator(classes))[0].ridge_)
    assert chosen == set(RIDGES)


@pytest.mark.parametrize("hash_function", [LinearHash(), KernelHash(n_landmarks=30)], ids=lambda h: type(h).__name__)
def test_a_given_ridge_is_used_as_it_is(hash_function, train):
    model = ProximityPreservingCode(3, hash_function=clone(hash_function).set_params(ridge=0.02), random_state=0)
    assert model.fit(*train).hash_function_.ridge_ == 0.02
    assert model.set_params(proximity=WithinRadius()).fit(train[0]).hash_function_.ridge_ == 0.02


def test_more_bits_keep_the_ridge(train, monkeypatch):
    model = ProximityPreservingCode(3, hash_function=LinearHash(), random_state=0).fit(*train)
    ridge = model.hash_function_.ridge_
    assert ridge in RIDGES
    monkeypatch.setattr(proxcode.hashing.features, "RIDGES", (0.5,))
    assert model.extend(5, *train).hash_function_.ridge_ == ridge


def test_a_ridge_lost_in_rounding_is_refused(train):
    X, y = train
    model = ProximityPreservingCode(2, hash_function=KernelHash(ridge=1e-30, gamma=1e-6))
    with pytest.raises(ValueError, match="ridge=1e-30: lost in rounding; set a larger ridge"):
        model.fit(X.astype(np.float32), y)


# Leave-one-out label scores


@pytest.fixture
def plain_scores(monkeypatch):
    """Make the basis of a training the label scores themselves."""
    monkeypatch.setattr(proxcode.hashing.ridge, "fit_posteriors", lambda scores, labels: lambda scores: scores)


def test_label_scores_are_those_of_a_fit_without_the_sample(rng, plain_scores):
    X, classes = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    labels = 2 * indicator(classes).toarray() - 1
    hashed, training = begin(KernelHash(n_landmarks=12, ridge=1e-2), X, labels=indicator(classes))
    left_out_mean = (60 * labels.mean(axis=0) - labels) / 59
    scores = training.basis + left_out_mean
    kernel = hashed._inputs(X)
    penalty = hashed._centred_kernel(hashed.landmarks_) + JITTER * np.eye(12)
    for left_out in (0, 17, 59):
        rest = np.arange(60) != left_out
        design = np.column_stack([kernel[rest], np.ones(59)])
        ridge = np.zeros((13, 13))
        # The penalty is that of the fit to all samples.
        ridge[:12, :12] = 1e-2 * 60 * penalty
        solution = np.linalg.solve(design.T @ design + ridge, design.T @ labels[rest])
        np.testing.assert_allclose(scores[left_out], np.append(kernel[left_out], 1.0) @ solution, atol=1e-6)


def test_label_scores_of_some_rows_are_those_of_all(rng, plain_scores):
    X, classes, rows = rng.normal(size=(60, 3)), rng.integers(0, 3, 60), np.arange(1, 60, 4)
    _, training = begin(KernelHash(n_landmarks=12, ridge=1e-2), X, labels=indicator(classes))
    _, of_rows = begin(KernelHash(n_landmarks=12, ridge=1e-2), X, labels=indicator(classes), rows=rows)
    np.testing.assert_allclose(of_rows.basis, training.basis[rows], atol=1e-12)


@pytest.mark.parametrize("ridge", [1e-6, 1e-7])
def test_samples_that_explain_themselves_reveal_nothing_of_their_labels(ridge, rng):
    X = rng.normal(size=(100, 400)).astype(np.float32)
    classes = 1 - rng.integers(0, 2, 100)
    _, training = begin(LinearHash(ridge=ridge), X, labels=indicator(classes))
    scores = training.basis[:, 0] - training.basis[:, 1]
    if scores.std() > 0:
        assert abs(np.corrcoef(scores, 1 - 2 * classes)[0, 1]) < 0.5


def test_labels_that_samples_do_not_show_are_not_learned(rng):
    X, y = rng.normal(size=(400, 100)), rng.integers(0, 4, 400)
    model = ProximityPreservingCode(n_bits=8, random_state=0).fit(X, y)
    assert model.history_[-1].loss > 0.2


@NAMED
def test_codes_of_labels_are_the_mean_codes_of_their_samples(hash_function, train, rng):
    X, y = train
    y = np.minimum(y, 6)
    hashed, training = begin(hash_function, X, labels=indicator(y))
    codes = np.column_stack([signs_of(append(training, signs_of(rng.normal(size=len(X))))) for _ in range(5)])
    hashed.finish(training, 5)
    expected = [codes[y == label].mean(axis=0) for label in range(7)]
    np.testing.assert_allclose(hashed.label_codes_, expected, atol=1e-12)


# When labels are used


@pytest.mark.parametrize("multi", [False, True])
def test_very_many_labels_are_learned_without_a_matrix_of_them(train, new, monkeypatch, multi):
    monkeypatch.setattr("proxcode.hashing.ridge.MAX_LABELS", 5)
    X, y = train
    model = ProximityPreservingCode(n_bits=16, random_state=0).fit(X, np.eye(10)[y] if multi else y)
    assert model.hash_function_.directions_.shape[1] == 501
    assert model.score(new[0], np.eye(10)[new[1]] if multi else new[1]) > 0.7


@pytest.mark.parametrize(("n_landmarks", "n_functions"), [(20, 10), (19, 19)])
def test_labels_are_used_where_there_are_twice_as_many_features(n_landmarks, n_functions, train):
    hash_function = KernelHash(n_landmarks=n_landmarks)
    model = ProximityPreservingCode(2, hash_function=hash_function, random_state=0).fit(*train)
    assert model.hash_function_.directions_.shape == (2, n_functions + 1)


# Further bits


@NAMED
def test_extending_with_other_labels_is_refused_and_leaves_the_model_unchanged(hash_function, train):
    X, y = train
    model = ProximityPreservingCode(6, hash_function=hash_function, random_state=0).fit(X, y)
    codes = model.encode(X)
    for other in (np.random.default_rng(0).permutation(y), y % 3):
        with pytest.raises(ValueError, match="y differs from the labels"):
            model.extend(7, X, other)
        np.testing.assert_array_equal(model.encode(X), codes)
    assert not any(name.startswith("_") for name in vars(model.hash_function_))
    assert model.extend(7, X, y).n_bits_ == 7


@NAMED
def test_a_second_training_with_other_labels_is_refused(hash_function, train):
    X, y = train
    hashed, training = begin(hash_function, X, labels=indicator(y))
    hashed.finish(training, 0)
    with pytest.raises(ValueError, match="labels differ from those of the original fit"):
        hashed.begin(X, np.random.default_rng(0), labels=indicator(np.random.default_rng(0).permutation(y)))
    for other in (indicator(y % 3), None):
        with pytest.raises(ValueError, match="labels or `refine_steps` differ from those of the original fit"):
            hashed.begin(X, np.random.default_rng(0), labels=other)


def test_bits_can_only_be_continued_with_or_without_refinement_as_they_began(train):
    model = ProximityPreservingCode(n_bits=3, random_state=0).fit(*train)
    model.hash_function_.refine_steps = 0
    with pytest.raises(ValueError, match="labels or `refine_steps` differ from those of the original fit"):
        model.extend(5, *train)


def test_renamed_labels_are_the_same_labels(train, new):
    X, y = train
    model = ProximityPreservingCode(n_bits=5, random_state=0).fit(X, y)
    codes = model.encode(new[0])
    model.extend(9, X, np.array(list("jihgfedcba"))[y])
    np.testing.assert_array_equal(model.encode(new[0], n_bits=5), codes)
    long = ProximityPreservingCode(n_bits=9, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.encode(new[0]), long.encode(new[0]))


# Precision


def test_samples_too_close_for_single_precision_are_refused(train):
    X = (train[0] * 1e-20).astype(np.float32)
    with pytest.raises(ValueError, match="vanish in float32: scale X up"):
        KernelHash(n_landmarks=20).begin(X, np.random.default_rng(0))


def test_a_ridge_that_is_lost_in_rounding_is_not_chosen(rng, monkeypatch):
    X, y = rng.normal(size=(5000, 20)).astype(np.float32), rng.integers(0, 2, 5000)
    model = ProximityPreservingCode(2, hash_function=LinearHash(), random_state=0)
    X[0] *= 5e4
    assert model.fit(X, y).hash_function_.ridge_ > min(RIDGES)
    monkeypatch.setattr(proxcode.hashing.features, "RIDGES", (1e-6, 1e-7))
    with pytest.raises(ValueError, match=r"^ridge=1e-06: lost in rounding; set a larger ridge, or pass X in float64"):
        model.fit(X, y)
    assert model.fit(X.astype(np.float64), y).hash_function_.n_bits_ == 2


def test_a_kernel_between_landmarks_that_is_lost_in_rounding_is_refused_in_words(rng):
    X, y = rng.normal(size=(800, 20)).astype(np.float32), rng.integers(0, 2, 800)
    X[:3] *= 1e5
    model = ProximityPreservingCode(2, hash_function=KernelHash(n_landmarks=800), random_state=0)
    with pytest.raises(ValueError, match=r"^gamma=.*: distances are lost in rounding; remove samples that are far"):
        model.fit(X, y)
    assert model.fit(X.astype(np.float64), y).n_bits_ == 2
