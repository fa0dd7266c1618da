"""Codes for classes that are not in fit."""

import numpy as np
import pytest
import scipy.sparse as sp

from proxcode import NewClassHash, ProximityPreservingCode, RotationHash, SameLabel, pack
from proxcode.hamming import distances
from proxcode.hashing.class_map import PLAIN
from proxcode.hashing.new_classes import _of_one_class

ROTATION = RotationHash(n_landmarks=60, n_rotations=10)


def average_precision(model, X, y):
    """Return the mean average precision of samples of one class, by Hamming distances with ties in random order."""
    codes = model.encode(X)
    noise = np.random.default_rng(0).random((len(X), len(X)))
    found = distances(codes, codes) + 0.5 * noise
    np.fill_diagonal(found, np.inf)
    is_near = (y[:, None] == y)[np.arange(len(y))[:, None], np.argsort(found, axis=1)[:, :-1]]
    precision = np.cumsum(is_near, axis=1) / np.arange(1, len(y))
    return ((precision * is_near).sum(axis=1) / is_near.sum(axis=1)).mean()


@pytest.fixture(scope="module")
def split(digits):
    """Samples of seven classes to learn from, and those of the other three."""
    X, y = digits
    return X[y < 7], y[y < 7], X[y >= 7], y[y >= 7]


@pytest.fixture(scope="module")
def noisy():
    """Classes that differ in six directions, and six others in which all samples vary much more."""
    rng = np.random.default_rng(0)
    y = np.arange(960) % 16
    X = np.hstack([2 * rng.normal(size=(16, 6))[y] + rng.normal(size=(960, 6)), 6 * rng.normal(size=(960, 6))])
    return X[y < 12], y[y < 12], X[y >= 12], y[y >= 12]


def test_what_labels_show_carries_over_to_unseen_classes(noisy):
    X, y, X_new, y_new = noisy
    mapped = ProximityPreservingCode(24, proximity=SameLabel(new_classes=True), random_state=0).fit(X, y)
    assert not mapped.hash_function_.class_map_.is_plain
    plain = ProximityPreservingCode(24, random_state=0).fit(X)
    assert average_precision(mapped, X_new, y_new) > average_precision(plain, X_new, y_new) + 0.3


@pytest.mark.parametrize("n_bits", [32])
def test_unseen_classes_are_not_served_worse_than_without_labels(n_bits, split):
    X, y, X_new, y_new = split
    mapped = ProximityPreservingCode(n_bits, proximity=SameLabel(new_classes=True), random_state=0).fit(X, y)
    assert isinstance(mapped.hash_function_, NewClassHash)
    plain = ProximityPreservingCode(n_bits, random_state=0).fit(X)
    assert average_precision(mapped, X_new, y_new) > average_precision(plain, X_new, y_new) - 0.03


def test_two_classes_leave_the_samples_as_they_are(split):
    X, y, X_new, _ = split
    X, y = X[y < 2], y[y < 2]
    model = ProximityPreservingCode(16, hash_function=NewClassHash(ROTATION), random_state=0).fit(X, y)
    assert model.hash_function_.class_map_.is_plain
    assert model.hash_function_.class_map_.strength == PLAIN
    np.testing.assert_array_equal(model.hash_function_.class_map_(X_new), X_new)
    # As good as the rotation alone, whose random numbers are others.
    alone = ProximityPreservingCode(16, hash_function=ROTATION, random_state=0).fit(X)
    decoders = [(m.hash_function_.decoder_, m.codes_) for m in (model, alone)]
    errors = [((X - decoder.mean - decoder.decode(codes)) ** 2).sum() for decoder, codes in decoders]
    assert errors[0] == pytest.approx(errors[1], rel=0.1)


