"""Short coolings, and the graph of parts on which they agree."""

import numpy as np
import pytest
import scipy.sparse as sp

from helpers.cut_graphs import Ticks, assert_no_flip_improves, random_weights
from proxcode.cut import Annealing, BitUpdate, RandomGuess, SparseGraph, signed_cut, sparse_graph
from proxcode.cut.annealing import runs
from proxcode.cut.annealing.reduction import graph_of_parts
from proxcode.cut.annealing.walks import SparseWalk


def class_graph(n, k, rng):
    """A graph of k classes, with as much attraction within as repulsion between them, and the labels."""
    labels, (first, second) = rng.integers(0, k, n), rng.integers(0, n, (2, 15 * n))
    is_edge = first != second
    first, second = first[is_edge], second[is_edge]
    return sparse_graph(n, first, second, np.where(labels[first] == labels[second], k - 1.0, -1.0)), labels


def test_classes_find_their_sides(rng):
    graph, labels = class_graph(1000, 5, np.random.default_rng(0))
    splits = [(1 - 2 * ((split >> labels) & 1)).astype(np.int8) for split in range(16)]
    best = max(BitUpdate().improve(graph, partition, rng).value for partition in splits)
    for seed in range(5):
        assert signed_cut(graph, search=Annealing(n_sweeps=4000), random_state=seed).value >= best


def lattice(size, hostile, rng):
    """A torus of nodes with eight neighbours each, mostly friends."""
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
    """The same lattice with random signs of its nodes: coolings end in domains."""
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
    assert parts.n_nodes == part.max() + 1
    np.testing.assert_array_equal(parts.weights.toarray(), parts.weights.toarray().T)
    within = graph.value(found[0]) - parts.value(np.ones(parts.n_nodes, np.int8))
    for _ in range(10):
        c = rng.choice(np.array([-1, 1], np.int8), parts.n_nodes)
        assert graph.value(found[0] * c[part]) == pytest.approx(parts.value(c) + within)
    for partition in found:
        turned = partition * found[0]
        assert all(len(set(turned[part == k])) == 1 for k in range(parts.n_nodes))


def test_interrupt_while_parts_are_annealed(rng, monkeypatch):
    graph = lattice(30, 0.5, rng)
    calls, anneal = [], SparseWalk.anneal

    def interrupted(walk, temperatures, offsets):
        calls.append(walk.n_nodes)
        if walk.n_nodes < calls[0]:
            raise KeyboardInterrupt
        anneal(walk, temperatures, offsets)

    monkeypatch.setattr(SparseWalk, "anneal", interrupted)
    cut = signed_cut(graph, search=Annealing(n_sweeps=20_000), random_state=0)
    assert calls[-1] < calls[0], "nothing is annealed after Ctrl-C"
    assert cut.status == "interrupted"
    assert cut.value == pytest.approx(graph.value(cut.partition))


def test_interrupt_between_short_coolings_keeps_the_best_of_them(rng, monkeypatch):
    graph, reached = lattice(30, 0.5, rng), []

    def interrupted(whole, found):
        reached.extend(whole.value(partition) for partition in found)
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "graph_of_parts", interrupted)
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
    monkeypatch.setattr(runs, "graph_of_parts", None)
    graph = lattice(30, 0.5, rng)
    cut = Annealing(clock=clock).solve(graph, np.random.default_rng(0), 100.0)
    assert cut.status == "time limit"
    assert_no_flip_improves(cut, graph.weights.toarray())


def test_a_run_never_goes_on_from_less_than_its_short_coolings(rng, monkeypatch):
    graph, reached, placed = lattice(30, 0.5, rng), [], []

    def misled(whole, found):
        reached.append(max(whole.value(partition) for partition in found))
        parts, part = graph_of_parts(whole, found)
        return SparseGraph(-parts.weights), part

    def cool(search, *arguments, cool=runs.Runs._cool):
        if search.walk.n_nodes == graph.n_nodes and len(reached) > len(placed):
            placed.append(search.walk.value)
        cool(search, *arguments)

    monkeypatch.setattr(runs, "graph_of_parts", misled)
    monkeypatch.setattr(runs.Runs, "_cool", cool)
    signed_cut(graph, search=Annealing(n_sweeps=2000), random_state=0)
    assert placed == reached
