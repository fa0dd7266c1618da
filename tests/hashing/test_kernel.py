"""KernelHash against independent solutions of its objective."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel

from helpers.banks import learned
from proxcode.hashing import KernelHash
from proxcode.hashing.components import JITTER


@pytest.mark.parametrize("ridge", [1e-2, 1.0])
def test_kernel_hash_solves_its_objective(ridge, X, bits):
    hashed, margins = learned(KernelHash(n_landmarks=20, ridge=ridge), X, bits)
    n, m = len(X), len(hashed.landmarks_)
    design = np.column_stack([rbf_kernel(X - hashed.center_, hashed.landmarks_, gamma=hashed.gamma_), np.ones(n)])
    penalty = np.zeros((m + 1, m + 1))
    penalty[:m, :m] = rbf_kernel(hashed.landmarks_, gamma=hashed.gamma_) + JITTER * np.eye(m)
    solution = np.linalg.solve(design.T @ design + ridge * n * penalty, design.T @ bits)
    np.testing.assert_allclose(margins, design @ solution, atol=1e-4)


def test_kernel_hash_with_every_sample_as_a_landmark_is_kernel_ridge_regression(X, bits):
    ridge = 1e-2
    hashed, margins = learned(KernelHash(n_landmarks=len(X), ridge=ridge), X, bits)
    eigenvalues, eigenvectors = np.linalg.eigh(rbf_kernel(X, gamma=hashed.gamma_))
    features = eigenvectors * np.sqrt(np.maximum(eigenvalues, 0))
    expected = Ridge(alpha=ridge * len(X)).fit(features, bits).predict(features)
    np.testing.assert_allclose(margins, expected, atol=1e-3)


def test_landmarks_are_training_samples(X, bits):
    hashed, _ = learned(KernelHash(n_landmarks=30), X, bits)
    assert hashed.landmarks_.shape == (30, 4)
    assert {tuple(row) for row in hashed.landmarks_} <= {tuple(row) for row in X - hashed.center_}
    assert len(learned(KernelHash(n_landmarks=1000), X, bits)[0].landmarks_) == 120


def test_default_gamma_is_one_over_the_median_squared_distance(X, bits):
    hashed, _ = learned(KernelHash(n_landmarks=50), X, bits)
    assert hashed.gamma_ == pytest.approx(1 / np.median(pdist(hashed.landmarks_, "sqeuclidean")))
    assert learned(KernelHash(gamma=0.7), X, bits)[0].gamma_ == 0.7


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_kernel_hash_does_not_depend_on_the_unit_of_the_data(unit, X, bits):
    expected = learned(KernelHash(n_landmarks=40, ridge=1e-2), X, bits)[1]
    np.testing.assert_allclose(learned(KernelHash(n_landmarks=40, ridge=1e-2), unit * X, bits)[1], expected, atol=1e-8)


def test_default_gamma_does_not_depend_on_the_origin_of_the_data(X, bits):
    expected, shifted = (learned(KernelHash(), samples, bits)[0].gamma_ for samples in (X, X + 1e4))
    assert shifted == pytest.approx(expected, rel=1e-3)


def test_margins_do_not_depend_on_the_origin_of_the_data(X, bits):
    hash_function = KernelHash(n_landmarks=40, gamma=0.1, ridge=1e-2)
    expected, shifted = (learned(hash_function, samples, bits)[1] for samples in (X, X + 1e4))
    np.testing.assert_allclose(shifted, expected, atol=1e-4)


def test_single_precision_gives_nearly_the_same_margins(X, bits):
    expected = learned(KernelHash(n_landmarks=40, ridge=1e-2), X, bits)[1]
    hashed, margins = learned(KernelHash(n_landmarks=40, ridge=1e-2), X.astype(np.float32), bits)
    assert hashed.landmarks_.dtype == np.float32
    np.testing.assert_allclose(margins, expected, atol=1e-3)


def test_equal_samples_get_equal_margins(bits):
    hashed, margins = learned(KernelHash(), np.full((120, 4), 0.1), bits)
    np.testing.assert_allclose(margins, np.tile(bits.mean(axis=0), (120, 1)), atol=1e-6)
    assert hashed.gamma_ == 1.0


def test_more_samples_than_a_block_give_the_margins_of_scores(rng):
    X = rng.normal(size=(5000, 3)).astype(np.float32)
    target = np.where(X[:, 0] > 0, 1, -1).astype(np.int8)[:, None]
    hashed, margins = learned(KernelHash(n_landmarks=20), X, target)
    np.testing.assert_allclose(hashed.scores(X, 1), margins, atol=1e-3)
    np.testing.assert_allclose(hashed.scores(X[1234:4321], 1), margins[1234:4321], atol=1e-3)
