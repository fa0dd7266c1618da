"""The contract of all stores: the same additions and removals give the same ids, results and errors."""

import numpy as np
import pytest

from helpers.codes import assert_same, random_codes
from proxcode.hamming import pack
from proxcode.search import ByMargins, HammingIndex
from proxcode.stores import CodeStore
from proxcode.stores.base import ServerStore

ZEROS = np.zeros((2, 2), np.uint8)


def filled(store):
    return store(12).add(np.zeros((4, 2), np.uint8), ids=[1, 2, 3, 4])


def test_additions_and_removals_give_the_expected_ids(store, rng):
    codes, queries = random_codes(rng, 60, 21, 4), random_codes(rng, 7, 21, 4)
    index = store(21)
    assert isinstance(index, CodeStore)
    assert len(index) == 0
    assert index.search(queries, 3).neighbor.shape == (7, 0)
    assert [len(found.neighbor) for found in index.within(queries, 21)] == [0] * 7
    index.add(codes[:10]).add(codes[10:20])
    assert_within_is_exhaustive(index, queries, codes[:20], np.arange(20))
    index.add(codes[20:30], ids=np.arange(30, 20, -1)).add(codes[30:40])
    ids = np.r_[:20, 30:20:-1, 31:41]
    assert_within_is_exhaustive(index, queries, codes[:40], ids)
    index.remove([3, 40, 25, 3]).remove([])
    kept = ~np.isin(ids, [3, 40, 25])
    assert len(index) == 37
    assert_within_is_exhaustive(index, queries, codes[:40][kept], ids[kept])
    index.add(codes[40:41], ids=[40])
    assert_within_is_exhaustive(index, queries, np.vstack([codes[:40][kept], codes[40:41]]), np.r_[ids[kept], 40])
    index.remove(np.r_[ids[kept], 40])
    assert len(index) == 0
    assert_within_is_exhaustive(index.add(codes[:5], ids=np.arange(5)), queries, codes[:5], np.arange(5))


def test_ids_continue_from_the_largest_that_is_stored(store, rng, request):
    if "own_table" in request.node.name:
        pytest.skip("a table of the user keeps its rows, and with them their ids")
    codes = random_codes(rng, 9, 21)
    index = store(21).add(codes[:3], ids=[9, 7, 8]).remove([9]).add(codes[3:5])
    assert sorted(index.within(codes[:1], 21)[0].neighbor.tolist()) == [7, 8, 9, 10]
    index.remove([7, 8, 9, 10]).add(codes[:2])
    assert sorted(index.within(codes[:1], 21)[0].neighbor.tolist()) == [0, 1]


def assert_within_is_exhaustive(index, queries, codes, ids):
    """Stores may order ties differently: compare the distances of the nearest, and all within a radius as a set."""
    reference = HammingIndex(index.n_bits).add(codes, ids)
    np.testing.assert_array_equal(index.search(queries, 9).distance, reference.search(queries, 9).distance)
    for found, expected in zip(index.within(queries, 8), reference.within(queries, 8), strict=True):
        np.testing.assert_array_equal(found.distance, expected.distance)
        by_id = (np.lexsort((one.neighbor, one.distance)) for one in (found, expected))
        np.testing.assert_array_equal(found.neighbor[next(by_id)], expected.neighbor[next(by_id)])
    assert_same(reference, queries, codes, ids, 9, 8)


WRONG_IDS = {
    "too few": (
        lambda index: index.add(ZEROS, ids=[7]),
        r"^ids has 1 entries for 2 codes: expected one id per code\.$",
    ),
    "twice": (lambda index: index.add(ZEROS, ids=[7, 7]), r"^ids contains 7 more than once: expected distinct ids\.$"),
    "known": (
        lambda index: index.add(ZEROS, ids=[7, 3]),
        r"^id 3 is already stored: remove it first or pass another id\.$",
    ),
    "of text": (
        lambda index: index.add(ZEROS, ids=["a", "b"]),
        r"^ids (has dtype <U1 and shape \(2,\): expected a vector of integers|contains 'a': the index has integer ids)",
    ),
    "replaced twice": (
        lambda index: index.upsert(ZEROS, ids=[3, 3]),
        r"^ids contains 3 more than once: expected distinct ids\.$",
    ),
    "replaced, too few": (
        lambda index: index.upsert(ZEROS, ids=[3]),
        r"^ids has 1 entries for 2 codes: expected one id per code\.$",
    ),
    "of floats": (lambda index: index.remove([1.0]), r"^ids has dtype float64 and shape \(1,\): expected"),
    "a matrix": (lambda index: index.add(ZEROS, ids=[[7], [8]]), r"^ids has dtype int64 and shape \(2, 1\): expected"),
    "too large": (
        lambda index: index.add(ZEROS, ids=np.array([1, 2**64 - 1], np.uint64)),
        "^ids contains 18446744073709551615: expected integers of at most 9223372036854775807",
    ),
    "none left": (
        lambda index: index.add(ZEROS, ids=[9, 2**63 - 1]).add(ZEROS),
        "^ids=None: the largest stored id is 9223372036854775807",
    ),
    "unknown": (
        lambda index: index.remove([2, 9]),
        r"^id 9 is not stored: pass ids of stored codes\.$",
    ),
}


