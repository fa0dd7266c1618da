"""Columns of tabular files as strings, compared with what was written."""

import csv

import numpy as np
import pytest

from proxcode.files import text_columns
from proxcode.files.text_columns import read_text_columns


def cells(columns):
    return {name: column.at(np.arange(len(column.ends))) for name, column in columns.items()}


@pytest.fixture
def written():
    rng = np.random.default_rng(0)
    letters = list('ab,;"\n\tä€😀 ')
    texts = ["x", *("".join(rng.choice(letters, rng.integers(0, 9))) for _ in range(500))]
    return {"number": [str(row) for row in range(501)], "text": texts}


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_cells_are_those_written(tmp_path, written, suffix, monkeypatch):
    monkeypatch.setattr(text_columns, "ROWS", 64)
    path = tmp_path / f"items{suffix}"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="," if suffix == ".csv" else "\t", lineterminator="\n")
        writer.writerow(written)
        writer.writerows(zip(*written.values(), strict=True))
    assert cells(read_text_columns(path)) == written


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_arrow_columns_become_text_without_lists_and_bytes(tmp_path, suffix):
    pa = pytest.importorskip("pyarrow")
    table = pa.table(
        {
            "text": ["a", None, "ü\0"],
            "number": pa.array([1, 2, None], pa.int16()),
            "share": [0.5, 1.0, 2.0],
            "vector": [[1.0, 2.0]] * 3,
            "code": pa.array([b"ab"] * 3, pa.binary(2)),
            "flag": [True, False, None],
        }
    )
    path = tmp_path / f"items{suffix}"
    if suffix == ".parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        pytest.importorskip("pyarrow.feather").write_feather(table, path)
    found = cells(read_text_columns(path))
    assert found == {
        "text": ["a", "", "ü\N{REPLACEMENT CHARACTER}"],
        "number": ["1", "2", ""],
        "share": ["0.5", "1", "2"],
        "flag": ["true", "false", ""],
    }


def test_arrow_columns_that_nobody_can_read_are_left_out(tmp_path):
    pa = pytest.importorskip("pyarrow")
    columns = {
        "interval": pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        "bytes": pa.array([b"\xff"], pa.binary_view()),
        "repeated bytes": pa.array([b"\xff"]).dictionary_encode(),
        "list": pa.array([[1]], pa.list_view(pa.int8())),
        "name": pa.array(["lamp"], pa.string_view()),
        "kind": pa.array(["light"]).dictionary_encode(),
        "time": pa.array([5], pa.duration("s")),
    }
    path = tmp_path / "items.arrow"
    table = pa.table(columns)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    assert cells(read_text_columns(path)) == {"name": ["lamp"], "kind": ["light"], "time": ["5"]}


def test_lines_and_columns_without_names(tmp_path):
    (tmp_path / "items.txt").write_text("one\n\n<b>three</b>\n")
    assert cells(read_text_columns(tmp_path / "items.txt")) == {"text": ["one", "", "<b>three</b>"]}
    (tmp_path / "items.csv").write_text("1,2\n3,4\n")
    assert cells(read_text_columns(tmp_path / "items.csv")) == {"0": ["1", "3"], "1": ["2", "4"]}


def test_wrong_files_give_one_sentence(tmp_path):
    path = tmp_path / "items.csv"
    for content, sentence in (
        ("a,a\n1,2\n", "has 2 columns 'a': rename them"),
        ("a,b\n", "no rows below its column names"),
        ("a,b\n1\n", "line 2 has 1 cells"),
        ("", "is empty"),
    ):
        path.write_text(content)
        with pytest.raises(ValueError, match=sentence):
            read_text_columns(path)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_text_columns(tmp_path / "gone.csv")
    with pytest.raises(ValueError, match=r"unknown suffix '\.npy'"):
        (tmp_path / "items.npy").write_text("x")
        read_text_columns(tmp_path / "items.npy")
