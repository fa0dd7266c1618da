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
    (tmp_path / "g.txt").write_text("4 2\n1 2\n9 4\n")  # two rows follow, but of a point 9: an edge list
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
        with pytest.raises(ValueError, match=r"weight 1, but 0 the other way: make the matrix symmetric"):
            read_graph(tmp_path / name)
