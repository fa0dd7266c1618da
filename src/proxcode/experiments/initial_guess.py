"""The last two figures of the paper: the initial guess hardly matters, and bit update is better than vector update.

Codes of 1,000 samples without a hash function: loss (Eq. 4) by code length for four initial guesses, each without an
update, with vector update (Algorithm 1) and with bit update (Algorithm 2), as means over three seeds. All codes are
learned with the paper's threshold (Eq. 10) and gradient weights, and again with this library's exact threshold and
difference weights.

There are four datasets. Uniform samples in ten dimensions, SIFT of Notredame and Nursery are centred and scaled to unit
norm, with near within the mean distance to the 50th neighbour, as in the MLH benchmark. Handwritten digits are near by
class.

Bits are learned until no pair is misplaced; longer codes then have loss 0. The results of each dataset, seed and
choice of threshold and weights are stored in a file, so that an interrupted run can be resumed.
"""

import csv
from collections.abc import Callable
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from tqdm import tqdm

from proxcode.bits import Rules
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
from proxcode.experiments.in_sample import learn_bits, pairs_of
from proxcode.experiments.runner import CELLS, environment, read_json, write_json, write_rows
from proxcode.pairs import Pairs
from proxcode.plots import COLOURS, save_figure
from proxcode.proximity import SameLabel, WithinRadius
from proxcode.threshold import EqualErrorThreshold, LogisticThreshold
from proxcode.weights import DifferenceWeights, GradientWeights

GUESSES = {
    "Laplacian": LaplacianGuess(),
    "signed Laplacian": SignedLaplacianGuess(),
    "projection (AN)": ProjectionGuess(),
    "random": RandomGuess(),
}
UPDATES = {"as it is": NoUpdate(), "vector update": VectorUpdate(), "bit update": BitUpdate()}
COMPONENTS = {
    "the paper's": (EqualErrorThreshold(), GradientWeights()),
    "exact": (LogisticThreshold(), DifferenceWeights()),
}
STYLES = {"as it is": ":", "vector update": "--", "bit update": "-"}
# Loss 0 has no logarithm and is drawn at this value.
LOWEST_DRAWN = 1e-6


class Size(NamedTuple):
    """Size of the experiment."""

    n_samples: int
    n_bits: int
    seeds: tuple[int, ...]
    datasets: tuple[str, ...]


class Loss(NamedTuple):
    """One row of the CSV file; `components` names the threshold and the weights."""

    dataset: str
    components: str
    guess: str
    update: str
    seed: int
    bits: int
    loss: float


def by_radius(name: str, n_samples: int, seed: int) -> Pairs:
    """Draw samples, centred and of unit norm, near within the mean distance to the neighbour of rank n_samples / 20."""
    X = load(name).X
    X = X[np.random.default_rng(seed).choice(len(X), n_samples, replace=False)].astype(np.float64)
    X -= X.mean(axis=0)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(float).tiny)
    rank = n_samples // 20
    radius = NearestNeighbors(n_neighbors=rank + 1).fit(X).kneighbors(X)[0][:, rank].mean()
    return pairs_of(WithinRadius(radius=radius), X)


def by_class(name: str, n_samples: int, seed: int) -> Pairs:
    """Draw samples, near by class."""
    data = load(name)
    chosen = np.random.default_rng(seed).choice(len(data.X), n_samples, replace=False)
    return pairs_of(SameLabel(), data.X[chosen], None if data.y is None else data.y[chosen])


DATASETS: dict[str, Callable[[int, int], Pairs]] = {
    "10-D uniform, near by radius": partial(by_radius, "uniform-10d"),
    "Notredame SIFT, near by radius": partial(by_radius, "notredame-sift"),
    "Nursery, near by radius": partial(by_radius, "nursery"),
    "digits, near by class": partial(by_class, "digits"),
}
BUNDLED = ("10-D uniform, near by radius", "digits, near by class")
FULL, QUICK = Size(1000, 30, (0, 1, 2), tuple(DATASETS)), Size(500, 8, (0,), BUNDLED)


def run(output: Path, quick: bool = False, verbose: bool = False) -> list[Path]:
    """Run the experiment; write `initial_guess.csv` and `initial_guess.png`.

    Parameters
    ----------
    output : Path
        Folder, created if needed.
    quick : bool, default=False
        500 samples of the bundled datasets, 8 bits and one seed instead of 1,000 samples, 30 bits and three seeds.
    verbose : bool, default=False
        Whether to show progress.
    """
    paths = [output / "initial_guess.csv", output / "initial_guess.png"]
    losses = measure(QUICK if quick else FULL, output / CELLS / "initial-guess", verbose)
    write_rows(paths[0], [row._asdict() for row in losses])
    save_figure(draw(losses), paths[1], dpi=200)
    return paths


