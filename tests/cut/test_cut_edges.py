"""One rule for repeated edges and for edges with a direction, in Python objects and in files."""

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from proxcode.cut import as_graph, frustration, ising_ground_state, max_cut, signed_cut
from proxcode.files import read_graph

nx = pytest.importorskip("networkx")
WAYS = ["sum", "mean", "sign"]
REMEDY = 'pass directed="sum", "mean" or "sign"'


def weights(graph, directed=None):
    graph = as_graph(graph, directed)
    return graph.weights.toarray() if sp.issparse(graph.weights) else graph.weights


def combined(edges, n, directed):
    """Transcription of the rule, edge by edge."""
    directions = {}
    for i, j, weight in edges:
        if i != j:
            directions[i, j] = directions.get((i, j), 0.0) + weight
    W = np.zeros((n, n))
    for (i, j), weight in directions.items():
        both = [weight] + ([directions[j, i]] if (j, i) in directions else [])
        W[i, j] = W[j, i] = {"sum": sum(both), "mean": sum(both) / len(both), "sign": np.sign(sum(np.sign(both)))}[
            directed
        ]
    return W


edge_lists = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(-3, 3)), min_size=4, max_size=12
).filter(lambda edges: any(i != j for i, j, _ in edges))


@settings(deadline=None, max_examples=150)
@given(edge_lists, st.sampled_from(WAYS))
def test_directions_are_combined_edge_by_edge(edges, directed):
    n = max(max(i, j) for i, j, _ in edges) + 1
    np.testing.assert_array_equal(weights(edges, directed), combined(edges, n, directed))
    np.testing.assert_array_equal(weights(np.array(edges), directed), combined(edges, n, directed))


@settings(deadline=None, max_examples=60)
@given(edge_lists, st.sampled_from(WAYS))
def test_matrices_frames_and_networkx_follow_the_same_rule(edges, directed):
    W = np.zeros((5, 5))
    for i, j, weight in edges:
        W[i, j] += weight
    expected = combined([(i, j, W[i, j]) for i, j in zip(*np.nonzero(W), strict=True)], 5, directed)
    G = nx.DiGraph()
    G.add_nodes_from(range(5))
    G.add_weighted_edges_from((int(i), int(j), W[i, j]) for i, j in zip(*np.nonzero(W), strict=True))
    for graph in (W, W.astype(np.float32), W.astype(int), sp.csr_array(W), sp.coo_array(W), pd.DataFrame(W), G):
        found = weights(graph, directed)
        np.testing.assert_array_equal(found - np.diag(found.diagonal()), expected)


def test_repeated_edges_are_summed_and_self_loops_ignored():
    edges = [(0, 1, 2.0), (0, 1, -5.0), (2, 2, 9.0), (1, 2, 1.0), (1, 2, -1.0)]
    np.testing.assert_array_equal(weights(edges), [[0, -3, 0], [-3, 0, 0], [0, 0, 0]])
    opposite = [(0, 1, 2.0), (1, 0, -5.0), (2, 2, 9.0), (1, 2, 1.0), (1, 2, -1.0)]
    np.testing.assert_array_equal(weights(opposite, "sum"), [[0, -3, 0], [-3, 0, 0], [0, 0, 0]])


def test_equal_directions_count_once():
    for edges in ([(0, 1, 2.0), (1, 0, 2.0)], [(0, 1, 1.0), (0, 1, 1.0), (1, 0, 2.0)], [(0, 1, 0.3), (1, 0, 0.1 * 3)]):
        np.testing.assert_allclose(weights(edges)[0, 1], edges[-1][2])
    assert max_cut([(0, 1, 2.0), (1, 0, 2.0)], random_state=0).weight == 2


@pytest.mark.parametrize("solve", [as_graph, signed_cut, max_cut, lambda J, **kw: ising_ground_state([0, 0], J, **kw)])
@pytest.mark.parametrize(
    ("graph", "first", "second"),
    [
        ([(0, 1, 2.0), (1, 0, -5.0)], "2", "-5"),
        ([(0, 1, 2.0), (1, 0, 0.0)], "2", "0"),
        (np.array([[1, 0, 0.5], [0, 1, 2]]), "2", "0.5"),
        (np.array([[0, 2.0], [0.5, 0]]), "2", "0.5"),
        (sp.csr_array([[0, 2.0], [0, 0]]), "2", "0"),
        (nx.DiGraph([(0, 1, {"weight": 2}), (1, 0, {"weight": 3})]), "2", "3"),
    ],
)
def test_different_directions_are_refused_unless_combined(solve, graph, first, second):
    with pytest.raises(ValueError, match=rf"edge \(0, 1\) has weight {first}, but {second} in the .*: {REMEDY}"):
        solve(graph)
    for directed in WAYS:
        solve(graph, directed=directed)


