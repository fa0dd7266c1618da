"""Fit and encoding time of all methods at equal settings; the paper has no such figure.

All methods learn 32 bits from 10,000 samples of CIFAR-10 GIST and encode 10,000 others. Each time is a single
measurement, after a fit to a few samples that compiles the kernels. The area under the precision-recall curve is listed
with the times. FastHash, which is slow, is included here alone.
"""

from pathlib import Path
from typing import Any

import numpy as np

from proxcode.experiments.datasets import load
from proxcode.experiments.methods import METHODS
from proxcode.experiments.report import read_rows
from proxcode.experiments.runner import Cell, Row, run_cells, write_rows
from proxcode.plots import COLOURS, add_caption, save_figure

# Number of samples of the fit that compiles the kernels.
WARM_UP_SAMPLES = 400
N_BITS = 32
QUICK_NAMES = ("PPC", "LSH", "ITQ", "SDH")


def run(output: Path, quick: bool = False, verbose: bool = False, jobs: int = 1) -> list[Path]:
    """Measure all methods, one at a time whatever `jobs`; write `timing.csv` and `timing.png`."""
    protocol = "timing digits" if quick else "timing cifar10-gist"
    names = QUICK_NAMES if quick else tuple(METHODS)
    digits = load("digits")
    X, y = digits.X[:WARM_UP_SAMPLES], digits.labels[:WARM_UP_SAMPLES]
    for name in names:
        METHODS[name].make(8, 0, None).fit(X, y).transform(X)
    cells = [Cell(protocol, name, 0, (N_BITS,)) for name in names]
    rows = run_cells(cells, output, quick=quick, verbose=verbose, jobs=jobs)
    rows = sorted((row for row in rows if row["bits"] == N_BITS), key=lambda row: row["fit_seconds"])
    columns = ("protocol", "method", "seed", "bits", "n_train", "n_test", "fit_seconds", "encode_seconds", "auc")
    path = output / "timing.csv"
    write_rows(path, [{name: row[name] for name in columns} for row in rows])
    return [path, *redraw(output)]


def redraw(output: Path) -> list[Path]:
    """Draw `timing.png` from the measures."""
    path = output / "timing.png"
    save_figure(draw(read_rows(output / "timing.csv")), path, dpi=200)
    return [path]


def draw(rows: list[Row]) -> Any:
    """Draw fit and encoding times as bars, one pair of bars per row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 0.35 * len(rows) + 2), layout="constrained")
    ax = figure.subplots()
    place = np.arange(len(rows))
    for offset, name, colour in ((-0.2, "fit", COLOURS[0]), (0.2, "encode", COLOURS[1])):
        seconds = [max(row[f"{name}_seconds"], 1e-4) for row in rows]
        ax.barh(place + offset, seconds, height=0.38, color=colour, label=name)
    ax.set_yticks(place, [row["method"] for row in rows])
    ax.set(xscale="log", xlabel="seconds", ylabel="method", ylim=(-0.7, len(rows) - 0.3))
    ax.set_title(f"{rows[0]['n_train']:,} training samples, {rows[0]['n_test']:,} encoded samples, {N_BITS} bits")
    ax.legend(frameon=False, loc="lower right")
    data = {"timing cifar10-gist": "CIFAR-10 GIST, 512 dimensions, near by class"}
    add_caption(
        figure,
        f"Not a figure of the paper. {data.get(rows[0]['protocol'], rows[0]['protocol'])}; one measurement of each "
        f"method on all threads, seed {rows[0]['seed']}. PPC: this library's defaults; PPC-paper: the paper's rules "
        "with a support vector machine for each bit.",
    )
    return figure
