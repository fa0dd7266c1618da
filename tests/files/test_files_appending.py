"""Tabular files written block by block."""

from itertools import pairwise

import numpy as np
import pytest

from proxcode.files import append_table, read_labels, write_table

TYPES = {"file": "int64", "distance": "int32", "x": "float64"}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".npz", ".parquet"])
@pytest.mark.parametrize("sizes", [(), (0,), (3,), (5, 0, 1, 700)])
def test_blocks_give_the_file_of_one_table(tmp_path, rng, suffix, sizes):
    path, whole = tmp_path / f"blocks{suffix}", tmp_path / f"whole{suffix}"
    edges = np.cumsum([0, *sizes])
    columns = [rng.integers(-(2**62), 2**62, edges[-1]), rng.integers(0, 99, edges[-1]), rng.random(edges[-1])]
    with append_table(path, TYPES) as append:
        for start, stop in pairwise(edges):
            append(*(column[start:stop] for column in columns))
        assert not path.exists()
    write_table(whole, {n: c.astype(t) for (n, t), c in zip(TYPES.items(), columns, strict=True)})
    if suffix in (".csv", ".tsv", ".jsonl"):
        assert path.read_text() == whole.read_text()
    elif suffix == ".npz":
        with np.load(path) as blocks, np.load(whole) as table:
            assert {n: (a.dtype, a.tolist()) for n, a in blocks.items()} == {
                n: (a.dtype, a.tolist()) for n, a in table.items()
            }
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        assert parquet.read_table(path).equals(parquet.read_table(whole))
    assert sorted(file.name for file in tmp_path.iterdir()) == [path.name, whole.name]


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupt_leaves_no_file_or_the_old_one(tmp_path, suffix, error):
    path = tmp_path / f"t{suffix}"
    for before in ([], [path.name]):
        with pytest.raises(error), append_table(path, {"a": int}) as append:
            append(np.arange(100_000))
            raise error
        assert [file.name for file in tmp_path.iterdir()] == before
        write_table(path, {"a": [1, 2]})
        assert read_labels(f"{path}:a").astype(int).tolist() == [1, 2]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_text_is_appended(tmp_path, suffix):
    names = np.array(["a,\t1", "é", "x" * 500], object)
    path = tmp_path / f"t{suffix}"
    with append_table(path, {"name": object, "number": "int32"}) as append:
        append(names[:2], np.arange(2))
        append(names[2:], np.arange(1))
    if suffix == ".parquet":
        assert read_labels(f"{path}:name").tolist() == names.tolist()
        return
    write_table(tmp_path / f"whole{suffix}", {"name": names, "number": np.array([0, 1, 0], np.int32)})
    assert path.read_text(encoding="utf-8") == (tmp_path / f"whole{suffix}").read_text(encoding="utf-8")


def test_what_cannot_be_appended(tmp_path):
    with pytest.raises(ValueError, match="text cannot be appended"), append_table(tmp_path / "t.npz", {"a": object}):
        pass
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match=r"unknown suffix '\.xls'"), append_table(tmp_path / "t.xls", {"a": int}):
        pass
    write_table(tmp_path / "t.csv", {"a": [1]})
    kept = append_table(tmp_path / "t.csv", {"a": int}, overwrite=False)
    with pytest.raises(FileExistsError, match="already exists"), kept:
        pass
    with pytest.raises(ValueError, match="zip"), append_table(tmp_path / "t.csv", {"a": int}) as append:
        append(np.arange(3), np.arange(3))
    assert read_labels(tmp_path / "t.csv").tolist() == [1]
