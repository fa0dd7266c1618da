"""The decoder of bytes: lookup tables, norms and better bytes against plain references."""

from itertools import pairwise

import numpy as np
import pytest

from helpers.neighbors import squared_distances
from proxcode import FloatQueries, HammingIndex, pack, unpack
from proxcode.hashing.decoder import FLIPS, ByteDecoder, fit_decoder, fit_linear
from proxcode.storage.state import State


@pytest.fixture(params=[1, 8, 13, 16], ids=lambda n_bits: f"{n_bits} bits")
def fitted(request, digits):
    """Return samples, bits of -1 and +1 that are signs of random projections, and the decoder."""
    X = digits[0][:500]
    directions = np.random.default_rng(0).normal(size=(64, request.param))
    bits = (X - X.mean(axis=0)) @ directions >= 0
    return X, bits, fit_decoder(X, bits)


def all_codes(n_bits):
    return pack((np.arange(2**n_bits)[:, None] >> np.arange(n_bits)) & 1)


def errors_of(decoder, X, codes):
    return ((X - decoder.mean - decoder.decode(codes).astype(np.float64)) ** 2).sum(axis=1)


def test_the_vectors_of_bits_solve_the_regression(rng):
    bits = rng.choice([-1, 1], (200, 9)).astype(np.int8)
    X = bits @ rng.normal(size=(9, 5)) + 0.1 * rng.normal(size=(200, 5))
    expected = np.linalg.solve(bits.T.astype(float) @ bits + 0.2 * np.eye(9), bits.T @ X)
    np.testing.assert_allclose(fit_linear(X, bits), expected, atol=1e-10)


def test_decoding_is_the_sum_of_the_vectors_of_bytes(fitted):
    _, bits, decoder = fitted
    codes = pack(bits)
    expected = [sum(decoder.vectors[b, value] for b, value in enumerate(code)) for code in codes[:20]]
    np.testing.assert_allclose(decoder.decode(codes[:20]), expected, rtol=1e-5, atol=1e-5)
    assert decoder.vectors.shape == (codes.shape[1], 256, 64)


def test_a_byte_decodes_better_than_its_bits(fitted):
    X, bits, decoder = fitted
    centred = X - X.mean(axis=0)
    signed = 2 * bits.astype(np.int8) - 1
    linear = ((centred - signed @ fit_linear(centred, signed)) ** 2).sum()
    assert errors_of(decoder, X, pack(bits)).sum() <= linear * (1 + 1e-6)


def test_tables_and_norms_are_the_squared_distances_to_decoded_codes(fitted):
    X, bits, decoder = fitted
    codes, queries = pack(bits), X[::50]
    decoded = decoder.mean + decoder.decode(codes)
    expected = squared_distances(queries, decoded)
    float_queries = FloatQueries(decoder.tables(queries), decoder.norms)
    np.testing.assert_allclose(float_queries.distances(codes), expected, rtol=1e-4, atol=1e-2)
    found = HammingIndex(bits.shape[1]).add(codes).search(float_queries, k=5)
    np.testing.assert_allclose(found.distance, np.sort(expected, axis=1)[:, :5], rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(
        np.take_along_axis(expected, found.neighbor, axis=1), np.sort(expected, axis=1)[:, :5], rtol=1e-4, atol=1e-2
    )


def test_more_sweeps_never_raise_the_error(fitted):
    X, bits, decoder = fitted
    errors = [errors_of(decoder, X, decoder.improve(X, pack(bits), n_sweeps)) for n_sweeps in range(4)]
    np.testing.assert_allclose(errors[0], errors_of(decoder, X, pack(bits)))
    for before, after in pairwise(errors):
        assert (after <= before * (1 + 1e-5)).all()


def test_improved_codes_have_no_bits_beyond_the_code(fitted):
    X, bits, decoder = fitted
    n_bits = bits.shape[1]
    codes, packed = pack(bits), None
    # Values that have not occurred keep the vectors of their bits; bits beyond the code must not bring them up.
    for _ in range(3):
        packed = decoder.improve(X, codes, n_sweeps=2)
        np.testing.assert_array_equal(pack(unpack(packed, n_bits)), packed)
        decoder.refit(X, packed, n_rounds=2)
        codes = packed


def test_one_byte_becomes_the_best_of_all_codes(digits):
    X = digits[0][:300]
    for n_bits in (1, 5, 8):
        bits = (X - X.mean(axis=0)) @ np.random.default_rng(1).normal(size=(64, n_bits)) >= 0
        decoder = fit_decoder(X, bits)
        codes = all_codes(n_bits)
        best = squared_distances(X, decoder.mean + decoder.decode(codes)).min(axis=1)
        improved = decoder.improve(X, pack(bits), n_sweeps=1)
        np.testing.assert_allclose(errors_of(decoder, X, improved), best, rtol=1e-4)


def test_gaps_are_the_growth_of_the_error_by_a_flip(fitted):
    X, bits, decoder = fitted
    X, n_bits = X[:40], bits.shape[1]
    codes = decoder.improve(X, pack(bits[:40]), n_sweeps=1)
    gaps = decoder.gaps(X, codes)
    now = errors_of(decoder, X, codes)
    for bit in range(n_bits):
        flipped = codes.copy()
        flipped[:, bit // 8] ^= np.uint8(FLIPS[bit % 8])
        np.testing.assert_allclose(gaps[:, bit], errors_of(decoder, X, flipped) - now, rtol=1e-3, atol=0.05)
    assert gaps.shape == (40, n_bits)
    # The last byte was chosen last: no flip of its bits improves.
    assert gaps[:, 8 * (codes.shape[1] - 1) : n_bits].min() >= -1e-2


def test_each_round_of_a_refit_lowers_the_error(fitted):
    X, bits, decoder = fitted
    codes = pack(bits)
    before = errors_of(decoder, X, codes).sum()
    for _ in range(3):
        decoder.refit(X, codes, n_rounds=1)
        after = errors_of(decoder, X, codes).sum()
        assert after <= before * (1 + 1e-6)
        before = after


def test_a_value_that_occurs_once_moves_by_a_sixth(digits):
    X = digits[0][:10]
    decoder = ByteDecoder(X.mean(axis=0), np.zeros((1, 256, 64), np.float32), 8)
    decoder.refit(X, np.arange(10, dtype=np.uint8)[:, None], n_rounds=1)
    np.testing.assert_allclose(decoder.vectors[0, :10], (X - X.mean(axis=0)) / 6, rtol=1e-5, atol=1e-5)
    assert not decoder.vectors[0, 10:].any()


def test_the_arrays_of_a_model_file_give_the_same_decoder(fitted):
    X, bits, decoder = fitted
    copy = ByteDecoder.restored(State(arrays=decoder.arrays()), decoder.n_bits)
    np.testing.assert_array_equal(copy.tables(X[:5]), decoder.tables(X[:5]))
    np.testing.assert_array_equal(copy.norms(pack(bits)), decoder.norms(pack(bits)))
    for of in (copy.improve(X, pack(bits), 1), pack(bits)):
        np.testing.assert_array_equal(copy.gaps(X, of), decoder.gaps(X, of))
    np.testing.assert_array_equal(copy.improve(X, pack(bits), 1), decoder.improve(X, pack(bits), 1))
