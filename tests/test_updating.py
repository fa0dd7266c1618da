"""Models that learn from further samples: the regression beside a direct one, stored codes, new classes."""

import pickle
import time

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from helpers.new_digit import N_BITS, NEW, fit, held_out_digits, joined, new_digits, old_digits
from proxcode import (
    GivenPairs,
    HammingIndex,
    KernelHash,
    LinearHash,
    ProximityPreservingCode,
    SameLabel,
    SVMHash,
    WithinRadius,
    open_samples,
    unpack,
)
from proxcode.hashing.encoder import without_codes
from proxcode.hashing.memory import row_digests
from proxcode.model.learned import Update

FUNCTIONS = pytest.mark.parametrize(
    "hash_function", [KernelHash(n_landmarks=150), LinearHash(updatable=True)], ids=lambda one: type(one).__name__
)


@pytest.fixture(scope="module")
def old():
    return old_digits()


@pytest.fixture(scope="module")
def new():
    return new_digits()


@pytest.fixture(scope="module")
def held_out():
    return held_out_digits()


def assert_regression_of(model, X, y):
    """Compare the label scores of a model with a regression that is solved directly, with the same inputs and ridge."""
    hashed, classes = model.hash_function_, model.proximity_.classes_
    inputs, root = hashed._inputs(X * model._unit), hashed._input_root()
    features = inputs if root is None else np.linalg.solve(root.T, inputs.T).T
    labels = np.where(np.asarray(y)[:, None] == np.array(classes), 1.0, -1.0)
    centred = features - features.mean(axis=0)
    normal = centred.T @ centred + hashed.ridge_ * len(X) * np.eye(features.shape[1])
    expected = centred @ np.linalg.solve(normal, centred.T @ (labels - labels.mean(axis=0)))
    np.testing.assert_allclose(hashed.label_scores(X * model._unit), expected, atol=1e-6)


def precision_at_10(codes, labels, queries, query_labels):
    found = HammingIndex(N_BITS).add(codes).search(queries, 10).neighbor
    return (labels[found] == query_labels[:, None]).mean()


# The regression


@FUNCTIONS
def test_the_regression_is_that_of_all_samples(hash_function, old, new, held_out):
    model = fit(old, hash_function)
    assert_regression_of(model, *old)
    model.update(*new)
    assert_regression_of(model, *joined(old, new))
    model.update(*held_out)
    assert_regression_of(model, *joined(old, new, held_out))
    assert model.updates_ == [Update(80, 0, 0, 0, [NEW]), Update(len(held_out[0]), 0, 0, 0, [])]


@FUNCTIONS
def test_changed_labels_move_the_samples(hash_function, old, new):
    X, y = old
    wrong = y.copy()
    wrong[::7] = (wrong[::7] + 1) % 9
    model = fit((X, wrong), hash_function).update(X[::7], y[::7])
    assert model.updates_ == [Update(0, len(X[::7]), 0, 0, [])]
    assert_regression_of(model, X, y)
    assert (model.hash_function_.memory_.class_counts == np.bincount(y)[model.proximity_.classes_]).all()
    # Also to a class that is new, and with further samples in the same call.
    moved = y.copy()
    moved[:5] = NEW
    model.update(*joined((X[:10], moved[:10]), new))
    assert model.updates_[-1] == Update(80, 5, 5, 0, [NEW])
    assert_regression_of(model, *joined((X, moved), new))


def test_copies_of_a_sample_get_their_label_together(old):
    X, y = joined(old, (old[0][:3], old[1][:3]))
    model = fit((X, y)).update(X[:2], [8, 8])
    changed = y.copy()
    changed[[0, 1, len(X) - 3, len(X) - 2]] = 8
    assert_regression_of(model, X, changed)
    # The last of several labels counts.
    model.update(np.vstack([X[:1], X[:1]]), [7, y[0]])
    changed[[0, len(X) - 3]] = y[0]
    assert_regression_of(model, X, changed)


def test_the_same_call_again_changes_nothing(old, new, held_out):
    model = fit(old).update(*new)
    before = model.scores(held_out[0])
    model.update(*new).update(*old)
    assert model.updates_[1:] == [Update(0, 0, 80, 0, []), Update(0, 0, 900, 0, [])]
    np.testing.assert_array_equal(model.scores(held_out[0]), before)


