"""Labels and pairs of samples from files."""

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from helpers.table_files import ipc, texmex
from proxcode.files import read_labels, read_pairs, split_column, take_labels, write_table
from proxcode.utils.labels import class_numbers


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


def test_blank_lines_at_the_end_are_missing_labels_where_samples_are_as_many(tmp_path):
    for name, text in {"y.txt": "3\n4\n\n\n", "y.csv": "label\n3\n4\n\n\n"}.items():
        (tmp_path / name).write_text(text)
        found = take_labels(tmp_path / name)
        # A blank line may also be the end of a file written by hand.
        for n_samples, expected in {2: [3, 4], 3: [3, 4, None], 4: [3, 4, None, None], 5: [3, 4]}.items():
            assert found.for_samples(n_samples).labels.tolist() == expected
        assert class_numbers(found.for_samples(4).labels).tolist() == [0, 1, -1, -1]
    (tmp_path / "y.csv").write_text("x,label\n1,a\n2,\n\n")
    found = take_labels(f"{tmp_path / 'y.csv'}:label")
    assert found.for_samples(3).labels.tolist() == ["a", None]


def test_bytes_are_text(tmp_path):
    np.save(tmp_path / "y.npy", np.array(["é".encode(), b"", b"dog"]))
    assert read_labels(tmp_path / "y.npy").tolist() == ["é", "", "dog"]
    np.save(tmp_path / "y.npy", np.array([b"\xff"]))
    with pytest.raises(ValueError, match=r"y\.npy holds bytes that are not UTF-8"):
        read_labels(tmp_path / "y.npy")


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


@pytest.mark.parametrize(
    ("source", "file", "column"),
    [
        ("t.csv", "t.csv", None),
        ("t.csv:a", "t.csv", "a"),
        ("t.csv:a:b", "t.csv", "a:b"),
        ("t.csv:a::b:", "t.csv", "a::b:"),
        ("t.csv:", "t.csv", ""),
        ("t.csv:t.csv", "t.csv", "t.csv"),
        ("12:30.csv", "12:30.csv", None),
        ("12:30.csv:a:b", "12:30.csv", "a:b"),
        (r"C:\data\t.csv", r"C:\data\t.csv", None),
        (r"C:\data\t.csv:label", r"C:\data\t.csv", "label"),
        (r"C:\data\t.csv:a:b", r"C:\data\t.csv", "a:b"),
        ("no suffix:3", "no suffix", "3"),
        (":.csv:x", ":.csv", "x"),
    ],
)
def test_a_source_is_split_after_the_name_of_an_existing_file(source, file, column, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).write_text("1\n")
    path, found = split_column(source)
    assert (str(path), found) == (file, column)
    assert split_column(tmp_path / source) == (tmp_path / file, column)


def test_a_source_that_exists_as_a_whole_has_no_column(tmp_path):
    for name in ("t.csv", "t.csv:a"):
        (tmp_path / name).write_text("1\n")
    assert split_column(tmp_path / "t.csv:a") == (tmp_path / "t.csv:a", None)


@pytest.mark.parametrize(
    ("source", "named"), [("t.csv:a:b", "t.csv"), ("a:t.npz:k", "a:t.npz"), ("nothing", "nothing"), ("a:b", "a:b")]
)
def test_a_source_without_a_file_names_the_file_that_is_missing(source, named, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        split_column(tmp_path / source)
    assert str(caught.value) == f"there is no file {tmp_path / named}: check its name and folder."


# Pairs


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.csv", "0,1,1\n2,3,-1\n"),
        ("p.csv", "i,j,sign\n0,1,near\n2,3,far\n"),
        ("p.csv", "0,1,near\n2,3,far\n"),
        ("p.csv", "i,j,near\n0,1,1\n2,3,0\n"),
        ("p.csv", "i,j,near\n0,1,True\n2,3,False\n"),
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
    for far in (-1, 0):
        np.save(tmp_path / "p.npy", [[0, 1, 1], [2, 3, far]])
        assert read_pairs(tmp_path / "p.npy").tolist() == [[0, 1, 1], [2, 3, -1]]


def test_labels_of_several_files_are_joined(tmp_path):
    np.save(tmp_path / "a.npy", np.array([2**63 + 1, 2**63 + 2], np.uint64))
    np.save(tmp_path / "b.npy", np.array([5, 6]))
    assert len(set(read_labels(tmp_path).tolist())) == 4
    np.save(tmp_path / "a.npy", np.array([1.0, np.nan]))
    np.testing.assert_array_equal(read_labels(tmp_path / "*.npy"), [1, np.nan, 5, 6])
    for name, text in (("c.txt", "cat\ndog\n"), ("d.txt", "cow\n")):
        (tmp_path / name).write_text(text)
    assert read_labels(tmp_path / "*.txt").tolist() == ["cat", "dog", "cow"]
    with pytest.raises(ValueError, match=r"a\.npy and .*c\.txt are numbers in one and text in the other"):
        read_labels(tmp_path)
    np.save(tmp_path / "w.npy", np.eye(3, dtype=int))
    np.save(tmp_path / "x.npy", np.eye(2, dtype=int))
    with pytest.raises(ValueError, match=r"w\.npy has 3 columns of labels and .*x\.npy 2"):
        read_labels(tmp_path / "[wx].npy")
    (tmp_path / "y.csv").write_text("class\ncat\n")
    (tmp_path / "z.csv").write_text("class,other\n,1\n,2\n")
    assert read_labels(f"{tmp_path}/[yz].csv:class").tolist() == ["cat", None, None]
