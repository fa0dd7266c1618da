"""Multi-index hashing: when hash tables are built and used, and what they cost."""

from concurrent.futures import ThreadPoolExecutor
from time import sleep

import numpy as np
import pytest

from helpers.codes import assert_same, random_codes
from proxcode.hamming import pack
from proxcode.search import HammingIndex
from proxcode.search import exact as exact_module
from proxcode.search._scan_kernels import scan
from proxcode.search._table_kernels import bucket_keys, probe
from proxcode.search.multi_index import MultiIndex, chunk_masks, divide_into_chunks, expected_costs
from proxcode.search.planes import BytePlanes


def test_tables_are_built_once_they_pay_and_not_before(rng):
    codes = random_codes(rng, 70_000, 64)
    close = codes[:2000] ^ pack(rng.random((2000, 64)) < 0.01)
    index = HammingIndex(64).add(codes)
    index.search(close[:5], k=1)
    assert index._snapshot.engine.multi_index is None
    flat_bytes = index.nbytes
    for _ in range(3):
        found = index.within(close, radius=3)
    assert index._snapshot.engine.multi_index is not None
    assert index.nbytes > flat_bytes
    expected = HammingIndex(64, tables=False).add(codes).within(close, radius=3)
    np.testing.assert_array_equal(found.neighbor, expected.neighbor)
    np.testing.assert_array_equal(found.distance, expected.distance)


def test_tables_are_not_built_where_neighbours_are_far(rng):
    index = HammingIndex(64).add(random_codes(rng, 70_000, 64))
    for _ in range(3):
        index.search(random_codes(rng, 2000, 64), k=10)
    assert index._snapshot.engine.multi_index is None


def test_tables_are_built_where_some_neighbours_are_close_and_others_far(rng):
    codes = random_codes(rng, 70_000, 128)
    queries = random_codes(rng, 2000, 128)
    queries[::4], queries[1::4], queries[3::4] = codes[:500], codes[500:1000], codes[1000:1500]
    index = HammingIndex(128).add(codes)
    for _ in range(5):
        index.search(queries, k=1)
    assert index._snapshot.engine.multi_index is not None


def test_kernels_are_compiled_once_for_whatever_queries(rng):
    codes = random_codes(rng, 3000, 64, 5)
    indexes = [HammingIndex(64, tables=tables).add(codes) for tables in (True, False)]

    def search(queries):
        for index in indexes:
            index.search(queries, 2)
            index.within(queries, 1)
        kernels = (scan, bucket_keys, probe)
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


def test_removing_nothing_keeps_the_tables(rng):
    index = HammingIndex(32, tables=True).add(random_codes(rng, 100, 32))
    index.search(random_codes(rng, 1, 32))
    built = index._snapshot.engine.multi_index
    index.remove([])
    assert index._snapshot.engine.multi_index is built


def test_codes_added_after_the_tables_are_found(rng):
    codes = random_codes(rng, 3000, 32, 30)
    index = HammingIndex(32, tables=True).add(codes[:2900])
    index.search(codes[:1])
    built = index._snapshot.engine.multi_index
    index.add(codes[2900:])
    assert_same(index, codes[2880:2920], codes, np.arange(3000), 20, 3)
    assert index._snapshot.engine.multi_index is built
    index.add(codes[:600])
    index.search(codes[:1])
    assert index._snapshot.engine.multi_index.n_codes == 3600


def test_a_query_over_the_budget_of_the_tables_is_scanned(rng, monkeypatch):
    scans = []
    original = exact_module.scan
    monkeypatch.setattr(exact_module, "scan", lambda *a: scans.append(len(a[1])) or original(*a))
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
    planes = BytePlanes(np.ascontiguousarray(codes.T), len(codes))
    tables = MultiIndex(planes)
    lowest, highest = 0.0, 1e9
    # Bisection for the budget that is enough for half of the queries.
    while highest - lowest > 1:
        budget = (lowest + highest) / 2
        n_finished = sum(found is not None for found in tables.find(planes, queries, len(codes), 5, budget))
        lowest, highest = (lowest, budget) if n_finished >= 8 else (budget, highest)
    assert 0.5 < expected_costs(planes, queries, reach).mean() / highest < 2


@pytest.mark.parametrize("n_bytes", [1, 2, 3, 8, 9, 16, 20, 128])
@pytest.mark.parametrize("n_codes", [1, 1000, 10**8])
def test_chunks_cover_each_bit_once(n_bytes, n_codes):
    chunks = divide_into_chunks(n_bytes, n_codes)
    masks = chunk_masks(chunks, n_bytes)
    n_bits = np.array([chunk.n_bits for chunk in chunks])
    assert masks.shape == (len(chunks), -(-n_bytes // 8))
    assert n_bits.max() <= 24
    assert n_bits.sum() == 8 * n_bytes
    assert [chunk.first_bit for chunk in chunks] == (np.cumsum(n_bits) - n_bits).tolist()
    assert np.bitwise_or.reduce(masks, axis=0).sum() == np.bitwise_xor.reduce(masks, axis=0).sum()
    np.testing.assert_array_equal(np.bitwise_count(masks).sum(axis=1), n_bits)
    for chunk in chunks:
        assert 0 <= chunk.filter.start < chunk.filter.stop <= n_bytes
        assert chunk.filter.stop - chunk.filter.start == min(8, n_bytes)
