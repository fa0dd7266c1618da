"""Checkpoints: an interrupted fit, resumed, ends with the same model file as an uninterrupted one."""

import numpy as np
import pytest
from sklearn.base import clone

from helpers.model_files import N_BITS, file_of, interrupted, new_model
from proxcode import (
    GivenPairs,
    KernelHash,
    LinearHash,
    NewClassHash,
    ProximityPreservingCode,
    ReconstructionHash,
    SameLabel,
    SVMHash,
    WithinRadius,
)
from proxcode.bits import BitLoop
from proxcode.hashing.base import PerBitHash
from proxcode.hashing.ridge import RidgeHash
from proxcode.proximity import Proximity
from proxcode.storage.container import kind_of, read_file
from proxcode.storage.timer import CheckpointTimer


@pytest.fixture
def every_bit(monkeypatch):
    """Checkpoints are written after each bit."""
    monkeypatch.setattr("proxcode.storage.timer.CHECKPOINT_SECONDS", 0)
    monkeypatch.setattr("proxcode.storage.timer.CHECKPOINT_MULTIPLE", 0)


def n_bits_in(checkpoint):
    return len(read_file(checkpoint, "model").content["history"])


def count_writes(monkeypatch):
    """Return a list to which the content of each checkpoint is appended once it is written."""
    written, save = [], ProximityPreservingCode.save

    def saving(model, path):
        save(model, path)
        written.append(path.read_bytes())

    monkeypatch.setattr(ProximityPreservingCode, "save", saving)
    return written


# The same model


@pytest.mark.parametrize(
    "hash_function", [KernelHash(n_landmarks=40), LinearHash(), SVMHash(max_samples=100)], ids=repr
)
@pytest.mark.parametrize("error_correction", [True, False])
@pytest.mark.parametrize("by_labels", [True, False])
def test_an_interrupted_fit_ends_with_the_same_file(
    hash_function, error_correction, by_labels, samples, checkpoint, monkeypatch
):
    X, y = samples[0], samples[1] if by_labels else None
    proximity = None if by_labels else WithinRadius()
    parameters = {"proximity": proximity, "hash_function": hash_function, "error_correction": error_correction}
    uninterrupted = file_of(new_model(**parameters).fit(X, y), checkpoint.parent)
    for n_bits in (2, 6):
        model = interrupted(monkeypatch, new_model(**parameters), X, y, checkpoint, n_bits)
        assert model.n_bits_ == n_bits_in(checkpoint) == n_bits
    resumed = new_model(**parameters).fit(X, y, checkpoint=checkpoint)
    assert file_of(resumed, checkpoint.parent) == uninterrupted == checkpoint.read_bytes()
    assert [path.name for path in checkpoint.parent.iterdir()] == [checkpoint.name]


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_samples": 100},
        {"max_samples": 100, "hash_function": SVMHash()},
        {"max_samples": 100, "proximity": WithinRadius()},
        {"max_samples": 100, "error_correction": False},
        {"max_samples": 100, "error_correction": False, "proximity": WithinRadius()},
        {"hash_function": KernelHash(refine_steps=0)},
        {"hash_function": KernelHash(n_landmarks=40, refine_steps=2), "proximity": WithinRadius(mean_neighbors=9)},
        {"proximity": SameLabel(unlabelled=3)},
        {"proximity": SameLabel(unlabelled=3), "error_correction": False},
        {"proximity": GivenPairs(np.array([[i, j, 1 - 2 * ((i + j) % 2)] for i in range(40) for j in range(i)]))},
    ],
    ids=lambda parameters: repr(parameters)[:60],
)
def test_subsets_and_samples_that_take_no_part_are_resumed_alike(parameters, samples, checkpoint, monkeypatch):
    uninterrupted = file_of(new_model(**parameters).fit(*samples), checkpoint.parent)
    interrupted(monkeypatch, new_model(**parameters), *samples, checkpoint, 4)
    assert file_of(new_model(**parameters).fit(*samples, checkpoint=checkpoint), checkpoint.parent) == uninterrupted


@pytest.mark.parametrize("error_correction", [True, False])
@pytest.mark.parametrize("hash_function", [KernelHash(n_landmarks=40), SVMHash()], ids=repr)
def test_a_pool_of_samples_is_resumed_alike(hash_function, error_correction, samples, checkpoint, monkeypatch):
    monkeypatch.setattr("proxcode.pairs.labels.MAX_CANDIDATES", 120)
    parameters = {"max_samples": 100, "hash_function": hash_function, "error_correction": error_correction}
    uninterrupted = file_of(new_model(**parameters).fit(*samples), checkpoint.parent)
    interrupted(monkeypatch, new_model(**parameters), *samples, checkpoint, 4)
    assert file_of(new_model(**parameters).fit(*samples, checkpoint=checkpoint), checkpoint.parent) == uninterrupted


