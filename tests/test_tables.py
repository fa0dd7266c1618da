import struct
import subprocess
import sys
import tracemalloc

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from safetensors.numpy import save_file

from proxcode import signed_cut
from proxcode.proximity import class_numbers
from proxcode.tables import open_vectors, read_graph, read_labels, read_pairs, write_table
from proxcode.tables.vectors import VECTOR_FORMATS

N, D = 23, 5


def texmex(path, X):
    rows = [struct.pack("<i", len(row)) + row.tobytes() for row in X]
    path.write_bytes(b"".join(rows))


def text(path, X):
    separator = "," if path.suffix == ".csv" else "\t"
    path.write_text("\n".join(separator.join(map(repr, row)) for row in X.tolist()) + "\n")


def arrow_columns(X):
    return pa.table({f"x{k}": X[:, k] for k in range(X.shape[1])})


def ipc(path, table):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=4)


def hdf5(path, X):
    with h5py.File(path, "w") as file:
        file.create_dataset("group/x", data=X)
        file.create_dataset("y", data=np.arange(len(X)))


WRITERS = {
    ".npy": np.save,
    ".npz": lambda path, X: np.savez_compressed(path, X=X, y=np.arange(len(X))),
    ".safetensors": lambda path, X: save_file({"X": X, "y": np.arange(len(X))}, path),
    ".h5": hdf5,
    ".hdf5": hdf5,
    ".fvecs": texmex,
    ".bvecs": texmex,
    ".ivecs": texmex,
    ".csv": text,
    ".tsv": text,
    ".parquet": lambda path, X: pq.write_table(arrow_columns(X), path, row_group_size=4),
    ".arrow": lambda path, X: ipc(path, arrow_columns(X)),
    ".feather": lambda path, X: pa.feather.write_feather(arrow_columns(X), str(path)),
}
DTYPES = {".bvecs": np.uint8, ".ivecs": np.int32, ".csv": np.float64, ".tsv": np.float64}


@pytest.fixture(params=VECTOR_FORMATS)
def table(request, tmp_path, rng):
    dtype = DTYPES.get(request.param, np.float32)
    X = (100 * rng.random((N, D))).astype(dtype)
    path = tmp_path / f"t{request.param}"
    WRITERS[request.param](path, X)
    return path, X


def test_every_format_gives_back_the_array(table):
    path, X = table
    vectors = open_vectors(path)
    assert vectors.path == path
    assert vectors.n_columns == D
    assert vectors.dtype == X.dtype
    assert vectors.n_rows in (N, None)
    read = vectors.read()
    np.testing.assert_array_equal(read, X)
    assert read.dtype == X.dtype


@pytest.mark.parametrize("size", [1, 4, 7, N, 100])
@pytest.mark.parametrize("start", [0, 1, 4, 5, N - 1, N])
def test_blocks(table, size, start):
    path, X = table
    blocks = list(open_vectors(path).blocks(size, start))
    assert [len(block) for block in blocks] == [min(size, N - first) for first in range(start, N, size)]
    assert all(block.dtype == X.dtype and not isinstance(block, np.memmap) for block in blocks)
    np.testing.assert_array_equal(np.concatenate([X[:0], *blocks]), X[start:])


def test_columns_are_chosen_and_dropped(table):
    path, X = table
    np.testing.assert_array_equal(open_vectors(path, columns=[3, 1]).read(), X[:, [3, 1]])
    np.testing.assert_array_equal(open_vectors(path, drop=["0"]).read(), X[:, 1:])
    block = next(open_vectors(path, columns=[0, 2], drop=[0]).blocks(3, 2))
    np.testing.assert_array_equal(block, X[2:5, [2]])


def test_a_start_behind_the_end_is_refused(table):
    with pytest.raises(ValueError, match=r"start=24: .* has rows 0 to 22"):
        list(open_vectors(table[0]).blocks(2, N + 1))


def test_size_and_start_are_checked_at_once(table):
    with pytest.raises(ValueError, match="size=0"):
        open_vectors(table[0]).blocks(0)
    with pytest.raises(ValueError, match="start=-1"):
        open_vectors(table[0]).blocks(1, -1)


def test_other_orders_of_bytes_and_of_values(tmp_path, rng):
    X = rng.random((N, D))
    for name, array in {"big": X.astype(">f4"), "fortran": np.asfortranarray(X), "bool": X > 0.5}.items():
        np.save(tmp_path / "x.npy", array)
        np.savez(tmp_path / "x.npz", array)
        for suffix in (".npy", ".npz"):
            vectors = open_vectors(tmp_path / f"x{suffix}")
            blocks = list(vectors.blocks(4, 2))
            np.testing.assert_array_equal(np.concatenate(blocks), array[2:], err_msg=name)
            np.testing.assert_array_equal(vectors.read(), array)
            assert blocks[0].dtype.isnative
            assert vectors.read().dtype.isnative