@pytest.mark.parametrize("n_classes", [2, 12], ids=["plain map", "map"])
def test_state_and_restore(n_classes, noisy):
    X, y, X_new, _ = noisy
    X, y = X[y < n_classes], y[y < n_classes]
    labels = sp.csr_array((np.ones(len(y)), (np.arange(len(y)), y)))
    hash_function = NewClassHash(ROTATION)
    training = hash_function.begin(X, np.random.default_rng(0), labels=labels, n_bits=13)
    hash_function.finish(training, 13)
    assert hash_function.class_map_.is_plain == (n_classes == 2)
    restored = NewClassHash(ROTATION)
    restored.restore(hash_function.state())
    assert (restored.n_bits_, restored.n_planned_) == (13, 13)
    assert restored.class_map_.strength == hash_function.class_map_.strength
    np.testing.assert_array_equal(restored.scores(X_new, 13), hash_function.scores(X_new, 13))
    np.testing.assert_array_equal(restored.query_tables(X_new).tables, hash_function.query_tables(X_new).tables)
    codes = pack(hash_function.scores(X_new, 13) >= 0)
    np.testing.assert_array_equal(restored.decoder_.norms(codes), hash_function.decoder_.norms(codes))


def test_float_queries_are_compared_in_the_space_of_mapped_samples(noisy):
    X, y, X_new, _ = noisy
    model = ProximityPreservingCode(24, proximity=SameLabel(new_classes=True), random_state=0).fit(X, y)
    hash_function = model.hash_function_
    assert not hash_function.class_map_.is_plain
    mapped, decoder = hash_function.class_map_(X_new[:6]), hash_function.decoder_
    codes = model.encode(X_new)
    expected = ((mapped[:, None] - decoder.mean - decoder.decode(codes)) ** 2).sum(axis=2)
    np.testing.assert_allclose(model.query(X_new[:6]).distances(codes), expected, rtol=1e-3, atol=1e-4)


def test_the_parameter_rotation_is_cloned(noisy):
    X, y, *_ = noisy
    rotation = RotationHash(n_landmarks=30, gamma=1e-3, n_rotations=2)
    model = ProximityPreservingCode(8, hash_function=NewClassHash(rotation), random_state=0).fit(X, y)
    assert not hasattr(rotation, "coef_")
    assert model.hash_function_.rotation_.get_params() == rotation.get_params()
    with pytest.raises(TypeError, match="rotation='cayley': expected an object such as RotationHash"):
        ProximityPreservingCode(8, hash_function=NewClassHash("cayley")).fit(X, y)


def test_samples_of_one_class_alone_teach_the_map():
    X = np.arange(10.0).reshape(5, 2)
    indicator = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0], [0, 1, 0]])
    for labels in (sp.csr_array(indicator), sp.csc_array(indicator), sp.coo_array(indicator)):
        samples, classes = _of_one_class(X, labels)
        np.testing.assert_array_equal(samples, X[[0, 2, 4]])
        np.testing.assert_array_equal(classes, [0, 2, 1])
    samples, classes = _of_one_class(X, None)
    np.testing.assert_array_equal(samples, X)
    assert not classes.any()


def test_samples_that_all_have_two_labels_are_not_mapped(split):
    X = split[0][:120]
    # Labels 0 and 1, or 2 and 3.
    tags = np.repeat(np.eye(2, dtype=int), 2, axis=1)[np.arange(120) % 2]
    model = ProximityPreservingCode(8, hash_function=NewClassHash(ROTATION), random_state=0).fit(X, tags)
    assert model.hash_function_.class_map_.is_plain


def test_missing_labels_and_the_same_random_numbers(noisy):
    X, y, X_new, _ = noisy
    y = [None if i % 5 == 0 else int(label) for i, label in enumerate(y)]
    models = [
        ProximityPreservingCode(16, proximity=SameLabel(new_classes=True), random_state=3).fit(X, y) for _ in range(2)
    ]
    np.testing.assert_array_equal(*(model.encode(X_new) for model in models))
    assert models[0].codes_.shape == (len(X), 2)