def test_dictionaries_are_compared_whatever_the_order_of_their_keys(samples, checkpoint, monkeypatch):
    metric_params = {"w": np.arange(1.0, 65.0), "p": 3}
    proximity = WithinRadius(metric="minkowski", metric_params=metric_params)
    interrupted(monkeypatch, new_model(proximity=proximity), *samples, checkpoint, 4)
    resumed = new_model(proximity=proximity).fit(*samples, checkpoint=checkpoint)
    assert resumed.n_bits_ == N_BITS
    other = WithinRadius(metric="minkowski", metric_params={**metric_params, "w": np.ones(64)})
    with pytest.raises(ValueError, match="a different proximity: pass the same"):
        new_model(proximity=other).fit(*samples, checkpoint=checkpoint)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"proximity": WithinRadius(radius=30)}, {"proximity": WithinRadius(radius=np.float64(30.0))}),
        ({"proximity": SameLabel(unlabelled=np.nan)}, {"proximity": SameLabel(unlabelled=float("nan"))}),
        ({"hash_function": KernelHash(ridge=1)}, {"hash_function": KernelHash(ridge=1.0)}),
        ({"max_samples": 100}, {"max_samples": np.int64(100)}),
    ],
    ids=repr,
)
def test_parameters_of_equal_value_are_the_same(before, after, samples, checkpoint):
    new_model(n_bits=2, **before).fit(*samples, checkpoint=checkpoint)
    assert new_model(n_bits=3, **after).fit(*samples, checkpoint=checkpoint).n_bits_ == 3


@pytest.mark.usefixtures("every_bit")
@pytest.mark.parametrize("by_labels", [True, False])
def test_a_checkpoint_does_not_change_a_fit(by_labels, samples, checkpoint):
    X, y = samples[0], samples[1] if by_labels else None
    plain = file_of(new_model().fit(X, y), checkpoint.parent)
    assert file_of(new_model().fit(X, y, checkpoint=checkpoint), checkpoint.parent) == plain
    assert checkpoint.read_bytes() == plain
    assert kind_of(checkpoint) == "model"
    assert n_bits_in(checkpoint) == N_BITS


@pytest.mark.usefixtures("every_bit")
def test_every_checkpoint_is_the_model_of_a_shorter_fit(samples, checkpoint, monkeypatch):
    written = count_writes(monkeypatch)
    new_model().fit(*samples, checkpoint=checkpoint)
    for n_bits, data in enumerate(written[:-1], start=1):
        checkpoint.write_bytes(data)
        shorter = new_model(n_bits=n_bits).fit(*samples).set_params(n_bits=N_BITS)
        assert file_of(ProximityPreservingCode.load(checkpoint), checkpoint.parent) == data
        assert file_of(shorter, checkpoint.parent) == data


@pytest.mark.usefixtures("every_bit")
def test_each_bit_is_written_once_and_the_last_one_completes_the_file(samples, checkpoint, monkeypatch):
    written = count_writes(monkeypatch)
    model = new_model().fit(*samples, checkpoint=checkpoint)
    assert len(written) == len(set(written)) == N_BITS
    assert written[-1] == checkpoint.read_bytes() == file_of(model, checkpoint.parent)


@pytest.mark.parametrize("by_labels", [True, False])
@pytest.mark.parametrize("error_correction", [True, False])
@pytest.mark.parametrize("hash_function", [KernelHash(n_landmarks=40), LinearHash(), SVMHash()], ids=repr)
def test_a_complete_checkpoint_is_taken_over_without_learning(
    by_labels, error_correction, hash_function, samples, checkpoint, monkeypatch
):
    X, y = samples[0], samples[1] if by_labels else None
    proximity = None if by_labels else WithinRadius()
    parameters = {"proximity": proximity, "hash_function": hash_function, "error_correction": error_correction}
    complete = file_of(new_model(**parameters).fit(X, y, checkpoint=checkpoint), checkpoint.parent)
    left = checkpoint.read_bytes()
    with monkeypatch.context() as patch:
        for owner, method in ((RidgeHash, "begin"), (PerBitHash, "begin"), (WithinRadius, "find_pairs")):
            patch.setattr(owner, method, lambda *a, **k: pytest.fail("something was learned"))
        for owner, method in ((Proximity, "fit"), (WithinRadius, "fit"), (ProximityPreservingCode, "save")):
            patch.setattr(owner, method, lambda *a, **k: pytest.fail("something was learned"))
        again = new_model(**parameters).fit(X, y, checkpoint=checkpoint)
    assert file_of(again, checkpoint.parent) == complete
    assert checkpoint.read_bytes() == left
    longer = new_model(n_bits=11, **parameters).fit(X, y)
    extended = again.extend(11, X, y).set_params(n_bits=11)
    assert file_of(extended, checkpoint.parent) == file_of(longer, checkpoint.parent)


