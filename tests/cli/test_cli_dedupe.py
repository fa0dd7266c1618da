"""The verb `dedupe`."""

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from helpers.codes import random_codes
from helpers.command_line import call, fails, read_columns, what_was_read
from proxcode import HammingIndex, find_duplicates
from proxcode.cli import main
from proxcode.cli.printing import label

N_BITS = 60


@pytest.fixture
def codes(rng):
    """Codes of 60 bits: near-duplicates and equal codes among random ones."""
    codes = np.vstack([random_codes(rng, 400, N_BITS), random_codes(rng, 400, N_BITS, 60, 0.01)])
    return rng.permutation(codes)


@pytest.fixture
def folder(tmp_path, codes, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "codes.npy", codes)
    return tmp_path


def summary(*arguments):
    """Return what --json prints; the text has the same names."""
    record = json.loads(call("dedupe", *arguments, "--force", "--json"))
    assert record.pop("read")["codes"]["rows"] == record["codes"]
    lines = [re.split(r"\s{2,}", line)[0] for line in call("dedupe", *arguments, "--force").splitlines()]
    assert lines == [label(name) for name in record]
    return record


def as_sets(path):
    """Return the rows of a file."""
    columns = read_columns(path)
    return list(columns), list(
        zip(*(np.asarray(column).astype(int).tolist() for column in columns.values()), strict=True)
    )


def expected_groups(found):
    rows = zip(found.group.tolist(), found.ids.tolist(), found.representative.tolist(), strict=True)
    # A stable sort by the group: the codes of a group are in their order.
    return [(one, group, first) for group, one, first in sorted(rows, key=lambda row: row[0]) if group >= 0]


def expected_pairs(found):
    return [row for block in found.pairs() for row in zip(*(column.tolist() for column in block), strict=True)]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".npz", ".parquet"])
def test_groups_and_pairs_are_those_of_the_library(folder, codes, suffix):
    found = find_duplicates(codes, 3, n_bits=N_BITS)
    record = summary("codes.npy", "--radius", 3, "--bits", N_BITS, "-o", f"groups{suffix}")
    assert record.pop("seconds") >= 0
    assert record == {
        "output": f"groups{suffix}",
        "codes": 800,
        "bits": N_BITS,
        "radius": 3,
        "distinct codes": found.n_distinct,
        "groups": found.n_groups,
        "largest group": int(np.bincount(found.group + 1)[1:].max()),
        "duplicates": found.n_duplicates,
        "kept": len(found.kept),
    }
    assert as_sets(folder / f"groups{suffix}") == (["id", "group", "representative"], expected_groups(found))
    record = summary("codes.npy", "--radius", 3, "--bits", N_BITS, "--pairs", "-o", f"pairs{suffix}")
    pairs = expected_pairs(found)
    assert as_sets(folder / f"pairs{suffix}") == (["first", "second", "distance"], pairs)
    assert list(record) == ["output", "codes", "bits", "radius", "distinct codes", "pairs", "seconds"]
    assert record["pairs"] == len(pairs)
    assert len(list(folder.iterdir())) == 3


def test_a_summary_without_a_file(folder, codes):
    record = summary("codes.npy", "--radius", 0)
    assert "output" not in record
    assert record["kept"] == record["distinct codes"] == len(np.unique(codes, axis=0))
    assert len(list(folder.iterdir())) == 1


def test_rows_that_are_not_their_representative_are_the_duplicates(folder, codes):
    call("dedupe", "codes.npy", "--radius", 3, "-o", "groups.csv")
    _, rows = as_sets(folder / "groups.csv")
    removed = [one for one, _, representative in rows if one != representative]
    np.testing.assert_array_equal(np.delete(np.arange(800), removed), find_duplicates(codes, 3).kept)


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_files_without_duplicates(folder, suffix):
    np.save("two.npy", np.array([[0], [255]], np.uint8))
    assert summary("two.npy", "--radius", 3, "-o", f"groups{suffix}")["groups"] == 0
    assert summary("two.npy", "--radius", 3, "--pairs", "-o", f"pairs{suffix}")["pairs"] == 0
    if suffix == ".csv":
        assert (folder / "groups.csv").read_text() == "id,group,representative\n"
        assert (folder / "pairs.csv").read_text() == "first,second,distance\n"
    else:
        assert read_columns(folder / "pairs.npz")["distance"].shape == (0,)


