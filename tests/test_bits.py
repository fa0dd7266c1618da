"""The figures of a bit against counts of all pairs, the rule that stops the loop, and default subsets."""

import math

import numpy as np
import pytest

from proxcode import KernelHash, ProximityPreservingCode, RotationHash, SameLabel, SVMHash, WithinRadius
from proxcode.bits import loop
from proxcode.hamming import distances
from proxcode.metrics import radius_of
from proxcode.pairs import SameClassPairs
from proxcode.threshold import EqualErrorThreshold

# Without refinement the codes that bits are learned with are those of `encode`, not leave-one-out ones.
HASH = KernelHash(n_landmarks=60, refine_steps=0)


def fit(train, n_bits, **parameters):
    return ProximityPreservingCode(n_bits, hash_function=HASH, random_state=0, **parameters).fit(*train)


def pairs_of(train, codes):
    """Return the Hamming distances of all pairs, and which of them are near."""
    first, second = np.triu_indices(len(codes), 1)
    return distances(codes, codes)[first, second], train[1][first] == train[1][second]


@pytest.mark.parametrize("alpha", [-3.0, 0.0, 0.5, 1.0, 1.999, 2.0, 2.001, 3.0, 7.3, 8.0])
def test_the_radius_is_the_largest_distance_up_to_alpha(alpha):
    within = [h for h in range(10) if 2 * h <= alpha]
    assert radius_of(alpha) == max(within, default=0)


def test_alpha_of_the_paper_leaves_equally_many_near_and_far_errors(train):
    model = fit(train, 8, threshold=EqualErrorThreshold())
    for k, record in enumerate(model.history_, start=1):
        h, is_near = pairs_of(train, model.encode(train[0], n_bits=k))

        def difference(alpha, h=h, is_near=is_near):
            return abs(int((2 * h[is_near] > alpha).sum()) - int((2 * h[~is_near] <= alpha).sum()))

        candidates = range(1, 2 * k + 2, 2)
        assert record.alpha == min(candidates, key=difference)


def test_alpha_by_default_minimises_the_logistic_loss_of_the_code_with_this_bit(train):
    model = fit(train, 6)
    for k, record in enumerate(model.history_, start=1):
        h, is_near = pairs_of(train, model.encode(train[0], n_bits=k))

        def loss(alpha, scale, h=h, is_near=is_near):
            return np.logaddexp(0, np.where(is_near, 1, -1) * scale * (2 * h - alpha)).mean()

        # The loss is convex: the best scale of a grid is near the true one.
        scales = np.linspace(0.02, 1, 50)
        scale = min(scales, key=lambda scale, alpha=record.alpha: loss(alpha, scale))
        assert record.logistic_loss == pytest.approx(loss(record.alpha, scale), rel=1e-3)
        for step in (-0.2, 0.2):
            assert loss(record.alpha + step, scale) > record.logistic_loss


def test_shares_within_the_radius_are_those_of_all_pairs(train):
    model = fit(train, 8)
    for k, record in enumerate(model.history_, start=1):
        h, is_near = pairs_of(train, model.encode(train[0], n_bits=k))
        assert record.near_within == (h[is_near] <= record.radius).mean()
        assert record.far_within == (h[~is_near] <= record.radius).mean()
    assert (model.radius_, model.alpha_) == (record.radius, record.alpha)
    assert model.radius_ == max(0, math.floor(model.alpha_ / 2))


def test_learning_stops_at_the_first_bit_whose_loss_is_the_target(train):
    losses = [record.loss for record in fit(train, 8).history_]
    lowest_so_far = [k for k in range(1, 7) if losses[k] < min(losses[:k])]
    assert lowest_so_far
    for k in lowest_so_far:
        model = fit(train, 8, loss_target=losses[k])
        assert [record.loss for record in model.history_] == losses[: k + 1]


def share_misplaced(train, codes, n_bits):
    """Return the share of pairs on the wrong side of the best threshold, by counting."""
    h, is_near = pairs_of(train, codes)
    return min(((h <= t) != is_near).mean() for t in range(n_bits + 1))


def test_the_training_loss_is_that_of_the_codes_and_lower_than_the_leave_one_out_loss(train):
    model = ProximityPreservingCode(8, random_state=0).fit(*train)
    assert model.training_loss_ == pytest.approx(share_misplaced(train, model.codes_, 8))
    assert model.training_loss_ < model.history_[-1].loss
    model.extend(12, *train)
    assert model.training_loss_ == pytest.approx(share_misplaced(train, model.encode(train[0]), 12))


@pytest.mark.parametrize(
    "parameters",
    [
        {"proximity": WithinRadius()},
        {"hash_function": SVMHash()},
        {"hash_function": KernelHash(n_landmarks=60), "error_correction": False},
        {"proximity": WithinRadius(), "max_samples": 200},
        {"proximity": SameLabel(), "hash_function": SVMHash(), "max_samples": 200},
    ],
    ids=str,
)
def test_both_losses_are_equal_where_nothing_is_left_out(parameters, train):
    model = ProximityPreservingCode(9, random_state=0, **parameters).fit(*train)
    assert model.training_loss_ == model.history_[-1].loss


def test_the_training_loss_of_a_subset_is_close_to_that_of_all_pairs(train):
    # Three bits are too few for ten classes.
    model = ProximityPreservingCode(3, max_samples=250, random_state=0).fit(*train)
    everything = share_misplaced(train, model.codes_, 3)
    assert model.training_loss_ != everything
    assert model.training_loss_ == pytest.approx(everything, rel=0.3)


def test_a_target_just_below_the_share_of_near_pairs_is_not_met_by_one_bit():
    """60 classes: "nothing is near" misplaces 1.5 % of the pairs, and no threshold alpha > 0 does so for few bits."""
    y = np.arange(600) % 60
    X = np.random.default_rng(0).normal(size=(60, 20))[y]
    model = fit((X, y), 32, loss_target=0.0165)
    h, is_near = pairs_of((X, y), model.codes_)
    assert is_near.mean() < 0.0165
    misplaced = [((h <= t) != is_near).mean() for t in range(model.n_bits_ + 1)]
    assert model.history_[-1].loss == pytest.approx(min(misplaced))
    assert 5 < model.n_bits_ < 32


def test_thresholds_alone_are_found_from_fewer_samples(train, monkeypatch):
    assert (loop.THRESHOLD_SAMPLES, SameClassPairs.default_max_samples) == (2500, 10_000)
    monkeypatch.setattr(loop, "THRESHOLD_SAMPLES", 100)
    monkeypatch.setattr(SameClassPairs, "default_max_samples", 200)
    drawn = []
    sampled = SameClassPairs.sampled

    def recorded(pairs, code, n_samples, rng):
        drawn.append(n_samples)
        return sampled(pairs, code, n_samples, rng)

    monkeypatch.setattr(SameClassPairs, "sampled", recorded)
    for hash_function, n_samples in ((RotationHash(), 100), (KernelHash(n_landmarks=60), 200)):
        drawn.clear()
        ProximityPreservingCode(3, proximity=SameLabel(), hash_function=hash_function, random_state=0).fit(*train)
        # Before the first bit, after each, and once for the training loss.
        assert drawn == [n_samples] * 5
