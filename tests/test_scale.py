"""The scale of the samples is no concern of the user: the same codes at 1e-40 and at 1e300."""

import numpy as np
import pytest

from proxcode import (
    GivenPairs,
    KernelHash,
    LinearHash,
    ProximityPreservingCode,
    ReconstructionHash,
    RotationHash,
    SameLabel,
    SVMHash,
    WithinRadius,
)
from proxcode.pairs.within_radius import PairDistances

KINDS = {
    "labels": ({}, True),
    "linear": ({"hash_function": LinearHash()}, True),
    "svm": ({"hash_function": SVMHash()}, True),
    "new classes": ({"proximity": SameLabel(new_classes=True)}, True),
    "radius": ({"proximity": WithinRadius()}, False),
    "cosine": ({"proximity": WithinRadius(metric="cosine")}, False),
    "nearest": ({}, False),
    "rotation": ({"hash_function": RotationHash(gamma=0)}, False),
    "reconstruction": ({"hash_function": ReconstructionHash(n_rounds=2)}, False),
    "near pairs": ({"proximity": GivenPairs([[i, i + 1] for i in range(0, 98, 2)])}, False),
}
# Powers of two, so that scaled samples have the same digits.
UNITS = [(np.float32, 2.0**-100), (np.float32, 2.0**100), (np.float64, 2.0**-990), (np.float64, 2.0**990)]


@pytest.fixture(scope="module")
def samples(digits):
    X, y = digits
    return X[:100] / 16.0, y[:100]


def fitted(X, y, parameters):
    return ProximityPreservingCode(6, random_state=0, **parameters).fit(X, y)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "unit"), UNITS)
def test_codes_do_not_depend_on_the_scale(samples, kind, dtype, unit):
    X, y = samples[0].astype(dtype), samples[1]
    parameters, has_labels = KINDS[kind]
    plain = fitted(X, y if has_labels else None, parameters)
    scaled = fitted(X * dtype(unit), y if has_labels else None, parameters)
    # The unit makes the range of samples 1/2 to 1, another scale than that of X: rounding may differ.
    assert (plain.codes_ != scaled.codes_).mean() < 0.02
    assert scaled.history_[-1].loss == pytest.approx(plain.history_[-1].loss, abs=0.01)
    assert np.isfinite(scaled.scores(X * dtype(unit))).all()
    np.testing.assert_array_equal(scaled.encode(X * dtype(unit)), scaled.codes_)


def test_the_unit_is_saved(samples, tmp_path):
    X = (samples[0] * 1e-30).astype(np.float32)
    model = fitted(X, None, {})
    model.save(tmp_path / "a.proxcode")
    loaded = ProximityPreservingCode.load(tmp_path / "a.proxcode")
    np.testing.assert_array_equal(loaded.encode(X), model.codes_)
    np.testing.assert_array_equal(loaded.query(X[:3]).tables, model.query(X[:3]).tables)


def test_samples_far_beyond_those_of_fit(samples):
    X = (samples[0] * 1e-30).astype(np.float32)
    model = fitted(X, samples[1], {})
    assert np.isfinite(model.scores(np.full((2, 64), 1e30, np.float32))).all()


def test_a_given_radius_is_in_the_units_of_the_samples(samples):
    X = samples[0]
    radius = PairDistances(X, "euclidean", None).distance_of_rank(300)
    scaled = PairDistances(X * 2.0**-990, "euclidean", None)
    assert scaled.distance_of_rank(300) == radius * 2.0**-990
    assert len(scaled.pairs_within(radius * 2.0**-990)[0]) == 300


def test_a_given_gamma_needs_an_ordinary_scale(samples):
    X = (samples[0] * 1e30).astype(np.float32)
    with pytest.raises(ValueError, match=r"a variance of 4\.\d+e\+60, beyond single precision: scale X"):
        fitted(X, samples[1], {"hash_function": KernelHash(gamma=1.0)})


@pytest.mark.parametrize("y", [None, np.arange(30) % 3])
def test_equal_samples_are_refused(y):
    with pytest.raises(ValueError, match="all 30 samples of X are equal: a code needs samples that differ"):
        ProximityPreservingCode(4).fit(np.full((30, 3), 7.0), y)
