"""Strings as bytes and ends."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxcode.storage import texts as texts_module
from proxcode.storage.texts import Texts

WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)


@settings(max_examples=200, deadline=None)
@given(values=st.lists(WORDS, max_size=30), data=st.data())
def test_strings_are_returned_as_they_were_given(values, data):
    texts = Texts.of(values)
    assert texts.at(np.arange(len(values))) == values
    assert len(texts.data) == len("".join(values).encode())
    texts.check(in_full=True)
    if values:
        positions = np.array(data.draw(st.lists(st.integers(0, len(values) - 1), max_size=20)), np.int64)
        expected = [values[position] for position in positions]
        assert texts.at(positions) == texts.chosen(positions).at(np.arange(len(positions))) == expected
        is_kept = np.isin(np.arange(len(values)), positions)
        assert texts.kept(is_kept).at(np.arange(is_kept.sum())) == [values[place] for place in np.flatnonzero(is_kept)]
        np.testing.assert_array_equal(texts.keys()[positions], texts.chosen(positions).keys())


def test_keys_of_blocks_are_those_of_all_and_differ(monkeypatch):
    values = [f"folder/{number}.jpg" for number in range(2000)] + ["", "a", "aa", "é" * 300]
    keys = Texts.of(values).keys()
    assert len(np.unique(keys)) == len(values)
    monkeypatch.setattr(texts_module, "BLOCK", 7)
    np.testing.assert_array_equal(Texts.of(values).keys(), keys)


def test_wrong_strings_are_refused():
    with pytest.raises(ValueError, match=r"^ids contains 'a\\x00b': expected strings without the character NUL\.$"):
        Texts.of(["ö", "a\0b"])
    with pytest.raises(ValueError, match=r"^ids contains 'b\\udc80', which is not valid Unicode: pass another id\.$"):
        Texts.of(["ö", "b\udc80"])
