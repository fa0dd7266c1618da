"""The package against the paper: a dense transcription, the theorems, and the claim about initial guesses."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from helpers.banks import append, begin
from helpers.reference import (
    difference_weights,
    equal_error_beta,
    gradient_weights,
    logistic_beta,
    proximity_preserving_code,
)
from proxcode import GivenPairs, KernelHash, SameLabel, SharedLabel, WithinRadius
from proxcode.bits import BitLoop, Rules
from proxcode.cut import (
    BitUpdate,
    DenseGraph,
    LaplacianGuess,
    NoUpdate,
    ProjectionGuess,
    RandomGuess,
    Restarts,
    SignedLaplacianGuess,
    VectorUpdate,
)
from proxcode.cut.relaxation import diagonal_shift
from proxcode.hamming import GrowingCode, unpack
from proxcode.hashing import NoHash
from proxcode.threshold import EqualErrorThreshold, LogisticThreshold
from proxcode.weights import DifferenceWeights, GradientWeights

N = 60


def labels_case(rng):
    X, y = rng.normal(size=(N, 5)), rng.integers(0, 4, N)
    return X, y, SameLabel(), np.where(y[:, None] == y, 1, -1)


def multi_labels_case(rng):
    X, y = rng.normal(size=(N, 5)), (rng.random((N, 70)) < 0.02).astype(int)
    return X, y, SharedLabel(), np.where(y @ y.T > 0, 1, -1)


def radius_case(rng):
    X = rng.normal(size=(N, 3))
    return X, None, WithinRadius(radius=1.2), np.where(cdist(X, X) <= 1.2, 1, -1)


def pairs_case(rng):
    X = rng.normal(size=(N, 5))
    Y = np.triu(rng.choice([-1, 0, 1], size=(N, N)), 1)
    i, j = np.nonzero(Y)
    return X, None, GivenPairs(np.column_stack([i, j, Y[i, j]])), Y + Y.T


def near_pairs_case(rng):
    X = rng.normal(size=(N, 5))
    Y = np.triu(rng.random((N, N)) < 0.1, 1)
    return X, None, GivenPairs(sp.csr_array(Y.astype(int)), others="far"), np.where(Y | Y.T, 1, -1)


CASES = [labels_case, multi_labels_case, radius_case, pairs_case, near_pairs_case]
PAPER = (EqualErrorThreshold(), GradientWeights(), equal_error_beta, gradient_weights)
EXACT = (LogisticThreshold(), DifferenceWeights(), logistic_beta, difference_weights)


def run(case, method, n_bits, hashed, monkeypatch):
    """Run the loop and the transcription on the same data; record the loop's dense W at each bit."""
    X, y, proximity, Y = case(np.random.default_rng(1))
    threshold, weights, beta_rule, weight_rule = method
    samples, pairs = proximity.fit(X, y).find_pairs(X, y)
    assert len(samples) == N

    def training():
        return begin(KernelHash(n_landmarks=20, refine_steps=0), X, seed=2)[1]

    seen = []
    cut = Restarts()
    monkeypatch.setattr(
        cut, "solve", lambda graph, rng: seen.append(graph) or Restarts.solve(cut, graph, rng), raising=False
    )
    rules = Rules(threshold=threshold, weights=weights, cut=cut)
    hashing = training() if hashed else NoHash()
    loop = BitLoop(pairs, hashing, rules, max_samples=N, seed=7, code=GrowingCode(N))
    betas = []
    for _ in range(n_bits):
        betas.append(loop.line.beta)
        assert loop.line.scale == 1
        loop.step()
    reference = training()
    hash_bits = (lambda b: np.where(append(reference, b.astype(np.int8)) >= 0, 1, -1)) if hashed else (lambda b: b)
    expected = proximity_preserving_code(Y, n_bits, 7, beta_rule, weight_rule, hash_bits)
    return loop, betas, seen, expected


