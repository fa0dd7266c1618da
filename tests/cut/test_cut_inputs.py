"""Graphs in the forms that users have them: how each is read, errors for invalid ones, inputs that are not changed."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from helpers.cut_graphs import random_weights
from proxcode.cut import (
    Annealing,
    DenseGraph,
    SparseGraph,
    as_graph,
    frustration,
    ising_ground_state,
    max_cut,
    sample,
    signed_cut,
)

nx = pytest.importorskip("networkx")


def edge(**attributes):
    G = nx.Graph()
    G.add_edge("a", "b", **attributes)
    return G


def weights(graph):
    graph = as_graph(graph)
    return graph.weights.toarray() if sp.issparse(graph.weights) else graph.weights


def test_tuples_are_edges():
    path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    np.testing.assert_array_equal(weights([(0, 1), (1, 2)]), path)
    np.testing.assert_array_equal(weights([(0, 1), (1, 2, 1.0)]), path)
    np.testing.assert_array_equal(weights([(0, 1, Fraction(1)), (np.int32(1), np.float32(2), True)]), path)
    assert max_cut(list(nx.path_graph(3).edges), random_state=0).weight == 2


@pytest.mark.parametrize("form", [set, frozenset, iter, lambda edges: (edge for edge in edges)])
def test_edges_in_any_container(form):
    edges = [(0, 1, 1.0), (1, 2, -1.0)]
    np.testing.assert_array_equal(weights(form(edges)), weights(edges))
    assert max_cut(form(edges), random_state=0).weight == 1
    assert frustration(form(edges), random_state=0).n_edges == 2
    assert ising_ground_state(np.ones(4), form(edges), random_state=0).energy == -4


def test_edges_of_networkx_are_edges():
    edges = nx.path_graph(3).edges
    np.testing.assert_array_equal(weights(edges), weights([(0, 1), (1, 2)]))
    assert ising_ground_state(np.zeros(3), edges, random_state=0).energy == -2


@pytest.mark.parametrize("form", [list, tuple, np.array])
def test_rows_of_three_are_edges(form):
    assert weights(form([[0, 1, 2.0], [1, 2, -1.0]])).tolist() == [[0, 2, 0], [2, 0, -1], [0, -1, 0]]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ([("a", "b", 1.0)], r"edge \('a', 'b'\) has the node 'a': number the nodes 0\.\.n-1, or use a networkx graph"),
        ([(0, 1), (1,)], r"W holds \(1,\): expected tuples \(i, j\)"),
        ([(0, 1, None)], r"edge \(0, 1\) has weight None: expected a number"),
        ([[0, 1], [1]], "different lengths: expected a square matrix"),
        ([(0, 1, 1.7e308), (0, 2, 1.7e308), (1, 2, -1.7e308)], "add up to inf: expected.*divide"),
        ([(0, 1, 1.7e308), (0, 1, 1.7e308), (1, 2, -1.0)], "add up to inf: expected.*divide"),
        (edge(weight=1.7e308), "add up to inf: expected.*divide"),
        ([(0, 1, 5e-324)], "add up to 9.88131e-324: expected 3.56012e-307 to.*divide"),
        (edge(weight=None), r"edge \('a', 'b'\) has weight None"),
        (edge(weight=1 + 0j), r"has weight \(1\+0j\)"),
        (edge(weight=np.complex64(1)), "has weight np.complex64"),
        (edge(weight=[1]), r"has weight \[1\]"),
        (edge(weight=10**400), "has weight 1000.*a float can hold"),
        (edge(weight=-3.0, sign=1), "weight -3 but a positive sign"),
        (
            np.array([[0, 1e12, 0], [1e12, 0, 5], [0, 0, 0]]),
            r'edge \(1, 2\) has weight 5, but 0 in the opposite direction: pass directed="sum", "mean" or "sign"',
        ),
        (
            sp.csr_array([[0, 1e12, 0], [1e12, 0, 5], [0, -5, 0]]),
            r'edge \(1, 2\) has weight 5, but -5 in the opposite direction: pass directed="sum", "mean" or "sign"',
        ),
        (
            pd.DataFrame(np.eye(2), list("ab"), list("ba")),
            r"index \['a', 'b'\] but the columns \['b', 'a'\]: expected the same names in the same order",
        ),
        (pd.DataFrame(np.eye(2), columns=["a", "b"]), r"index \[0, 1\].*same names.*or pass W\.to_numpy\(\)"),
        (pd.DataFrame(np.ones((2, 4))), r"shape \(2, 4\): expected a square matrix"),
        (set(), r"shape \(0,\): expected a square matrix"),
        ([(0, -1)], "has the node -1: expected nodes numbered by integers from 0 on"),
        ([(0, 2**63)], "has the node 9223372036854775808, but there are only 1 edges"),
        ([(0, 10**400)], "larger than a float can hold: number the nodes from 0 on"),
        (np.diag([0, 0, np.nan]), r"edge \(2, 2\) has weight nan: expected a finite number; leave unknown edges out"),
        (sp.csr_array([[0, np.inf], [np.inf, 0]]), r"edge \(0, 1\) has weight inf: expected a finite number"),
        (np.array([[0, 1, 1.0], [4, 2, -np.inf]]), r"edge \(4, 2\) has weight -inf: expected a finite number"),
        (edge(weight=np.nan), r"edge \(a, b\) has weight nan: expected a finite number"),
        (np.array([[0, 1, 1], [1, 2, 1], [0, 2, 1]]), "symmetric.*or give three edges as a list of tuples"),
        (np.triu(np.ones((3, 3)), 1), r"symmetric; edge \(0, 1\) has weight 1, but 0 in .*directed="),
        (sp.csr_array(np.tril(np.ones((3, 3)), -1)), r"symmetric; edge \(0, 1\) has weight 0, but 1 in .*directed="),
    ],
)
def test_what_is_no_graph_is_refused(graph, message):
    with pytest.raises(ValueError, match=message):
        as_graph(graph)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ({(0, 1): 1.0}, "dictionary: expected.*list of tuples"),
        ("ab", "W is 'ab': expected a square matrix, a networkx graph or a list of tuples"),
        (5, "W is 5: expected a square matrix"),
        (np.ma.masked_less(np.ones((2, 2)), 0), r"W is a masked array: pass W\.filled\(0\)"),
        (np.ma.masked_array([[0, 1, 1.0]], [[0, 0, 1]]), r"W is a masked array: pass W\.filled\(0\)"),
    ],
)
def test_graphs_of_a_wrong_type_are_refused(graph, message):
    with pytest.raises(TypeError, match=message):
        as_graph(graph)


def test_rounding_of_sums_is_no_asymmetry(rng):
    W = random_weights(rng, 10)
    W[0, 1], W[1, 0] = 1e-17, -1e-17
    as_graph(W)
    as_graph(sp.csr_array(W))


def test_sparse_matrices_are_left_as_they_are():
    W = sp.csr_array(([3.0, 1.0, 2.0, 3.0], [1, 0, 0, 0], [0, 1, 4]), shape=(2, 2))
    W.has_sorted_indices = W.has_canonical_format = False
    W.data[:] = [6.0, 1.0, 2.0, 3.0]
    before = [part.copy() for part in (W.data, W.indices, W.indptr)]
    assert signed_cut(W, random_state=0).value == 12
    for part, kept in zip((W.data, W.indices, W.indptr), before, strict=True):
        np.testing.assert_array_equal(part, kept)


def test_sign_and_weight_of_networkx_edges():
    G = edge(weight=3.0, sign=-1)
    assert weights(G)[0, 1] == -3
    assert weights(edge(weight=-3.0, sign=-1))[0, 1] == -3
    partition = frustration(G, random_state=0).partition
    assert partition[0] != partition[1]
    assert frustration(edge(weight=-3.0, sign=1), random_state=0).index == 0


def test_nodes_keep_their_names():
    G = nx.relabel_nodes(nx.cycle_graph(5), dict(enumerate("abcde")))
    for found in (signed_cut(G, random_state=0), max_cut(G, random_state=0), frustration(G, random_state=0)):
        assert found.nodes == list("abcde")
    ground = ising_ground_state({"c": 1.0}, G, random_state=0)
    assert ground.nodes == list("abcde")
    assert ground.spins[2] == -1
    assert signed_cut([(0, 1)], random_state=0).nodes == [0, 1]


@pytest.mark.parametrize("dtype", [float, int, np.float32])
def test_names_of_a_frame_reach_the_cut(dtype):
    W = pd.DataFrame(np.ones((3, 3)), list("abc"), list("abc")).astype(dtype)
    for view in (signed_cut, max_cut, frustration):
        assert view(W, random_state=0).nodes == list("abc")
    ground = ising_ground_state({"b": 1.0}, W, random_state=0)
    assert dict(zip(ground.nodes, ground.spins.tolist(), strict=True))["b"] == -1
    assert (W == 1).all(axis=None)
    assert frustration(as_graph(W), random_state=0).nodes == list("abc")
    assert signed_cut(W.reset_index(drop=True).T.reset_index(drop=True), random_state=0).nodes == [0, 1, 2]
    edges = pd.DataFrame({"from": [0, 1], "to": [1, 2], "weight": [2.0, -1.0]})
    np.testing.assert_array_equal(weights(edges), [[0, 2, 0], [2, 0, -1], [0, -1, 0]])


def test_fortran_order_is_read_by_rows(rng):
    W = random_weights(rng, 50)
    graph = as_graph(np.asfortranarray(W))
    assert graph.weights.flags.c_contiguous
    expected = signed_cut(W, random_state=0)
    np.testing.assert_array_equal(signed_cut(np.asfortranarray(W), random_state=0).partition, expected.partition)
    wide = np.zeros((100, 100))
    wide[::2, ::2] = W
    np.testing.assert_array_equal(signed_cut(wide[::2, ::2], random_state=0).partition, expected.partition)


def test_max_cut_leaves_what_is_given(rng):
    W = random_weights(rng, 12)
    for given in (W.copy(), sp.csr_array(W), DenseGraph(W.copy()), SparseGraph(W), np.rint(W).astype(int)):
        before = getattr(given, "weights", given).copy()
        first, second = (max_cut(given, random_state=0).weight for _ in "ab")
        assert first == second
        assert abs(getattr(given, "weights", given) - before).max() == 0


def test_ising_models_as_dictionaries():
    expected = ising_ground_state([0.5, 0.0, 0.0], [(0, 1, 1.0), (1, 2, -1.0)], random_state=0)
    by_number = ising_ground_state({0: 0.5}, {(0, 1): 1.0, (1, 2): -1.0}, random_state=0)
    np.testing.assert_array_equal(by_number.spins, expected.spins)
    mixed = ising_ground_state([0.5, 0.0, 0.0], {(0, 1): 1.0, (1, 2): -1.0}, random_state=0)
    assert (mixed.energy, by_number.energy) == (expected.energy, expected.energy)
    named = ising_ground_state({"x": 0.5}, {("x", "y"): 1.0, ("y", "z"): -1.0}, random_state=0)
    assert dict(zip(named.nodes, named.spins.tolist(), strict=True)) == {"x": -1, "y": 1, "z": 1}
    assert ising_ground_state({"x": 0.5, "y": -1.0}, {}, random_state=0).energy == -1.5
    assert ising_ground_state({}, {(np.int64(2), np.int64(0)): 1.0}, random_state=0).nodes == [0, 1, 2]
    many = ising_ground_state(np.ones(1_500_000), {(0, 1): 1.0}, search=Annealing(n_sweeps=1), random_state=0)
    assert many.energy == -1_499_999


@pytest.mark.parametrize("layout", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_couplings_in_any_sparse_layout(layout, rng):
    J, h = random_weights(rng, 8, 0.5), rng.normal(size=8)
    expected = ising_ground_state(h, J, random_state=0)
    found = ising_ground_state(h, sp.coo_array(J).asformat(layout), random_state=0)
    assert found.energy == pytest.approx(expected.energy)
    np.testing.assert_array_equal(found.spins, expected.spins)


@pytest.mark.parametrize(
    ("h", "J", "message"),
    [
        ([1.0, 0, 3, 4], np.array([[0, 1.0], [1, 0]]), r"h has shape \(4,\): expected one finite field for each of 2"),
        ([1.0, 0], np.array([[0, 1.0], [0, 0]]), r"symmetric; edge \(0, 1\) has weight 1, but 0 in .*directed="),
        ([1.7e308, 1.7e308], np.array([[0, 1.0], [1, 0]]), "add up to.*divide"),
        ({5: 1.0}, np.array([[0, 1.0], [1, 0]]), "a field for 5: expected one of the 2 spins"),
        ({}, {}, "no spins"),
        ([1j, 0], np.array([[0, 1.0], [1, 0]]), r"h holds \[1j, 0\]: expected a real number"),
        (["a", "b"], np.array([[0, 1.0], [1, 0]]), "h holds .*: expected a real number"),
        ({"a": "x"}, {("a", "b"): 1.0}, "h holds .*: expected a real number"),
        ({"a": np.nan}, {("a", "b"): 1.0}, "h holds .*: expected one finite field for each of 2 spins"),
        ({}, {("a", "b"): "x"}, r"J has 'x' at \('a', 'b'\): expected a finite number"),
        ({"c": 1.0}, {("a", "b"): 1.0, ("b", "c"): np.nan}, r"J has nan at \('b', 'c'\): expected a finite number"),
        (1.0, {(0, 1): 1.0}, "h is 1.0: expected one field for each spin"),
        ({}, {0: 1.0}, r"J has the key 0: expected \{\(spin, spin\): coupling\}"),
        ({}, {(0, 1, 2): 1.0}, r"J has the key \(0, 1, 2\)"),
        ({10**9: 1.0}, {(0, 1): 1.0}, "the spin 1000000000, but only 3 spins"),
    ],
)
def test_what_is_no_ising_model_is_refused(h, J, message):
    with pytest.raises(ValueError, match=message):
        ising_ground_state(h, J)


def test_masked_fields_are_refused():
    with pytest.raises(TypeError, match=r"h is a masked array: pass h\.filled\(0\)"):
        ising_ground_state(np.ma.masked_less([1.0, -1.0], 0), np.eye(2))


def test_couplings_of_a_dictionary_are_summed_in_both_directions():
    for J in ({(0, 1): 1.0, (1, 0): 1.0}, {("a", "b"): 3.0, ("b", "a"): -1.0}):
        assert ising_ground_state({}, J, random_state=0).energy == -2.0


def test_dense_couplings_stay_dense(rng):
    J = random_weights(rng, 30).astype(np.float32)
    ground = ising_ground_state(np.ones(30, np.float32), J, search=Annealing(n_sweeps=50), random_state=0)
    assert isinstance(ground.cut.graph, DenseGraph)
    assert ground.cut.graph.weights.dtype == np.float32


def test_views_tell_how_the_search_went():
    for found in (max_cut([(0, 1)]), frustration([(0, 1)]), ising_ground_state([1.0], [(0, 0, 0.0)])):
        assert (found.status, found.gap, len(found.history)) == ("optimal", 0.0, 1)


@pytest.mark.parametrize(("vartype", "expected"), [("SPIN", {10**9: -1, "b": 1}), ("BINARY", {10**9: 0, "b": 1})])
def test_variables_of_any_name_are_sampled(vartype, expected, monkeypatch):
    class Model:
        variables = (10**9, "b")

        def to_ising(self):
            return {10**9: 0.5, "b": 0.0}, {(10**9, "b"): 1.0}, 3.0

    dimod = SimpleNamespace(
        SPIN="SPIN", SampleSet=SimpleNamespace(from_samples_bqm=lambda *parts, info: (*parts, info))
    )
    monkeypatch.setitem(__import__("sys").modules, "dimod", dimod)
    bqm = Model()
    bqm.vartype = getattr(dimod, vartype, vartype)
    values, model, info = sample(bqm, random_state=0)
    assert (values, model) == (expected, bqm)
    assert info == {"proved": True, "lower_bound": 1.5, "status": "optimal"}


def test_sample_without_dimod_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "dimod", None)
    with pytest.raises(ModuleNotFoundError, match="pip install dimod"):
        sample(object())
