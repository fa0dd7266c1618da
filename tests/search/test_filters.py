"""Searches among some codes and without the query itself, against an exhaustive search among these codes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.codes import random_codes
from proxcode.search import ByDistance, ByFloatQueries, ByMargins, FloatQueries, HammingIndex
from proxcode.search import filtered as filtered_module


def ones(codes):
    return -0.5 * np.bitwise_count(codes).sum(axis=1)


def queries_of(kind, rng, n_queries, n_bits, n_centers):
    if kind == "codes":
        return random_codes(rng, n_queries, n_bits, n_centers)
    if kind == "weights":
        return FloatQueries.from_weights(rng.integers(-1, 2, (n_queries, n_bits)))
    return FloatQueries(rng.normal(size=(n_queries, -(-n_bits // 8), 256)), ones)


def all_distances(queries, codes):
    if isinstance(queries, FloatQueries):
        return queries.distances(codes)
    return np.bitwise_count(queries[:, None] ^ codes[None]).sum(axis=2, dtype=np.int32)


def expected_rows(distance, is_candidate, ids, k, radius=np.inf):
    """Return distances and ids of the nearest candidates of each query, ties in order of addition."""
    rows = []
    for of_query, candidates in zip(distance, is_candidate, strict=True):
        order = np.argsort(of_query, kind="stable")
        order = order[candidates[order] & (of_query[order] <= radius)][:k]
        rows.append((of_query[order].tolist(), ids[order].tolist()))
    return rows


def found_rows(found):
    """Return distances and ids of each query without missing neighbours."""
    rows = []
    for distance, neighbor in zip(found.distance, found.neighbor, strict=True):
        is_found = ~((distance == -1) | np.isinf(distance)) if distance.dtype == np.int32 else ~np.isinf(distance)
        assert all(one in (-1, None) for one in neighbor[~is_found])
        rows.append((distance[is_found].tolist(), neighbor[is_found].tolist()))
    return rows


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_filter_gives_what_an_exhaustive_search_gives(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31), label="seed"))
    n_bits, n = data.draw(st.integers(1, 70), label="bits"), data.draw(st.integers(0, 200), label="codes")
    n_centers = data.draw(st.sampled_from([None, 1, 3]))
    codes = random_codes(rng, n, n_bits, n_centers)
    ids = data.draw(st.sampled_from([np.arange, lambda n: 5 * np.arange(n)[::-1] - 7, names]))(n)
    index = HammingIndex(n_bits, tables=data.draw(st.sampled_from([True, False]))).add(codes, ids)
    queries = queries_of(
        data.draw(st.sampled_from(["codes", "weights", "tables"])),
        rng,
        data.draw(st.integers(0, 40)),
        n_bits,
        n_centers,
    )
    is_candidate = np.ones((len(queries), n), bool)
    options = {}
    if data.draw(st.booleans(), label="among"):
        is_among = rng.random(n) < data.draw(st.sampled_from([0.0, 0.05, 0.5, 0.97, 1.0]))
        unknown = "nobody" if ids.dtype == object else 10**9
        options["among"] = data.draw(
            st.sampled_from(
                [is_among, ids[is_among], rng.permutation(ids[is_among]), {*ids[is_among].tolist(), unknown}]
            )
        )
        is_candidate &= is_among
    if data.draw(st.booleans(), label="exclude") and n:
        excluded = rng.integers(0, n, len(queries))
        options["exclude"] = ids[excluded].tolist()
        is_candidate[np.arange(len(queries)), excluded] = False
    distance = all_distances(queries, codes)
    k = data.draw(st.integers(1, 220), label="k")
    found = index.search(queries, k, **options)
    assert found_rows(found) == expected_rows(distance, is_candidate, ids, k)
    if len(queries):
        assert (
            found.neighbor.shape
            == found.distance.shape
            == (len(queries), min(k, is_candidate.sum(axis=1).max(initial=0)))
        )
    radius = int(np.median(distance)) if distance.size else 1
    near = index.within(queries, radius, **options)
    expected = expected_rows(distance, is_candidate, ids, n, radius)
    assert [(one.distance.tolist(), one.neighbor.tolist()) for one in near] == expected


def names(n):
    return np.array([f"{number}.jpg" for number in range(n)], object)


@pytest.mark.parametrize("share", [0.001, 0.02, 0.4, 0.9])
@pytest.mark.parametrize("n_queries", [1, 50])
@pytest.mark.parametrize("far", [False, True])
def test_every_way_is_taken_and_exact(rng, monkeypatch, share, n_queries, far):
    """With candidates far from all queries, the codes found among all of them are not enough."""
    codes = random_codes(rng, 20_000, 32, 30)
    queries = codes[:n_queries].copy()
    is_among = rng.random(20_000) < share
    if far:
        distance = all_distances(queries[:1], codes)[0]
        is_among = np.zeros(20_000, bool)
        is_among[np.argsort(distance)[int((1 - share) * 20_000) :]] = True
    copies, original = [], filtered_module._find_in_copy

    def counted(engine, stored, some, *rest):
        copies.append(len(some))
        return original(engine, stored, some, *rest)

    monkeypatch.setattr(filtered_module, "_find_in_copy", counted)
    index = HammingIndex(32).add(codes)
    found = index.search(queries, 10, among=is_among, exclude=np.arange(n_queries))
    is_candidate = np.tile(is_among, (n_queries, 1))
    is_candidate[np.arange(n_queries), np.arange(n_queries)] = False
    expected = expected_rows(all_distances(queries, codes), is_candidate, np.arange(20_000), 10)
    assert found_rows(found) == expected
    is_few = is_among.sum() * (filtered_module.COPY_COST + n_queries) <= 20_000 * n_queries
    assert copies[:1] == ([n_queries] if is_few else copies[:1])
    if not far and not is_few:
        assert copies == []


@pytest.mark.parametrize("kind", ["margins", "float", "distance"])
def test_filters_work_with_rescoring(rng, kind):
    codes, ids = random_codes(rng, 400, 24, 9), names(400)
    margins, vectors = rng.normal(size=(30, 24)), rng.normal(size=(400, 3))
    number = {one: row for row, one in enumerate(ids)}
    rescore = {
        "margins": ByMargins(margins),
        "float": ByFloatQueries(FloatQueries.from_weights(margins)),
        "distance": ByDistance(queries=vectors[:30], vectors=lambda found: vectors[[number[one] for one in found]]),
    }[kind]
    is_among = rng.random(400) < 0.5
    index = HammingIndex(24).add(codes, ids)
    found = index.search(codes[:30], 7, rescore=rescore, oversample=3, among=is_among, exclude=ids[:30])
    for query in range(30):
        rows = np.flatnonzero(is_among & (np.arange(400) != query))
        hamming = all_distances(codes[query : query + 1], codes[rows])[0]
        rows = rows[np.argsort(hamming, kind="stable")[:21]]
        finer = rescore.distances(query, codes[rows], ids[rows])
        order = np.argsort(finer, kind="stable")[:7]
        assert found.neighbor[query].tolist() == ids[rows[order]].tolist()
        np.testing.assert_allclose(found.distance[query], finer[order], rtol=1e-6)


def test_a_query_that_is_stored_never_finds_itself(rng):
    codes = random_codes(rng, 300, 16, 2)
    index = HammingIndex(16).add(codes)
    found = index.search(codes, 5, exclude=np.arange(300))
    assert found.neighbor.shape == (300, 5)
    assert (found.neighbor != np.arange(300)[:, None]).all()
    plain = index.search(codes, 6)
    for row in range(300):
        others = plain.neighbor[row][plain.neighbor[row] != row][:5]
        np.testing.assert_array_equal(found.neighbor[row], others)


def test_missing_neighbours_are_at_no_distance(rng):
    codes = random_codes(rng, 3, 16)
    index = HammingIndex(16).add(codes, ["a", "b", "c"])
    found = index.search(codes[:2], 9, exclude=["a", "nobody"])
    assert found.neighbor.shape == (2, 3)
    assert (found.neighbor[0, 2], found.distance[0, 2]) == (None, -1)
    found = index.search(FloatQueries.from_weights(rng.normal(size=(2, 16))), 9, exclude=["a", "nobody"])
    assert (found.neighbor[0, 2], found.distance[0, 2]) == (None, np.inf)
    found = HammingIndex(16).add(codes).search(codes[:2], 9, among=[0, 1], exclude=[1, 2])
    assert found.neighbor.tolist() == [[0, -1], [1, 0]]
    assert found.distance[0].tolist() == [0, -1]
    assert index.search(codes[:2], 9, among=[]).neighbor.shape == (2, 0)
    assert len(index.within(codes[:2], 16, among=set())[0].neighbor) == 0


WRONG = {
    "too few truth values": (
        {"among": [True, False]},
        r"^among has shape \(2,\) for 4 codes: expected one truth value per stored code, or ids\.$",
    ),
    "floats": ({"among": [0.5]}, r"^among: ids has dtype float64 and shape \(1,\): expected a vector of integers\.$"),
    "strings": ({"among": {"a"}}, r"^among: ids contains 'a': the index has integer ids, which strings cannot join\.$"),
    "too few excluded": ({"exclude": [1]}, r"^exclude has 1 ids for 2 queries: expected one id per query\.$"),
    "a matrix": ({"exclude": [[1], [2]]}, r"^exclude: ids has dtype int64 and shape \(2, 1\): expected"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_filters_are_refused(case):
    options, message = WRONG[case]
    index = HammingIndex(12).add(np.zeros((4, 2), np.uint8))
    for call in (lambda: index.search(index.codes[:2], **options), lambda: index.within(index.codes[:2], 3, **options)):
        with pytest.raises(ValueError, match=message):
            call()
