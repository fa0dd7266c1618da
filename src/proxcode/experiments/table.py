"""Table 1 of the paper: area under the precision-recall curve on CIFAR-10, all methods at 12 to 128 bits.

1,000 random test samples of CIFAR-10 GIST are queries and base, the other 59,000 are the training samples, for three
splits. Peers that learn from labels appear with their authors' settings and, marked +, with what PPC has. The best
other method of each code length is named, and where PPC is not above another method by more than the spread. The values
of the paper are listed below ours: its GIST features are of the same kind, but not identical. Notes below the table
give the parameters of all peers and name deviations from this setting and code lengths that were left out.
"""

from pathlib import Path

import numpy as np

from proxcode.experiments.methods import FAIR, METHODS, SLOW
from proxcode.experiments.report import (
    markdown_table,
    mean_and_spread,
    parameters_listed,
    read_rows,
    read_splits,
    reasons,
    select,
    shown,
    write_splits,
)
from proxcode.experiments.runner import SEEDS, Cell, Row, run_cells, write_rows, write_text

PROTOCOL = "labels cifar10-gist"
BITS = (12, 16, 24, 32, 48, 64, 96, 128)
QUICK_BITS = (12, 32)
# Code length of the precision-recall curves, whose fits are shared with the table.
CURVE_BITS = 50
TITLE = "# Table 1: area under the precision-recall curve\n\n"
NOTES = """
Methods marked + have what PPC has. SDH+ has as many anchors as PPC has landmarks with labels (5,900 on CIFAR-10, 1,000
on Banking77), AGH+ as many as PPC has without (2,950 and 1,000; 1,000 near by a radius). The others have PPC's
features, the class posteriors that its kernel regression on these landmarks learns from all samples and labels. SDH+,
which is slow, has 16, 32 and 64 bits alone. Other anchor graphs and SGH keep their authors' 300 anchors; SGH by a
radius and LGHSR would gain from more ([decisions](../decisions.md#peers-with-what-ppc-has)). Where n_labelled or
n_samples is listed below, a method learns from so many random samples, otherwise from all.

PPC is this library's default, which goes beyond the paper. PPC-paper has the paper's own components, with a support
vector machine for each bit, trained on at most `max_samples` samples; all samples enter the code. Sign is the sign of
the centred features. BRE and MLH learn from the labels. FAISS-PQ and FAISS-RaBitQ are compared by their own
distances between exact queries and codes; a code of FAISS-RaBitQ holds 8 bytes in addition to its bits. The area is
computed by the trapezoidal rule between Hamming thresholds.
"""
# PPC in any form, which is not among the other methods.
OWN = ("PPC", "PPC-paper")
# Methods that compare vectors of queries with codes, not codes with codes.
QUANTISERS = ("FAISS-PQ", "FAISS-RaBitQ")
PAPER: dict[str, tuple[float, ...]] = {
    "SH": (0.121379, 0.121498, 0.119628, 0.121108, 0.126965, 0.12771, 0.130133, 0.129777),
    "IMH-tSNE": (0.154169, 0.165783, 0.168781, 0.150094, 0.165669, 0.16049, 0.163685, 0.174634),
    "IMH-LE": (0.170701, 0.164687, 0.144931, 0.154949, 0.165396, 0.152761, 0.162143, 0.152876),
    "SGH": (0.129056, 0.12776, 0.131998, 0.138006, 0.136264, 0.144698, 0.153421, 0.157661),
    "LGHSR": (0.136739, 0.144933, 0.149855, 0.148962, 0.144178, 0.144102, 0.150296, 0.147022),
    "SDH": (0.249316, 0.191575, 0.229962, 0.250167, 0.227537, 0.257303, 0.288238, 0.326233),
    "PPC": (0.28365, 0.312302, 0.308905, 0.329332, 0.343186, 0.352296, 0.354291, 0.355555),
}


def run(output: Path, quick: bool = False, verbose: bool = False, jobs: int = 1) -> list[Path]:
    """Measure all methods; write `table1_splits.csv` and `table1_left_out.csv`, then the table."""
    bits, seeds = (QUICK_BITS, SEEDS[:1]) if quick else (BITS, SEEDS)
    protocol = "labels digits" if quick else PROTOCOL
    cells = cells_for(protocol, (*bits, CURVE_BITS), seeds)
    rows = run_cells(cells, output, quick=quick, verbose=verbose, jobs=jobs)
    return [*write_splits(output, "table1", rows, cells), *redraw(output)]


