"""An unreadable file raises an error of one sentence."""

import struct

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from helpers.table_files import arrow_columns, ipc
from proxcode.files import open_vectors, read_labels, read_pairs


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
    ("x.xyz", "1", {}, r"unknown suffix '.xyz': expected one of .npy, .npz"),
    ("x", "1", {}, "unknown suffix '': expected one of"),
    ("x.npy", b"", {}, "is empty: write it again"),
    ("x.csv", b"", {}, "is empty"),
    ("x.csv", "\n\n", {}, "is empty"),
    ("x.csv", "a,b\n", {}, "has no rows below its column names: expected at least one"),
    ("x.npy", npy(np.zeros((0, 3))), {}, r"has shape \(0, 3\): expected at least one row and one column"),
    ("x.npy", npy(np.zeros((3, 0))), {}, r"has shape \(3, 0\): expected at least one row"),
    ("x.npy", npy(np.zeros(3)), {}, r"has shape \(3,\): expected a matrix of shape \(rows, columns\)"),
    ("x.npy", npy(np.zeros((2, 3, 4))), {}, r"has shape \(2, 3, 4\)"),
    ("x.npy", npy(np.array([["a", "b"]])), {}, "holds <U1 values: expected real numbers"),
    ("x.npy", npy(X + 1j), {}, "holds complex128 values"),
    ("x.npy", npy(np.array([[1, None]]), allow_pickle=True), {}, "Python objects, which are not loaded for safety"),
    ("x.npy", cut_short(npy(X), 0.9), {}, "truncated or not a valid npy file"),
    ("x.npy", cut_short(npy(X), 0.2), {}, "truncated or not a valid npy file"),
    ("x.npy", "hello world", {}, "is not an npy file: write it with np.save"),
    ("x.npy", npy(X), {"key": "a"}, "key='a': .* has no keys"),
    ("x.npy", npy(X), {"columns": [3]}, "has no column 3: expected one of 0 to 2"),
    ("x.npy", npy(X), {"drop": ["label"]}, "has no column 'label': expected one of 0 to 2"),
    ("x.npy", npy(X), {"drop": [0, 1, 2]}, "no column is chosen of 3: expected at least one"),
    ("x.npz", npz(a=X, b=X), {}, r"several arrays: choose one of a \(4, 3\), b \(4, 3\)"),
    ("x.npz", npz(a=X), {"key": "c"}, r"no array 'c': expected one of a \(4, 3\)"),
    ("x.npz", npz(a=X[0]), {}, r"x.npz:a has shape \(3,\)"),
    ("x.npz", npz(), {}, "holds no array"),
    ("x.npz", npz(a=np.array([[None]])), {}, "holds object values"),
    ("x.npz", cut_short(npz(a=X)), {}, "truncated or not a valid npz file"),
    ("x.npz", flipped_npz, {}, "truncated or not a valid npz file"),
    ("x.fvecs", fvecs(2, 2, 3), {}, "row 2 has dimension 3, the first row has 2"),
    ("x.fvecs", fvecs(2, 3, 2), {}, "row 1 has dimension 3, the first row has 2"),
    ("x.fvecs", fvecs(-2), {}, "starts with dimension -2"),
    ("x.fvecs", fvecs(0), {}, "starts with dimension 0"),
    ("x.fvecs", cut_short(fvecs(2, 2, 2), 0.8), {}, "truncated: 4 bytes follow 2 rows of dimension 2"),
    ("x.bvecs", b"\x01", {}, "starts with dimension"),
    (
        "x.safetensors",
        cut_short(lambda path: save_file({"X": X}, path)),
        {},
        "truncated or not a valid safetensors file",
    ),
    ("x.safetensors", lambda path: save_file({"X": X, "Z": X}, path), {}, "several arrays: choose one of X"),
    ("x.safetensors", brain_floats, {}, "x.safetensors:X holds .V2 values: expected real numbers"),
    ("x.fvecs", fvecs(2**31 - 1), {}, "starts with dimension 2147483647"),
    ("x.csv", "1,2\n3\n", {}, "line 2 has 1 cells, the first row has 2"),
    ("x.csv", "a,b\n1,2\n\n1,2,3\n", {}, "line 4 has 3 cells"),
    ("x.csv", "a,b\n1,2\n3,4,5\n", {"columns": ["a"]}, "line 3 has 3 cells"),
    ("x.csv", "a,b\n1,2\n3,x4\n", {}, "line 3, column 'b' holds 'x4', not a number"),
    ("x.csv", "1,2\n3,\n", {}, "line 2, column 1 holds '', not a number: drop the column, or write nan"),
    ("x.csv", "1\n\n2\n", {}, "line 2, column 0 holds '', not a number"),
    ("x.csv", "1,2\n1_0,2\n", {}, "line 2, column 0 holds '1_0'"),
    ("x.csv", "a,b\n1,2\n", {"columns": ["c"]}, "no column 'c': expected one of a, b"),
    ("x.csv", "a,a\n1,2\n", {"columns": ["a"]}, "2 columns 'a': choose by number"),
    ("x.csv", 'a,b\n1,"2\n3,4\n', {}, "the quote opened in line 2 is never closed"),
    ("x.csv", b"a,b\n1,\xff\n", {}, "not UTF-8 text"),
    ("x.parquet", cut_short(parquet(a=[1.0, 2])), {}, "truncated or not a valid Parquet file"),
    ("x.parquet", "hello world", {}, "truncated or not a valid Parquet file"),
    ("x.arrow", "hello world", {}, "truncated or not a valid Arrow file"),
    ("x.arrow", cut_short(lambda path: ipc(path, arrow_columns(X)), 0.8), {}, "truncated or not a valid Arrow file"),
    ("x.parquet", parquet(a=["x"]), {}, r"no column of numbers among a \(string\)"),
    ("x.parquet", parquet(a=["x"], b=[1]), {"columns": ["a"]}, "column 'a' holds string, not numbers: drop it"),
    ("x.parquet", parquet(a=[1]), {"columns": ["z"]}, "no column 'z': expected one of a"),
    ("x.parquet", parquet(a=[1, None]), {}, "row 1 of column 'a' is missing"),
    ("x.parquet", parquet(a=[[1.0], None]), {}, "row 1 of column 'a' is missing: drop the row"),
    ("x.parquet", parquet(a=[[1.0, 2], [3.0]]), {}, "row 1 of column 'a' has 1 values, the first row 2"),
    ("x.parquet", parquet(a=[[1], [None]]), {}, "row 1 of column 'a' is missing: impute it"),
    ("x.parquet", parquet(a=pa.array([[]], pa.list_(pa.float32()))), {}, "the list in row 0 of column 'a' is empty"),
    (
        "x.parquet",
        parquet(a=[[1.0]], b=[[1.0]]),
        {},
        "a column of lists cannot be combined with others: choose one of a, b",
    ),
    ("x.parquet", parquet(a=pa.array([], pa.float32())), {}, "has no rows: expected at least one"),
    ("x.h5", cut_short(one_h5(a=X)), {}, "truncated or not a valid HDF5 file"),
    ("x.h5", one_h5(a=X, b=X), {}, "several arrays: choose one of a"),
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
    ("y.doc:a", "a", "unknown suffix '.doc'"),
    ("y.safetensors", brain_floats, "y.safetensors:X holds .V2 values: expected numbers or strings"),
    ("y.doc", "a", "unknown suffix '.doc': expected one of .npy"),
    ("y.npy", npy(X), "row 0, column 2 holds 2.0: expected one column of labels, or a matrix of 0 and 1"),
    ("y.npy", npy(np.zeros((1, 1, 1))), r"shape \(1, 1, 1\)"),
    ("y.npy", npy(np.zeros(2, complex)), "holds complex128 values"),
    ("y.npy", npy(np.zeros(0)), "holds no labels"),
    ("y.npy", npy(np.array(["a", None]), allow_pickle=True), "Python objects"),
    ("y.npy:3", npy(X), "no column '3': expected one of 0 to 2"),
    ("y.npy:a", npy(X[0]), r"shape \(3,\) and no column 'a': omit the column"),
    ("y.npz", npz(a=X[0], b=X[0]), r"several arrays: choose one of a \(3,\)"),
    ("y.npz:q", npz(a=X[0]), "no array 'q'"),
    ("y.npz", npz(a=np.array([None])), "Python objects"),
    ("y.h5", one_h5(a=[["p", "q"], ["r", "s"]]), "row 0, column 0 holds p: expected one column of labels"),
    ("y.csv", "x,label\n1,cat\n", r"pass .*y.csv:COLUMN with one of x, label"),
    ("y.csv:z", "x,label\n1,cat\n", "no column 'z': expected one of x, label"),
    ("y.csv:x", "x,label\n", "has no rows below its column names"),
    ("y.csv:x", "x,label\n1,a\n2\n", "line 3 has 1 cells"),
    ("y.txt", "\n", "holds no labels"),
    ("y.txt:a", "b\n", "no column 'a'"),
    ("y.parquet", parquet(a=[1], b=["x"]), "pass .*y.parquet:COLUMN with one of a, b"),
    ("y.parquet:q", parquet(a=[1]), "no column 'q': expected one of a"),
    ("y.parquet:1", twins, "2 columns 'a': rename them"),
]


