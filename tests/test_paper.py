"""The package against the paper: a dense transcription, the theorems, and the claim about initial guesses."""

from functools import partial
from itertools import pairwise, product
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from helpers.banks import append, begin
from helpers.cut_graphs import HiddenGraph, best_value, random_weights
from helpers.reference import (
    bit_update,
    difference_weights,
    equal_error_beta,
    gradient_weights,
    logistic_beta,
    proximity_preserving_code,
)
from proxcode import GivenPairs, KernelHash, SameLabel, SharedLabel, WithinRadius
from proxcode.bits import BitLoop, Rules, in_sample_code
from proxcode.cut import (
    AlonNaorGuess,
    Annealing,
    BilinearGuess,
    BitUpdate,
    DenseGraph,
    LaplacianGuess,
    NoUpdate,
    ProjectionGuess,
    RandomGuess,
    Restarts,
    SignedLaplacianGuess,
    SparseGraph,
    VectorUpdate,
    signed_cut,
)
from proxcode.cut.graph import BLOCK
from proxcode.cut.relaxation import diagonal_shift
from proxcode.hamming import GrowingCode, unpack
from proxcode.hashing import NoHash
from proxcode.threshold import EqualErrorThreshold, LogisticThreshold
from proxcode.weights import DifferenceWeights, GradientWeights

N = 60
# R, L, SL and AN of the last two figures.
GUESSES = [RandomGuess(), LaplacianGuess(), SignedLaplacianGuess(), ProjectionGuess()]


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


def weight_matrices():
    """Return symmetric weights by name: random ones, and ones on which a wrong step or shift shows."""
    rng = np.random.default_rng(0)
    low_rank = rng.normal(size=(80, 6))
    matrices = {
        "normal": random_weights(rng, 40),
        # Above 64 nodes the smallest eigenvalue is found by Lanczos' method.
        "normal, 150 nodes": random_weights(rng, 150),
        "sparse": random_weights(rng, 150, density=0.05),
        "integers, with fields of zero": np.rint(random_weights(rng, 60, density=0.2)),
        "low rank": low_rank @ low_rank.T,
        "enemies, who all change sides for ever": -np.ones((30, 30)),
        "two camps, which exchange sides for ever": np.kron([[0, 1], [1, 0]], np.ones((20, 20))),
        "friends": np.ones((20, 20)),
        "star": np.pad(100.0 * rng.normal(size=(1, 49)), ((0, 49), (1, 0))),
        "weights of all sizes": random_weights(rng, 40) * 10.0 ** rng.integers(-8, 8, (40, 40)),
        "huge weights": 1e150 * random_weights(rng, 30),
        "tiny weights": 1e-150 * random_weights(rng, 30),
        "no weights": np.zeros((10, 10)),
    }
    return {name: np.triu(W, 1) + np.triu(W, 1).T for name, W in matrices.items()}


def coded_graph(case, n_bits):
    """Return the graph of a code, whose weights are looked up by Hamming distance, and these weights as a matrix."""
    X, y, proximity, Y = case(np.random.default_rng(5))
    code, C = GrowingCode(N), np.random.default_rng(6).choice(np.array([-1, 1], np.int8), (n_bits, N))
    for bit in C:
        code.append(bit)
    W = gradient_weights(Y, C.T.astype(float) @ C + 0.5)
    np.fill_diagonal(W, 0)
    tables = GradientWeights().tables(beta=-0.5, n_bits=n_bits)
    return proximity.fit(X, y).find_pairs(X, y).pairs.with_code(code).graph(*tables), W


MATRICES = weight_matrices()
FORMS = (DenseGraph, SparseGraph, HiddenGraph)
GRAPHS = {
    f"{name}, {form.__name__}": partial(lambda f, W: (f(W), W), form, MATRICES[name])
    for name in MATRICES
    for form in FORMS
}
GRAPHS |= {
    f"{case.__name__}, {n_bits} bits": partial(coded_graph, case, n_bits) for case in CASES for n_bits in (0, 3, 20)
}
every_graph = pytest.mark.parametrize("make", GRAPHS.values(), ids=GRAPHS)


def starts(graph):
    """Return partitions to start from: random ones, all nodes together, alternating, and a spectral guess."""
    rng = np.random.default_rng(1)
    yield from (RandomGuess().guess(graph, rng) for _ in range(4))
    yield np.ones(graph.n_nodes, np.int8)
    yield np.where(np.arange(graph.n_nodes) % 2, 1, -1).astype(np.int8)
    yield SignedLaplacianGuess().guess(graph, rng)


def vector_steps(graph, start, **parameters):
    """Return the partitions that `VectorUpdate` visits, one after another, and its result."""
    # Computed before products are recorded; the graph keeps it.
    diagonal_shift(graph)
    visited, matvec = [], graph.matvec
    with patch.object(graph, "matvec", lambda x: visited.append(x.copy()) or matvec(x)):
        cut = VectorUpdate(**parameters).improve(graph, start.copy(), np.random.default_rng(0))
    # The products after the steps are those of the value of the result.
    return visited[: cut.sweeps], cut


def assert_signs_of(partition, field, W):
    """Check that a partition has the signs of a field, wherever the field is more than rounding."""
    clear = np.abs(field) > 1e-9 * np.abs(W).sum(axis=1)
    np.testing.assert_array_equal(partition[clear], np.sign(field[clear]))


