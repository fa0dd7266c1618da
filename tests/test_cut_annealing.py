"""Annealing, the reduction under it, and what it promises: exhaustive agreement, limits, Ctrl-C."""

import _thread
import signal
import threading
import time
from dataclasses import replace

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from proxcode.cut import (
    AlonNaorGuess,
    Annealing,
    BitUpdate,
    CycleBound,
    DenseGraph,
    ProjectionGuess,
    RandomGuess,
    Reduction,
    Restarts,
    SemidefiniteBound,
    SignedGraph,
    SparseGraph,
    SuitableBound,
    VectorUpdate,
    annealing,
    as_graph,
    certify,
    frustration,
    ising_ground_state,
    max_cut,
    mixing,
    reduction,
    signed_cut,
    sparse_graph,
    spectral,
    walks,
)
from proxcode.cut import graph as graph_module
from proxcode.cut import search as search_module
from proxcode.cut.limits import Budget
from proxcode.cut.parts import graph_of_parts
from proxcode.cut.walks import DenseWalk, GraphWalk, SparseWalk, walk_on
from test_cut import best_value, random_weights

seeds = st.integers(0, 2**32 - 1)
PURE = Annealing(n_sweeps=3000, enumerate_up_to=0)  # the search itself, no enumeration


class HiddenGraph(SignedGraph):
    """Weights behind the interface alone, as those of codes are."""

    def __init__(self, W):
        self.hidden = DenseGraph(W)
        self.n_points = len(W)

    def matvec(self, x):
        return self.hidden.matvec(x)

    def absolute_degrees(self):
        return self.hidden.absolute_degrees()

    def field(self, side):
        return self.hidden.field(side)

    def local_fields(self, side, field):
        return field

    def next_improving(self, side, field, tolerance, start):
        return self.hidden.next_improving(side, field, tolerance, start)

    def flip(self, point, side, field):
        self.hidden.flip(point, side, field)


@st.composite
def signed_matrices(draw):
    n = draw(st.integers(1, 16))
    rng = np.random.default_rng(draw(seeds))
    density = draw(st.sampled_from([0.1, 0.3, 0.6, 1.0]))
    kind = draw(st.sampled_from(["normal", "sign", "negative", "whole", "wide"]))
    weights = {
        "normal": lambda: rng.normal(size=(n, n)),
        "sign": lambda: rng.choice([-1.0, 1.0], (n, n)),
        "negative": lambda: -np.ones((n, n)),
        "whole": lambda: rng.integers(-3, 4, (n, n)).astype(float),
        "wide": lambda: rng.normal(size=(n, n)) * 10.0 ** rng.integers(-8, 8, (n, n)),
    }[kind]()
    W = np.triu(weights * (rng.random((n, n)) < density), 1)
    return W + W.T


def assert_no_flip_improves(cut, W):
    assert (cut.side * (W @ cut.side) >= -1e-9 * np.abs(W).sum(axis=1)).all()


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
    assert cut.value == pytest.approx(cut.side @ W @ cut.side, rel=1e-12, abs=1e-12)
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
        restored = reduction.restore(local.side)
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


def test_a_star_with_very_many_leaves_takes_no_time():
    n = 200_000
    star = sparse_graph(n, np.zeros(n - 1, int), np.arange(1, n), np.resize([1.0, -1.0], n - 1))
    start = time.process_time()
    assert signed_cut(star, random_state=0).value == 2 * (n - 1)
    assert time.process_time() - start < 10


@pytest.mark.parametrize("density", [0.05, 1.0])
def test_annealing_beats_restarts(density, rng):
    W = random_weights(rng, 200, density)
    annealed, restarted = signed_cut(W, random_state=0), signed_cut(W, n_starts=50, random_state=0)
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


def class_graph(n, k, rng):
    """k classes that attract within and repel each other as much in all; with the labels."""
    labels, (first, second) = rng.integers(0, k, n), rng.integers(0, n, (2, 15 * n))
    is_edge = first != second
    first, second = first[is_edge], second[is_edge]
    return sparse_graph(n, first, second, np.where(labels[first] == labels[second], k - 1.0, -1.0)), labels