def test_keys(tmp_path, rng):
    X, Z = rng.random((2, N, D))
    np.savez(tmp_path / "a.npz", X=X, Z=Z)
    save_file({"X": X, "Z": Z}, tmp_path / "a.safetensors")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["X"], file["deep/Z"] = X, Z
    for name, key in (("a.npz", "Z"), ("a.safetensors", "Z"), ("a.h5", "/deep/Z")):
        np.testing.assert_array_equal(open_vectors(tmp_path / name, key=key).read(), Z)
        with pytest.raises(ValueError, match=rf"several arrays: name one of X \({N}, {D}\)"):
            open_vectors(tmp_path / name)
        with pytest.raises(ValueError, match=r"no array 'Q': it has X"):
            open_vectors(tmp_path / name, key="Q")


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), D), pa.large_list(pa.float32())])
def test_a_column_of_lists_is_an_embedding(tmp_path, rng, kind):
    X = rng.random((N, D), dtype=np.float32)
    embeddings = pa.array(X.tolist(), type=kind)
    table = pa.table({"id": np.arange(N), "text": ["a"] * N, "embedding": embeddings})
    pq.write_table(table, tmp_path / "e.parquet", row_group_size=6)
    ipc(tmp_path / "e.arrow", table)
    for path in (tmp_path / "e.parquet", tmp_path / "e.arrow"):
        np.testing.assert_array_equal(open_vectors(path).read(), X)
        np.testing.assert_array_equal(np.concatenate(list(open_vectors(path).blocks(5, 7))), X[7:])
        np.testing.assert_array_equal(open_vectors(path, columns=["id"]).read()[:, 0], np.arange(N))


def test_an_arrow_stream_in_a_file(tmp_path, rng):
    X = rng.random((N, D))
    table = arrow_columns(X)
    with pa.OSFile(str(tmp_path / "s.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=6)
    vectors = open_vectors(tmp_path / "s.arrow")
    assert vectors.n_rows is None
    np.testing.assert_array_equal(vectors.read(), X)
    np.testing.assert_array_equal(next(vectors.blocks(9, 5)), X[5:14])
    assert list(vectors.blocks(9, N)) == []
    with pytest.raises(ValueError, match=r"start=24: .* has rows 0 to 22"):
        list(vectors.blocks(9, N + 1))


def test_missing_floats_of_arrow_are_nan(tmp_path):
    pq.write_table(pa.table({"a": [1.0, None], "b": [1, 2]}), tmp_path / "m.parquet")
    np.testing.assert_array_equal(open_vectors(tmp_path / "m.parquet").read(), [[1, 1], [np.nan, 2]])


def test_text_with_names_quotes_blank_lines_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('"x","note, long",y\n1,"two\nlines, one ""cell""",2\n\n 3 ,plain,"4e-1"\n\n', encoding="utf-8-sig")
    for choice in ({"columns": ["x", "y"]}, {"drop": ["note, long"]}, {"drop": [1]}):
        np.testing.assert_array_equal(open_vectors(path, **choice).read(), [[1, 2], [3, 0.4]])
    assert read_labels(f"{path}:note, long").tolist() == ['two\nlines, one "cell"', "plain"]


def test_labels_in_the_table_of_the_vectors(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y,label\n1,2,cat\n3,4,\n5,6,dog\n")
    for drop in (("label",), "label"):
        np.testing.assert_array_equal(open_vectors(path, drop=drop).read(), [[1, 2], [3, 4], [5, 6]])
    labels = read_labels(f"{path}:label")
    assert labels.tolist() == ["cat", None, "dog"]
    assert class_numbers(labels).tolist() == [0, -1, 1]
    assert read_labels(f"{path}:2").tolist() == labels.tolist()


numbers = st.floats(allow_nan=True, allow_infinity=True)
reused = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@reused
@given(X=arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=numbers), size=st.integers(1, 8))
def test_text_round_trip(tmp_path, X, size):
    for suffix in (".csv", ".tsv"):
        text(tmp_path / f"h{suffix}", X)
        vectors = open_vectors(tmp_path / f"h{suffix}")
        np.testing.assert_array_equal(np.concatenate(list(vectors.blocks(size))), X)
        write_table(tmp_path / f"w{suffix}", {"x": X})
        np.testing.assert_array_equal(open_vectors(tmp_path / f"w{suffix}").read(), X)


@reused
@given(
    X=arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=st.floats(width=32)),
    size=st.integers(1, 8),
    start=st.integers(0, 7),
)
def test_fvecs_round_trip(tmp_path, X, size, start):
    texmex(tmp_path / "h.fvecs", X)
    start = min(start, len(X))
    blocks = open_vectors(tmp_path / "h.fvecs").blocks(size, start)
    np.testing.assert_array_equal(np.concatenate([X[:0], *blocks]), X[start:])


def sparse_npy(path, n_rows, n_columns):
    header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, n_columns)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 4 * n_rows * n_columns)


