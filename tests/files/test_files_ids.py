"""Ids of codes from files."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proxcode.files import take_ids

TEXTS = {
    "integers": ("5\n-1\n0\n", [5, -1, 0]),
    "leading zeros": ("007\n8\n", ["007", "8"]),
    "signs": ("+5\n8\n", ["+5", "8"]),
    "no negative zero": ("-0\n8\n", ["-0", "8"]),
    "fractions": ("1.0\n1.10\n", ["1.0", "1.10"]),
    "exponents": ("1e3\n8\n", ["1e3", "8"]),
    "words for numbers": ("nan\ninf\n", ["nan", "inf"]),
    "digits and names": ("8\nb\n", ["8", "b"]),
    "largest": (f"{2**63 - 1}\n{-(2**63)}\n", [2**63 - 1, -(2**63)]),
    "too large": (f"{2**63}\n1\n", [str(2**63), "1"]),
    "other digits": ("٣\n1\n", ["٣", "1"]),
    "blank end": ("a\nb\n\n\n", ["a", "b"]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_ids_of_text_files_are_what_is_written_there(tmp_path, name):
    text, expected = TEXTS[name]
    (tmp_path / "ids.txt").write_text(text, encoding="utf-8")
    (tmp_path / "ids.csv").write_text("id\n" + text, encoding="utf-8")
    (tmp_path / "two.tsv").write_text("x\tid\n" + "".join(f"1\t{line}\n" for line in text.split()), encoding="utf-8")
    for source in ("ids.txt", "ids.csv", "ids.csv:id", "two.tsv:id"):
        found = take_ids(tmp_path / source)
        assert found.ids.tolist() == expected, source
        assert found.is_text
        assert found.beside(has_strings=True).tolist() == [str(one) for one in expected]
        assert found.beside(has_strings=None) is found.ids


def test_ids_of_several_text_files_are_of_one_type(tmp_path):
    (tmp_path / "a.txt").write_text("1\n2\n")
    (tmp_path / "b.txt").write_text("x3\n")
    assert take_ids(f"{tmp_path}/*.txt").ids.tolist() == ["1", "2", "x3"]


def test_ids_of_arrays_and_columns_keep_their_type(tmp_path):
    np.save(tmp_path / "n.npy", np.array([7, 8], np.uint16))
    np.save(tmp_path / "s.npy", np.array(["07", "8"]))
    pq.write_table(pa.table({"n": [7, 8], "s": ["07", "8"]}), tmp_path / "t.parquet")
    for source, expected in {
        "n.npy": [7, 8],
        "s.npy": ["07", "8"],
        "t.parquet:n": [7, 8],
        "t.parquet:s": ["07", "8"],
    }.items():
        found = take_ids(tmp_path / source)
        assert found.ids.tolist() == expected
        assert not found.is_text
    assert take_ids(tmp_path / "n.npy").beside(has_strings=True).tolist() == [7, 8]
    with pytest.raises(ValueError, match=r"s\.npy holds '07': expected integer ids"):
        take_ids(tmp_path / "s.npy").beside(has_strings=False)


def test_text_of_integers_beside_integers(tmp_path):
    (tmp_path / "ids.txt").write_text("007\n-08\n")
    assert take_ids(tmp_path / "ids.txt").beside(has_strings=False).tolist() == [7, -8]
    for text in ("1.0\n", f"{2**63}\n", "a\n"):
        (tmp_path / "ids.txt").write_text("007\n" + text)
        with pytest.raises(ValueError, match=f"holds '{text.strip()}': expected integer ids"):
            take_ids(tmp_path / "ids.txt").beside(has_strings=False)


def test_wrong_ids(tmp_path):
    (tmp_path / "blank.csv").write_text("id,x\n1,1\n,2\n")
    (tmp_path / "empty.txt").write_text("\n\n")
    np.save(tmp_path / "f.npy", np.array([1.0, 2.0]))
    np.save(tmp_path / "m.npy", np.eye(2))
    pq.write_table(pa.table({"n": [7, None], "s": ["a", None]}), tmp_path / "t.parquet")
    for source, message in {
        "blank.csv:id": "holds a blank id in row 1, counted from 0",
        "blank.csv": "has 2 columns: name the one of the ids",
        "empty.txt": "holds no ids",
        "f.npy": "holds float64 values: expected integers or text",
        "m.npy": "has 2 columns: name the one of the ids",
        "t.parquet:n": "holds no id in row 1",
        "t.parquet:s": "holds no id in row 1",
    }.items():
        with pytest.raises(ValueError, match=message):
            take_ids(tmp_path / source)