def test_classes_find_their_sides(rng):
    graph, labels = class_graph(1000, 5, np.random.default_rng(0))
    splits = [(1 - 2 * ((split >> labels) & 1)).astype(np.int8) for split in range(16)]
    best = max(BitUpdate().improve(graph, side, rng).value for side in splits)
    for seed in range(5):
        assert signed_cut(graph, search=Annealing(n_sweeps=4000), random_state=seed).value >= best


def lattice(size, hostile, rng):
    """A torus of points with eight neighbours each, mostly friends."""
    grid = np.arange(size * size).reshape(size, size)
    shifts = [(0, 1), (1, 0), (1, 1), (1, -1)]
    second = np.concatenate([np.roll(grid, shift, (0, 1)).ravel() for shift in shifts])
    return sparse_graph(
        size * size, np.tile(grid.ravel(), 4), second, np.where(rng.random(4 * size**2) < hostile, -1, 1)
    )


def test_mostly_friends_start_together(rng):
    graph = lattice(50, 0.15, rng)
    together = BitUpdate().improve(graph, np.ones(2500, np.int8), rng)
    for seed in range(4):
        assert signed_cut(graph, search=Annealing(n_sweeps=300), random_state=seed).value >= together.value


def test_parts_undo_walls_between_domains(rng):
    """The same lattice, but who is on which side is hidden: coolings end in domains."""
    graph = lattice(50, 0.15, rng)
    together = BitUpdate().improve(graph, np.ones(2500, np.int8), rng)
    flips = sp.diags_array(rng.choice([-1.0, 1.0], 2500))
    hidden = SparseGraph(flips @ graph.weights @ flips)
    for seed in range(4):
        assert signed_cut(hidden, search=Annealing(n_sweeps=4000), random_state=seed).value >= together.value


@pytest.mark.parametrize("n_found", [1, 2, 5])
def test_graph_of_parts_keeps_values(n_found, rng):
    graph = SparseGraph(random_weights(rng, 30, 0.2))
    found = [rng.choice(np.array([-1, 1], np.int8), 30) for _ in range(n_found)]
    found[1:] = [np.where(rng.random(30) < 0.1, -found[0], found[0]) for _ in found[1:]]
    parts, part = graph_of_parts(graph, found)
    assert parts.n_points == part.max() + 1
    np.testing.assert_array_equal(parts.weights.toarray(), parts.weights.toarray().T)
    within = graph.value(found[0]) - parts.value(np.ones(parts.n_points, np.int8))
    for _ in range(10):
        c = rng.choice(np.array([-1, 1], np.int8), parts.n_points)
        assert graph.value(found[0] * c[part]) == pytest.approx(parts.value(c) + within)
    for side in found:  # each is there, up to the sides of parts that have no edge between them
        turned = side * found[0]
        assert all(len(set(turned[part == k])) == 1 for k in range(parts.n_points))


def test_interrupt_while_parts_are_annealed(rng, monkeypatch):
    graph = lattice(30, 0.5, rng)
    calls, anneal = [], SparseWalk.anneal

    def interrupted(walk, temperatures, offsets):
        calls.append(walk.n_points)
        if walk.n_points < calls[0]:
            raise KeyboardInterrupt
        anneal(walk, temperatures, offsets)

    monkeypatch.setattr(SparseWalk, "anneal", interrupted)
    cut = signed_cut(graph, search=Annealing(n_sweeps=20_000), random_state=0)
    assert calls[-1] < calls[0], "nothing is annealed after Ctrl-C"
    assert cut.status == "interrupted"
    assert cut.value == pytest.approx(graph.value(cut.side))


