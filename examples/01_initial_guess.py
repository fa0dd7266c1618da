"""The paper's last two figures: the initial guess hardly matters, and bit update beats vector update.

    python examples/01_initial_guess.py [--output docs/results]

In-sample codes of 1,000 points, no hash function: loss (Eq. 4) against code length for four initial guesses, each as it
is, improved by vector update (Algorithm 1) and by bit update (Algorithm 2). Means over three seeds. Two sets: points
uniform in ten dimensions, near within the mean distance to the 50th neighbour; and handwritten digits, near by class.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors
from tqdm import tqdm

from proxcode import DifferenceWeights, LogisticThreshold, Restarts, SameLabel, WithinRadius
from proxcode.bits import BitLoop
from proxcode.cut import (
    BitUpdate,
    LaplacianGuess,
    NoUpdate,
    ProjectionGuess,
    RandomGuess,
    SignedLaplacianGuess,
    VectorUpdate,
)
from proxcode.hamming import GrowingCode
from proxcode.plots import COLOURS

N_BITS = 30
SEEDS = (0, 1, 2)
GUESSES = {
    "Laplacian": LaplacianGuess(),
    "signed Laplacian": SignedLaplacianGuess(),
    "projection (AN)": ProjectionGuess(),
    "random": RandomGuess(),
}
UPDATES = {"as it is": NoUpdate(), "vector update": VectorUpdate(), "bit update": BitUpdate()}
STYLES = {"as it is": ":", "vector update": "--", "bit update": "-"}


def uniform(seed):
    X = np.random.default_rng(seed).random((1000, 10)) - 0.5
    radius = NearestNeighbors(n_neighbors=51).fit(X).kneighbors(X)[0][:, 50].mean()
    return WithinRadius(radius=radius).fit(X).relate(X).relation


def digits(seed):
    X, y = load_digits(return_X_y=True)
    chosen = np.random.default_rng(seed).choice(len(X), 1000, replace=False)
    return SameLabel().relate(X[chosen], y[chosen]).relation


DATASETS = {"10-D uniform, near by radius": uniform, "digits, near by class": digits}


def losses(relation, guess, update, seed):
    loop = BitLoop(
        relation,
        threshold=LogisticThreshold(),
        weights=DifferenceWeights(),
        cut=Restarts(guess, update),
        hash_function=None,
        error_correction=True,
        seed=seed,
        code=GrowingCode(relation.n_points),
    )
    return [loop.step().loss for _ in range(N_BITS)]


def run():
    cells = [(d, g, u, s) for d in DATASETS for g in GUESSES for u in UPDATES for s in SEEDS]
    rows = []
    for dataset, guess, update, seed in tqdm(cells, disable=None):
        curve = losses(DATASETS[dataset](seed), GUESSES[guess], UPDATES[update], seed)
        rows += [(dataset, guess, update, seed, k, value) for k, value in enumerate(curve, start=1)]
    return rows


def mean_curve(rows, dataset, guess, update):
    values = [value for d, g, u, _, _, value in rows if (d, g, u) == (dataset, guess, update)]
    return np.reshape(values, (len(SEEDS), N_BITS)).mean(axis=0)


def draw(rows, path):
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    for ax, dataset in zip(figure.subplots(1, 2), DATASETS, strict=True):
        for guess, colour in zip(GUESSES, COLOURS, strict=False):
            for update, style in STYLES.items():
                curve = np.maximum(mean_curve(rows, dataset, guess, update), 1e-6)
                ax.semilogy(np.arange(1, N_BITS + 1), curve, style, color=colour, label=f"{guess}, {update}")
        ax.set(xlabel="bits", ylabel="share of misplaced pairs", title=dataset)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize="small")
    figure.savefig(path, dpi=200)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    rows = run()
    with (output / "initial_guess.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["dataset", "guess", "update", "seed", "bits", "loss"])
        writer.writerows(rows)
    draw(rows, output / "initial_guess.png")
    for dataset in DATASETS:
        print(f"\n{dataset}: share of misplaced pairs at {N_BITS} bits, mean of {len(SEEDS)} seeds")
        print(f"{'':18}" + "".join(f"{update:>16}" for update in UPDATES))
        for guess in GUESSES:
            cells = (mean_curve(rows, dataset, guess, update)[-1] for update in UPDATES)
            print(f"{guess:18}" + "".join(f"{cell:16.5f}" for cell in cells))
    print(f"\nFigure: {output / 'initial_guess.png'}")


if __name__ == "__main__":
    main()