def sparse_bvecs(path, n_rows, dimension):
    with path.open("wb") as file:
        file.write(struct.pack("<i", dimension))
        file.seek((n_rows - 1) * (4 + dimension))
        file.write(struct.pack("<i", dimension))
        file.truncate(n_rows * (4 + dimension))


def test_a_block_of_a_large_file_takes_the_memory_of_a_block(tmp_path):
    sparse_npy(tmp_path / "large.npy", 2**20, 1024)  # 4 GB, none of it on the disk
    sparse_bvecs(tmp_path / "large.bvecs", 2**22, 1020)
    tracemalloc.start()
    try:
        block = next(open_vectors(tmp_path / "large.npy").blocks(1000, 10**6))
        assert block.shape == (1000, 1024)
        with pytest.raises(ValueError, match="row 4000000 has dimension 0"):
            next(open_vectors(tmp_path / "large.bvecs").blocks(1000, 4 * 10**6))
        assert tracemalloc.get_traced_memory()[1] < 3 * block.nbytes
    finally:
        tracemalloc.stop()


def test_all_blocks_of_a_large_file_leave_nothing_in_memory(tmp_path):
    sparse_npy(tmp_path / "large.npy", 2**18, 256)  # 256 MB
    script = (
        "import resource, sys; from proxcode.tables import open_vectors\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak(); n = sum(len(b) for b in open_vectors(sys.argv[1]).blocks(4096))\n"
        "print(n, peak() - before)"
    )
    run = subprocess.run([sys.executable, "-c", script, tmp_path / "large.npy"], capture_output=True, check=True)
    n, grown = map(int, run.stdout.split())
    assert n == 2**18
    assert grown < 40_000  # kB


def test_npz_blocks_are_unpacked_one_by_one(tmp_path):
    np.savez_compressed(tmp_path / "z.npz", np.zeros((100_000, 50)))
    tracemalloc.start()
    try:
        assert sum(len(block) for block in open_vectors(tmp_path / "z.npz").blocks(500)) == 100_000
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


def test_the_import_is_light():
    heavy = "{'numba', 'sklearn', 'pyarrow', 'h5py', 'pandas'}"
    script = (
        "import sys, types; package = types.ModuleType('proxcode'); package.__path__ = [sys.argv[1]]\n"
        f"sys.modules['proxcode'] = package; import proxcode.tables; print({heavy} & set(sys.modules))"
    )
    import proxcode

    run = subprocess.run([sys.executable, "-c", script, proxcode.__path__[0]], capture_output=True, check=True)
    assert run.stdout.strip() == b"set()"


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "h5py", None)
    for name in ("t.parquet", "t.arrow", "t.h5"):
        (tmp_path / name).write_bytes(b"something")
        with pytest.raises(ValueError, match=r"pip install 'proxcode\[tables\]'"):
            open_vectors(tmp_path / name)
        with pytest.raises(ValueError, match=r"pip install 'proxcode\[tables\]'"):
            read_labels(tmp_path / name)


# Labels


@pytest.mark.parametrize("y", [np.arange(6) % 3, np.array([0.5, np.nan, 1, 1]), np.array(["a", "b", "a"])])
def test_labels_of_every_format(tmp_path, y):
    X = np.zeros((len(y), 2))
    np.save(tmp_path / "y.npy", y)
    np.savez(tmp_path / "y.npz", X=X, y=y)
    pq.write_table(pa.table({"y": y.tolist()}), tmp_path / "y.parquet")
    ipc(tmp_path / "y.arrow", pa.table({"X": X[:, 0], "y": pa.array(y.tolist())}))
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file["X"] = X
        file["y"] = y.tolist()
    sources = ["y.npy", "y.npz", "y.npz:y", "y.parquet", "y.parquet:y", "y.arrow:y", "y.h5", "y.h5:y"]
    if y.dtype.kind != "U":
        save_file({"X": X, "y": y}, tmp_path / "y.safetensors")
        sources.append("y.safetensors")
    (tmp_path / "y.txt").write_text("\n".join(map(str, y)))
    write_table(tmp_path / "y.csv", {"x": X[:, 0], "y": y})
    for source in [*sources, "y.txt", "y.csv:y"]:
        labels = read_labels(tmp_path / source)
        np.testing.assert_array_equal(labels, y, err_msg=source)
        assert labels.dtype.kind == y.dtype.kind


