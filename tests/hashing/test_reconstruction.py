"""Codes that reconstruct samples, against a search over all codes."""

import numpy as np
import pytest

from helpers.neighbors import recall_at, squared_distances
from proxcode import ProximityPreservingCode, ReconstructionHash, RotationHash, pack
from proxcode.cut.initial import signs_of
from proxcode.hamming import distances
from proxcode.hashing._kernels import descend
from proxcode.hashing.reconstruction import _drawn_flips


def fitted(X, n_bits, **parameters):
    hash_function = ReconstructionHash(**parameters)
    hash_function.fit_bits(X, None, n_bits, np.random.default_rng(0))
    return hash_function


def linear_codes(hash_function, X):
    """Return the codes before the bytes are improved."""
    Z = X - hash_function.center_
    return hash_function._descend(Z, signs_of(Z @ hash_function.start_), hash_function.flips_)


def linear_errors(hash_function, X, codes):
    return ((X - hash_function.center_ - codes @ hash_function.vectors_) ** 2).sum(axis=1)


def byte_errors(hash_function, X):
    decoder = hash_function.decoder_
    return ((X - decoder.mean - decoder.decode(pack(hash_function.margins(X) >= 0))) ** 2).sum(axis=1)


def all_signs(n_bits):
    return 1.0 - 2.0 * ((np.arange(2**n_bits)[:, None] >> np.arange(n_bits)) & 1)


@pytest.fixture(scope="module", params=["digits", "normal"], name="X")
def samples(request, digits):
    return digits[0][:400] if request.param == "digits" else np.random.default_rng(0).normal(size=(400, 12))


@pytest.mark.parametrize("n_descents", [0, 8])
@pytest.mark.parametrize("n_bits", [3, 20])
def test_no_flip_of_one_bit_lowers_the_error(n_bits, n_descents, X):
    hash_function = fitted(X, n_bits, n_rounds=4, n_descents=n_descents)
    codes = linear_codes(hash_function, X)
    now = linear_errors(hash_function, X, codes)
    for bit in range(n_bits):
        flipped = codes.copy()
        flipped[:, bit] *= -1
        assert (linear_errors(hash_function, X, flipped) >= now * (1 - 1e-4)).all()


@pytest.mark.parametrize("n_bits", [1, 4, 8])
def test_errors_are_close_to_those_of_the_best_of_all_codes(n_bits, X):
    hash_function = fitted(X, n_bits)
    best = squared_distances(X - hash_function.center_, all_signs(n_bits) @ hash_function.vectors_).min(axis=1)
    found = linear_errors(hash_function, X, linear_codes(hash_function, X))
    assert (found <= best * (1 + 1e-5)).mean() > 0.95
    assert found.sum() < 1.005 * best.sum()
    # Of one byte, the best value is found.
    decoder = hash_function.decoder_
    decoded = decoder.mean + decoder.decode(pack(all_signs(n_bits) > 0))
    np.testing.assert_allclose(byte_errors(hash_function, X), squared_distances(X, decoded).min(axis=1), rtol=1e-4)


def test_more_descents_never_increase_an_error(rng):
    D, n_bits = rng.normal(size=(24, 10)), 24
    X = rng.normal(size=(300, 10)) * 4
    gram, fields = (D @ D.T).astype(np.float32), (X @ D.T).astype(np.float32)
    start = rng.choice([-1, 1], (300, n_bits)).astype(np.int8)
    flips = _drawn_flips(16, n_bits, rng)
    before = np.full(300, np.inf)
    totals = []
    for n_descents in (0, 1, 2, 4, 8, 16):
        codes = start.copy()
        descend(gram, fields, codes, flips[:n_descents])
        errors = ((X - codes @ D) ** 2).sum(axis=1)
        assert (errors <= before + 1e-4 * (X**2).sum(axis=1)).all()
        before = errors
        totals.append(errors.sum())
    assert totals[-1] < 0.9 * totals[0]


def test_a_descent_never_ends_above_its_start(rng):
    D, X = rng.normal(size=(20, 8)), rng.normal(size=(200, 8))
    start = rng.choice([-1, 1], (200, 20)).astype(np.int8)
    codes = start.copy()
    descend((D @ D.T).astype(np.float32), (X @ D.T).astype(np.float32), codes, np.empty((0, 1), np.int64))
    assert set(np.unique(codes)) == {-1, 1}
    assert (((X - codes @ D) ** 2).sum(axis=1) <= ((X - start @ D) ** 2).sum(axis=1) * (1 + 1e-5)).all()


def test_a_zero_dictionary_ends_at_once():
    codes = np.ones((3, 5), np.int8)
    descend(np.zeros((5, 5), np.float32), np.zeros((3, 5), np.float32), codes, np.zeros((1, 1), np.int64))
    assert codes.shape == (3, 5)


def test_flips_of_a_descent_are_different_bits(rng):
    flips = _drawn_flips(50, 64, rng)
    assert flips.shape == (50, 4)
    assert all(len(set(row)) == 4 for row in flips)
    assert _drawn_flips(3, 1, rng).tolist() == [[0], [0], [0]]
    assert _drawn_flips(0, 8, rng).shape == (0, 1)


@pytest.mark.parametrize("n_bits", [13, 16, 30])
def test_codes_are_those_that_the_decoder_chose(n_bits, X):
    """The margins are the growth of the error by a flip, in a unit of their own, with the sign of the bit."""
    hash_function = fitted(X, n_bits, n_rounds=4)
    margins = hash_function.margins(X)
    codes = pack(margins >= 0)
    gaps = hash_function.decoder_.gaps(X, codes)
    np.testing.assert_array_equal(hash_function.decoder_.improve(X, codes, n_sweeps=0), codes)
    expected = np.maximum(gaps[:, :n_bits] / hash_function.scale_, 0)
    np.testing.assert_allclose(np.abs(margins), expected, rtol=1e-3, atol=1e-3 * expected.max())
    # The last byte was chosen last.
    assert gaps[:, 8 * (codes.shape[1] - 1) : n_bits].min() >= -1e-3 * gaps[:, :n_bits].max()


def test_bytes_reconstruct_better_than_bits_and_more_bits_better_than_fewer(digits):
    X = digits[0]
    errors = []
    for n_bits in (8, 20, 40):
        hash_function = fitted(X, n_bits, n_rounds=8)
        linear = linear_errors(hash_function, X, linear_codes(hash_function, X)).sum()
        errors.append(byte_errors(hash_function, X).sum())
        assert errors[-1] < linear
    assert errors[0] > 1.2 * errors[1] > 1.2**2 * errors[2]


@pytest.mark.parametrize("n_bits", [13])
def test_recall_of_float_queries_is_above_that_of_hamming_distances_and_of_rotations(n_bits, digits):
    base, queries = digits[0][:1400], digits[0][1400:]
    true = squared_distances(queries, base)
    recalls = {}
    for hash_function in (ReconstructionHash(), RotationHash()):
        model = ProximityPreservingCode(n_bits, hash_function=hash_function, random_state=0).fit(base)
        by_bits = recall_at(10, distances(model.encode(queries), model.codes_), true)
        by_floats = recall_at(10, model.query(queries).distances(model.codes_), true)
        assert by_floats > by_bits + 0.1
        recalls[type(hash_function)] = by_floats
    assert recalls[ReconstructionHash] > recalls[RotationHash] + 0.05
