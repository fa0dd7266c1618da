"""Figures 5 and 6 of the paper: the initial guess hardly matters, and bit update is better than vector update.

Codes of 1,000 samples without a hash function: loss (Eq. 4) by code length for four initial guesses, each without an
update, with vector update (Algorithm 1) and with bit update (Algorithm 2), as means over three seeds. All codes are
learned with the paper's threshold (Eq. 10) and gradient weights, and again with this library's exact threshold and
difference weights.

There are four datasets. Uniform samples in ten dimensions, SIFT of Notredame and Nursery are centred and scaled to unit
norm, with near within the mean distance to the 50th neighbour, as in the MLH benchmark. Peekaboom, the fourth dataset
of the paper, is not available: handwritten digits, near by class, replace it.

Bits are learned until no pair is misplaced; longer codes then have loss 0. The results of each dataset, seed and
choice of threshold and weights are stored in a file, so that an interrupted run can be resumed.
"""

import json
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.neighbors import NearestNeighbors

from proxcode import cut
from proxcode.bits import in_sample_code
from proxcode.experiments.datasets import load
from proxcode.experiments.report import select
from proxcode.experiments.runner import CELLS, Row, environment, read_json, write_rows, write_text
from proxcode.pairs import Pairs
from proxcode.plots import COLOURS, add_caption, save_figure
from proxcode.proximity import SameLabel, WithinRadius
from proxcode.threshold import EqualErrorThreshold, LogisticThreshold
from proxcode.utils.progress import track
from proxcode.weights import DifferenceWeights, GradientWeights

GUESSES = {
    "Laplacian": cut.LaplacianGuess(),
    "signed Laplacian": cut.SignedLaplacianGuess(),
    "projection (AN)": cut.ProjectionGuess(),
    "random": cut.RandomGuess(),
}
UPDATES = {"as it is": cut.NoUpdate(), "vector update": cut.VectorUpdate(), "bit update": cut.BitUpdate()}
# Threshold and weights.
COMPONENTS = {
    "the paper's": (EqualErrorThreshold(), GradientWeights()),
    "exact": (LogisticThreshold(), DifferenceWeights()),
}
STYLES = {"as it is": ":", "vector update": "--", "bit update": "-"}
# Loss 0 has no logarithm and is drawn at this value.
LOWEST_DRAWN = 1e-6


def by_radius(name: str, n_samples: int, seed: int) -> Pairs:
    """Draw samples, centred and of unit norm, near within the mean distance to the neighbour of rank n_samples / 20."""
    X = load(name).X
    X = X[np.random.default_rng(seed).choice(len(X), n_samples, replace=False)].astype(np.float64)
    X -= X.mean(axis=0)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(float).tiny)
    rank = n_samples // 20
    radius = NearestNeighbors(n_neighbors=rank + 1).fit(X).kneighbors(X)[0][:, rank].mean()
    return WithinRadius(radius=radius).fit(X).find_pairs(X).pairs


def by_class(name: str, n_samples: int, seed: int) -> Pairs:
    """Draw samples, near by class."""
    data = load(name)
    chosen = np.random.default_rng(seed).choice(len(data.X), n_samples, replace=False)
    X, y = data.X[chosen], data.labels[chosen]
    return SameLabel().fit(X, y).find_pairs(X, y).pairs


DATASETS: dict[str, Callable[[int, int], Pairs]] = {
    "10-D uniform, near by radius": partial(by_radius, "uniform-10d"),
    "Notredame SIFT, near by radius": partial(by_radius, "notredame-sift"),
    "Nursery, near by radius": partial(by_radius, "nursery"),
    "digits, near by class": partial(by_class, "digits"),
}


class Size(NamedTuple):
    """Size of the experiment."""

    n_samples: int
    n_bits: int
    seeds: tuple[int, ...]
    datasets: tuple[str, ...]


FULL = Size(1000, 30, (0, 1, 2), tuple(DATASETS))
# The datasets of a quick run need no files.
QUICK = Size(500, 8, (0,), ("10-D uniform, near by radius", "digits, near by class"))


