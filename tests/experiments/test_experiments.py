"""Experiments in their quick form."""

import csv
import subprocess
import sys

import pytest

from proxcode.experiments import EXPERIMENTS, run_experiments

LIGHT = (
    "import sys; from proxcode.experiments import EXPERIMENTS\n"
    "sys.exit(' '.join({'numba', 'scipy', 'sklearn', 'matplotlib', 'numpy'} & set(sys.modules)) or 0)"
)


def test_importing_the_names_imports_nothing_heavy():
    subprocess.run([sys.executable, "-c", LIGHT], check=True)


def test_initial_guess(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    from proxcode.experiments.initial_guess import COMPONENTS, GUESSES, LOWEST_DRAWN, QUICK, STYLES, UPDATES, draw

    table, figure = EXPERIMENTS["initial-guess"].run(tmp_path / "new" / "folder", True, False)
    assert sorted(path.name for path in table.parent.iterdir()) == ["cells", "initial_guess.csv", "initial_guess.png"]
    assert figure.read_bytes().startswith(b"\x89PNG")
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["dataset", "components", "guess", "update", "seed", "bits", "loss"]
    n_curves = len(QUICK.datasets) * len(COMPONENTS) * len(GUESSES) * len(UPDATES) * len(QUICK.seeds)
    assert len(rows) == n_curves * QUICK.n_bits
    assert list(STYLES) == list(UPDATES)
    axes = draw([{**row, "loss": float(row["loss"])} for row in rows], QUICK).axes
    assert len(axes) == len(QUICK.datasets) * len(COMPONENTS)
    drawn = {
        (*ax.get_title().removesuffix(" threshold and weights").split("\n"), *line.get_label().rsplit(", ", 1)): line
        for ax in axes
        for line in ax.lines
    }
    last = {(row["dataset"], row["components"], row["guess"], row["update"]): float(row["loss"]) for row in rows}
    for dataset in QUICK.datasets:
        for guess in GUESSES:
            by_bits, by_vectors = (last[dataset, "exact", guess, update] for update in ("bit update", "vector update"))
            assert by_bits <= by_vectors
            assert drawn[dataset, "exact", guess, "bit update"].get_ydata()[-1] == max(by_bits, LOWEST_DRAWN)
    assert capsys.readouterr() == ("", "")


def test_initial_guess_does_not_repeat_stored_measurements(tmp_path, monkeypatch):
    from proxcode.experiments import initial_guess

    size = initial_guess.Size(60, 2, (0,), ("digits, near by class",))
    first = initial_guess.measure(size, tmp_path)
    original, runs = initial_guess.curves, []
    monkeypatch.setattr(initial_guess, "curves", lambda *a: runs.append(a) or original(*a))
    assert initial_guess.measure(size, tmp_path) == first
    assert runs == []
    assert len(initial_guess.measure(size._replace(n_bits=3), tmp_path)) == len(first) * 3 // 2
    assert len(runs) == len(initial_guess.COMPONENTS)


def test_satisfied(tmp_path):
    pytest.importorskip("matplotlib")
    from proxcode.experiments.satisfied import QUICK, RULES, draw, proximities

    table, figure = EXPERIMENTS["satisfied"].run(tmp_path, True, False)
    assert figure.read_bytes().startswith(b"\x89PNG")
    with table.open(newline="") as file:
        rows = [{**row, "bits": int(row["bits"]), "loss": float(row["loss"])} for row in csv.DictReader(file)]
    assert list(rows[0]) == ["proximity", "rules", "seed", "bits", "loss"]
    last = {(row["proximity"], row["rules"]): row for row in rows}
    assert list(last) == [(name, rules) for name in proximities(QUICK.dimensions) for rules in RULES]
    for (name, _), row in last.items():
        if name != "random signs, all pairs":
            assert row["loss"] == 0
            assert row["bits"] < QUICK.n_bits
    for ax, rules in zip(draw(rows).axes, RULES, strict=True):
        curves = {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}
        assert list(curves) == list(proximities(QUICK.dimensions))
        for name, line in curves.items():
            assert line.get_xdata()[-1] == last[name, rules]["bits"]


def test_an_experiment_alone_creates_its_folder(tmp_path):
    pytest.importorskip("matplotlib")
    from proxcode.experiments.illustrations import RADII

    written = run_experiments(["illustrations"], tmp_path / "new", quick=True)
    assert {path.parent for path in written} == {tmp_path / "new" / "quick"}
    with (tmp_path / "new" / "quick" / "joint_histogram.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for radius in RADII:
        assert sum(int(row["pairs"]) for row in rows if float(row["radius"]) == radius) == 300 * 299 // 2