def test_samples_without_a_label_are_ignored(old, new):
    X, y = new
    named = [None if i % 2 else NEW for i in range(len(y))]
    model, other = fit(old).update(X, named), fit(old).update(X[::2], y[::2])
    assert model.updates_ == [Update(40, 0, 0, 40, [NEW])]
    np.testing.assert_array_equal(model.scores(old[0]), other.scores(old[0]))
    assert model.update(X, [None] * len(X)).updates_[-1] == Update(0, 0, 0, 80, [])


def test_digests_tell_samples_apart():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(20_000, 40)) * 0.5
    distinct = np.unique(X, axis=0)
    assert len(np.unique(row_digests(distinct))) == len(distinct)
    np.testing.assert_array_equal(row_digests(X.astype(np.float32)), row_digests(X))
    assert row_digests(X).min() >= 0


def test_copies_with_several_labels_are_known_with_each_of_them(old, new):
    X, y = joined(old, (old[0][:3], (old[1][:3] + 1) % 9))
    model = fit((X, y)).update(X, y)
    assert model.updates_ == [Update(0, 0, len(X), 0, [])]
    assert model.update(*new).extend(N_BITS + 1, X, y).n_bits_ == N_BITS + 1
    # A further sample that is named twice counts once, with its last label.
    twice = fit(old).update(np.vstack([new[0], new[0]]), np.append(np.full(80, 3), new[1]))
    np.testing.assert_array_equal(twice.scores(old[0]), fit(old).update(*new).scores(old[0]))
    assert twice.updates_ == [Update(80, 0, 80, 0, [NEW])]


def test_samples_that_single_precision_confuses_are_not_updated(old):
    X, y = old
    model = fit((X + 1e9, y))
    with pytest.raises(ValueError, match=r"does not keep the regression sums that update\(\) needs: fit it again with"):
        model.update(X[:1] + 1e9, [8])
    with pytest.raises(ValueError, match="samples differ in double precision alone; subtract their mean first"):
        fit((X + 1e9, y), KernelHash(updatable=True)).update(X[:1] + 1e9, [8])


# Stored codes


def test_a_class_of_relabelled_samples_gets_a_code(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 3000)
    X = rng.normal(size=(4, 8))[y] * 3 + rng.normal(size=(3000, 8))
    model = fit((X, y), KernelHash(n_landmarks=100))
    own = row_digests(model.hash_function_.memory_.exemplars)
    others = np.flatnonzero(~np.isin(row_digests(X * model._unit), own))
    model.update(X[others[:20]], ["new"] * 20).save(tmp_path / "m.proxcode")
    loaded = ProximityPreservingCode.load(tmp_path / "m.proxcode")
    assert loaded.hash_function_.label_codes_[4].any()
    assert loaded.updates_ == [Update(0, 20, 0, 0, ["new"])]


def test_exemplars_that_all_get_new_labels_are_refused():
    rng = np.random.default_rng(0)
    y = np.arange(6000) % 2
    X = 4 * rng.normal(size=(2, 8))[y] + rng.normal(size=(6000, 8))
    model = fit((X[:5000], y[:5000]), KernelHash(n_landmarks=100))
    before = model.encode(X)
    own = np.isin(row_digests(X * model._unit), row_digests(model.hash_function_.memory_.exemplars))
    with pytest.raises(ValueError, match=r"^y gives new labels to all 2000 samples that the model keeps as exemplars"):
        model.update(X[own], ["new"] * 2000)
    assert model.updates_ == []
    # Further samples of the known classes tell what their bits are.
    model.update(np.vstack([X[own], X[5000:]]), ["new"] * 2000 + y[5000:].tolist())
    assert model.updates_ == [Update(1000, 2000, 0, 0, ["new"])]
    assert (model.encode(X)[~own] == before[~own]).mean() > 0.99