@pytest.mark.parametrize("by_labels", [True, False])
@pytest.mark.parametrize("error_correction", [True, False])
def test_a_longer_fit_continues_and_a_shorter_one_is_refused(by_labels, error_correction, samples, checkpoint):
    X, y = samples[0], samples[1] if by_labels else None
    parameters = {"error_correction": error_correction, "proximity": None if by_labels else WithinRadius()}
    new_model(**parameters).fit(X, y, checkpoint=checkpoint)
    before = checkpoint.read_bytes()
    shorter = new_model(n_bits=4, **parameters)
    with pytest.raises(ValueError, match=rf"n_bits=4: checkpoint .*{checkpoint.name} holds 9 bits; pass at least"):
        shorter.fit(X, y, checkpoint=checkpoint)
    assert checkpoint.read_bytes() == before
    assert not hasattr(shorter, "n_bits_")
    uninterrupted = file_of(new_model(n_bits=12, **parameters).fit(X, y), checkpoint.parent)
    resumed = new_model(n_bits=12, **parameters).fit(X, y, checkpoint=checkpoint)
    assert file_of(resumed, checkpoint.parent) == uninterrupted == checkpoint.read_bytes()


@pytest.mark.parametrize(
    "hash_function", [None, ReconstructionHash(4, 2), NewClassHash()], ids=["default", "reconstruction", "new classes"]
)
def test_bits_learned_at_once_are_resumed_for_the_same_length_alone(hash_function, samples, checkpoint, monkeypatch):
    X, y = samples[0], None if hash_function is None else samples[1]
    model = new_model(hash_function=hash_function)
    uninterrupted = file_of(clone(model).fit(X, y), checkpoint.parent)
    interrupted(monkeypatch, clone(model), X, y, checkpoint, 4)
    before = checkpoint.read_bytes()
    for n_bits in (3, 6, 12):
        other = clone(model).set_params(n_bits=n_bits)
        with pytest.raises(ValueError, match=rf"n_bits={n_bits}: \w+Hash learned the 9 bits of checkpoint .* at once"):
            other.fit(X, y, checkpoint=checkpoint)
        assert checkpoint.read_bytes() == before
        assert not hasattr(other, "n_bits_")
    resumed = clone(model).fit(X, y, checkpoint=checkpoint)
    assert file_of(resumed, checkpoint.parent) == uninterrupted == checkpoint.read_bytes()


def test_a_loss_target_stops_a_resumed_fit_where_it_stops_an_uninterrupted_one(samples, checkpoint, monkeypatch):
    target = new_model().fit(*samples).history_[3].loss
    uninterrupted = new_model(loss_target=target).fit(*samples)
    assert 2 < uninterrupted.n_bits_ < N_BITS
    interrupted(monkeypatch, new_model(loss_target=target), *samples, checkpoint, 2)
    for _ in range(2):
        resumed = new_model(loss_target=target).fit(*samples, checkpoint=checkpoint)
        assert resumed.n_bits_ == uninterrupted.n_bits_
        assert file_of(resumed, checkpoint.parent) == file_of(uninterrupted, checkpoint.parent)


def test_a_resumed_model_extends(samples, checkpoint, monkeypatch):
    interrupted(monkeypatch, new_model(), *samples, checkpoint, 4)
    resumed = new_model().fit(*samples, checkpoint=checkpoint).extend(12, *samples).set_params(n_bits=12)
    assert file_of(resumed, checkpoint.parent) == file_of(new_model(n_bits=12).fit(*samples), checkpoint.parent)


def test_an_interrupted_model_extends_as_its_checkpoint_does(samples, checkpoint, monkeypatch):
    model = interrupted(monkeypatch, new_model(), *samples, checkpoint, 4)
    loaded = ProximityPreservingCode.load(checkpoint)
    uninterrupted = file_of(new_model().fit(*samples), checkpoint.parent)
    for partial in (model, loaded):
        assert file_of(partial.extend(N_BITS, *samples), checkpoint.parent) == uninterrupted