def test_missing_labels(tmp_path):
    (tmp_path / "n.txt").write_text("3\n\n4\n\n")
    np.testing.assert_array_equal(read_labels(tmp_path / "n.txt"), [3, np.nan, 4])
    (tmp_path / "n.csv").write_text("label\ncat\n\ndog\n\n")
    assert read_labels(tmp_path / "n.csv").tolist() == ["cat", None, "dog"]
    pq.write_table(pa.table({"s": ["a", None, "b"], "n": [1, None, 2]}), tmp_path / "n.parquet")
    assert class_numbers(read_labels(tmp_path / "n.parquet:s")).tolist() == [0, -1, 1]
    assert class_numbers(read_labels(tmp_path / "n.parquet:n")).tolist() == [0, -1, 1]


def test_numbers_too_long_for_a_float_stay_apart(tmp_path):
    names = [str(2**63 + k) for k in range(3)]
    (tmp_path / "long.txt").write_text("\n".join(names))
    assert read_labels(tmp_path / "long.txt").tolist() == names


def test_long_whole_numbers_of_arrow_stay_apart(tmp_path):
    long = [2**60, 2**60 + 1, 1]
    columns = {
        "unsigned": pa.array([2**63, 2**63 + 1, 1], pa.uint64()),
        "signed": pa.array([-(2**60), *long[1:]]),
        "whole": long,
        "missing": [*long[:2], None],
        "float": [1e300, None, 2.0],
    }
    pq.write_table(pa.table(columns), tmp_path / "long.parquet")
    found = {name: read_labels(f"{tmp_path}/long.parquet:{name}") for name in columns}
    assert found["unsigned"].tolist() == [2**63, 2**63 + 1, 1]
    assert found["signed"].tolist() == [-(2**60), 2**60 + 1, 1]
    assert found["whole"].tolist() == long
    assert found["missing"].tolist() == [*long[:2], None]
    assert class_numbers(found["missing"]).tolist() == [0, 1, -1]
    np.testing.assert_array_equal(found["float"], [1e300, np.nan, 2])


def test_labels_of_hdf5_by_their_path_from_the_root(tmp_path):
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file["deep/y"], file["z"] = [3, 4], [5, 6]
    for key in ("deep/y", "/deep/y"):
        assert read_labels(f"{tmp_path}/y.h5:{key}").tolist() == [3, 4]


def test_indicator_matrices(tmp_path):
    Y = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]])
    np.save(tmp_path / "Y.npy", Y)
    write_table(tmp_path / "Y.csv", {"tag": Y})
    write_table(tmp_path / "Y.parquet", {"tags": Y})
    pq.write_table(pa.table({f"t{k}": Y[:, k] == 1 for k in range(3)}), tmp_path / "bool.parquet")
    texmex(tmp_path / "Y.ivecs", Y.astype(np.int32))
    for name in ("Y.npy", "Y.csv", "Y.parquet", "bool.parquet", "Y.ivecs"):
        np.testing.assert_array_equal(read_labels(tmp_path / name), Y, err_msg=name)
    np.testing.assert_array_equal(read_labels(tmp_path / "Y.npy:1"), Y[:, 1])


def test_a_matrix_of_one_column_is_labels(tmp_path):
    y = np.arange(4, dtype=np.int32)
    texmex(tmp_path / "y.ivecs", y[:, None])
    np.save(tmp_path / "y.npy", y[:, None])
    np.testing.assert_array_equal(read_labels(tmp_path / "y.ivecs"), y)
    np.testing.assert_array_equal(read_labels(tmp_path / "y.npy"), y)


def test_dictionary_columns_are_labels(tmp_path):
    pq.write_table(pa.table({"c": pa.array(["x", "y", "x"]).dictionary_encode()}), tmp_path / "d.parquet")
    assert read_labels(tmp_path / "d.parquet").tolist() == ["x", "y", "x"]


def test_a_colon_may_be_part_of_a_name(tmp_path):
    np.save(tmp_path / "a:b.npy", [1, 2])
    assert read_labels(tmp_path / "a:b.npy").tolist() == [1, 2]
    write_table(tmp_path / "a:b.csv", {"x": [0, 0], "c:d": [3, 4]})
    assert read_labels(tmp_path / "a:b.csv:c:d").tolist() == [3, 4]


