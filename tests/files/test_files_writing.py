"""Tabular files written to disk."""

import json

import numpy as np
import pandas as pd
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


def test_json_lines_are_read_back(tmp_path, rng):
    path = tmp_path / "out.jsonl"
    names = np.array(["a", None, 'b"\n', "é"], dtype=object)
    columns = {
        "file": np.arange(4),
        "x": rng.random(4, dtype=np.float32),
        "y": rng.normal(size=4) * 1e-300,
        "name": names,
        "text": names.astype(str),
        "is_near": np.array([True, False, True, False]),
        "big": np.array([2**63, 1, 2, 3], np.uint64),
        "m": rng.normal(size=(4, 3)).astype(np.float16),
    }
    write_table(path, columns)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    assert len(rows) == 4
    for name, column in columns.items():
        read = np.array([row[name] for row in rows], column.dtype)
        np.testing.assert_array_equal(read, column)
    frame = pd.read_json(path, lines=True, precise_float=True)
    assert list(frame) == list(columns)
    np.testing.assert_array_equal(frame["x"].astype(np.float32), columns["x"])
    # Single precision is written with the digits that it has.
    write_table(path, {"x": np.array([0.1], np.float32), "y": np.array([b"c"])})
    assert path.read_text() == '{"x": 0.1, "y": "c"}\n'


def test_numbers_that_json_lacks_are_null(tmp_path):
    path = tmp_path / "out.jsonl"
    values = [1.5, np.nan, np.inf]
    write_table(path, {"x": values, "y": np.array(values, object), "m": np.array([values] * 3)})
    rows = [json.loads(line, parse_constant=pytest.fail) for line in path.read_text().splitlines()]
    assert [row["x"] for row in rows] == [row["y"] for row in rows] == rows[0]["m"] == [1.5, None, None]


def test_a_table_that_cannot_be_written_leaves_the_old_one(tmp_path):
    write_table(tmp_path / "t.npz", {"a": [1, 2]})
    with pytest.raises(ValueError, match="allow_pickle"):
        write_table(tmp_path / "t.npz", {"a": np.array([(1, None)], dtype=[("a", "i4"), ("b", "O")])})
    assert read_labels(tmp_path / "t.npz").tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "columns", "sentence"),
    [
        ("t.xls", {"a": [1]}, r"unknown suffix '.xls': expected one of .csv, .tsv, .jsonl, .npz, .parquet"),
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