@every_graph
def test_theorem_1(make):
    """b' = sign(Wb) has b'Wb >= bWb for any weights: a step of vector update without a shift."""
    graph, W = make()
    for start in starts(graph):
        (b, *after), _ = vector_steps(graph, start, shift=0, max_iter=2)
        np.testing.assert_array_equal(b, start)
        updated = after[0] if after else b
        assert updated @ W @ b >= b @ W @ b - 1e-9 * np.abs(W).sum()
        assert_signs_of(updated, W @ b, W)


@every_graph
def test_theorem_2(make):
    """With W positive semidefinite, every step of vector update that changes a bit raises b'Wb, until none does."""
    graph, W = make()
    shifted = W + diagonal_shift(graph) * np.eye(len(W))
    for start in starts(graph):
        steps, cut = vector_steps(graph, start)
        for b, updated in pairwise(steps):
            assert updated @ shifted @ b > b @ shifted @ b
            assert updated @ W @ updated > b @ W @ b
        last = steps[-1]
        np.testing.assert_array_equal(cut.partition, last)
        assert_signs_of(last, shifted @ last, shifted)
        assert cut.sweeps < VectorUpdate().max_iter


def test_theorem_2_is_tested_on_steps_that_change_bits():
    # Otherwise the test above would show nothing.
    changed = {}
    for name, make in GRAPHS.items():
        graph, _ = make()
        changed[name] = sum(len(vector_steps(graph, start)[0]) - 1 for start in starts(graph))
    assert sum(n_steps > 0 for n_steps in changed.values()) > len(GRAPHS) / 2
    assert sum(changed.values()) > 200


@every_graph
def test_theorem_3(make):
    """W plus the shift that vector update uses is positive semidefinite, and the shift is |lambda_min|."""
    graph, W = make()
    shift, unit = diagonal_shift(graph), np.abs(W).max() or 1.0
    eigenvalues = np.linalg.eigvalsh(W / unit)
    assert shift / unit >= -eigenvalues[0] * (1 - 1e-12)
    assert shift / unit <= 1.001 * abs(eigenvalues[0]) + 1e-6
    assert np.linalg.eigvalsh(W / unit + shift / unit * np.eye(len(W)))[0] >= -1e-12 * abs(eigenvalues).max()


SEARCHES = [
    Annealing(n_sweeps=50),
    *(Restarts(guess, BitUpdate()) for guess in GUESSES),
    *(Restarts(guess, VectorUpdate()) for guess in GUESSES),
]


@pytest.mark.parametrize("block", [1, BLOCK], ids=["diagonal subtracted", "diagonal removed"])
@pytest.mark.parametrize("search", SEARCHES, ids=repr)
@pytest.mark.parametrize("name", ["normal", "integers, with fields of zero", "enemies, who all change sides for ever"])
def test_theorem_4(name, search, block, monkeypatch):
    """A constant on the diagonal of W changes no cut and no value, by whatever search, and no code."""
    monkeypatch.setattr("proxcode.cut.graph.BLOCK", block)
    W = np.rint(4 * MATRICES[name])
    expected = signed_cut(W, search=search, random_state=0)
    assert expected.value == expected.partition @ W @ expected.partition
    for constant, form in product((2.0, -64.0, 4096.0), (np.asarray, sp.csr_array, np.float32)):
        cut = signed_cut(form(W + constant * np.eye(len(W))), search=search, random_state=0)
        np.testing.assert_array_equal(cut.partition, expected.partition)
        assert cut.value == expected.value


def test_theorem_4_holds_for_codes_and_for_the_best_cut():
    W = np.sign(MATRICES["normal"])
    expected = in_sample_code(W, n_bits=12, random_state=0).codes
    np.testing.assert_array_equal(in_sample_code(W - 7 * np.eye(len(W)), n_bits=12, random_state=0).codes, expected)
    W = random_weights(np.random.default_rng(3), 12)
    for constant in (-50.0, 0.0, 3.7):
        assert signed_cut(W + constant * np.eye(12), random_state=0).value == pytest.approx(best_value(W))


@every_graph
def test_bit_update_is_algorithm_2(make):
    """Each bit update raises b'Wb, and at the end every bit has the sign of its field (Eq. 12)."""
    graph, W = make()
    for start in starts(graph):
        cut = BitUpdate().improve(graph, start, np.random.default_rng(0))
        np.testing.assert_array_equal(cut.partition, bit_update(start, W))
        assert_signs_of(cut.partition, W @ cut.partition, W)
        value = cut.partition @ W @ cut.partition
        assert value > start @ W @ start if cut.flips else (cut.partition == start).all()


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

    bare = [final_loss(guess, NoUpdate()) for guess in GUESSES]
    vector = [final_loss(guess, VectorUpdate()) for guess in GUESSES]
    bit = [final_loss(guess, BitUpdate()) for guess in GUESSES]
    assert max(bit) < min(bare)
    assert np.mean(bit) < np.mean(vector)
    assert bit[0] <= 1.1 * min(bit)


@pytest.mark.parametrize("guess", [AlonNaorGuess(n_roundings=1), BilinearGuess(n_roundings=1)])
def test_bit_update_improves_the_solution_of_alon_and_naor(guess):
    """The semidefinite solution as an initial guess; a few random guesses with bit update are comparable or better."""
    before, after, by_chance = [], [], []
    for seed in range(10):
        W = random_weights(np.random.default_rng(seed), 100)
        bare, improved, random = (
            signed_cut(W, search=search, random_state=seed).value
            for search in (Restarts(guess, NoUpdate()), Restarts(guess), Restarts(n_starts=10))
        )
        assert improved >= bare
        before, after, by_chance = [*before, bare], [*after, improved], [*by_chance, random]
    assert np.mean(after) > 1.02 * np.mean(before)
    assert np.mean(by_chance) > 0.98 * np.mean(after)
