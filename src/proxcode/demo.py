"""The demo: learn a code of the digits bundled with scikit-learn, beside random hyperplanes."""

from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from proxcode.code import ProximityPreservingCode
from proxcode.hamming import unpack
from proxcode.metrics import (
    Counts,
    area_under_curve,
    mean_average_precision,
    precision_recall,
    ranking_counts,
)
from proxcode.peers import LSH
from proxcode.threshold import loss

LENGTHS = (8, 16, 32, 64)


class Row(NamedTuple):
    """One line of the demo's table; the figures are those of test points against test points."""

    method: str
    bits: int
    loss: float
    auc: float
    map: float
    seconds: float


class Demo(NamedTuple):
    """What the demo measured."""

    rows: list[Row]
    model: ProximityPreservingCode
    counts: dict[str, tuple[Counts, Counts]]
    bits: NDArray[np.uint8]


def run_demo(verbose: bool = False) -> Demo:
    """Fit the longest code once, read the shorter ones off as prefixes, and measure all on held-out points."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=797, random_state=0, stratify=y)
    start = perf_counter()
    model = ProximityPreservingCode(n_bits=LENGTHS[-1], random_state=0, verbose=verbose).fit(X, y)
    total = perf_counter() - start
    rows: list[Row] = []
    counts: dict[str, tuple[Counts, Counts]] = {}
    for n_bits in LENGTHS:
        seconds = total - sum(record.seconds for record in model.history_[n_bits:])
        counts["PPC"] = ranking_counts(*_both(model.encode(X_test, n_bits), y_test), same_set=True)
        rows.append(_row("PPC", n_bits, *counts["PPC"], seconds))
    for n_bits in LENGTHS:
        start = perf_counter()
        peer = LSH(n_bits=n_bits, random_state=0).fit(X)
        seconds = perf_counter() - start
        counts["LSH"] = ranking_counts(*_both(peer.encode(X_test), y_test), same_set=True)
        rows.append(_row("LSH", n_bits, *counts["LSH"], seconds))
    return Demo(rows, model, counts, unpack(model.encode(X_test), LENGTHS[-1]))


def _both(codes: Any, labels: Any) -> tuple[Any, Any, Any, Any]:
    return codes, codes, labels, labels


def _row(method: str, n_bits: int, near: Counts, far: Counts, seconds: float) -> Row:
    total_near, total_far = near.sum(axis=0), far.sum(axis=0)
    auc = area_under_curve(precision_recall(total_near, total_far))
    return Row(method, n_bits, loss(total_near, total_far), auc, mean_average_precision(near, far), seconds)


def draw_demo(demo: Demo, path: Path) -> None:
    """Save the figure page."""
    from matplotlib.figure import Figure

    from proxcode.plots import plot_bit_balance, plot_loss, plot_near_and_far, plot_precision_recall

    figure = Figure(figsize=(11, 8), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    totals = {name: (near.sum(axis=0), far.sum(axis=0)) for name, (near, far) in demo.counts.items()}
    plot_near_and_far(*totals["PPC"], demo.model.alpha_, axes[0])
    plot_precision_recall({name: precision_recall(*pair) for name, pair in totals.items()}, axes[1])
    plot_loss(demo.model.history_, axes[2])
    plot_bit_balance(demo.bits, axes[3])
    figure.suptitle(f"{demo.model.n_bits_}-bit codes of handwritten digits")
    figure.savefig(path, dpi=150)
