"""The packing of negative cycles: never above the smallest frustrated weight, and close to it on large networks."""

import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.optimize import linprog

from helpers.cut_graphs import best_value, random_weights
from proxcode.cut import (
    Annealing,
    CycleBound,
    CyclePackingBound,
    SemidefiniteBound,
    SuitableBound,
    as_graph,
    certify,
    frustration,
    signed_cut,
    sparse_graph,
)
from proxcode.cut.annealing.reduction import Reduction
from proxcode.cut.annealing.tuning import TUNING
from proxcode.cut.bounds import packing
from proxcode.cut.bounds.packing import packed_weight

WEIGHTS = {
    "signs": lambda rng, n: rng.choice([-1.0, 1.0], (n, n)),
    "integers": lambda rng, n: rng.integers(-9, 10, (n, n)).astype(float),
    "normal": lambda rng, n: rng.normal(size=(n, n)),
    "thirds": lambda rng, n: rng.integers(-9, 10, (n, n)) / 3.0,
    "wide": lambda rng, n: rng.normal(size=(n, n)) * 10.0 ** rng.integers(-9, 10, (n, n)),
    "tiniest": lambda rng, n: 1e-305 * rng.normal(size=(n, n)),
    "largest": lambda rng, n: 1e304 * rng.normal(size=(n, n)),
}


def draw_weights(kind, rng, n):
    W = np.triu(WEIGHTS[kind](rng, n) * (rng.random((n, n)) < rng.choice([0.3, 0.6, 1.0])), 1)
    return W + W.T


def random_partition(rng, n):
    return rng.choice(np.array([-1, 1], np.int8), n)


def smallest_frustration(W):
    return (np.abs(W).sum() - best_value(W)) / 4


@pytest.mark.parametrize("kind", WEIGHTS)
def test_packed_weight_never_exceeds_the_smallest_frustrated_weight(kind):
    for seed in range(150):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 13))
        W = draw_weights(kind, rng, n)
        graph = sparse_graph(n, *np.nonzero(np.triu(W)), W[np.nonzero(np.triu(W))])
        partition = random_partition(rng, n)
        packed, rounding = packed_weight(graph, partition), 0.0 if kind in ("signs", "integers") else 1e-14
        assert 0 <= packed <= smallest_frustration(W) + rounding * np.abs(W).sum()
        # The edges that the partition frustrates limit the packing too, exactly.
        first, second, weight = graph.edges()
        assert packed <= np.abs(weight[weight * partition[first] * partition[second] < 0]).sum()


@pytest.mark.parametrize("kind", WEIGHTS)
def test_no_partition_exceeds_the_bound(kind):
    for seed in range(150):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 13))
        W = draw_weights(kind, rng, n)
        found = CyclePackingBound().bound(as_graph(W), random_partition(rng, n), rng)
        exact = kind in ("signs", "integers")
        assert found >= best_value(W) - (0.0 if exact else 2.0**-44 * np.abs(W).sum())
        assert found <= np.abs(W).sum() * (1 + 1e-12)


def test_capacities_are_used_up_exactly(rng, monkeypatch):
    taken = []

    def noted(pending, start, first, second, max_hops, rows, capacity, *others):
        before = capacity.copy()
        result = kernel(pending, start, first, second, max_hops, rows, capacity, *others)
        taken.append((result[0], before, capacity.copy(), max_hops))
        return result

    kernel = packing.pack_cycles
    monkeypatch.setattr(packing, "pack_cycles", noted)
    W = random_weights(rng, 60, 0.3)
    graph, partition = sparse_graph(60, *np.nonzero(np.triu(W)), W[np.nonzero(np.triu(W))]), random_partition(rng, 60)
    first, second, weight = graph.edges()
    is_negative = weight * partition[first] * partition[second] < 0
    packed = packed_weight(graph, partition)
    start, end = taken[0][1], taken[-1][2]
    assert packed == sum(amount for amount, *_ in taken) == (start - end)[is_negative].sum() > 0
    assert (end >= 0).all()
    assert (start <= np.abs(weight)).all()
    np.testing.assert_allclose(start, np.abs(weight), rtol=1e-10)
    for amount, before, after, max_hops in taken:
        # Each cycle has one frustrated edge, at least two satisfied ones and at most `max_hops`.
        used = (before - after)[~is_negative].sum()
        assert 2 * amount - 1e-9 <= used <= max_hops * amount + 1e-9