def measure(size: Size, folder: Path, verbose: bool = False) -> list[Loss]:
    """Return the loss after each bit for all datasets, components, guesses, updates and seeds."""
    losses: list[Loss] = []
    for dataset, components, seed in tqdm(list(product(size.datasets, COMPONENTS, size.seeds)), disable=not verbose):
        name = f"{dataset}-{components}-seed{seed}".replace(" ", "_").replace(",", "").replace("'", "")
        path = folder / f"{name}.json"
        record = read_json(path)
        chosen = repr(COMPONENTS[components])
        settings = {"n_samples": size.n_samples, "n_bits": size.n_bits, "threshold and weights": chosen}
        if record.get("settings") != settings:
            pairs = DATASETS[dataset](size.n_samples, seed)
            record = {"settings": settings, "losses": curves(pairs, components, seed, size.n_bits), **environment()}
            write_json(path, record)
        losses += [
            Loss(dataset, components, guess, update, seed, bits, loss)
            for guess, update, curve in record["losses"]
            for bits, loss in enumerate(curve, start=1)
        ]
    return losses


def curves(pairs: Pairs, components: str, seed: int, n_bits: int) -> list[tuple[str, str, list[float]]]:
    """Learn codes with all combinations of guess and update; return the loss after each bit."""
    threshold, weights = COMPONENTS[components]
    found = []
    for guess, update in product(GUESSES, UPDATES):
        cut = Restarts(GUESSES[guess], UPDATES[update])
        rules = Rules(threshold=threshold, weights=weights, cut=cut)
        losses: list[float] = []
        for code in islice(learn_bits(pairs, rules, seed), n_bits):
            losses.append(code.loss)
            if code.loss == 0:
                break
        found.append((guess, update, losses + [0.0] * (n_bits - len(losses))))
    return found


def mean_curve(losses: list[Loss], **kind: str) -> NDArray[np.float64]:
    """Return the mean loss over seeds after each bit, of one dataset, choice of components, guess and update."""
    values: dict[int, list[float]] = {}
    for row in losses:
        if all(getattr(row, name) == value for name, value in kind.items()):
            values.setdefault(row.bits, []).append(row.loss)
    return np.array([np.mean(values[bits]) for bits in sorted(values)])


def draw(losses: list[Loss]) -> Any:
    """Draw loss by code length for all guesses and updates; a row for each dataset, a column for each components."""
    from matplotlib.figure import Figure

    datasets = list(dict.fromkeys(row.dataset for row in losses))
    figure = Figure(figsize=(11, 3.2 * len(datasets) + 0.4), layout="constrained")
    axes = figure.subplots(len(datasets), len(COMPONENTS), sharex=True, sharey="row", squeeze=False)
    for ax, (dataset, components) in zip(axes.ravel(), product(datasets, COMPONENTS), strict=True):
        for (guess, colour), (update, style) in product(zip(GUESSES, COLOURS, strict=False), STYLES.items()):
            curve = mean_curve(losses, dataset=dataset, components=components, guess=guess, update=update)
            bits, drawn = np.arange(1, len(curve) + 1), np.maximum(curve, LOWEST_DRAWN)
            ax.semilogy(bits, drawn, style, color=colour, label=f"{guess}, {update}")
        ax.set_title(f"{dataset}\n{components} threshold and weights", fontsize="medium")
    for ax in axes[-1]:
        ax.set_xlabel("bits")
    for ax in axes[:, 0]:
        ax.set_ylabel("share of misplaced pairs")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize="small")
    return figure


def summary(table: Path) -> str:
    """Format the losses at the largest code length of a CSV file written by `run`, guesses by updates."""
    with table.open(newline="") as file:
        losses = [
            Loss(dataset, components, guess, update, int(seed), int(bits), float(loss))
            for dataset, components, guess, update, seed, bits, loss in list(csv.reader(file))[1:]
        ]
    n_bits, n_seeds = max(row.bits for row in losses), len({row.seed for row in losses})
    lines = [f"Share of misplaced pairs at {n_bits} bits, mean over seeds: {n_seeds}"]
    for dataset, components in dict.fromkeys((row.dataset, row.components) for row in losses):
        lines += ["", f"{dataset}; {components} threshold and weights"]
        lines.append(f"{'':18}" + "".join(f"{update:>16}" for update in UPDATES))
        for guess in GUESSES:
            kinds = [{"dataset": dataset, "components": components, "guess": guess, "update": u} for u in UPDATES]
            lines.append(f"{guess:18}" + "".join(f"{mean_curve(losses, **kind)[-1]:16.5f}" for kind in kinds))
    return "\n".join(lines)
