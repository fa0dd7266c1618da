"""Quality of codes: protocols x methods x bits x seeds, as means and spreads over splits.

    PROXCODE_DATA=/path/to/data python benchmarks/quality.py
    python benchmarks/quality.py --protocols "labels cifar10-gist" --methods PPC Hadamard --seeds 0 1 2
    python benchmarks/quality.py --quick      few points, one seed

Protocols and methods are those of `proxcode.experiments`. Results lie in results/quality/, a file for each method,
protocol and seed: what is finished is not run again, and a killed run loses the cell it was in.
"""

import argparse
import sys

from _common import RESULTS
from proxcode.experiments.methods import METHODS
from proxcode.experiments.protocols import PROTOCOLS
from proxcode.experiments.report import mean_and_spread, shown
from proxcode.experiments.runner import Cell, run_cells, write_rows

FOLDER = RESULTS / "quality"
BITS = {"labels": (12, 16, 24, 32, 48, 64, 96, 128), "radius": (16, 32, 50, 64), "unseen": (16, 32, 64, 128)}
DEFAULT = [name for name in PROTOCOLS if name.split()[0] in ("labels", "radius", "radius-unit", "unseen")]
FIGURES = {"auc": "AUC", "map": "mAP"}


def lengths(protocol, asked):
    return tuple(asked or BITS.get(protocol.split()[0].removesuffix("-unit"), (32,)))


def show(rows, protocol, figure):
    """Print mean and spread (standard deviation) over seeds, methods in lines, lengths in columns."""
    mine = [row for row in rows if row["protocol"] == protocol]
    bits = sorted({row["bits"] for row in mine})
    print(f"\n{protocol}: {FIGURES[figure]}, mean and spread over seeds")
    print(f"{'bits':<16}" + "".join(f"{n_bits:>16}" for n_bits in bits))
    for method in dict.fromkeys(row["method"] for row in mine):
        cells = []
        for n_bits in bits:
            values = [row[figure] for row in mine if (row["method"], row["bits"]) == (method, n_bits)]
            cells.append(shown(*mean_and_spread(values)))
        print(f"{method:<16}" + "".join(f"{cell:>16}" for cell in cells))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--protocols", nargs="+", choices=list(PROTOCOLS), default=DEFAULT)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=["PPC", "LSH", "ITQ", "SH", "Hadamard"])
    parser.add_argument("--seeds", nargs="+", type=int, default=None, help="0 1 2; with --quick 0")
    parser.add_argument("--bits", nargs="+", type=int, default=None, help="in place of the protocols' own lengths")
    parser.add_argument("--quick", action="store_true", help="few points")
    options = parser.parse_args()
    seeds = options.seeds or ([0] if options.quick else [0, 1, 2])
    folder = FOLDER / "quick" if options.quick else FOLDER
    rows = []
    for protocol in options.protocols:
        bits = lengths(protocol, options.bits)
        cells = [Cell(protocol, method, seed, bits) for seed in seeds for method in options.methods]
        rows += run_cells(cells, folder, quick=options.quick, verbose=sys.stderr.isatty())
        for figure in FIGURES:
            show(rows, protocol, figure)
    write_rows(RESULTS / ("quality_quick.csv" if options.quick else "quality.csv"), rows)


if __name__ == "__main__":
    main()
