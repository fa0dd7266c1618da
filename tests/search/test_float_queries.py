"""Float queries against a plain sum of table entries over all codes."""

import threading
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.codes import random_codes
from proxcode.hamming import asymmetric_distances, distances, pack, unpack
from proxcode.search import ByFloatQueries, ByMargins, FloatQueries, HammingIndex
from proxcode.search import float_scan as float_scan_module


def random_queries(rng, kind, n_queries, n_bits, offsets=None):
    """Return queries whose tables are sums over bits, also with many ties, almost such sums, or random numbers."""
    if kind == "tables":
        return FloatQueries(rng.normal(size=(n_queries, -(-n_bits // 8), 256)), offsets)
    weights = rng.integers(-1, 2, (n_queries, n_bits)) if kind == "ties" else rng.normal(size=(n_queries, n_bits))
    tables = FloatQueries.from_weights(weights).tables
    return FloatQueries(tables + 1e-4 * rng.random(tables.shape) if kind == "almost" else tables, offsets)


def assert_same(index, queries, codes, ids, k):
    """Assert that an index finds what an exhaustive search by `queries.distances` finds, to the last digit."""
    expected = queries.distances(codes)
    order = np.argsort(expected, axis=1, kind="stable")
    distance, neighbor = index.search(queries, k)
    assert (distance.dtype, neighbor.dtype) == (np.float32, np.int64)
    np.testing.assert_array_equal(distance, np.take_along_axis(expected, order, axis=1)[:, :k])
    np.testing.assert_array_equal(neighbor, ids[order[:, :k]])
    radius = float(np.quantile(expected, 0.1)) if expected.size else 0.0
    within = index.within(queries, radius)
    assert len(within) == len(queries)
    assert within.distance.dtype == np.float32
    for (near, who), of_query, all_places in zip(within, expected, order, strict=True):
        places = all_places[of_query[all_places] <= np.float32(radius)]
        np.testing.assert_array_equal(near, of_query[places])
        np.testing.assert_array_equal(who, ids[places])


CALLS = []


@dataclass(frozen=True)
class Ones:
    """An offset for each code: a multiple of its number of ones."""

    factor: float

    def __call__(self, codes):
        return self.factor * np.bitwise_count(codes).sum(axis=1)


class Counted(Ones):
    """Keeps the numbers of codes that it was called with."""

    def __call__(self, codes):
        CALLS.append(len(codes))
        return super().__call__(codes)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_history_gives_what_an_exhaustive_search_gives(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31), label="seed"))
    n_bits = data.draw(st.integers(1, 300), label="bits")
    index = HammingIndex(n_bits, n_threads=data.draw(st.sampled_from([1, 2]), label="threads"))
    codes, ids = np.empty((0, -(-n_bits // 8)), np.uint8), np.empty(0, np.int64)
    n_centers = data.draw(st.sampled_from([None, 1, 3]), label="centers")
    for _ in range(data.draw(st.integers(1, 4), label="operations")):
        if data.draw(st.booleans(), label="add"):
            new = random_codes(rng, data.draw(st.integers(0, 300)), n_bits, n_centers)
            own = (ids.max() if len(ids) else 0) + 1 + rng.permutation(len(new))
            index.add(new, own)
            codes, ids = np.vstack([codes, new]), np.concatenate([ids, own])
        else:
            gone = rng.permutation(len(ids))[: data.draw(st.integers(0, 10))]
            index.remove(ids[gone])
            codes, ids = np.delete(codes, gone, axis=0), np.delete(ids, gone)
        queries = random_queries(
            rng,
            data.draw(st.sampled_from(["weights", "ties", "almost", "tables"]), label="kind"),
            data.draw(st.sampled_from([0, 1, 5, 6, 31, 32, 40]), label="queries"),
            n_bits,
            data.draw(st.sampled_from([None, Ones(0.5), Ones(-100.0)]), label="offsets"),
        )
        assert_same(index, queries, codes, ids, data.draw(st.integers(1, 60), label="k"))


@pytest.mark.parametrize("kind", ["weights", "ties", "almost", "tables"])
@pytest.mark.parametrize("n_bits", [1, 7, 8, 9, 32, 33, 64, 65, 129, 300, 1024])
def test_lengths_at_the_seams(rng, n_bits, kind):
    codes = random_codes(rng, 9000, n_bits, 20, 0.05)
    for offsets in (None, Ones(0.1)):
        index = HammingIndex(n_bits).add(codes)
        assert_same(index, random_queries(rng, kind, 39, n_bits, offsets), codes, np.arange(9000), 15)
        assert_same(index, random_queries(rng, kind, 2, n_bits, offsets), codes, np.arange(9000), 15)


@pytest.mark.parametrize("scale", [1e-38, 1e-20, 1.0, 1e20, 1e34])
def test_scales_of_tables_and_offsets(rng, scale):
    codes = random_codes(rng, 2000, 40)
    index = HammingIndex(40).add(codes)
    for n_queries in (1, 33):
        tables = rng.normal(size=(n_queries, 5, 256)) * scale
        # Queries of a group share one unit, although their scales differ.
        tables[::2] *= 1e-4
        weights = rng.normal(size=(n_queries, 40)) * scale
        for offsets in (None, Ones(scale), Ones(100 * scale), Ones(1.0)):
            for queries in (tables, FloatQueries.from_weights(weights).tables):
                assert_same(index, FloatQueries(queries, offsets), codes, np.arange(2000), 12)


def test_constant_tables_return_the_first_codes(rng):
    index = HammingIndex(16).add(random_codes(rng, 5000, 16))
    for n_queries in (1, 20):
        distance, neighbor = index.search(FloatQueries(np.full((n_queries, 2, 256), -0.5)), 7)
        assert (distance == -1).all()
        assert (neighbor == np.arange(7)).all()


def test_weights_are_a_weighted_hamming_distance(rng):
    weights, codes = rng.normal(size=(4, 21)), random_codes(rng, 50, 21)
    differs = unpack(codes, 21)[None] != (weights >= 0)[:, None]
    queries = FloatQueries.from_weights(weights)
    assert (len(queries), queries.n_bytes) == (4, 3)
    np.testing.assert_allclose(queries.distances(codes), (differs * np.abs(weights)[:, None]).sum(axis=2), rtol=1e-5)
    signs = np.where(weights >= 0, 1, -1)
    np.testing.assert_array_equal(
        FloatQueries.from_weights(signs).distances(codes), distances(pack(weights >= 0), codes)
    )


def test_weights_of_zero_count_nothing_and_unused_bits_neither():
    queries = FloatQueries.from_weights([[0.0, -0.0, 2.0]])
    np.testing.assert_array_equal(queries.distances(np.array([[0], [0b11100000], [0b11111]], np.uint8)), [[2, 0, 2]])


def test_float_queries_with_margins_find_what_rescoring_of_all_codes_finds(rng):
    codes, margins = random_codes(rng, 500, 20), rng.normal(size=(7, 20))
    index = HammingIndex(20).add(codes, ids=np.arange(500) + 1000)
    queries = FloatQueries.from_weights(np.tanh(margins))
    found = index.search(queries, k=5)
    for rescore in (ByMargins(margins), ByFloatQueries(queries)):
        rescored = index.search(pack(margins >= 0), k=5, rescore=rescore, oversample=100)
        np.testing.assert_array_equal(found.distance, rescored.distance)
    np.testing.assert_array_equal(
        np.take_along_axis(asymmetric_distances(margins, codes), found.neighbor - 1000, axis=1), found.distance
    )


def test_float_queries_can_themselves_be_rescored(rng):
    codes, weights = random_codes(rng, 300, 30), rng.normal(size=(6, 30))
    coarse, fine = FloatQueries.from_weights(weights.round()), FloatQueries.from_weights(weights)
    index = HammingIndex(30).add(codes)
    rescored = index.search(coarse, k=4, rescore=ByFloatQueries(fine), oversample=75)
    np.testing.assert_array_equal(rescored.neighbor, index.search(fine, k=4).neighbor)


def test_results_do_not_depend_on_the_number_of_threads(rng, monkeypatch):
    monkeypatch.setattr(float_scan_module, "MIN_THREADED_BYTES", 0)
    codes = random_codes(rng, 50_000, 48, 200)
    for n_queries in (1, 70):
        queries = random_queries(rng, "ties", n_queries, 48, Ones(0.25))
        one, two, five = (HammingIndex(48, n_threads=n).add(codes).search(queries, 100) for n in (1, 2, 5))
        for other in (two, five):
            np.testing.assert_array_equal(other.distance, one.distance)
            np.testing.assert_array_equal(other.neighbor, one.neighbor)
    assert HammingIndex(48, n_threads=5).add(codes[:3]).search(queries, 9).neighbor.shape == (70, 3)


def test_results_do_not_depend_on_the_other_queries(rng):
    codes = random_codes(rng, 20_000, 64, 50)
    index, queries = HammingIndex(64).add(codes), random_queries(rng, "weights", 40, 64)
    together = index.search(queries, 20)
    for query in (0, 39):
        alone = index.search(FloatQueries(queries.tables[query : query + 1]), 20)
        np.testing.assert_array_equal(alone.distance[0], together.distance[query])
        np.testing.assert_array_equal(alone.neighbor[0], together.neighbor[query])


def test_offsets_are_computed_once_per_code_and_function(rng, monkeypatch):
    monkeypatch.setattr(float_scan_module, "OFFSET_BLOCK", 100)
    CALLS.clear()
    codes = random_codes(rng, 400, 24)
    index = HammingIndex(24).add(codes[:250])
    before = index.nbytes

    def check(factor, stored):
        queries = random_queries(rng, "weights", 2, 24, Counted(factor))
        index.search(queries, 5), index.within(queries, 1.0)
        calls = CALLS.copy()
        assert_same(index, queries, stored, index.ids, 5)
        CALLS.clear()
        return calls

    assert check(0.5, codes[:250]) == [100, 100, 50]
    assert index.nbytes == before + 4 * 250
    assert check(0.5, codes[:250]) == []
    index.add(codes[250:300])
    assert check(0.5, codes[:300]) == [50]
    assert check(0.75, codes[:300]) == [100, 100, 100]
    index.remove(np.arange(250))
    assert check(0.75, codes[250:300]) == [50]


def test_a_search_is_not_affected_by_codes_added_after_it_began(rng):
    codes = random_codes(rng, 900, 24)
    index = HammingIndex(24).add(codes[:500])

    def adds(stored):
        if len(index) == 500:
            index.add(codes[500:])
        return np.bitwise_count(stored).sum(axis=1)

    queries = random_queries(rng, "weights", 3, 24, adds)
    assert index.search(queries, 900).neighbor.shape == (3, 500)
    assert_same(index, queries, codes, np.arange(900), 20)


def test_threads_share_stored_offsets(rng):
    codes = random_codes(rng, 20_000, 32)
    index, results = HammingIndex(32).add(codes), {}

    def search(factor):
        queries = FloatQueries(np.zeros((1, 4, 256)), Ones(factor))
        results[factor] = [index.search(queries, 3).distance for _ in range(5)]

    threads = [threading.Thread(target=search, args=(factor,)) for factor in (1.0, -1.0, 2.0, -2.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for factor, found in results.items():
        expected = np.sort(Ones(factor)(codes))[:3]
        assert all((distance == expected).all() for distance in found)


def test_a_memory_mapped_index(rng, tmp_path):
    codes = random_codes(rng, 3000, 70, 5)
    HammingIndex(70).add(codes).save(tmp_path / "codes.index")
    index = HammingIndex.load(tmp_path / "codes.index")
    for n_queries in (2, 40):
        assert_same(index, random_queries(rng, "weights", n_queries, 70, Ones(0.5)), codes, np.arange(3000), 12)


def test_an_empty_index_and_fewer_codes_than_asked_for(rng):
    queries = FloatQueries.from_weights(rng.normal(size=(3, 12)))
    index = HammingIndex(12)
    assert index.search(queries, 5).distance.shape == (3, 0)
    assert index.search(queries, 5).distance.dtype == np.float32
    assert index.within(queries, 5.0)[2].neighbor.shape == (0,)
    codes = random_codes(rng, 4, 12)
    assert_same(index.add(codes), queries, codes, np.arange(4), 10)
    assert index.within(queries, 1e300)[0].neighbor.shape == (4,)
    assert index.within(queries, -1e-3)[0].neighbor.shape == (0,)


def filled_index():
    return HammingIndex(12).add(np.zeros((4, 2), np.uint8))


QUERIES = FloatQueries(np.zeros((2, 2, 256)))
WRONG_VALUES = {
    "tables of another shape": (
        lambda: FloatQueries(np.zeros((2, 3))),
        r"^tables has dtype float64 and shape \(2, 3\): expected real numbers of shape \(n_queries, n_bytes, 256\)\.$",
    ),
    "too few values": (
        lambda: FloatQueries(np.zeros((2, 3, 16))),
        r"^tables has shape \(2, 3, 16\): expected \(n_queries, n_bytes, 256\), one entry per value of each byte\.$",
    ),
    "no bytes": (lambda: FloatQueries(np.zeros((2, 0, 256))), r"^tables has shape \(2, 0, 256\): expected"),
    "complex tables": (lambda: FloatQueries(np.zeros((1, 1, 256), complex)), "^tables has dtype complex128"),
    "tables with NaN": (
        lambda: FloatQueries(np.stack([np.zeros((1, 256)), np.full((1, 256), np.nan)])),
        r"^tables contains NaN, infinity or distances above 1e\+38, first in query 1: expected finite contributions\.$",
    ),
    "tables that overflow": (lambda: FloatQueries(np.full((1, 4, 256), 1e38)), "^tables contains NaN, infinity or"),
    "tables beyond float32": (lambda: FloatQueries(np.full((1, 1, 256), 1e300)), "^tables contains NaN, infinity or"),
    "weights as a vector": (
        lambda: FloatQueries.from_weights(np.zeros(3)),
        r"^weights has dtype float64 and shape \(3,\): expected real numbers of shape \(n_queries, n_bits\)\.$",
    ),
    "no weights": (lambda: FloatQueries.from_weights(np.zeros((3, 0))), r"^weights has shape \(3, 0\): expected"),
    "infinite weights": (
        lambda: FloatQueries.from_weights([[1.0, np.inf]]),
        r"^weights contains NaN, infinity or sums above 1e\+38: expected finite weights\.$",
    ),
    "queries for longer codes": (
        lambda: filled_index().search(FloatQueries(np.zeros((1, 3, 256)))),
        r"^the float queries have tables for 3 bytes: expected 2 bytes for 12 bits\.$",
    ),
    "distances of longer codes": (
        lambda: QUERIES.distances(np.zeros((1, 3), np.uint8)),
        r"^codes has 3 bytes per row and the float queries have tables for 2 bytes: expected equal widths\.$",
    ),
    "a radius of NaN": (lambda: filled_index().within(QUERIES, np.nan), r"^radius=nan: expected a"),
    "no neighbour": (lambda: filled_index().search(QUERIES, k=0), r"^k=0: expected an integer of at least 1\.$"),
    "rescoring of other queries": (
        lambda: filled_index().search(QUERIES, rescore=ByFloatQueries(FloatQueries(np.zeros((3, 2, 256))))),
        "^rescore has 3 rows for 2 query codes",
    ),
    "offsets of another shape": (
        lambda: filled_index().search(FloatQueries(QUERIES.tables, lambda codes: codes)),
        r"^offsets returned dtype uint8 and shape \(4, 2\) for 4 codes: expected one real number per code\.$",
    ),
    "offsets with NaN": (
        lambda: filled_index().search(FloatQueries(QUERIES.tables, lambda codes: np.full(len(codes), np.nan))),
        r"^offsets returned NaN or a magnitude above 1e\+38: expected finite offsets\.$",
    ),
}


@pytest.mark.parametrize("case", WRONG_VALUES)
def test_wrong_values_are_refused(case):
    call, message = WRONG_VALUES[case]
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FloatQueries(QUERIES.tables, 3), r"^offsets=3: expected None or a function of packed codes\.$"),
        (
            lambda: FloatQueries(QUERIES.tables, Unhashable()),
            "expected a hashable function, by which an index stores the offsets of its codes",
        ),
        (lambda: filled_index().within(QUERIES, "1"), r"^radius='1': expected a"),
        (lambda: filled_index().within(np.zeros((1, 2), np.uint8), 1.5), r"^radius=1\.5: expected an integer"),
    ],
)
def test_wrong_types_are_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call()


class Unhashable:
    """A function of codes that cannot be told from others."""

    __hash__ = None

    def __call__(self, codes):
        return np.zeros(len(codes))
