"""The paper's precision-recall curves of 50-bit codes, all methods.

In place of LabelMe, which cannot be had, two sets of GIST descriptors with near by a radius: scene15, some of whose
images are LabelMe's, 4,000 to learn from in all 512 dimensions with 50 neighbours on average; and CIFAR-10 with
LabelMe's numbers (20,019 to learn from, PCA to 40 dimensions, the radius taken in these, 100 neighbours). Training
points are the base, test points the queries; the radius is known to PPC alone, MLH takes its own. MNIST and CIFAR-10
with near by class, test points against one another. Drawn is the mean precision of three splits at each recall; the
curve of each split is in the table.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.experiments.methods import METHODS, SLOW
from proxcode.experiments.report import mean_and_spread, reasons, shown, write_text
from proxcode.experiments.runner import SEEDS, Cell, Row, histograms, run_cells
from proxcode.experiments.table import CURVE_BITS as N_BITS
from proxcode.files import write_table
from proxcode.metrics import PrecisionRecall, area_under_curve, precision_recall
from proxcode.plots import COLOURS, save_figure

PROTOCOLS = {
    "radius scene15-gist": "scene15 GIST, near by radius",
    "radius cifar10-gist": "CIFAR-10 GIST, PCA-40, near by radius",
    "labels mnist": "MNIST, near by class",
    "labels cifar10-gist": "CIFAR-10 GIST, near by class",
}
QUICK_PROTOCOLS = {"labels digits": "digits, near by class"}
STYLES = ("-", "--", ":", "-.")
RECALLS = np.linspace(0.01, 1, 100)
MOST_POINTS = 256  # of a curve in the table: distances that are real numbers have thousands
VISIBLE = 0.005  # of precision: what lies less above is not told

Curves = dict[str, dict[str, PrecisionRecall]]


def run(output: Path, quick: bool = False, verbose: bool = False) -> list[Path]:
    """Draw the curves; write `precision_recall.csv`, `precision_recall.md` and `precision_recall.png`."""
    protocols, seeds = (QUICK_PROTOCOLS, SEEDS[:1]) if quick else (PROTOCOLS, SEEDS)
    names = [name for name in METHODS if name not in SLOW]
    cells = [Cell(protocol, name, seed, (N_BITS,)) for protocol in protocols for name in names for seed in seeds]
    rows = run_cells(cells, output, quick=quick, verbose=verbose)
    of_splits = {cell: precision_recall(*counts) for cell in cells for counts in histograms(cell, output).values()}
    curves: Curves = {protocol: {} for protocol in protocols}
    for protocol, name in dict.fromkeys((cell.protocol, cell.method) for cell in of_splits):
        alike = [curve for cell, curve in of_splits.items() if (cell.protocol, cell.method) == (protocol, name)]
        curves[protocol][name] = mean_curve(alike)
    paths = [output / f"precision_recall.{ending}" for ending in ("csv", "md", "png")]
    write_table(paths[0], _columns(of_splits))
    write_text(paths[1], markdown(curves, rows, protocols) + reasons(cells, output))
    save_figure(draw(curves, protocols), paths[2], dpi=200)
    return paths


def markdown(curves: Curves, rows: list[Row], titles: dict[str, str]) -> str:
    """Return a table for each protocol: area under the curve, and where a method's curve lies above that of PPC."""
    lines = []
    for protocol, of_methods in curves.items():
        lines += [f"{titles[protocol]}, {N_BITS} bits", ""]
        lines += [f"| method | area | above PPC by more than {VISIBLE} |", "|---|---|---|"]
        for name, curve in sorted(of_methods.items(), key=lambda item: -area_under_curve(item[1])):
            areas = [row["auc"] for row in rows if (row["protocol"], row["method"]) == (protocol, name)]
            above = where_above(curve, of_methods["PPC"]) if "PPC" in of_methods else []
            lines.append(f"| {name} | {shown(*mean_and_spread(areas))} | {', '.join(above)} |")
        lines.append("")
    return "\n".join(lines)


def where_above(curve: PrecisionRecall, other: PrecisionRecall) -> list[str]:
    """Return the stretches of recall in which one curve is visibly higher than another, and by how much at most.

    Recall is looked at in steps of a hundredth.

    Examples
    --------
    >>> high, low = PrecisionRecall(np.array([0.9, 0.5]), np.array([0.4, 1])), PrecisionRecall(np.ones(1), np.ones(1))
    >>> where_above(low, high), where_above(high, low)
    (['recall .01 to 1.00 by .500'], [])
    """
    lead = _at_recalls(curve) - _at_recalls(other)
    places = np.flatnonzero(lead > VISIBLE)
    stretches = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if len(places) else []
    return [
        f"recall {RECALLS[some[0]]:.2f} to {RECALLS[some[-1]]:.2f} by {lead[some].max():.3f}".replace("0.", ".")
        for some in stretches
    ]


def mean_curve(curves: list[PrecisionRecall]) -> PrecisionRecall:
    """Return the mean precision of curves at equal recall."""
    return PrecisionRecall(np.mean([_at_recalls(curve) for curve in curves], axis=0), RECALLS)


def _at_recalls(curve: PrecisionRecall) -> NDArray[np.float64]:
    """Return precision along the curve; before its first point that point's, of equal recalls the first's."""
    rises = np.diff(curve.recall, prepend=-1.0) > 0
    return np.interp(RECALLS, curve.recall[rises], curve.precision[rises])


def _columns(curves: dict[Cell, PrecisionRecall]) -> dict[str, Any]:
    points = [
        (cell.protocol, cell.method, cell.seed, number, recall, precision)
        for cell, curve in curves.items()
        for number, (precision, recall) in enumerate(zip(curve.precision, curve.recall, strict=True))
        if number % -(-len(curve.recall) // MOST_POINTS) == 0 or number == len(curve.recall) - 1
    ]
    columns = zip(*points, strict=True)
    names = ("protocol", "method", "seed", "point", "recall", "precision")
    return {name: np.array(column) for name, column in zip(names, columns, strict=True)}


def draw(curves: Curves, titles: dict[str, str]) -> Any:
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
