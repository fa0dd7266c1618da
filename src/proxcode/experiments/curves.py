"""Precision-recall curves of 50-bit codes, all methods: Figure 4 of the paper.

LabelMe, which the paper uses, is not available. Two datasets of GIST descriptors with near by a radius replace it:
scene15, which contains some images of LabelMe, with 4,000 training samples of all 512 dimensions and 50 neighbours on
average; and CIFAR-10 with the numbers of LabelMe (20,019 training samples, PCA to 40 dimensions, in which the radius is
taken, 100 neighbours on average). Training samples are the base and test samples the queries. Only PPC and PPC-paper
are given the radius; MLH uses its own. MNIST and CIFAR-10 are evaluated with near by class, among the test samples.
Methods marked + are those of Table 1 but SDH+, which has no 50 bits. The figure shows the mean precision of three
splits at each recall; the CSV file holds the curve of each split.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.experiments.report import (
    markdown_table,
    mean_and_spread,
    read_rows,
    read_splits,
    reasons,
    select,
    shown,
    write_splits,
)
from proxcode.experiments.runner import SEEDS, Cell, Row, histograms, run_cells, write_rows, write_text
from proxcode.experiments.table import CURVE_BITS as N_BITS
from proxcode.experiments.table import cells_for
from proxcode.metrics import PrecisionRecall, area_under_curve, precision_recall
from proxcode.plots import COLOURS, FAR, INK, NEAR, add_caption, save_figure

PROTOCOLS = {
    "radius scene15-gist": "scene15 GIST, near by radius",
    "radius cifar10-gist": "CIFAR-10 GIST, PCA-40, near by radius",
    "labels mnist": "MNIST, near by class",
    "labels cifar10-gist": "CIFAR-10 GIST, near by class",
}
TITLE = "# Precision and recall\n\n"
QUICK_PROTOCOLS = {"labels digits": "digits, near by class"}
# What each panel shows, for the caption.
PANELS = {
    "scene15 GIST, near by radius": (
        "Figure 4a, LabelMe, which is not available: replaced by scene15 GIST (4,000 training samples are the base, "
        "485 others the queries; 512 dimensions; within the radius with 50 neighbours on average)"
    ),
    "CIFAR-10 GIST, PCA-40, near by radius": (
        "and by CIFAR-10 GIST with the numbers of LabelMe (20,019 and 2,000 samples, PCA to 40 dimensions, 100 "
        "neighbours)"
    ),
    "MNIST, near by class": "Figure 4b: MNIST (69,000 training samples; 1,000 others are queries and base)",
    "CIFAR-10 GIST, near by class": "Figure 4c: CIFAR-10 GIST (59,000 training samples; 1,000 others)",
    "digits, near by class": "a quick check on digits in place of Figure 4 (test samples are queries and base)",
}
# Colour and width of the curves that stand out; all others are thin.
OWN = {"PPC": (NEAR, 3.0), "PPC-paper": (FAR, 2.4)}
OTHER_COLOURS = (*(colour for colour in COLOURS if colour not in (NEAR, FAR)), INK)
STYLES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 4)))
RECALLS = np.linspace(0.01, 1, 100)
# Approximate number of points of a curve in the CSV file: curves of real-valued distances have thousands.
MOST_POINTS = 256
# Smallest difference in precision that is reported.
VISIBLE = 0.005

# Curves by title of a panel and name of a method, methods in decreasing order of area.
Curves = dict[str, dict[str, PrecisionRecall]]


def run(output: Path, quick: bool = False, verbose: bool = False, jobs: int = 1) -> list[Path]:
    """Compute the curves; write `precision_recall.csv`, the areas and what was left out, then table and figure."""
    protocols, seeds = (QUICK_PROTOCOLS, SEEDS[:1]) if quick else (PROTOCOLS, SEEDS)
    cells = [cell for protocol in protocols for cell in cells_for(protocol, (N_BITS,), seeds)]
    rows = run_cells(cells, output, quick=quick, verbose=verbose, jobs=jobs)
    of_splits = {cell: precision_recall(*counts) for cell in cells for counts in histograms(cell, output).values()}
    path = output / "precision_recall.csv"
    write_rows(path, [row for cell, curve in of_splits.items() for row in _points(cell, curve)])
    return [path, *write_splits(output, "precision_recall", rows, cells), *redraw(output)]


def redraw(output: Path) -> list[Path]:
    """Write `precision_recall.md` and `precision_recall.png` from the curves and areas of all splits."""
    rows, left_out = read_splits(output, "precision_recall")
    of_splits = _read_curves(output / "precision_recall.csv")
    texts, curves = [], {}
    for protocol, about in {**PROTOCOLS, **QUICK_PROTOCOLS}.items():
        mine = [row for row in rows if _panel(row["protocol"]) == protocol]
        if not mine:
            continue
        alike: dict[str, list[PrecisionRecall]] = {}
        for (where, method, _), curve in of_splits.items():
            if _panel(where) == protocol:
                alike.setdefault(method, []).append(curve)
        means = {name: mean_curve(some) for name, some in alike.items()}
        title = f"{about}, {N_BITS} bits"
        curves[title] = dict(sorted(means.items(), key=lambda item: -area_under_curve(item[1])))
        texts.append(f"## {title}\n\n{markdown(curves[title], mine)}")
    paths = [output / f"precision_recall.{ending}" for ending in ("md", "png")]
    write_text(paths[0], TITLE + "\n".join(texts) + reasons(left_out))
    names = list(dict.fromkeys(method for _, method, _ in of_splits))
    seeds = tuple(sorted({seed for _, _, seed in of_splits}))
    save_figure(draw(curves, names, seeds), paths[1], dpi=200)
    return paths


def _panel(protocol: str) -> str:
    """Return the protocol of a panel: methods on posteriors are in that of the labels."""
    return protocol.replace("posteriors ", "labels ", 1)


def _read_curves(path: Path) -> dict[tuple[str, str, int], PrecisionRecall]:
    """Return the stored points of all curves by protocol, method and seed."""
    points: dict[tuple[str, str, int], list[Row]] = {}
    for row in read_rows(path):
        points.setdefault((row["protocol"], row["method"], row["seed"]), []).append(row)
    return {
        key: PrecisionRecall(*(np.array([row[name] for row in some]) for name in ("precision", "recall")))
        for key, some in points.items()
    }


def markdown(curves: dict[str, PrecisionRecall], rows: list[Row]) -> str:
    """Format areas under the curves of a protocol, and where a method's curve lies above that of PPC."""
    lines = []
    for name, curve in curves.items():
        above = where_above(curve, curves["PPC"]) if "PPC" in curves else []
        lines.append([name, shown(*mean_and_spread(select(rows, "auc", method=name))), ", ".join(above)])
    return markdown_table(["method", "area", f"above PPC by more than {VISIBLE}"], lines)