# Pairs


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.csv", "0,1,1\n2,3,-1\n"),
        ("p.csv", "i,j,sign\n0,1,near\n2,3,far\n"),
        ("p.csv", "0,1,near\n2,3,far\n"),
        ("p.tsv", "a\tb\tc\n0\t1\t+1\n2\t3\t-1.0\n"),
    ],
)
def test_pairs(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    pairs = read_pairs(tmp_path / name)
    assert pairs.dtype == np.int64
    assert pairs.tolist() == [[0, 1, 1], [2, 3, -1]]


def test_two_columns_are_near_pairs(tmp_path):
    (tmp_path / "p.csv").write_text("0,1\n2,3\n")
    np.save(tmp_path / "p.npy", np.array([[0.0, 1], [2, 3]]))
    for name in ("p.csv", "p.npy"):
        assert read_pairs(tmp_path / name).tolist() == [[0, 1, 1], [2, 3, 1]]
    np.save(tmp_path / "p.npy", [[0, 1, 1], [2, 3, -1]])
    assert read_pairs(tmp_path / "p.npy").tolist() == [[0, 1, 1], [2, 3, -1]]


# Graphs

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
    assert signed_cut(graph.weights, random_state=0).side.tolist() in ([1, 1, -1], [-1, -1, 1])


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


# Writing


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".npz", ".parquet"])
def test_write_table(tmp_path, rng, suffix):
    path = tmp_path / f"out{suffix}"
    columns = {"file": np.arange(4), "x": rng.random(4, dtype=np.float32), "name": np.array(["a", "b,c", 'd"', "é"])}
    write_table(path, columns)
    for name, column in columns.items():
        read = read_labels(f"{path}:{name}")
        np.testing.assert_array_equal(read.astype(column.dtype), column)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet"])
def test_write_matrices_and_missing_labels(tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    X = np.arange(6).reshape(3, 2)
    write_table(path, {"x": X, "y": np.array(["a", None, "b"], dtype=object)})
    np.testing.assert_array_equal(open_vectors(path, drop=() if suffix == ".npz" else ["y"]).read(), X)
    assert read_labels(f"{path}:y").tolist() == ["a", "" if suffix == ".npz" else None, "b"]


def test_a_table_that_cannot_be_written_leaves_the_old_one(tmp_path):
    write_table(tmp_path / "t.npz", {"a": [1, 2]})
    with pytest.raises(ValueError, match="allow_pickle"):
        write_table(tmp_path / "t.npz", {"a": np.array([(1, None)], dtype=[("a", "i4"), ("b", "O")])})
    assert read_labels(tmp_path / "t.npz").tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "columns", "sentence"),
    [
        ("t.xls", {"a": [1]}, r"suffix '.xls': use one of .csv, .tsv, .npz, .parquet"),
        ("t.csv", {}, "no columns to write"),
        ("t.csv", {"a": [1, 2], "b": [1]}, r"column 'b' .* shape \(1,\): give 2 rows"),
        ("t.csv", {"a": np.zeros((1, 1, 1))}, r"column 'a' .* shape \(1, 1, 1\)"),
        ("t.csv", {"a": 3}, r"column 'a' .* shape \(\)"),
        ("t.csv", {"a": np.eye(2), "a_0": [5, 6]}, "two columns 'a_0': rename one"),
    ],
)
def test_what_cannot_be_written(tmp_path, name, columns, sentence):
    with pytest.raises(ValueError, match=sentence):
        write_table(tmp_path / name, columns)
    assert not list(tmp_path.iterdir())


# What is wrong with a file


def npy(array, **options):
    return lambda path: np.save(path, array, **options)


def npz(**named):
    return lambda path: np.savez(path, **named)


def parquet(**columns):
    return lambda path: pq.write_table(pa.table(columns), path)


def twins(path):
    pq.write_table(pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])], names=["a", "a"]), path)


def cut_short(write, keep=0.5):
    def make(path):
        write(path)
        content = path.read_bytes()
        path.write_bytes(content[: int(keep * len(content))])

    return make


def fvecs(*dimensions):
    def make(path):
        path.write_bytes(b"".join(struct.pack("<i", d) + bytes(8) for d in dimensions))

    return make


def flipped_npz(path):
    np.savez_compressed(path, X=np.random.default_rng(0).random((500, 5)))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def brain_floats(path):
    header = b'{"X":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]}}'
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))


def one_h5(**datasets):
    def make(path):
        with h5py.File(path, "w") as file:
            for name, data in datasets.items():
                file[name] = data

    return make


