"""Parts of experiments; whole experiments are in test_quick.py."""

import csv
import subprocess
import sys

import numpy as np
import pytest

from proxcode.experiments import run_experiments

LIGHT = (
    "import sys; from proxcode.experiments import EXPERIMENTS\n"
    "sys.exit(' '.join({'numba', 'scipy', 'sklearn', 'matplotlib', 'numpy'} & set(sys.modules)) or 0)"
)


def test_importing_the_names_imports_nothing_heavy():
    subprocess.run([sys.executable, "-c", LIGHT], check=True)


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


def test_captions_tell_the_figure_of_the_paper_what_replaces_its_data_and_whose_rules(tmp_path):
    pytest.importorskip("matplotlib")
    from proxcode.experiments import curves, illustrations, initial_guess, satisfied, timing
    from proxcode.experiments.methods import METHODS
    from proxcode.metrics import PrecisionRecall

    curve = PrecisionRecall(np.array([1.0, 0.5]), np.array([0.5, 1.0]))
    lower = PrecisionRecall(np.array([0.5, 0.5]), np.array([0.5, 1.0]))
    panels = {f"{about}, {curves.N_BITS} bits": {"LSH": lower, "PPC": curve} for about in curves.PROTOCOLS.values()}
    figure = curves.draw(panels, list(METHODS))
    for text in ("Figure 4a", "LabelMe, which is not available", "20,019", "Figure 4c", "seeds 0, 1, 2", "defaults"):
        assert text in figure.get_supxlabel().replace("\n", " ")
    assert "not in this figure" in figure.get_supxlabel()
    for ax in figure.axes:
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["PPC", "LSH"]
    with_paper = {title: {**of_methods, "PPC-paper": lower} for title, of_methods in panels.items()}
    figure = curves.draw(with_paper, list(METHODS))
    assert "PPC-paper: the paper's rules" in figure.get_supxlabel().replace("\n", " ")
    widths = {line.get_label(): line.get_linewidth() for line in figure.axes[0].lines}
    assert widths["PPC"] > widths["PPC-paper"] > 2 * widths["LSH"]

    size = initial_guess.Size(60, 1, (0,), ("digits, near by class",))
    figure = initial_guess.draw(initial_guess.measure(size, tmp_path), size)
    for text in ("Figures 5 and 6", "Peekaboom, which is not available", "60 samples", "Eq. 10 and gradient weights"):
        assert text in figure.get_supxlabel().replace("\n", " ")

    row = {"proximity": "l1, 2 dimensions", "seed": 0, "bits": 1, "loss": 0.1}
    figure = satisfied.draw([{**row, "rules": rules} for rules in satisfied.RULES], satisfied.QUICK)
    for text in ("no figure", "60 samples", "15 neighbours", "seed 0", "The paper's rules", "The default rules"):
        assert text in figure.get_supxlabel().replace("\n", " ")

    row = {"method": "LSH", "n_train": 1, "n_test": 1, "fit_seconds": 1.0, "encode_seconds": 1.0, "seed": 0}
    assert (
        "Not a figure of the paper. labels digits"
        in timing.draw([{**row, "protocol": "labels digits"}]).get_supxlabel()
    )

    figure = illustrations.draw_bits(np.zeros((2, 2)), np.eye(2, dtype=np.uint8))
    assert "Figure 2" in figure.get_supxlabel()
    assert "The paper's rules" in figure.get_supxlabel().replace("\n", " ")


def test_an_experiment_alone_creates_its_folder(tmp_path):
    pytest.importorskip("matplotlib")
    from proxcode.experiments.illustrations import RADII

    written = run_experiments(["illustrations"], tmp_path / "new", quick=True)
    assert {path.parent for path in written} == {tmp_path / "new" / "quick"}
    with (tmp_path / "new" / "quick" / "joint_histogram.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for radius in RADII:
        assert sum(int(row["pairs"]) for row in rows if float(row["radius"]) == radius) == 300 * 299 // 2


def test_the_table_says_where_ppc_is_not_ahead():
    from proxcode.experiments.table import best_of, markdown, not_ahead

    figures = {"PPC": (0.5, 0.6), "KSH+": (0.49, 0.3), "LSH": (0.1, float("nan"))}
    table = [
        {"method": name, "bits": bits, "auc": auc, "spread": 0.02, "paper": float("nan")}
        for name, areas in figures.items()
        for bits, auc in zip((16, 32), areas, strict=True)
    ]
    assert not_ahead(table, (16, 32)).endswith("of the two: at 16 bits KSH+ (0.490 ± 0.020).\n")
    assert "above every other method" in not_ahead(table, (32,))
    assert best_of(table, 32, ["LSH"]) is None
    assert "| best other method | KSH+ 0.490 | KSH+ 0.300 |" in markdown(table, (16, 32))


def test_posteriors_replace_the_samples_of_the_same_split():
    from proxcode.experiments.protocols import Size, labels_split, posteriors_split

    size = Size(600, 100)
    plain, posteriors = labels_split("digits", 0, size), posteriors_split("digits", 0, size)
    assert posteriors.train.shape == (600, 10)
    assert posteriors.base is posteriors.test
    assert (posteriors.labels == plain.labels).all()
    assert (posteriors.rows["test"] == plain.rows["test"]).all()
    # Far more often than by chance, the largest posterior is that of the own class.
    assert (posteriors.test.argmax(axis=1) == plain.test_labels).mean() > 0.9