def test_interrupt_between_short_coolings_keeps_the_best_of_them(rng, monkeypatch):
    graph, reached = lattice(30, 0.5, rng), []

    def interrupted(whole, found):
        reached.extend(whole.value(side) for side in found)
        raise KeyboardInterrupt

    monkeypatch.setattr(annealing, "graph_of_parts", interrupted)
    for seed in range(4):
        reached.clear()
        cut = signed_cut(graph, search=Annealing(n_sweeps=2000), random_state=seed)
        assert cut.status == "interrupted"
        assert len(reached) == 8
        assert cut.value >= max(reached)


def test_short_coolings_end_where_nothing_is_frustrated(rng):
    weights = lattice(50, 0.0, rng).weights
    flips = sp.diags_array(rng.choice([-1.0, 1.0], 2500))
    search = Annealing(n_sweeps=8000, initial=RandomGuess())
    cut = signed_cut(SparseGraph(flips @ weights @ flips), search=search, random_state=0)
    assert cut.status == "optimal"
    assert cut.sweeps == cut.history[-1].sweeps


def test_late_short_coolings_are_not_combined(rng, monkeypatch):
    clock, calls, anneal = Ticks(tick=0.0), [], SparseWalk.anneal

    def slow_at_last(walk, temperatures, offsets):
        calls.append(1)
        clock.now += 1e-3 * len(temperatures) if len(calls) < 20 else 100.0
        anneal(walk, temperatures, offsets)

    monkeypatch.setattr(SparseWalk, "anneal", slow_at_last)
    monkeypatch.setattr(annealing, "graph_of_parts", None)
    graph = lattice(30, 0.5, rng)
    cut = Annealing(clock=clock).solve(graph, np.random.default_rng(0), 100.0)
    assert cut.status == "time limit"
    assert_no_flip_improves(cut, graph.weights.toarray())


def test_a_run_never_goes_on_from_less_than_its_short_coolings(rng, monkeypatch):
    graph, reached, placed = lattice(30, 0.5, rng), [], []

    def misled(whole, found):
        reached.append(max(whole.value(side) for side in found))
        parts, part = graph_of_parts(whole, found)
        return parts.divided(-1.0), part

    def cool(search, *arguments, cool=annealing._Search._cool):
        if search.walk.n_points == graph.n_points and len(reached) > len(placed):
            placed.append(search.walk.value)
        cool(search, *arguments)

    monkeypatch.setattr(annealing, "graph_of_parts", misled)
    monkeypatch.setattr(annealing._Search, "_cool", cool)
    signed_cut(graph, search=Annealing(n_sweeps=2000), random_state=0)
    assert placed == reached


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
    side = walk.side.astype(float)
    assert walk.flips > 0
    assert walk.value == pytest.approx(side @ W @ side)
    walk.descend()
    assert (walk.side * (W @ walk.side) >= -1e-9).all()


def test_all_walks_make_the_same_moves(rng):
    W = np.rint(4 * random_weights(rng, 60))
    visited = []
    kinds = (DenseWalk, DenseGraph), (SparseWalk, SparseGraph), (GraphWalk, HiddenGraph)
    for walk_kind, graph_kind in kinds:
        walk = walk_kind(graph_kind(W), np.random.default_rng(0))
        walk.place(np.ones(60, np.int8))
        walk.anneal(np.linspace(20, 1, 30), np.arange(30))
        visited.append(walk.side)
    np.testing.assert_array_equal(visited[0], visited[1])
    np.testing.assert_array_equal(visited[0], visited[2])


@pytest.mark.parametrize("density", [0.1, 1.0])
def test_same_seed_same_cut_when_limited_by_sweeps(density, rng):
    W = random_weights(rng, 120, density)
    first, second = (signed_cut(W, search=Annealing(n_sweeps=3000), random_state=4) for _ in range(2))
    np.testing.assert_array_equal(first.side, second.side)
    assert (first.flips, first.sweeps, first.status) == (second.flips, 3000, "finished")


def test_history_rises_to_the_value(rng):
    cut = signed_cut(random_weights(rng, 150, 0.1), search=Annealing(n_sweeps=2000), random_state=0)
    assert (np.diff([step.value for step in cut.history]) > 0).all()
    assert (np.diff([step.sweeps for step in cut.history]) >= 0).all()
    assert cut.history[-1].value == pytest.approx(cut.value)