X = np.arange(12.0).reshape(4, 3)
BAD_VECTORS = [
    ("gone.npy", None, {}, "there is no file"),
    ("folder.npy", lambda path: path.mkdir(), {}, "is a folder: name a file in it"),
    ("x.xyz", "1", {}, r"suffix '.xyz': use one of .npy, .npz"),
    ("x", "1", {}, "suffix '': use one of"),
    ("x.npy", b"", {}, "is empty: write it again"),
    ("x.csv", b"", {}, "is empty"),
    ("x.csv", "\n\n", {}, "is empty"),
    ("x.csv", "a,b\n", {}, "empty table, a row of names and no more"),
    ("x.npy", npy(np.zeros((0, 3))), {}, r"empty table of shape \(0, 3\)"),
    ("x.npy", npy(np.zeros((3, 0))), {}, r"empty table of shape \(3, 0\)"),
    ("x.npy", npy(np.zeros(3)), {}, r"has shape \(3,\): vectors are the rows of a matrix"),
    ("x.npy", npy(np.zeros((2, 3, 4))), {}, r"has shape \(2, 3, 4\)"),
    ("x.npy", npy(np.array([["a", "b"]])), {}, "holds <U1 values: vectors are real numbers"),
    ("x.npy", npy(X + 1j), {}, "holds complex128 values"),
    ("x.npy", npy(np.array([[1, None]]), allow_pickle=True), {}, "Python objects, which are not loaded for safety"),
    ("x.npy", cut_short(npy(X), 0.9), {}, "cut short or no npy file"),
    ("x.npy", cut_short(npy(X), 0.2), {}, "cut short or no npy file"),
    ("x.npy", "hello world", {}, "is no npy file: write it with np.save"),
    ("x.npy", npy(X), {"key": "a"}, "takes no key, got 'a'"),
    ("x.npy", npy(X), {"columns": [3]}, "has no column 3: it has 0 to 2"),
    ("x.npy", npy(X), {"drop": ["label"]}, "has no column 'label': it has 0 to 2"),
    ("x.npy", npy(X), {"drop": [0, 1, 2]}, "no column is left of 3"),
    ("x.npz", npz(a=X, b=X), {}, r"several arrays: name one of a \(4, 3\), b \(4, 3\)"),
    ("x.npz", npz(a=X), {"key": "c"}, r"no array 'c': it has a \(4, 3\)"),
    ("x.npz", npz(a=X[0]), {}, r"x.npz:a has shape \(3,\)"),
    ("x.npz", npz(), {}, "holds no array"),
    ("x.npz", npz(a=np.array([[None]])), {}, "holds object values"),
    ("x.npz", cut_short(npz(a=X)), {}, "cut short or no npz file"),
    ("x.npz", flipped_npz, {}, "cut short or no npz file"),
    ("x.fvecs", fvecs(2, 2, 3), {}, "row 2 has dimension 3, the first has 2"),
    ("x.fvecs", fvecs(2, 3, 2), {}, "row 1 has dimension 3, the first has 2"),
    ("x.fvecs", fvecs(-2), {}, "starts with dimension -2"),
    ("x.fvecs", fvecs(0), {}, "starts with dimension 0"),
    ("x.fvecs", cut_short(fvecs(2, 2, 2), 0.8), {}, "cut short: 4 bytes follow 2 rows of dimension 2"),
    ("x.bvecs", b"\x01", {}, "starts with dimension"),
    ("x.safetensors", cut_short(lambda path: save_file({"X": X}, path)), {}, "cut short or no safetensors file"),
    ("x.safetensors", lambda path: save_file({"X": X, "Z": X}, path), {}, "several arrays: name one of X"),
    ("x.safetensors", brain_floats, {}, "x.safetensors:X holds .V2 values: vectors are real numbers"),
    ("x.fvecs", fvecs(2**31 - 1), {}, "starts with dimension 2147483647"),
    ("x.csv", "1,2\n3\n", {}, "line 2 has 1 cells, the first row has 2"),
    ("x.csv", "a,b\n1,2\n\n1,2,3\n", {}, "line 4 has 3 cells"),
    ("x.csv", "a,b\n1,2\n3,4,5\n", {"columns": ["a"]}, "line 3 has 3 cells"),
    ("x.csv", "a,b\n1,2\n3,x4\n", {}, "line 3, column 'b' holds 'x4', not a number"),
    ("x.csv", "1,2\n3,\n", {}, "line 2, column 1 holds '', not a number: drop the column, or write nan"),
    ("x.csv", "1\n\n2\n", {}, "line 2, column 0 holds '', not a number"),
    ("x.csv", "1,2\n1_0,2\n", {}, "line 2, column 0 holds '1_0'"),
    ("x.csv", "a,b\n1,2\n", {"columns": ["c"]}, "no column 'c': it has a, b"),
    ("x.csv", "a,a\n1,2\n", {"columns": ["a"]}, "2 columns 'a': give the number"),
    ("x.csv", 'a,b\n1,"2\n3,4\n', {}, "a quote opened in line 2 is never closed"),
    ("x.csv", b"a,b\n1,\xff\n", {}, "no UTF-8 text"),
    ("x.parquet", cut_short(parquet(a=[1.0, 2])), {}, "cut short or no Parquet file"),
    ("x.parquet", "hello world", {}, "cut short or no Parquet file"),
    ("x.arrow", "hello world", {}, "cut short or no Arrow file"),
    ("x.arrow", cut_short(lambda path: ipc(path, arrow_columns(X)), 0.8), {}, "cut short or no Arrow file"),
    ("x.parquet", parquet(a=["x"]), {}, r"no column of numbers among a \(string\)"),
    ("x.parquet", parquet(a=["x"], b=[1]), {"columns": ["a"]}, "column 'a' holds string, not numbers: drop it"),
    ("x.parquet", parquet(a=[1]), {"columns": ["z"]}, "no column 'z': it has a"),
    ("x.parquet", parquet(a=[1, None]), {}, "row 1 of column 'a' is missing"),
    ("x.parquet", parquet(a=[[1.0], None]), {}, "row 1 of column 'a' is missing: leave the row out"),
    ("x.parquet", parquet(a=[[1.0, 2], [3.0]]), {}, "row 1 of column 'a' has 1 values, the first row 2"),
    ("x.parquet", parquet(a=[[1], [None]]), {}, "row 1 of column 'a' is missing: fill it"),
    ("x.parquet", parquet(a=pa.array([[]], pa.list_(pa.float32()))), {}, "the list in row 0 of column 'a' is empty"),
    ("x.parquet", parquet(a=[[1.0]], b=[[1.0]]), {}, "columns of lists stand alone, got a, b"),
    ("x.parquet", parquet(a=pa.array([], pa.float32())), {}, "is an empty table"),
    ("x.h5", cut_short(one_h5(a=X)), {}, "cut short or no HDF5 file"),
    ("x.h5", one_h5(a=X, b=X), {}, "several arrays: name one of a"),
    ("x.h5", one_h5(), {}, "holds no array"),
    ("x.h5", one_h5(a=X[0]), {}, r"x.h5:a has shape \(3,\)"),
]


