"""Rescoring against the distances it stands for."""

import numpy as np
import pandas as pd
import pytest

from helpers.codes import random_codes
from proxcode.hamming import asymmetric_distances, pack
from proxcode.search import ByDistance, ByMargins, HammingIndex, Rescoring


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
    distance, neighbor = index.search(
        codes[:9], k=3, rescore=ByDistance(queries=X[:9], vectors=mapped), oversample=1000
    )
    expected = np.linalg.norm(X[:9, None] - X[None], axis=2)
    np.testing.assert_allclose(distance, np.sort(expected, axis=1)[:, :3], atol=1e-5)
    np.testing.assert_array_equal(neighbor[:, 0], np.arange(9))
    own = HammingIndex(8).add(codes, ids=np.arange(400) - 7)
    by_id = ByDistance(queries=X[:9], vectors=lambda ids: X[ids + 7])
    by_function = own.search(codes[:9], k=3, rescore=by_id, oversample=1000)
    np.testing.assert_array_equal(by_function.neighbor + 7, neighbor)


def test_rows_of_vectors_are_those_of_ids_whatever_the_order_of_addition(rng):
    X = rng.normal(size=(200, 8))
    codes, order = pack(X >= 0), rng.permutation(200)
    index = HammingIndex(8).add(codes[order], ids=order).remove(order[:50])
    distance, neighbor = index.search(codes[:9], k=3, rescore=ByDistance(queries=X[:9], vectors=X), oversample=1000)
    expected = np.linalg.norm(X[:9, None] - X, axis=2)
    expected[:, order[:50]] = np.inf
    np.testing.assert_array_equal(neighbor, np.argsort(expected, axis=1)[:, :3])
    np.testing.assert_allclose(distance, np.sort(expected, axis=1)[:, :3])


class ByParity(Rescoring):
    """Odd ids first; keeps what it was given."""

    def __init__(self, n_queries):
        self.n_queries, self.calls = n_queries, []

    def __len__(self):
        return self.n_queries

    def distances(self, query, codes, ids):
        self.calls.append((query, codes, ids))
        return 1 - ids % 2


def test_a_rescoring_is_given_the_candidates_of_each_query(rng):
    codes = random_codes(rng, 40, 20)
    index = HammingIndex(20).add(codes, ids=np.arange(40) + 100)
    rescoring = ByParity(3)
    distance, neighbor = index.search(codes[:3], k=4, rescore=rescoring, oversample=2.5)
    candidates = index.search(codes[:3], k=10).neighbor
    assert [query for query, _, _ in rescoring.calls] == [0, 1, 2]
    for query, candidate_codes, ids in rescoring.calls:
        np.testing.assert_array_equal(ids, candidates[query])
        np.testing.assert_array_equal(candidate_codes, codes[ids - 100])
        expected = sorted(ids, key=lambda one: one % 2 == 0)[:4]
        assert neighbor[query].tolist() == expected
        assert distance[query].tolist() == [1 - one % 2 for one in expected]


def test_rescoring_of_no_query_and_in_an_empty_index(rng):
    codes = random_codes(rng, 5, 8)
    index = HammingIndex(8).add(codes)
    assert index.search(codes[:0], k=3, rescore=ByMargins(np.empty((0, 8)))).distance.shape == (0, 3)
    assert HammingIndex(8).search(codes[:2], rescore=ByMargins(np.zeros((2, 8)))).distance.shape == (2, 0)


ZEROS = np.zeros((2, 2), np.uint8)


@pytest.mark.parametrize(
    ("rescore", "message"),
    [
        (
            ByMargins(np.zeros((3, 12))),
            r"^rescore has 3 rows for 2 query codes: expected one row per query code\.$",
        ),
        (ByDistance(queries=np.zeros((1, 5)), vectors=np.zeros((9, 5))), "^rescore has 1 rows for 2 query codes"),
        (
            ByDistance(queries=np.zeros((2, 5)), vectors=np.zeros((2, 5))),
            "^vectors has 2 rows, but id 2 was found: pass one row per id, or a callable",
        ),
    ],
)
def test_rescoring_of_other_queries_or_ids_is_refused(rescore, message):
    index = HammingIndex(12).add(np.zeros((4, 2), np.uint8), ids=[1, 2, 3, 4])
    with pytest.raises(ValueError, match=message):
        index.search(ZEROS, rescore=rescore)


def test_queries_and_vectors_cannot_be_swapped(rng):
    X, Q = rng.normal(size=(6, 3)), rng.normal(size=(6, 3))
    with pytest.raises(TypeError, match="positional argument"):
        ByDistance(Q, X)
    with pytest.raises(TypeError, match="positional argument"):
        ByDistance(Q, vectors=X)


@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, pd.DataFrame])
def test_vectors_may_have_any_form_of_an_array(form, rng):
    X = rng.normal(size=(60, 8))
    index = HammingIndex(8).add(pack(X >= 0))
    found = index.search(pack(X[:4] >= 0), 5, rescore=ByDistance(queries=form(X[:4]), vectors=form(X)), oversample=99)
    np.testing.assert_array_equal(found.neighbor, np.argsort(np.linalg.norm(X[:4, None] - X, axis=2), axis=1)[:, :5])


def test_vectors_of_another_shape_are_refused():
    same = "expected rows with the same number of features"
    with pytest.raises(ValueError, match=rf"^vectors has shape \(9, 4\) and queries \(2, 5\): {same}"):
        ByDistance(queries=np.zeros((2, 5)), vectors=np.zeros((9, 4)))
    with pytest.raises(ValueError, match=rf"^vectors has shape \(9,\) and queries \(2, 5\): {same}"):
        ByDistance(queries=np.zeros((2, 5)), vectors=np.zeros(9))
    index = HammingIndex(12).add(np.zeros((4, 2), np.uint8))
    for wrong in (np.zeros((3, 5)), np.zeros((4, 6)), np.zeros(4)):
        with pytest.raises(
            ValueError, match=r"^vectors returned shape .* for 4 ids: expected one row per id, of the 5"
        ):
            index.search(ZEROS, rescore=ByDistance(queries=np.zeros((2, 5)), vectors=lambda ids, wrong=wrong: wrong))