def test_without_a_seed_that_of_the_checkpoint_is_taken(samples, checkpoint, monkeypatch):
    model = interrupted(monkeypatch, new_model(random_state=None), *samples, checkpoint, 4)
    seed = read_file(checkpoint, "model").content["seed"]
    resumed = new_model(random_state=None).fit(*samples, checkpoint=checkpoint)
    assert resumed._seed == seed == model._seed
    np.testing.assert_array_equal(resumed.codes_, model.extend(N_BITS, *samples).codes_)


def test_a_saved_model_is_a_checkpoint(samples, checkpoint):
    new_model(n_bits=4).fit(*samples).save(checkpoint)
    resumed = new_model().fit(*samples, checkpoint=checkpoint)
    assert file_of(resumed, checkpoint.parent) == file_of(new_model().fit(*samples), checkpoint.parent)


def test_labels_of_another_form_are_the_same_data(samples, checkpoint, monkeypatch):
    X, y = samples
    interrupted(monkeypatch, new_model(), X, y, checkpoint, 4)
    resumed = new_model().fit(np.asfortranarray(X), [f"digit {label}" for label in y], checkpoint=checkpoint)
    np.testing.assert_array_equal(resumed.codes_, new_model().fit(X, y).codes_)


# When it is written


class Clock:
    """A clock that moves when told to."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    def pass_by(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("proxcode.storage.timer.monotonic", clock)
    return clock


def test_a_checkpoint_is_due_every_30_seconds(clock):
    timer = CheckpointTimer()
    assert not timer.is_due()
    clock.now += 29.9
    assert not timer.is_due()
    clock.now += 0.1
    assert timer.is_due()
    timer.run(lambda: clock.pass_by(1.0))
    clock.now += 29.9
    assert not timer.is_due()
    clock.now += 0.2
    assert timer.is_due()


def test_slow_writes_take_at_most_a_twentieth_of_the_time(clock):
    timer = CheckpointTimer()
    clock.now += 30
    timer.run(lambda: clock.pass_by(4.0))
    clock.now += 79.9
    assert not timer.is_due()
    clock.now += 0.2
    assert timer.is_due()


def test_a_short_fit_writes_its_checkpoint_once(samples, checkpoint, monkeypatch):
    written = count_writes(monkeypatch)
    new_model().fit(*samples, checkpoint=checkpoint)
    assert len(written) == 1


def test_bits_are_written_while_time_passes(samples, checkpoint, monkeypatch, clock):
    step = BitLoop.step

    def ticking(loop):
        clock.now += 8
        return step(loop)

    monkeypatch.setattr(BitLoop, "step", ticking)
    n_bits_written, save = [], ProximityPreservingCode.save
    monkeypatch.setattr(
        ProximityPreservingCode, "save", lambda model, path: (save(model, path), n_bits_written.append(model.n_bits_))
    )
    new_model().fit(*samples, checkpoint=checkpoint)
    assert n_bits_written == [4, 8, 9]


@pytest.mark.usefixtures("every_bit")
def test_an_interrupt_while_a_checkpoint_is_written_leaves_the_one_before(samples, checkpoint, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    new_model(n_bits=3).fit(*samples, checkpoint=checkpoint)
    before = checkpoint.read_bytes()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("proxcode.storage.atomic.os.fsync", interrupt)
        new_model().fit(*samples, checkpoint=checkpoint)
    assert checkpoint.read_bytes() == before
    assert [path.name for path in checkpoint.parent.iterdir()] == [checkpoint.name]


@pytest.mark.usefixtures("every_bit")
def test_a_model_that_cannot_be_written_is_kept_in_memory(samples, checkpoint, monkeypatch):
    def fail(*arguments):
        raise OSError("no space left on device")

    model = new_model()
    with monkeypatch.context() as patch, pytest.raises(OSError, match="no space left"):
        patch.setattr("proxcode.storage.atomic.os.fsync", fail)
        model.fit(*samples, checkpoint=checkpoint)
    assert list(checkpoint.parent.iterdir()) == []
    np.testing.assert_array_equal(model.encode(samples[0]), new_model(n_bits=model.n_bits_).fit(*samples).codes_)


def test_an_interrupt_before_the_first_bit_writes_nothing(samples, checkpoint, monkeypatch):
    model = interrupted(monkeypatch, new_model(), *samples, checkpoint, 0)
    assert not hasattr(model, "n_bits_")
    assert list(checkpoint.parent.iterdir()) == []
