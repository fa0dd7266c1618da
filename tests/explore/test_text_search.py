"""Search as you type, compared with a search of Python strings one by one."""

import numpy as np
import pytest

from proxcode.explore import Items, text_search
from proxcode.explore.text_search import TextSearch
from proxcode.storage.texts import Texts


def reference(texts, wanted, limit):
    """Strings that begin with what is wanted, by their first 8 bytes and then by row, and those that contain it."""
    folded, wanted = [text.casefold() for text in texts], wanted.casefold()
    first = sorted(
        (row for row, text in enumerate(folded) if text.startswith(wanted)),
        key=lambda row: (folded[row].encode()[:8], row),
    )
    others = [row for row, text in enumerate(folded) if wanted in text and not text.startswith(wanted)]
    return [*first, *others][:limit]


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    letters = np.array(list("aabcÄß é\nZ"))
    return ["".join(rng.choice(letters, rng.integers(0, 14))) for _ in range(3000)] + ["", "a", "abcabcabcabc" * 3]


@pytest.mark.parametrize("limit", [1, 7, 100, 5000])
def test_rows_are_those_that_contain_the_text(texts, limit):
    search = TextSearch(Texts.of(texts))
    rng = np.random.default_rng(1)
    parts = [text[start : start + size] for text in texts[:40] for start, size in [rng.integers(0, 9, 2)]]
    for wanted in [
        "a",
        "b",
        "ab",
        "zz",
        "ä",
        "SS",
        "é",
        "é ",
        "abcabcabc",
        "abcabcabcabcabcX",
        "bb\n",
        "q",
        *filter(None, parts),
    ]:
        assert search.find(wanted, limit).tolist() == reference(texts, wanted, limit), wanted


def test_hashes_that_collide_only_cost_time(texts, monkeypatch):
    monkeypatch.setattr(text_search, "BLOCK", 16)
    monkeypatch.setattr(text_search, "_hashes", lambda data: (np.arange(max(0, len(data) - 1)) * 0).astype(np.uint32))
    search = TextSearch(Texts.of(texts[:500]))
    for wanted in ("a", "ab", "abc", "ss", "zzzz"):
        assert search.find(wanted, 1000).tolist() == reference(texts[:500], wanted, 1000)


def test_blocks_do_not_lose_or_repeat_strings(texts, monkeypatch):
    monkeypatch.setattr(text_search, "BLOCK", 5)
    monkeypatch.setattr(text_search, "MOST_BLOCKS", 3)
    search = TextSearch(Texts.of(texts[:200]))
    for wanted in ("a", "ab", "abc", "ss", "ä"):
        assert search.find(wanted, 1000).tolist() == reference(texts[:200], wanted, 1000)


def test_what_spans_two_strings_is_not_found():
    assert TextSearch(Texts.of(["ab", "cd", "bc"])).find("bc", 9).tolist() == [2]
    assert TextSearch(Texts.of(["ab", "cd"])).find("bc", 9).tolist() == []


def test_nul_is_found_nowhere():
    assert len(TextSearch(Texts.of(["ab", "abc"])).find("ab\0", 5)) == 0


def test_an_empty_text_gives_the_first_strings():
    search = TextSearch(Texts.of(["b", "a", "c"]))
    assert search.find("", 2).tolist() == [0, 1]
    assert TextSearch(Texts.of([])).find("", 2).tolist() == []
    assert TextSearch(Texts.of(["", ""])).find("a", 2).tolist() == []


def test_half_a_surrogate_pair_is_found_nowhere():
    assert TextSearch(Texts.of(["a"])).find("\ud83d", 2).tolist() == []


def test_the_first_column_of_text_is_searched():
    columns = {"price": Texts.of(["1", "", "2.5"]), "name": Texts.of(["one", "two", "three"])}
    assert Items(columns).names == ["name", "price"]
    assert Items(columns, "price").names == ["price", "name"]
    assert Items({"price": columns["price"]}).names == ["price"]
    with pytest.raises(ValueError, match="no column 'size' of items: expected one of price, name"):
        Items(columns, "size")
