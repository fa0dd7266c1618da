"""The paper's last two figures: the initial guess hardly matters, and bit update beats vector update.

In-sample codes of 1,000 points, no hash function: loss (Eq. 4) against code length for four initial guesses, each as it
is, improved by vector update (Algorithm 1) and by bit update (Algorithm 2). Means over three seeds. Once with the
paper's threshold (Eq. 10) and gradient weights, once with the exact threshold and difference weights of this library.
Four sets: points uniform in ten dimensions, SIFT of Notredame and Nursery, all three centred, scaled to unit rows and
near within the mean distance to the 50th neighbour, as in the MLH benchmark; and handwritten digits, near by class.

A code without a misplaced pair is left as it is. What one set, seed and choice of threshold and weights gives is kept
in a file of its own and not measured again.
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
from proxcode.experiments.datasets import load
from proxcode.experiments.runner import CELLS, environment, read_json, write_json
from proxcode.hamming import GrowingCode
from proxcode.pairs.relations import Relation
from proxcode.plots import COLOURS, save_figure
from proxcode.proximity import SameLabel, WithinRadius
from proxcode.storage.atomic import atomic_write
from proxcode.threshold import EqualErrorThreshold, LogisticThreshold
from proxcode.weights import DifferenceWeights, GradientWeights

GUESSES = {
    "Laplacian": LaplacianGuess(),
    "signed Laplacian": SignedLaplacianGuess(),
    "projection (AN)": ProjectionGuess(),
    "random": RandomGuess(),
}
UPDATES = {"as it is": NoUpdate(), "vector update": VectorUpdate(), "bit update": BitUpdate()}
PARTS = {
    "the paper's": (EqualErrorThreshold(), GradientWeights()),
    "exact": (LogisticThreshold(), DifferenceWeights()),
}
STYLES = {"as it is": ":", "vector update": "--", "bit update": "-"}


class Size(NamedTuple):
    """How much is measured."""

    n_samples: int
    n_bits: int
    seeds: tuple[int, ...]
    datasets: tuple[str, ...]


class Loss(NamedTuple):
    """One line of the CSV."""

    dataset: str
    parts: str
    guess: str
    update: str
    seed: int
    bits: int
    loss: float


def by_radius(name: str, n_samples: int, seed: int) -> Relation:
    """Return some unit rows of a set, near within the mean distance to the neighbour of rank n_samples / 20."""
    X = load(name).X
    X = X[np.random.default_rng(seed).choice(len(X), n_samples, replace=False)].astype(np.float64)
    X -= X.mean(axis=0)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(float).tiny)
    rank = n_samples // 20
    radius = NearestNeighbors(n_neighbors=rank + 1).fit(X).kneighbors(X)[0][:, rank].mean()
    return WithinRadius(radius=radius).fit(X).relate(X).relation


def by_class(name: str, n_samples: int, seed: int) -> Relation:
    """Return some points of a set, near by class."""
    data = load(name)
    chosen = np.random.default_rng(seed).choice(len(data.X), n_samples, replace=False)
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
    losses = measure(QUICK if quick else FULL, output / CELLS / "initial-guess", verbose)
    with atomic_write(table) as partial, partial.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Loss._fields)
        writer.writerows(losses)
    draw(losses, figure)
    return [table, figure]


def measure(size: Size, folder: Path, verbose: bool = False) -> list[Loss]:
    """Return the loss after each bit of every set, threshold and weights, guess, update and seed."""
    losses: list[Loss] = []
    for dataset, parts, seed in tqdm(list(product(size.datasets, PARTS, size.seeds)), disable=not verbose):
        name = f"{dataset}-{parts}-seed{seed}".replace(" ", "_").replace(",", "").replace("'", "")
        path = folder / f"{name}.json"
        done = read_json(path)
        settings = {"n_samples": size.n_samples, "n_bits": size.n_bits, "threshold and weights": repr(PARTS[parts])}
        if done.get("settings") != settings:
            relation = DATASETS[dataset](size.n_samples, seed)
            done = {"settings": settings, "losses": curves(relation, parts, seed, size.n_bits), **environment()}
            write_json(path, done)
        losses += [
            Loss(dataset, parts, guess, update, seed, bits, loss)
            for guess, update, curve in done["losses"]
            for bits, loss in enumerate(curve, start=1)
        ]
    return losses


def curves(relation: Relation, parts: str, seed: int, n_bits: int) -> list[tuple[str, str, list[float]]]:
    """Learn the bits from every guess with every update; return the losses of each pair of these."""
    threshold, weights = PARTS[parts]
    found = []
    for guess, update in product(GUESSES, UPDATES):
        loop = BitLoop(
            relation,
            threshold=threshold,
            weights=weights,
            cut=Restarts(GUESSES[guess], UPDATES[update]),
            hash_function=None,
            error_correction=True,
            seed=seed,
            code=GrowingCode(relation.n_samples),
        )
        found.append((guess, update, learn(loop, n_bits)))
    return found


def learn(loop: BitLoop, n_bits: int) -> list[float]:
    """Return the loss after each bit; once no pair is misplaced the code is kept as it is, with a loss of 0."""
    found: list[float] = []
    while len(found) < n_bits and 0.0 not in found:
        found.append(float(loop.step().loss))
    return found + [0.0] * (n_bits - len(found))


def mean_curve(losses: list[Loss], **kind: str) -> NDArray[np.float64]:
    """Return the loss after each bit of one dataset, parts, guess and update, a mean over seeds."""
    values: dict[int, list[float]] = {}
    for row in losses:
        if all(getattr(row, name) == value for name, value in kind.items()):
            values.setdefault(row.bits, []).append(row.loss)
    return np.array([np.mean(values[bits]) for bits in sorted(values)])


def draw(losses: list[Loss], path: Path) -> None:
    """Save the figure: loss by code length for every guess and update; a row for each set, a column for each parts."""
    from matplotlib.figure import Figure

    datasets = list(dict.fromkeys(row.dataset for row in losses))
    figure = Figure(figsize=(11, 3.2 * len(datasets) + 0.4), layout="constrained")
    axes = figure.subplots(len(datasets), len(PARTS), sharex=True, sharey="row", squeeze=False)
    for ax, (dataset, parts) in zip(axes.ravel(), product(datasets, PARTS), strict=True):
        for (guess, colour), (update, style) in product(zip(GUESSES, COLOURS, strict=False), STYLES.items()):
            curve = mean_curve(losses, dataset=dataset, parts=parts, guess=guess, update=update)
            shown = np.maximum(curve, 1e-6)  # none misplaced has no logarithm
            ax.semilogy(np.arange(1, len(curve) + 1), shown, style, color=colour, label=f"{guess}, {update}")
        ax.set_title(f"{dataset}\n{parts} threshold and weights", fontsize="medium")
    for ax in axes[-1]:
        ax.set_xlabel("bits")
    for ax in axes[:, 0]:
        ax.set_ylabel("share of misplaced pairs")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize="small")
    save_figure(figure, path, dpi=200)


def summary(table: Path) -> str:
    """Return the last losses of a CSV that `run` wrote, as tables of guesses by updates."""
    with table.open(newline="") as file:
        losses = [
            Loss(dataset, parts, guess, update, int(seed), int(bits), float(loss))
            for dataset, parts, guess, update, seed, bits, loss in list(csv.reader(file))[1:]
        ]
    n_bits, n_seeds = max(row.bits for row in losses), len({row.seed for row in losses})
    lines = [f"Share of misplaced pairs at {n_bits} bits, seeds averaged: {n_seeds}"]
    for dataset, parts in dict.fromkeys((row.dataset, row.parts) for row in losses):
        lines += ["", f"{dataset}; {parts} threshold and weights"]
        lines.append(f"{'':18}" + "".join(f"{update:>16}" for update in UPDATES))
        for guess in GUESSES:
            last = (
                mean_curve(losses, dataset=dataset, parts=parts, guess=guess, update=update)[-1] for update in UPDATES
            )
            lines.append(f"{guess:18}" + "".join(f"{value:16.5f}" for value in last))
    return "\n".join(lines)