def where_above(curve: PrecisionRecall, other: PrecisionRecall) -> list[str]:
    """Return the intervals of recall in which a curve is visibly higher than another, and the largest difference.

    Recall is compared in steps of 0.01.

    Examples
    --------
    >>> high, low = PrecisionRecall(np.array([0.9, 0.5]), np.array([0.4, 1])), PrecisionRecall(np.ones(1), np.ones(1))
    >>> where_above(low, high), where_above(high, low)
    (['recall .01 to 1.00 by .500'], [])
    """
    lead = _at_recalls(curve) - _at_recalls(other)
    places = np.flatnonzero(lead > VISIBLE)
    intervals = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if len(places) else []
    return [
        f"recall {RECALLS[some[0]]:.2f} to {RECALLS[some[-1]]:.2f} by {lead[some].max():.3f}".replace("0.", ".")
        for some in intervals
    ]


def mean_curve(curves: list[PrecisionRecall]) -> PrecisionRecall:
    """Return the mean precision of curves at equal recall."""
    return PrecisionRecall(np.mean([_at_recalls(curve) for curve in curves], axis=0), RECALLS)


def _at_recalls(curve: PrecisionRecall) -> NDArray[np.float64]:
    """Interpolate precision at RECALLS.

    Recalls below that of the first threshold have its precision; of several thresholds with equal recall the first one
    is used.
    """
    rises = np.diff(curve.recall, prepend=-1.0) > 0
    return np.interp(RECALLS, curve.recall[rises], curve.precision[rises])


def _points(cell: Cell, curve: PrecisionRecall) -> list[Row]:
    """Return evenly spaced points of a curve, including the last, as rows of the CSV file."""
    n_points = len(curve.recall)
    step = -(-n_points // MOST_POINTS)
    about = {"protocol": cell.protocol, "method": cell.method, "seed": cell.seed}
    return [
        {**about, "point": number, "recall": curve.recall[number], "precision": curve.precision[number]}
        for number in sorted({*range(0, n_points, step), n_points - 1})
    ]


def draw(curves: Curves, names: list[str], seeds: Sequence[int] = SEEDS) -> Any:
    """Draw a panel for each protocol, its legend in decreasing order of area; `names` fixes colours and styles."""
    from matplotlib.figure import Figure

    n_columns = min(2, len(curves))
    n_rows = -(-len(curves) // n_columns)
    # A panel is at least as high as its legend.
    height = max(4.4, 0.16 * len(names) + 0.8)
    figure = Figure(figsize=(6.4 * n_columns, height * n_rows + 0.7), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    others = [name for name in names if name not in OWN]
    looks: dict[str, dict[str, Any]] = {
        name: {"color": colour, "linewidth": width, "zorder": 3} for name, (colour, width) in OWN.items()
    }
    for number, name in enumerate(others):
        style, colour = divmod(number, len(OTHER_COLOURS))
        looks[name] = {"color": OTHER_COLOURS[colour], "linestyle": STYLES[style % len(STYLES)], "linewidth": 0.9}
    for ax, (title, of_methods) in zip(axes, curves.items(), strict=False):
        for name, curve in sorted(of_methods.items(), key=lambda item: -area_under_curve(item[1])):
            ax.plot(curve.recall, curve.precision, label=name, **looks[name])
        ax.set(xlabel="recall", ylabel="precision", title=title, xlim=(0, 1), ylim=(0, 1.02))
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), frameon=False, fontsize=7, title="by area")
    add_caption(figure, caption(curves, seeds))
    return figure


def caption(curves: Curves, seeds: Sequence[int]) -> str:
    """Return what the panels show, and which of the methods are the paper's and this library's."""
    panels = [PANELS[title.removesuffix(f", {N_BITS} bits")] for title in curves]
    of_seeds = f"mean of {len(seeds)} splits, seeds {', '.join(map(str, seeds))}" if len(seeds) > 1 else "one split"
    own = ["PPC: this library's defaults."]
    if any("PPC-paper" in of_methods for of_methods in curves.values()):
        own.append("PPC-paper: the paper's rules, and a support vector machine for each bit.")
    else:
        own.append("The paper's own method is not in this figure.")
    if any(name.endswith("+") for of_methods in curves.values() for name in of_methods):
        own.append("+: other methods with the landmarks or the features of PPC.")
    if len(panels) > 1:
        own.append("With near by radius only PPC and PPC-paper are told the radius; MLH takes its own.")
    return f"{'; '.join(panels)}. {N_BITS} bits, {of_seeds}. {' '.join(own)}".strip()
