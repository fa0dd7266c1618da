"""Near pairs alone: far pairs drawn at random, pairs held back, balanced weights."""

import numpy as np
import pytest

from proxcode.hamming import GrowingCode, pack
from proxcode.pairs import ListedNear, ListedPairs, NearOnlyPairs
from proxcode.pairs.near_only import MIN_FAR, held_back_of_both, hold_back
from proxcode.proximity import GivenPairs


def random_pairs(rng, n, n_pairs):
    """Return distinct pairs first < second."""
    first, second = np.triu_indices(n, 1)
    chosen = np.sort(rng.choice(len(first), n_pairs, replace=False))
    return np.vstack([first[chosen], second[chosen]])


def keys(pairs):
    return set(zip(*pairs.tolist(), strict=True))


def test_held_back_pairs_are_a_tenth_and_the_same_each_time(rng):
    pairs = random_pairs(rng, 300, 5000)
    near = hold_back(pairs)
    assert near.held_back.shape == (2, 500)
    assert keys(near.learned) | keys(near.held_back) == keys(pairs)
    assert not keys(near.learned) & keys(near.held_back)
    np.testing.assert_array_equal(hold_back(pairs).held_back, near.held_back)


@pytest.mark.parametrize(
    ("n_pairs", "n_held"), [(1, 0), (3, 0), (4, 1), (200, 50), (400, 100), (1000, 100), (2000, 200)]
)
def test_few_pairs_are_not_all_held_back(n_pairs, n_held, rng):
    near = hold_back(random_pairs(rng, 100, n_pairs))
    assert near.held_back.shape[1] == n_held
    assert near.to_measure.shape[1] == (n_held or n_pairs)


def test_far_pairs_are_all_others_where_these_are_few(rng):
    near = hold_back(random_pairs(rng, 40, 60))
    far = NearOnlyPairs(near, 40).draw_far(rng)
    listed = keys(near.learned) | keys(near.held_back)
    assert keys(far) == keys(np.vstack(np.triu_indices(40, 1))) - listed


def test_far_pairs_are_drawn_as_samples_are_listed():
    rng = np.random.default_rng(0)
    # Sample 0 is in half of all pairs; samples from 500 on are in none.
    near = np.vstack(
        [np.append(np.zeros(400, int), np.arange(1, 400)), np.append(np.arange(1, 401), np.arange(2, 401))]
    )
    pairs = NearOnlyPairs(ListedNear(near, near[:, :0]), 1000)
    far = pairs.draw_far(rng)
    assert (far[0] < far[1]).all()
    assert len(keys(far)) == far.shape[1] > MIN_FAR // 2
    assert not keys(far) & keys(near)
    assert far.max() <= 400


def test_weights_are_balanced_and_the_threshold_is_that_of_pairs_held_back(rng):
    n = 60
    near = hold_back(random_pairs(rng, n, 400))
    bits = rng.integers(0, 2, (n, 12))
    coded = NearOnlyPairs(near, n).with_code(GrowingCode.from_packed(pack(bits), 12))
    H = (bits[:, None] != bits).sum(axis=2)
    is_far = np.triu(np.ones((n, n), bool), 1)
    for pairs in near:
        is_far[tuple(pairs)] = False
    counted_near, counted_far = coded.counts()
    np.testing.assert_array_equal(counted_far, np.bincount(H[is_far], minlength=13))
    held = np.bincount(H[tuple(near.held_back)], minlength=13)
    np.testing.assert_allclose(counted_near, held * (is_far.sum() / 100), atol=0.5)
    near_table, far_table = rng.uniform(0.1, 1, 13), -rng.uniform(0.1, 1, 13)
    W = np.where(is_far, far_table[H], 0.0)
    learned = tuple(near.learned)
    W[learned] = near_table[H[learned]] * is_far.sum() / 300
    x = rng.normal(size=n)
    np.testing.assert_allclose(coded.graph(near_table, far_table).matvec(x), (W + W.T) @ x)


def test_pairs_of_a_subset(rng):
    near = hold_back(random_pairs(rng, 50, 400))
    samples = np.sort(rng.choice(50, 30, replace=False))
    taken = NearOnlyPairs(near, 50).take(samples).listed_near()
    for ours, theirs in zip(taken, near, strict=True):
        assert keys(samples[ours]) == {(i, j) for i, j in keys(theirs) if i in samples and j in samples}


def test_long_lists_of_both_kinds_hold_pairs_back(rng):
    pairs = random_pairs(rng, 300, 4000)
    sign = np.where(np.arange(4000) % 3 == 0, 1, -1)
    found = GivenPairs(np.column_stack([*pairs, sign])).find_pairs(np.zeros((300, 1))).pairs
    assert isinstance(found, ListedPairs)
    assert 300 < found.held_back.sum() < 500
    near = found.listed_near()
    assert near.learned.shape[1] + near.held_back.shape[1] == (sign > 0).sum()
    coded = found.with_code(GrowingCode(300))
    assert sum(counts.sum() for counts in coded.counts()) == found.held_back.sum()
    total = coded.graph(np.ones(1), -np.ones(1)).absolute_degrees().sum()
    assert total == 2 * (~found.held_back).sum()
    # Too few near pairs to tell what near samples have in common.
    assert held_back_of_both(np.arange(4000) < 900) is None
