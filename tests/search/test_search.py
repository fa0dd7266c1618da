"""HammingIndex against an exhaustive search."""

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxcode.hamming import asymmetric_distances, distances, pack
from proxcode.search import ByDistance, ByMargins, HammingIndex
from proxcode.search import exact as exact_module
from proxcode.search._scan_kernels import scan_nearest, scan_within
from proxcode.search._table_kernels import bucket_keys, probe
from proxcode.search.multi_index import MultiIndex, cut_into_chunks, expected_costs


def random_codes(rng, n, n_bits, n_centers=None, noise=0.1):
    """Codes, some of them equal, in clusters where these are asked for."""
    if n_centers is None:
        return pack(rng.integers(0, 2, (n, n_bits)))
    centers = rng.integers(0, 2, (n_centers, n_bits))
    return pack(centers[rng.integers(0, n_centers, n)] ^ (rng.random((n, n_bits)) < noise))


def reference_search(queries, codes, ids, k):
    """All distances, sorted; of equals the first."""
    all_distances = distances(queries, codes)
    order = np.argsort(all_distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(all_distances, order, axis=1), np.asarray(ids)[order]


def assert_same(index, queries, codes, ids, k, radius):
    distance, neighbor = index.search(queries, k)
    expected_distance, expected_neighbor = reference_search(queries, codes, ids, k)
    np.testing.assert_array_equal(distance, expected_distance)
    np.testing.assert_array_equal(neighbor, expected_neighbor)
    within = index.within(queries, radius)
    assert len(within) == len(queries)
    everything = reference_search(queries, codes, ids, len(codes))
    for (near, who), all_distances, all_ids in zip(within, *everything, strict=True):
        np.testing.assert_array_equal(near, all_distances[all_distances <= radius])
        np.testing.assert_array_equal(who, all_ids[all_distances <= radius])


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
    monkeypatch.setattr(exact_module, "SMALL", 0)
    codes, queries = random_codes(rng, 300_000, 48, 200), random_codes(rng, 3, 48, 200)
    expected = HammingIndex(48, n_threads=1, tables=False).add(codes)
    for n_threads in (2, 5):
        index = HammingIndex(48, n_threads=n_threads, tables=False).add(codes)
        for one, other in zip(index.search(queries, 100), expected.search(queries, 100), strict=True):
            np.testing.assert_array_equal(one, other)
        assert [n.neighbor.tolist() for n in index.within(queries, 9)] == [
            n.neighbor.tolist() for n in expected.within(queries, 9)
        ]


def test_tables_are_built_once_they_pay_and_not_before(rng, monkeypatch):
    codes = random_codes(rng, 70_000, 64)
    close = codes[:2000] ^ pack(rng.random((2000, 64)) < 0.01)
    index = HammingIndex(64).add(codes)
    index.search(close[:5], k=1)
    assert index._contents.engine.multi_index is None
    flat_bytes = index.nbytes
    for _ in range(3):
        found = index.within(close, radius=3)
    assert index._contents.engine.multi_index is not None
    assert index.nbytes > flat_bytes
    expected = HammingIndex(64, tables=False).add(codes).within(close, radius=3)
    np.testing.assert_array_equal(found.neighbor, expected.neighbor)
    np.testing.assert_array_equal(found.distance, expected.distance)


def test_tables_are_not_built_where_neighbours_are_far(rng):
    index = HammingIndex(64).add(random_codes(rng, 70_000, 64))
    for _ in range(3):
        index.search(random_codes(rng, 2000, 64), k=10)
    assert index._contents.engine.multi_index is None


def test_tables_are_built_where_some_neighbours_are_close_and_others_far(rng):
    codes = random_codes(rng, 70_000, 128)
    queries = random_codes(rng, 2000, 128)
    queries[::4], queries[1::4], queries[3::4] = codes[:500], codes[500:1000], codes[1000:1500]
    index = HammingIndex(128).add(codes)
    for _ in range(5):
        index.search(queries, k=1)
    assert index._contents.engine.multi_index is not None


def test_the_nearest_of_codes_that_do_not_fill_bytes_are_not_chosen_among_all(rng, monkeypatch):
    monkeypatch.setattr(exact_module, "scan_within", None)
    codes = random_codes(rng, 5000, 60)
    distance, _ = HammingIndex(60).add(codes).search(codes[:20], 3)
    np.testing.assert_array_equal(distance, reference_search(codes[:20], codes, np.arange(5000), 3)[0])


@pytest.mark.parametrize("tables", [True, False])
def test_types_of_results_do_not_depend_on_how_they_are_found(rng, tables):
    codes = random_codes(rng, 20_000, 64)
    index = HammingIndex(64, tables=tables).add(codes)
    for found in (index.search(codes[:2], 1), index.within(codes[:2], 1), index.within(codes[:2], 64)):
        assert (found.distance.dtype, found.neighbor.dtype) == (np.int32, np.int64)


def test_kernels_are_compiled_once_for_whatever_queries(rng):
    codes = random_codes(rng, 3000, 64, 5)
    indexes = [HammingIndex(64, tables=tables).add(codes) for tables in (True, False)]

    def search(queries):
        for index in indexes:
            index.search(queries, 2)
            index.within(queries, 1)
        kernels = (scan_nearest, scan_within, bucket_keys, probe)
        return [len(kernel.signatures) for kernel in kernels]

    before = search(codes[:3].copy())
    read_only = np.frombuffer(codes[:3].tobytes(), np.uint8).reshape(3, 8)
    assert search(read_only) == search(codes[:6:2]) == search(np.asfortranarray(codes[:3])) == before


def test_threads_that_search_at_once_build_tables_once(rng, monkeypatch):
    codes = random_codes(rng, 3000, 32, 30)
    built = []

    def build(*arguments):
        built.append(arguments)
        sleep(0.05)
        return MultiIndex(*arguments)

    monkeypatch.setattr(exact_module, "MultiIndex", build)
    index = HammingIndex(32, tables=True).add(codes)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: index.search(codes[:20], 5).neighbor, range(8)))
    assert len(built) == 1
    assert all((answer == answers[0]).all() for answer in answers)