@pytest.mark.parametrize(("source", "content", "sentence"), BAD_LABELS)
def test_bad_labels(tmp_path, source, content, sentence):
    make(tmp_path, source.partition(":")[0], content)
    with pytest.raises((ValueError, FileNotFoundError), match=sentence):
        read_labels(tmp_path / source)


BAD_PAIRS = [
    ("p.csv", "0,1,1\n0,2,2\n", "line 2 has the sign '2': expected near or far, .1 or -1, 1 or 0, true or false"),
    ("p.csv", "i,j,s\n0,1,nearby\n", "line 2 has the sign 'nearby'"),
    ("p.csv", "0,1,1\n0,-2,1\n", "line 2 holds '-2': expected row numbers from 0"),
    ("p.csv", "0,1,1\n0,1.5,1\n", "line 2 holds '1.5'"),
    ("p.csv", "0,1,1\n0,99999999999999999999,1\n", "line 2 holds '99999999999999999999'"),
    ("p.csv", "0\n1\n", "has 1 columns: expected i, j and a sign"),
    ("p.csv", "i,j,s\n", "holds no pairs"),
    ("p.npy", npy(np.array([[0, 1, 1], [0, 1, 2]])), "row 1 has the sign 2"),
    ("p.npy", npy(np.array([[0, 1, 1], [0, -1, 1]])), "row 1 holds -1"),
    ("p.npy", npy(np.array([[0, np.nan]])), "row 0 holds nan"),
    ("p.npy", npy(np.zeros((2, 4))), "has 4 columns"),
    ("p.npy", npy(np.zeros(3)), r"shape \(3,\)"),
    ("p.parquet", "x", "expected one of .csv, .tsv, .npy"),
    ("p.csv", None, "there is no file"),
]


@pytest.mark.parametrize(("name", "content", "sentence"), BAD_PAIRS)
def test_bad_pairs(tmp_path, name, content, sentence):
    path = make(tmp_path, name, content)
    with pytest.raises((ValueError, FileNotFoundError), match=sentence):
        read_pairs(path)
