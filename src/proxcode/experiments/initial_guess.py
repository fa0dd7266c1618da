"""The paper's last two figures: the initial guess hardly matters, and bit update beats vector update.

In-sample codes of 1,000 points, no hash function: loss (Eq. 4) against code length for four initial guesses, each as it
is, improved by vector update (Algorithm 1) and by bit update (Algorithm 2). Means over three seeds. Four sets: points
uniform in ten dimensions, SIFT of Notredame and Nursery, all three centred, scaled to unit rows and near within the
mean distance to the 50th neighbour, as in the MLH benchmark; and handwritten digits, near by class.
"""

import csv
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from tqdm import tqdm

from proxcode._files import replacing
from proxcode.bits import BitLoop
from proxcode.cut import (
    BitUpdate,
    LaplacianGuess,
    NoUpdate,
    ProjectionGuess,
    RandomGuess,
    Restarts,
    SignedLaplacianGuess,
    VectorUpdate,
)
from proxcode.datasets import load
from proxcode.hamming import GrowingCode
from proxcode.plots import COLOURS, save_figure
from proxcode.proximity import SameLabel, WithinRadius
from proxcode.relations import Relation
from proxcode.threshold import LogisticThreshold
from proxcode.weights import DifferenceWeights

GUESSES = {
    "Laplacian": LaplacianGuess(),
    "signed Laplacian": SignedLaplacianGuess(),
    "projection (AN)": ProjectionGuess(),
    "random": RandomGuess(),
}
UPDATES = {"as it is": NoUpdate(), "vector update": VectorUpdate(), "bit update": BitUpdate()}
STYLES = {"as it is": ":", "vector update": "--", "bit update": "-"}


class Size(NamedTuple):
    """How much is measured."""

    n_points: int
    n_bits: int
    seeds: tuple[int, ...]
    datasets: tuple[str, ...]


class Loss(NamedTuple):
    """One line of the CSV."""

    dataset: str
    guess: str
    update: str
    seed: int
    bits: int
    loss: float


def by_radius(name: str, n_points: int, seed: int) -> Relation:
    """Return some unit rows of a set, near within the mean distance to the neighbour of rank n_points / 20."""
    X = load(name).X
    X = X[np.random.default_rng(seed).choice(len(X), n_points, replace=False)].astype(np.float64)
    X -= X.mean(axis=0)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(float).tiny)
    rank = n_points // 20
    radius = NearestNeighbors(n_neighbors=rank + 1).fit(X).kneighbors(X)[0][:, rank].mean()
    return WithinRadius(radius=radius).fit(X).relate(X).relation


def by_class(name: str, n_points: int, seed: int) -> Relation:
    """Return some points of a set, near by class."""
    data = load(name)
    chosen = np.random.default_rng(seed).choice(len(data.X), n_points, replace=False)
    return SameLabel().relate(data.X[chosen], None if data.y is None else data.y[chosen]).relation


DATASETS: dict[str, Callable[[int, int], Relation]] = {
    "10-D uniform, near by radius": partial(by_radius, "uniform-10d"),
    "Notredame SIFT, near by radius": partial(by_radius, "notredame-sift"),
    "Nursery, near by radius": partial(by_radius, "nursery"),
    "digits, near by class": partial(by_class, "digits"),
}
BUNDLED = ("10-D uniform, near by radius", "digits, near by class")
FULL, QUICK = Size(1000, 30, (0, 1, 2), tuple(DATASETS)), Size(500, 8, (0,), BUNDLED)


def run(output: Path, quick: bool = False, verbose: bool = False) -> list[Path]:
    """Measure all, write `initial_guess.csv` and `initial_guess.png` to the folder `output`; return their paths.

    Parameters
    ----------
    output : Path
        Made where it is not there.
    quick : bool, default=False
        500 points of the bundled sets, 8 bits and one seed instead of 1,000 points, 30 bits and three seeds.
    verbose : bool, default=False
        Show progress.
    """
    output.mkdir(parents=True, exist_ok=True)
    table, figure = output / "initial_guess.csv", output / "initial_guess.png"
    losses = measure(QUICK if quick else FULL, verbose)
    with replacing(table) as partial, partial.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Loss._fields)
        writer.writerows(losses)
    draw(losses, figure)
    return [table, figure]


def measure(size: Size, verbose: bool = False) -> list[Loss]:
    """Learn the bits of every set, guess, update and seed; return the loss after each bit."""
    losses: list[Loss] = []
    cells = list(product(size.datasets, GUESSES, UPDATES, size.seeds))
    for dataset, guess, update, seed in tqdm(cells, disable=not verbose):
        relation = DATASETS[dataset](size.n_points, seed)
        loop = BitLoop(
            relation,
            threshold=LogisticThreshold(),
            weights=DifferenceWeights(),
            cut=Restarts(GUESSES[guess], UPDATES[update]),
            hash_function=None,
            error_correction=True,
            seed=seed,
            code=GrowingCode(relation.n_points),
        )
        losses += [Loss(dataset, guess, update, seed, k, loop.step().loss) for k in range(1, size.n_bits + 1)]
    return losses


def mean_curve(losses: list[Loss], dataset: str, guess: str, update: str) -> NDArray[np.float64]:
    """Return the loss after each bit, a mean over seeds."""
    values: dict[int, list[float]] = {}
    for row in losses:
        if (row.dataset, row.guess, row.update) == (dataset, guess, update):
            values.setdefault(row.bits, []).append(row.loss)
    return np.array([np.mean(values[bits]) for bits in sorted(values)])


def draw(losses: list[Loss], path: Path) -> None:
    """Save the figure: loss by code length for every guess and update, a drawing for each set."""
    from matplotlib.figure import Figure

    datasets = list(dict.fromkeys(row.dataset for row in losses))
    figure = Figure(figsize=(11, 3.8 * len(datasets) / 2 + 0.4), layout="constrained")
    for ax, dataset in zip(figure.subplots(len(datasets) // 2, 2).ravel(), datasets, strict=True):
        for guess, colour in zip(GUESSES, COLOURS, strict=False):
            for update, style in STYLES.items():
                curve = np.maximum(mean_curve(losses, dataset, guess, update), 1e-6)  # none misplaced has no logarithm
                ax.semilogy(np.arange(1, len(curve) + 1), curve, style, color=colour, label=f"{guess}, {update}")
        ax.set(xlabel="bits", ylabel="share of misplaced pairs", title=dataset)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize="small")
    save_figure(figure, path, dpi=200)


def summary(table: Path) -> str:
    """Return the last losses of a CSV that `run` wrote, as a table of guesses by updates for each set."""
    with table.open(newline="") as file:
        losses = [
            Loss(row["dataset"], row["guess"], row["update"], int(row["seed"]), int(row["bits"]), float(row["loss"]))
            for row in csv.DictReader(file)
        ]
    n_bits, n_seeds = max(row.bits for row in losses), len({row.seed for row in losses})
    lines = []
    for dataset in dict.fromkeys(row.dataset for row in losses):
        lines += ["", f"{dataset}: share of misplaced pairs at {n_bits} bits, seeds averaged: {n_seeds}"]
        lines.append(f"{'':18}" + "".join(f"{update:>16}" for update in UPDATES))
        for guess in GUESSES:
            last = (mean_curve(losses, dataset, guess, update)[-1] for update in UPDATES)
            lines.append(f"{guess:18}" + "".join(f"{value:16.5f}" for value in last))
    return "\n".join(lines)
