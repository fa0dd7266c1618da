"""Limits of a search in seconds and sweeps, and errors for invalid parameters."""

import time

import numpy as np
import pytest

from helpers.cut_graphs import HiddenGraph, Ticks, assert_no_flip_improves, random_weights
from proxcode.cut import (
    AlonNaorGuess,
    Annealing,
    CycleBound,
    DenseGraph,
    ProjectionGuess,
    RandomGuess,
    Restarts,
    SemidefiniteBound,
    SparseGraph,
    certify,
    frustration,
    ising_ground_state,
    max_cut,
    signed_cut,
    sparse_graph,
)
from proxcode.cut.annealing.schedule import Budget
from proxcode.cut.annealing.walks import SparseWalk


def test_a_star_with_very_many_leaves_takes_no_time():
    n = 200_000
    star = sparse_graph(n, np.zeros(n - 1, int), np.arange(1, n), np.resize([1.0, -1.0], n - 1))
    start = time.process_time()
    assert signed_cut(star, random_state=0).value == 2 * (n - 1)
    assert time.process_time() - start < 10


@pytest.mark.parametrize("search", [Annealing(), Restarts(n_starts=10**9)], ids=repr)
def test_time_limit_is_kept(search, rng):
    W = random_weights(rng, 300, 0.1)
    signed_cut(W, search=search, time_limit=0.01)
    start = time.perf_counter()
    cut = signed_cut(W, search=search, time_limit=0.3, random_state=0)
    assert time.perf_counter() - start < 3  # other processes may be at work
    assert cut.status == "time limit"


@pytest.mark.parametrize(
    ("time_limit", "error"), [(0, ValueError), (-1, ValueError), (float("nan"), ValueError), ("1", TypeError)]
)
def test_no_time_is_refused(time_limit, error):
    with pytest.raises(error, match=r"time_limit=.*: expected seconds above 0"):
        signed_cut(np.eye(2), time_limit=time_limit)
    with pytest.raises(error, match=r"time_limit=.*: expected seconds above 0"):
        certify(signed_cut(np.eye(2)), time_limit=time_limit)


@pytest.mark.parametrize(("seed", "error"), [(-1, ValueError), (1.5, TypeError), ("a", TypeError)])
def test_no_seed_is_refused(seed, error):
    cut = signed_cut(-np.ones((25, 25)), search=Restarts(), random_state=0)
    for refused in (lambda: signed_cut(cut.graph, random_state=seed), lambda: certify(cut, random_state=seed)):
        with pytest.raises(error, match=f"random_state={seed!r}: expected an integer from 0 on"):
            refused()


@pytest.mark.parametrize(
    ("name", "component", "example"),
    [
        ("initial", RandomGuess, "RandomGuess"),
        ("initial", "random", "RandomGuess"),
        ("search", Annealing, "Annealing"),
        ("search", "annealing", "Annealing"),
        ("bound", True, "SuitableBound"),
    ],
)
def test_components_of_a_wrong_type_are_refused(name, component, example):
    with pytest.raises(TypeError, match=rf"{name}=.*: expected an object such as {example}\(\)"):
        signed_cut(np.eye(2), **{name: component})


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"bound": SemidefiniteBound(max_iter=0)}, ValueError, "max_iter=0: .*1"),
        ({"bound": SemidefiniteBound(rank=0)}, ValueError, "rank=0: .*1"),
        ({"bound": CycleBound(max_rounds=0)}, ValueError, "max_rounds=0: .*1"),
        ({"initial": AlonNaorGuess(n_roundings=0)}, ValueError, "n_roundings=0: .*1"),
        ({"initial": AlonNaorGuess(rank=1.5)}, TypeError, "rank=1.5: "),
        ({"initial": ProjectionGuess(n_vectors=0)}, ValueError, "n_vectors=0: .*1"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("form", [DenseGraph, SparseGraph])
def test_no_effort_is_refused(settings, error, message, form, rng):
    graph = form(random_weights(rng, 30))
    with pytest.raises(error, match=message):
        signed_cut(graph, search=Restarts(), **settings)


@pytest.mark.parametrize("name", ["n_sweeps", "run_sweeps", "reheat_sweeps", "patience"])
def test_no_sweeps_are_refused(name):
    for value, error in ((0, ValueError), (10.5, TypeError), ("a", TypeError), (True, TypeError)):
        with pytest.raises(error, match=f"{name}={value!r}: "):
            signed_cut(np.eye(2), search=Annealing(**{name: value}))


@pytest.mark.parametrize(("value", "error"), [(29, ValueError), (-1, ValueError), (1.5, TypeError)])
def test_too_many_partitions_are_not_tried(value, error):
    with pytest.raises(error, match=f"enumerate_up_to={value}: " + (".*0 to 28" if error is ValueError else "")):
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


def test_seconds_left_never_run_out():
    clock = Ticks(tick=0.0)
    assert Budget(10, None, clock).seconds_left() is None
    budget = Budget(None, 10.0, clock)
    budget.reserve(1.0)
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
