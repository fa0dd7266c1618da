"""Ablations: what each component of the method contributes, on new samples.

1. Variants of the method (`variants.py`), each with one change, are fitted under three protocols by labels and two by
   a radius: area under the precision-recall curve, mean and standard deviation over three splits.
2. A radius by l1 beside one by l2, for the default, the paper's method and a random partition instead of the cut.
3. Cuts of a signed and of an unsigned graph (Fig. 1b of the paper) without a hash function: the share of misplaced
   pairs (Eq. 4) of some training samples.
"""

from collections.abc import Iterable
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from proxcode.bits import in_sample_code
from proxcode.experiments.digests import digest
from proxcode.experiments.protocols import PROTOCOLS, Size
from proxcode.experiments.report import markdown_table, mean_and_spread, read_rows, select, shown
from proxcode.experiments.runner import CELLS, SEEDS, Cell, Row, run_cells, write_rows, write_text
from proxcode.experiments.stored import Measurement, file_name, results
from proxcode.experiments.variants import ABOUT, VARIANTS
from proxcode.proximity import SameLabel

BITS = (16, 32)
QUICK_BITS = (4, 8)
# Protocols as they are shown, with the number of training samples.
LABELS = {
    "ablation labels cifar10-gist": "CIFAR-10 GIST, 12,000, by class",
    "ablation labels banking77": "Banking77, 6,000, by class",
    "labels digits": "digits, 1,297, by class",
}
RADIUS = {
    "radius scene15-gist": "scene15 GIST, 4,000, by radius",
    "ablation radius cifar10-gist": "CIFAR-10 PCA-40, 2,000, by radius",
}
QUICK_PROTOCOLS = {"labels digits": "digits, by class", "radius digits": "digits, by radius"}
METRICS = {"radius scene15-gist": "scene15 GIST, l2", "radius-l1 scene15-gist": "scene15 GIST, l1"}
QUICK_METRICS = {"radius digits": "digits, l2", "radius-l1 digits": "digits, l1"}
# Other searches for cuts take several times as long as the default: they have the two smallest protocols.
SEARCHES = ("laplacian", "signed-laplacian", "projection", "annealing")
SEARCHED = ("labels digits", "ablation radius cifar10-gist")
# Eigenvectors of large graphs whose near pairs leave many samples apart take minutes for each bit.
SPECTRAL = ("unrefined-spectral", "unsigned-spectral")
NOT_SPECTRAL = ("radius scene15-gist",)
QUICK_VARIANTS = ("default", "random-start", "paper", "unrefined", "unsigned-spectral")
METRIC_VARIANTS = ("default", "random-start", "paper")
# Variants whose cuts are compared without a hash function, and the number of samples.
IN_SAMPLE = ("unrefined", "unrefined-spectral", "unsigned-spectral", "unsigned")
IN_SAMPLE_SIZE = Size(1000, 100)
TITLE = "# Ablations: one change at a time\n\n"
NOTES = """
Area under the precision-recall curve of new samples, mean and standard deviation over three splits. Each row has one
change from the default, or from the first row without refinement; an empty cell was not run. Support vector machines
are trained on all samples. With labels a bit starts from the best of up to eight cuts, or of as
many random partitions. Without error correction there is no refinement, and the hash function is not given the labels.
In an unsigned graph only near pairs have weights; a constant bit then maximises b'Wb, and bit update finds local
maxima.
"""
IN_SAMPLE_NOTES = f"""
Share of misplaced pairs of {IN_SAMPLE_SIZE.n_train:,} training samples, without a hash function: each bit is the cut
itself.
"""


def run(output: Path, quick: bool = False, verbose: bool = False, jobs: int = 1) -> list[Path]:
    """Run the experiment; write `ablations_splits.csv` and `ablations_in_sample.csv`, then the tables."""
    seeds, bits, names = (SEEDS[:1], QUICK_BITS, QUICK_VARIANTS) if quick else (SEEDS, BITS, tuple(VARIANTS))
    protocols, metrics = (QUICK_PROTOCOLS, QUICK_METRICS) if quick else ({**LABELS, **RADIUS}, METRICS)
    chosen = [key for key in product(protocols, names) if is_run(*key)]
    chosen += [key for key in product(metrics, METRIC_VARIANTS) if key not in chosen]
    cells = [Cell(protocol, name, seed, bits) for (protocol, name), seed in product(chosen, seeds)]
    rows = run_cells(cells, output, quick=quick, verbose=verbose, jobs=jobs)
    paths = [output / "ablations_splits.csv", output / "ablations_in_sample.csv"]
    write_rows(paths[0], rows)
    write_rows(paths[1], in_sample(protocols, seeds, bits, output / CELLS / "ablations", verbose, jobs))
    return [*paths, *redraw(output)]