def run(output: Path, quick: bool = False, verbose: bool = False) -> list[Path]:
    """Run the experiment; write `initial_guess.csv` and `initial_guess.png`."""
    size = QUICK if quick else FULL
    paths = [output / "initial_guess.csv", output / "initial_guess.png"]
    rows = measure(size, output / CELLS / "initial-guess", verbose)
    write_rows(paths[0], rows)
    save_figure(draw(rows, size), paths[1], dpi=200)
    return paths


def measure(size: Size, folder: Path, verbose: bool = False) -> list[Row]:
    """Return the loss after each bit for all datasets, components, guesses, updates and seeds."""
    rows = []
    runs = product(size.datasets, COMPONENTS, size.seeds)
    for dataset, components, seed in track(runs, "finished", "runs", shown=verbose):
        name = f"{dataset}-{components}-seed{seed}".replace(" ", "_").replace(",", "").replace("'", "")
        path = folder / f"{name}.json"
        record = read_json(path)
        chosen = repr(COMPONENTS[components])
        settings = {"n_samples": size.n_samples, "n_bits": size.n_bits, "threshold and weights": chosen, "alpha": "> 0"}
        if record.get("settings") != settings:
            pairs = DATASETS[dataset](size.n_samples, seed)
            record = {"settings": settings, "losses": curves(pairs, components, seed, size.n_bits), **environment()}
            write_text(path, json.dumps(record))
        for guess, update, losses in record["losses"]:
            about = {"dataset": dataset, "components": components, "guess": guess, "update": update, "seed": seed}
            rows += [{**about, "bits": bits, "loss": loss} for bits, loss in enumerate(losses, start=1)]
    return rows


def curves(pairs: Pairs, components: str, seed: int, n_bits: int) -> list[tuple[str, str, list[float]]]:
    """Learn codes with all combinations of guess and update; return the loss after each bit."""
    threshold, weights = COMPONENTS[components]
    found = []
    for guess, update in product(GUESSES, UPDATES):
        search = cut.Restarts(GUESSES[guess], UPDATES[update])
        code = in_sample_code(pairs, n_bits=n_bits, threshold=threshold, weights=weights, cut=search, random_state=seed)
        losses = [record.loss for record in code.history]
        found.append((guess, update, losses + [0.0] * (n_bits - len(losses))))
    return found


def draw(rows: list[Row], size: Size) -> Any:
    """Draw mean loss over seeds by code length; a row of panels for each dataset, a column for each components."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.2 * len(size.datasets) + 0.9), layout="constrained")
    axes = figure.subplots(len(size.datasets), len(COMPONENTS), sharex=True, sharey="row", squeeze=False)
    bits = np.arange(1, size.n_bits + 1)
    for ax, (dataset, components) in zip(axes.ravel(), product(size.datasets, COMPONENTS), strict=True):
        for (guess, colour), (update, style) in product(zip(GUESSES, COLOURS, strict=False), STYLES.items()):
            losses = select(rows, "loss", dataset=dataset, components=components, guess=guess, update=update)
            # The rows are ordered by seed, then by code length.
            curve = np.reshape(losses, (len(size.seeds), size.n_bits)).mean(axis=0)
            ax.semilogy(bits, np.maximum(curve, LOWEST_DRAWN), style, color=colour, label=f"{guess}, {update}")
        ax.set_title(f"{dataset}\n{components} threshold and weights", fontsize="medium")
    for ax in axes[-1]:
        ax.set_xlabel("bits")
    for ax in axes[:, 0]:
        ax.set_ylabel("share of misplaced pairs")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize="small")
    seeds = ", ".join(map(str, size.seeds))
    add_caption(
        figure,
        f"Figures 5 and 6 of the paper: loss (Eq. 4) of {size.n_samples:,} samples without a hash function, mean over "
        f"seeds {seeds}; a loss of 0 is drawn at {LOWEST_DRAWN:g}. Near by radius: samples centred and of unit norm, "
        f"within the mean distance to the neighbour of rank {size.n_samples // 20}. Digits (8 x 8 pixels, near by "
        "class) replace Peekaboom, which is not available; SIFT of Photo Tourism patches stands for Notredame. Left: "
        "the paper's rules, Eq. 10 and gradient weights; right: the exact minimum of the logistic loss and difference "
        "weights.",
    )
    return figure
