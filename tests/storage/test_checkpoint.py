"""Checkpoints: a fit that was cut off ends as if it had not been."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from proxcode.learning import Learning
from sklearn.linear_model import LogisticRegression

from proxcode import (
    CalibratedThreshold,
    GivenPairs,
    KernelHash,
    LinearHash,
    ProximityPreservingCode,
    SameLabel,
    SVMHash,
    WithinRadius,
)
from proxcode.bits import BitLoop
from proxcode.storage.container import read_file, write_file
from proxcode.storage.state import fingerprint

N_BITS = 9


@pytest.fixture(scope="module")
def points(digits):
    X, y = digits
    return X[:160], y[:160]


@pytest.fixture
def checkpoint(tmp_path):
    return tmp_path / "fit.checkpoint"


def new_model(**parameters):
    return ProximityPreservingCode(**{"n_bits": N_BITS, "random_state": 0, **parameters})


def file_of(model, folder):
    path = folder / "model.proxcode"
    model.save(path)
    return path.read_bytes()


def cut_off(monkeypatch, model, X, y, checkpoint, bits):
    """Fit until so many bits are there, then interrupt; the next bit is under way."""
    count = BitLoop._count

    def interrupting(loop):
        count(loop)
        if loop.code.n_bits == bits + 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(BitLoop, "_count", interrupting)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y, checkpoint=checkpoint)
    return model


def n_bits_in(checkpoint):
    return len(read_file(checkpoint, "checkpoint").content["history"])


@pytest.mark.parametrize(
    "hash_function", [KernelHash(n_landmarks=40), LinearHash(), SVMHash(max_samples=100)], ids=repr
)
@pytest.mark.parametrize("error_correction", [True, False])
@pytest.mark.parametrize("by_labels", [True, False])
def test_a_fit_that_was_cut_off_ends_with_the_same_file(
    hash_function, error_correction, by_labels, points, checkpoint, monkeypatch
):
    X, y = points[0], points[1] if by_labels else None
    parameters = {"hash_function": hash_function, "error_correction": error_correction}
    whole = file_of(new_model(**parameters).fit(X, y), checkpoint.parent)
    for bits in (2, 6):
        model = cut_off(monkeypatch, new_model(**parameters), X, y, checkpoint, bits)
        assert model.n_bits_ == n_bits_in(checkpoint) == bits
    resumed = new_model(**parameters).fit(X, y, checkpoint=checkpoint)
    assert file_of(resumed, checkpoint.parent) == whole
    assert [path.name for path in checkpoint.parent.glob(".*")] == []


@pytest.mark.parametrize(
    "parameters",
    [
        {"cut_points": 100},
        {"cut_points": 100, "hash_function": SVMHash()},
        {"cut_points": 100, "proximity": WithinRadius()},
        {"proximity": SameLabel(unlabelled=3)},
        {"proximity": GivenPairs(np.array([[i, j, 1 - 2 * ((i + j) % 2)] for i in range(40) for j in range(i)]))},
    ],
    ids=",".join,
)
def test_drawn_points_and_points_that_take_no_part_go_on_alike(parameters, points, checkpoint, monkeypatch):
    whole = file_of(new_model(**parameters).fit(*points), checkpoint.parent)
    cut_off(monkeypatch, new_model(**parameters), *points, checkpoint, 4)
    assert file_of(new_model(**parameters).fit(*points, checkpoint=checkpoint), checkpoint.parent) == whole


def test_a_pool_of_points_goes_on_alike(points, checkpoint, monkeypatch):
    monkeypatch.setattr("proxcode.learning.POOL_POINTS", 120)
    whole = file_of(new_model(cut_points=100).fit(*points), checkpoint.parent)
    cut_off(monkeypatch, new_model(cut_points=100), *points, checkpoint, 4)
    assert file_of(new_model(cut_points=100).fit(*points, checkpoint=checkpoint), checkpoint.parent) == whole


def test_a_checkpoint_changes_nothing_about_a_fit(points, checkpoint):
    whole = file_of(new_model().fit(*points), checkpoint.parent)
    assert file_of(new_model().fit(*points, checkpoint=checkpoint), checkpoint.parent) == whole
    assert n_bits_in(checkpoint) == N_BITS


@pytest.mark.parametrize("by_labels", [True, False])
@pytest.mark.parametrize("error_correction", [True, False])
@pytest.mark.parametrize("hash_function", [KernelHash(n_landmarks=40), SVMHash()], ids=repr)
def test_a_complete_checkpoint_is_taken_as_it_is_and_stays(
    by_labels, error_correction, hash_function, points, checkpoint, monkeypatch
):
    X, y = points[0], points[1] if by_labels else None
    parameters = {"hash_function": hash_function, "error_correction": error_correction}
    whole = file_of(new_model(**parameters).fit(X, y, checkpoint=checkpoint), checkpoint.parent)
    left = checkpoint.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Learning, "run", lambda *arguments: pytest.fail("something was learned"))
        again = new_model(**parameters).fit(X, y, checkpoint=checkpoint)
    assert file_of(again, checkpoint.parent) == whole
    assert checkpoint.read_bytes() == left
    longer = new_model(n_bits=11, **parameters).fit(X, y)
    assert file_of(again.extend(11), checkpoint.parent) == file_of(longer, checkpoint.parent)


def test_a_fit_killed_before_its_last_word_is_completed(points, checkpoint, monkeypatch):
    whole = file_of(new_model().fit(*points, checkpoint=checkpoint), checkpoint.parent)
    last_word = checkpoint.read_bytes()
    checkpoint.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(KernelHash, "state", lambda bank: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            new_model().fit(*points, checkpoint=checkpoint)
    assert n_bits_in(checkpoint) == N_BITS
    assert checkpoint.read_bytes() != last_word
    assert file_of(new_model().fit(*points, checkpoint=checkpoint), checkpoint.parent) == whole
    assert checkpoint.read_bytes() == last_word


@pytest.mark.parametrize("by_labels", [True, False])
@pytest.mark.parametrize("error_correction", [True, False])
def test_a_shorter_fit_takes_the_first_bits_and_a_longer_one_goes_on(by_labels, error_correction, points, checkpoint):
    X, y = points[0], points[1] if by_labels else None
    parameters = {"error_correction": error_correction}
    new_model(**parameters).fit(X, y, checkpoint=checkpoint)
    for n_bits in (4, 12):
        whole = file_of(new_model(n_bits=n_bits, **parameters).fit(X, y), checkpoint.parent)
        resumed = new_model(n_bits=n_bits, **parameters).fit(X, y, checkpoint=checkpoint)
        assert file_of(resumed, checkpoint.parent) == whole
        assert n_bits_in(checkpoint) == max(n_bits, N_BITS)


def test_a_loss_target_stops_where_a_whole_fit_stops(points, checkpoint):
    new_model().fit(*points, checkpoint=checkpoint)
    target = read_file(checkpoint, "checkpoint").content["history"][3][1]
    whole = new_model(loss_target=target).fit(*points)
    resumed = new_model(loss_target=target).fit(*points, checkpoint=checkpoint)
    assert resumed.n_bits_ == whole.n_bits_ < N_BITS
    assert file_of(resumed, checkpoint.parent) == file_of(whole, checkpoint.parent)


def test_a_resumed_model_extends(points, checkpoint, monkeypatch):
    cut_off(monkeypatch, new_model(), *points, checkpoint, 4)
    resumed = new_model().fit(*points, checkpoint=checkpoint).extend(12)
    assert file_of(resumed, checkpoint.parent) == file_of(new_model(n_bits=12).fit(*points), checkpoint.parent)


def test_without_a_seed_that_of_the_checkpoint_is_taken(points, checkpoint, monkeypatch):
    cut_off(monkeypatch, new_model(random_state=None), *points, checkpoint, 4)
    seed = read_file(checkpoint, "checkpoint").content["seed"]
    assert new_model(random_state=None).fit(*points, checkpoint=checkpoint)._seed == seed


def test_an_interrupt_while_the_checkpoint_is_written_leaves_the_one_before(points, checkpoint, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    new_model(n_bits=3).fit(*points, checkpoint=checkpoint)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("proxcode.storage.container.os.fsync", interrupt)
        new_model().fit(*points, checkpoint=checkpoint)
    assert n_bits_in(checkpoint) == 3
    assert [path.name for path in checkpoint.parent.iterdir()] == [checkpoint.name]


def test_labels_written_otherwise_are_the_same_data(points, checkpoint, monkeypatch):
    X, y = points
    cut_off(monkeypatch, new_model(), X, y, checkpoint, 4)
    resumed = new_model().fit(np.asfortranarray(X), [f"digit {label}" for label in y], checkpoint=checkpoint)
    np.testing.assert_array_equal(resumed.codes_, new_model().fit(X, y).codes_)


def test_fingerprints_tell_apart_types_shapes_and_values():
    arrays = [np.array(2.0), np.array(3.0), np.array([2.0]), np.array([[2.0]]), np.zeros(0), np.zeros((0, 2))]
    arrays += [np.array([2.0], np.float32), np.array([2]), np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2)]
    found = [fingerprint(array) for array in [*arrays, None]]
    assert len(set(found)) == len(found)
    assert fingerprint(np.arange(12)[::2]) == fingerprint(np.arange(0, 12, 2))


def test_rows_of_several_blocks_count(monkeypatch):
    whole = fingerprint(np.arange(10.0))
    monkeypatch.setattr("proxcode.storage.state.BLOCK", 3)
    assert fingerprint(np.arange(10.0)) == whole
    for row in range(10):
        assert fingerprint(np.where(np.arange(10) == row, -1, np.arange(10.0))) != whole


# Refusals


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"hash_function": KernelHash(ridge=0.1)}, "hash_function"),
        ({"threshold": CalibratedThreshold(2.0)}, "threshold"),
        ({"coupling": 3}, "coupling"),
        ({"error_correction": False, "cut_points": None}, "error_correction"),
        ({"proximity": SameLabel()}, "proximity"),
        ({"random_state": 1}, "random_state"),
        ({"coupling": 3, "cut_points": 99, "random_state": 1}, "coupling, cut_points, random_state"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_parameters_are_refused_by_name(parameters, named, points, checkpoint):
    new_model(n_bits=2).fit(*points, checkpoint=checkpoint)
    with pytest.raises(
        ValueError, match=rf"{checkpoint.name} is that of another fit, with other {named}: give the same"
    ):
        new_model(**parameters).fit(*points, checkpoint=checkpoint)


def test_other_data_are_refused_by_name(points, checkpoint):
    X, y = points
    new_model(n_bits=2).fit(X, y, checkpoint=checkpoint)
    before = checkpoint.read_bytes()
    for X_given, y_given, named in ((X + 1, y, "X"), (X, y[::-1], "y"), (X, None, "y"), (X[:100], y[:100], "X, y")):
        with pytest.raises(ValueError, match=rf"with other {named}: give the same, or delete it"):
            new_model().fit(X_given, y_given, checkpoint=checkpoint)
    assert checkpoint.read_bytes() == before


def test_other_pairs_are_refused(points, checkpoint):
    pairs = np.array([[0, 1, 1], [1, 2, -1], [2, 3, 1]])
    new_model(n_bits=2, proximity=GivenPairs(pairs)).fit(points[0], checkpoint=checkpoint)
    with pytest.raises(ValueError, match="with other proximity: give the same"):
        new_model(n_bits=3, proximity=GivenPairs(pairs[::-1])).fit(points[0], checkpoint=checkpoint)


def test_what_is_no_checkpoint_is_refused(points, checkpoint):
    model = new_model(n_bits=2).fit(*points)
    model.save(checkpoint)
    with pytest.raises(ValueError, match=rf"{checkpoint.name} holds a proxcode model, not a checkpoint"):
        new_model().fit(*points, checkpoint=checkpoint)
    with pytest.raises(FileNotFoundError, match=r"no folder .*missing for the checkpoint: make it first"):
        new_model().fit(*points, checkpoint=checkpoint.parent / "missing" / "fit")
    with pytest.raises(TypeError, match=r"KernelHash, LinearHash and SVMHash, not of LogisticRegression\(\)"):
        new_model(hash_function=LogisticRegression()).fit(*points, checkpoint=checkpoint)


def test_a_damaged_checkpoint_is_refused(points, checkpoint):
    new_model(n_bits=2).fit(*points, checkpoint=checkpoint)
    data = bytearray(checkpoint.read_bytes())
    data[-1] ^= 1
    checkpoint.write_bytes(data)
    with pytest.raises(ValueError, match=rf"{checkpoint.name} was changed after it was written"):
        new_model().fit(*points, checkpoint=checkpoint)


@pytest.mark.parametrize("missing", ["bits", "data", "parameters", "seed"])
def test_a_checkpoint_that_lacks_something_is_refused(missing, points, checkpoint):
    new_model(n_bits=2).fit(*points, checkpoint=checkpoint)
    content, tensors = read_file(checkpoint, "checkpoint")
    del content[missing]
    write_file(checkpoint, "checkpoint", content, tensors)
    with pytest.raises(ValueError, match=rf"not hold all that a checkpoint holds \(KeyError\('{missing}'\)\): delete"):
        new_model().fit(*points, checkpoint=checkpoint)


# A process that dies

FIT = """
import sys
from sklearn.datasets import load_digits
from proxcode import ProximityPreservingCode

X, y = load_digits(return_X_y=True)
ProximityPreservingCode(n_bits=300, random_state=0).fit(X[:160], checkpoint=sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX's")
def test_a_killed_process_is_gone_on_from(points, checkpoint):
    process = subprocess.Popen([sys.executable, "-c", FIT, str(checkpoint)])
    deadline = time.monotonic() + 60
    while not _has_bits(checkpoint, 5) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    reached = n_bits_in(checkpoint)
    assert 5 <= reached < 300
    n_bits = reached + 3
    resumed = new_model(n_bits=n_bits).fit(points[0], checkpoint=checkpoint)
    assert file_of(resumed, checkpoint.parent) == file_of(new_model(n_bits=n_bits).fit(points[0]), checkpoint.parent)
    assert sorted(path.name for path in checkpoint.parent.iterdir()) == [checkpoint.name, "model.proxcode"]


def _has_bits(checkpoint: Path, n_bits):
    return checkpoint.exists() and n_bits_in(checkpoint) >= n_bits
