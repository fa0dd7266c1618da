"""A long code satisfies all pairs: the paper's statement on l1 and l2 proximities, in numbers (no figure there).

Codes without a hash function of 300 samples: the share of misplaced pairs (Eq. 4) by code length, until it is 0 or the
largest code length is reached. Near is

1. within a radius by l1 or l2, for samples uniform in a cube of 2, 10 and 50 dimensions; a sample has 15 near samples
   on average, and all other pairs are far,
2. as listed in a random signed graph, where a known pair is near or far with equal probability; a tenth of the pairs
   is known, or all are. No geometry helps here: a code has to learn every pair by heart.

All codes are learned with the paper's rules and with the defaults of this library, for three seeds. The losses of each
code are stored in a file, so that an interrupted run can be resumed.
"""

from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from proxcode.bits import InSampleCode, Rules, in_sample_code
from proxcode.experiments.digests import digest
from proxcode.experiments.report import read_rows, select
from proxcode.experiments.runner import CELLS, Row, write_rows
from proxcode.experiments.stored import Measurement, file_name, results
from proxcode.plots import COLOURS, add_caption, save_figure
from proxcode.proximity import WithinRadius

RULES = {"the paper's": Rules.paper(), "the default": Rules.resolved(None, None, None)}
MEAN_NEIGHBORS = 15
Learn = Callable[..., InSampleCode]


class Size(NamedTuple):
    """Size of the experiment."""

    n_samples: int
    n_bits: int
    seeds: tuple[int, ...]
    dimensions: tuple[int, ...]


FULL = Size(300, 512, (0, 1, 2), (2, 10, 50))
QUICK = Size(60, 128, (0,), (2,))


def by_distance(metric: str, n_features: int, n_samples: int, seed: int, **parameters: Any) -> InSampleCode:
    """Learn a code of uniform samples, near within a radius."""
    X = np.random.default_rng(seed).random((n_samples, n_features))
    return in_sample_code(WithinRadius(mean_neighbors=MEAN_NEIGHBORS, metric=metric), X, **parameters)


def by_random_graph(density: float, n_samples: int, seed: int, **parameters: Any) -> InSampleCode:
    """Learn a code of the nodes of a random signed graph, in which a share `density` of the pairs is known."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1, 1], (n_samples, n_samples))
    W = np.triu(np.where(rng.random((n_samples, n_samples)) < density, signs, 0), 1)
    return in_sample_code(W + W.T, **parameters)


def proximities(dimensions: tuple[int, ...]) -> dict[str, Learn]:
    """Return a function that learns a code for each proximity, by name."""
    found: dict[str, Learn] = {}
    for (name, metric), n_features in product({"l1": "manhattan", "l2": "euclidean"}.items(), dimensions):
        found[f"{name}, {n_features} dimensions"] = partial(by_distance, metric, n_features)
    found["random signs, a tenth of the pairs"] = partial(by_random_graph, 0.1)
    found["random signs, all pairs"] = partial(by_random_graph, 1.0)
    return found


def run(output: Path, quick: bool = False, verbose: bool = False, jobs: int = 1) -> list[Path]:
    """Run the experiment; write `satisfied.csv` and `satisfied.png`."""
    path = output / "satisfied.csv"
    write_rows(path, measure(QUICK if quick else FULL, output / CELLS / "satisfied", verbose, jobs))
    return [path, *redraw(output)]


def redraw(output: Path) -> list[Path]:
    """Draw `satisfied.png` from the measures."""
    path = output / "satisfied.png"
    rows = read_rows(output / "satisfied.csv")
    size = FULL if {row["seed"] for row in rows} == set(FULL.seeds) else QUICK
    save_figure(draw(rows, size), path, dpi=200)
    return [path]


def measure(size: Size, folder: Path, verbose: bool = False, jobs: int = 1) -> list[Row]:
    """Return the loss after each bit for all proximities, rules and seeds."""
    keys = list(product(proximities(size.dimensions), RULES, size.seeds))
    settings = {"n_samples": size.n_samples, "n_bits": size.n_bits, "source": digest(f"{__name__}.losses")}
    measurements = [
        Measurement(folder / file_name(*key[:2], f"seed{key[2]}"), settings, partial(losses, *key, size))
        for key in keys
    ]
    stored = results(measurements, verbose=verbose, jobs=jobs)
    return [
        {"proximity": proximity, "rules": rules, "seed": seed, "bits": bits, "loss": loss}
        for (proximity, rules, seed), found in zip(keys, stored, strict=True)
        for bits, loss in enumerate(found, start=1)
    ]


def losses(proximity: str, rules: str, seed: int, size: Size) -> list[float]:
    """Learn a code; return the loss after each bit."""
    learn, chosen = proximities(size.dimensions)[proximity], RULES[rules]
    components = {"threshold": chosen.threshold, "weights": chosen.weights, "cut": chosen.cut}
    code = learn(size.n_samples, seed, n_bits=size.n_bits, random_state=seed, **components)
    return [bit.loss for bit in code.history]


def draw(rows: list[Row], size: Size) -> Any:
    """Draw the loss of the first seed by code length, a panel for each rules; a circle marks loss 0."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.7), layout="constrained")
    axes: Any = figure.subplots(1, len(RULES), sharey=True)
    first_seed = rows[0]["seed"]
    lowest = min(row["loss"] for row in rows if row["loss"] > 0) / 2
    names = list(dict.fromkeys(row["proximity"] for row in rows))
    # l1 and l2 in as many dimensions have the same colour.
    colours = dict(zip(dict.fromkeys(name.split(", ")[1] for name in names), COLOURS, strict=False))
    for ax, rules in zip(axes, RULES, strict=True):
        for name in names:
            colour = colours[name.split(", ")[1]]
            losses = np.array(select(rows, "loss", proximity=name, rules=rules, seed=first_seed))
            bits = np.arange(1, len(losses) + 1)
            style = {"l1": "-", "l2": "--"}.get(name[:2], ":")
            ax.semilogy(bits, np.maximum(losses, lowest), style, color=colour, label=name)
            if losses[-1] == 0:
                ax.plot(bits[-1:], [lowest], "o", color=colour)
        ax.set(title=f"{rules} rules", xlabel="bits")
    axes[0].set_ylabel("share of misplaced pairs")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize="small")
    add_caption(
        figure,
        "The paper's statement that long codes satisfy l1 and l2 proximities, for which it has no figure. "
        f"{size.n_samples} samples, uniform in a cube, near within the radius with {MEAN_NEIGHBORS} neighbours on "
        f"average; or nodes of a random signed graph. At most {size.n_bits} bits, seed {first_seed}; no hash function. "
        "A circle: no pair is misplaced. The paper's rules: Eq. 10, gradient weights, bit update from a random guess. "
        "The default rules: calibrated threshold, difference weights, the same cut.",
    )
    return figure
