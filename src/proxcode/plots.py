"""Plots of measured results: each function takes numbers and matplotlib Axes, and returns the Axes.

Without Axes, a new figure is created by `matplotlib.pyplot`, which notebooks display. `figure_page` draws all plots of
an `Evaluation` on one page, `search_page` those of a `SearchEvaluation`, and `save_figure` writes a page to a file.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from proxcode.metrics import BitRecord, Counts, PrecisionRecall, area_under_curve, precision_recall, radius_of
from proxcode.storage.atomic import atomic_write

if TYPE_CHECKING:
    from proxcode.evaluation import Evaluation, SearchEvaluation, SearchRow

# The palette of Okabe and Ito, which colour-blind readers can tell apart.
NEAR, FAR, INK = "#0072B2", "#D55E00", "#222222"
COLOURS = (NEAR, FAR, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
FORMATS = ("png", "pdf", "svg")
# k of the measures of a search that are drawn, if it was measured.
HEADLINE_K = 10
# Largest number of bars with white edges, which would cover narrower bars.
MAX_EDGED = 256
# Characters of a caption for each inch of a figure's width.
CAPTION_DENSITY = 18.0


def plot_near_and_far(near: Counts, far: Counts, alpha: float, ax: Any = None) -> Any:
    """Plot the shares of near and of far pairs by Hamming distance, and the threshold between them.

    Parameters
    ----------
    near, far : ndarrays of shape (n_bits + 1,)
        Numbers of pairs at each Hamming distance.
    alpha : float
        Threshold in the paper's doubled distance, as in `alpha_`; drawn at the Hamming distance alpha / 2, at least 0.
    ax : matplotlib Axes, default=None
        None: create a new figure.
    """
    ax = _axes(ax)
    distance = np.arange(len(near))
    shares = near / near.sum(), far / far.sum()
    ax.bar(distance, shares[0], width=1.0, alpha=0.6, color=NEAR, label="near pairs")
    ax.bar(distance, shares[1], width=1.0, alpha=0.6, color=FAR, label="far pairs")
    top = float(np.max(shares))
    # The line ends just above the bars: one over the whole height of the Axes would cross the legend.
    place, label = max(alpha / 2, 0.0), f"near up to distance {radius_of(alpha)}"
    ax.plot([place] * 2, [0, 1.04 * top], color=INK, linestyle="--", label=label)
    ax.set(xlabel="Hamming distance", ylabel="share of pairs", title=f"Near and far pairs at {_bits(len(near) - 1)}")
    _whole_ticks(ax)
    _legend_above(ax, top)
    return ax


def plot_precision_recall(curves: Mapping[str, PrecisionRecall], ax: Any = None) -> Any:
    """Plot one precision-recall curve per method over Hamming thresholds, with the PR area in the legend."""
    ax = _axes(ax)
    for (name, curve), colour, marker in zip(curves.items(), cycle(COLOURS), cycle(MARKERS), strict=False):
        label = f"{name}: {area_under_curve(curve):.3f}"
        ax.plot(curve.recall, curve.precision, color=colour, marker=marker, markersize=3, label=label)
    ax.set(xlabel="recall", ylabel="precision", title="Precision and recall (PR area)", xlim=(-0.02, 1.02))
    ax.set_yticks(np.linspace(0, 1, 6))
    _legend_above(ax, 1.0)
    return ax


def plot_loss(history: Sequence[BitRecord], ax: Any = None, measured: Mapping[int, float] | None = None) -> Any:
    """Plot the share of misplaced pairs in learning after each bit.

    Parameters
    ----------
    history : sequence of BitRecord
        The `history_` of a fitted model. With labels its losses are leave-one-out figures: see `BitRecord`.
    ax : matplotlib Axes, default=None
        None: create a new figure.
    measured : mapping of int to float, default=None
        Shares of misplaced pairs of other samples by code length, drawn as markers.
    """
    ax = _axes(ax)
    losses = [record.loss for record in history]
    ax.plot(np.arange(1, len(losses) + 1), losses, color=NEAR, label="pairs in learning")
    if measured:
        ax.plot(list(measured), list(measured.values()), "s", color=FAR, markersize=5, label="pairs measured here")
    ax.set(xlabel="bits", ylabel="share of misplaced pairs", title="Share of misplaced pairs by code length")
    _whole_ticks(ax)
    _legend_above(ax, max([*losses, *(measured or {}).values()]))
    return ax


def plot_bit_balance(bits: NDArray[np.uint8], ax: Any = None) -> Any:
    """Plot the share of ones in each bit of a 0/1 matrix, as bars from one half: a balanced bit has no bar."""
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

    The four plots are near and far pairs of the model at its largest evaluated code length, precision and recall of all
    methods at their largest common code length, misplaced pairs by code length, and balance of
    the bits.

    Parameters
    ----------
    evaluation : Evaluation
        Result of `proxcode.evaluation.evaluate`.
    title : str
        Title of the page.

    Returns
    -------
    matplotlib Figure
        For `save_figure`; the figure is not registered with pyplot.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from proxcode.evaluation import MODEL

    model, longest = evaluation.model, evaluation.longest
    figure = Figure(figsize=(11, 8), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12))
    axes = figure.subplots(2, 2).ravel()
    plot_near_and_far(*evaluation.histograms[MODEL, longest], model.history_[longest - 1].alpha, axes[0])
    plot_precision_recall({name: precision_recall(*pair) for name, pair in evaluation.counts.items()}, axes[1])
    axes[1].set_title(f"Precision and recall (PR area) at {_bits(evaluation.common_bits)}")
    plot_loss(
        model.history_, axes[2], {row.bits: row.misplaced_share for row in evaluation.rows if row.method == MODEL}
    )
    plot_bit_balance(evaluation.bits, axes[3])
    # Text between dollar signs would be set as a formula.
    figure.suptitle(title.replace("$", r"\$"), fontsize="x-large", wrap=True)
    return figure


def search_page(evaluation: "SearchEvaluation", title: str) -> Any:
    """Draw the evaluation of a search on one page.

    The two plots are the precision at k by code length, without labels the recall of the true neighbours, and the mean
    average precision. k is 10 if it was measured, else the smallest.

    Parameters
    ----------
    evaluation : SearchEvaluation
        Result of `proxcode.evaluation.evaluate_search`.
    title : str
        Title of the page.

    Returns
    -------
    matplotlib Figure
        For `save_figure`; the figure is not registered with pyplot.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    k = HEADLINE_K if HEADLINE_K in evaluation.k else evaluation.k[0]
    name = "recall" if evaluation.is_nearest else "precision"
    figure = Figure(figsize=(13, 5), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12))
    axes = figure.subplots(1, 2)
    _plot_by_length(evaluation.rows, lambda row: (row.recall if evaluation.is_nearest else row.precision)[k], axes[0])
    axes[0].set(ylabel=f"{name}@{k}", title=f"{name.capitalize()} of the first {k}")
    _plot_by_length(evaluation.rows, lambda row: row.map, axes[1])
    axes[1].set(ylabel="mAP", title="Mean average precision of the whole ranking")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False)
    figure.suptitle(title.replace("$", r"\$"), fontsize="x-large", wrap=True)
    add_caption(
        figure,
        f"{evaluation.n_queries:,} queries, {evaluation.n_database:,} samples in the database. Relevant: "
        f"{evaluation.relevant}. Peers fitted to "
        f"{'the training samples' if evaluation.peers_fitted_to == 'train' else 'the database'}.",
    )
    return figure