def test_the_time_of_an_update_does_not_grow_with_the_copies_of_a_sample(rng):
    n = 20_000
    X, y = np.vstack([np.zeros((n, 8)), rng.normal(size=(n, 8))]), rng.integers(0, 3, 2 * n)
    memory = fit((X, y), LinearHash(updatable=True), n_bits=2).hash_function_.memory_
    digests, own = np.unique(memory.digests), memory.digest_classes
    start = time.thread_time()
    is_known, is_changed = memory.compared(np.append(digests, -1), np.full(len(digests) + 1, 1))
    assert time.thread_time() - start < 0.3
    np.testing.assert_array_equal(is_known, np.arange(len(digests) + 1) < len(digests))
    had_the_class = np.isin(digests, memory.digests[own == 1])
    np.testing.assert_array_equal(is_changed, np.append(~had_the_class, False))


def test_a_mistake_can_be_undone(old, held_out):
    X, y = old
    is_four = y == 4
    model = fit(old)
    stored, is_old = model.encode(X), held_out[1] != NEW
    queries, labels = held_out[0][is_old], held_out[1][is_old]
    before = precision_at_10(stored, y, model.encode(queries), labels)
    model.update(X[is_four], np.full(is_four.sum(), 5))
    assert model.hash_function_.memory_.class_counts[model.proximity_.classes_.index(4)] == 0
    model.update(X[is_four], y[is_four])
    assert_regression_of(model, X, y)
    assert precision_at_10(stored, y, model.encode(queries), labels) > before - 0.02


def test_a_class_with_another_name_keeps_its_code(old, held_out):
    X, y = old
    model = fit(old)
    stored, is_old = model.encode(X), held_out[1] != NEW
    names = np.array([f"digit {label}" for label in range(10)])
    model.update(X, names[y])
    assert model.updates_[0].n_relabelled == len(X)
    found = precision_at_10(stored, y, model.encode(held_out[0][is_old]), held_out[1][is_old])
    assert found > 0.9


def test_labels_without_a_sample_are_no_new_classes(old, new, tmp_path):
    X, y = np.vstack([new[0][:5], old[0][:1], old[0][:1]]), [NEW] * 5 + ["ghost", int(old[1][0])]
    model = fit(old).update(X, y)
    assert model.updates_ == [Update(5, 0, 2, 0, [NEW])]
    model.save(tmp_path / "m.proxcode")
    np.testing.assert_array_equal(ProximityPreservingCode.load(tmp_path / "m.proxcode").scores(X), model.scores(X))


def test_stored_codes_stay_valid_and_a_new_class_is_found(old, new, held_out):
    model = fit(old)
    fingerprint, stored, before = model.fingerprint(), model.encode(old[0]), model.encode(held_out[0])
    is_old = held_out[1] != NEW
    precision_before = precision_at_10(stored, old[1], before[is_old], held_out[1][is_old])
    model.update(*new)
    after = model.encode(held_out[0])
    assert model.fingerprint() == fingerprint
    assert (unpack(after, N_BITS) != unpack(before, N_BITS))[is_old].mean() < 0.02
    codes, labels = np.vstack([stored, model.encode(new[0])]), np.append(old[1], new[1])
    assert precision_at_10(codes, labels, after[is_old], held_out[1][is_old]) > precision_before - 0.01
    refitted = fit(joined(old, new))
    of_refit = precision_at_10(
        refitted.encode(joined(old, new)[0]), labels, refitted.encode(held_out[0][~is_old]), held_out[1][~is_old]
    )
    assert precision_at_10(codes, labels, after[~is_old], held_out[1][~is_old]) > of_refit - 0.05
    assert refitted.fingerprint() != fingerprint


def test_several_new_classes_at_once_and_one_after_another(digits):
    X, y = digits
    known, others = y < 7, [y == 7, y == 8, y == 9]
    together = fit((X[known], y[known])).update(X[y >= 7][:300], y[y >= 7][:300])
    assert together.updates_[0].new_classes == [7, 8, 9]
    in_turn = fit((X[known], y[known]))
    for is_class in others:
        in_turn.update(X[is_class][:100], y[is_class][:100])
    for model in (together, in_turn):
        codes = unpack(model.encode(X), N_BITS).astype(float)
        means = np.array([codes[y == label].mean(axis=0) for label in range(10)])
        distances = np.abs(means[:, None] - means).sum(axis=2) + N_BITS * np.eye(10)
        assert distances.min() > 4
        assert model.score(X, y) > 0.9


