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

from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.neighbors import NearestNeighbors

from proxcode import cut
from proxcode.bits import in_sample_code
from proxcode.experiments.datasets import load
from proxcode.experiments.digests import digest, full_name
from proxcode.experiments.report import read_rows, select
from proxcode.experiments.runner import CELLS, Row, write_rows
from proxcode.experiments.stored import Measurement, file_name, results
from proxcode.pairs import Pairs
from proxcode.plots import COLOURS, add_caption, save_figure
from proxcode.proximity import SameLabel, WithinRadius
from proxcode.threshold import EqualErrorThreshold, LogisticThreshold
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


DATASETS: dict[str, "partial[Pairs]"] = {
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


def run(output: Path, quick: bool = False, verbose: bool = False, jobs: int = 1) -> list[Path]:
    """Run the experiment; write `initial_guess.csv` and `initial_guess.png`."""
    path = output / "initial_guess.csv"
    write_rows(path, measure(QUICK if quick else FULL, output / CELLS / "initial-guess", verbose, jobs))
    return [path, *redraw(output)]


def redraw(output: Path) -> list[Path]:
    """Draw `initial_guess.png` from the measures."""
    rows, path = read_rows(output / "initial_guess.csv"), output / "initial_guess.png"
    n_bits = max(row["bits"] for row in rows)
    (size,) = (size for size in (FULL, QUICK) if size.n_bits == n_bits)
    save_figure(draw(rows, size), path, dpi=200)
    return [path]


def measure(size: Size, folder: Path, verbose: bool = False, jobs: int = 1) -> list[Row]:
    """Return the loss after each bit for all datasets, components, guesses, updates and seeds."""
    keys = list(product(size.datasets, COMPONENTS, size.seeds))
    stored = results([_measurement(*key, size, folder) for key in keys], verbose=verbose, jobs=jobs)
    rows = []
    for (dataset, components, seed), found in zip(keys, stored, strict=True):
        for guess, update, losses in found:
            about = {"dataset": dataset, "components": components, "guess": guess, "update": update, "seed": seed}
            rows += [{**about, "bits": bits, "loss": loss} for bits, loss in enumerate(losses, start=1)]
    return rows


def _measurement(dataset: str, components: str, seed: int, size: Size, folder: Path) -> Measurement:
    settings = {
        "n_samples": size.n_samples,
        "n_bits": size.n_bits,
        "threshold and weights": repr(COMPONENTS[components]),
        "source": digest(f"{__name__}.curves", full_name(DATASETS[dataset].func)),
    }
    path = folder / file_name(dataset, components, f"seed{seed}")
    return Measurement(path, settings, partial(_losses, dataset, components, seed, size))


def _losses(dataset: str, components: str, seed: int, size: Size) -> list[tuple[str, str, list[float]]]:
    return curves(DATASETS[dataset](size.n_samples, seed), components, seed, size.n_bits)


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
