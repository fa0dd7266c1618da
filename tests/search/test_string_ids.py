"""HammingIndex with string ids, against one with integer ids and against a dictionary."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from helpers.codes import assert_same, random_codes
from proxcode import ShardedIndex
from proxcode.search import ByDistance, ByMargins, FloatQueries, HammingIndex
from proxcode.search import string_ids as string_ids_module
from proxcode.storage.container import read_file, write_file
from proxcode.storage.texts import Texts
from proxcode.utils.lookup import Run

ZEROS = np.zeros((2, 2), np.uint8)


def names(n, start=0):
    return np.array([f"bilder/ü{number}.jpg" for number in range(start, start + n)], object)


def as_column(form, values):
    return {
        "list": list,
        "tuple": tuple,
        "array of str": lambda values: np.array(values, np.str_),
        "array of objects": np.array,
        "variable strings": lambda values: np.array(values, np.dtypes.StringDType()),
        "pandas": pd.Series,
    }[form](values.tolist() if form != "array of objects" else values)


@pytest.mark.parametrize("form", ["list", "tuple", "array of str", "array of objects", "variable strings", "pandas"])
def test_every_form_of_strings_gives_the_same_index(rng, form):
    codes = random_codes(rng, 300, 40, 9)
    index = HammingIndex(40).add(codes[:200], as_column(form, names(200)))
    index.add(codes[200:], as_column(form, names(100, 200)))
    assert_same(index, codes[:20], codes, names(300), 12, 5)
    np.testing.assert_array_equal(index.get(as_column(form, names(300)[[7, 299, 7]])), codes[[7, 299, 7]])
    index.remove(as_column(form, names(300)[[250, 3]]))
    kept = np.delete(np.arange(300), [3, 250])
    assert_same(index, codes[:20], codes[kept], names(300)[kept], 12, 5)
    assert all(type(one) is str for one in index.ids)


def test_neighbours_are_strings_also_with_rescoring_and_float_queries(rng):
    codes = random_codes(rng, 500, 24, 9)
    index, reference = HammingIndex(24).add(codes, names(500)), HammingIndex(24).add(codes)
    margins, vectors = rng.normal(size=(6, 24)), rng.normal(size=(500, 3))
    by_name = dict(zip(names(500), vectors, strict=True))
    queries = FloatQueries.from_weights(margins)
    for own, of_integers in (
        (index.search(queries, 9), reference.search(queries, 9)),
        (index.within(queries, 4.5), reference.within(queries, 4.5)),
        (
            index.search(codes[:6], 9, rescore=ByMargins(margins)),
            reference.search(codes[:6], 9, rescore=ByMargins(margins)),
        ),
        (
            index.search(
                codes[:6], 9, rescore=ByDistance(queries=vectors[:6], vectors=lambda ids: [by_name[one] for one in ids])
            ),
            reference.search(codes[:6], 9, rescore=ByDistance(queries=vectors[:6], vectors=vectors)),
        ),
    ):
        np.testing.assert_array_equal(own.distance, of_integers.distance)
        np.testing.assert_array_equal(own.neighbor, names(500)[of_integers.neighbor])
    with pytest.raises(TypeError, match=r"^vectors is an array, but ids are strings: pass a callable"):
        index.search(codes[:6], rescore=ByDistance(queries=vectors[:6], vectors=vectors))


@pytest.mark.parametrize("mapped", [True, False])
def test_a_saved_index_keeps_its_strings(rng, tmp_path, mapped):
    codes, ids = random_codes(rng, 100, 20), names(100)
    ids[5], ids[6] = "", "x" * 5000
    HammingIndex(20).add(codes, ids).save(tmp_path / "a.index")
    loaded = HammingIndex.load(tmp_path / "a.index", mapped=mapped)
    assert_same(loaded, codes[:9], codes, ids, 7, 6)
    loaded.add(codes[:1], ["new"]).remove([""])
    kept = np.delete(np.arange(101), 5)
    codes, ids = np.vstack([codes, codes[:1]])[kept], np.append(ids, "new")[kept]
    assert_same(loaded, codes[:9], codes, ids, 7, 6)
    assert not any(array.dtype.kind in "OU" for array in read_file(tmp_path / "a.index", "index").tensors.values())


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))])
def test_copies_are_independent(rng, duplicate):
    codes = random_codes(rng, 200, 32)
    index = HammingIndex(32).add(codes[:100], names(100)).add(codes[100:101], ["x"])
    index.search(codes[:1])
    other = duplicate(index).add(codes[101:103], ["y", "z"])
    index.add(codes[103:105], ["other y", "other z"])
    assert_same(other, codes[95:], codes[:103], [*names(100), "x", "y", "z"], 4, 9)
    expected = np.vstack([codes[:101], codes[103:105]])
    assert_same(index, codes[95:], expected, [*names(100), "x", "other y", "other z"], 4, 9)


def test_strings_with_equal_keys_are_told_apart(rng, monkeypatch):
    monkeypatch.setattr(Texts, "keys", lambda self: np.diff(self.ends, prepend=0).astype(np.uint64) % 2)
    codes, ids = random_codes(rng, 60, 16), names(60)
    index = HammingIndex(16).add(codes[:50], ids[:50]).add(codes[50:], ids[50:])
    for one in range(60):
        np.testing.assert_array_equal(index.get([ids[one]]), codes[[one]])
    with pytest.raises(ValueError, match=r"^id nobody is not stored: pass ids of stored codes\.$"):
        index.get([ids[3], "nobody"])
    with pytest.raises(ValueError, match=r"^id bilder/ü7\.jpg is already stored: remove it first"):
        index.add(ZEROS, ["nobody", ids[7]])


REFUSED = {
    "integers in an index of strings": (
        lambda: HammingIndex(12).add(ZEROS, ["a", "b"]).add(ZEROS, [1, 2]),
        r"^ids contains 1: the index has string ids; pass strings\.$",
    ),
    "strings in an index of integers": (
        lambda: HammingIndex(12).add(ZEROS).add(ZEROS, ["a", "b"]),
        r"^ids contains 'a': the index has integer ids, which strings cannot join\.$",
    ),
    "no ids": (lambda: HammingIndex(12).add(ZEROS, ["a", "b"]).add(ZEROS), r"^ids=None: the index has string ids, "),
    "both": (
        lambda: HammingIndex(12).add(ZEROS, ["a", 2]),
        r"^ids contains 2 beside strings: expected strings or integers, not both\.$",
    ),
    "missing": (
        lambda: HammingIndex(12).add(ZEROS, np.array(["a", None], object)),
        r"^ids contains None beside strings: expected",
    ),
    "twice": (lambda: HammingIndex(12).add(ZEROS, ["a", "a"]), r"^ids contains a more than once: expected distinct"),
    "too few": (lambda: HammingIndex(12).add(ZEROS, ["a"]), r"^ids has 1 entries for 2 codes: expected one id per"),
    "bytes": (lambda: HammingIndex(12).add(ZEROS, [b"a", b"b"]), r"^ids has dtype \|S1 and shape \(2,\): expected"),
    "removed of the other kind": (
        lambda: HammingIndex(12).add(ZEROS, ["a", "b"]).remove([1]),
        r"^ids contains 1: the index has string ids; pass strings\.$",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_ids_are_refused_in_one_sentence(case):
    call, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        call()
    with pytest.raises(TypeError, match=r"^ids='a': expected a list of ids, such as \['a'\]\.$"):
        HammingIndex(12).add(ZEROS[:1], "a")


def test_the_kind_of_ids_stays_when_all_codes_are_removed():
    index = HammingIndex(12).add(ZEROS, ["a", "b"]).remove(["b", "a"])
    assert len(index) == 0
    with pytest.raises(ValueError, match=r"^ids contains 7: the index has string ids; pass strings\.$"):
        index.add(ZEROS, [7, 8])
    assert index.add(ZEROS, ["b", "c"]).ids.tolist() == ["b", "c"]
    assert HammingIndex(12).add(ZEROS[:0], []).add(ZEROS, ["b", "c"]).ids.tolist() == ["b", "c"]


def test_shards_with_strings_are_searched_as_one(rng, tmp_path):
    codes, ids = random_codes(rng, 90, 20, 5), rng.permutation(names(90))
    for number, rows in enumerate((slice(0, 40), slice(40, 40), slice(40, 90))):
        HammingIndex(20).add(codes[rows], ids[rows].tolist()).save(tmp_path / f"{number}.index")
    shards = ShardedIndex(tmp_path)
    assert_same(shards, codes[:9], codes, ids, 30, 5)
    assert shards.ids.tolist() == ids.tolist()
    assert_same(ShardedIndex(tmp_path, renumber=True), codes[:9], codes, np.arange(90), 30, 5)
    HammingIndex(20).add(codes[:1], [ids[77]]).save(tmp_path / "3.index")
    with pytest.raises(ValueError, match=rf"^id {ids[77]} is in .*2\.index and in .*3\.index: save them with distinct"):
        ShardedIndex(tmp_path)
    HammingIndex(20).add(codes[:1]).save(tmp_path / "3.index")
    message = r"0\.index has string ids, but .*3\.index integer ids: save them with ids of one kind, or pass renumber"
    with pytest.raises(ValueError, match=message):
        ShardedIndex(tmp_path)
    assert len(ShardedIndex(tmp_path, renumber=True)) == 91


def test_damaged_strings_of_a_file_are_refused(tmp_path):
    path = tmp_path / "a.index"
    planes, text = np.zeros((2, 3), np.uint8), np.frombuffer(b"aabb", np.uint8)
    for ends, message in (
        (np.array([1, 2, 3]), "the ends of its string ids do not fit to their bytes"),
        (np.array([1, 4]), "it has 2 ids for 3 codes"),
        (np.array([3, 2, 4]), "its string ids overlap"),
        (np.array([1, 2, 4]), "it holds an id more than once"),
    ):
        tensors = {"planes": planes, "id_bytes": text, "id_ends": ends}
        write_file(path, "index", {"n_bits": 12}, tensors)
        with pytest.raises(ValueError, match=message):
            HammingIndex.load(path, mapped=False)


@pytest.mark.parametrize("strings", [False, True])
def test_a_file_finds_its_ids_without_sorting_them(rng, tmp_path, monkeypatch, strings):
    codes, ids = random_codes(rng, 500, 20), rng.permutation(500)
    ids = [f"{one}.jpg" for one in ids.tolist()] if strings else ids
    path = tmp_path / "a.index"
    HammingIndex(20).add(codes[:300], ids[:300]).add(codes[300:], ids[300:]).save(path)
    content, tensors = read_file(path, "index")
    assert len(tensors["id_keys"]) == len(tensors["id_positions"]) == 500
    with monkeypatch.context() as patch:
        patch.setattr(Run, "of", None)
        np.testing.assert_array_equal(HammingIndex.load(path).get(ids[77:99]), codes[77:99])
    for name, place, value in (("id_positions", 0, 7), ("id_keys", 3, 0), ("id_positions", 1, 10**6)):
        damaged = {**tensors, name: tensors[name].copy()}
        damaged[name][place] = value
        write_file(path, "index", content, damaged)
        with pytest.raises(ValueError, match="its lookup of ids does not fit to its ids; save the index again"):
            HammingIndex.load(path, mapped=False)
    write_file(path, "index", content, {**tensors, "id_keys": tensors["id_keys"][1:]})
    with pytest.raises(ValueError, match="its lookup of ids does not fit to its ids; save the index again"):
        HammingIndex.load(path)
    HammingIndex(20).add(codes).save(path)
    assert set(read_file(path, "index").tensors) == {"planes"}
    HammingIndex(20).add(codes, np.arange(500) * 2).save(path)
    assert set(read_file(path, "index").tensors) == {"planes", "ids"}


def test_a_million_strings(rng):
    """Additions and lookups are vectorised: a loop over a million strings in Python would take many seconds."""
    codes = random_codes(rng, 1_000_000, 16)
    ids = [f"{number:x}.jpg" for number in range(1_000_000)]
    index = HammingIndex(16, tables=False).add(codes[:-1], ids[:-1]).add(codes[-1:], ids[-1:])
    np.testing.assert_array_equal(index.get(ids[::1000]), codes[::1000])
    assert index.nbytes < 60 * len(ids)
    assert isinstance(index._snapshot.ids, string_ids_module.StringIds)
