"""Fits in processes that are killed: resumed, they end with the same model file as uninterrupted ones."""

import os
import signal
import subprocess
import sys
import time

import pytest

from helpers.model_files import file_of
from proxcode import KernelHash, LinearHash, ProximityPreservingCode, SVMHash, WithinRadius
from proxcode.storage.container import read_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGKILL is defined by POSIX alone")

FIT = """
import sys
from sklearn.datasets import load_digits
import proxcode.storage.timer
from proxcode import *

proxcode.storage.timer.CHECKPOINT_SECONDS = proxcode.storage.timer.CHECKPOINT_MULTIPLE = 0
X, y = load_digits(return_X_y=True)
labels = y[:160] if sys.argv[2] == "labels" else None
ProximityPreservingCode(300, random_state=0, **eval(sys.argv[3])).fit(X[:160], labels, checkpoint=sys.argv[1])
"""
PARAMETERS = {
    "kernel": {"hash_function": KernelHash(n_landmarks=80)},
    "kernel without refinement": {"hash_function": KernelHash(n_landmarks=80, refine_steps=0)},
    "linear": {"hash_function": LinearHash()},
    "svm": {"hash_function": SVMHash()},
    "no error correction": {"hash_function": KernelHash(n_landmarks=80), "error_correction": False},
    "subset, no error correction": {"hash_function": SVMHash(), "error_correction": False, "max_samples": 90},
}


def kill_a_fit(checkpoint, kind, parameters, n_bits):
    """Fit in another process and kill it once its checkpoint holds `n_bits` bits; return how many it holds then."""
    process = subprocess.Popen([sys.executable, "-c", FIT, str(checkpoint), kind, repr(parameters)])
    try:
        deadline = time.monotonic() + 120
        while n_bits_in(checkpoint) < n_bits and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
    finally:
        process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert n_bits <= n_bits_in(checkpoint) < 300
    return n_bits_in(checkpoint)


def n_bits_in(checkpoint):
    return len(read_file(checkpoint, "model").content["history"]) if checkpoint.exists() else 0


def assert_resumes(checkpoint, X, y, parameters, reached):
    def new_model():
        return ProximityPreservingCode(reached + 3, random_state=0, **parameters)

    resumed = new_model().fit(X, y, checkpoint=checkpoint)
    assert resumed.n_bits_ == reached + 3
    assert file_of(resumed, checkpoint.parent) == file_of(new_model().fit(X, y), checkpoint.parent)
    assert file_of(resumed, checkpoint.parent) == checkpoint.read_bytes()
    # What the killed process left of an unfinished write is gone too.
    assert [path.name for path in checkpoint.parent.iterdir()] == [checkpoint.name]


@pytest.mark.parametrize("kind", ["labels", "radius"])
@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)
def test_a_killed_fit_is_resumed(parameters, kind, digits, tmp_path):
    X, y = digits[0][:160], digits[1][:160] if kind == "labels" else None
    parameters = {"proximity": None if kind == "labels" else WithinRadius(), **parameters}
    checkpoint = tmp_path / "fit.proxcode"
    reached = kill_a_fit(checkpoint, kind, parameters, 3)
    assert_resumes(checkpoint, X, y, parameters, reached)


def test_a_fit_killed_again_and_again_is_resumed(digits, tmp_path):
    X, y = digits[0][:160], digits[1][:160]
    checkpoint = tmp_path / "fit.proxcode"
    parameters, reached = PARAMETERS["kernel"], 0
    for _ in range(3):
        reached = kill_a_fit(checkpoint, "labels", parameters, reached + 2)
    assert_resumes(checkpoint, X, y, parameters, reached)
