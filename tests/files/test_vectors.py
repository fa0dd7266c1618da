"""Vectors from files of all formats."""

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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from safetensors.numpy import save_file

from helpers.table_files import arrow_columns, hdf5, ipc, texmex, text
from proxcode.files import open_vectors, read_labels, write_table
from proxcode.files.vectors import VECTOR_FORMATS
from proxcode.utils.labels import class_numbers

N, D = 23, 5


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
        with pytest.raises(ValueError, match=rf"several arrays: choose one of X \({N}, {D}\)"):
            open_vectors(tmp_path / name)
        with pytest.raises(ValueError, match=r"no array 'Q': expected one of X"):
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
        "import resource, sys; from proxcode.files import open_vectors\n"
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
        f"sys.modules['proxcode'] = package; import proxcode.files; print({heavy} & set(sys.modules))"
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
