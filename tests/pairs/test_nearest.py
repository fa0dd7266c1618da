"""Pairs of which one sample is among the nearest of the other, against all distances."""

import joblib
import numpy as np
import pytest

from helpers.neighbors import squared_distances
from proxcode import Nearest, ProximityPreservingCode, RotationHash
from proxcode.pairs import nearest as module
from proxcode.pairs.nearest import nearest_pairs


def near_matrix(pairs):
    return pairs.near_rows(np.arange(pairs.n_samples))


def reference(X, n_neighbors):
    """Return whether one sample is at most as far as the n_neighbors-th nearest of the other, ties included."""
    squares = squared_distances(X, X)
    np.fill_diagonal(squares, np.inf)
    limits = np.sort(squares, axis=1)[:, n_neighbors - 1]
    near = squares <= limits[:, None]
    return near | near.T


def assert_equal_off_the_diagonal(found, expected):
    off = ~np.eye(len(expected), dtype=bool)
    np.testing.assert_array_equal(found[off], expected[off])


@pytest.mark.parametrize("n_neighbors", [1, 3, 59])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_pairs_of_few_samples(n_neighbors, dtype, rng):
    X = rng.normal(size=(60, 4)).astype(dtype)
    samples, pairs = nearest_pairs(X, n_neighbors)
    np.testing.assert_array_equal(samples, np.arange(60))
    assert_equal_off_the_diagonal(near_matrix(pairs), reference(X, n_neighbors))


def test_of_ties_as_many_are_near_as_asked_for(rng):
    # A grid, moved to the origin without rounding: a sample has up to four neighbours at distance 1.
    X = np.array([[i, j] for i in range(-3, 4) for j in range(-3, 4)], float)
    found = near_matrix(nearest_pairs(X, 1)[1])
    np.fill_diagonal(found, False)
    assert not (found & ~reference(X, 1)).any()
    assert found.any(axis=1).all()
    assert found.sum() <= 2 * len(X)


def test_equal_samples_do_not_multiply_pairs(rng):
    X = rng.normal(size=(3000, 3))
    X[:2000] = 0
    assert len(nearest_pairs(X, 5)[1].first) <= 5 * 3000


def test_duplicates_are_nearest_to_one_another(rng):
    X = np.repeat(rng.integers(-20, 20, (12, 3)).astype(float), 4, axis=0)
    X -= X.mean(axis=0).round()
    found = near_matrix(nearest_pairs(X, 3)[1])
    group = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    assert found[group[:, None] == group].sum() >= 12 * 4 * 3
    assert not found[group[:, None] != group].any()


def test_a_large_offset_does_not_hide_neighbours(rng):
    X = rng.normal(size=(80, 3))
    assert_equal_off_the_diagonal(near_matrix(nearest_pairs(X + 2.0**20, 4)[1]), reference(X, 4))


def test_pairs_of_a_subset_are_near_in_all_samples(rng, monkeypatch):
    monkeypatch.setattr(module, "MAX_SAMPLES", 50)
    monkeypatch.setattr(module, "MIN_NEAR", 1)
    X = rng.normal(size=(400, 2))
    samples, pairs = nearest_pairs(X, 30)
    assert len(samples) == pairs.n_samples == 50
    assert (samples[0], samples[-1]) == (0, 399)
    expected = reference(X, 30)[np.ix_(samples, samples)]
    assert_equal_off_the_diagonal(near_matrix(pairs), expected)
    # About as many near pairs as among all samples, in proportion.
    assert 0.5 < expected.mean() / reference(X, 30).mean() < 2


def test_the_pairs_of_a_small_subset_are_enough(rng, monkeypatch):
    monkeypatch.setattr(module, "MAX_SAMPLES", 200)
    X = rng.normal(size=(4000, 2))
    assert 500 < len(nearest_pairs(X, 1)[1].first) < 2000


def test_the_number_of_distances_is_limited(rng, monkeypatch):
    X = rng.normal(size=(3000, 2))
    assert len(nearest_pairs(X, 5)[0]) == 3000
    monkeypatch.setattr(module, "MAX_DISTANCES", 3000 * 1500)
    assert len(nearest_pairs(X, 5)[0]) == 1500
    monkeypatch.setattr(module, "MAX_DISTANCES", 3000)
    assert len(nearest_pairs(X, 5)[0]) == 1000


def test_blocks_and_threads_do_not_change_pairs(rng, monkeypatch):
    X = rng.normal(size=(700, 5))
    expected = near_matrix(nearest_pairs(X, 7)[1])
    for block_distances, n_threads in ((1, 1), (700 * 33, 2), (2**24, 3)):
        monkeypatch.setattr(module, "BLOCK_DISTANCES", block_distances)
        monkeypatch.setattr(joblib, "cpu_count", lambda n=n_threads: n)
        np.testing.assert_array_equal(near_matrix(nearest_pairs(X, 7)[1]), expected)


def test_the_default_number_of_neighbours(rng):
    for n, expected in ((2, 1), (15, 1), (300, 30), (2000, 100)):
        X = rng.normal(size=(n, 3))
        _, pairs = Nearest().find_pairs(X)
        assert_equal_off_the_diagonal(near_matrix(pairs), reference(X, expected))


@pytest.mark.parametrize(
    ("n_neighbors", "error", "message"),
    [
        (0, ValueError, "n_neighbors=0: expected an integer from 1 to 39 for 40 samples"),
        (40, ValueError, "n_neighbors=40: expected an integer from 1 to 39 for 40 samples"),
        (2.5, TypeError, "n_neighbors=2.5: expected an integer from 1 to 39 for 40 samples"),
    ],
)
def test_invalid_numbers_of_neighbours(n_neighbors, error, message, rng):
    with pytest.raises(error, match=message):
        ProximityPreservingCode(4, proximity=Nearest(n_neighbors)).fit(rng.normal(size=(40, 3)))


def test_it_is_the_default_without_labels(train):
    X, _ = train
    model = ProximityPreservingCode(6, random_state=0).fit(X)
    assert isinstance(model.proximity_, Nearest)
    assert isinstance(model.hash_function_, RotationHash)
    assert model.proximity_.describe() == "among the up to 100 nearest"
    assert Nearest(7).describe() == "among the 7 nearest"
    assert 0 < model.score(X) <= 1
    given = ProximityPreservingCode(6, proximity=Nearest(), hash_function=RotationHash(), random_state=0).fit(X)
    np.testing.assert_array_equal(given.codes_, model.codes_)
    assert given.radius_ == model.radius_
