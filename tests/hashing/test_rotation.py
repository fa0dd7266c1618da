"""Rotated kernel components against iterative quantisation and its objective."""

import numpy as np
import pytest
from scipy.linalg import polar

from helpers.neighbors import recall_at, squared_distances
from proxcode import ProximityPreservingCode, RotationHash
from proxcode.hamming import distances
from proxcode.hashing.components import Coordinates, Landmarks, make_inputs, principal_components, project
from proxcode.hashing.rotation import WIDTHS, Ranking, rotate
from proxcode.peers import ITQ
from proxcode.utils.blocks import one_blas_thread


def fitted(X, n_bits, seed=0, **parameters):
    hash_function = RotationHash(**parameters)
    hash_function.fit_bits(X, None, n_bits, np.random.default_rng(seed))
    return hash_function


def hamming_recall(encoder, base, queries):
    found = distances(encoder.encode(queries), encoder.encode(base))
    return recall_at(10, found, squared_distances(queries, base))


@pytest.fixture(scope="module")
def manifold():
    """Samples on a curved surface of two dimensions in 40."""
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, 1, (1500, 2)) @ rng.normal(size=(2, 20)) * 6
    return np.hstack([np.cos(angles), np.sin(angles)])


# The rotation


@pytest.mark.parametrize(("n_components", "n_bits"), [(12, 12), (5, 12), (12, 5), (1, 1), (1, 4), (4, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rotations_are_orthonormal_and_their_objective_does_not_grow(n_components, n_bits, dtype, rng):
    V = (rng.normal(size=(400, n_components)) * np.linspace(3, 1, n_components)).astype(dtype)
    V -= V.mean(axis=0)
    objectives = []
    for n_rotations in range(12):
        R = rotate(V, n_bits, n_rotations, np.random.default_rng(1))
        products = R.T @ R if n_components >= n_bits else R @ R.T
        np.testing.assert_allclose(products, np.eye(len(products)), atol=1e-12)
        # |B - VR|^2 = |B|^2 + |VR|^2 - 2 tr(B'VR): each update raises tr(B'VR).
        objectives.append(-np.abs(V @ R).sum())
        if n_components <= n_bits:
            objectives[-1] = ((np.where(V @ R >= 0, 1, -1) - V @ R) ** 2).sum()
    assert (np.diff(objectives) <= 1e-6 * abs(objectives[0])).all()


@pytest.mark.parametrize(("n_components", "n_bits"), [(12, 12), (5, 12), (12, 5)])
def test_each_rotation_is_the_orthogonal_factor_nearest_to_the_signs(n_components, n_bits, rng):
    V = rng.normal(size=(400, n_components)) * np.linspace(3, 1, n_components)
    size = max(n_components, n_bits)
    R = np.linalg.qr(np.random.default_rng(1).standard_normal((size, size)))[0][:n_components, :n_bits]
    for n_rotations in range(6):
        np.testing.assert_allclose(rotate(V, n_bits, n_rotations, np.random.default_rng(1)), R, atol=1e-9)
        # The Procrustes problem: the polar factor of V'B.
        R = polar(V.T @ np.where(V @ R >= 0, 1.0, -1.0))[0]


def test_without_a_kernel_bits_are_those_of_rotated_principal_components(digits):
    X = digits[0][:600]
    found = fitted(X, 16, gamma=0, n_components=16, n_rotations=30)
    centred = X - X.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:16].T
    # Margins are scaled to a root mean square of 1.
    scale = np.linalg.norm(found.coef_[:, 0])
    R = axes.T @ found.coef_ / scale
    np.testing.assert_allclose(R.T @ R, np.eye(16), atol=1e-8)
    margins = found.margins(X)
    np.testing.assert_allclose(margins / scale, centred @ axes @ R, atol=1e-8)
    assert (margins**2).mean() == pytest.approx(1)
    # A rotation of a local optimum: the polar factor of V'B is R itself, up to the last update.
    itq = ITQ(n_bits=16, n_rotations=30, random_state=0).fit(X)
    objectives = [((np.where(M >= 0, 1, -1) - M) ** 2).sum() for M in (margins / scale, itq.scores(X))]
    assert objectives[0] == pytest.approx(objectives[1], rel=0.01)


def test_given_components_and_kernels_are_kept(digits):
    X = digits[0][:300]
    found = fitted(X, 12, gamma=0.002, n_components=20, n_landmarks=50)
    assert isinstance(found.inputs_, Landmarks)
    assert (found.inputs_.gamma, found.n_components_, len(found.inputs_.points)) == (0.002, 20, 50)
    assert isinstance(fitted(X, 12, gamma=0).inputs_, Coordinates)
    # No more components than features.
    assert fitted(X[:, 20:25], 12, gamma=0, n_components=30).n_components_ == 5


# Principal components


@pytest.mark.parametrize("gamma", [0.0, 1e-3])
def test_components_are_uncorrelated_and_of_falling_variance(gamma, digits):
    X = digits[0][:400]
    inputs = make_inputs(X[:80], gamma)
    V = project(inputs, principal_components(inputs, X, 10), X)
    np.testing.assert_allclose(V.mean(axis=0), 0, atol=1e-8)
    covariance = V.T @ V
    variances = np.diag(covariance)
    assert (np.diff(variances) <= 0).all()
    np.testing.assert_allclose(covariance, np.diag(variances), atol=1e-6 * variances[0])


def test_kernel_components_with_all_landmarks_are_those_of_the_kernel(digits):
    X, gamma = digits[0][:120], 1e-3
    inputs = make_inputs(X, gamma)
    V = project(inputs, principal_components(inputs, X, 6), X)
    kernel = np.exp(-gamma * squared_distances(X, X))
    centring = np.eye(120) - 1 / 120
    values, vectors = np.linalg.eigh(centring @ kernel @ centring)
    expected = vectors[:, :-7:-1] * np.sqrt(values[:-7:-1])
    np.testing.assert_allclose(np.abs((V * expected).sum(axis=0)), values[:-7:-1], rtol=2e-3)


def test_a_kernel_in_which_all_samples_are_far_apart_has_components(rng):
    X = 1e9 * rng.normal(size=(300, 6))
    found = fitted(X, 200, gamma=0.5)
    assert np.isfinite(found.margins(X)).all()


def test_a_kernel_lost_in_rounding_is_refused_in_words(rng):
    X = np.vstack([rng.normal(size=(300, 7)), np.full((1, 7), 1e9)])
    with pytest.raises(ValueError, match=r"gamma=0\.001: distances are lost in rounding; remove samples that are far"):
        fitted(X, 8, gamma=1e-3)
    # The width that is chosen goes with the distances.
    assert np.isfinite(fitted(X, 8).margins(X)).all()


# Neighbours


@pytest.mark.parametrize("n_bits", [16, 32])
def test_recall_on_digits_is_at_least_that_of_itq(n_bits, digits):
    base, queries = digits[0][:1400], digits[0][1400:]
    ours = ProximityPreservingCode(n_bits, random_state=0).fit(base)
    assert isinstance(ours.hash_function_, RotationHash)
    assert hamming_recall(ours, base, queries) >= hamming_recall(
        ITQ(n_bits=n_bits, random_state=0).fit(base), base, queries
    )


def test_recall_on_a_curved_surface_is_above_that_of_itq(manifold):
    base, queries = manifold[:1300], manifold[1300:]
    ours = ProximityPreservingCode(32, random_state=0).fit(base)
    itq = ITQ(n_bits=32, random_state=0).fit(base)
    assert isinstance(ours.hash_function_.inputs_, Landmarks)
    assert hamming_recall(ours, base, queries) > hamming_recall(itq, base, queries) + 0.01


def test_the_kernel_and_the_components_chosen_rank_best(manifold):
    X = manifold[:400]
    found = fitted(X, 24, seed=5)
    gamma = getattr(found.inputs_, "gamma", 0.0)
    with one_blas_thread:
        ranking = Ranking(X, 24, np.random.default_rng(5))
        chosen = ranking.quality(gamma, found.n_components_ / 24)
        assert chosen == max(ranking.quality(gamma, share) for share in (0.5, 1.0, 1.5, 2.0))
        assert chosen >= ranking.quality(0.0, 1.0)


@pytest.mark.parametrize("best", range(len(WIDTHS)))
@pytest.mark.parametrize("plain", [0.5, 0.59], ids=["clearly better", "hardly better"])
def test_the_width_that_ranks_best_is_chosen_if_it_is_clearly_better(best, plain, rng, monkeypatch):
    X = rng.normal(size=(200, 5))
    gammas = [1 / (width * 2 * X.var(axis=0).sum()) for width in WIDTHS]

    def quality(ranking, gamma, share):
        return 0.6 if gamma == pytest.approx(gammas[best]) else 0.1 if gamma > 0 else plain

    monkeypatch.setattr(Ranking, "quality", quality)
    found = fitted(X, 8, n_landmarks=50)
    assert getattr(found.inputs_, "gamma", 0.0) == pytest.approx(gammas[best] if plain == 0.5 else 0.0)


def test_few_samples_leave_no_choice(rng):
    found = fitted(rng.normal(size=(90, 5)), 8)
    assert isinstance(found.inputs_, Coordinates)
    assert Ranking(rng.normal(size=(90, 5)), 8, rng).is_blind
    assert not Ranking(rng.normal(size=(100, 5)), 8, rng).is_blind


# Against plain references


def test_the_nearest_samples_are_those_that_count(rng):
    ranking = Ranking(rng.normal(size=(600, 4)) + 50, 8, rng)
    squares = squared_distances(ranking.queries, ranking.base)
    limits = np.sort(squares, axis=1)[:, ranking.is_near.sum(axis=1)[0] - 1]
    np.testing.assert_array_equal(ranking.is_near, squares <= limits[:, None])
