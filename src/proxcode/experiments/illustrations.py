"""Illustrations of the paper with samples in the plane.

300 samples in the unit square, near within a radius, coded without a hash function and with the paper's rules:

1. Figure 2, the first four bits; each is a cut that balances dense areas and corrects the bits before it,
2. Figure 3, all pairs by Hamming distance and Euclidean distance, for three radii, with the learned threshold alpha:
   pairs within the radius lie to the left of it,
3. Figure 1a, Step I: near and far pairs of the same code by Hamming distance.

The paper tells neither the radius of its Figure 2 nor the numbers of samples and bits of its Figure 3. Its radii of
10, 20 and 30 are those of a square with sides of 100, the unit square times 100.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from proxcode.bits import Rules, in_sample_code
from proxcode.experiments.report import read_rows
from proxcode.experiments.runner import Row, write_rows
from proxcode.hamming import distances, pack, unpack
from proxcode.plots import FAR, INK, NEAR, add_caption, plot_near_and_far, save_figure
from proxcode.proximity import WithinRadius

N_SAMPLES, SEED = 300, 0
RADII = (0.1, 0.2, 0.3)
N_BITS, QUICK_BITS = 30, 6
# Width of the bins of Euclidean distance in the CSV file.
STEP = 0.025

SETTING = f"{N_SAMPLES} samples, uniform in the unit square (seed {SEED})"
RULES = "The paper's rules: Eq. 10, gradient weights, bit update from a random guess; no hash function."

# Hamming and Euclidean distances of all pairs of samples, for each radius.
PairDistances = dict[float, tuple[NDArray[np.int64], NDArray[np.float64]]]


def run(output: Path, quick: bool = False, verbose: bool = False, jobs: int = 1) -> list[Path]:
    """Learn the codes; write samples, codes and thresholds to two CSV files, then figures and the joint histogram."""
    n_bits = QUICK_BITS if quick else N_BITS
    X = np.random.default_rng(SEED).random((N_SAMPLES, 2)) - 0.5
    signs, alphas = {}, []
    rules = Rules.paper()
    components: dict[str, Any] = {"threshold": rules.threshold, "weights": rules.weights, "cut": rules.cut}
    for radius in RADII:
        code = in_sample_code(WithinRadius(radius), X, n_bits=n_bits, loss_target=None, random_state=SEED, **components)
        alphas.append({"radius": radius, "alpha": code.alpha})
        bits = np.where(unpack(code.codes, n_bits) == 1, "+", "-")
        signs[f"code_{radius}"] = ["".join(row) for row in bits]
    paths = [output / "plane_samples.csv", output / "plane_thresholds.csv"]
    samples = zip(X, *signs.values(), strict=True)
    write_rows(paths[0], [{"x": x, "y": y, **dict(zip(signs, codes, strict=True))} for (x, y), *codes in samples])
    write_rows(paths[1], alphas)
    return [*paths, *redraw(output)]


def redraw(output: Path) -> list[Path]:
    """Write three figures and the counts of the joint histogram from samples, codes and thresholds."""
    from matplotlib.figure import Figure

    samples = read_rows(output / "plane_samples.csv")
    alphas = {row["radius"]: row["alpha"] for row in read_rows(output / "plane_thresholds.csv")}
    X = np.array([[row["x"], row["y"]] for row in samples])
    euclidean = pdist(X)
    pairs: PairDistances = {}
    near_and_far = Figure(figsize=(6, 4.4), layout="constrained")
    for radius, alpha in alphas.items():
        bits = np.array([[sign == "+" for sign in row[f"code_{radius}"]] for row in samples], np.uint8)
        hamming = distances(pack(bits), pack(bits))[np.triu_indices(len(X), k=1)]
        pairs[radius] = hamming, euclidean
        if radius == RADII[1]:
            first_bits = draw_bits(X, bits[:, :4])
            near, far = (
                np.bincount(hamming[kind], minlength=bits.shape[1] + 1)
                for kind in (euclidean <= radius, euclidean > radius)
            )
            plot_near_and_far(near, far, alpha, near_and_far.subplots())
            add_caption(
                near_and_far,
                f"Figure 1a of the paper, Step I: {SETTING}, near within {radius}, {bits.shape[1]} bits. {RULES}",
            )
    figures = {
        "first_bits": first_bits,
        "joint_histogram": draw_joint(pairs, alphas, bits.shape[1]),
        "near_and_far": near_and_far,
    }
    paths = [*(output / f"{name}.png" for name in figures), output / "joint_histogram.csv"]
    for path, figure in zip(paths, figures.values(), strict=False):
        save_figure(figure, path, dpi=200)
    write_rows(paths[-1], joint_counts(pairs))
    return paths


def joint_counts(pairs: PairDistances) -> list[Row]:
    """Count the pairs of each radius by Hamming distance and by bin of Euclidean distance."""
    rows = []
    for radius, (hamming, euclidean) in pairs.items():
        bins = np.column_stack([hamming, euclidean // STEP]).astype(int)
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
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right center", frameon=False, title="bit")
    add_caption(figure, f"Figure 2 of the paper: {SETTING}, near within {RADII[1]}, the first four bits. {RULES}")
    return figure


def draw_joint(pairs: PairDistances, alphas: dict[float, float], n_bits: int) -> Any:
    """Draw the joint histogram of both distances for each radius, counts on a logarithmic scale."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * len(pairs) + 1, 4.5), layout="constrained")
    axes: Any = figure.subplots(1, len(pairs), sharey=True)
    largest = max(int(hamming.max()) for hamming, _ in pairs.values())
    for ax, (radius, (hamming, euclidean)) in zip(axes, pairs.items(), strict=True):
        bins = [np.arange(-0.5, largest + 1.5), np.linspace(0, float(euclidean.max()), 60)]
        image = ax.hist2d(hamming, euclidean, bins=bins, norm=LogNorm(1, 1000), cmap="cividis")[3]
        # alpha is in the paper's doubled distance.
        ax.axvline(alphas[radius] / 2, color="white", linestyle="--")
        ax.axhline(radius, color="white", linestyle=":")
        title = f"radius {radius} (dotted), alpha {alphas[radius] / 2:.1f} (dashed)"
        ax.set(xlabel="Hamming distance", title=title, facecolor=INK)
    axes[0].set_ylabel("Euclidean distance")
    figure.colorbar(image, ax=axes, label="pairs")
    add_caption(
        figure,
        f"Figure 3 of the paper, its radii of 10, 20 and 30 divided by 100: all pairs of {SETTING}, {n_bits} bits; "
        f"alpha is a Hamming distance, half of the paper's doubled one. {RULES}",
    )
    return figure
