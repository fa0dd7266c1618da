"""The paper's precision-recall curves of 50-bit codes, all methods.

In place of LabelMe, which cannot be had, two sets of GIST descriptors with near by a radius: scene15, some of whose
images are LabelMe's, and CIFAR-10 with LabelMe's numbers (20,019 to learn from, PCA to 40 dimensions); training points
are the base, test points the queries. MNIST and CIFAR-10 with near by class, test points against one another.
"""

from pathlib import Path
from typing import Any

import numpy as np

from proxcode.experiments.methods import METHODS
from proxcode.experiments.runner import Cell, histograms, run_cells
from proxcode.experiments.table import SLOW
from proxcode.metrics import PrecisionRecall, area_under_curve, precision_recall
from proxcode.plots import COLOURS, save_figure
from proxcode.tables import write_table

N_BITS = 50
SEED = 0
PROTOCOLS = {
    "radius scene15-gist": "scene15 GIST, near by radius",
    "radius cifar10-gist": "CIFAR-10 GIST, PCA-40, near by radius",
    "labels mnist": "MNIST, near by class",
    "labels cifar10-gist": "CIFAR-10 GIST, near by class",
}
QUICK_PROTOCOLS = {"labels digits": "digits, near by class"}
STYLES = ("-", "--", ":")


def run(output: Path, quick: bool = False, verbose: bool = False) -> list[Path]:
    """Draw the curves; write `precision_recall.csv` and `precision_recall.png`."""
    protocols = QUICK_PROTOCOLS if quick else PROTOCOLS
    names = [name for name in METHODS if name not in SLOW]
    cells = [Cell(protocol, name, SEED, (N_BITS,)) for protocol in protocols for name in names]
    run_cells(cells, output, quick=quick, verbose=verbose)
    curves: dict[str, dict[str, PrecisionRecall]] = {protocol: {} for protocol in protocols}
    for cell in cells:
        for near, far in histograms(cell, output, quick=quick).values():
            curves[cell.protocol][cell.method] = precision_recall(near, far)
    paths = [output / "precision_recall.csv", output / "precision_recall.png"]
    write_table(paths[0], _columns(curves))
    save_figure(draw(curves, protocols), paths[1], dpi=200)
    return paths


def _columns(curves: dict[str, dict[str, PrecisionRecall]]) -> dict[str, Any]:
    points = [
        (protocol, name, threshold, recall, precision)
        for protocol, of_methods in curves.items()
        for name, curve in of_methods.items()
        for threshold, (precision, recall) in enumerate(zip(curve.precision, curve.recall, strict=True))
    ]
    columns = zip(*points, strict=True)
    names = ("protocol", "method", "point", "recall", "precision")
    return {name: np.array(column) for name, column in zip(names, columns, strict=True)}


def draw(curves: dict[str, dict[str, PrecisionRecall]], titles: dict[str, str]) -> Any:
    """Return one panel for each protocol and one legend for all; methods in the order of their area."""
    from matplotlib.figure import Figure

    n_columns = min(2, len(curves))
    n_rows = -(-len(curves) // n_columns)
    figure = Figure(figsize=(5.2 * n_columns + 1.6, 4.2 * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    names = list(dict.fromkeys(name for of_methods in curves.values() for name in of_methods))
    looks = {name: (COLOURS[i % len(COLOURS)], STYLES[i // len(COLOURS) % len(STYLES)]) for i, name in enumerate(names)}
    handles: dict[str, Any] = {}
    for ax, (protocol, of_methods) in zip(axes, curves.items(), strict=False):
        for name, curve in sorted(of_methods.items(), key=lambda item: -area_under_curve(item[1])):
            colour, style = looks[name]
            width = 2.5 if name == "PPC" else 1.2
            (handles[name],) = ax.plot(curve.recall, curve.precision, color=colour, linestyle=style, linewidth=width)
        ax.set(
            xlabel="recall", ylabel="precision", title=f"{titles[protocol]}, {N_BITS} bits", xlim=(0, 1), ylim=(0, 1.02)
        )
    figure.legend([handles[name] for name in names], names, loc="outside right center", frameon=False)
    return figure