def test_a_class_of_one_sample(old, new):
    model = fit(old).update(new[0][:1], new[1][:1])
    assert model.updates_[0].new_classes == [NEW]
    assert model.update(*new).updates_[1] == Update(79, 0, 1, 0, [])


def test_labels_of_any_kind_keep_their_numbers(old, new):
    names = np.array([f"digit {label}" for label in range(10)])
    model = fit((old[0], names[old[1]])).update(new[0], names[new[1]].tolist())
    assert model.updates_[0].new_classes == ["digit 9"]
    np.testing.assert_array_equal(model.scores(old[0]), fit(old).update(*new).scores(old[0]))


def test_balanced_classes_stay_balanced(old, new):
    model = fit(old, proximity=SameLabel(balanced=True)).update(new[0][:20], new[1][:20])
    assert isinstance(model.hash_function_.posteriors_.slope, np.ndarray)
    assert model.score(*joined(old, new)) > 0.9


def test_float_queries_know_a_new_class(old, new, held_out):
    model = fit(old).update(*new)
    store = model.index(np.vstack([model.codes_, model.encode(new[0])]))
    is_new = held_out[1] == NEW
    found = model.search(store, held_out[0][is_new], k=5).neighbor
    assert (found >= len(old[0])).mean() > 0.8


# Files


def test_a_saved_model_is_updated_as_the_original(old, new, held_out, tmp_path):
    model, path = fit(old), tmp_path / "model.proxcode"
    model.save(path)
    loaded = ProximityPreservingCode.load(path).update(*new)
    np.testing.assert_array_equal(loaded.scores(held_out[0]), model.update(*new).scores(held_out[0]))
    loaded.save(path)
    again = ProximityPreservingCode.load(path)
    assert again.updates_ == model.updates_
    assert again.fingerprint() == model.fingerprint()
    model.save(tmp_path / "other.proxcode")
    assert path.read_bytes() == (tmp_path / "other.proxcode").read_bytes()
    np.testing.assert_array_equal(again.update(*held_out).scores(old[0]), model.update(*held_out).scores(old[0]))
    assert pickle.loads(pickle.dumps(model)).updates_ == model.updates_


def test_the_root_of_the_features_is_kept_but_not_stored(old, new, held_out, monkeypatch):
    model = fit(old)
    restored = pickle.loads(pickle.dumps(model))
    computed, compute = [], KernelHash._input_root
    monkeypatch.setattr(KernelHash, "_input_root", lambda one: computed.append(one) or compute(one))
    model.update(*new).update(*held_out)
    assert len(computed) == 0
    restored.update(*new).update(*held_out)
    assert len(computed) == 1
    np.testing.assert_array_equal(restored.scores(old[0]), model.scores(old[0]))


def test_samples_in_files_are_learned_from_as_arrays(old, new, tmp_path):
    np.save(tmp_path / "new.npy", new[0])
    model = fit(old).update(open_samples(tmp_path / "new.npy"), new[1])
    np.testing.assert_array_equal(model.scores(old[0]), fit(old).update(*new).scores(old[0]))


# Further bits


def test_further_bits_are_learned_from_other_samples(old, new, held_out):
    model = fit(old).update(*new)
    fingerprint, codes = model.fingerprint(), model.encode(held_out[0])
    X, y = joined(new, old)
    model.extend(N_BITS + 8, X[::-1], y[::-1])
    assert model.n_bits_ == N_BITS + 8
    assert model.fingerprint(N_BITS) == fingerprint
    np.testing.assert_array_equal(model.encode(held_out[0], N_BITS), codes)
    assert model.codes_.shape == (len(X), 4)
    assert model.score(*held_out) > 0.93


def test_extend_learns_the_samples_that_it_does_not_know(old, new):
    model = fit(old).extend(N_BITS + 2, *joined(old, new))
    assert model.updates_ == [Update(80, 0, 900, 0, [NEW])]
    assert_regression_of(model, *joined(old, new))


