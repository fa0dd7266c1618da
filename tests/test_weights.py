"""Weights against their formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxcode.threshold import inner_products
from proxcode.weights import DifferenceWeights, GradientWeights

ROUNDING = 1e-13
RULES = [GradientWeights(), DifferenceWeights()]
betas, lengths = st.floats(-30, 30), st.integers(0, 60)


def logistic(z):
    return np.log1p(np.exp(-z))


def margins(beta, n_bits):
    return n_bits - 2.0 * np.arange(n_bits + 1) - beta


@given(betas, lengths)
def test_gradient_weights(beta, n_bits):
    gamma = margins(beta, n_bits)
    near, far = GradientWeights().tables(beta, n_bits)
    np.testing.assert_allclose(near, 1 / (1 + np.exp(gamma)))
    np.testing.assert_allclose(far, -1 / (1 + np.exp(-gamma)))


@given(betas, lengths)
def test_gradient_weights_are_the_slope_of_the_loss(beta, n_bits):
    gamma, step = margins(beta, n_bits), 1e-5
    near, far = GradientWeights().tables(beta, n_bits)
    np.testing.assert_allclose(near, (logistic(gamma - step) - logistic(gamma + step)) / (2 * step), atol=1e-8)
    np.testing.assert_allclose(far, (logistic(-gamma - step) - logistic(-gamma + step)) / (2 * step) * -1, atol=1e-8)


@pytest.mark.parametrize("y", [1, -1])
@pytest.mark.parametrize("b", [1, -1])
@given(beta=betas, n_bits=lengths)
def test_difference_weights_give_the_loss_of_the_new_bit_exactly(beta, n_bits, y, b):
    gamma = margins(beta, n_bits)
    weight = DifferenceWeights().tables(beta, n_bits)[0 if y > 0 else 1]
    middle = (logistic(y * (gamma - 1)) + logistic(y * (gamma + 1))) / 2
    np.testing.assert_allclose(logistic(y * (gamma + b)), middle - weight * b, atol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_the_cut_of_difference_weights_is_the_change_of_the_loss(seed):
    rng = np.random.default_rng(seed)
    n, k, beta = 20, 8, 1.3
    codes, Y = rng.choice([-1, 1], (n, k)), rng.choice([-1, 1], (n, n))
    Y = np.triu(Y, 1)
    products = codes @ codes.T
    near, far = DifferenceWeights().tables(beta, k)
    distance = (k - products) // 2
    W = np.where(Y > 0, near[distance], np.where(Y < 0, far[distance], 0.0))

    def total_loss(b):
        return (logistic(Y * (products + np.outer(b, b) - beta)) * (Y != 0)).sum()

    b, c = rng.choice([-1, 1], (2, n))
    assert total_loss(b) - total_loss(c) == pytest.approx(c @ W @ c - b @ W @ b, abs=1e-9)


@pytest.mark.parametrize("rule", RULES, ids=repr)
@given(betas, lengths)
def test_near_attracts_and_far_repels_by_at_most_one(rule, beta, n_bits):
    near, far = rule.tables(beta, n_bits)
    assert near.shape == far.shape == (n_bits + 1,)
    assert ((near > 0) & (near <= 1 + ROUNDING)).all()
    assert ((far < 0) & (far >= -1 - ROUNDING)).all()


@pytest.mark.parametrize("rule", RULES, ids=repr)
@given(betas, lengths)
def test_pairs_further_on_the_wrong_side_weigh_more(rule, beta, n_bits):
    near, far = rule.tables(beta, n_bits)
    assert (np.diff(near) >= -ROUNDING).all()
    assert (np.diff(-far) <= ROUNDING).all()


@pytest.mark.parametrize(("rule", "factor"), [(GradientWeights(), 1.0), (DifferenceWeights(), np.sinh(1.0))])
def test_large_margins_keep_their_digits(rule, factor):
    z = np.array([40.0, 200.0, 600.0, 700.0])
    np.testing.assert_allclose(rule.weight(z), factor * np.exp(-z), rtol=1e-12)
    np.testing.assert_array_equal(rule.weight(-z), 1.0)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_extreme_margins_are_finite(rule):
    near, far = rule.tables(beta=0.0, n_bits=10_000)
    assert np.isfinite(near).all()
    assert np.isfinite(far).all()
    assert (near[0], far[-1]) == (0.0, 0.0)
    assert (near[-1], far[0]) == (1.0, -1.0)


def test_the_scaled_difference_is_the_slope_of_the_scaled_loss():
    near, far = DifferenceWeights().tables(0.3, 5, scale=0.2)
    gamma = inner_products(5) - 0.3

    def loss(z):
        return np.logaddexp(0, -0.2 * z)

    np.testing.assert_allclose(near, (loss(gamma - 1) - loss(gamma + 1)) / 2 / 0.2)
    np.testing.assert_allclose(far, -(loss(-gamma - 1) - loss(-gamma + 1)) / 2 / 0.2)


@given(betas, lengths, st.floats(0.05, 1.0))
def test_scaled_gradient_weights_are_the_slope_of_the_scaled_loss(beta, n_bits, scale):
    gamma, step = scale * margins(beta, n_bits), 1e-5
    near, far = GradientWeights().tables(beta, n_bits, scale)
    np.testing.assert_allclose(near, (logistic(gamma - step) - logistic(gamma + step)) / (2 * step), atol=1e-8)
    np.testing.assert_allclose(far, (logistic(-gamma + step) - logistic(-gamma - step)) / (2 * step), atol=1e-8)
