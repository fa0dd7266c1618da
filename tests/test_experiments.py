"""Experiments in their quick form."""

import csv
import subprocess
import sys

import pytest

from proxcode.experiments import EXPERIMENTS

LIGHT = (
    "import sys; from proxcode.experiments import EXPERIMENTS\n"
    "sys.exit(' '.join({'numba', 'scipy', 'sklearn', 'matplotlib', 'numpy'} & set(sys.modules)) or 0)"
)


def test_names_cost_nothing():
    subprocess.run([sys.executable, "-c", LIGHT], check=True)


def test_initial_guess(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    from proxcode.experiments.initial_guess import GUESSES, QUICK, UPDATES, summary

    table, figure = EXPERIMENTS["initial-guess"](tmp_path / "new" / "folder", True, False)
    assert sorted(path.name for path in table.parent.iterdir()) == ["initial_guess.csv", "initial_guess.png"]
    assert figure.read_bytes().startswith(b"\x89PNG")
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["dataset", "guess", "update", "seed", "bits", "loss"]
    assert len(rows) == len(QUICK.datasets) * len(GUESSES) * len(UPDATES) * len(QUICK.seeds) * QUICK.n_bits
    last = {(row["dataset"], row["guess"], row["update"]): float(row["loss"]) for row in rows}  # the longest code's
    for dataset in QUICK.datasets:
        for guess in GUESSES:
            assert last[dataset, guess, "bit update"] <= last[dataset, guess, "vector update"]
            assert f"{last[dataset, guess, 'bit update']:16.5f}" in summary(table)
    assert capsys.readouterr() == ("", "")