def test_ids_and_threads(folder, codes, rng):
    ids = rng.permutation(800) + 10**10
    np.save("ids.npy", ids)
    call("dedupe", "codes.npy", "--radius", 2, "--ids", "ids.npy", "--threads", 1, "-o", "groups.npz")
    found = find_duplicates(codes, 2, ids=ids)
    assert as_sets(folder / "groups.npz")[1] == expected_groups(found)
    call("dedupe", "codes.npy", "--radius", 2, "--ids", "ids.npy", "--pairs", "--threads", 2, "-o", "pairs.npz")
    assert as_sets(folder / "pairs.npz")[1] == expected_pairs(found)


def test_saved_indexes_one_and_several(folder, codes):
    ids = np.arange(800) + 5000
    HammingIndex(N_BITS).add(codes, ids).save("all.index")
    found = find_duplicates(codes, 2, ids=ids)
    assert summary("all.index", "--radius", 2, "-o", "groups.csv")["bits"] == N_BITS
    assert as_sets(folder / "groups.csv")[1] == expected_groups(found)
    (folder / "parts").mkdir()
    for part in range(2):
        rows = slice(400 * part, 400 * part + 400)
        HammingIndex(N_BITS).add(codes[rows], ids[rows]).save(folder / "parts" / f"{part}.index")
    for source in ("parts", "parts/*.index"):
        call("dedupe", source, "--radius", 2, "-o", "groups.csv", "--force")
        assert as_sets(folder / "groups.csv")[1] == expected_groups(found)
    call("dedupe", "parts", "--renumber", "--radius", 2, "-o", "groups.csv", "--force")
    assert as_sets(folder / "groups.csv")[1] == expected_groups(find_duplicates(codes, 2))
    HammingIndex(N_BITS).add(codes[:400]).save("parts/0.index")
    HammingIndex(N_BITS).add(codes[400:]).save("parts/1.index")
    assert fails("dedupe", "parts", "--radius", 2) == "parts has files with equal ids: pass --renumber, or --ids."
    HammingIndex(N_BITS).add(codes[400:], [str(one) for one in ids[400:]]).save("parts/1.index")
    message = "parts has files with integer and string ids: pass --renumber, or --ids."
    assert fails("dedupe", "parts", "--radius", 2) == message
    HammingIndex(8).add(codes[:, :1]).save("parts/1.index")
    assert "of 8 bits, parts/0.index of 60: pass codes of one length" in fails("dedupe", "parts", "--radius", 2)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_string_ids(folder, codes, suffix):
    names = [f"é {one}, 7" for one in range(800)]
    HammingIndex(N_BITS).add(codes, names).save("text.index")
    (folder / "names.txt").write_text("\n".join(names), encoding="utf-8")
    found = find_duplicates(codes, 2, ids=names)
    expected = [row for block in found.pairs() for row in zip(*(column.tolist() for column in block), strict=True)]
    for source in (("text.index",), ("codes.npy", "--bits", N_BITS, "--ids", "names.txt")):
        output = ("-o", f"found{suffix}", "--force")
        call("dedupe", *source, "--radius", 2, *output)
        assert rows_of_text(folder / f"found{suffix}") == [tuple(map(str, row)) for row in expected_groups(found)]
        call("dedupe", *source, "--radius", 2, "--pairs", *output)
        assert rows_of_text(folder / f"found{suffix}") == [tuple(map(str, row)) for row in expected]
    message = "pairs.npz: text cannot be appended to an .npz file; write .csv, .tsv, .jsonl or .parquet."
    assert fails("dedupe", "text.index", "--radius", 2, "--pairs", "-o", "pairs.npz") == message


