"""HammingIndex against an exhaustive search."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.codes import assert_same, random_codes, reference_search
from proxcode.search import HammingIndex
from proxcode.search import exact as exact_module
from proxcode.storage.container import write_file


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_any_history_of_additions_and_removals_gives_what_an_exhaustive_search_gives(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31), label="seed"))
    n_bits = data.draw(st.integers(1, 260), label="bits")
    index = HammingIndex(
        n_bits,
        n_threads=data.draw(st.sampled_from([1, 2, 3]), label="threads"),
        tables=data.draw(st.sampled_from([None, True, False]), label="tables"),
    )
    codes, ids = np.empty((0, -(-n_bits // 8)), np.uint8), np.empty(0, np.int64)
    n_centers = data.draw(st.sampled_from([None, 1, 3]), label="centers")
    for _ in range(data.draw(st.integers(1, 5), label="operations")):
        operation = data.draw(st.sampled_from(["add", "add with ids", "remove", "search"]))
        if operation.startswith("add"):
            new = random_codes(rng, data.draw(st.integers(0, 40)), n_bits, n_centers)
            start = ids.max() + 1 if len(ids) else 0
            own = np.arange(start, start + len(new))
            if operation == "add":
                index.add(new)
            else:
                own = rng.permutation(np.setdiff1d(rng.integers(-(2**40), 2**40, 2 * len(new)), ids))[: len(new)]
                index.add(new, own)
            codes, ids = np.vstack([codes, new]), np.concatenate([ids, own])
        elif operation == "remove":
            gone = rng.permutation(len(ids))[: data.draw(st.integers(0, 10))]
            index.remove(ids[gone])
            codes, ids = np.delete(codes, gone, axis=0), np.delete(ids, gone)
        queries = random_codes(rng, data.draw(st.integers(0, 20)), n_bits, n_centers)
        k, radius = data.draw(st.integers(1, 60), label="k"), data.draw(st.integers(0, n_bits + 1), label="radius")
        assert_same(index, queries, codes, ids, k, radius)
        assert len(index) == len(codes)
        np.testing.assert_array_equal(index.ids, ids)
        np.testing.assert_array_equal(index.codes, codes)


@pytest.mark.parametrize("n_bits", [1, 7, 8, 9, 63, 64, 65, 224, 225, 256, 1000, 1024])
@pytest.mark.parametrize("tables", [True, False])
def test_lengths_at_the_seams(rng, n_bits, tables):
    codes = random_codes(rng, 5000, n_bits, 20, 0.05)
    queries = random_codes(rng, 40, n_bits, 20, 0.05)
    queries[:20] = codes[:20]
    index = HammingIndex(n_bits, tables=tables).add(codes)
    assert_same(index, queries, codes, np.arange(5000), 15, max(1, n_bits // 12))


def test_all_ones_against_all_zeros():
    index = HammingIndex(1024).add(np.zeros((3, 128), np.uint8))
    distance, _ = index.search(np.full((1, 128), 255, np.uint8), k=3)
    assert distance.tolist() == [[1024, 1024, 1024]]


def test_results_do_not_depend_on_the_number_of_threads(rng, monkeypatch):
    monkeypatch.setattr(exact_module, "MIN_THREADED_BYTES", 0)
    codes, queries = random_codes(rng, 300_000, 48, 200), random_codes(rng, 3, 48, 200)
    expected = HammingIndex(48, n_threads=1, tables=False).add(codes)
    for n_threads in (2, 5):
        index = HammingIndex(48, n_threads=n_threads, tables=False).add(codes)
        for one, other in zip(index.search(queries, 100), expected.search(queries, 100), strict=True):
            np.testing.assert_array_equal(one, other)
        assert [n.neighbor.tolist() for n in index.within(queries, 9)] == [
            n.neighbor.tolist() for n in expected.within(queries, 9)
        ]


@pytest.mark.parametrize("order", ["random", "nearest last", "equal"])
def test_a_scan_for_the_nearest_keeps_few_codes_in_any_order(rng, monkeypatch, order):
    kept, original = [], exact_module.scan

    def counted(*arguments):
        found = original(*arguments)
        kept.append(len(found))
        return found

    monkeypatch.setattr(exact_module, "scan", counted)
    # Codes of 60 bits do not fill their bytes: the radius of the search is larger than any distance.
    codes = random_codes(rng, 20_000, 60)
    if order == "nearest last":
        codes = codes[np.argsort(-np.bitwise_count(codes ^ codes[0]).sum(axis=1, dtype=int), kind="stable")]
    if order == "equal":
        codes[:] = codes[0]
    query = codes[-1:]
    distance, neighbor = HammingIndex(60, n_threads=1).add(codes).search(query, 3)
    expected = reference_search(query, codes, np.arange(20_000), 3)
    np.testing.assert_array_equal(distance, expected[0])
    np.testing.assert_array_equal(neighbor, expected[1])
    # At most k + 64 codes, the size of a chunk of the scan, for each distance that occurs.
    assert sum(kept) <= (3 + 64) * 61
    assert sum(kept) < 1000 or order == "nearest last"


@pytest.mark.parametrize("tables", [True, False])
def test_types_of_results_do_not_depend_on_how_they_are_found(rng, tables):
    codes = random_codes(rng, 20_000, 64)
    index = HammingIndex(64, tables=tables).add(codes)
    for found in (index.search(codes[:2], 1), index.within(codes[:2], 1), index.within(codes[:2], 64)):
        assert (found.distance.dtype, found.neighbor.dtype) == (np.int32, np.int64)


@pytest.mark.parametrize("tables", [True, False])
@pytest.mark.parametrize("change", ["add", "remove"])
def test_a_search_is_not_affected_by_changes_after_it_began(rng, monkeypatch, tables, change):
    codes = random_codes(rng, 1000, 32, 30)
    index = HammingIndex(32, tables=tables).add(codes, ids=np.arange(1000) + 7)
    find, changes = exact_module.ExactSearch.find, []

    def find_after_a_change(*arguments):
        if not changes:
            changes.append(change)
            index.add(codes[::-1]) if change == "add" else index.remove(np.arange(500) + 7)
            index.search(codes[:5])
        return find(*arguments)

    monkeypatch.setattr(exact_module.ExactSearch, "find", find_after_a_change)
    np.testing.assert_array_equal(
        index.search(codes[:50], 9).neighbor, reference_search(codes[:50], codes, np.arange(1000) + 7, 9)[1]
    )
    monkeypatch.undo()
    now = codes[500:] if change == "remove" else np.vstack([codes, codes[::-1]])
    assert_same(index, codes[:50], now, index.ids, 9, 3)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))])
@pytest.mark.parametrize("tables", [True, False])
def test_copies_are_independent(rng, duplicate, tables):
    codes = random_codes(rng, 400, 32)
    # The second addition leaves free columns, which copies must not share.
    index = HammingIndex(32, tables=tables).add(codes[:100], ids=np.arange(100)).add(codes[100:101])
    index.search(codes[:1])
    other = duplicate(index).add(codes[101:104])
    index.add(codes[200:203])
    assert_same(other, codes[98:110], codes[:104], np.arange(104), 7, 3)
    assert_same(index, codes[98:110], np.vstack([codes[:101], codes[200:203]]), np.arange(104), 7, 3)
    other.remove([0])
    assert_same(index, codes[:9], np.vstack([codes[:101], codes[200:203]]), np.arange(104), 7, 3)


@pytest.mark.parametrize("n_bits", [8, 16])
def test_returned_codes_and_ids_are_copies(n_bits):
    index = HammingIndex(n_bits).add(np.zeros((1, n_bits // 8), np.uint8), ids=[5])
    index.codes[:], index.ids[:] = 255, 0
    assert index.codes.max() == 0
    assert index.ids.tolist() == [5]


def test_memory_of_a_flat_index_is_that_of_its_codes(rng):
    codes = random_codes(rng, 10_000, 72)
    index = HammingIndex(72, tables=False)
    for part in np.array_split(codes, 37):
        index.add(part)
    assert index.nbytes <= 1.1 * codes.nbytes


def test_fewer_codes_than_asked_for(rng):
    codes = random_codes(rng, 3, 16)
    distance, neighbor = HammingIndex(16).add(codes).search(codes, k=10)
    assert distance.shape == neighbor.shape == (3, 3)
    assert HammingIndex(16).search(codes, k=10).distance.shape == (3, 0)
    assert HammingIndex(16).within(codes, 16)[2].neighbor.shape == (0,)
    with pytest.raises(IndexError):
        HammingIndex(16).within(codes, 16)[3]


def test_a_saved_index_is_the_same_and_is_left_alone_by_what_follows(rng, tmp_path):
    codes = random_codes(rng, 1000, 70, 5)
    path = tmp_path / "codes.index"
    index = HammingIndex(70).add(codes[:900], ids=np.arange(900)[::-1])
    index.add(codes[900:])
    index.save(path)
    before = path.read_bytes()
    for mapped in (True, False):
        loaded = HammingIndex.load(path, mapped=mapped)
        assert_same(loaded, codes[:30], codes, index.ids, 12, 5)
        loaded.add(codes[:1]).remove([3, 5])
        loaded.search(codes[:2])
    assert path.read_bytes() == before
    loaded.save(path)
    assert len(HammingIndex.load(path)) == 999
    assert [file.name for file in tmp_path.iterdir()] == ["codes.index"]


def test_files_of_earlier_versions_are_read():
    """`index_2` and `index_ids_2` were written before there were string ids and journals."""
    golden = Path(__file__).parents[1] / "golden"
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 256, (40, 3), np.uint8)
    codes[:, 2] &= 0xF0
    ids = rng.permutation(1000)[:40] - 500
    for mapped in (True, False):
        assert_same(HammingIndex.load(golden / "index_2.index", mapped=mapped), codes, codes, np.arange(40), 9, 6)
        own = HammingIndex.load(golden / "index_ids_2.index", mapped=mapped, model="a" * 64)
        assert_same(own, codes, codes, ids, 9, 6)
        # Codes 0, ..., 29 are in the file; the journal adds the others, replaces code 3 and removes code 7.
        grown = HammingIndex.load(golden / "index_journal_2.index", mapped=mapped)
        names = [f"bild/ü{number}.jpg" for number in range(40)]
        order = np.delete(np.arange(40), 7)
        now = codes.copy()
        now[3] = codes[0]
        assert_same(grown, codes, now[order], np.array(names, object)[order], 9, 6)


def test_an_empty_index_can_be_saved(tmp_path):
    HammingIndex(5).save(tmp_path / "empty")
    assert len(HammingIndex.load(tmp_path / "empty").add(np.zeros((2, 1), np.uint8))) == 2


def test_two_processes_read_one_mapped_file(rng, tmp_path):
    codes = random_codes(rng, 20_000, 64, 50)
    HammingIndex(64).add(codes).save(tmp_path / "shared.index")
    np.save(tmp_path / "queries.npy", codes[:50])
    script = (
        "import sys, numpy as np; from proxcode.search import HammingIndex\n"
        "index = HammingIndex.load('shared.index'); queries = np.load('queries.npy')\n"
        "sys.stdout.write(str(int(index.search(queries, 20).neighbor.sum()))); sys.stdout.flush(); sys.stdin.read()\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    # Each process holds the file open until its input ends.
    answers = [process.communicate("")[0] for process in processes]
    expected = str(int(reference_search(codes[:50], codes, np.arange(20_000), 20)[1].sum()))
    assert answers == [expected, expected]


def test_files_that_do_not_hold_an_index(tmp_path):
    path = tmp_path / "a.index"
    filled_index().save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    with pytest.raises(ValueError, match="truncated or not a file of proxcode"):
        HammingIndex.load(path)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ValueError, match="was changed after it was written"):
        HammingIndex.load(path, mapped=False)
    path.write_bytes(b"\x89PNG")
    with pytest.raises(ValueError, match="not a file of proxcode"):
        HammingIndex.load(path)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        HammingIndex.load(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        filled_index().save(tmp_path / "nowhere" / "a.index")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        filled_index().save(tmp_path)


def filled_index():
    return HammingIndex(12).add(np.zeros((4, 2), np.uint8), ids=[1, 2, 3, 4])


ZEROS = np.zeros((2, 2), np.uint8)
WRONG_VALUES = {
    "no bits": (lambda: HammingIndex(0), r"^n_bits=0: expected an integer from 1 to 1024\.$"),
    "too many bits": (lambda: HammingIndex(1025), r"^n_bits=1025: expected an integer from 1 to 1024\.$"),
    "no thread": (lambda: HammingIndex(8, n_threads=0), r"^n_threads=0: expected an integer from 1 to 4096\.$"),
    "codes of floats": (
        lambda: filled_index().add(np.zeros((2, 2))),
        r"^codes has dtype float64 and shape \(2, 2\): expected a uint8 matrix",
    ),
    "one code as a vector": (
        lambda: filled_index().search(np.zeros(2, np.uint8)),
        r"^codes has dtype uint8 and shape \(2,\): expected a uint8 matrix",
    ),
    "codes too long": (
        lambda: filled_index().add(np.zeros((1, 3), np.uint8)),
        r"^codes has 3 bytes per row: expected 2 bytes for 12 bits; encode with n_bits=12\.$",
    ),
    "nonzero unused bits": (
        lambda: filled_index().search(np.full((1, 2), 255, np.uint8)),
        "^codes has nonzero bits after the first 12: expected zeros",
    ),
    "no neighbour": (lambda: filled_index().search(ZEROS, k=0), r"^k=0: expected an integer of at least 1\.$"),
    "a negative radius": (
        lambda: filled_index().within(ZEROS, -1),
        r"^radius=-1: expected an integer of at least 0\.$",
    ),
    "too little oversampling": (
        lambda: filled_index().search(ZEROS, oversample=0.5),
        r"^oversample=0.5: expected a number of at least 1\.$",
    ),
    "infinite oversampling": (lambda: filled_index().search(ZEROS, oversample=np.inf), "^oversample=inf: expected"),
}


@pytest.mark.parametrize("case", WRONG_VALUES)
def test_wrong_values_are_refused(case):
    call, message = WRONG_VALUES[case]
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: HammingIndex(1.5), r"^n_bits=1\.5: expected an integer from 1 to 1024\.$"),
        (lambda: filled_index().within(ZEROS, 1.5), r"^radius=1\.5: expected an integer of at least 0\.$"),
        (lambda: filled_index().search(ZEROS, k=2.0), r"^k=2\.0: expected an integer of at least 1\.$"),
        (lambda: HammingIndex(8, n_threads="2"), r"^n_threads='2': expected an integer from 1 to 4096\.$"),
    ],
)
def test_wrong_types_are_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_a_file_with_other_codes_than_its_length_says_is_refused(tmp_path):
    write_file(tmp_path / "a.index", "index", {"n_bits": 12}, {"planes": np.zeros((3, 5), np.uint8)})
    with pytest.raises(ValueError, match=r"its array 'planes' holds uint8 of shape \(3, 5\): expected uint8"):
        HammingIndex.load(tmp_path / "a.index")
