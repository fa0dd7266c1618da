"""Tabular files written to disk."""

import numpy as np
import pytest

from proxcode.files import open_vectors, read_labels, write_table


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
        ("t.xls", {"a": [1]}, r"unknown suffix '.xls': expected one of .csv, .tsv, .npz, .parquet"),
        ("t.csv", {}, "no columns to write"),
        ("t.csv", {"a": [1, 2], "b": [1]}, r"column 'b' .* shape \(1,\): expected 2 rows"),
        ("t.csv", {"a": np.zeros((1, 1, 1))}, r"column 'a' .* shape \(1, 1, 1\)"),
        ("t.csv", {"a": 3}, r"column 'a' .* shape \(\)"),
        ("t.csv", {"a": np.eye(2), "a_0": [5, 6]}, "two columns 'a_0': rename one of them"),
    ],
)
def test_what_cannot_be_written(tmp_path, name, columns, sentence):
    with pytest.raises(ValueError, match=sentence):
        write_table(tmp_path / name, columns)
    assert not list(tmp_path.iterdir())
