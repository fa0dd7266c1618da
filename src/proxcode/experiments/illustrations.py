"""Illustrations of the paper with samples in the plane.

300 samples in the unit square, near within a radius:

1. the first four bits; each is a cut that balances dense areas and corrects the bits before it,
2. all pairs by Hamming distance and Euclidean distance, for three radii, with the learned threshold alpha: pairs within
   the radius lie to the left of it,
3. near and far pairs of the same code by Hamming distance, as in the overview of the paper.
"""

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from proxcode.bits import Rules
from proxcode.cut import Restarts
from proxcode.experiments.in_sample import InSampleCode, learn_bits, pairs_of
from proxcode.experiments.runner import Row, write_rows
from proxcode.hamming import distances, unpack
from proxcode.plots import FAR, INK, NEAR, plot_near_and_far, save_figure
from proxcode.proximity import WithinRadius
from proxcode.threshold import LogisticThreshold
from proxcode.weights import DifferenceWeights

N_SAMPLES, SEED = 300, 0
RADII = (0.1, 0.2, 0.3)
N_BITS, QUICK_BITS = 30, 6
# Width of the bins of Euclidean distance in the CSV file.
STEP = 0.025

# Hamming and Euclidean distances of all pairs of samples, for each radius.
PairDistances = dict[float, tuple[NDArray[np.int64], NDArray[np.float64]]]


def run(output: Path, quick: bool = False, verbose: bool = False) -> list[Path]:
    """Draw the illustrations; write three figures and the counts of the joint histogram."""
    n_bits = QUICK_BITS if quick else N_BITS
    X = np.random.default_rng(SEED).random((N_SAMPLES, 2)) - 0.5
    learned = {radius: learn(X, radius, n_bits) for radius in RADII}
    names = ("first_bits.png", "joint_histogram.png", "near_and_far.png", "joint_histogram.csv")
    paths = [output / name for name in names]
    middle = learned[RADII[1]]
    save_figure(draw_bits(X, unpack(middle.codes, n_bits)[:, :4]), paths[0], dpi=200)
    pairs = {radius: (hamming(code), pdist(X)) for radius, code in learned.items()}
    save_figure(draw_joint(pairs, {radius: code.alpha / 2 for radius, code in learned.items()}), paths[1], dpi=200)
    save_figure(draw_near_and_far(middle), paths[2], dpi=200)
    write_rows(paths[3], joint_counts(pairs))
    return paths


def learn(X: NDArray[np.float64], radius: float, n_bits: int) -> InSampleCode:
    """Learn a code of the samples themselves."""
    rules = Rules(threshold=LogisticThreshold(), weights=DifferenceWeights(), cut=Restarts())
    bits = learn_bits(pairs_of(WithinRadius(radius=radius), X), rules, SEED)
    return list(islice(bits, n_bits))[-1]


def hamming(code: InSampleCode) -> NDArray[np.int64]:
    """Return the Hamming distances of all pairs, in the order of `pdist`."""
    return distances(code.codes, code.codes)[np.triu_indices(len(code.codes), k=1)]


def joint_counts(pairs: PairDistances) -> list[Row]:
    """Count the pairs of each radius by Hamming distance and by bin of Euclidean distance."""
    rows = []
    for radius, (of_code, euclidean) in pairs.items():
        bins = np.column_stack([of_code, euclidean // STEP]).astype(int)
        for (distance, step), n in zip(*np.unique(bins, axis=0, return_counts=True), strict=True):
            rows.append({"radius": radius, "hamming": distance, "euclidean_from": STEP * step, "pairs": n})
    return rows


def draw_bits(X: NDArray[np.float64], bits: NDArray[np.uint8]) -> Any:
    """Draw the samples once for each bit, coloured by the bit."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3 * bits.shape[1], 3.4), layout="constrained")
    axes: Any = figure.subplots(1, bits.shape[1])
    for number, (ax, bit) in enumerate(zip(axes, bits.T, strict=True), start=1):
        for value, colour, marker in ((1, NEAR, "o"), (0, FAR, "s")):
            ax.scatter(*X[bit == value].T, s=12, color=colour, marker=marker, label=f"{2 * value - 1:+d}")
        ax.set(title=f"bit {number}", xlabel="x", aspect="equal", xlim=(-0.52, 0.52), ylim=(-0.52, 0.52))
        ax.set_ylabel("y" if number == 1 else "")
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, title="bit")
    figure.suptitle(f"The first bits of {len(X)} samples, near within {RADII[1]}")
    return figure


def draw_joint(pairs: PairDistances, thresholds: dict[float, float]) -> Any:
    """Draw the joint histogram of both distances for each radius, counts on a logarithmic scale."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * len(pairs) + 1, 4), layout="constrained")
    axes: Any = figure.subplots(1, len(pairs), sharey=True)
    largest = max(int(of_code.max()) for of_code, _ in pairs.values())
    for ax, (radius, (of_code, euclidean)) in zip(axes, pairs.items(), strict=True):
        bins = [np.arange(-0.5, largest + 1.5), np.linspace(0, float(euclidean.max()), 60)]
        image = ax.hist2d(of_code, euclidean, bins=bins, norm=LogNorm(1, 1000), cmap="cividis")[3]
        ax.axvline(thresholds[radius], color="white", linestyle="--")
        ax.axhline(radius, color="white", linestyle=":")
        title = f"radius {radius} (dotted), alpha {thresholds[radius]:.1f} (dashed)"
        ax.set(xlabel="Hamming distance", title=title, facecolor=INK)
    axes[0].set_ylabel("Euclidean distance")
    figure.colorbar(image, ax=axes, label="pairs")
    return figure


def draw_near_and_far(code: InSampleCode) -> Any:
    """Draw the near and far pairs of a code by Hamming distance."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    plot_near_and_far(code.near, code.far, code.alpha, figure.subplots())
    return figure
