"""The signed graph cut against exhaustive search; initial guesses, updates and restarts."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.cut_graphs import best_value, random_weights
from proxcode.cut import (
    AlonNaorGuess,
    BitUpdate,
    DenseGraph,
    LaplacianGuess,
    NoUpdate,
    ProjectionGuess,
    RandomGuess,
    Restarts,
    SignedGraph,
    SignedLaplacianGuess,
    SparseGraph,
    VectorUpdate,
    as_graph,
    signed_cut,
)

GUESSES = [RandomGuess(), LaplacianGuess(), SignedLaplacianGuess(), ProjectionGuess(), AlonNaorGuess()]
DIRECTED_GUESSES = [LaplacianGuess(), SignedLaplacianGuess(), ProjectionGuess(n_vectors=1), AlonNaorGuess()]
UPDATES = [NoUpdate(), BitUpdate(), VectorUpdate()]
seeds = st.integers(0, 2**32 - 1)


def random_partition(rng, n):
    return rng.choice(np.array([-1, 1], np.int8), n)


def planted(rng, n, noise):
    partition = rng.permutation(np.repeat([-1, 1], n // 2))
    W = np.outer(partition, partition) + noise * random_weights(rng, n)
    np.fill_diagonal(W, 0)
    return partition, W


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 10, 12])
@pytest.mark.parametrize("density", [1.0, 0.3])
def test_signed_cut_reaches_the_optimum(n, density, rng):
    for seed in range(15):
        W = random_weights(rng, n, density)
        for graph in (W, sp.csr_array(W)):
            cut = signed_cut(graph, search=Restarts(n_starts=50), random_state=seed)
            assert cut.value == pytest.approx(best_value(W), abs=1e-9)
            assert cut.value == pytest.approx(cut.partition @ W @ cut.partition, abs=1e-9)


@settings(deadline=None, max_examples=50)
@given(seeds, st.integers(1, 80), st.sampled_from([0.05, 0.5, 1.0]), st.sampled_from([DenseGraph, SparseGraph]))
def test_bit_update_ends_no_lower_and_where_no_flip_helps(seed, n, density, form):
    rng = np.random.default_rng(seed)
    W, start = random_weights(rng, n, density), random_partition(rng, n)
    given_partition = start.copy()
    update = BitUpdate().improve(form(W), start, rng)
    assert update.value >= start @ W @ start - 1e-9
    assert update.value == pytest.approx(update.partition @ W @ update.partition, abs=1e-8)
    assert (update.partition * (W @ update.partition) >= -1e-8).all()
    np.testing.assert_array_equal(start, given_partition)


@settings(deadline=None, max_examples=50)
@given(seeds, st.integers(2, 50))
def test_bit_update_raises_the_value_at_every_flip(seed, n):
    values = []

    class Watched(DenseGraph):
        sweep = SignedGraph.sweep  # flip by flip

        def flip(self, node, partition, field):
            super().flip(node, partition, field)
            values.append(partition @ self.weights @ partition)

    rng = np.random.default_rng(seed)
    graph, start = Watched(random_weights(rng, n)), random_partition(rng, n)
    update = BitUpdate().improve(graph, start, rng)
    assert len(values) == update.flips
    assert (np.diff([graph.value(start), *values]) > 0).all()


@settings(deadline=None, max_examples=50)
@given(seeds, st.integers(2, 120), st.sampled_from([0.05, 1.0]))
def test_vector_update_never_lowers_the_value(seed, n, density):
    visited = []

    class Watched(DenseGraph):
        def matvec(self, x):
            if np.isin(x, (-1, 1)).all():
                visited.append(x @ self.weights @ x)
            return super().matvec(x)

    rng = np.random.default_rng(seed)
    W, start = random_weights(rng, n, density), random_partition(rng, n)
    given_partition = start.copy()
    update = VectorUpdate().improve(Watched(W), start, rng)
    assert visited[0] == start @ W @ start
    assert (np.diff(visited) >= -1e-9 * np.abs(W).sum()).all()
    assert update.value == pytest.approx(visited[-1], abs=1e-8)
    np.testing.assert_array_equal(start, given_partition)


@pytest.mark.parametrize("n", [50, 150])
def test_vector_update_ends_where_a_step_changes_nothing(n, rng):
    n_steps = []
    for _ in range(10):
        W = random_weights(rng, n)
        update = VectorUpdate().improve(as_graph(W), random_partition(rng, n), rng)
        # b <- sign((W + |lambda_min| I) b) gives b itself.
        shifted_field = W @ update.partition - np.linalg.eigvalsh(W)[0] * update.partition
        assert (update.partition * shifted_field > -1e-6).all()
        n_steps.append(update.sweeps)
    assert max(n_steps) > 2


def test_no_update_keeps_the_guess(rng):
    W, partition = random_weights(rng, 20), random_partition(rng, 20)
    update = NoUpdate().improve(as_graph(W), partition, rng)
    np.testing.assert_array_equal(update.partition, partition)
    assert (update.flips, update.sweeps) == (0, 0)
    assert update.value == pytest.approx(partition @ W @ partition)


@pytest.mark.parametrize("form", [DenseGraph, SparseGraph])
@pytest.mark.parametrize("n", [1, 2, 3, 20, 100])
@pytest.mark.parametrize("guess", GUESSES, ids=repr)
def test_guess_is_a_partition_and_repeats_with_its_seed(guess, n, form, rng):
    graph = form(random_weights(rng, n, 0.5))
    first, second = (guess.guess(graph, np.random.default_rng(3)) for _ in range(2))
    assert first.shape == (n,)
    assert first.dtype == np.int8
    assert np.isin(first, (-1, 1)).all()
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("n", [40, 100])
@pytest.mark.parametrize("guess", DIRECTED_GUESSES, ids=repr)
def test_guess_finds_two_signed_communities(guess, n, rng):
    partition, W = planted(rng, n, noise=0.5)
    assert abs(guess.guess(as_graph(W), rng).astype(int) @ partition) == n


@pytest.mark.parametrize("n", [40, 100])
def test_laplacian_guess_finds_two_communities_without_negative_weights(n, rng):
    partition, _ = planted(rng, n, noise=0)
    W = np.where(np.outer(partition, partition) > 0, 1.0, 0.1) + 0.05 * np.abs(random_weights(rng, n))
    assert abs(LaplacianGuess().guess(as_graph(W), rng) @ partition) == n


@pytest.mark.parametrize("scale", [1e-290, 1e-20, 1e20, 1e290])
@pytest.mark.parametrize("n", [40, 100])
@pytest.mark.parametrize("guess", DIRECTED_GUESSES, ids=repr)
def test_guess_does_not_depend_on_the_unit_of_the_weights(guess, n, scale, rng):
    _, W = planted(rng, n, noise=0.5)
    plain, scaled = (guess.guess(as_graph(V), np.random.default_rng(0)) for V in (W, scale * W))
    assert abs(plain.astype(int) @ scaled) == n


@pytest.mark.parametrize("scale", [1e-290, 1e-20, 1e20, 1e290])
@pytest.mark.parametrize("update", UPDATES, ids=repr)
def test_update_does_not_depend_on_the_unit_of_the_weights(update, scale, rng):
    W, start = random_weights(rng, 100), random_partition(rng, 100)
    plain, scaled = (update.improve(as_graph(V), start, np.random.default_rng(0)) for V in (W, scale * W))
    np.testing.assert_array_equal(plain.partition, scaled.partition)


def test_semidefinite_guess_is_close_to_the_optimum(rng):
    shares = []
    for _ in range(30):
        W = random_weights(rng, 12)
        graph = as_graph(W)
        shares.append(graph.value(AlonNaorGuess().guess(graph, rng)) / best_value(W))
    assert min(shares) > 0.9
    assert np.mean(shares) > 0.99


def test_semidefinite_guess_is_close_to_many_starts_on_a_larger_graph(rng):
    W = random_weights(rng, 150)
    graph = as_graph(W)
    best = signed_cut(W, search=Restarts(n_starts=200), random_state=0).value
    assert graph.value(AlonNaorGuess(n_roundings=100).guess(graph, rng)) > 0.9 * best


@pytest.mark.parametrize("update", UPDATES, ids=repr)
@pytest.mark.parametrize("guess", GUESSES, ids=repr)
def test_same_seed_same_cut(guess, update, rng):
    W = random_weights(rng, 70)
    search = Restarts(initial=guess, update=update, n_starts=3)
    first, second = (signed_cut(W, search=search, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(first.partition, second.partition)
    assert first.value == second.value


def test_random_state_may_be_a_generator(rng):
    W = random_weights(rng, 30)
    by_seed = signed_cut(W, random_state=5)
    by_generator = signed_cut(W, random_state=np.random.default_rng(5))
    np.testing.assert_array_equal(by_seed.partition, by_generator.partition)


def test_random_state_may_be_a_random_state(rng, monkeypatch):
    W = random_weights(rng, 60)
    search = Restarts(n_starts=2)
    expected = signed_cut(W, search=search, random_state=np.random.RandomState(0)).partition
    default_rng = np.random.default_rng

    def before_numpy_2_2(seed=None):
        if isinstance(seed, np.random.RandomState):
            raise TypeError("SeedSequence expects int or sequence of ints for entropy")
        return default_rng(seed)

    monkeypatch.setattr(np.random, "default_rng", before_numpy_2_2)
    found = signed_cut(W, search=search, random_state=np.random.RandomState(0))
    np.testing.assert_array_equal(found.partition, expected)


def test_dense_and_sparse_give_the_same_cut(rng):
    W = random_weights(rng, 60, 0.2)
    dense, sparse = signed_cut(W, random_state=1), signed_cut(sp.csr_array(W), random_state=1)
    np.testing.assert_array_equal(dense.partition, sparse.partition)
    assert (dense.flips, dense.sweeps) == (sparse.flips, sparse.sweeps)


def test_restarts_keep_the_best_and_count_all_starts(rng):
    graph = as_graph(random_weights(rng, 60))
    draws = np.random.default_rng(2)
    single = [Restarts(n_starts=1).solve(graph, draws) for _ in range(8)]
    cut = Restarts(n_starts=8).solve(graph, np.random.default_rng(2))
    assert cut.value == max(one.value for one in single)
    assert cut.flips == sum(one.flips for one in single)
    assert cut.sweeps == sum(one.sweeps for one in single)


def test_no_start_is_refused():
    with pytest.raises(ValueError, match=r"n_starts=0: .*1"):
        signed_cut(np.eye(2), search=Restarts(n_starts=0))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_diagonal_is_ignored_and_input_kept(form, rng):
    W = random_weights(rng, 20)
    with_diagonal = W + np.diag(rng.normal(size=20))
    given_weights = form(with_diagonal.copy())
    cut, plain = signed_cut(given_weights, random_state=0), signed_cut(form(W), random_state=0)
    np.testing.assert_array_equal(cut.partition, plain.partition)
    assert cut.value == plain.value
    np.testing.assert_array_equal(
        given_weights.toarray() if sp.issparse(given_weights) else given_weights, with_diagonal
    )


@pytest.mark.parametrize("n", [1, 2, 30, 100])
@pytest.mark.parametrize("guess", GUESSES, ids=repr)
def test_guess_works_without_edges(guess, n):
    partition = guess.guess(as_graph(np.zeros((n, n))), np.random.default_rng(0))
    assert partition.shape == (n,)
    assert np.isin(partition, (-1, 1)).all()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n", [1, 2, 30, 100])
@pytest.mark.parametrize("update", UPDATES, ids=repr)
def test_cut_without_edges_has_value_zero(update, n, form):
    cut = signed_cut(form(np.zeros((n, n))), search=Restarts(update=update, n_starts=2), random_state=0)
    assert cut.value == 0
    assert cut.partition.shape == (n,)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.int64, np.float32])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_any_real_dtype_is_taken(form, dtype):
    W = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype)
    assert signed_cut(form(W), random_state=0).value == 4


def test_signed_integers_are_taken_up_to_their_limit():
    assert signed_cut(np.full((4, 4), -128, np.int8), random_state=0).value == 4 * 128


@pytest.mark.parametrize("layout", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_any_sparse_layout_is_taken(layout):
    W = sp.coo_array([[0, 1.0, 0], [1, 0, 1], [0, 1, 0]]).asformat(layout)
    assert signed_cut(W, random_state=0).value == 4


def test_graph_is_taken_as_it_is(rng):
    graph = DenseGraph(random_weights(rng, 5))
    assert as_graph(graph) is graph


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.zeros((2, 4)), r"shape \(2, 4\): expected a square matrix"),
        (sp.csr_array((2, 3)), r"shape \(2, 3\): expected a square matrix"),
        (np.zeros(4), r"shape \(4,\): expected a square matrix"),
        (np.zeros((0, 0)), "no nodes: expected at least one"),
        (np.array([[0, np.nan], [np.nan, 0]]), r"edge \(0, 1\) has weight nan: expected a finite number"),
        (sp.csr_array([[0, np.inf], [np.inf, 0]]), r"edge \(0, 1\) has weight inf: expected a finite number"),
        (np.array([[0.0, 1], [0.5, 0]]), r"symmetric; edge \(0, 1\) has weight 1, but 0\.5 in .*directed="),
        (sp.csr_array([[0.0, 1], [0.5, 0]]), r"symmetric; edge \(0, 1\) has weight 1, but 0\.5 in .*directed="),
        (np.array([[0, 3], [1, 0]], np.uint8), r"symmetric; edge \(0, 1\) has weight 3, but 1 in .*directed="),
        (np.array([[0, 100], [-100, 0]], np.int8), r"symmetric; edge \(0, 1\) has weight 100, but -100 in"),
        (np.zeros((2, 2), complex), "dtype complex128: expected real numbers"),
        (np.array([[0, None], [None, 0]]), "dtype object: expected real numbers"),
        (np.array([["a"]]), "dtype <U1: expected real numbers"),
    ],
)
def test_what_is_no_graph_is_refused(W, message):
    with pytest.raises(ValueError, match=message):
        as_graph(W)


def test_rounding_is_no_asymmetry(rng):
    W = random_weights(rng, 10) * 1e6
    as_graph(W * (1 + 1e-15 * rng.normal(size=W.shape)))
