"""`proved` means optimal: bad partitions, weights of wide range, tiny and huge units, fields."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.cut_graphs import best_value, random_weights
from proxcode.cut import (
    Annealing,
    CycleBound,
    CyclePackingBound,
    DenseGraph,
    NoUpdate,
    Restarts,
    SemidefiniteBound,
    SparseGraph,
    UpperBound,
    certify,
    ising_ground_state,
    signed_cut,
    sparse_graph,
)

BOUNDS = [
    None,
    SemidefiniteBound(),
    SemidefiniteBound(rank=2, max_iter=3),
    CycleBound(),
    CycleBound(max_rounds=2),
    CyclePackingBound(),
]
SEARCHES = [Restarts(update=NoUpdate()), Restarts(), Annealing(n_sweeps=3, enumerate_up_to=0), Annealing()]
KINDS = {
    "normal": lambda rng, n: rng.normal(size=(n, n)),
    "sign": lambda rng, n: rng.choice([-1.0, 1.0], (n, n)),
    "whole": lambda rng, n: rng.integers(-5, 6, (n, n)).astype(float),
    "wide": lambda rng, n: rng.normal(size=(n, n)) * 10.0 ** rng.integers(-6, 6, (n, n)),
    "wide whole": lambda rng, n: rng.integers(-3, 4, (n, n)) * 10.0 ** rng.integers(0, 13, (n, n)),
    "huge": lambda rng, n: 1e150 * rng.normal(size=(n, n)),
    "tiny": lambda rng, n: 1e-150 * rng.normal(size=(n, n)),
    "light beside heavy": lambda rng, n: np.where(
        np.arange(n) < n // 2, 1e10 / 3 * (np.arange(n)[:, None] < n // 2), rng.choice([-1.0, 1.0], (n, n))
    ),
    "tiniest": lambda rng, n: 1e-300 * rng.normal(size=(n, n)),
}
seeds = st.integers(0, 2**32 - 1)


def weights_of(kind, seed, n, density):
    rng = np.random.default_rng(seed)
    W = np.triu(KINDS[kind](rng, n) * (rng.random((n, n)) < density), 1)
    return W + W.T


def tolerance(kind, W):
    return 0.0 if "whole" in kind or kind == "sign" else 2.0**-43 * np.abs(W).sum()


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
@settings(deadline=None, max_examples=150)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    seed=seeds,
    n=st.integers(1, 13),
    density=st.sampled_from([0.2, 0.5, 1.0]),
    search=st.sampled_from(SEARCHES),
    form=st.sampled_from([DenseGraph, SparseGraph]),
)
def test_proved_is_optimal(bound, kind, seed, n, density, search, form):
    W = weights_of(kind, seed, n, density)
    cut = signed_cut(form(W), search=search, bound=bound, random_state=seed)
    best = best_value(W)
    assert cut.upper_bound >= best - tolerance(kind, W)
    if cut.proved or cut.status == "optimal":
        assert cut.partition @ W @ cut.partition >= best - tolerance(kind, W)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(KINDS)), seeds, st.integers(2, 11), st.sampled_from(BOUNDS))
def test_proved_ground_state_is_optimal(kind, seed, n, bound):
    bordered = weights_of(kind, seed, n + 1, 0.7)
    h, J = bordered[-1, :-1], bordered[:-1, :-1]
    search = Restarts(update=NoUpdate())
    ground = ising_ground_state(h, J, search=search, bound=bound, random_state=seed)
    if ground.proved:
        assert -2 * ground.energy >= best_value(-bordered) - tolerance(kind, bordered)


@pytest.mark.parametrize("unit", [1e10, 1e10 / 3])
@pytest.mark.parametrize("search", [Annealing(n_sweeps=2000), Restarts(n_starts=3)], ids=repr)
def test_heavy_edges_do_not_hide_light_ones(search, unit, rng):
    glass = np.sign(random_weights(rng, 22))
    W = sp.block_diag([unit * (np.ones((22, 22)) - np.eye(22)), glass]).tocsr()
    cut = signed_cut(W, search=search, random_state=0)
    assert len(cut.frustrated_edges) > 0
    assert not cut.proved
    assert cut.status == "finished"
    if search.get_params().get("n_sweeps"):
        assert cut.partition[22:] @ glass @ cut.partition[22:] == signed_cut(glass, random_state=0).value


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e-12, 1.0, 1e22, 1e200, 1e300])
def test_bounds_do_not_depend_on_the_unit(unit, rng):
    W = random_weights(rng, 30)
    cut, plain = (signed_cut(V, search=Restarts(), random_state=0) for V in (unit * W, W))
    for bound in (SemidefiniteBound(), CycleBound(max_rounds=3)):
        expected = certify(plain, bound, random_state=0).upper_bound
        assert certify(cut, bound, random_state=0).upper_bound / unit == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("unit", [1e-12, 1e12, 1e22, 1.0 / 3.0])
def test_cycles_prove_planar_glasses_in_any_unit(unit, rng):
    grid = np.arange(64).reshape(8, 8)
    first = np.concatenate([grid[:, :-1].ravel(), grid[:-1].ravel()])
    second = np.concatenate([grid[:, 1:].ravel(), grid[1:].ravel()])
    graph = sparse_graph(64, first, second, unit * rng.choice([-1.0, 1.0], len(first)))
    search = Annealing(n_sweeps=5000, enumerate_up_to=0)
    assert signed_cut(graph, search=search, bound=CycleBound(), random_state=0).proved


def test_a_bound_below_a_reached_value_is_ignored(rng):
    class Wrong(UpperBound):
        def bound(self, graph, partition, draws, time_limit=None):
            return graph.value(partition) - 1.0

    cut = signed_cut(random_weights(rng, 30), search=Restarts(), random_state=0)
    certified = certify(cut, Wrong())
    assert certified.upper_bound == cut.upper_bound
    assert not certified.proved


def test_vectors_that_cancel_prove_nothing():
    W = np.zeros((8, 8))
    W[:4, 4:] = W[4:, :4] = 1.0
    for seed in range(50):
        settings = {"search": Restarts(update=NoUpdate()), "bound": SemidefiniteBound(rank=1, max_iter=2)}
        assert signed_cut(W, **settings, random_state=seed).upper_bound >= 32


def test_restarts_know_the_sum_of_the_weights(rng):
    W = random_weights(rng, 30)
    cut = signed_cut(W, search=Restarts(), random_state=0)
    assert cut.upper_bound == pytest.approx(np.abs(W).sum())
    assert signed_cut(np.abs(W), search=Restarts(), random_state=0).proved


def test_cuts_are_compared_by_identity(rng):
    cut, other = (signed_cut(random_weights(rng, 5), random_state=0) for _ in "ab")
    assert cut != other
    assert len({cut, other}) == 2


@pytest.mark.parametrize(("dtype", "rounding"), [(np.float64, 9e-11), (np.float32, 9e-6)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("search", [None, Annealing(n_sweeps=50, enumerate_up_to=0)], ids=repr)
def test_proved_holds_for_both_triangles(search, form, dtype, rounding, rng):
    for seed in range(20):
        W = np.sign(random_weights(rng, 10)) * (1 + rounding * rng.uniform(-0.5, 0.5, (10, 10)))
        W = W.astype(dtype)
        cut = signed_cut(form(W), search=search, bound=CycleBound(), random_state=seed)
        best = best_value(W.astype(np.float64))
        allowed = (2.0**-43 if dtype == np.float64 else 2.0**-23) * np.abs(W).sum(dtype=np.float64)
        assert cut.upper_bound >= best - allowed
        assert not cut.proved or cut.value >= best - allowed