@pytest.mark.parametrize("tables", [True, False])
@pytest.mark.parametrize("change", ["add", "remove"])
def test_a_search_keeps_to_the_codes_it_began_with(rng, monkeypatch, tables, change):
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
def test_a_copy_goes_its_own_way(rng, duplicate, tables):
    codes = random_codes(rng, 400, 32)
    index = (
        HammingIndex(32, tables=tables).add(codes[:100], ids=np.arange(100)).add(codes[100:101])
    )  # has room for more
    index.search(codes[:1])
    other = duplicate(index).add(codes[101:104])
    index.add(codes[200:203])
    assert_same(other, codes[98:110], codes[:104], np.arange(104), 7, 3)
    assert_same(index, codes[98:110], np.vstack([codes[:101], codes[200:203]]), np.arange(104), 7, 3)
    other.remove([0])
    assert_same(index, codes[:9], np.vstack([codes[:101], codes[200:203]]), np.arange(104), 7, 3)


@pytest.mark.parametrize("n_bits", [8, 16])
def test_codes_and_ids_given_out_are_copies(n_bits):
    index = HammingIndex(n_bits).add(np.zeros((1, n_bits // 8), np.uint8), ids=[5])
    index.codes[:], index.ids[:] = 255, 0
    assert index.codes.max() == 0
    assert index.ids.tolist() == [5]


def test_removing_nothing_keeps_the_tables(rng):
    index = HammingIndex(32, tables=True).add(random_codes(rng, 100, 32))
    index.search(random_codes(rng, 1, 32))
    built = index._contents.engine.multi_index
    index.remove([])
    assert index._contents.engine.multi_index is built


def test_codes_added_after_the_tables_are_found(rng):
    codes = random_codes(rng, 3000, 32, 30)
    index = HammingIndex(32, tables=True).add(codes[:2900])
    index.search(codes[:1])
    built = index._contents.engine.multi_index
    index.add(codes[2900:])
    assert_same(index, codes[2880:2920], codes, np.arange(3000), 20, 3)
    assert index._contents.engine.multi_index is built
    index.add(codes[:600])
    index.search(codes[:1])
    assert index._contents.engine.multi_index.n_codes == 3600


def test_a_query_too_dear_for_the_tables_is_scanned(rng, monkeypatch):
    scans = []
    original = exact_module._scan_part
    monkeypatch.setattr(exact_module, "_scan_part", lambda *a: scans.append(len(a[1])) or original(*a))
    codes = random_codes(rng, 20_000, 64)
    index = HammingIndex(64, tables=True, n_threads=1).add(codes)
    near, far = codes[:30], random_codes(rng, 20, 64)
    assert_same(index, near, codes, np.arange(20_000), 1, 2)
    assert scans == []
    assert_same(index, far, codes, np.arange(20_000), 1, 2)
    assert sum(scans) == len(far)


def test_estimated_costs_are_those_of_the_tables(rng):
    codes = random_codes(rng, 50_000, 64, 40, 0.15)
    queries, reach = codes[:16], np.full(16, 5)
    planes = np.ascontiguousarray(codes.T)
    tables = MultiIndex(planes, len(codes))
    lowest, highest = 0.0, 1e9
    while highest - lowest > 1:  # the budget at which half of the queries come through
        budget = (lowest + highest) / 2
        came_through = sum(found is not None for found in tables.find(planes, queries, len(codes), 5, budget))
        lowest, highest = (lowest, budget) if came_through >= 8 else (budget, highest)
    assert 0.5 < expected_costs(planes, len(codes), queries, reach).mean() / highest < 2


@pytest.mark.parametrize("n_bytes", [1, 2, 3, 8, 9, 16, 20, 128])
@pytest.mark.parametrize("n_codes", [1, 1000, 10**8])
def test_chunks_cover_each_bit_once(n_bytes, n_codes):
    low, n_key_bits, masks, first, last = cut_into_chunks(n_bytes, n_codes)
    assert n_key_bits.max() <= 24
    assert n_key_bits.sum() == 8 * n_bytes
    np.testing.assert_array_equal(low, np.cumsum(n_key_bits) - n_key_bits)
    assert np.bitwise_or.reduce(masks, axis=0).sum() == np.bitwise_xor.reduce(masks, axis=0).sum()
    assert np.bitwise_count(masks).sum() == 8 * n_bytes
    assert ((first >= 0) & (last <= n_bytes) & (last - first == min(8, n_bytes))).all()


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


def test_rescoring_by_margins_orders_by_asymmetric_distance(rng):
    codes, margins = random_codes(rng, 500, 20), rng.normal(size=(7, 20))
    index = HammingIndex(20).add(codes, ids=np.arange(500) + 1000)
    distance, neighbor = index.search(pack(margins >= 0), k=5, rescore=ByMargins(margins), oversample=100)
    expected = asymmetric_distances(margins, codes)
    np.testing.assert_allclose(distance, np.sort(expected, axis=1)[:, :5], rtol=1e-6)
    np.testing.assert_array_equal(np.take_along_axis(expected, neighbor - 1000, axis=1), distance)


def test_rescoring_by_distance_gives_true_neighbours(rng, tmp_path):
    X = rng.normal(size=(400, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    codes = pack(X >= 0)
    index = HammingIndex(8).add(codes)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    distance, neighbor = index.search(codes[:9], k=3, rescore=ByDistance(X[:9], mapped), oversample=1000)
    expected = np.linalg.norm(X[:9, None] - X[None], axis=2)
    np.testing.assert_allclose(distance, np.sort(expected, axis=1)[:, :3], atol=1e-5)
    np.testing.assert_array_equal(neighbor[:, 0], np.arange(9))
    own = HammingIndex(8).add(codes, ids=np.arange(400) - 7)
    by_function = own.search(codes[:9], k=3, rescore=ByDistance(X[:9], lambda ids: X[ids + 7]), oversample=1000)
    np.testing.assert_array_equal(by_function.neighbor + 7, neighbor)


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
    answers = [process.communicate("")[0] for process in processes]  # both hold the file until they are told to end
    expected = str(int(reference_search(codes[:50], codes, np.arange(20_000), 20)[1].sum()))
    assert answers == [expected, expected]


def ready_index():
    return HammingIndex(12).add(np.zeros((4, 2), np.uint8), ids=[1, 2, 3, 4])


ZEROS = np.zeros((2, 2), np.uint8)
BAD = {
    "no bits": (lambda: HammingIndex(0), "n_bits=0: give 1 to 1024"),
    "too many bits": (lambda: HammingIndex(1025), "n_bits=1025: give 1 to 1024"),
    "half a bit": (lambda: HammingIndex(1.5), "n_bits=1.5: give a whole number"),
    "no thread": (lambda: HammingIndex(8, n_threads=0), "n_threads=0: give at least 1"),
    "codes of floats": (lambda: ready_index().add(np.zeros((2, 2))), "codes must be a uint8 matrix"),
    "one code as a vector": (lambda: ready_index().search(np.zeros(2, np.uint8)), r"uint8 of shape \(2,\)"),
    "codes too long": (
        lambda: ready_index().add(np.zeros((1, 3), np.uint8)),
        "codes have 3 bytes but those of 12",
    ),
    "stray ones": (lambda: ready_index().search(np.full((1, 2), 255, np.uint8)), "ones beyond their 12 bits"),
    "too few ids": (lambda: ready_index().add(ZEROS, ids=[7]), "there are 2 codes but 1 ids"),
    "an id twice": (lambda: ready_index().add(ZEROS, ids=[7, 7]), "id 7 is given twice"),
    "an id known": (lambda: ready_index().add(ZEROS, ids=[7, 3]), "id 3 is in the index already"),
    "ids of text": (lambda: ready_index().add(ZEROS, ids=["a", "b"]), "ids must be whole numbers"),
    "ids of floats": (lambda: ready_index().remove([1.0]), "ids must be whole numbers"),
    "ids too large": (
        lambda: ready_index().add(ZEROS, ids=np.array([1, 2**64 - 1], np.uint64)),
        "does not fit 64 bits",
    ),
    "no id left": (lambda: ready_index().add(ZEROS, ids=[9, 2**63 - 1]).add(ZEROS), "ids cannot go on from"),
    "an unknown id": (lambda: ready_index().remove([2, 9]), "id 9 is not in the index: nothing was removed"),
    "no neighbour": (lambda: ready_index().search(ZEROS, k=0), "k=0: give at least 1"),
    "a radius below 0": (lambda: ready_index().within(ZEROS, -1), "radius=-1: give at least 0"),
    "half a radius": (lambda: ready_index().within(ZEROS, 1.5), "radius=1.5: give a whole number"),
    "too little oversampling": (lambda: ready_index().search(ZEROS, oversample=0.5), "oversample=0.5: give a number"),
    "margins of other queries": (
        lambda: ready_index().search(ZEROS, rescore=ByMargins(np.zeros((3, 12)))),
        "2 codes to search for but 3 rows of scores",
    ),
    "vectors of other ids": (
        lambda: ready_index().search(ZEROS, rescore=ByDistance(np.zeros((2, 5)), np.zeros((2, 5)))),
        "no vector for id 2 among 2 rows",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_sentence(case):
    call, sentence = BAD[case]
    with pytest.raises((ValueError, TypeError), match=sentence):
        call()


def test_a_refused_addition_or_removal_changes_nothing():
    index = ready_index()
    for call in (lambda: index.add(ZEROS, ids=[9, 4]), lambda: index.remove([1, 77])):
        with pytest.raises(ValueError, match="id"):
            call()
    assert index.ids.tolist() == [1, 2, 3, 4]


def test_files_that_are_no_index(tmp_path):
    path = tmp_path / "a.index"
    ready_index().save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    with pytest.raises(ValueError, match="cut short or no file of proxcode's"):
        HammingIndex.load(path)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ValueError, match="was changed after it was written"):
        HammingIndex.load(path, mapped=False)
    path.write_bytes(b"\x89PNG")
    with pytest.raises(ValueError, match="no file of proxcode's"):
        HammingIndex.load(path)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        HammingIndex.load(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        ready_index().save(tmp_path / "nowhere" / "a.index")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        ready_index().save(tmp_path)
