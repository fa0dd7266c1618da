"""All experiments in their quick form, run once for all tests of this module."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from proxcode.cli import main
from proxcode.experiments import EXPERIMENTS, redraw_experiments
from proxcode.experiments.methods import FAIR, METHODS, SLOW
from proxcode.experiments.report import read_rows
from proxcode.experiments.table import CURVE_BITS, QUANTISERS

PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the files that all experiments write, by name."""
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("experiments")
    result = CliRunner().invoke(main, ["reproduce", "all", "--quick", "--output", str(folder)])
    assert result.exit_code == 0, result.output
    paths = [Path(line) for line in result.stdout.split()]
    assert {path.parent for path in paths} == {folder / "quick"}
    return {path.name: path for path in paths}


def test_all_experiments_write_their_files(written):
    names = {"table1.md", "precision_recall.png", "first_bits.png", "ablations.md", "timing.png", "other_data.csv"}
    assert names <= set(written)
    record = json.loads(written["experiments.json"].read_text())
    assert list(record) == list(EXPERIMENTS)
    assert all(run["seconds"] > 0 and "numpy" in run["versions"] for run in record.values())
    for path in written.values():
        assert path.stat().st_size > 0
        assert path.suffix != ".png" or path.read_bytes().startswith(PNG)
    table = written["table1.md"].read_text()
    assert all(f"| {name} |" in table for name in METHODS if name not in SLOW)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_tables_and_figures_are_made_from_the_files_alone(name, written):
    output = written["experiments.json"].parents[1]
    before = {path: path.read_bytes() for path in written.values()}
    drawn = redraw_experiments([name], output, quick=True)
    assert drawn
    assert set(drawn) < set(before)
    for path in drawn:
        path.unlink()
    redraw_experiments([name], output, quick=True)
    assert {path: path.read_bytes() for path in written.values()} == before


def test_initial_guess(written):
    from proxcode.experiments.initial_guess import COMPONENTS, GUESSES, LOWEST_DRAWN, QUICK, STYLES, UPDATES, draw

    rows = read_rows(written["initial_guess.csv"])
    assert list(rows[0]) == ["dataset", "components", "guess", "update", "seed", "bits", "loss"]
    n_curves = len(QUICK.datasets) * len(COMPONENTS) * len(GUESSES) * len(UPDATES) * len(QUICK.seeds)
    assert len(rows) == n_curves * QUICK.n_bits
    assert list(STYLES) == list(UPDATES)
    axes = draw(rows, QUICK).axes
    assert len(axes) == len(QUICK.datasets) * len(COMPONENTS)
    drawn = {
        (*ax.get_title().removesuffix(" threshold and weights").split("\n"), *line.get_label().rsplit(", ", 1)): line
        for ax in axes
        for line in ax.lines
    }
    last = {(row["dataset"], row["components"], row["guess"], row["update"]): row["loss"] for row in rows}
    for dataset in QUICK.datasets:
        for guess in GUESSES:
            by_bits, by_vectors = (last[dataset, "exact", guess, update] for update in ("bit update", "vector update"))
            assert by_bits <= by_vectors
            assert drawn[dataset, "exact", guess, "bit update"].get_ydata()[-1] == max(by_bits, LOWEST_DRAWN)


def test_satisfied(written):
    from proxcode.experiments.satisfied import QUICK, RULES, draw, proximities

    rows = read_rows(written["satisfied.csv"])
    assert list(rows[0]) == ["proximity", "rules", "seed", "bits", "loss"]
    last = {(row["proximity"], row["rules"]): row for row in rows}
    assert list(last) == [(name, rules) for name in proximities(QUICK.dimensions) for rules in RULES]
    for (name, _), row in last.items():
        if name != "random signs, all pairs":
            assert row["loss"] == 0
            assert row["bits"] < QUICK.n_bits
    for ax, rules in zip(draw(rows, QUICK).axes, RULES, strict=True):
        curves = {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}
        assert list(curves) == list(proximities(QUICK.dimensions))
        for name, line in curves.items():
            assert line.get_xdata()[-1] == last[name, rules]["bits"]


def test_other_data_names_the_best_methods(written):
    from proxcode.experiments.other_data import QUICK_BITS

    rows = read_rows(written["other_data.csv"])
    fair = [name for name, method in FAIR.items() if method.lengths(QUICK_BITS)]
    assert [row["method"] for row in rows] == [*(name for name in METHODS if name not in SLOW), *fair]
    assert {row["bits"] for row in rows} == set(QUICK_BITS)
    protocols = {row["method"]: row["protocol"] for row in read_rows(written["other_data_splits.csv"])}
    on_posteriors = {name for name in fair if FAIR[name].on_posteriors}
    assert {name for name, protocol in protocols.items() if protocol == "posteriors digits"} == on_posteriors
    others = [row for row in rows if row["method"] not in ("PPC", "PPC-paper", *QUANTISERS) and row["auc"] > 0]
    best = max(others, key=lambda row: row["auc"])
    text = written["other_data.md"].read_text()
    assert f"| best by Hamming distance | {best['method']} {best['auc']:.3f} |" in text


def test_ablations_tell_what_was_measured(written):
    from proxcode.experiments.ablations import IN_SAMPLE, METRIC_VARIANTS, QUICK_BITS, QUICK_PROTOCOLS, QUICK_VARIANTS

    def key(row):
        return row["protocol"], row["method"], row["bits"]

    names = ("ablations_splits.csv", "ablations_in_sample.csv", "ablations.csv")
    splits, losses, table = (read_rows(written[name]) for name in names)
    assert len(splits) == (len(QUICK_PROTOCOLS) * len(QUICK_VARIANTS) + len(METRIC_VARIANTS)) * len(QUICK_BITS)
    assert len(losses) == len(QUICK_PROTOCOLS) * len(IN_SAMPLE) * len(QUICK_BITS)
    assert len(table) == len(splits) + len(losses)
    measures = {("auc", *key(row)): row["auc"] for row in splits} | {("loss", *key(row)): row["loss"] for row in losses}
    text = written["ablations.md"].read_text()
    for row in table:
        assert row["mean"] == measures[row["figure"], *key(row)]
        assert f"{row['mean']:.3f}" in text
    figures = {(row["figure"], row["protocol"], row["method"]): row["mean"] for row in table if row["bits"] == 8}
    by_radius = {name: figures["auc", "radius digits", name] for name in QUICK_VARIANTS}
    assert by_radius["default"] > by_radius["random-start"] > by_radius["unsigned-spectral"]
    for protocol in QUICK_PROTOCOLS:
        loss = {name: figures["loss", protocol, name] for name in IN_SAMPLE}
        assert loss["unrefined"] == min(loss.values())


def test_precision_recall_curves_have_the_peers_with_what_ppc_has(written):
    rows = read_rows(written["precision_recall.csv"])
    fair = {name for name, method in FAIR.items() if method.lengths((CURVE_BITS,))}
    assert fair < {row["method"] for row in rows}
    text = written["precision_recall.md"].read_text()
    assert text.count("## ") == 1
    assert all(f"| {name} |" in text for name in fair)
