"""Draw what was measured: each function takes numbers and an `ax`, and returns the ax.

Without an `ax` a new figure is made by `matplotlib.pyplot`, as notebooks show it. `figure_page` puts all drawings of an
`Evaluation` on one page, and `save_figure` writes it.
"""

import os
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from proxcode.bits import BitRecord
from proxcode.metrics import Counts, PrecisionRecall, area_under_curve, precision_recall
from proxcode.storage.atomic import atomic_write

if TYPE_CHECKING:
    from proxcode.evaluation import Evaluation

# Okabe and Ito's colours, told apart by all eyes.
NEAR, FAR, INK = "#0072B2", "#D55E00", "#222222"
COLOURS = (NEAR, FAR, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
FORMATS = ("png", "pdf", "svg")
MAX_EDGED = 256  # bars; with more, white edges would cover them


def plot_near_and_far(near: Counts, far: Counts, alpha: float, ax: Any = None) -> Any:
    """Shares of near and of far pairs by Hamming distance, and the threshold between them.

    Parameters
    ----------
    near, far : ndarrays of shape (n_bits + 1,)
        Pairs at each Hamming distance.
    alpha : float
        Threshold in the paper's doubled distance, as in `alpha_`; drawn at the Hamming distance alpha / 2.
    ax : matplotlib Axes, default=None
        None makes a new figure.
    """
    ax = _axes(ax)
    distance = np.arange(len(near))
    shares = near / near.sum(), far / far.sum()
    ax.bar(distance, shares[0], width=1.0, alpha=0.6, color=NEAR, label="near pairs")
    ax.bar(distance, shares[1], width=1.0, alpha=0.6, color=FAR, label="far pairs")
    top = float(np.max(shares))
    # A line of the drawing's own height: one of the axes' would cross the legend.
    ax.plot([alpha / 2] * 2, [0, 1.04 * top], color=INK, linestyle="--", label=f"alpha: distance {alpha / 2:.1f}")
    ax.set(xlabel="Hamming distance", ylabel="share of pairs", title=f"Near and far pairs at {_bits(len(near) - 1)}")
    _whole_ticks(ax)
    _legend_above(ax, top)
    return ax


def plot_precision_recall(curves: Mapping[str, PrecisionRecall], ax: Any = None) -> Any:
    """One precision-recall curve per method over Hamming thresholds, its area in the legend."""
    ax = _axes(ax)
    for (name, curve), colour, marker in zip(curves.items(), cycle(COLOURS), cycle(MARKERS), strict=False):
        label = f"{name}: {area_under_curve(curve):.3f}"
        ax.plot(curve.recall, curve.precision, color=colour, marker=marker, markersize=3, label=label)
    ax.set(xlabel="recall", ylabel="precision", title="Precision and recall (area)", xlim=(-0.02, 1.02))
    ax.set_yticks(np.linspace(0, 1, 6))
    _legend_above(ax, 1.0)
    return ax


def plot_loss(history: Sequence[BitRecord], ax: Any = None, measured: Mapping[int, float] | None = None) -> Any:
    """Share of misplaced training pairs after each bit, and what was `measured` elsewhere at some code lengths."""
    ax = _axes(ax)
    losses = [record.loss for record in history]
    ax.plot(np.arange(1, len(losses) + 1), losses, color=NEAR, label="training pairs")
    if measured:
        ax.plot(list(measured), list(measured.values()), "s", color=FAR, markersize=5, label="pairs measured here")
    ax.set(xlabel="bits", ylabel="share of misplaced pairs", title="Loss by code length")
    _whole_ticks(ax)
    _legend_above(ax, max([*losses, *(measured or {}).values()]))
    return ax


def plot_bit_balance(bits: NDArray[np.uint8], ax: Any = None) -> Any:
    """Share of ones in each bit of a 0/1 matrix, as bars up or down from one half: a balanced bit has none."""
    ax = _axes(ax)
    n_bits = bits.shape[1]
    number, excess = np.arange(1, n_bits + 1), bits.mean(axis=0) - 0.5
    edge = 0.3 if n_bits <= MAX_EDGED else 0.0
    ax.bar(number, excess, bottom=0.5, width=1.0, color=NEAR, edgecolor="white", linewidth=edge)
    ax.axhline(0.5, color=INK, linewidth=1)
    ax.set(xlabel="bit", ylabel="share of ones", title="Balance of the bits", ylim=(0, 1), xlim=(0.5, n_bits + 0.5))
    _whole_ticks(ax)
    return ax


def figure_page(evaluation: "Evaluation", title: str) -> Any:
    """Draw an evaluation on one page.

    Near and far pairs of the model at its longest length, precision and recall of all methods at the longest length
    that they have in common, loss by code length, and balance of the bits.

    Parameters
    ----------
    evaluation : Evaluation
        What `proxcode.evaluation.evaluate` gives.
    title : str
        What the codes are of, over the whole page.

    Returns
    -------
    matplotlib Figure
        A plain one, for `save_figure`; pyplot does not hold it.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from proxcode.evaluation import MODEL

    model, longest = evaluation.model, evaluation.longest
    figure = Figure(figsize=(11, 8), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12))
    axes = figure.subplots(2, 2).ravel()
    plot_near_and_far(*evaluation.histograms[MODEL, longest], model.history_[longest - 1].alpha, axes[0])
    plot_precision_recall({name: precision_recall(*pair) for name, pair in evaluation.counts.items()}, axes[1])
    axes[1].set_title(f"Precision and recall (area) at {_bits(evaluation.common_bits)}")
    plot_loss(model.history_, axes[2], {row.bits: row.loss for row in evaluation.rows if row.method == MODEL})
    plot_bit_balance(evaluation.bits, axes[3])
    figure.suptitle(title.replace("$", r"\$"), fontsize="x-large", wrap=True)  # between dollars would be a formula
    return figure


def save_figure(figure: Any, path: str | os.PathLike[str], dpi: int = 150) -> None:
    """Write a figure as PNG, PDF or SVG, by the suffix of the path; the file is whole or not there."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise ValueError(f"{os.fspath(path)!r} has no suffix of a figure: end it in .{', .'.join(FORMATS)}.")
    with atomic_write(path) as partial:
        figure.savefig(partial, format=suffix, dpi=dpi)


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt  # here alone: pyplot picks a screen and holds its figures

    return plt.subplots(layout="constrained")[1]


def _legend_above(ax: Any, top: float) -> None:
    """Put the legend over the drawing, whose largest value is `top`, in as many rows as it needs."""
    n_labels = len(ax.get_legend_handles_labels()[1])
    n_rows = -(-n_labels // 3)
    ax.set_ylim(0, (top or 1.0) * (1.06 + 0.1 * n_rows))
    ax.legend(frameon=False, loc="upper center", ncols=3, fontsize="small")


def _whole_ticks(ax: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _bits(n_bits: int) -> str:
    return f"{n_bits} bit" if n_bits == 1 else f"{n_bits} bits"
