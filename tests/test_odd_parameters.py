"""Odd values of parameters raise ValueError or TypeError in one sentence that names the parameter."""

import numpy as np
import pytest

from proxcode import (
    HammingIndex,
    KernelHash,
    LinearHash,
    ProximityPreservingCode,
    ReconstructionHash,
    RotationHash,
    SVMHash,
    WithinRadius,
)
from proxcode.hamming import asymmetric_distances
from proxcode.search import ByMargins, FloatQueries
from proxcode.threshold import CalibratedThreshold
from proxcode.utils.validation import check_number

X = np.random.default_rng(0).normal(size=(40, 6))
Y = np.arange(40) % 4
CODES = np.zeros((5, 2), np.uint8)
HUGE = 10**400


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"n_bits": HUGE}, "n_bits=1000"),
        ({"n_bits": np.bool_(True)}, "n_bits="),
        ({"max_samples": -HUGE}, "max_samples=-1000"),
        ({"loss_target": HUGE}, "loss_target=1000"),
        ({"random_state": -1}, "random_state=-1: expected an integer from 0 to 4294967295, a RandomState or None"),
        ({"random_state": HUGE}, "random_state=1000"),
        ({"random_state": 2.5}, r"random_state=2\.5"),
        ({"random_state": [1]}, r"random_state=\[1\]"),
        ({"hash_function": KernelHash(gamma=HUGE)}, "gamma=1000"),
        ({"hash_function": KernelHash(gamma=np.array([1, 2]))}, r"gamma=array\(\[1, 2\]\)"),
        ({"hash_function": LinearHash(ridge=1e308)}, r"ridge=1e\+308"),
        ({"hash_function": LinearHash(refine_steps=HUGE)}, "refine_steps=1000"),
        ({"hash_function": SVMHash(C=HUGE)}, "C=1000"),
        ({"hash_function": SVMHash(gamma="x")}, "gamma='x'"),
        ({"hash_function": RotationHash(n_rotations=HUGE)}, "n_rotations=1000"),
        ({"hash_function": RotationHash(n_components=HUGE)}, "n_components=1000"),
        ({"hash_function": ReconstructionHash(n_rounds=HUGE)}, "n_rounds=1000"),
        ({"proximity": WithinRadius(radius=HUGE)}, "radius=1000"),
        ({"proximity": WithinRadius(metric=3)}, "metric=3"),
        ({"proximity": WithinRadius(metric_params=3)}, "metric_params=3"),
        ({"threshold": CalibratedThreshold(max_scale=1e308)}, r"max_scale=1e\+308"),
    ],
)
def test_parameters_of_fit(parameters, name):
    with pytest.raises((ValueError, TypeError), match=f"^{name}") as caught:
        ProximityPreservingCode(**{"n_bits": 4, **parameters}).fit(X, Y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: HammingIndex(16, n_threads=HUGE), "n_threads=1000.* from 1 to 4096"),
        (lambda: HammingIndex(16, tables=np.array([1, 2])), "tables=.* expected True, False or None"),
        (lambda: HammingIndex(16).add(CODES[:2], ids=[[1], 1]), "ids has entries of different lengths"),
        (lambda: HammingIndex(16).within(FloatQueries.from_weights(np.ones((1, 16))), HUGE), "radius=1000"),
        (lambda: HammingIndex.load(None), "path=None: expected the path of a file"),
        (lambda: ProximityPreservingCode.load(1.5), r"path=1\.5: expected the path of a file"),
        (lambda: ByMargins(1j), "scores is not an array of real numbers"),
        (lambda: asymmetric_distances([[HUGE]], CODES), "scores is not an array of real numbers"),
        (lambda: ProximityPreservingCode(4).fit([1.0, 2.0]), "Expected 2D array.* Reshape your data"),
        (lambda: check_number("radius", -HUGE), "radius=-1000"),
    ],
)
def test_other_calls(call, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_large_numbers_of_neighbors_are_all_neighbors():
    index = HammingIndex(16).add(CODES)
    margins = ByMargins(np.ones((1, 16)))
    assert index.search(CODES[:1], k=HUGE).neighbor.shape == (1, 5)
    assert index.search(CODES[:1], k=2, rescore=margins, oversample=1e308).neighbor.shape == (1, 2)
    assert len(index.within(CODES[:1], HUGE)[0].neighbor) == 5
