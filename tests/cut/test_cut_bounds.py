"""Upper bounds against exhaustive search, and the problems that are equivalent to a cut."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.cut_graphs import HiddenGraph, best_value, random_weights
from proxcode.cut import (
    Annealing,
    Cut,
    CycleBound,
    CyclePackingBound,
    DenseGraph,
    Restarts,
    SemidefiniteBound,
    SuitableBound,
    UpperBound,
    as_graph,
    certify,
    frustration,
    ising_ground_state,
    max_cut,
    sample,
    signed_cut,
    sparse_graph,
)
from proxcode.cut.bounds.base import attainable
from proxcode.cut.relaxation import mix

nx = pytest.importorskip("networkx")
BOUNDS = [
    SemidefiniteBound(),
    SemidefiniteBound(max_iter=2),
    CycleBound(),
    CycleBound(max_rounds=1),
    CyclePackingBound(),
]
seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
@settings(deadline=None, max_examples=25)
@given(seed=seeds, n=st.integers(1, 12), density=st.sampled_from([0.2, 0.5, 1.0]), whole=st.booleans())
def test_no_partition_exceeds_a_bound(bound, seed, n, density, whole):
    rng = np.random.default_rng(seed)
    W = random_weights(rng, n, density)
    W = np.rint(2 * W) if whole else W
    found = bound.bound(as_graph(W), np.ones(n, np.int8), rng)
    assert found >= best_value(W) - 1e-9 * (1 + np.abs(W).sum())
    assert attainable(as_graph(W), found) >= best_value(W) - 1e-9 * (1 + np.abs(W).sum())


def test_semidefinite_bound_does_not_trust_lanczos_or_convergence(rng, monkeypatch):
    W = random_weights(rng, 100)
    full = SemidefiniteBound().bound(as_graph(W), np.ones(100, np.int8), np.random.default_rng(0))
    monkeypatch.setattr("proxcode.cut.bounds.semidefinite.FULL_SPECTRUM", 10)
    by_lanczos = SemidefiniteBound().bound(as_graph(W), np.ones(100, np.int8), np.random.default_rng(0))
    assert by_lanczos == pytest.approx(full, rel=1e-3)
    assert by_lanczos >= full - 1e-6 * abs(full)


def test_mixing_meets_its_dual(rng):
    W = random_weights(rng, 80, 0.5)
    vectors, dual = mix(as_graph(W), None, 5000, 1e-10, rng)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1)
    assert dual.sum() == pytest.approx((W * (vectors @ vectors.T)).sum(), rel=1e-5)
    assert np.linalg.eigvalsh(np.diag(dual) - W)[0] > -1e-2


def test_cycle_bound_proves_planar_spin_glasses(rng):
    grid = np.arange(144).reshape(12, 12)
    first = np.concatenate([grid[:, :-1].ravel(), grid[:-1].ravel()])
    second = np.concatenate([grid[:, 1:].ravel(), grid[1:].ravel()])
    graph = sparse_graph(144, first, second, rng.choice([-1.0, 1.0], len(first)))
    cut = signed_cut(graph, search=Annealing(n_sweeps=20_000), bound=CycleBound(), random_state=0)
    assert cut.proved
    assert cut.gap == 0
    assert len(cut.frustrated_edges) > 0


def test_whole_weights_round_bounds_to_what_can_be_attained():
    graph = as_graph([(0, 1, -1), (1, 2, -1), (0, 2, -1)])
    assert attainable(graph, 5.9) == 2.0
    assert attainable(graph, 2.0 - 1e-9) == 2.0
    assert attainable(graph, 1.0) == -2.0
    assert attainable(as_graph([(0, 1, 0.5)]), 5.9) == 5.9
    assert attainable(as_graph([(0, 1, -10), (1, 2, -10), (0, 2, -10)]), 59.0) == 20.0


def test_certify_keeps_the_better_bound_and_the_cut(rng):
    W = random_weights(rng, 40)
    cut = signed_cut(W, random_state=0)
    certified = certify(cut, SemidefiniteBound(), random_state=0)
    assert certified.partition is cut.partition
    assert cut.value <= certified.upper_bound < cut.upper_bound
    assert 0 < certified.gap < 0.2
    assert not certified.proved
    assert certify(cut, CycleBound(max_rounds=1)).upper_bound > certified.upper_bound
    assert certify(certified, CycleBound(max_rounds=1)).upper_bound == certified.upper_bound


@pytest.mark.parametrize(
    ("density", "form", "expected"),
    [(0.08, sp.csr_array, CycleBound), (0.08, np.asarray, CycleBound), (1.0, np.asarray, SemidefiniteBound)],
)
def test_default_bound_follows_the_number_of_edges(density, form, expected, rng, monkeypatch):
    called = []
    for kind in (CycleBound, SemidefiniteBound):

        def noted(self, *arguments, bound=kind.bound):
            called.append(type(self))
            return bound(self, *arguments)

        monkeypatch.setattr(kind, "bound", noted)
    W = random_weights(rng, 60, density)
    cut = signed_cut(form(W), search=Restarts(), random_state=0)
    assert certify(cut).upper_bound < cut.upper_bound
    assert called == [expected]


@pytest.mark.parametrize("bound", [SemidefiniteBound(), CycleBound(), CyclePackingBound(), SuitableBound()], ids=repr)
def test_bounds_keep_a_time_limit(bound, rng):
    cut = signed_cut(random_weights(rng, 120), search=Restarts(), random_state=0)
    start = time.perf_counter()
    certified = certify(cut, bound, random_state=0, time_limit=0.05)
    assert time.perf_counter() - start < 3  # CycleBound alone would take 60
    assert cut.value < certified.upper_bound <= cut.upper_bound


def test_ctrl_c_in_the_bound_keeps_the_cut(rng, monkeypatch):
    class Interrupted(UpperBound):
        def bound(self, graph, partition, draws, time_limit=None):
            raise KeyboardInterrupt

    W = random_weights(rng, 30)
    cut = signed_cut(W, search=Restarts(), bound=Interrupted(), random_state=0)
    assert cut.status == "interrupted"
    assert cut.value == signed_cut(W, search=Restarts(), random_state=0).value


def test_cut_without_its_graph_is_refused():
    cut = Cut(partition=np.ones(2, np.int8), value=0.0, flips=0, sweeps=0)
    with pytest.raises(ValueError, match="no explicit weights: use signed_cut"):
        certify(cut)
    for name in ("cut_weight", "frustrated_edges", "frustrated_weight"):
        with pytest.raises(ValueError, match="no graph: use signed_cut"):
            getattr(cut, name)
    assert cut.gap == float("inf")


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_cut_weight_frustrated_edges_and_their_weight(form, rng):
    W = random_weights(rng, 30, 0.5)
    cut = signed_cut(form(W), random_state=0)
    apart = np.triu(cut.partition[:, None] != cut.partition, 1)
    assert cut.cut_weight == pytest.approx(W[apart].sum())
    expected = np.argwhere(np.triu(np.where(apart, W > 0, W < 0), 1))
    np.testing.assert_array_equal(cut.frustrated_edges, expected)
    assert cut.frustrated_weight == pytest.approx(np.abs(W[tuple(expected.T)]).sum())
    assert cut.frustrated_weight == pytest.approx((np.abs(W).sum() / 2 - cut.value / 2) / 2)


def test_max_cut_of_known_graphs():
    assert max_cut(nx.complete_graph(7), random_state=0).weight == 12
    petersen = max_cut(nx.petersen_graph(), random_state=0)
    assert (petersen.weight, petersen.upper_bound, petersen.proved) == (12, 12, True)
    assert max_cut(nx.complete_bipartite_graph(30, 40), random_state=0).weight == 1200
    assert max_cut(-np.ones((5, 5)), random_state=0).weight == 0


def test_gaps_are_those_of_the_problem(rng):
    W = np.sign(random_weights(rng, 40))
    settings = {"search": Restarts(), "bound": SemidefiniteBound(), "random_state": 0}
    cut, frustrated = max_cut(W, **settings), frustration(W, **settings)
    ground = ising_ground_state(np.ones(40), W, **settings)
    assert cut.gap == pytest.approx(cut.upper_bound / cut.weight - 1)
    assert frustrated.gap == pytest.approx(1 - frustrated.lower_bound / frustrated.index)
    assert ground.gap == pytest.approx(ground.lower_bound / ground.energy - 1)
    assert min(cut.gap, frustrated.gap, ground.gap) > 0


def test_max_cut_of_weights_that_are_not_stored_is_refused(rng):
    with pytest.raises(ValueError, match="HiddenGraph does not store its weights: pass a matrix"):
        max_cut(HiddenGraph(random_weights(rng, 5)))


def test_frustration_counts_signs():
    found = frustration([(0, 1, 9.0), (1, 2, 0.1), (0, 2, -3.0), (3, 4, -1), (4, 3, 1), (4, 4, -7)], random_state=0)
    assert (found.index, found.lower_bound, found.proved, found.n_edges) == (1, 1, True, 3)
    assert len(found.edges) == found.cut.frustrated_weight == 1
    balanced = frustration(nx.karate_club_graph(), random_state=0)
    assert (balanced.index, balanced.proved) == (0, True)


def test_frustration_of_a_matrix(rng):
    W = random_weights(rng, 14)
    expected = (2 * (14 * 13 // 2) - best_value(np.sign(W))) / 4
    assert frustration(W, random_state=0).index == expected


@settings(deadline=None, max_examples=40)
@given(seeds, st.integers(1, 12))
def test_ising_ground_state_is_exhaustive_minimum(seed, n):
    rng = np.random.default_rng(seed)
    J, h = random_weights(rng, n, 0.5), rng.normal(size=n)
    s = 1.0 - 2.0 * (np.arange(2**n) >> np.arange(n)[:, None] & 1)
    energies = h @ s + 0.5 * (s * (J @ s)).sum(axis=0)
    ground = ising_ground_state(h, J, random_state=0)
    assert ground.energy == pytest.approx(energies.min())
    assert ground.lower_bound == pytest.approx(energies.min())
    spins = ground.spins.astype(float)
    assert h @ spins + 0.5 * spins @ J @ spins == pytest.approx(ground.energy)
    np.testing.assert_array_equal(ground.spins, ground.partition)


@pytest.mark.parametrize("h", [[0.0], [0.0, np.nan, 1.0], [[0.0] * 3], [0.0, np.inf, 0.0]])
def test_fields_that_do_not_fit_are_refused(h):
    with pytest.raises(ValueError, match="one finite field for each of 3 spins"):
        ising_ground_state(h, [(0, 1, 1.0), (1, 2, 1.0)])


def test_more_fields_than_coupled_spins():
    assert ising_ground_state([0, 0, -2.0], [(0, 1, 1.0), (0, 1, 1.0)]).energy == -4


def test_edge_lists_and_networkx_and_matrices_agree(rng):
    W = np.triu(random_weights(rng, 15, 0.4), 1)
    i, j = np.nonzero(W)
    edges = np.column_stack([i, j, W[i, j]])
    G = nx.Graph()
    G.add_nodes_from(range(15))
    G.add_weighted_edges_from((int(a), int(b), float(w)) for a, b, w in edges)
    expected = best_value(W + W.T)
    for graph in (edges, [tuple(edge) for edge in edges.tolist()], G, W + W.T):
        assert signed_cut(graph, random_state=0).value == pytest.approx(expected)


def _networkx(weight):
    G = nx.Graph()
    G.add_edge(0, 1, weight=weight)
    return G


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.array([[0, 1, np.nan], [1, 2, 1]]), r"edge \(0, 1\) has weight nan: expected a finite number"),
        (np.array([[0.5, 1, 1], [1, 2, 1]]), "node 0.5: expected nodes numbered by integers"),
        (np.array([[-1, 1, 1], [1, 2, 1]]), "node -1: expected nodes numbered by integers"),
        ([(0, 10**9, 1.0)], "node 1000000000, but there are only 1 edges: number the nodes from 0"),
        ([(np.nan, 1, 1.0)], "node nan: expected nodes numbered by integers"),
        (np.zeros((0, 3)), "no nodes"),
        (_networkx("much"), r"edge \(0, 1\) has weight 'much'"),
        (_networkx(np.inf), r"edge \(0, 1\) has weight inf: expected a finite number"),
        (nx.Graph(), "no nodes"),
        (np.array([[0, 1.7e308], [1.7e308, 0]]), "add up to inf: expected.*divide"),
        ([], r"shape \(0,\): expected a square matrix"),
    ],
)
def test_what_is_no_graph_is_refused(graph, message):
    with pytest.raises(ValueError, match=message):
        as_graph(graph)


def test_integers_do_not_overflow():
    big = np.iinfo(np.int64).max
    W = np.array([[0, big, big], [big, 0, big], [big, big, 0]])
    assert signed_cut(W, random_state=0).value == pytest.approx(6.0 * big)
    assert signed_cut(np.full((40, 40), -128, np.int8), random_state=0).value == 40 * 128
    assert max_cut(np.full((40, 40), 127, np.int8), random_state=0).weight == 127 * 400


def test_zero_weights_are_no_edges():
    G = nx.Graph()
    G.add_edge(0, 1, weight=0)
    cut = signed_cut(G, random_state=0)
    assert (cut.value, len(cut.frustrated_edges), cut.cut_weight) == (0, 0, 0)
    assert isinstance(as_graph(np.zeros((3, 3))), DenseGraph)


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_dimod_models_are_solved(vartype, rng):
    dimod = pytest.importorskip("dimod")
    bqm = dimod.BinaryQuadraticModel(vartype)
    for u, v in nx.gnp_random_graph(10, 0.5, seed=1).edges:
        bqm.add_quadratic(f"x{u}", f"x{v}", rng.normal())
        bqm.add_linear(f"x{u}", rng.normal())
    bqm.offset = 3.5
    expected = dimod.ExactSolver().sample(bqm).first.energy
    found = sample(bqm, random_state=0)
    assert found.first.energy == pytest.approx(expected)
    assert found.info["lower_bound"] == pytest.approx(expected)
    assert found.info["proved"]


def test_dimod_model_without_couplings():
    dimod = pytest.importorskip("dimod")
    bqm = dimod.BinaryQuadraticModel({"a": 1.0, "b": -2.0}, {}, 0.0, "SPIN")
    assert sample(bqm, random_state=0).first.sample == {"a": -1, "b": 1}
    with pytest.raises(ValueError, match="no variables"):
        sample(dimod.BinaryQuadraticModel("SPIN"))


def test_rows_of_a_matrix_are_not_edges():
    rows = ((0, 1, 1), (1, 0, -5), (1, -5, 0))
    for W in (rows, [list(row) for row in rows], np.array(rows)):
        assert as_graph(W).matvec(np.array([1.0, 0, 0])).tolist() == [0, 1, 1]