def test_packing_ends_only_where_no_cycle_is_left(monkeypatch):
    # In the end no path of satisfied edges with capacity left joins the ends of a frustrated edge with capacity left.
    nx = pytest.importorskip("networkx")
    for seed in range(30):
        rng = np.random.default_rng(seed)
        W = np.rint(3 * random_weights(rng, 25, 0.3))
        graph, partition = (
            sparse_graph(25, *np.nonzero(np.triu(W)), W[np.nonzero(np.triu(W))]),
            random_partition(rng, 25),
        )
        first, second, weight = graph.edges()
        capacity = np.abs(weight)
        monkeypatch.setattr(packing, "_exact_capacity", partial(lambda capacity, size: capacity, capacity))
        packed_weight(graph, partition)
        left = capacity > 0
        is_negative = weight * partition[first] * partition[second] < 0
        rest = nx.Graph(zip(first[left & ~is_negative], second[left & ~is_negative], strict=True))
        rest.add_nodes_from(range(25))
        assert not any(nx.has_path(rest, first[e], second[e]) for e in np.flatnonzero(left & is_negative))


@pytest.mark.parametrize("length", [3, 4, 5, 8, 13, 40, 200])
def test_a_single_negative_cycle_of_any_length_is_found(length):
    nodes = np.arange(length)
    weight = np.where(nodes == 0, -2.5, 3.0)
    graph = sparse_graph(length, nodes, (nodes + 1) % length, weight)
    assert packed_weight(graph, np.ones(length, np.int8)) == 2.5
    assert packed_weight(graph, random_partition(np.random.default_rng(length), length)) <= 2.5


def test_disjoint_triangles_are_all_found():
    corners = 3 * np.arange(1000)
    first = np.concatenate([corners, corners, corners + 1])
    second = np.concatenate([corners + 1, corners + 2, corners + 2])
    graph = sparse_graph(3000, first, second, np.repeat([-1.0, 1.0, 1.0], 1000))
    assert packed_weight(graph, np.ones(3000, np.int8)) == 1000


def test_capacity_is_shared_by_cycles():
    # Two frustrated edges of weight 1 are closed by the same heavy edge of weight 2.
    graph = as_graph([(0, 1, 2), (0, 2, 1), (1, 2, -1), (0, 3, 1), (1, 3, -1)])
    sparse = sparse_graph(4, *graph.edges())
    assert packed_weight(sparse, np.ones(4, np.int8)) == 2


def test_cycle_bound_is_no_worse_than_the_packing_nor_than_the_sum_of_the_weights():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        W = random_weights(rng, 30, 0.25)
        graph, partition = as_graph(W), random_partition(rng, 30)
        packed = CyclePackingBound().bound(graph, partition, rng)
        for bound in (CycleBound(), CycleBound(max_rounds=1)):
            assert bound.bound(graph, partition, rng) <= packed
        assert packed <= np.abs(W).sum() * (1 + 1e-12)


def test_packing_is_no_better_than_the_linear_program(rng):
    # Weak duality, with all triangles and cycles of a complete graph of six nodes that are negative.
    nx = pytest.importorskip("networkx")
    for seed in range(10):
        W = random_weights(np.random.default_rng(seed), 6)
        first, second = np.triu_indices(6, 1)
        number = {(i, j): e for e, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True))}
        rows = []
        for cycle in nx.simple_cycles(nx.complete_graph(6)):
            edges = [number[tuple(sorted(pair))] for pair in zip(cycle, [*cycle[1:], cycle[0]], strict=True)]
            if np.prod(np.sign(W[first[edges], second[edges]])) < 0:
                rows.append(np.isin(np.arange(15), edges))
        program = linprog(
            np.abs(W[first, second]), A_ub=-np.array(rows, float), b_ub=-np.ones(len(rows)), bounds=(0, 1)
        )
        cut = signed_cut(W, random_state=0)
        packed = packed_weight(sparse_graph(6, first, second, W[first, second]), cut.partition)
        assert 0.5 * program.fun <= packed <= program.fun + 1e-9


def network(rng, n, n_edges, noise=0.14):
    """Return a network of two camps with hubs, in which some of the signs are noise."""
    popularity = 1.0 / np.arange(1, n + 1) ** 0.7
    ends = rng.choice(n, (2, 2 * n_edges), p=popularity / popularity.sum())
    ends = np.unique(np.sort(ends[:, ends[0] != ends[1]], axis=0), axis=1)
    ends = ends[:, rng.permutation(ends.shape[1])[:n_edges]]
    camp = np.where(rng.random(n) < 0.9, 1, -1)
    return ends[0], ends[1], camp[ends[0]] * camp[ends[1]] * np.where(rng.random(ends.shape[1]) < noise, -1, 1)


