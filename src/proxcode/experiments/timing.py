"""Time to learn and to encode, all methods at equal settings: 10,000 points of CIFAR-10 GIST, 32 bits."""

from pathlib import Path
from typing import Any

import numpy as np

from proxcode.experiments.methods import METHODS
from proxcode.experiments.runner import Cell, Row, run_cells, write_rows
from proxcode.plots import COLOURS, save_figure

PROTOCOL, QUICK_PROTOCOL = "timing cifar10-gist", "labels digits"
N_BITS = 32


def run(output: Path, quick: bool = False, verbose: bool = False) -> list[Path]:
    """Time all methods; write `timing.csv` and `timing.png`."""
    protocol = QUICK_PROTOCOL if quick else PROTOCOL
    cells = [Cell(protocol, name, 0, (N_BITS,)) for name in METHODS if not (quick and name == "PPC-paper")]
    rows = run_cells(cells, output, quick=quick, verbose=verbose)
    rows.sort(key=lambda row: row["fit_seconds"])
    names = ("method", "bits", "n_train", "n_test", "fit_seconds", "encode_seconds", "auc")
    paths = [output / "timing.csv", output / "timing.png"]
    write_rows(paths[0], [{name: row[name] for name in names} for row in rows])
    save_figure(_draw(rows), paths[1], dpi=200)
    return paths


def _draw(rows: list[Row]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 0.35 * len(rows) + 1.5), layout="constrained")
    ax = figure.subplots()
    place = np.arange(len(rows))
    for offset, name, colour in ((-0.2, "fit", COLOURS[0]), (0.2, "encode", COLOURS[1])):
        seconds = [max(row[f"{name}_seconds"], 1e-4) for row in rows]
        ax.barh(place + offset, seconds, height=0.38, color=colour, label=name)
    ax.set_yticks(place, [row["method"] for row in rows])
    ax.set(xscale="log", xlabel="seconds", ylabel="method")
    ax.set_title(f"{rows[0]['n_train']:,} points to learn from, {rows[0]['n_test']:,} to encode, {N_BITS} bits")
    ax.legend(frameon=False)
    return figure