def make(folder, name, content):
    path = folder / name
    if isinstance(content, str):
        path.write_text(content)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        content(path)
    return path


@pytest.mark.parametrize(("name", "content", "options", "sentence"), BAD_VECTORS)
def test_bad_vectors(tmp_path, name, content, options, sentence):
    path = make(tmp_path, name, content)
    with pytest.raises((ValueError, FileNotFoundError), match=sentence) as caught:
        list(open_vectors(path, **options).blocks(3))
    assert type(caught.value) in (ValueError, FileNotFoundError)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


BAD_LABELS = [
    ("gone.npy:a", None, r"there is no file .*gone.npy: check"),
    ("y.doc:a", "a", "suffix '.doc'"),
    ("y.safetensors", brain_floats, "values that NumPy has no type for"),
    ("y.doc", "a", "suffix '.doc': use one of .npy"),
    ("y.npy", npy(X), "row 0, column 2 holds 2.0: labels are one column, or a matrix of 0 and 1"),
    ("y.npy", npy(np.zeros((1, 1, 1))), r"shape \(1, 1, 1\)"),
    ("y.npy", npy(np.zeros(2, complex)), "holds complex128 values"),
    ("y.npy", npy(np.zeros(0)), "holds no labels"),
    ("y.npy", npy(np.array(["a", None]), allow_pickle=True), "Python objects"),
    ("y.npy:3", npy(X), "no column '3': it has 0 to 2"),
    ("y.npy:a", npy(X[0]), r"shape \(3,\) and no columns"),
    ("y.npz", npz(a=X[0], b=X[0]), r"several arrays: name one of a \(3,\)"),
    ("y.npz:q", npz(a=X[0]), "no array 'q'"),
    ("y.npz", npz(a=np.array([None])), "Python objects"),
    ("y.csv", "x,label\n1,cat\n", r"y.csv:COLUMN, of x, label"),
    ("y.csv:z", "x,label\n1,cat\n", "no column 'z': it has x, label"),
    ("y.csv:x", "x,label\n", "empty table"),
    ("y.csv:x", "x,label\n1,a\n2\n", "line 3 has 1 cells"),
    ("y.txt", "\n", "holds no labels"),
    ("y.txt:a", "b\n", "no column 'a'"),
    ("y.parquet", parquet(a=[1], b=["x"]), "y.parquet:COLUMN, of a, b"),
    ("y.parquet:q", parquet(a=[1]), "no column 'q': it has a"),
    ("y.parquet:1", twins, "2 columns 'a': rename them"),
]


@pytest.mark.parametrize(("source", "content", "sentence"), BAD_LABELS)
def test_bad_labels(tmp_path, source, content, sentence):
    make(tmp_path, source.partition(":")[0], content)
    with pytest.raises((ValueError, FileNotFoundError), match=sentence):
        read_labels(tmp_path / source)


BAD_PAIRS = [
    ("p.csv", "0,1,1\n0,2,0\n", "line 2 has the sign '0': write .1 or near, -1 or far"),
    ("p.csv", "i,j,s\n0,1,nearby\n", "line 2 has the sign 'nearby'"),
    ("p.csv", "0,1,1\n0,-2,1\n", "line 2 holds '-2': the first two columns are row numbers"),
    ("p.csv", "0,1,1\n0,1.5,1\n", "line 2 holds '1.5'"),
    ("p.csv", "0,1,1\n0,99999999999999999999,1\n", "line 2 holds '99999999999999999999'"),
    ("p.csv", "0\n1\n", "has 1 columns: pairs have i, j and a sign"),
    ("p.csv", "i,j,s\n", "holds no pairs"),
    ("p.npy", npy(np.array([[0, 1, 1], [0, 1, 0]])), "row 1 has the sign 0"),
    ("p.npy", npy(np.array([[0, 1, 1], [0, -1, 1]])), "row 1 holds -1"),
    ("p.npy", npy(np.array([[0, np.nan]])), "row 0 holds nan"),
    ("p.npy", npy(np.zeros((2, 4))), "has 4 columns"),
    ("p.npy", npy(np.zeros(3)), r"shape \(3,\)"),
    ("p.parquet", "x", "use one of .csv, .tsv, .npy"),
    ("p.csv", None, "there is no file"),
]


