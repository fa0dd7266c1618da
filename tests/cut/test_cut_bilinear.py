"""The bilinear relaxation of Alon and Naor and its three roundings, against enumeration and closed formulas."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from sklearn.base import clone

from helpers.cut_graphs import HiddenGraph, best_value, random_weights
from proxcode.cut import (
    BilinearGuess,
    HyperplaneRounding,
    KrivineRounding,
    NoUpdate,
    Restarts,
    TruncatedRounding,
    as_graph,
    rounding,
    signed_cut,
)
from proxcode.cut.relaxation import bilinear_vectors

ROUNDINGS = [HyperplaneRounding(), TruncatedRounding(), TruncatedRounding(limit=3.0), KrivineRounding()]
# The smallest expectation of x'Wy that the proofs guarantee, as part of the relaxation's value.
CONSTANTS = [4 / np.pi - 1, (1 - np.sqrt(3) / 2.6) / 1.3**2, (1 - np.sqrt(3) / 6) / 9, 2 * np.arcsinh(1) / np.pi]
KRIVINE_CONSTANT = 2 * np.log(1 + np.sqrt(2)) / np.pi
N_DRAWS = 20_000


def solved(W, seed=0, rank=None):
    return bilinear_vectors(as_graph(W), rank, 20_000, 1e-11, np.random.default_rng(seed))


def best_bilinear(W):
    """Return the largest x'Wy; given y, the best x has the signs of Wy."""
    n = len(W)
    y = 1.0 - 2.0 * (np.arange(2**n) >> np.arange(n)[:, None] & 1)
    return np.abs(W @ y).sum(axis=0).max()


def weights_of_kind(kind, rng, n):
    W = random_weights(rng, n, 0.7)
    return {"normal": W, "signs": np.sign(W), "negative": -np.abs(W)}[kind]


def correlations(x, y):
    """Return the means of x_i y_j over all draws."""
    return x.astype(float).T @ y / len(x)


def unit_vectors(rng, n, rank):
    vectors = rng.normal(size=(n, rank))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("kind", ["normal", "signs", "negative"])
def test_the_relaxation_is_an_upper_bound_of_the_bilinear_optimum(kind):
    for seed in range(25):
        rng = np.random.default_rng(seed)
        W = weights_of_kind(kind, rng, int(rng.integers(2, 11)))
        _, _, value = solved(W, seed)
        assert value >= best_bilinear(W) * (1 - 1e-6)
        assert best_bilinear(W) >= best_value(W) - 1e-9
        # Grothendieck's inequality.
        assert value <= best_bilinear(W) / KRIVINE_CONSTANT + 1e-9


@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_array, HiddenGraph], ids=lambda form: form.__name__)
def test_vectors_have_unit_norm_and_the_stated_value(form, rng):
    W = np.rint(4 * random_weights(rng, 40, 0.4))
    # A node without edges keeps the vectors that it began with.
    W[7] = W[:, 7] = 0.0
    graph = form(W) if form is HiddenGraph else as_graph(form(W))
    left, right, value = bilinear_vectors(graph, None, 500, 1e-8, np.random.default_rng(0))
    for vectors in (left, right):
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1)
    assert left.shape == right.shape == (40, np.ceil(np.sqrt(160)) + 1)
    assert value == pytest.approx((W * (left @ right.T)).sum())
    assert value == pytest.approx(solved(W)[2], rel=1e-3)


def test_the_diagonal_is_ignored(rng):
    W = random_weights(rng, 30)
    expected = solved(W)
    for found, vectors in zip(solved(W + np.diag(rng.normal(size=30))), expected, strict=True):
        np.testing.assert_allclose(found, vectors)


def test_no_step_decreases_the_sum(rng):
    W = random_weights(rng, 50, 0.3)
    values = [bilinear_vectors(as_graph(W), 5, k, 0.0, np.random.default_rng(3))[2] for k in range(1, 30)]
    assert (np.diff(values) >= -1e-9).all()
    assert values[-1] > 1.01 * values[0]


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_weights_of_any_size_have_a_relaxation(unit, rng):
    W = random_weights(rng, 20)
    assert solved(unit * W)[2] == pytest.approx(unit * solved(W)[2])


