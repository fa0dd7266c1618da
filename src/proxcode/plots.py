"""Draw what was measured: each function takes numbers and an `ax`, and returns the ax."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.bits import BitRecord
from proxcode.metrics import Counts, PrecisionRecall, area_under_curve

# Okabe and Ito's colours, told apart by all eyes.
NEAR, FAR, INK = "#0072B2", "#D55E00", "#222222"
COLOURS = (NEAR, FAR, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def plot_near_and_far(near: Counts, far: Counts, alpha: float, ax: Any) -> Any:
    """Shares of near and of far pairs by Hamming distance, and the threshold between them."""
    distance = np.arange(len(near))
    ax.bar(distance, near / near.sum(), width=1.0, alpha=0.6, color=NEAR, label="near pairs")
    ax.bar(distance, far / far.sum(), width=1.0, alpha=0.6, color=FAR, label="far pairs")
    ax.axvline(alpha / 2, color=INK, linestyle="--", label=f"threshold {alpha / 2:.1f}")
    ax.set(xlabel="Hamming distance", ylabel="share of pairs", title="Near and far pairs")
    ax.legend(frameon=False)
    return ax


def plot_precision_recall(curves: Mapping[str, PrecisionRecall], ax: Any) -> Any:
    """One precision-recall curve per method, its area in the legend."""
    for (name, curve), colour, marker in zip(curves.items(), COLOURS, MARKERS, strict=False):
        label = f"{name} ({area_under_curve(curve):.3f})"
        ax.plot(curve.recall, curve.precision, color=colour, marker=marker, markersize=3, label=label)
    ax.set(xlabel="recall", ylabel="precision", title="Precision and recall (area)", xlim=(0, 1), ylim=(0, 1.02))
    ax.legend(frameon=False, loc="lower left")
    return ax


def plot_loss(history: Sequence[BitRecord], ax: Any) -> Any:
    """Share of misplaced training pairs after each bit."""
    ax.plot(np.arange(1, len(history) + 1), [record.loss for record in history], color=NEAR)
    ax.set(xlabel="bits", ylabel="share of misplaced pairs", title="Training loss by code length", ylim=(0, None))
    return ax


def plot_bit_balance(bits: NDArray[np.uint8], ax: Any) -> Any:
    """Share of ones in each bit of a 0/1 matrix."""
    ax.bar(np.arange(1, bits.shape[1] + 1), bits.mean(axis=0), width=1.0, color=NEAR, edgecolor="white", linewidth=0.3)
    ax.axhline(0.5, color=INK, linestyle="--", linewidth=1)
    ax.set(xlabel="bit", ylabel="share of ones", title="Balance of the bits", ylim=(0, 1))
    return ax