def redraw(output: Path) -> list[Path]:
    """Write `table1.csv` and `table1.md` from the measures of all splits."""
    rows, left_out = read_splits(output, "table1")
    bits = tuple(sorted({row["bits"] for row in rows} & set(BITS)))
    names = list(dict.fromkeys(row["method"] for row in [*rows, *left_out]))
    is_full = any(row["protocol"] == PROTOCOL for row in rows)
    table = summary(rows, names, bits, PAPER if is_full else {})
    paths = [output / "table1.csv", output / "table1.md"]
    write_rows(paths[0], table)
    listed = parameters_listed(read_rows(output / "table1_parameters.csv"))
    text = TITLE + markdown(table, bits) + not_ahead(table, bits) + NOTES + listed + reasons(left_out)
    write_text(paths[1], text)
    return paths


def cells_for(protocol: str, bits: tuple[int, ...], seeds: tuple[int, ...]) -> list[Cell]:
    """Return the cells of a protocol: all methods of the tables that apply, peers with what PPC has last."""
    has_labels = protocol.startswith("labels ")
    methods = {name: method for name, method in METHODS.items() if name not in SLOW}
    methods |= {name: method for name, method in FAIR.items() if has_labels or not method.needs_labels}
    return [
        Cell(method.protocol(protocol), name, seed, lengths)
        for name, method in methods.items()
        if (lengths := method.lengths(bits))
        for seed in seeds
    ]


def best_of(table: list[Row], n_bits: int, names: list[str]) -> Row | None:
    """Return the row with the largest area at a code length among some methods; None if none of them has one."""
    rows = [row for row in table if row["bits"] == n_bits and row["method"] in names and not np.isnan(row["auc"])]
    return max(rows, key=lambda row: row["auc"], default=None)


def not_ahead(table: list[Row], bits: tuple[int, ...]) -> str:
    """Say at which code lengths PPC is not above another method by more than the larger of their two spreads."""
    parts = []
    for n_bits in bits:
        rows = {row["method"]: row for row in table if row["bits"] == n_bits and not np.isnan(row["auc"])}
        own = rows.pop("PPC")
        near = [
            f"{name} ({shown(row['auc'], row['spread'])})"
            for name, row in rows.items()
            if name not in OWN and own["auc"] - row["auc"] <= np.nanmax([own["spread"], row["spread"], 0])
        ]
        if near:
            parts.append(f"at {n_bits} bits {', '.join(near)}")
    if not parts:
        return "\nPPC is above every other method by more than the spread at all code lengths.\n"
    return f"\nPPC is not above these methods by more than the larger spread of the two: {'; '.join(parts)}.\n"


def summary(rows: list[Row], names: list[str], bits: tuple[int, ...], paper: dict[str, tuple[float, ...]]) -> list[Row]:
    """Return a row for each method and code length: mean and spread over splits, and the value of the paper."""
    table = []
    for name in names:
        published = dict(zip(BITS, paper.get(name, ()), strict=False))
        for n_bits in bits:
            areas = select(rows, "auc", method=name, bits=n_bits)
            mean, spread = mean_and_spread(areas)
            figures = {"auc": mean, "spread": spread, "splits": len(areas), "paper": published.get(n_bits, np.nan)}
            table.append({"method": name, "bits": n_bits, **figures})
    return table


def markdown(table: list[Row], bits: tuple[int, ...]) -> str:
    """Format the table, methods in increasing order of area at the longest code, the paper's values below ours."""
    values = {(row["method"], row["bits"]): row for row in table}
    longest = {row["method"]: row["auc"] for row in table if not np.isnan(row["auc"])}
    lines = []
    for name in sorted({row["method"] for row in table}, key=lambda name: (longest.get(name, 0.0), name)):
        of_method = [values[name, n_bits] for n_bits in bits]
        lines.append([name, *(shown(row["auc"], row["spread"]) for row in of_method)])
        published = [shown(row["paper"]) for row in of_method]
        if any(published):
            lines.append([f"{name}, the paper's", *published])
    others = [name for name in dict.fromkeys(row["method"] for row in table) if name not in OWN]
    best = [best_of(table, n_bits, others) for n_bits in bits]
    named = ["" if row is None else f"{row['method']} {shown(row['auc'])}" for row in best]
    lines.append(["best other method", *named])
    return markdown_table(["method", *(f"{n_bits} bits" for n_bits in bits)], lines)
