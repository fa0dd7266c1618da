"""Thresholds against counting and against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

from proxcode.threshold import (
    CalibratedThreshold,
    EqualErrorThreshold,
    LogisticThreshold,
    errors,
    inner_products,
    logistic_loss,
    loss,
)
from proxcode.weights import GradientWeights


@st.composite
def histograms(draw, largest=30):
    k = draw(st.integers(0, 40))
    counts = st.lists(st.integers(0, largest), min_size=k + 1, max_size=k + 1).filter(any)
    return np.array(draw(counts)), np.array(draw(counts))


def pair_distances(counts):
    return np.repeat(np.arange(len(counts)), counts)


def error_counts(near, far, t):
    return (pair_distances(near) > t).sum(), (pair_distances(far) <= t).sum()


@given(histograms())
def test_errors_by_counting(counts):
    near_errors, far_errors = errors(*counts)
    assert len(near_errors) == len(far_errors) == len(counts[0])
    for t in range(len(counts[0])):
        assert (near_errors[t], far_errors[t]) == error_counts(*counts, t)


@given(histograms())
def test_equal_error_threshold_by_counting(counts):
    k = len(counts[0]) - 1
    gap = {t: abs(np.subtract(*error_counts(*counts, t))) for t in range(k + 1)}
    best = min(gap, key=gap.get)
    assert EqualErrorThreshold().beta(*counts) == k - (2 * best + 1)


@pytest.mark.parametrize("k", [0, 1, 8])
def test_alpha_of_the_paper_is_positive_where_nearly_all_pairs_are_far(k):
    near, far = np.ones(k + 1, int), np.full(k + 1, 1000)
    assert k - EqualErrorThreshold().beta(near, far) == 1


def test_a_code_of_no_bits_misplaces_all_far_pairs():
    assert loss(np.array([1]), np.array([999])) == 0.999


@given(histograms())
def test_loss_by_counting(counts):
    k, n_pairs = len(counts[0]) - 1, sum(c.sum() for c in counts)
    assert loss(*counts) == pytest.approx(min(sum(error_counts(*counts, t)) for t in range(k + 1)) / n_pairs)


@given(histograms(), st.floats(-50, 50))
def test_logistic_loss_pair_by_pair(counts, beta):
    k = len(counts[0]) - 1
    margins = np.concatenate([k - 2 * pair_distances(counts[0]) - beta, beta - (k - 2 * pair_distances(counts[1]))])
    assert logistic_loss(*counts, beta) == pytest.approx(np.log1p(np.exp(-margins)).mean())


def test_logistic_loss_of_large_margins_is_finite():
    near, far = np.zeros(2001, int), np.zeros(2001, int)
    near[-1] = far[0] = 1
    assert logistic_loss(near, far, 0.0) == pytest.approx(2000)
    assert logistic_loss(far, near, 0.0) == pytest.approx(0)


@given(histograms())
def test_logistic_threshold_is_no_worse_than_scipy(counts):
    reach = len(counts[0]) + 40
    found = minimize_scalar(lambda beta: logistic_loss(*counts, beta), bounds=(-reach, reach), options={"xatol": 1e-9})
    assert logistic_loss(*counts, LogisticThreshold().beta(*counts)) <= found.fun + 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_logistic_threshold_equals_scipy_where_the_minimum_is_sharp(seed):
    rng = np.random.default_rng(seed)
    near, far = rng.integers(1, 50, 12), rng.integers(1, 50, 12)
    found = minimize_scalar(lambda beta: logistic_loss(near, far, beta), bounds=(-20, 20), options={"xatol": 1e-9})
    assert LogisticThreshold().beta(near, far) == pytest.approx(found.x, abs=1e-5)


@given(histograms(largest=10**9))
def test_attraction_and_repulsion_balance_at_the_logistic_threshold(counts):
    near, far = counts
    attraction, repulsion = GradientWeights().tables(LogisticThreshold().beta(near, far), len(near) - 1)
    assert near @ attraction == pytest.approx(-(far @ repulsion), rel=1e-8)


@pytest.mark.parametrize("n_bits", [256, 1024, 4096])
def test_logistic_threshold_of_a_long_perfect_code_separates_near_from_far(n_bits):
    near, far = np.zeros(n_bits + 1, int), np.zeros(n_bits + 1, int)
    near[0], far[n_bits // 2] = 10**4, 10**8
    beta = LogisticThreshold().beta(near, far)
    assert 0 < beta < n_bits


def test_logistic_threshold_of_no_bits_is_the_log_odds():
    assert LogisticThreshold().beta(np.array([1]), np.array([9])) == pytest.approx(np.log(9))


def test_inner_products():
    np.testing.assert_array_equal(inner_products(3), [3, 1, -1, -3])


# CalibratedThreshold


def test_calibrated_threshold_is_the_maximum_likelihood_line(rng):
    near, far = np.array([30, 40, 30, 20, 12]), np.array([30, 90, 300, 500, 400])
    line = CalibratedThreshold().line(near, far)
    product = inner_products(4)

    def loss(parameters):
        z = parameters[0] * product - parameters[1]
        return (near @ np.logaddexp(0, -z) + far @ np.logaddexp(0, z)) / (near.sum() + far.sum())

    best = minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14, "maxiter": 5000})
    assert line.scale == pytest.approx(best.x[0], abs=1e-5)
    assert line.beta == pytest.approx(best.x[1] / best.x[0], abs=1e-4)
    assert CalibratedThreshold().beta(near, far) == line.beta
    paper = LogisticThreshold().line(near, far)
    assert paper.scale == 1
    assert logistic_loss(near, far, *line) < logistic_loss(near, far, *paper)


def test_the_threshold_of_a_wide_gap_is_in_its_middle():
    near, far = np.zeros(1025, np.int64), np.zeros(1025, np.int64)
    near[300], far[512] = 1000, 9000
    line = CalibratedThreshold().line(near, far)
    assert line.scale == 1
    assert line.beta == pytest.approx(1024 - 2 * 406, abs=2)


def test_a_code_that_separates_gets_the_largest_scale():
    line = CalibratedThreshold(max_scale=0.7).line(np.array([50, 0, 0, 0]), np.array([0, 0, 0, 90]))
    assert line.scale == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("max_scale", "error"),
    [(0, ValueError), (-1.0, ValueError), (np.nan, ValueError), (np.inf, ValueError), ("a", TypeError)],
)
def test_a_bad_largest_scale_is_refused(max_scale, error):
    with pytest.raises(error, match=f"max_scale={max_scale!r}: expected a number above 0"):
        CalibratedThreshold(max_scale).line(np.array([1]), np.array([1]))