@pytest.mark.parametrize("search", [Annealing(), Restarts(n_starts=10**9)], ids=repr)
def test_time_limit_is_kept(search, rng):
    W = random_weights(rng, 300, 0.1)
    signed_cut(W, search=search, time_limit=0.01)
    start = time.perf_counter()
    cut = signed_cut(W, search=search, time_limit=0.3, random_state=0)
    assert time.perf_counter() - start < 3  # other processes may be at work
    assert cut.status == "time limit"


@pytest.mark.parametrize("time_limit", [0, -1, float("nan"), "1"])
def test_no_time_is_refused(time_limit):
    with pytest.raises(ValueError, match=r"time_limit=.*seconds above 0"):
        signed_cut(np.eye(2), time_limit=time_limit)
    with pytest.raises(ValueError, match=r"time_limit=.*seconds above 0"):
        certify(signed_cut(np.eye(2)), time_limit=time_limit)


@pytest.mark.parametrize("seed", [-1, 1.5, "a"])
def test_no_seed_is_refused(seed):
    cut = signed_cut(-np.ones((25, 25)), search=Restarts(), random_state=0)
    for refused in (lambda: signed_cut(cut.graph, random_state=seed), lambda: certify(cut, random_state=seed)):
        with pytest.raises(ValueError, match=f"random_state={seed!r}: give a whole number from 0 on"):
            refused()


@pytest.mark.parametrize(
    ("name", "part", "example"),
    [
        ("initial", RandomGuess, "RandomGuess"),
        ("update", "bit", "BitUpdate"),
        ("search", Annealing, "Annealing"),
        ("search", "annealing", "Annealing"),
        ("bound", True, "SuitableBound"),
    ],
)
def test_what_is_no_part_is_refused(name, part, example):
    with pytest.raises(ValueError, match=rf"{name}=.*: give an object such as {example}\(\)"):
        signed_cut(np.eye(2), **{name: part})


@pytest.mark.parametrize(
    "settings",
    [
        {"bound": SemidefiniteBound(max_iter=0)},
        {"bound": SemidefiniteBound(rank=0)},
        {"bound": CycleBound(max_rounds=0)},
        {"initial": AlonNaorGuess(n_roundings=0)},
        {"initial": AlonNaorGuess(rank=1.5)},
        {"initial": ProjectionGuess(n_vectors=0)},
    ],
    ids=repr,
)
@pytest.mark.parametrize("form", [DenseGraph, SparseGraph])
def test_no_effort_is_refused(settings, form, rng):
    graph = form(random_weights(rng, 30))
    with pytest.raises(ValueError, match="give a whole number, at least 1"):
        signed_cut(graph, search=None if "initial" in settings else Restarts(), **settings)


@pytest.mark.parametrize("name", ["n_sweeps", "run_sweeps", "reheat_sweeps", "patience"])
def test_no_sweeps_are_refused(name, rng):
    for value in (0, 10.5, "a", True):
        with pytest.raises(ValueError, match=f"{name}={value!r}.*whole number, at least 1"):
            signed_cut(np.eye(2), search=Annealing(**{name: value}))


@pytest.mark.parametrize(("value", "message"), [(29, "at most 28"), (-1, "at least 0"), (1.5, "whole number")])
def test_too_many_partitions_are_not_tried(value, message):
    with pytest.raises(ValueError, match=f"enumerate_up_to={value}.*{message}"):
        signed_cut(np.eye(2), search=Annealing(enumerate_up_to=value))


def test_whole_numbers_of_numpy_are_taken(rng):
    cut = signed_cut(random_weights(rng, 40), search=Annealing(n_sweeps=np.int64(10)), random_state=0)
    assert (cut.status, cut.sweeps) == ("finished", 10)


