"""Checkpoints of other fits, damaged ones and those that no file can hold are refused."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from helpers.model_files import N_BITS, new_model
from proxcode import (
    ClassifierHash,
    GivenPairs,
    KernelHash,
    LinearHash,
    ProximityPreservingCode,
    SameLabel,
    WithinRadius,
)
from proxcode.bits import BitLoop
from proxcode.storage.container import read_file, write_file
from proxcode.threshold import CalibratedThreshold


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"hash_function": KernelHash(ridge=0.1)}, "hash_function"),
        ({"hash_function": KernelHash(refine_steps=3)}, "hash_function"),
        ({"threshold": CalibratedThreshold(2.0)}, "threshold"),
        ({"max_samples": 99}, "max_samples"),
        ({"error_correction": False}, "error_correction"),
        ({"proximity": SameLabel()}, "proximity"),
        ({"loss_target": 0.01}, "loss_target"),
        ({"random_state": 1}, "random_state"),
        (
            {"hash_function": KernelHash(refine_steps=3), "max_samples": 99, "random_state": 1},
            "hash_function, max_samples, random_state",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_parameters_are_refused_by_name(parameters, named, samples, checkpoint):
    new_model(n_bits=2).fit(*samples, checkpoint=checkpoint)
    before = checkpoint.read_bytes()
    with pytest.raises(
        ValueError, match=rf"{checkpoint.name} belongs to a fit with a different {named}: pass the same, or delete it"
    ):
        new_model(**parameters).fit(*samples, checkpoint=checkpoint)
    assert checkpoint.read_bytes() == before


def test_verbose_and_a_larger_n_bits_may_differ(samples, checkpoint, capsys, monkeypatch):
    monkeypatch.setattr("proxcode.utils.progress.INTERVAL", 0.0)
    new_model(n_bits=2).fit(*samples, checkpoint=checkpoint)
    assert new_model(verbose=True).fit(*samples, checkpoint=checkpoint).n_bits_ == N_BITS
    assert f"learned {N_BITS} of {N_BITS} bits" in capsys.readouterr().err


def test_other_data_are_refused_by_name(samples, checkpoint):
    X, y = samples
    new_model(n_bits=2).fit(X, y, checkpoint=checkpoint)
    before = checkpoint.read_bytes()
    for X_given, y_given, named in ((X + 1, y, "X"), (X, y[::-1], "y"), (X, None, "y"), (X[:100], y[:100], "X, y")):
        with pytest.raises(ValueError, match=rf"a fit with a different {named}: pass the same, or delete it"):
            new_model().fit(X_given, y_given, checkpoint=checkpoint)
    assert checkpoint.read_bytes() == before


def test_other_pairs_are_refused(samples, checkpoint):
    pairs = np.array([[0, 1, 1], [1, 2, -1], [2, 3, 1]])
    new_model(n_bits=2, proximity=GivenPairs(pairs)).fit(samples[0], checkpoint=checkpoint)
    with pytest.raises(ValueError, match="a different proximity: pass the same"):
        new_model(n_bits=3, proximity=GivenPairs(pairs[::-1])).fit(samples[0], checkpoint=checkpoint)


@pytest.mark.parametrize("kind", ["index", "checkpoint"])
def test_a_file_of_another_kind_is_refused(kind, samples, checkpoint):
    write_file(checkpoint, kind, {}, {})
    with pytest.raises(ValueError, match=rf"holds a proxcode {kind}, not a model.*: delete .*{checkpoint.name} to"):
        new_model().fit(*samples, checkpoint=checkpoint)


def test_a_missing_folder_and_a_folder_are_refused(samples, checkpoint):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*missing to write fit to: make it first"):
        new_model().fit(*samples, checkpoint=checkpoint.parent / "missing" / "fit")
    with pytest.raises(IsADirectoryError, match="is a folder: name a file in it"):
        new_model().fit(*samples, checkpoint=checkpoint.parent)


class OwnHash(LinearHash):
    """A hash function of the user's own."""


class OwnCode(ProximityPreservingCode):
    """An estimator of the user's own."""


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (new_model(hash_function=LogisticRegression()), r"hash_function=LogisticRegression\(\) cannot be stored in a"),
        (new_model(hash_function=ClassifierHash(LogisticRegression())), r"use a hash function of proxcode"),
        (new_model(hash_function=OwnHash()), r"hash_function=OwnHash\(\) cannot be stored"),
        (new_model(proximity=WithinRadius(metric=lambda a, b: 0.0)), r"metric=<function .* cannot be stored"),
        (OwnCode(n_bits=2), "OwnCode cannot be saved"),
    ],
    ids=["classifier", "ClassifierHash", "own hash function", "own metric", "own estimator"],
)
def test_what_a_file_cannot_hold_is_refused_before_any_work(model, message, samples, checkpoint, monkeypatch):
    for owner, method in ((BitLoop, "begin"), (WithinRadius, "fit")):
        monkeypatch.setattr(owner, method, lambda *a, **k: pytest.fail("work was done"))
    with pytest.raises(TypeError, match=message):
        model.fit(*samples, checkpoint=checkpoint)
    assert list(checkpoint.parent.iterdir()) == []


def test_a_damaged_checkpoint_is_refused_with_the_remedy(samples, checkpoint):
    new_model(n_bits=2).fit(*samples, checkpoint=checkpoint)
    data = bytearray(checkpoint.read_bytes())
    data[-1] ^= 1
    for damaged, reason in ((bytes(data), "was changed after it was written"), (bytes(data[:-100]), "is truncated")):
        checkpoint.write_bytes(damaged)
        remedy = rf"{checkpoint.name} {reason}.*\): delete .*{checkpoint.name} to start again\.$"
        with pytest.raises(ValueError, match=rf"the checkpoint cannot be resumed \(.*{remedy}"):
            new_model().fit(*samples, checkpoint=checkpoint)
        assert checkpoint.read_bytes() == damaged


@pytest.mark.parametrize("missing", ["hash_function", "proximity", "history", "data", "parameters", "seed"])
def test_a_checkpoint_that_lacks_a_part_is_refused(missing, samples, checkpoint):
    new_model(n_bits=2).fit(*samples, checkpoint=checkpoint)
    content, tensors = read_file(checkpoint, "model")
    del content[missing]
    write_file(checkpoint, "model", content, tensors)
    with pytest.raises(
        ValueError, match=rf"lacks a part of a file of kind model \(KeyError\('{missing}'\)\).*: delete"
    ):
        new_model().fit(*samples, checkpoint=checkpoint)


def test_a_checkpoint_without_a_parameter_is_no_error_of_ours(samples, checkpoint):
    new_model(n_bits=2).fit(*samples, checkpoint=checkpoint)
    content, tensors = read_file(checkpoint, "model")
    del content["parameters"]["random_state"]
    write_file(checkpoint, "model", content, tensors)
    # The seeds are compared.
    assert new_model().fit(*samples, checkpoint=checkpoint).n_bits_ == N_BITS