def test_hyperplanes_give_the_arcsine(rng):
    left, right = unit_vectors(rng, 8, 4), unit_vectors(rng, 8, 4)
    found = correlations(*HyperplaneRounding().draw(left, right, 10 * N_DRAWS, rng))
    np.testing.assert_allclose(found, 2 / np.pi * np.arcsin(left @ right.T), atol=5 / np.sqrt(10 * N_DRAWS))


@pytest.mark.parametrize("limit", [0.7, 1.3, 3.0])
def test_truncated_projections_have_the_stated_expectation(limit, rng):
    left, right = unit_vectors(rng, 6, 5), unit_vectors(rng, 6, 5)
    # All 32 vectors of signs are equally likely.
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=5))).T
    first, second = np.clip(left @ signs, -limit, limit), np.clip(right @ signs, -limit, limit)
    found = correlations(*TruncatedRounding(limit=limit).draw(left, right, 10 * N_DRAWS, rng))
    np.testing.assert_allclose(found, first @ second.T / 32 / limit**2, atol=5 / np.sqrt(10 * N_DRAWS))


def test_truncated_signs_are_independent_given_the_projection(rng):
    # A node's two vectors are equal and truncation is far away: E[x y] = E[(u'e)^2] / M^2, not 1.
    vectors = unit_vectors(rng, 1, 6)
    x, y = TruncatedRounding(limit=5.0).draw(vectors, vectors, 10 * N_DRAWS, rng)
    assert (x * y).mean() == pytest.approx(1 / 25, abs=0.012)


def test_krivine_gives_a_multiple_of_each_inner_product(rng):
    left, right = unit_vectors(rng, 8, 4), unit_vectors(rng, 8, 4)
    found = correlations(*KrivineRounding().draw(left, right, 10 * N_DRAWS, rng))
    np.testing.assert_allclose(found, KRIVINE_CONSTANT * (left @ right.T), atol=5 / np.sqrt(10 * N_DRAWS))


def test_krivine_vectors_have_the_stated_inner_products(rng, monkeypatch):
    given = []
    monkeypatch.setattr(HyperplaneRounding, "draw", lambda self, left, right, *others: given.extend([left, right]))
    left, right = unit_vectors(rng, 30, 7), unit_vectors(rng, 30, 7)
    KrivineRounding().draw(left, right, 1, rng)
    c, (first, second) = np.log(1 + np.sqrt(2)), given
    np.testing.assert_allclose(first @ second.T, np.sin(c * left @ right.T), atol=1e-9)
    np.testing.assert_allclose(first @ first.T, np.sinh(c * left @ left.T), atol=1e-9)
    np.testing.assert_allclose(second @ second.T, np.sinh(c * right @ right.T), atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1)


def test_expected_value_of_krivine_rounding_is_its_constant_times_the_relaxation():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        W = random_weights(rng, 25)
        left, right, value = solved(W, seed)
        x, y = KrivineRounding().draw(left, right, N_DRAWS, rng)
        values = ((x @ W) * y).sum(axis=1)
        assert values.mean() == pytest.approx(KRIVINE_CONSTANT * value, abs=5 * values.std() / np.sqrt(N_DRAWS))


@pytest.mark.parametrize(
    ("rounding", "constant"), list(zip(ROUNDINGS, CONSTANTS, strict=True)), ids=map(repr, ROUNDINGS)
)
@pytest.mark.parametrize("kind", ["normal", "signs", "negative"])
def test_expected_values_are_above_the_constants_of_the_proofs(rounding, constant, kind):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        W = weights_of_kind(kind, rng, 20)
        left, right, value = solved(W, seed)
        x, y = rounding.draw(left, right, N_DRAWS, rng)
        values = ((x @ W) * y).sum(axis=1)
        assert values.mean() >= constant * value - 5 * values.std() / np.sqrt(N_DRAWS)
        assert values.max() <= value * (1 + 1e-9)


def test_gaussian_quadrants_agree_with_the_arcsine():
    # The formula that the hyperplane tests rest on.
    quadrant = multivariate_normal(cov=[[1, 0.6], [0.6, 1]]).cdf([0, 0])
    assert 4 * quadrant - 1 == pytest.approx(2 / np.pi * np.arcsin(0.6), abs=1e-6)