@pytest.mark.parametrize(("name", "content", "sentence"), BAD_PAIRS)
def test_bad_pairs(tmp_path, name, content, sentence):
    path = make(tmp_path, name, content)
    with pytest.raises((ValueError, FileNotFoundError), match=sentence):
        read_pairs(path)


MARKET = "%%MatrixMarket matrix"
BAD_GRAPHS = [
    ("g.csv", "a,b,1\nb,c,nan\n", r"edge \(b, c\) has the weight nan"),
    ("g.csv", "a,b,1\nb,c,inf\n", r"edge \(b, c\) has the weight inf"),
    ("g.csv", "0,1,1\n1,2,x\n", "line 2 has the weight 'x': give a number"),
    ("g.csv", "0,1,1\n1,2\n", "line 2 has 2 cells"),
    ("g.txt", "0 1 1\n1 2\n", "line 2 has 2 cells"),
    ("g.txt", "0 1 1 5\n", "line 1 has 4 cells"),
    ("g.csv", "0,1,1\n1,0,2\n", r"edge \(0, 1\) has the weight 1, but 2 the other way"),
    ("g.csv", "0,0,1\n", "no edge between two different points"),
    ("g.csv", "a,b,c\n", "empty table: list at least one edge"),
    ("g.csv", "a,,1\n", "line 1 names no point"),
    ("g.txt", "# nothing\n", "empty table"),
    ("g.gset", "3 5\n1 2 1\n1 3 1\n", "announces 5 entries and has 2"),
    ("g.gset", "3 2\n1 2 1\n1 4 1\n", "line 3 names point '4': the points here are 1 to 3"),
    ("g.npy", npy(np.zeros((2, 3))), r"shape \(2, 3\): the weights of n points are an n x n matrix"),
    ("g.npy", npy(np.eye(2) + 1j), "holds complex128 values"),
    ("g.npy", npy(np.array([[0, 1], [2, 0]])), "has the weight 1, but 2 the other way"),
    ("g.npy", npy(np.array([[0, np.nan], [np.nan, 0]])), r"edge \(0, 1\) has the weight nan"),
    ("g.npz", npz(a=X), "no scipy.sparse npz file"),
    ("g.npz", cut_short(npz(a=X)), "cut short or no scipy.sparse npz file"),
    ("g.mtx", "hello\n", "no Matrix Market file"),
    ("g.mtx", f"{MARKET} coordinate real symmetric\n3 3 2\n2 1 1\n", "announces 2 entries and has 1"),
    ("g.mtx", f"{MARKET} coordinate real general\n3 2 1\n2 1 1\n", r"shape \(3, 2\)"),
    ("g.mtx", f"{MARKET} coordinate real symmetric\n2 2 1\n2 1 3".encode() + b"\xf1", "no UTF-8 text"),
    ("g.mtx", f"{MARKET} coordinate real general\n3 3\n", "no line of 3 sizes"),
    ("g.mtx", f"{MARKET} coordinate real general\n", "no line of 3 sizes"),
    ("g.mtx", f"{MARKET} coordinate real general\n3 3 0\n", "no edge between two different points"),
    ("g.mtx", f"{MARKET} coordinate complex general\n1 1 1\n1 1 1 1\n", "holds a complex general matrix"),
    ("g.mtx", f"{MARKET} coordinate real general\n3 3 1\n2 4 1\n", "line 3 names point '4'"),
    ("g.mtx", f"{MARKET} array real general\n2 2\n1\n2\n", "announces 4 entries and has 2"),
    ("g.mtx", f"{MARKET} array real symmetric\n2 2\n1\n2\nx\n", "line 5 holds 'x': give one number"),
    ("g.xyz", "1 2\n", "use one of .csv, .tsv, .txt, .edges, .gset, none, .mtx"),
    ("g.csv", None, "there is no file"),
]


@pytest.mark.parametrize(("name", "content", "sentence"), BAD_GRAPHS)
def test_bad_graphs(tmp_path, name, content, sentence):
    path = make(tmp_path, name, content)
    with pytest.raises((ValueError, FileNotFoundError), match=sentence):
        read_graph(path)
