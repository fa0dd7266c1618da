"""Annealing, the reduction under it, and what it promises: exhaustive agreement, limits, Ctrl-C."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from helpers.cut_graphs import HiddenGraph, assert_no_flip_improves, best_value, random_weights, signed_matrices
from proxcode.cut import (
    Annealing,
    BitUpdate,
    DenseGraph,
    RandomGuess,
    Restarts,
    SignedGraph,
    SparseGraph,
    VectorUpdate,
    as_graph,
    relaxation,
    signed_cut,
    sparse_graph,
)
from proxcode.cut.annealing.reduction import Reduction
from proxcode.cut.annealing.walks import DenseWalk, GraphWalk, SparseWalk, walk_on

seeds = st.integers(0, 2**32 - 1)
PURE = Annealing(n_sweeps=3000, enumerate_up_to=0)  # the search itself, no enumeration


@settings(deadline=None, max_examples=100)
@given(signed_matrices())
def test_enumeration_is_optimal_and_proves_it(W):
    for graph in (W, sp.csr_array(W)):
        cut = signed_cut(graph, random_state=0)
        assert cut.value == pytest.approx(best_value(W), rel=1e-9, abs=1e-12)
        assert (cut.status, cut.proved, cut.gap) == ("optimal", True, 0.0)
        assert_no_flip_improves(cut, W)


@settings(deadline=None, max_examples=60)
@given(signed_matrices(), seeds)
def test_annealing_agrees_with_exhaustive_search(W, seed):
    cut = signed_cut(W, search=PURE, random_state=seed)
    assert cut.value == pytest.approx(best_value(W), rel=1e-9, abs=1e-12)
    assert cut.value == pytest.approx(cut.partition @ W @ cut.partition, rel=1e-12, abs=1e-12)
    assert cut.upper_bound >= best_value(W) - 2.0**-43 * np.abs(W).sum()
    assert_no_flip_improves(cut, W)


@settings(deadline=None, max_examples=20)
@given(signed_matrices(), seeds)
def test_annealing_of_hidden_weights_agrees_with_exhaustive_search(W, seed):
    cut = signed_cut(HiddenGraph(W), search=Annealing(n_sweeps=200, reheat_sweeps=20), random_state=seed)
    assert cut.value >= 0.9 * best_value(W)
    assert_no_flip_improves(cut, W)


@settings(deadline=None, max_examples=100)
@given(signed_matrices(), seeds)
def test_reduction_keeps_the_best_value_and_local_maxima(W, seed):
    graph = SparseGraph(W)
    reduction = Reduction.of(graph)
    left = np.zeros((1, 1)) if reduction.graph is None else reduction.graph.weights.toarray()
    constant = reduction.constant(graph)
    assert best_value(left) + constant == pytest.approx(best_value(W), rel=1e-9, abs=1e-9 * (1 + np.abs(W).sum()))
    if reduction.graph is not None:
        rng = np.random.default_rng(seed)
        start = RandomGuess().guess(reduction.graph, rng)
        local = BitUpdate().improve(reduction.graph, start, rng)
        restored = reduction.restore(local.partition)
        scale = np.abs(W).sum()
        assert graph.value(restored) == pytest.approx(local.value + constant, rel=1e-9, abs=1e-9 * scale)
        assert (restored * (W @ restored) >= -1e-9 * scale).all()
        assert np.diff(reduction.graph.weights.indptr).min() > 3


def test_trees_and_rings_are_reduced_away(rng):
    parents = [rng.integers(0, i) for i in range(1, 500)]
    tree = sparse_graph(500, np.arange(1, 500), parents, rng.normal(size=499))
    ring = sparse_graph(500, np.arange(500), (np.arange(500) + 1) % 500, rng.normal(size=500))
    assert Reduction.of(tree).graph is None
    assert Reduction.of(ring).graph is None
    cut = signed_cut(tree, random_state=0)
    assert cut.proved
    assert cut.value == pytest.approx(tree.absolute_degrees().sum())


@pytest.mark.parametrize("density", [0.05, 1.0])
def test_annealing_beats_restarts(density, rng):
    W = random_weights(rng, 200, density)
    annealed, restarted = (signed_cut(W, search=search, random_state=0) for search in (None, Restarts(n_starts=50)))
    assert annealed.value > restarted.value
    assert_no_flip_improves(annealed, W)


def test_torus_of_known_optimum():
    """Planted: all weights are satisfied by a hidden partition."""
    rng = np.random.default_rng(0)
    grid = np.arange(2500).reshape(50, 50)
    first = np.concatenate([grid.ravel()] * 2)
    second = np.concatenate([np.roll(grid, 1, axis).ravel() for axis in (0, 1)])
    hidden = rng.choice([-1, 1], 2500)
    cut = signed_cut(sparse_graph(2500, first, second, hidden[first] * hidden[second]), random_state=0)
    assert cut.value == 10_000
    assert cut.proved
    assert cut.status == "optimal"
    assert len(cut.frustrated_edges) == 0


def test_walk_follows_the_number_of_edges(rng):
    dense, sparse = random_weights(rng, 60), random_weights(rng, 60, 0.05)
    assert isinstance(walk_on(as_graph(dense), rng), DenseWalk)
    assert isinstance(walk_on(as_graph(sp.csr_array(dense)), rng), DenseWalk)
    assert isinstance(walk_on(as_graph(sparse), rng), SparseWalk)
    assert isinstance(walk_on(HiddenGraph(dense), rng), GraphWalk)


@pytest.mark.parametrize("form", [DenseGraph, SparseGraph, HiddenGraph])
@pytest.mark.parametrize("density", [0.1, 1.0])
def test_walks_keep_their_value_up_to_date(form, density, rng):
    W = random_weights(rng, 50, density)
    walk = walk_on(form(W), rng)
    walk.place(RandomGuess().guess(DenseGraph(W), rng))
    walk.anneal(np.linspace(3, 0.1, 40), rng.integers(0, 1000, 40))
    partition = walk.partition.astype(float)
    assert walk.flips > 0
    assert walk.value == pytest.approx(partition @ W @ partition)
    walk.descend()
    assert (walk.partition * (W @ walk.partition) >= -1e-9).all()


def test_all_walks_make_the_same_moves(rng):
    W = np.rint(4 * random_weights(rng, 60))
    visited = []
    kinds = (DenseWalk, DenseGraph), (SparseWalk, SparseGraph), (GraphWalk, HiddenGraph)
    for walk_kind, graph_kind in kinds:
        walk = walk_kind(graph_kind(W), np.random.default_rng(0))
        walk.place(np.ones(60, np.int8))
        walk.anneal(np.linspace(20, 1, 30), np.arange(30))
        visited.append(walk.partition)
    np.testing.assert_array_equal(visited[0], visited[1])
    np.testing.assert_array_equal(visited[0], visited[2])


@pytest.mark.parametrize("density", [0.1, 1.0])
def test_same_seed_same_cut_when_limited_by_sweeps(density, rng):
    W = random_weights(rng, 120, density)
    first, second = (signed_cut(W, search=Annealing(n_sweeps=3000), random_state=4) for _ in range(2))
    np.testing.assert_array_equal(first.partition, second.partition)
    assert (first.flips, first.sweeps, first.status) == (second.flips, 3000, "finished")


def test_history_rises_to_the_value(rng):
    cut = signed_cut(random_weights(rng, 150, 0.1), search=Annealing(n_sweeps=2000), random_state=0)
    assert (np.diff([step.value for step in cut.history]) > 0).all()
    assert (np.diff([step.sweeps for step in cut.history]) >= 0).all()
    assert cut.history[-1].value == pytest.approx(cut.value)


@pytest.mark.parametrize("form", [DenseGraph, SparseGraph])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sweeps_are_those_flip_by_flip(form, dtype, rng):
    graph = form(random_weights(rng, 60, 0.5).astype(dtype))
    partitions = [RandomGuess().guess(graph, np.random.default_rng(1)) for _ in "ab"]
    fields = [graph.field(partition) for partition in partitions]
    flips = (
        graph.sweep(partitions[0], fields[0], np.zeros(60)),
        SignedGraph.sweep(graph, partitions[1], fields[1], np.zeros(60)),
    )
    assert flips[0] == flips[1] > 0
    np.testing.assert_array_equal(*partitions)
    np.testing.assert_array_equal(*fields)


@pytest.mark.parametrize("form", [DenseGraph, SparseGraph])
def test_weights_are_added_up_once(form, rng):
    W = random_weights(rng, 30)
    graph = form(W)
    np.testing.assert_allclose(graph.absolute_degrees(), np.abs(W).sum(axis=1))
    assert graph.absolute_degrees() is graph.absolute_degrees()


def test_frustrated_edges_are_looked_for_near_the_ceiling_alone(rng, monkeypatch):
    looked = []
    monkeypatch.setattr(DenseGraph, "is_satisfied", lambda *_: looked.append(1))
    assert signed_cut(random_weights(rng, 30), search=Restarts(n_starts=2), random_state=0).upper_bound < np.inf
    assert not looked
    signed_cut(np.ones((5, 5)), search=Restarts(n_starts=2), random_state=0)
    assert looked


def test_vector_update_finds_its_shift_once(rng, monkeypatch):
    calls = []

    def counted(*arguments, found=relaxation.smallest_eigenpairs):
        calls.append(1)
        return found(*arguments)

    monkeypatch.setattr(relaxation, "smallest_eigenpairs", counted)
    graph = as_graph(random_weights(rng, 80))
    search = Restarts(update=VectorUpdate(), n_starts=5)
    cuts = [signed_cut(graph, search=search, random_state=0) for _ in "ab"]
    assert len(calls) == 1
    np.testing.assert_array_equal(cuts[0].partition, cuts[1].partition)


def test_initial_guess_of_annealing_is_used(rng):
    class Noted(RandomGuess):
        called = 0

        def guess(self, graph, draws):
            type(self).called += 1
            return super().guess(graph, draws)

    signed_cut(random_weights(rng, 40), search=Annealing(n_sweeps=50, initial=Noted()), random_state=0)
    assert Noted.called == 1


def test_large_float32_is_neither_copied_nor_changed(rng):
    n = 2100
    W = rng.standard_normal((n, n), dtype=np.float32)
    W += W.T
    before = W.copy()
    graph = as_graph(W)
    assert graph.weights is W
    cut = signed_cut(W, search=Annealing(n_sweeps=20), random_state=0)
    np.testing.assert_array_equal(W, before)
    no_diagonal = W.astype(np.float64) - np.diag(W.diagonal().astype(np.float64))
    assert cut.value == pytest.approx(cut.partition @ no_diagonal @ cut.partition)
    assert (cut.partition * (no_diagonal @ cut.partition) > -1e-3).all()


@pytest.mark.parametrize("search", [Annealing(n_sweeps=100), Annealing(n_sweeps=100, enumerate_up_to=0)], ids=repr)
@pytest.mark.parametrize("n", [1, 2, 30, 100])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, HiddenGraph])
def test_no_edges(search, n, form):
    cut = signed_cut(form(np.zeros((n, n))), search=search, random_state=0)
    assert cut.value == 0
    assert cut.partition.shape == (n,)


def test_disconnected_parts_are_each_solved(rng):
    blocks = [random_weights(rng, 10) for _ in range(6)]
    cut = signed_cut(sp.block_diag(blocks), random_state=0)
    assert cut.value == pytest.approx(sum(best_value(block) for block in blocks))


@pytest.mark.parametrize("scale", [1e-200, 1e-20, 1e20, 1e200])
def test_annealing_does_not_depend_on_the_unit_of_the_weights(scale, rng):
    W = random_weights(rng, 60)
    plain, scaled = (signed_cut(V, search=Annealing(n_sweeps=1000), random_state=0) for V in (W, scale * W))
    assert scaled.value == pytest.approx(plain.value * scale)


@pytest.mark.parametrize("search", [Annealing(n_sweeps=2000), Restarts(n_starts=20)], ids=repr)
def test_progress_is_reported(search, rng):
    told = []
    search = clone(search).set_params(report=told.append)
    cut = signed_cut(random_weights(rng, 150, 0.05), search=search, random_state=0)
    assert tuple(told) == cut.history
    assert told[-1].value == pytest.approx(cut.value)


def test_codes_are_cut_by_annealing_too(rng):
    from proxcode import ProximityPreservingCode

    X, y = rng.normal(size=(120, 5)), rng.integers(0, 4, 120)
    for labels in (y, None):
        search = Annealing(n_sweeps=60, reheat_sweeps=20)
        codes = [ProximityPreservingCode(n_bits=6, cut=search, random_state=0).fit_transform(X, labels) for _ in "ab"]
        np.testing.assert_array_equal(codes[0], codes[1])
        assert codes[0].shape == (120, 6)


def test_annealing_cuts_a_code_graph_better_than_one_start(rng):
    from proxcode.hamming import GrowingCode
    from proxcode.proximity import WithinRadius

    X = rng.normal(size=(150, 4))
    code = GrowingCode(150)
    for _ in range(4):
        code.append(rng.choice(np.array([-1, 1], np.int8), 150))
    groups = WithinRadius(radius=1.5).fit(X).find_pairs(X).pairs.with_code(code)
    graph = groups.graph(np.linspace(1, 2, 5), -np.linspace(0.4, 0.2, 5))
    annealed = Annealing(n_sweeps=200, reheat_sweeps=40).solve(graph, np.random.default_rng(0))
    assert annealed.value >= Restarts().solve(graph, np.random.default_rng(0)).value
    assert annealed.value == pytest.approx(graph.value(annealed.partition))