def test_extend_with_some_classes_keeps_the_mean_codes_of_others(old):
    X, y = old
    model = fit(old)
    before = model.hash_function_.label_codes_
    after = model.extend(N_BITS + 2, X[y < 6], y[y < 6]).hash_function_.label_codes_
    assert np.abs(after[:, :N_BITS] - before).max() < 0.4
    assert np.abs(after).mean(axis=1).min() > 0.5


def test_an_updated_model_is_no_checkpoint(old, new, tmp_path):
    path = tmp_path / "m.checkpoint"
    ProximityPreservingCode(N_BITS, random_state=0).fit(*old, checkpoint=path)
    ProximityPreservingCode.load(path).update(*new).save(path)
    with pytest.raises(ValueError, match="holds a model that was updated: pass another name, or delete it"):
        ProximityPreservingCode(N_BITS, random_state=0).fit(*old, checkpoint=path)


def test_workers_get_no_sums(old):
    model = fit(old)
    assert len(pickle.dumps(without_codes(model))) < len(pickle.dumps(model)) / 2
    compute, _ = model.hash_function_.feature_map(np.float64)
    assert compute.inputs.__self__.memory_ is None
    assert model.hash_function_.memory_ is not None


def test_further_bits_after_an_update_are_learned_with_error_correction(old, new):
    model = fit(old).update(*new).set_params(error_correction=False)
    with pytest.raises(ValueError, match=r"^error_correction=False: expected True, as in the original fit\.$"):
        model.extend(N_BITS + 1, *old)


def test_extend_changes_no_labels(old, new):
    model = fit(old)
    scores = model.scores(new[0])
    with pytest.raises(ValueError, match=r"y differs from the labels that the model knows for \d+ samples of X; pass"):
        model.extend(N_BITS + 2, old[0], old[1][::-1])
    assert model.updates_ == []
    assert model.n_bits_ == N_BITS
    np.testing.assert_array_equal(model.scores(new[0]), scores)


# What is refused


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"proximity": WithinRadius(mean_neighbors=20)}, "fitted with WithinRadius and KernelHash, not with SameLabel"),
        ({"hash_function": SVMHash()}, "fitted with SameLabel and SVMHash, not with SameLabel and KernelHash or"),
        ({"hash_function": KernelHash(refine_steps=0)}, "its KernelHash did not learn from one label per sample"),
        (
            {"hash_function": KernelHash(updatable=False)},
            r"fit it again with hash_function=KernelHash\(updatable=True\)",
        ),
        ({"hash_function": LinearHash()}, r"fit it again with hash_function=LinearHash\(updatable=True\)"),
        ({"proximity": GivenPairs([[0, 1, 1], [2, 3, -1]])}, "fitted with GivenPairs"),
    ],
    ids=repr,
)
def test_models_that_cannot_be_updated_say_so(parameters, message, old, new):
    model = fit((old[0][:300], old[1][:300]), n_bits=4, **parameters)
    with pytest.raises(ValueError, match=message):
        model.update(*new)
    assert model.updates_ == []


def test_wrong_data_are_refused_and_change_nothing(old, new):
    model = fit(old)
    scores = model.scores(new[0])
    for X, y, error, message in (
        (new[0][:, :5], new[1], ValueError, "X has 5 features, but ProximityPreservingCode is expecting 64"),
        (new[0], new[1][:3], ValueError, "X has 80 samples but y has 3 labels: pass one label per sample"),
        (new[0] * np.nan, new[1], ValueError, "NaN"),
        (new[0], None, ValueError, "y=None: SameLabel needs labels"),
        (new[0], [(1, 2)] * 80, ValueError, "neither numbers nor strings"),
    ):
        with pytest.raises(error, match=message):
            model.update(X, y)
    with pytest.raises(ValueError, match=r"y brings the number of classes to \d+, above 450: fit a new model"):
        fit(old, KernelHash(n_landmarks=900)).update(
            np.random.default_rng(0).normal(size=(500, 64)), np.arange(500) + 10
        )
    with pytest.raises(NotFittedError):
        ProximityPreservingCode().update(*new)
    with pytest.raises(TypeError, match="updatable='yes': expected True, False or None"):
        fit(old, KernelHash(updatable="yes"))
    np.testing.assert_array_equal(model.scores(new[0]), scores)
