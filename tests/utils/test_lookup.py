"""Arrays that grow, and positions of keys, against plain NumPy and dictionaries."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from proxcode.utils import growing
from proxcode.utils.growing import GrowingArray
from proxcode.utils.lookup import KeyLookup


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_an_array_grows_as_by_concatenation_whenever_it_is_read(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31)))
    expected = rng.integers(0, 9, (2, data.draw(st.integers(0, 40))))
    array, before = GrowingArray(expected.copy()), []
    for _ in range(data.draw(st.integers(0, 30))):
        part = rng.integers(0, 9, (2, data.draw(st.integers(0, 5))))
        array, expected = array.extended(part), np.hstack([expected, part])
        assert array.n == expected.shape[1]
        if data.draw(st.booleans()):
            np.testing.assert_array_equal(array.columns, expected)
            before.append((array.columns, expected))
    np.testing.assert_array_equal(array.columns, expected)
    # What was read before is not written to.
    for read, as_it_was in before:
        np.testing.assert_array_equal(read, as_it_was)


def test_parts_are_joined_before_they_are_many(monkeypatch):
    monkeypatch.setattr(growing, "MAX_LATER", 5)
    array = GrowingArray(np.arange(3))
    for number in range(100):
        array = array.extended(np.array([number]))
        assert len(array._state[2]) <= 5
    np.testing.assert_array_equal(array.columns, [0, 1, 2, *range(100)])


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_keys_are_found_as_in_a_dictionary(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31)))
    lookup, keys = KeyLookup(), np.empty(0, np.int64)
    for _ in range(data.draw(st.integers(0, 12))):
        if data.draw(st.booleans()):
            new = np.setdiff1d(rng.integers(-50, 50, data.draw(st.integers(0, 20))), keys)
            new = rng.permutation(new) if data.draw(st.booleans()) else new
            lookup, keys = lookup.extended(new), np.append(keys, new)
        else:
            is_kept = rng.random(len(keys)) < 0.7
            lookup, keys = lookup.kept(is_kept), keys[is_kept]
        assert lookup.n == len(keys)
        assert lookup.largest == max(keys.tolist(), default=None)
        position = {key: number for number, key in enumerate(keys.tolist())}
        asked = rng.integers(-60, 60, 40)
        assert lookup.find(asked).tolist() == [position.get(one, -1) for one in asked.tolist()]


def test_runs_are_few_and_additions_cheap():
    lookup = KeyLookup()
    rng = np.random.default_rng(0)
    keys = rng.permutation(100_000)
    for start in range(0, len(keys), 100):
        lookup = lookup.extended(keys[start : start + 100])
        assert len(lookup.runs) <= 12
    np.testing.assert_array_equal(lookup.find(keys), np.arange(len(keys)))


def test_equal_keys_are_told_apart_by_what_they_stand_for():
    words = ["ab", "ba", "cd", "dc", "ad"]
    keys = np.array([sum(map(ord, word)) for word in words], np.uint64)
    for n_first in range(6):
        lookup = KeyLookup().extended(keys[:n_first]).extended(keys[n_first:])
        asked = ["dc", "ab", "da", "ba", "cd", "zz"]
        found = lookup.find(
            np.array([sum(map(ord, word)) for word in asked], np.uint64),
            lambda rows, positions, asked=asked: np.array(
                [asked[row] == words[position] for row, position in zip(rows, positions, strict=True)], bool
            ),
        )
        assert found.tolist() == [3, 0, -1, 1, 2, -1]
