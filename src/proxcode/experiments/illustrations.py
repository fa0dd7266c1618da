"""The paper's pictures of points in the plane: the first four bits, and what Hamming distance tells of distance.

300 points in the unit square, near within a radius. Left to right: the first four bits, each a cut that balances dense
areas and corrects the bits before it. Then all pairs by Hamming distance and Euclidean distance, for three radii, with
the learned threshold alpha: pairs within the radius lie to its left. Last, near and far pairs of the same code, as in
the paper's overview.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from proxcode.bits import BitLoop
from proxcode.cut import Restarts
from proxcode.files import write_table
from proxcode.hamming import GrowingCode, distances, unpack
from proxcode.plots import FAR, INK, NEAR, plot_near_and_far, save_figure
from proxcode.proximity import WithinRadius
from proxcode.threshold import LogisticThreshold
from proxcode.weights import DifferenceWeights

N_POINTS, SEED = 300, 0
RADII = (0.1, 0.2, 0.3)
N_BITS, QUICK_BITS = 30, 6
STEP = 0.025  # of Euclidean distance, in the table


def run(output: Path, quick: bool = False, verbose: bool = False) -> list[Path]:
    """Draw the pictures; write them and the pairs of the joint histogram."""
    n_bits = QUICK_BITS if quick else N_BITS
    X = np.random.default_rng(SEED).random((N_POINTS, 2)) - 0.5
    loops = {radius: learn(X, radius, n_bits) for radius in RADII}
    names = ("first_bits.png", "joint_histogram.png", "near_and_far.png", "joint_histogram.csv")
    paths = [output / name for name in names]
    middle = loops[RADII[1]]
    save_figure(draw_bits(X, unpack(middle.code.packed(), n_bits)[:, :4]), paths[0], dpi=200)
    pairs = {radius: (hamming(loop), pdist(X)) for radius, loop in loops.items()}
    save_figure(draw_joint(pairs, {radius: loop.alpha / 2 for radius, loop in loops.items()}), paths[1], dpi=200)
    save_figure(draw_near_and_far(middle), paths[2], dpi=200)
    write_table(paths[3], _joint_counts(pairs))
    return paths


def _joint_counts(pairs: dict[float, tuple[Any, Any]]) -> dict[str, NDArray[Any]]:
    """Count the pairs of each radius by Hamming distance and by Euclidean distance in steps."""
    cells = [
        (radius, of_code, STEP * step, n)
        for radius, (all_codes, euclidean) in pairs.items()
        for (of_code, step), n in zip(
            *np.unique(np.column_stack([all_codes, euclidean // STEP]).astype(int), axis=0, return_counts=True),
            strict=True,
        )
    ]
    names = ("radius", "hamming", "euclidean_from", "pairs")
    return {name: np.array(column) for name, column in zip(names, zip(*cells, strict=True), strict=True)}


def learn(X: NDArray[np.float64], radius: float, n_bits: int) -> BitLoop:
    """Return the loop after so many bits of the points themselves."""
    loop = BitLoop(
        WithinRadius(radius=radius).fit(X).relate(X).relation,
        threshold=LogisticThreshold(),
        weights=DifferenceWeights(),
        cut=Restarts(),
        hash_function=None,
        error_correction=False,
        seed=SEED,
        code=GrowingCode(len(X)),
    )
    for _ in range(n_bits):
        loop.step()
    return loop


def hamming(loop: BitLoop) -> NDArray[np.int64]:
    """Return the Hamming distances of all pairs, in the order of `pdist`."""
    codes = loop.code.packed()
    return distances(codes, codes)[np.triu_indices(len(codes), k=1)]


def draw_bits(X: NDArray[np.float64], bits: NDArray[np.uint8]) -> Any:
    """Return the points, coloured by each bit."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3 * bits.shape[1], 3.4), layout="constrained")
    axes: Any = figure.subplots(1, bits.shape[1])
    for number, (ax, bit) in enumerate(zip(axes, bits.T, strict=True), start=1):
        for value, colour, marker in ((1, NEAR, "o"), (0, FAR, "s")):
            ax.scatter(*X[bit == value].T, s=12, color=colour, marker=marker, label=f"{2 * value - 1:+d}")
        ax.set(title=f"bit {number}", xlabel="x", aspect="equal", xlim=(-0.52, 0.52), ylim=(-0.52, 0.52))
        ax.set_ylabel("y" if number == 1 else "")
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, title="side")
    figure.suptitle(f"The first bits of {len(X)} points, near within {RADII[1]}")
    return figure


def draw_joint(pairs: dict[float, tuple[Any, Any]], thresholds: dict[float, float]) -> Any:
    """Return the joint histogram for each radius, in logarithms of counts."""
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


def draw_near_and_far(loop: BitLoop) -> Any:
    """Return the near and far pairs of a code by Hamming distance."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    plot_near_and_far(loop.near, loop.far, loop.alpha, figure.subplots())
    return figure