@pytest.mark.parametrize("rounding", ROUNDINGS, ids=repr)
def test_shapes_and_signs(rounding, rng):
    x, y = rounding.draw(unit_vectors(rng, 9, 3), unit_vectors(rng, 9, 3), 4, rng)
    for signs in (x, y):
        assert (signs.shape, signs.dtype) == ((4, 9), np.int8)
        assert set(signs.ravel().tolist()) == {-1, 1}


@pytest.mark.parametrize("rounding", [None, *ROUNDINGS], ids=repr)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, HiddenGraph], ids=lambda form: form.__name__)
def test_the_guess_is_the_best_of_all_signs_drawn(rounding, form, rng):
    W = random_weights(rng, 14)
    graph = form(W) if form is HiddenGraph else as_graph(form(W))
    guess = BilinearGuess(rounding, n_roundings=30).guess(graph, np.random.default_rng(5))
    draws = np.random.default_rng(5)
    left, right, _ = bilinear_vectors(graph, None, 500, 1e-5, draws)
    signs = np.concatenate((rounding or HyperplaneRounding()).draw(left, right, 30, draws)).astype(float)
    assert guess @ W @ guess == pytest.approx(((signs @ W) * signs).sum(axis=1).max())
    assert guess @ W @ guess <= best_value(W) + 1e-9


def test_hyperplanes_and_krivine_find_most_of_small_cuts():
    for kind in (HyperplaneRounding(), KrivineRounding()):
        part = []
        for seed in range(10):
            W = random_weights(np.random.default_rng(seed), 14)
            cut = signed_cut(W, search=Restarts(BilinearGuess(kind, n_roundings=100), NoUpdate()), random_state=seed)
            part.append(cut.value / best_value(W))
        # In some graphs the largest x'Wy has y = -x, a partition of small b'Wb.
        assert np.median(part) > 0.95


def test_mutual_repulsion_is_best_served_by_opposite_signs():
    # x'Wy of all-negative weights is largest for y = -x, which says nothing about the cut.
    W = np.eye(9) - 1.0
    left, right, value = solved(W)
    assert value == pytest.approx(best_bilinear(W)) == 72
    np.testing.assert_allclose(left, -right, atol=1e-3)
    assert best_value(W) == 8


def test_graphs_without_frustration_are_solved_exactly(rng):
    partition = rng.choice([-1, 1], 50)
    W = np.abs(random_weights(rng, 50)) * np.outer(partition, partition)
    for kind in (HyperplaneRounding(), KrivineRounding()):
        guess = BilinearGuess(kind, tolerance=1e-9, max_iter=5000).guess(as_graph(W), rng)
        assert abs(guess @ partition) == 50 or guess @ W @ guess > 0.99 * np.abs(W).sum()


def test_krivine_on_many_nodes_is_refused_with_a_remedy(rng, monkeypatch):
    monkeypatch.setattr(rounding, "KRIVINE_NODES", 20)
    KrivineRounding().draw(unit_vectors(rng, 20, 3), unit_vectors(rng, 20, 3), 1, rng)
    message = r"KrivineRounding on 21 nodes: expected at most 20, .* use HyperplaneRounding\(\)"
    with pytest.raises(ValueError, match=message):
        BilinearGuess(KrivineRounding()).guess(as_graph(random_weights(rng, 21)), rng)


@pytest.mark.parametrize(
    ("guess", "error", "message"),
    [
        (BilinearGuess("krivine"), TypeError, "rounding='krivine'"),
        (BilinearGuess(KrivineRounding), TypeError, "rounding="),
        (BilinearGuess(TruncatedRounding(limit=0)), ValueError, "limit=0: expected a number above 0"),
        (BilinearGuess(n_roundings=0), ValueError, "n_roundings=0"),
        (BilinearGuess(max_iter=0), ValueError, "max_iter=0"),
        (BilinearGuess(rank=0), ValueError, "rank=0"),
    ],
)
def test_wrong_parameters_are_refused(guess, error, message, rng):
    with pytest.raises(error, match=message):
        guess.guess(as_graph(random_weights(rng, 5)), rng)


def test_clones_keep_the_rounding_and_its_parameters():
    guess = BilinearGuess(TruncatedRounding(limit=2.5), rank=4, n_roundings=7)
    copy = clone(guess)
    assert repr(copy) == repr(guess)
    assert copy.rounding is not guess.rounding
    assert copy.get_params()["rounding__limit"] == 2.5
    assert copy.set_params(rounding__limit=1.0).rounding.limit == 1.0
