"""Spectral initial guesses against full decompositions, and margins of eigenvalues that are computed inexactly."""

import numpy as np
import pytest

import proxcode.cut.bounds.semidefinite
import proxcode.cut.relaxation
from helpers.cut_graphs import random_weights
from proxcode.cut import LaplacianGuess, SemidefiniteBound, SignedLaplacianGuess, VectorUpdate, as_graph
from proxcode.cut.relaxation import diagonal_shift, smallest_eigenpairs

# Below and above the size from which on Lanczos' method is used.
both_methods = pytest.mark.parametrize("n", [40, 100], ids=["full decomposition", "Lanczos"])


def uneven_weights(rng, n):
    """Return signed weights whose degrees differ by a factor of some two."""
    size = np.linspace(1, 2, n)
    return random_weights(rng, n) * np.outer(size, size)


def assert_equal_partition(guess, vector):
    """Assert that a guess has the signs of a vector, up to the sign of the whole and to entries that almost vanish."""
    is_clear = np.abs(vector) > 1e-3 * np.abs(vector).max()
    agreement = (guess * np.sign(vector))[is_clear]
    assert is_clear.mean() > 0.8
    assert (agreement == agreement[0]).all()


@both_methods
def test_signed_laplacian_guess_is_the_smallest_eigenvector_with_absolute_degrees(n, rng):
    for _ in range(5):
        W = uneven_weights(rng, n)
        smallest = np.linalg.eigh(np.diag(np.abs(W).sum(axis=1)) - W)[1][:, 0]
        assert_equal_partition(SignedLaplacianGuess().guess(as_graph(W), rng), smallest)


@both_methods
def test_laplacian_guess_is_the_smallest_eigenvector_that_sums_to_zero(n, rng):
    # Of an orthonormal basis of the vectors that sum to zero.
    basis = np.linalg.qr(np.column_stack([np.ones(n), rng.normal(size=(n, n - 1))]))[0][:, 1:]
    for mean in (0.0, 2.0):
        W = uneven_weights(rng, n) + mean * (1 - np.eye(n))
        laplacian = np.diag(W.sum(axis=1)) - W
        smallest = basis @ np.linalg.eigh(basis.T @ laplacian @ basis)[1][:, 0]
        assert_equal_partition(LaplacianGuess().guess(as_graph(W), rng), smallest)


@pytest.fixture
def inaccurate(monkeypatch):
    """Let Lanczos' method end early, with an eigenvalue that is too large."""

    def early(matvec, n, k, rng, tolerance=1e-6):
        return smallest_eigenpairs(matvec, n, k, rng, 0.3)

    monkeypatch.setattr(proxcode.cut.relaxation, "smallest_eigenpairs", early)
    monkeypatch.setattr(proxcode.cut.bounds.semidefinite, "smallest_eigenpairs", early)


def test_the_shift_of_an_inaccurate_eigenvalue_is_large_enough(inaccurate):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        W = random_weights(rng, 100)
        smallest = np.linalg.eigvalsh(W)[0]
        assert smallest_eigenpairs(as_graph(W).matvec, 100, 1, np.random.default_rng(0), 0.3)[0] > smallest
        # Theorem 3: W plus the shift is positive semidefinite.
        assert diagonal_shift(as_graph(W)) >= -smallest
        start = rng.choice(np.array([-1, 1], np.int8), 100)
        update = VectorUpdate().improve(as_graph(W), start, rng)
        assert update.value >= start @ W @ start


def test_the_bound_of_an_inaccurate_eigenvalue_is_not_too_small(inaccurate, monkeypatch):
    for seed in range(5):
        W = random_weights(np.random.default_rng(seed), 100)
        bounds = []
        for limit in (100, 10):
            monkeypatch.setattr(proxcode.cut.bounds.semidefinite, "FULL_SPECTRUM", limit)
            bound = SemidefiniteBound(max_iter=20)
            bounds.append(bound.bound(as_graph(W), np.ones(100, np.int8), np.random.default_rng(0)))
        exact, by_lanczos = bounds
        assert exact <= by_lanczos < 1.2 * exact


def test_rounding_does_not_take_the_bound_below_a_value_that_is_attained():
    # Without frustrated edges the relaxation is exact, and integer weights have exact sums.
    for seed in range(20):
        rng = np.random.default_rng(seed)
        partition = rng.choice(np.array([-1, 1], np.int8), 60)
        size = np.triu(rng.integers(1, 10, (60, 60)), 1)
        W = np.outer(partition, partition) * (size + size.T).astype(float)
        value = partition @ W @ partition
        found = SemidefiniteBound(tolerance=0.0, max_iter=300).bound(as_graph(W), partition, rng)
        assert value <= found < value * (1 + 1e-9)