def rows_of_text(path):
    """Return the rows of a file, all cells as text."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            return [tuple(row) for row in csv.reader(file)][1:]
    return list(zip(*(map(str, column) for column in read_columns(path).values()), strict=True))


def test_what_was_read_is_said(folder, codes):
    np.save("ids.npy", np.arange(800))
    said, record = what_was_read("dedupe", "codes.npy", "--radius", 2, "--ids", "ids.npy")
    assert list(said) == ["codes", "ids"]
    assert record["codes"]["rows"] == 800


def test_parquet_files_of_codes(folder, codes):
    pa = pytest.importorskip("pyarrow")
    values = pa.array([bytes(code) for code in codes], pa.binary(codes.shape[1]))
    table = pa.table({"key": np.arange(800) + 7, "hash": values})
    pytest.importorskip("pyarrow.parquet").write_table(table, "codes.parquet")
    call("dedupe", "codes.parquet", "--column", "hash", "--id", "key", "--radius", 2, "-o", "groups.csv")
    found = find_duplicates(codes, 2, ids=np.arange(800) + 7)
    assert as_sets(folder / "groups.csv")[1] == expected_groups(found)
    assert "no column 'code' of codes" in fails("dedupe", "codes.parquet", "--radius", 2)
    arguments = ("codes.parquet", "--column", "hash", "--radius", 2, "--id", "number")
    assert "has no column 'number' of ids" in fails("dedupe", *arguments)
    # A column of text is not read where ids are given.
    table = pa.table({"id": [f"a{one}" for one in range(800)], "hash": values})
    pytest.importorskip("pyarrow.parquet").write_table(table, "text.parquet")
    arguments = ("text.parquet", "--column", "hash", "--radius", 2, "-o", "groups.csv", "--force")
    call("dedupe", *arguments, "--ids", "codes.parquet:key")
    assert as_sets(folder / "groups.csv")[1] == expected_groups(found)


def test_wrong_inputs(folder, codes):
    np.save("few.npy", np.arange(3))
    np.save("twice.npy", np.zeros(800, int))
    np.save("none.npy", np.empty((0, 8), np.uint8))
    cases = {
        ("codes.npy", "--ids", "few.npy"): "few.npy holds 3 ids for 800 codes: expected one each.",
        ("codes.npy", "--ids", "twice.npy"): "ids contains 0 more than once: expected distinct ids.",
        (
            "codes.npy",
            "--bits",
            57,
        ): "codes has nonzero bits after the first 57: expected zeros, as returned by encode().",
        ("codes.npy", "-o", "gone/groups.csv"): "there is no folder gone to write groups.csv to: make it first.",
    }
    for arguments, sentence in cases.items():
        assert fails("dedupe", *arguments, "--radius", 2) == sentence
    assert "none.npy" in fails("dedupe", "none.npy", "--radius", 2)
    call("dedupe", "codes.npy", "--radius", 2, "-o", "groups.csv")
    before = (folder / "groups.csv").read_bytes()
    assert "already exists" in fails("dedupe", "codes.npy", "--radius", 1, "--pairs", "-o", "groups.csv")
    assert (folder / "groups.csv").read_bytes() == before


def test_the_examples_of_the_help_run(folder, codes):
    text = main.get_command(None, "dedupe").help
    commands = [shlex.split(line) for line in text.splitlines() if line.strip().startswith("proxcode dedupe")]
    assert len(commands) == 2
    for command in commands:
        call(*command[1:])
    found = find_duplicates(codes, 3)
    assert as_sets(folder / "groups.csv")[1] == expected_groups(found)
    assert as_sets(folder / "pairs.csv")[1] == expected_pairs(found)


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@pytest.mark.parametrize("name", ["pairs.csv", "pairs.npz", "groups.csv"])
def test_an_interrupt_leaves_no_partial_file(tmp_path, rng, name):
    # Few pairs are within the radius, but all codes are compared: minutes of work.
    np.save(tmp_path / "codes.npy", random_codes(rng, 1_500_000, 64))
    arguments = ["--radius", "15", "-o", name, *(["--pairs"] if name.startswith("pairs") else [])]
    process = subprocess.Popen(
        [sys.executable, "-m", "proxcode", "dedupe", "codes.npy", *arguments],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    if name.startswith("pairs"):
        end = time.monotonic() + 120
        while not (tmp_path / f".{name}.partial").exists() and time.monotonic() < end:
            time.sleep(0.05)
        assert (tmp_path / f".{name}.partial").exists()
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.endswith("Interrupted: no progress was saved.\n")
    assert [file.name for file in tmp_path.iterdir()] == ["codes.npy"]
