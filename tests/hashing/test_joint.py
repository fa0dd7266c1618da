"""Hash functions that learn all bits at once: what holds for each of them."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from helpers.model_files import file_of, interrupted
from proxcode import (
    GivenPairs,
    HammingIndex,
    Nearest,
    NewClassHash,
    ProximityPreservingCode,
    ReconstructionHash,
    RotationHash,
    SameLabel,
    SharedLabel,
    WithinRadius,
)
from proxcode.hamming import unpack

HASHES = [
    RotationHash(n_landmarks=60, n_rotations=10),
    RotationHash(n_landmarks=60, n_rotations=10, gamma=1e-3),
    ReconstructionHash(n_rounds=4, n_descents=2),
    NewClassHash(RotationHash(gamma=0, n_components=9, n_rotations=10)),
]
each_hash = pytest.mark.parametrize("hash_function", HASHES, ids=repr)
REFUSED = "learned 9 bits at once and cannot add others; fit a new model with n_bits=12"


def joint(hash_function, n_bits=9, **parameters):
    return ProximityPreservingCode(n_bits, hash_function=hash_function, random_state=0, **parameters)


@pytest.fixture(scope="module")
def normal():
    """Samples that are no integers: sums depend on their order."""
    return np.random.default_rng(0).normal(size=(300, 7))


@each_hash
def test_codes_are_signs_of_margins_and_prefixes_are_columns(hash_function, train, new):
    model = joint(hash_function).fit(*train)
    margins = model.scores(new[0])
    assert margins.shape == (400, 9)
    np.testing.assert_array_equal(model.transform(new[0]), margins >= 0)
    np.testing.assert_array_equal(model.encode(train[0]), model.codes_)
    np.testing.assert_array_equal(model.scores(new[0], n_bits=4), margins[:, :4])
    assert model.hash_function_.n_planned_ == model.n_bits_ == len(model.history_) == 9
    assert all(record.hash_accuracy == 1 and record.flips == record.sweeps == 0 for record in model.history_)


@each_hash
def test_history_tells_the_loss_of_the_code_bit_by_bit(hash_function, train):
    model = joint(hash_function, proximity=SameLabel()).fit(*train)
    first, second = np.triu_indices(len(train[0]), 1)
    is_near = train[1][first] == train[1][second]
    bits = unpack(model.codes_, 9)
    for k, record in enumerate(model.history_, start=1):
        h = (bits[first, :k] != bits[second, :k]).sum(axis=1)
        assert record.loss == min(((h <= t) != is_near).mean() for t in range(k + 1))


@each_hash
def test_the_hash_function_of_the_constructor_is_not_fitted(hash_function, train):
    hash_function = clone(hash_function)
    joint(hash_function).fit(*train)
    assert not [name for name in vars(hash_function) if name.endswith("_")]


@each_hash
def test_extend_refuses_further_bits_and_keeps_the_model(hash_function, train, tmp_path):
    model = joint(hash_function).fit(*train)
    before = file_of(model, tmp_path)
    with pytest.raises(ValueError, match=REFUSED):
        model.extend(12, *train)
    assert file_of(model, tmp_path) == before
    assert file_of(model.extend(9, *train), tmp_path) == before


@each_hash
def test_an_interrupted_fit_is_extended_to_the_length_it_aimed_at(hash_function, train, tmp_path, monkeypatch):
    model = interrupted(monkeypatch, joint(hash_function), *train, None, 4).extend(9, *train)
    assert file_of(model, tmp_path) == file_of(joint(hash_function).fit(*train), tmp_path)


@each_hash
def test_a_loaded_interrupted_fit_is_extended_too(hash_function, train, tmp_path, monkeypatch):
    interrupted(monkeypatch, joint(hash_function), *train, None, 4).save(tmp_path / "part.proxcode")
    model = ProximityPreservingCode.load(tmp_path / "part.proxcode")
    assert (model.n_bits_, model.hash_function_.n_planned_) == (4, 9)
    with pytest.raises(ValueError, match=REFUSED):
        model.extend(12, *train)
    assert file_of(model.extend(9, *train), tmp_path) == file_of(joint(hash_function).fit(*train), tmp_path)


@each_hash
def test_float_queries_of_a_part_of_the_bits_fit_its_codes(hash_function, train, new, monkeypatch):
    model = interrupted(monkeypatch, joint(hash_function), *train, None, 4)
    queries = model.query(new[0][:5])
    weights = np.abs(np.tanh(model.scores(new[0][:5])))
    differ = model.transform(new[0][:5])[:, None] != model.transform(train[0])
    expected = (weights[:, None] * differ).sum(axis=2)
    np.testing.assert_allclose(queries.distances(model.codes_), expected, rtol=1e-5, atol=1e-6)
    found = HammingIndex(4).add(model.codes_).search(queries, k=3)
    np.testing.assert_allclose(found.distance, np.sort(expected, axis=1)[:, :3], rtol=1e-5, atol=1e-6)


def test_a_loss_target_ends_a_fit_early_and_extend_continues(train, new):
    long = joint(HASHES[0], 24).fit(train[0])
    target = long.history_[9].loss
    short = joint(HASHES[0], 24, loss_target=target).fit(train[0])
    assert short.n_bits_ == 1 + [record.loss <= target for record in long.history_].index(True) < 24
    np.testing.assert_array_equal(short.transform(new[0]), long.transform(new[0])[:, : short.n_bits_])
    assert len(short.query(new[0][:3]).distances(short.codes_)) == 3
    np.testing.assert_array_equal(short.extend(24, train[0]).codes_, long.codes_)


@each_hash
def test_the_same_bytes_from_a_model_file(hash_function, train, new, tmp_path):
    model = joint(hash_function, 13).fit(*train)
    model.save(tmp_path / "saved.proxcode")
    loaded = ProximityPreservingCode.load(tmp_path / "saved.proxcode")
    np.testing.assert_array_equal(loaded.scores(new[0]), model.scores(new[0]))
    np.testing.assert_array_equal(loaded.query(new[0][:9]).tables, model.query(new[0][:9]).tables)
    np.testing.assert_array_equal(
        loaded.query(new[0][:9]).distances(model.codes_), model.query(new[0][:9]).distances(model.codes_)
    )
    assert file_of(loaded, tmp_path) == (tmp_path / "saved.proxcode").read_bytes()
    assert repr(loaded.get_params()) == repr(model.get_params())


@each_hash
def test_the_same_bits_for_any_number_of_threads(hash_function, normal, monkeypatch):
    X = np.tile(normal, (8, 1)) + np.random.default_rng(1).normal(size=(2400, 7))
    y = np.arange(2400) % 5
    found = []
    for n_threads in (1, 2):
        monkeypatch.setattr(joblib, "cpu_count", lambda n=n_threads: n)
        model = joint(hash_function, max_samples=200).fit(X, y)
        found.append((model.codes_, model.scores(X), model.query(X[:50]).tables))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@each_hash
def test_samples_get_the_same_bits_in_any_batch(hash_function, dtype, normal):
    X, y = normal.astype(dtype), np.arange(300) % 5
    model = joint(hash_function, 40, max_samples=100).fit(X, y)
    for size, n in ((1, 60), (7, 300), (299, 300)):
        parts = [model.encode(X[start : min(start + size, n)]) for start in range(0, n, size)]
        np.testing.assert_array_equal(np.vstack(parts), model.codes_[:n])


@each_hash
def test_the_precision_of_new_samples_hardly_matters(hash_function, normal):
    for dtype in (np.float32, np.float64):
        model = joint(hash_function, 32).fit(normal.astype(dtype), np.arange(300) % 5)
        single, double = model.transform(normal.astype(np.float32)), model.transform(normal)
        assert (single == double).mean() > 0.999


@pytest.mark.parametrize("n_bits", [1, 200])
@each_hash
def test_code_lengths_below_and_above_the_number_of_features(hash_function, n_bits, normal):
    model = joint(hash_function, n_bits, max_samples=100).fit(normal, np.arange(300) % 5)
    assert model.codes_.shape == (300, -(-n_bits // 8))
    assert np.isfinite(model.scores(normal)).all()
    assert np.isfinite(model.query(normal[:5]).distances(model.codes_)).all()
    assert model.transform(normal).std(axis=0).min() > 0


@each_hash
@pytest.mark.parametrize(
    "degenerate",
    [
        lambda X: np.column_stack([X, np.ones((len(X), 2)), np.full(len(X), 1e6)]),
        lambda X: X[:3],
        lambda X: X[:5],
        lambda X: X[:, :1],
        lambda X: np.repeat(X[:10], 30, axis=0),
        lambda X: np.repeat(X[:2], 30, axis=0),
        lambda X: X + 1e6,
        lambda X: (X * 1e15).astype(np.float32),
        lambda X: np.vstack([X, np.full((1, 7), 1e4)]),
    ],
    ids=["constant features", "3 samples", "5 samples", "1 feature", "10 rows", "2 rows", "offset", "large", "outlier"],
)
def test_degenerate_samples_get_codes(hash_function, degenerate, normal):
    X = degenerate(normal)
    model = joint(hash_function, 20).fit(X)
    margins = model.scores(X)
    assert np.isfinite(margins).all()
    assert np.isfinite(model.query(X[:2]).distances(model.codes_)).all()
    # Equal samples have equal codes.
    _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(model.codes_, model.codes_[first][group.ravel()])
    assert len(np.unique(model.codes_, axis=0)) > 1


@pytest.mark.parametrize(
    ("proximity", "y"),
    [
        (Nearest(n_neighbors=5), None),
        (WithinRadius(), None),
        (SameLabel(), "labels"),
        (SameLabel(unlabelled=3), "labels"),
        (SharedLabel(), "tags"),
        (GivenPairs([[i, i + 1] for i in range(50)]), None),
        (GivenPairs([[0, 1, 1], [1, 2, -1], [5, 7, 1], [4, 9, -1]]), None),
        (GivenPairs([[i, i + 1] for i in range(50)], others="far"), None),
    ],
    ids=repr,
)
def test_bits_from_samples_alone_do_not_depend_on_the_pairs(proximity, y, train):
    X, labels = train[0][:200], train[1][:200]
    y = {"labels": labels, "tags": np.eye(10, dtype=int)[labels], None: None}[y]
    for hash_function in (HASHES[1], HASHES[2]):
        expected = joint(hash_function).fit(X).transform(X)
        found = joint(hash_function, proximity=proximity).fit(X, y).transform(X)
        if getattr(proximity, "unlabelled", None) is None:
            np.testing.assert_array_equal(found, expected)
        assert found.std(axis=0).min() > 0


@each_hash
def test_without_error_correction_the_code_is_the_same(hash_function, train):
    X = train[0]
    plain, corrected = joint(hash_function, error_correction=False).fit(X), joint(hash_function).fit(X)
    np.testing.assert_array_equal(plain.codes_, corrected.codes_)


def test_thresholds_of_many_samples_are_those_of_fewer(normal):
    X = np.vstack([normal + shift for shift in np.linspace(0, 40, 9)])
    few, all_of_them = joint(HASHES[1]).fit(X), joint(HASHES[1], max_samples=len(X)).fit(X)
    np.testing.assert_array_equal(few.codes_, all_of_them.codes_)
    assert abs(few.radius_ - all_of_them.radius_) <= 1


@pytest.mark.parametrize(
    ("hash_function", "message"),
    [
        (RotationHash(n_landmarks=0), "n_landmarks=0: expected an integer of at least 1"),
        (RotationHash(n_rotations=-1), "n_rotations=-1: expected an integer from 0 to 1000000"),
        (RotationHash(n_components=0), "n_components=0: expected an integer from 1 to 1000000"),
        (RotationHash(gamma=-1.0), "gamma=-1.0: expected a number of at least 0"),
        (ReconstructionHash(n_rounds=0), "n_rounds=0: expected an integer from 1 to 1000000"),
        (ReconstructionHash(n_descents=-1), "n_descents=-1: expected an integer from 0 to 1000000"),
    ],
)
def test_invalid_parameters(hash_function, message, train):
    with pytest.raises(ValueError, match=message):
        joint(hash_function).fit(train[0])


def test_equal_samples_are_refused():
    with pytest.raises(ValueError, match="all 50 samples of X are equal"):
        joint(RotationHash()).fit(np.ones((50, 3)))
