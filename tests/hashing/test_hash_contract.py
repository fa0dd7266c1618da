"""What every hash function guarantees: propose, append, finish, scores."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import proxcode.hashing.ridge
from helpers.banks import append, begin, learned
from helpers.classifiers import FOREST, Stump
from proxcode.hashing import (
    ClassifierHash,
    KernelHash,
    LinearHash,
    NewClassHash,
    RotationHash,
    SVMHash,
    as_hash_function,
)
from proxcode.proximity import GivenPairs, Nearest, SameLabel, SharedLabel, WithinRadius

HASHES = [
    KernelHash(n_landmarks=40),
    SVMHash(),
    SVMHash(max_samples=50),
    ClassifierHash(LogisticRegression()),
    ClassifierHash(FOREST),
    ClassifierHash(Stump()),
]
ALL_HASHES = [*HASHES, LinearHash()]


def fitted(hash_function):
    """Return the fitted attributes, each as a hash of its content."""
    return {name: joblib.hash(value) for name, value in vars(hash_function).items() if name.endswith("_")}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("hash_function", HASHES, ids=repr)
def test_margins_of_training_are_the_scores_of_the_training_samples(hash_function, dtype, X, bits):
    hashed, margins = learned(hash_function, X.astype(dtype), bits)
    scores = hashed.scores(X.astype(dtype), 4)
    assert hashed.n_bits_ == 4
    assert scores.dtype == np.float64
    # SVMHash keeps kernel values in single precision.
    single = dtype == np.float32 or isinstance(hash_function, SVMHash)
    tolerance = 1e-3 if single else 1e-8
    np.testing.assert_allclose(scores, margins, atol=tolerance)
    np.testing.assert_allclose(hashed.scores(X.astype(dtype), 2), margins[:, :2], atol=tolerance)


@pytest.mark.parametrize("hash_function", ALL_HASHES, ids=repr)
def test_margins_of_stored_bits_are_those_of_training(hash_function, X, bits):
    _, training = begin(hash_function, X)
    margins = [append(training, target) for target in bits.T]
    assert len(training.bits) == 4
    for parameters, expected in zip(training.bits, margins, strict=True):
        np.testing.assert_array_equal(training.margins(parameters), expected)


@pytest.mark.parametrize("hash_function", HASHES[:-1], ids=repr)
def test_bits_that_can_be_learned_are_learned(hash_function, X):
    target = np.where(X[:, :1] + X[:, 1:2] > 0, 1, -1).astype(np.int8)
    _, margins = learned(hash_function, X, target)
    assert ((margins >= 0) == (target > 0)).mean() > 0.85


@pytest.mark.parametrize("hash_function", HASHES, ids=repr)
def test_a_second_training_keeps_the_bits_and_continues_like_a_single_one(hash_function, X, bits):
    whole, _ = learned(hash_function, X, bits)
    hashed, margins = learned(hash_function, X, bits[:, :2])
    training = hashed.begin(X, np.random.default_rng(0))
    for target in bits.T[2:]:
        append(training, target)
    hashed.finish(training, 4)
    scores = hashed.scores(X, 4)
    assert hashed.n_bits_ == 4
    np.testing.assert_allclose(scores[:, :2], margins, atol=1e-5 if isinstance(hash_function, SVMHash) else 1e-8)
    np.testing.assert_allclose(scores, whole.scores(X, 4), atol=1e-12)


@pytest.mark.parametrize("hash_function", ALL_HASHES, ids=repr)
def test_a_fitted_hash_function_does_not_hold_the_training_samples(hash_function, X, bits):
    hashed, _ = learned(hash_function, X, bits)
    assert not [name for name in vars(hashed) if name.startswith("_")]
    if not isinstance(hashed, SVMHash):
        assert not [name for name, value in vars(hashed).items() if isinstance(value, np.ndarray) and len(value) == 120]


@pytest.mark.parametrize("hash_function", ALL_HASHES, ids=repr)
def test_proposing_a_bit_changes_nothing(hash_function, X, bits):
    hashed, training = begin(hash_function, X)
    append(training, bits[:, 0])
    before = joblib.hash(vars(training)), joblib.hash(vars(hashed))
    first, other, again = (training.propose(target) for target in (bits[:, 1], bits[:, 2], bits[:, 1]))
    assert (joblib.hash(vars(training)), joblib.hash(vars(hashed))) == before
    assert joblib.hash(first.parameters) == joblib.hash(again.parameters)
    np.testing.assert_array_equal(first.margins, again.margins)
    if not isinstance(getattr(hash_function, "classifier", None), Stump):
        assert not np.array_equal(first.margins, other.margins)
    training.append(first)
    assert len(training.bits) == 2


@pytest.mark.parametrize("hash_function", ALL_HASHES, ids=repr)
def test_a_training_can_be_finished_several_times(hash_function, X, rng, monkeypatch):
    monkeypatch.setattr(proxcode.hashing.ridge, "BIT_PANEL", 3)
    bits = np.where(X @ rng.normal(size=(4, 8)) >= 0, 1, -1).astype(np.int8)
    once, training = begin(hash_function, X)
    for target in bits.T:
        append(training, target)
    before = joblib.hash(vars(training)["bits"])
    once.finish(training, 8)
    assert joblib.hash(vars(training)["bits"]) == before

    often, training = begin(hash_function, X)
    for target in bits.T:
        append(training, target)
        n_bits = len(training.bits)
        if n_bits in {1, 4, 6}:
            often.finish(training, n_bits)
            often.finish(training, n_bits)
            assert often.n_bits_ == often.scores(X, n_bits).shape[1] == n_bits
    often.finish(training, 8)
    assert fitted(often) == fitted(once)


@pytest.mark.parametrize("hash_function", ALL_HASHES, ids=repr)
def test_finish_takes_over_the_first_bits(hash_function, X, bits):
    shorter, _ = learned(hash_function, X, bits[:, :2])
    hashed, training = begin(hash_function, X)
    for target in bits.T:
        append(training, target)
    hashed.finish(training, 2)
    assert fitted(hashed) == fitted(shorter)


@pytest.mark.parametrize("constant", [-1, 1])
@pytest.mark.parametrize("hash_function", HASHES, ids=repr)
def test_a_constant_bit_stays_constant(hash_function, constant, X):
    target = np.full((120, 1), constant, np.int8)
    hashed, margins = learned(hash_function, X, target)
    np.testing.assert_allclose(margins, target)
    np.testing.assert_array_equal(hashed.scores(X[:7] + 1, 1) >= 0, np.full((7, 1), constant > 0))


@pytest.mark.parametrize("hash_function", HASHES, ids=repr)
def test_same_seed_same_scores(hash_function, X, bits):
    first, second = (learned(hash_function, X, bits, seed=3)[0].scores(X, 4) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_same_seed_same_scores_for_a_random_classifier_in_a_pipeline(X, bits):
    hash_function = ClassifierHash(make_pipeline(StandardScaler(), FOREST))
    first, second = (learned(hash_function, X, bits, seed=3)[0].scores(X, 4) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("hash_function", [h for h in HASHES if not isinstance(h, KernelHash)], ids=repr)
def test_hash_functions_without_refinement_return_the_bit_itself(hash_function, X, bits):
    hashed, training = begin(hash_function, X)
    bit = training.propose(bits[:, 0])
    assert training.refine_steps == hashed.n_refine_steps(None) == 0
    assert training.refine(bit, None) is bit


def test_a_hash_function_that_cannot_be_stored_says_so(X):
    class Unstorable(LinearHash):
        state = proxcode.hashing.HashFunction.state
        restore = proxcode.hashing.HashFunction.restore

    with pytest.raises(NotImplementedError, match="Unstorable cannot be stored: it does not implement `state`"):
        Unstorable().state()
    with pytest.raises(NotImplementedError, match="Unstorable cannot be restored: it does not implement `restore`"):
        Unstorable().restore(None)


# What is accepted as a hash function


@pytest.mark.parametrize("hash_function", [None, "kernel", KernelHash])
def test_other_objects_are_refused(hash_function):
    with pytest.raises(
        TypeError, match=r"hash_function=.*: expected an object such as KernelHash\(\) or a scikit-learn"
    ):
        as_hash_function(hash_function)


@pytest.mark.parametrize(
    ("proximity", "expected"),
    [
        (SameLabel(), KernelHash),
        (SameLabel(new_classes=True), NewClassHash),
        (SharedLabel(), KernelHash),
        (WithinRadius(), KernelHash),
        (GivenPairs([[0, 1]]), KernelHash),
        (Nearest(), RotationHash),
    ],
    ids=repr,
)
def test_each_proximity_names_a_default(proximity, expected):
    assert type(proximity.hash_function()) is expected


def test_a_hash_function_is_cloned():
    given = KernelHash(n_landmarks=7)
    taken = as_hash_function(given)
    assert taken is not given
    assert taken.n_landmarks == 7


def test_a_classifier_is_wrapped():
    given = LogisticRegression(C=3)
    taken = as_hash_function(given)
    assert isinstance(taken, ClassifierHash)
    assert taken.classifier.C == 3
    assert taken.classifier is not given


@pytest.mark.parametrize("wrong", ["svm", Ridge(), LogisticRegression, 3])
def test_anything_else_is_refused(wrong):
    message = r"hash_function=.*: expected an object such as KernelHash\(\) or a scikit-learn classifier"
    with pytest.raises(TypeError, match=message):
        as_hash_function(wrong)


@pytest.mark.parametrize(
    ("hash_function", "error", "message"),
    [
        (KernelHash(n_landmarks=0), ValueError, r"n_landmarks=0: expected an integer of at least 1"),
        (KernelHash(n_landmarks=10.5), TypeError, r"n_landmarks=10.5: expected an integer of at least 1"),
        (KernelHash(gamma=0), ValueError, r"gamma=0: expected a number above 0"),
        (KernelHash(gamma=np.inf), ValueError, r"gamma=inf: expected a number above 0"),
        (KernelHash(gamma="scale"), TypeError, r"gamma='scale': expected a number above 0"),
        (KernelHash(refine_steps=-1), ValueError, r"refine_steps=-1: expected an integer from 0 to 1000000"),
        (LinearHash(refine_steps=2.5), TypeError, r"refine_steps=2.5: expected an integer from 0 to 1000000"),
        (LinearHash(ridge=np.inf), ValueError, r"ridge=inf: expected a number above 0"),
        (LinearHash(ridge="a"), TypeError, r"ridge='a': expected a number above 0"),
        (SVMHash(max_samples=1), ValueError, r"max_samples=1: expected an integer of at least 2"),
        (SVMHash(max_samples=2.5), TypeError, r"max_samples=2.5: expected an integer of at least 2"),
        (ClassifierHash(LogisticRegression(), max_samples=0), ValueError, r"max_samples=0: .* at least 2"),
        (ClassifierHash(), ValueError, r"classifier=None: expected a scikit-learn classifier"),
    ],
)
def test_bad_parameters_are_refused(hash_function, error, message, X):
    with pytest.raises(error, match=message):
        clone(hash_function).begin(X, np.random.default_rng(0))
