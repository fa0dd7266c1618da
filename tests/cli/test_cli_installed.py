"""The installed command: each verb once, on files."""

import csv
import re
import subprocess
from pathlib import Path

import numpy as np

from helpers.command_line import COMMAND, N_BITS, rows_of, run, without_progress
from proxcode.cli.printing import cell, label
from proxcode.evaluation import evaluate


def test_from_vectors_to_neighbours_by_the_installed_command(folder, model, train, new, tmp_path):
    labels = folder / "labels.npy"
    text = run("fit", folder / "train.npy", "--labels", labels, "--bits", N_BITS, "-o", "my.proxcode", cwd=tmp_path)
    assert f"near up to distance                   {model.radius_}\n" in text
    assert (tmp_path / "my.proxcode").read_bytes() == (folder / "api.proxcode").read_bytes()
    run("encode", "my.proxcode", folder / "train.npy", "-o", "codes.npy", cwd=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "codes.npy"), model.encode(train[0]))
    text = run("search", "codes.npy", folder / "queries.npy", "--model", "my.proxcode", "-k", 5, cwd=tmp_path)
    distance, neighbor = model.index(model.codes_).search(model.encode(new[0][:30]), k=5)
    assert [int(row["neighbor"]) for row in rows_of(text)] == neighbor.ravel().tolist()
    assert [int(row["distance"]) for row in rows_of(text)] == distance.ravel().tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["codes.npy", "my.proxcode"]


def test_evaluate_by_the_installed_command(folder, model, train, new, tmp_path):
    named = ("--labels", folder / "new_labels.npy", "--train", folder / "train.npy")
    text = run("evaluate", folder / "api.proxcode", folder / "new.npy", *named, cwd=tmp_path)
    expected = evaluate(model, *new, train=train[0]).rows
    names, *lines = [re.split(r"\s{2,}", line) for line in text.splitlines()[: 1 + len(expected)]]
    rows = [dict(zip(names, line, strict=True)) for line in lines]
    for row, measured in zip(rows, expected, strict=True):
        assert (row["method"], row["bits"]) == (measured.method, str(measured.bits))
        for name in ("misplaced_share", "pr_area", "map"):
            assert row[label(name)] == cell(getattr(measured, name))
    assert f"near up to distance {model.radius_}: precision " in text
    assert (tmp_path / "evaluation.png").read_bytes().startswith(b"\x89PNG")


def test_info_and_cut_by_the_installed_command(folder, tmp_path):
    assert "bits                                  20\n" in run("info", folder / "api.proxcode")
    assert "nodes              5\n" in run("cut", folder / "graph.csv", "-o", "partition.csv", cwd=tmp_path)
    assert (tmp_path / "partition.csv").read_text().startswith("node,partition\nann,")


def test_reproduce_writes_a_table_and_a_figure(tmp_path):
    text = run("reproduce", "initial-guess", "--quick", cwd=tmp_path)
    folder = Path("results", "quick")
    names = ("initial_guess.csv", "initial_guess.png", "experiments.json")
    assert text.splitlines() == [str(folder / name) for name in names]
    with (tmp_path / folder / "initial_guess.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 2 * 2 * 4 * 3 * 8
    assert (tmp_path / folder / "initial_guess.png").read_bytes().startswith(b"\x89PNG")


def test_demo_prints_a_table_and_saves_a_figure(tmp_path):
    text = run("demo", "--output", "pictures", cwd=tmp_path)
    # Compilation is not part of the seconds of the table.
    assert re.fullmatch(r"Kernels, compiled in the first run and cached: \d+\.\d s\.", text.splitlines()[1])
    methods = ("proxcode", "LSH", "ITQ")
    rows = {tuple(line.split()[:2]): line.split() for line in text.splitlines() if line.startswith(methods)}
    assert list(rows) == [(method, n_bits) for method in methods for n_bits in ("8", "16", "32", "64")]
    for (_, n_bits), row in list(rows.items())[4:]:
        own = rows["proxcode", n_bits]
        assert float(own[3]) > float(row[3]) + 0.2
        assert float(own[2]) < float(row[2])
    assert (tmp_path / "pictures" / "digits.png").read_bytes().startswith(b"\x89PNG")


def test_a_broken_pipe_is_no_error(folder):
    command = [COMMAND, "search", folder / "codes.npy", folder / "query_codes.npy", "-k", "500"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()  # as `| head` does
    assert without_progress(process.stderr.read().decode()) == ""
    process.stderr.close()
    assert process.wait() == 1