def add_caption(figure: Any, text: str) -> None:
    """Write a text under a figure with constrained layout, wrapped to the width of the figure."""
    lines = wrap(text, int(CAPTION_DENSITY * figure.get_figwidth()))
    figure.supxlabel("\n".join(lines), x=0.01, horizontalalignment="left", fontsize=7.5, color=INK)


def save_figure(figure: Any, path: str | os.PathLike[str], dpi: int = 150, *, overwrite: bool = True) -> None:
    """Write a figure atomically as PNG, PDF or SVG, according to the suffix of the path.

    Without `overwrite` an existing file is kept, and a FileExistsError raised.
    """
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise ValueError(f"path={os.fspath(path)!r}: expected a file name that ends in .{', .'.join(FORMATS)}.")
    with atomic_write(path, overwrite=overwrite) as partial:
        figure.savefig(partial, format=suffix, dpi=dpi)


def _plot_by_length(rows: Sequence["SearchRow"], measure: Callable[["SearchRow"], float], ax: Any) -> None:
    """Plot a measure against the code length: a line per method, a dashed one for a method without codes."""
    styles = zip(dict.fromkeys(row.method for row in rows), cycle(COLOURS), cycle(MARKERS), strict=False)
    for method, colour, marker in styles:
        own = [row for row in rows if row.method == method]
        values = [measure(row) for row in own]
        if own[0].bits is None:
            label = f"{method} ({own[0].bytes:,} bytes)"
            ax.axhline(values[0], color=INK, linestyle="--", linewidth=1.2, label=label)
        else:
            ax.plot([row.bits for row in own], values, color=colour, marker=marker, markersize=5, label=method)
    lengths = sorted({row.bits for row in rows if row.bits is not None})
    ax.set_xscale("log", base=2)
    ax.set_xticks(lengths, [str(bits) for bits in lengths])
    ax.minorticks_off()
    ax.set(xlabel="code length in bits", xlim=(lengths[0] / 1.2, lengths[-1] * 1.2), ylim=(0, 1.04))
    ax.set_yticks(np.linspace(0, 1, 6))


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    # Imported only here: pyplot selects a backend and keeps its figures.
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def _legend_above(ax: Any, top: float) -> None:
    """Place the legend above the plotted values, the largest of which is `top`."""
    n_labels = len(ax.get_legend_handles_labels()[1])
    n_rows = -(-n_labels // 3)
    ax.set_ylim(0, (top or 1.0) * (1.06 + 0.1 * n_rows))
    ax.legend(frameon=False, loc="upper center", ncols=3, fontsize="small")


def _whole_ticks(ax: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _bits(n_bits: int) -> str:
    return f"{n_bits} bit" if n_bits == 1 else f"{n_bits} bits"