def test_large_networks_are_bounded_within_five_percent():
    edges = network(np.random.default_rng(0), 20_000, 130_000)
    found = frustration(sparse_graph(20_000, *edges), search=Annealing(n_sweeps=100), random_state=0)
    certify(found.cut, CyclePackingBound(), time_limit=0.1)
    start = time.perf_counter()
    cut = certify(found.cut, CyclePackingBound(), time_limit=20)
    assert time.perf_counter() - start < 20
    bounded = type(found)(cut=cut, n_edges=found.n_edges)
    assert 0.95 * found.index < bounded.lower_bound <= found.index


def test_a_time_limit_ends_the_packing_with_a_bound_that_holds(monkeypatch):
    edges = network(np.random.default_rng(1), 3000, 30_000)
    graph = sparse_graph(3000, *edges)
    cut = frustration(graph, search=Annealing(n_sweeps=50), random_state=0).cut
    monkeypatch.setattr(packing, "ENTRIES_TOGETHER", 1000)
    whole = packed_weight(graph, cut.partition)
    clock = iter(range(10**9))
    monkeypatch.setattr(packing.time, "perf_counter", lambda: next(clock))
    ended_early = [packed_weight(graph, cut.partition, deadline) for deadline in (-1, 1, 100, 10_000)]
    assert ended_early[0] == 0 < ended_early[1]
    assert ended_early == sorted(ended_early)
    assert ended_early[-1] <= whole


@pytest.mark.parametrize(
    ("limit", "noise", "expected"),
    [
        (10**9, 0.1, [CycleBound]),
        (100, 0.1, [CyclePackingBound]),
        (100, 0.5, [CyclePackingBound, SemidefiniteBound]),
    ],
    ids=["small", "large", "random signs"],
)
def test_large_sparse_graphs_are_bounded_by_the_packing_where_it_is_near(limit, noise, expected, rng, monkeypatch):
    graph = sparse_graph(400, *network(rng, 400, 2000, noise))
    assert called_by_default(graph, limit, monkeypatch) == expected


def test_graphs_of_many_edges_get_the_better_of_two_bounds(rng, monkeypatch):
    graph = sparse_graph(100, *network(rng, 100, 3000, noise=0.5))
    partition = signed_cut(graph, random_state=0).partition
    alone = [
        kind().bound(graph, partition, np.random.default_rng(0)) for kind in (CyclePackingBound, SemidefiniteBound)
    ]
    assert SuitableBound().bound(graph, partition, np.random.default_rng(0)) == min(alone)
    assert called_by_default(graph, 100, monkeypatch) == [CyclePackingBound, SemidefiniteBound]


@pytest.mark.parametrize(("n_edges", "is_left_out"), [(2000, True), (4400, False)], ids=["few edges", "many edges"])
def test_a_short_time_limit_leaves_the_vectors_of_large_sparse_graphs_out(n_edges, is_left_out, rng, monkeypatch):
    monkeypatch.setattr("proxcode.cut.bounds.certificates.LARGE", 100)
    called = []
    monkeypatch.setattr(SemidefiniteBound, "bound", lambda *arguments: called.append(arguments) or np.inf)
    graph = sparse_graph(400, *network(rng, 400, n_edges, noise=0.5))
    partition = random_partition(rng, 400)
    found = SuitableBound().bound(graph, partition, rng, 1e-6)
    assert (called == []) is is_left_out
    assert found <= 2 * graph.count_edges() * (1 + 1e-12)


def test_large_dense_arrays_are_bounded_by_vectors_alone(rng, monkeypatch):
    monkeypatch.setattr("proxcode.cut.bounds.certificates.TUNING", replace(TUNING, dense_reducible=50))
    graph = as_graph(random_weights(rng, 60))
    assert called_by_default(graph, 100, monkeypatch) == [SemidefiniteBound]


def called_by_default(graph, limit, monkeypatch):
    """Return the bounds that `SuitableBound` calls if graphs of more than `limit` edges are large."""
    monkeypatch.setattr("proxcode.cut.bounds.certificates.LARGE", limit)
    called = []
    for kind in (CycleBound, CyclePackingBound, SemidefiniteBound):

        def noted(self, *arguments, bound=kind.bound):
            called.append(type(self))
            return bound(self, *arguments)

        monkeypatch.setattr(kind, "bound", noted)
    SuitableBound().bound(graph, signed_cut(graph, random_state=0).partition, np.random.default_rng(0))
    return called


def test_graphs_that_are_reduced_to_nothing_are_bounded_exactly(rng):
    edges = [(i, i + 1, w) for i, w in enumerate(rng.integers(1, 5, 20) * rng.choice([-1, 1], 20))]
    graph = as_graph([(int(i), int(j), int(w)) for i, j, w in edges])
    assert Reduction.of(graph).graph is None
    assert CyclePackingBound().bound(graph, np.ones(21, np.int8), rng) == 2 * sum(abs(w) for *_, w in edges)