def is_run(protocol: str, name: str) -> bool:
    """Return whether a variant is run under a protocol: slow ones are run under some."""
    if name in SEARCHES:
        return protocol in SEARCHED
    return name not in SPECTRAL or protocol not in NOT_SPECTRAL


def redraw(output: Path) -> list[Path]:
    """Write `ablations.csv` and `ablations.md` from the measures of all splits."""
    rows, losses = (read_rows(output / f"ablations_{name}.csv") for name in ("splits", "in_sample"))
    table = summary(rows, "auc") + summary(losses, "loss")
    is_quick = {row["protocol"] for row in losses} == set(QUICK_PROTOCOLS)
    protocols, metrics = (QUICK_PROTOCOLS, QUICK_METRICS) if is_quick else ({**LABELS, **RADIUS}, METRICS)
    bits = tuple(sorted({row["bits"] for row in rows}))
    measured = {row["method"] for row in rows}
    names = tuple(name for name in VARIANTS if name in measured)
    paths = [output / "ablations.csv", output / "ablations.md"]
    write_rows(paths[0], table)
    text = TITLE + markdown(table, "auc", protocols, bits, names) + NOTES
    text += "\n" + markdown(table, "auc", metrics, bits, METRIC_VARIANTS)
    text += "\n" + markdown(table, "loss", protocols, bits, IN_SAMPLE) + IN_SAMPLE_NOTES
    write_text(paths[1], text)
    return paths


def in_sample(
    protocols: Iterable[str],
    seeds: tuple[int, ...],
    bits: tuple[int, ...],
    folder: Path,
    verbose: bool = False,
    jobs: int = 1,
) -> list[Row]:
    """Return the loss of codes without a hash function for the cuts of `IN_SAMPLE`."""
    keys = list(product(protocols, IN_SAMPLE, seeds))
    settings = {"size": list(IN_SAMPLE_SIZE), "bits": list(bits), "source": digest(f"{__name__}.losses")}
    measurements = [
        Measurement(
            folder / file_name(protocol, name, f"seed{seed}"), settings, partial(losses, protocol, name, seed, bits)
        )
        for protocol, name, seed in keys
    ]
    stored = results(measurements, verbose=verbose, jobs=jobs)
    return [
        {"protocol": protocol, "method": name, "seed": seed, "bits": n_bits, "loss": loss}
        for (protocol, name, seed), found in zip(keys, stored, strict=True)
        for n_bits, loss in zip(bits, found, strict=True)
    ]


def losses(protocol: str, name: str, seed: int, bits: tuple[int, ...]) -> list[float]:
    """Learn a code of some training samples without a hash function; return its loss at each code length."""
    split = PROTOCOLS[protocol].split(seed, IN_SAMPLE_SIZE)
    proximity = SameLabel() if split.proximity is None else split.proximity
    model = VARIANTS[name].make(max(bits), seed, proximity)
    rules = {"weights": model.weights, "cut": model.cut, "loss_target": None, "random_state": seed}
    code = in_sample_code(proximity, split.train, split.labels, n_bits=max(bits), **rules)
    return [code.history[n_bits - 1].loss for n_bits in bits]


def summary(rows: list[Row], figure: str) -> list[Row]:
    """Return mean and spread of a figure over splits for each protocol, method and code length."""
    table = []
    for protocol, method, n_bits in dict.fromkeys((row["protocol"], row["method"], row["bits"]) for row in rows):
        values = select(rows, figure, protocol=protocol, method=method, bits=n_bits)
        mean, spread = mean_and_spread(values)
        about = {"protocol": protocol, "method": method, "bits": n_bits, "figure": figure}
        table.append({**about, "mean": mean, "spread": spread, "splits": len(values)})
    return table


def markdown(
    table: list[Row], figure: str, protocols: dict[str, str], bits: tuple[int, ...], names: tuple[str, ...]
) -> str:
    """Format one figure: a row for each variant, a column for each protocol and code length."""
    values = {(row["protocol"], row["method"], row["bits"]): row for row in table if row["figure"] == figure}
    missing = {"mean": np.nan, "spread": np.nan}
    columns = list(product(protocols, bits))
    lines = []
    for name in names:
        cells = [values.get((protocol, name, n_bits), missing) for protocol, n_bits in columns]
        lines.append([ABOUT[name], *(shown(cell["mean"], cell["spread"]) for cell in cells)])
    return markdown_table(["variant", *(f"{protocols[name]}, {n_bits} bits" for name, n_bits in columns)], lines)
