"""The signed graph cut on its own: value against time for four initial guesses and four updates.

    python benchmarks/cut_study.py [--output docs/results] [--quick]

The paper finds that the initial guess hardly matters. That depends on the weights. Three graphs are cut from a
Laplacian, a signed Laplacian, a semidefinite (Alon and Naor) and a random guess, each without update, with vector
update (Algorithm 1), with bit update (Algorithm 2), and with annealing for the time shown:

- nodes of ten classes and the weights of a code's first bit between all pairs;
- Gaussian weights between all pairs, the Sherrington-Kirkpatrick spin glass;
- a torus of random signs, the Edwards-Anderson spin glass.
"""

import argparse
import csv
import sys
from itertools import product
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from proxcode.cut import (
    AlonNaorGuess,
    Annealing,
    BitUpdate,
    LaplacianGuess,
    NoUpdate,
    RandomGuess,
    SignedLaplacianGuess,
    VectorUpdate,
    as_graph,
    sparse_graph,
)
from proxcode.plots import COLOURS, save_figure

GUESSES = {
    "Laplacian": LaplacianGuess(),
    "signed Laplacian": SignedLaplacianGuess(),
    "semidefinite (AN)": AlonNaorGuess(n_roundings=5, max_iter=100),
    "random": RandomGuess(),
}
UPDATES = {"as it is": NoUpdate(), "vector update": VectorUpdate(), "bit update": BitUpdate()}
MARKERS = {"as it is": "o", "vector update": "s", "bit update": "^"}


class Point(NamedTuple):
    """A value, and the seconds of processor time until it was reached, including the initial guess."""

    graph: str
    guess: str
    update: str
    seed: int
    seconds: float
    value: float


def classes(n, rng):
    labels = rng.integers(0, 10, n)
    return as_graph(np.where(labels[:, None] == labels, 9.0, -1.0))


def gaussian(n, rng):
    W = np.triu(rng.normal(size=(n, n)), 1)
    return as_graph(W + W.T)


def torus(n, rng):
    size = round(np.sqrt(n))
    grid = np.arange(size * size).reshape(size, size)
    ends = np.tile(grid.ravel(), 2), np.concatenate([np.roll(grid, 1, axis).ravel() for axis in (0, 1)])
    return sparse_graph(size * size, *ends, rng.choice([-1.0, 1.0], 2 * size * size))


GRAPHS = {"ten classes": classes, "Gaussian weights": gaussian, "torus of signs": torus}


def warm_up():
    """Compile or load the kernels, which is not measured."""
    rng = np.random.default_rng(0)
    for make, guess in product(GRAPHS.values(), GUESSES.values()):
        graph = make(100, rng)
        for update in UPDATES.values():
            update.improve(graph, guess.guess(graph, rng), rng)
        Annealing(n_sweeps=10).solve(graph, rng)


def measure(n_nodes, seeds, seconds):
    """Return a `Point` for each graph, guess, update and seed; for annealing, one for each improvement."""
    points = []
    for name, seed in tqdm(list(product(GRAPHS, range(seeds))), disable=not sys.stderr.isatty()):
        graph = GRAPHS[name](n_nodes, np.random.default_rng(seed))
        for guess, way in GUESSES.items():
            for update, search in UPDATES.items():
                rng, start = np.random.default_rng([seed, 1]), process_time()
                cut = search.improve(graph, way.guess(graph, rng), rng)
                points.append(Point(name, guess, update, seed, process_time() - start, cut.value))
            annealing = Annealing(initial=way, clock=process_time)
            cut = annealing.solve(graph, np.random.default_rng([seed, 1]), seconds)
            points += [Point(name, guess, "annealing", seed, step.seconds, step.value) for step in cut.history]
    return points


def relative(points, graph):
    """Return the points of a graph with values relative to the best one of their seed."""
    chosen = [point for point in points if point.graph == graph]
    best = {seed: max(p.value for p in chosen if p.seed == seed) for seed in {p.seed for p in chosen}}
    return [point._replace(value=point.value / best[point.seed]) for point in chosen]


def draw(points, path):
    """Save the figure: relative distance from the best value against time, one panel per graph."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4.4), layout="constrained")
    for ax, graph in zip(figure.subplots(1, len(GRAPHS)), GRAPHS, strict=True):
        chosen = relative(points, graph)
        for guess, colour in zip(GUESSES, COLOURS, strict=False):
            for update, marker in MARKERS.items():
                cells = [p for p in chosen if (p.guess, p.update) == (guess, update)]
                share, seconds = np.mean([p.value for p in cells]), np.mean([p.seconds for p in cells])
                ax.plot(seconds, shown(share), marker, color=colour, ms=7, label=f"{guess}, {update}")
            run = [p for p in chosen if (p.guess, p.update, p.seed) == (guess, "annealing", 0)]
            times = [max(p.seconds, 1e-4) for p in run]
            ax.plot(times, [shown(p.value) for p in run], ".-", color=colour, label=f"{guess}, annealing")
        ax.set(xscale="log", yscale="log", xlabel="seconds of processor time", title=graph)
        ax.set_ylabel("share missing to the best value found")
        ax.invert_yaxis()
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize="small")
    save_figure(figure, path, dpi=200)


def shown(share):
    """Return 1 - share, but at least 1e-5, for a logarithmic axis."""
    return max(1.0 - share, 1e-5)


def summary(points):
    """Return a table of the mean value, relative to the best one, by guess and update for each graph."""
    updates = [*UPDATES, "annealing"]
    lines = []
    for graph in GRAPHS:
        chosen = relative(points, graph)
        lines += ["", f"{graph}: share of the best value found (seconds)"]
        lines.append(f"{'':20}" + "".join(f"{update:>20}" for update in updates))
        for guess in GUESSES:
            cells = []
            for update in updates:
                last = {p.seed: p for p in chosen if (p.guess, p.update) == (guess, update)}
                share, seconds = (np.mean([getattr(p, f) for p in last.values()]) for f in ("value", "seconds"))
                cells.append(f"{share:.4f} ({seconds:.2g})")
            lines.append(f"{guess:20}" + "".join(f"{cell:>20}" for cell in cells))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("docs/results"))
    parser.add_argument("--quick", action="store_true", help="400 nodes and one seed instead of 1,024 and three")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    warm_up()
    points = measure(400, 1, 0.3) if arguments.quick else measure(1024, 3, 1.0)
    with (arguments.output / "cut_study.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Point._fields)
        writer.writerows(points)
    draw(points, arguments.output / "cut_study.png")
    print(summary(points))
    print(f"\nFigure: {arguments.output / 'cut_study.png'}")


if __name__ == "__main__":
    main()