@pytest.mark.parametrize("case", WRONG_IDS)
def test_wrong_ids_are_refused(store, case):
    call, message = WRONG_IDS[case]
    with pytest.raises(ValueError, match=message):
        call(filled(store))


def test_a_refused_addition_or_removal_changes_nothing(store):
    index = filled(store)
    for call, message in (
        (lambda: index.add(ZEROS, ids=[9, 4]), "^id 4 is already stored"),
        (lambda: index.add(np.zeros((1, 3), np.uint8)), "^codes has 3 bytes per row: expected 2"),
        (lambda: index.remove([1, 77]), "^id 77 is not stored: pass ids"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert index.within(ZEROS, 0)[1].neighbor.tolist() == [1, 2, 3, 4]


def test_codes_are_returned_by_id(store, rng):
    codes = random_codes(rng, 30, 21)
    index = store(21).add(codes, ids=np.arange(30) + 100)
    np.testing.assert_array_equal(index.get([129, 100, 129]), codes[[29, 0, 29]])
    assert index.get([]).shape == (0, 3)
    with pytest.raises(ValueError, match=r"^id 7 is not stored: pass ids of stored codes\.$"):
        index.get([100, 7])


def test_upserts_replace_and_add(store, rng):
    codes, queries = random_codes(rng, 60, 21, 4), random_codes(rng, 7, 21, 4)
    index = store(21).add(codes[:20], ids=np.arange(20) + 100)
    expected = dict(zip(range(100, 120), codes[:20], strict=True))
    for start, given in ((20, [105, 7, 119, 500]), (24, [1, 2]), (26, [105, 100]), (28, []), (28, range(90, 122))):
        ids = np.array(given, np.int64)
        new = codes[start : start + len(ids)]
        index.upsert(new, ids)
        expected |= dict(zip(ids.tolist(), new, strict=True))
        stored = np.array(list(expected.values()))
        assert len(index) == len(expected)
        np.testing.assert_array_equal(index.get(list(expected)), stored)
        assert_within_is_exhaustive(index, queries, stored, np.array(list(expected)))
    # The same codes once more.
    index.upsert(stored, list(expected))
    assert_within_is_exhaustive(index, queries, stored, np.array(list(expected)))


def test_a_refused_upsert_changes_nothing(store):
    index = filled(store)
    for codes, ids in ((ZEROS[:, :1], [1, 2]), (ZEROS, [1]), (ZEROS, [1.0, 2.0])):
        with pytest.raises(ValueError, match="expected"):
            index.upsert(codes, ids)
    assert index.within(ZEROS, 0)[1].neighbor.tolist() == [1, 2, 3, 4]


def test_rescoring_of_candidates_is_the_same_in_every_store(store, rng):
    codes, margins = random_codes(rng, 300, 21), rng.normal(size=(7, 21))
    index, reference = (make(21).add(codes, ids=np.arange(300) + 5) for make in (store, HammingIndex))
    queries = pack(margins >= 0)
    found = index.search(queries, 5, rescore=ByMargins(margins), oversample=60)
    expected = reference.search(queries, 5, rescore=ByMargins(margins), oversample=60)
    np.testing.assert_array_equal(found.distance, expected.distance)
    np.testing.assert_array_equal(index.search(queries, 999).distance, reference.search(queries, 999).distance)


def test_a_candidate_that_another_client_removes_is_left_out(store, rng, monkeypatch):
    margins = rng.normal(size=(1, 21))
    queries, index = pack(margins >= 0), store(21).add(random_codes(rng, 30, 21))
    if not isinstance(index, ServerStore):
        pytest.skip("these codes have one client, this process")
    nearest = index._nearest

    def then_removed(queries, k):
        found = nearest(queries, k)
        index.remove([found.neighbor[0, 0]])
        return found

    monkeypatch.setattr(index, "_nearest", then_removed)
    found = index.search(queries, 3, rescore=ByMargins(margins), oversample=1)
    assert found.neighbor[0, -1] == -1
    assert np.isinf(found.distance[0, -1])
    assert (found.neighbor[0, :2] >= 0).all()


def test_codes_of_another_model_are_refused(store):
    index = store(12, model="a" * 64).add(ZEROS)
    index.check_model("a" * 64)
    index.check_model(None)
    store(12).add(ZEROS).check_model("a" * 64)
    with pytest.raises(ValueError, match=r"^the stored codes are of the model aaaaaaaaaaaa, not of bbbbbbbbbbbb: "):
        index.check_model("b" * 64)
    with pytest.raises(TypeError, match=r"^model=7: expected a fitted ProximityPreservingCode, its fingerprint"):
        index.check_model(7)