@pytest.mark.parametrize("solve", [as_graph, signed_cut, max_cut, frustration])
def test_unknown_ways_to_combine_are_refused(solve):
    with pytest.raises(ValueError, match='directed=\'max\': expected "sum", "mean", "sign" or None'):
        solve([(0, 1)], directed="max")


def test_conflicts_are_named_by_the_nodes():
    G = nx.DiGraph([("ann", "bob", {"sign": 1}), ("bob", "ann", {"sign": -1})])
    with pytest.raises(ValueError, match=r"edge \(ann, bob\) has weight 1, but -1"):
        signed_cut(G)
    assert frustration(G, random_state=0).n_edges == 0


def test_networkx_signs_multigraphs_and_directions():
    G = nx.MultiDiGraph()
    G.add_edge("a", "b", sign=-1)
    G.add_edge("b", "a", sign=-1)
    G.add_edge("b", "c")
    G.add_node("alone")
    assert weights(G)[0].tolist() == [0, -1, 0, 0]
    assert weights(G, "sum")[0].tolist() == [0, -2, 0, 0]
    partition = dict(zip(G, signed_cut(G, random_state=0).partition, strict=True))
    assert partition["a"] != partition["b"] == partition["c"]
    parallel = nx.MultiGraph([("a", "b"), ("b", "a"), ("b", "a")])
    assert weights(parallel)[0, 1] == 3


def test_frustration_combines_directions_by_sign():
    edges = [(0, 1, 9.0), (1, 0, -0.1), (1, 2, 1.0), (2, 1, 4.0), (0, 2, -1.0), (2, 2, -5.0)]
    assert frustration(edges, random_state=0).n_edges == 2
    assert frustration(edges, directed="sum", random_state=0).n_edges == 3
    assert frustration(np.triu(-np.ones((4, 4)), 1), random_state=0).index == 2
    assert frustration([(0, 1, 1e308), (0, 1, 1e308)], random_state=0).index == 0


@pytest.mark.parametrize("directed", WAYS)
@pytest.mark.parametrize("suffix", ["csv", "txt", "npy", "npz", "mtx"])
def test_files_follow_the_same_rule(suffix, directed, tmp_path, rng):
    W = np.triu(rng.integers(-2, 3, (6, 6)), 1).astype(float)
    W[4, 1], W[5, 0], W[3, 2] = W[1, 4], 7.0, -2.0
    W[0, 5], W[2, 3] = 1.0, 2.0
    np.fill_diagonal(W[1:], np.where(np.diag(W, 1) == 0, 1.0, np.diag(W, 1)))
    edges = [(i, j, W[i, j]) for i, j in zip(*np.nonzero(W), strict=True)]
    path = tmp_path / f"graph.{suffix}"
    blank = "," if suffix == "csv" else " "
    write = {
        "npy": lambda: np.save(path, W),
        "npz": lambda: sp.save_npz(path, sp.csr_array(W)),
        "mtx": lambda: scipy.io.mmwrite(path, sp.coo_array(W), symmetry="general"),
    }.get(suffix, lambda: path.write_text("".join(f"{i}{blank}{j}{blank}{w}\n" for i, j, w in edges)))
    write()
    np.testing.assert_array_equal(read_graph(path, directed).weights.toarray(), weights(edges, directed))
    with pytest.raises(ValueError, match=rf"graph\.{suffix}: .*edge .* {REMEDY}.*--directed"):
        read_graph(path)


def test_frustration_of_real_networks(data_folder):
    networks = np.load(data_folder / "signed_graphs.npz")
    for name, index in {"highlandtribes": 7, "cloister": 34, "us_congress": 18, "bitcoin_alpha": 720}.items():
        assert frustration(networks[name], time_limit=2.0, random_state=0).index == index
    with pytest.raises(ValueError, match=REMEDY):
        signed_cut(networks["bitcoin_alpha"])
