"""Graphs from files."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from proxcode import signed_cut
from proxcode.files import read_graph

TRIANGLE = np.array([[0, 1, -2.5], [1, 0, 0], [-2.5, 0, 0]])


@pytest.mark.parametrize(
    ("name", "content", "names"),
    [
        ("g.csv", "b,a,1\nb,c,-2.5\n", ["b", "a", "c"]),
        ("g.csv", "1_11,11_1,1\n1_11,111,-2.5\n", ["1_11", "11_1", "111"]),
        ("g.csv", "source,target,weight\n0,1,1\n0,2,-2.5\n", [0, 1, 2]),
        ("g.csv", "0,1,1\n2,0,-2.5\n1,0,1\n", [0, 1, 2]),
        ("g.csv", "0,1,0.25\n0,1,0.75\n0,2,-2.5\n1,1,9\n", [0, 1, 2]),
        ("g.tsv", "7\t9\t1\n7\t100\t-2.5\n", [7, 9, 100]),
        ("g.txt", "# made by hand\n0 1 1\n  0   2  -2.5\n\n", [0, 1, 2]),
        ("g", "3 2\n1 2 1\n1 3 -2.5\n", [1, 2, 3]),
        ("g.gset", "3 2\n1 2 1\n3 1 -2.5\n", [1, 2, 3]),
        ("g.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1\n3 1 -2.5\n", [1, 2, 3]),
        ("g.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 2\n2 1 1\n1 3 -2.5\n", [1, 2, 3]),
    ],
)
def test_graphs(tmp_path, name, content, names):
    (tmp_path / name).write_text(content)
    graph = read_graph(tmp_path / name)
    np.testing.assert_array_equal(graph.weights.toarray(), TRIANGLE)
    assert graph.names.tolist() == names
    assert signed_cut(graph.weights, random_state=0).partition.tolist() in ([1, 1, -1], [-1, -1, 1])


def test_graphs_without_weights(tmp_path):
    for content, names in (("ann,bob\nbob,cid\n", ["ann", "bob", "cid"]), ("from,to\nx,y\ny,z\n", ["x", "y", "z"])):
        (tmp_path / "g.csv").write_text(content)
        graph = read_graph(tmp_path / "g.csv")
        assert graph.names.tolist() == names
        assert graph.weights.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    (tmp_path / "g.csv").write_text("left,right\n4,5\n")
    assert read_graph(tmp_path / "g.csv").names.tolist() == [4, 5]
    (tmp_path / "g.txt").write_text("4 2\n1 2\n9 4\n")  # two rows follow, but with a node 9: an edge list
    assert read_graph(tmp_path / "g.txt").names.tolist() == [1, 2, 4, 9]
    for content, names in (("3 1\n", [1, 3]), ("3 0\n0 1\n", [0, 1, 3]), ("4 1\n2 3\n", [1, 2, 3, 4])):
        (tmp_path / "g.txt").write_text(content)
        assert read_graph(tmp_path / "g.txt").names.tolist() == names


def test_graphs_as_arrays(tmp_path):
    np.save(tmp_path / "g.npy", TRIANGLE + np.diag([1, 2, 3]))
    sp.save_npz(tmp_path / "g.npz", sp.csr_array(TRIANGLE))
    matrices = {"sparse": sp.coo_array(TRIANGLE), "dense": TRIANGLE}
    for name, matrix in matrices.items():
        for symmetry in ("general", "symmetric"):
            scipy.io.mmwrite(tmp_path / f"{name}-{symmetry}.mtx", matrix, comment="of three", symmetry=symmetry)
    assert len(list(tmp_path.glob("*.mtx"))) == 4
    for name in ("g.npy", "g.npz", *(path.name for path in tmp_path.glob("*.mtx"))):
        np.testing.assert_array_equal(read_graph(tmp_path / name).weights.toarray(), TRIANGLE)
    np.save(tmp_path / "g.npy", np.triu(TRIANGLE))
    sp.save_npz(tmp_path / "g.npz", sp.csr_array(np.triu(TRIANGLE)))
    for name in ("g.npy", "g.npz"):
        with pytest.raises(ValueError, match=r"edge \(0, 2\) has weight -2.5, but 0 in .*directed="):
            read_graph(tmp_path / name)
        np.testing.assert_array_equal(read_graph(tmp_path / name, directed="sum").weights.toarray(), TRIANGLE)


def saved(array):
    return lambda path: np.save(path, array)


def archive(**named):
    return lambda path: np.savez(path, **named)


def half(write):
    def make(path):
        write(path)
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])

    return make


MARKET = "%%MatrixMarket matrix"
BAD_GRAPHS = [
    ("g.csv", "a,b,1\nb,c,nan\n", r"g.csv: edge \(b, c\) has weight nan: expected a finite number"),
    ("g.csv", "a,b,1\nb,c,inf\n", r"g.csv: edge \(b, c\) has weight inf: expected a finite number"),
    ("g.csv", "0,1,1\n1,2,x\n", "line 2 has the weight 'x': expected a number"),
    ("g.csv", "0,1,1\n1,2\n", "line 2 has 2 cells"),
    ("g.txt", "0 1 1\n1 2\n", "line 2 has 2 cells"),
    ("g.txt", "0 1 1 5\n", "line 1 has 4 cells"),
    ("g.csv", "0,1,1\n1,0,2\n", r"edge \(0, 1\) has weight 1, but 2 in the .*directed=\"sum\".*--directed"),
    ("g.csv", "0,0,1\n", "no edge between two different nodes"),
    ("g.csv", "a,b,c\n", "empty table: expected at least one edge"),
    ("g.csv", "a,,1\n", "line 1 has an empty cell: expected the names of both nodes"),
    ("g.txt", "# nothing\n", "empty table"),
    ("g.gset", "3 5\n1 2 1\n1 3 1\n", "has 2 entries, but announces 5"),
    ("g.gset", "3 0\n", "no edge between two different nodes"),
    ("g.txt", "# no edges\n3 0\n\n", "no edge between two different nodes"),
    ("g.gset", "3 0\n1 2 1\n", "has 1 entries, but announces 0"),
    ("g.gset", "3 2\n1 2 1\n1 4 1\n", "line 3 has the node '4': expected an integer from 1 to 3"),
    ("g.npy", saved(np.zeros((2, 3))), r"shape \(2, 3\): expected an n x n matrix of the weights of n nodes"),
    ("g.npy", saved(np.eye(2) + 1j), "has dtype complex128: expected real numbers"),
    ("g.npy", saved(np.array([[0, 1], [2, 0]])), r"symmetric; edge \(0, 1\) has weight 1, but 2 in"),
    ("g.npy", saved(np.array([[0, np.nan], [np.nan, 0]])), r"edge \(0, 1\) has weight nan: expected a finite"),
    ("g.npz", archive(a=np.ones((4, 3))), "(no|not a valid) scipy.sparse npz file"),
    ("g.npz", half(archive(a=np.ones((4, 3)))), "(cut short|truncated) or .* npz file"),
    ("g.mtx", "hello\n", "not a Matrix Market file: expected %%MatrixMarket in its first line"),
    ("g.mtx", f"{MARKET} coordinate real symmetric\n3 3 2\n2 1 1\n", "has 1 entries, but announces 2"),
    ("g.mtx", f"{MARKET} coordinate real general\n3 2 1\n2 1 1\n", r"shape \(3, 2\)"),
    ("g.mtx", f"{MARKET} coordinate real symmetric\n2 2 1\n2 1 3".encode() + b"\xf1", "no.* UTF-8 text"),
    ("g.mtx", f"{MARKET} coordinate real general\n3 3\n", "no line of 3 sizes"),
    ("g.mtx", f"{MARKET} coordinate real general\n", "no line of 3 sizes"),
    ("g.mtx", f"{MARKET} coordinate real general\n3 3 0\n", "no edge between two different nodes"),
    ("g.mtx", f"{MARKET} coordinate complex general\n1 1 1\n1 1 1 1\n", "'complex general' matrix: expected a real"),
    (
        "g.mtx",
        f"{MARKET} coordinate real general\n3 3 1\n2 4 1\n",
        "line 3 has the node '4': expected an integer from 1 to 3",
    ),
    ("g.mtx", f"{MARKET} array real general\n2 2\n1\n2\n", "has 2 entries, but announces 4"),
    ("g.mtx", f"{MARKET} array real symmetric\n2 2\n1\n2\nx\n", "line 5 holds 'x': expected one number"),
    ("g.xyz", "1 2\n", ".csv, .tsv, .txt, .edges, .gset, none, .mtx"),
    ("g.csv", None, "there is no file"),
]


@pytest.mark.parametrize(("name", "content", "sentence"), BAD_GRAPHS)
def test_bad_graphs(tmp_path, name, content, sentence):
    path = tmp_path / name
    if callable(content):
        content(path)
    elif content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises((ValueError, FileNotFoundError), match=sentence):
        read_graph(path)