@pytest.mark.parametrize("n_bits", [1, 63, 64, 65, 130])
@pytest.mark.parametrize("case", CASES)
def test_codes_equal_the_transcription(case, n_bits, monkeypatch):
    loop, betas, graphs, (codes, expected_betas, Ws) = run(case, PAPER, n_bits, False, monkeypatch)
    np.testing.assert_array_equal(betas, expected_betas)
    for k in {0, n_bits // 2, n_bits - 1}:
        W = np.column_stack([graphs[k].matvec(column) for column in np.eye(N)])
        np.testing.assert_allclose(W, Ws[k], rtol=1e-9, atol=1e-300)
    np.testing.assert_array_equal(2.0 * unpack(loop.code.packed(), n_bits) - 1, codes)


@pytest.mark.parametrize("case", CASES)
def test_exact_rules_equal_the_transcription(case, monkeypatch):
    loop, betas, _, (codes, expected_betas, _) = run(case, EXACT, 24, False, monkeypatch)
    np.testing.assert_allclose(betas, expected_betas, atol=1e-9)
    np.testing.assert_array_equal(2.0 * unpack(loop.code.packed(), 24) - 1, codes)


@pytest.mark.parametrize("case", CASES)
def test_error_correction_equals_the_transcription(case, monkeypatch):
    loop, _, _, (codes, _, _) = run(case, PAPER, 20, True, monkeypatch)
    np.testing.assert_array_equal(2.0 * unpack(loop.code.packed(), 20) - 1, codes)


def symmetric(seed, n):
    W = np.random.default_rng(seed).normal(size=(n, n))
    return (W + W.T) / 2


seeds, sizes = st.integers(0, 2**32 - 1), st.integers(2, 30)


@given(seeds, sizes)
def test_theorem_1(seed, n):
    rng = np.random.default_rng(seed)
    W, b = rng.normal(size=(n, n)), rng.choice([-1.0, 1.0], n)
    assert np.sign(W @ b) @ W @ b >= b @ W @ b - 1e-9


@given(seeds, sizes)
def test_theorem_2(seed, n):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    W, b, c = A @ A.T, rng.choice([-1.0, 1.0], n), rng.choice([-1.0, 1.0], n)
    if c @ W @ b > b @ W @ b:
        assert c @ W @ c > b @ W @ b


@settings(deadline=None, max_examples=30)
@given(seeds, st.integers(2, 100))
def test_theorem_3_with_the_shift_we_use(seed, n):
    W = symmetric(seed, n)
    np.fill_diagonal(W, 0)
    shift = diagonal_shift(DenseGraph(W))
    smallest = np.linalg.eigvalsh(W)[0]
    assert np.linalg.eigvalsh(W + shift * np.eye(n))[0] >= -1e-8
    assert shift <= 1.001 * abs(smallest) + 1e-6


@given(seeds, st.integers(2, 10))
def test_theorem_4(seed, n):
    W = symmetric(seed, n)
    B = np.array(np.meshgrid(*[[-1.0, 1.0]] * n)).reshape(n, -1)
    values = np.einsum("ik,ij,jk->k", B, W, B)
    shifted = np.einsum("ik,ij,jk->k", B, W + 3.7 * np.eye(n), B)
    np.testing.assert_allclose(shifted - values, 3.7 * n)


@pytest.mark.parametrize("case", [labels_case, radius_case])
def test_initial_guess_does_not_matter_and_bit_update_beats_vector_update(case):
    """The paper's claim on its last two figures, on the final in-sample logistic loss, means over 5 seeds."""

    def final_loss(initial, update):
        losses = []
        for seed in range(5):
            X, y, proximity, _ = case(np.random.default_rng(seed))
            pairs = proximity.fit(X, y).find_pairs(X, y).pairs
            rules = Rules(LogisticThreshold(), DifferenceWeights(), Restarts(initial, update))
            loop = BitLoop(pairs, NoHash(), rules, max_samples=N, seed=seed, code=GrowingCode(N))
            losses.append([loop.step().logistic_loss for _ in range(12)][-1])
        return np.mean(losses)

    guesses = [RandomGuess(), LaplacianGuess(), SignedLaplacianGuess(), ProjectionGuess()]
    bare = [final_loss(guess, NoUpdate()) for guess in guesses]
    vector = [final_loss(guess, VectorUpdate()) for guess in guesses]
    bit = [final_loss(guess, BitUpdate()) for guess in guesses]
    assert max(bit) < min(bare)
    assert np.mean(bit) < np.mean(vector)
    assert bit[0] <= 1.1 * min(bit)