@pytest.mark.parametrize("n_sweeps", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("form", [DenseGraph, SparseGraph, HiddenGraph])
def test_few_sweeps_are_kept_to(form, n_sweeps, rng):
    W = random_weights(rng, 100, 0.2)
    cut = signed_cut(form(W), search=Annealing(n_sweeps=n_sweeps), random_state=0)
    assert (cut.status, cut.sweeps) == ("finished", n_sweeps)
    assert_no_flip_improves(cut, W)


class Ticks:
    """A clock that moves by itself at each look."""

    def __init__(self, tick=1.0):
        self.now, self.tick = 0.0, tick

    def __call__(self):
        self.now += self.tick
        return self.now


def test_seconds_left_never_run_out():
    clock = Ticks(tick=0.0)
    assert Budget(10, None, clock).seconds_left() is None
    budget = Budget(None, 10.0, clock)
    budget.keep_back(1.0)
    assert budget.seconds_left() == pytest.approx(8.8)
    clock.now = 20.0
    assert budget.is_late
    assert budget.seconds_left() == 1e-3


def test_restarts_look_at_their_own_clock(rng):
    search = Restarts(n_starts=10**9, clock=Ticks())
    cut = signed_cut(random_weights(rng, 30), search=search, time_limit=5.0, random_state=0)
    assert cut.status == "time limit"
    assert 1 <= search.clock.now <= 10


class Given:
    """A search that notes the seconds it is given, and has a clock of its own."""

    def __init__(self, clock=None):
        self.clock = clock

    def solve(self, graph, rng, time_limit=None):
        self.seconds = time_limit
        return Restarts().solve(graph, rng)


@pytest.mark.parametrize(("limit", "left"), [(5.0, 4.0), (0.5, 0.05)])
def test_reading_counts_by_the_clock_of_the_search(limit, left, rng):
    search = Given(Ticks())
    signed_cut(random_weights(rng, 30), search=search, time_limit=limit, random_state=0)
    assert search.seconds == pytest.approx(left)


@pytest.mark.parametrize(
    "view", [signed_cut, max_cut, frustration, lambda J, **settings: ising_ground_state(np.ones(30), J, **settings)]
)
def test_reading_counts_for_every_view(view, rng):
    W, search = random_weights(rng, 30), Given(Ticks(tick=0.0))

    class Slow:
        def __array__(self, dtype=None, copy=None):
            search.clock.now += 1.0
            return W

    view(Slow(), search=search, time_limit=10.0, random_state=0)
    assert search.seconds <= 9.0


@pytest.mark.parametrize(("weights", "expected"), [(1.0, 1200.0), (None, 0.0)])
def test_lanczos_gives_up_when_time_is_short(weights, expected, rng, monkeypatch):
    first, step = np.repeat(np.arange(200), 3), np.tile([1, 2, 5], 200)
    signs = rng.choice([-1.0, 1.0], 600) if weights is None else np.full(600, weights)
    graph = sparse_graph(200, first, (first + step) % 200, signs)
    products = []

    def product(self, x, product=SparseWalk.product):
        products.append(1)
        return product(self, x)

    monkeypatch.setattr(SparseWalk, "product", product)
    cut = Annealing(clock=Ticks(), enumerate_up_to=0).solve(graph, np.random.default_rng(0), 12.0)
    assert len(products) <= 3
    assert cut.value >= expected
    assert_no_flip_improves(cut, graph.weights.toarray())


def test_compiling_does_not_count(rng, monkeypatch):
    warmed = []
    monkeypatch.setattr("proxcode.cut.search.warm_up", lambda *key: warmed.append(key))
    signed_cut(random_weights(rng, 30).astype(np.float32), time_limit=0.01)
    signed_cut(random_weights(rng, 30))
    assert warmed == [(np.float32, True)]


def note_kernels(monkeypatch):
    """Return a set that each call of a kernel joins, by its name and the types it is compiled for."""
    called = set()

    def noting(name, kernel):
        def note(*arguments):
            called.add((name, *map(numba.typeof, arguments)))
            return kernel(*arguments)

        return note

    for module in (annealing, graph_module, mixing, reduction, walks):
        for name, kernel in list(vars(module).items()):
            if isinstance(kernel, numba.core.registry.CPUDispatcher):
                monkeypatch.setattr(module, name, noting(name, kernel))
    return called


def read_only(W):
    W.flags.writeable = False
    return W


def wide_indices(W):
    W = sp.csr_array(W)
    W.indices, W.indptr = W.indices.astype(np.int64), W.indptr.astype(np.int64)
    return W


@pytest.mark.parametrize(
    "form", [np.array, np.float32, read_only, sp.csr_array, wide_indices], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("density", [0.1, 1.0])
@pytest.mark.parametrize(
    ("kind", "initial", "bound"),
    [
        (Annealing, None, None),
        (Annealing, None, SuitableBound()),
        (Restarts, None, SemidefiniteBound(max_iter=5)),
        (Restarts, AlonNaorGuess(max_iter=5), None),
    ],
)
def test_kernels_are_loaded_before_the_search(kind, initial, bound, density, form, rng, monkeypatch):
    W, called, loaded = form(random_weights(rng, 100, density)), note_kernels(monkeypatch), set()
    for warm_up in (search_module.warm_up, search_module.warm_up_mixing):
        warm_up.cache_clear()

    class Noted(kind):
        def solve(self, *arguments):
            loaded.update(called)
            return super().solve(*arguments)

    signed_cut(W, search=Noted(initial=initial), bound=bound, time_limit=0.1, random_state=0)
    assert loaded
    assert called <= loaded


def test_the_mixing_method_is_loaded_where_needed(rng, monkeypatch):
    called = note_kernels(monkeypatch)
    search_module.warm_up.cache_clear()
    signed_cut(random_weights(rng, 30), time_limit=0.1, random_state=0)
    assert {name for name, *_ in called} >= {"anneal_dense", "descend_dense", "anneal_sparse"}
    assert "mix_sparse" not in {name for name, *_ in called}


@pytest.mark.parametrize("form", [DenseGraph, SparseGraph])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sweeps_are_those_flip_by_flip(form, dtype, rng):
    graph = form(random_weights(rng, 60, 0.5).astype(dtype))
    sides = [RandomGuess().guess(graph, np.random.default_rng(1)) for _ in "ab"]
    fields = [graph.field(side) for side in sides]
    flips = graph.sweep(sides[0], fields[0], np.zeros(60)), SignedGraph.sweep(graph, sides[1], fields[1], np.zeros(60))
    assert flips[0] == flips[1] > 0
    np.testing.assert_array_equal(*sides)
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
    assert signed_cut(random_weights(rng, 30), n_starts=2, random_state=0).upper_bound < np.inf
    assert not looked
    signed_cut(np.ones((5, 5)), n_starts=2, random_state=0)
    assert looked


def test_vector_update_finds_its_shift_once(rng, monkeypatch):
    calls = []

    def counted(*arguments, found=spectral.smallest_eigenpairs):
        calls.append(1)
        return found(*arguments)

    monkeypatch.setattr(spectral, "smallest_eigenpairs", counted)
    graph = as_graph(random_weights(rng, 80))
    cuts = [signed_cut(graph, update=VectorUpdate(), n_starts=5, random_state=0) for _ in "ab"]
    assert len(calls) == 1
    np.testing.assert_array_equal(cuts[0].side, cuts[1].side)


@pytest.mark.parametrize("density", [0.2, 1.0])
def test_interrupt_returns_the_best_so_far(density, rng, monkeypatch):
    W = random_weights(rng, 100, density)
    walk = SparseWalk if density < 0.25 else DenseWalk
    calls = []

    def interrupted(self, temperatures, offsets, anneal=walk.anneal):
        calls.append(len(temperatures))
        if len(calls) == 5:
            raise KeyboardInterrupt
        anneal(self, temperatures, offsets)

    monkeypatch.setattr(walk, "anneal", interrupted)
    cut = signed_cut(W, time_limit=60, random_state=0)
    assert cut.status == "interrupted"
    assert cut.value > 0
    assert_no_flip_improves(cut, W)


@pytest.mark.parametrize("form", [DenseGraph, SparseGraph, HiddenGraph])
def test_interrupt_keeps_what_a_cooling_has_reached(form, rng, monkeypatch):
    graph = form(random_weights(rng, 300, 0.1))
    walk = type(walk_on(graph, rng))
    start = signed_cut(graph, search=Annealing(n_sweeps=1), random_state=0)

    def interrupted(self, temperatures, offsets, anneal=walk.anneal):
        anneal(self, np.linspace(2.0, 0.1, 100), rng.integers(0, 1 << 16, 100))
        raise KeyboardInterrupt

    monkeypatch.setattr(walk, "anneal", interrupted)
    cut = signed_cut(graph, search=Annealing(n_sweeps=10**6), random_state=0)
    assert cut.status == "interrupted"
    assert cut.value > start.value
    assert cut.history[-1].value == pytest.approx(cut.value)


def test_ctrl_c_is_heard_soon(rng):
    W = random_weights(rng, 400, 0.1)
    signed_cut(W, time_limit=0.1)  # loads the kernels
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may ignore it
    threading.Timer(0.3, _thread.interrupt_main).start()
    start = time.perf_counter()
    cut = signed_cut(W, time_limit=60, random_state=0)
    signal.signal(signal.SIGINT, before)
    assert cut.status == "interrupted"
    assert time.perf_counter() - start < 10
    assert_no_flip_improves(cut, W)


def test_ctrl_c_while_kernels_are_loaded_is_heard(rng, monkeypatch):
    interrupted = replace(signed_cut(random_weights(rng, 30), random_state=0), status="interrupted")
    search_module.warm_up.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(search_module.Annealing, "solve", lambda *_: interrupted)
        with pytest.raises(KeyboardInterrupt):
            signed_cut(random_weights(rng, 30), time_limit=0.1)
    assert signed_cut(random_weights(rng, 30), time_limit=0.1).status != "interrupted"


def test_interrupted_restarts_return_the_best_so_far(rng, monkeypatch):
    calls = []

    def interrupted(self, graph, draws):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return np.where(draws.random(graph.n_points) < 0.5, 1, -1).astype(np.int8)

    monkeypatch.setattr(RandomGuess, "guess", interrupted)
    assert signed_cut(random_weights(rng, 30), n_starts=100, random_state=0).status == "interrupted"


def test_initial_guess_of_annealing_is_used(rng):
    class Noted(RandomGuess):
        called = 0

        def guess(self, graph, draws):
            type(self).called += 1
            return super().guess(graph, draws)

    signed_cut(random_weights(rng, 40), search=Annealing(n_sweeps=50, initial=Noted()), random_state=0)
    assert Noted.called == 1


def test_search_and_parts_of_another_are_refused():
    with pytest.raises(ValueError, match="give initial, update and n_starts to the search"):
        signed_cut(np.eye(2), search=Annealing(), update=VectorUpdate())


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
    assert cut.value == pytest.approx(cut.side @ no_diagonal @ cut.side)
    assert (cut.side * (no_diagonal @ cut.side) > -1e-3).all()


@pytest.mark.parametrize("search", [Annealing(n_sweeps=100), Annealing(n_sweeps=100, enumerate_up_to=0)], ids=repr)
@pytest.mark.parametrize("n", [1, 2, 30, 100])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, HiddenGraph])
def test_no_edges(search, n, form):
    cut = signed_cut(form(np.zeros((n, n))), search=search, random_state=0)
    assert cut.value == 0
    assert cut.side.shape == (n,)


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
    units = WithinRadius(radius=1.5).fit(X).relate(X).relation.units(code)
    graph = units.graph(np.linspace(1, 2, 5), -np.linspace(0.4, 0.2, 5))
    annealed = Annealing(n_sweeps=200, reheat_sweeps=40).solve(graph, np.random.default_rng(0))
    assert annealed.value >= Restarts().solve(graph, np.random.default_rng(0)).value
    assert annealed.value == pytest.approx(graph.value(annealed.side))
