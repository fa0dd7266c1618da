"""Packed codes against 0/1 matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score

from proxcode import ProximityPreservingCode
from proxcode.hamming import GrowingCode, asymmetric_distances, check_codes, distances, pack, to_words, unpack

bit_matrices = arrays(
    np.uint8, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=140), elements=st.integers(0, 1)
)


@given(bit_matrices)
def test_unpack_gives_back_what_pack_packed(bits):
    codes = pack(bits)
    assert codes.dtype == np.uint8
    assert codes.shape == (len(bits), -(-bits.shape[1] // 8))
    np.testing.assert_array_equal(unpack(codes, bits.shape[1]), bits)


@given(bit_matrices, st.data())
def test_unpack_of_fewer_bits_is_a_prefix(bits, data):
    n_bits = data.draw(st.integers(0, bits.shape[1]))
    np.testing.assert_array_equal(unpack(pack(bits), n_bits), bits[:, :n_bits])


@pytest.mark.parametrize("dtype", [bool, int, float, np.int8])
def test_pack_takes_any_dtype_in_the_order_of_packbits(dtype, rng):
    bits = rng.integers(0, 2, (5, 19))
    np.testing.assert_array_equal(pack(bits.astype(dtype)), np.packbits(bits, axis=1))


@given(bit_matrices)
def test_appended_bits_are_packed_bits(bits):
    code = GrowingCode(len(bits))
    for column in bits.T:
        code.append(np.where(column, 1, -1).astype(np.int8))
    assert code.n_bits == bits.shape[1]
    np.testing.assert_array_equal(code.packed(), pack(bits))
    np.testing.assert_array_equal(code.words, to_words(pack(bits)))


@given(bit_matrices, st.data())
def test_from_packed_goes_on_where_the_code_ended(bits, data):
    n_kept = data.draw(st.integers(0, bits.shape[1]))
    code = GrowingCode.from_packed(pack(bits), n_kept)
    np.testing.assert_array_equal(code.packed(), pack(bits[:, :n_kept]))
    for column in bits.T[n_kept:]:
        code.append(np.where(column, 1, -1).astype(np.int8))
    np.testing.assert_array_equal(code.packed(), pack(bits))


def test_append_leaves_earlier_words_alone(rng):
    code = GrowingCode(10)
    for _ in range(70):
        words, before = code.words, code.words.copy()
        code.append(rng.choice(np.array([-1, 1], np.int8), 10))
        np.testing.assert_array_equal(words, before)


@given(bit_matrices, st.integers(0, 20), st.integers(0, 2**32 - 1))
def test_distances_count_unequal_bits(a, n_others, seed):
    b = np.random.default_rng(seed).integers(0, 2, (n_others, a.shape[1]))
    np.testing.assert_array_equal(distances(pack(a), pack(b)), (a[:, None] != b).sum(axis=2))


def test_a_distance_of_more_than_255_bits_does_not_wrap():
    assert distances(pack(np.zeros((1, 1000))), pack(np.ones((1, 1000))))[0, 0] == 1000


def test_words_are_contiguous_planes(rng):
    words = to_words(pack(rng.integers(0, 2, (7, 130))))
    assert words.shape == (3, 7)
    assert words.flags.c_contiguous


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pack([0, 1]), r"^bits has shape \(2,\): expected a matrix of shape \(n_samples, n_bits\)\.$"),
        (lambda: pack([[0, 2]]), r"^bits has values from 0 to 2: expected only 0 and 1\.$"),
        (lambda: pack([[0.5]]), r"^bits has values from 0\.5 to 0\.5: expected"),
        (lambda: pack([[-1, 1]]), r"^bits has values from -1 to 1: expected"),
        (lambda: pack([[np.nan]]), r"^bits has values from nan to nan: expected"),
        (lambda: unpack(pack([[0, 1]]), 9), r"^n_bits=9: expected an integer from 0 to 8 for codes of 1 bytes\.$"),
        (lambda: unpack(pack([[0, 1]]), -1), r"^n_bits=-1: expected an integer from 0 to 8"),
        (lambda: GrowingCode.from_packed(pack([[0, 1]]), 9), r"^n_bits=9: expected an integer from 0 to 8"),
        (
            lambda: check_codes([[0, 1]]),
            r"^codes has dtype int64 and shape \(1, 2\): expected a uint8 matrix.*encode\(\)\.$",
        ),
        (
            lambda: check_codes(np.zeros(3, np.uint8)),
            r"^codes has dtype uint8 and shape \(3,\): expected a uint8 matrix",
        ),
        (
            lambda: check_codes(np.zeros((2, 3), np.uint8), n_bits=16),
            r"^codes has 3 bytes per row: expected 2 bytes for 16 bits; encode with n_bits=16\.$",
        ),
        (
            lambda: check_codes(np.ones((2, 1), np.uint8), n_bits=7),
            r"^codes has nonzero bits after the first 7: expected zeros",
        ),
        (
            lambda: distances(pack(np.zeros((1, 8))), pack(np.zeros((1, 9)))),
            r"^codes have 1 and 2 bytes per row: expected equal widths",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@given(bit_matrices)
def test_packed_codes_of_the_right_length_are_valid(bits):
    codes = pack(bits)
    assert check_codes(codes, n_bits=bits.shape[1]) is codes


@given(bit_matrices, st.data())
def test_take_returns_the_codes_of_a_subset(bits, data):
    samples = np.array(data.draw(st.lists(st.integers(0, len(bits) - 1)) if len(bits) else st.just([])), np.int64)
    subset = GrowingCode.from_packed(pack(bits), bits.shape[1]).take(samples)
    assert subset.n_bits == bits.shape[1]
    np.testing.assert_array_equal(subset.packed(), pack(bits[samples]))


@pytest.mark.parametrize("n_bits", [1, 7, 8, 13, 64, 130])
def test_asymmetric_distances_weigh_the_bits_that_differ(n_bits, rng):
    scores, bits = rng.normal(size=(5, n_bits)), rng.integers(0, 2, (11, n_bits))
    differs = (scores >= 0)[:, None] != bits[None].astype(bool)
    expected = (np.tanh(np.abs(scores))[:, None] * differs).sum(axis=-1)
    np.testing.assert_allclose(asymmetric_distances(scores, pack(bits)), expected, rtol=1e-5, atol=1e-6)


def test_sure_queries_have_hamming_distances(rng):
    query, bits = rng.integers(0, 2, (3, 40)), rng.integers(0, 2, (20, 40))
    sure = np.where(query > 0, 50.0, -50.0)
    np.testing.assert_array_equal(asymmetric_distances(sure, pack(bits)), distances(pack(query), pack(bits)))


def test_asymmetric_distances_refuse_what_does_not_fit(rng):
    codes = pack(rng.integers(0, 2, (4, 16)))
    with pytest.raises(ValueError, match=r"^scores has 20 columns and codes has 2 bytes per row: expected 3 bytes"):
        asymmetric_distances(rng.normal(size=(2, 20)), codes)
    with pytest.raises(ValueError, match=r"^scores contains NaN or infinity: expected finite margins"):
        asymmetric_distances(np.full((1, 16), np.nan), codes)


def test_asymmetric_ranking_is_better_than_hamming_distance_on_digits(digits_codes):
    scores, codes, labels = digits_codes
    near = labels[:, None] == labels
    np.fill_diagonal(near, False)
    off = ~np.eye(len(labels), dtype=bool)
    symmetric, asymmetric = (
        average_precision_score(near[off], -d[off])
        for d in (distances(codes, codes), asymmetric_distances(scores, codes))
    )
    assert asymmetric > symmetric


@pytest.fixture(scope="module")
def digits_codes():
    X, y = load_digits(return_X_y=True)
    model = ProximityPreservingCode(12, random_state=0).fit(X[:1000], y[:1000])
    return model.scores(X[1000:]), model.encode(X[1000:]), y[1000:]
