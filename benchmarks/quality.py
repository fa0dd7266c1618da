"""Quality of codes: mean and spread over splits, for protocols x methods x code lengths.

    PROXCODE_DATA=/path/to/data python benchmarks/quality.py
    python benchmarks/quality.py --protocols "labels cifar10-gist" --methods PPC Hadamard --seeds 0 1 2
    python benchmarks/quality.py --figures    what README and docs/which_code.md state, to results/quality_figures.csv
    python benchmarks/quality.py --quick      few samples, one seed

The situations are protocols: "labels", classes seen in fit; "unseen", classes that come later; "radius", near within a
radius; "top-k", the 10 nearest samples without labels, by Hamming distance or by float queries. Pairs are measured by
pairs.py. Protocols and methods are those of `proxcode.experiments`. Results are stored in results/quality/, a file for
each method, protocol and seed: an interrupted run can be resumed and loses at most the current fit.
"""

import argparse
import sys

from _common import RESULTS
from proxcode.experiments.methods import JOBS, METHODS
from proxcode.experiments.protocols import PROTOCOLS
from proxcode.experiments.report import mean_and_spread, select, shown
from proxcode.experiments.runner import Cell, run_cells, write_rows

FOLDER = RESULTS / "quality"
BITS = {
    "labels": (12, 16, 24, 32, 48, 64, 96, 128),
    "radius": (16, 32, 50, 64),
    "unseen": (16, 32, 64, 128),
    "top-k": (32, 64, 128),
}
# Protocols, methods and code lengths of the figures in README and docs/which_code.md.
SETS = ("notredame-sift", "sift10k", "cifar10-gist", "scene15-gist", "banking77")
NEW_CLASSES = ["PPC-new-classes", "ITQ", "WCW-ITQ", "LDA-ITQ", "CCA-ITQ"]
STATED = [
    ("labels banking77", ["PPC", "Hadamard", "ClassifierCode"], (16, 32, 64)),
    ("radius scene15-gist", ["PPC", "LSH", "ITQ", "SH"], (16, 32, 64)),
    ("radius cifar10-gist", ["PPC"], (16, 32, 64)),
    # At most one bit for each of the 40 dimensions.
    ("radius cifar10-gist", ["ITQ"], (16, 32, 40)),
    *((f"top-k {name}", ["PPC-nearest", "ITQ", "PPC-reconstruction"], (32, 64, 128)) for name in SETS),
    ("unseen banking77", [*NEW_CLASSES, "PPC"], (16, 32, 64, 128)),
    ("unseen mnist", NEW_CLASSES, (16, 32, 64, 128)),
    ("unseen cifar10-gist", NEW_CLASSES, (16, 32, 64, 128)),
]
# Quantisers of FAISS, measured with one seed alone.
STATED_ONCE = [(f"top-k {name}", ["FAISS-OPQ", "FAISS-RQ"], (32, 64, 128)) for name in SETS]
DEFAULT = [name for name in PROTOCOLS if name.split()[0] in ("labels", "radius", "radius-unit", "unseen")]
FIGURES = {
    "auc": "AUC",
    "map": "mAP",
    "recall_at_10": "recall@10",
    "recall_at_40": "recall of the 10 nearest among 40",
    "recall_at_100": "recall of the 10 nearest among 100",
}


def lengths(protocol, asked):
    return tuple(asked or BITS.get(protocol.split()[0].removesuffix("-unit"), (32,)))


def show(rows, protocol, figure):
    """Print mean and spread (standard deviation) over seeds, methods in rows, code lengths in columns."""
    mine = [row for row in rows if row["protocol"] == protocol]
    bits = sorted({row["bits"] for row in mine})
    print(f"\n{protocol}: {FIGURES[figure]}, mean and spread over seeds")
    print(f"{'bits':<16}" + "".join(f"{n_bits:>16}" for n_bits in bits))
    for method in dict.fromkeys(row["method"] for row in mine):
        values = [select(mine, figure, method=method, bits=n_bits) for n_bits in bits]
        print(f"{method:<16}" + "".join(f"{shown(*mean_and_spread(some)):>16}" for some in values))


def measure_stated(jobs):
    """Measure what README and docs/which_code.md state; write the rows to one file."""
    runs = [(*run, seed) for run in STATED for seed in (0, 1, 2)] + [(*run, 0) for run in STATED_ONCE]
    cells = [Cell(protocol, method, seed, bits) for protocol, methods, bits, seed in runs for method in methods]
    write_rows(RESULTS / "quality_figures.csv", run_cells(cells, FOLDER, verbose=True, jobs=jobs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--protocols", nargs="+", choices=list(PROTOCOLS), default=DEFAULT)
    parser.add_argument(
        "--methods", nargs="+", choices=[*METHODS, *JOBS], default=["PPC", "LSH", "ITQ", "SH", "Hadamard"]
    )
    parser.add_argument("--seeds", nargs="+", type=int, help="default: 0 1 2; with --quick: 0")
    parser.add_argument("--bits", nargs="+", type=int, help="code lengths (default: those of each protocol)")
    parser.add_argument("--quick", action="store_true", help="use few samples and one seed")
    parser.add_argument("--figures", action="store_true", help="measure what README and docs/which_code.md state")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    options = parser.parse_args()
    if options.figures:
        measure_stated(options.jobs)
        return
    seeds = options.seeds or ([0] if options.quick else [0, 1, 2])
    folder = FOLDER / "quick" if options.quick else FOLDER
    rows = []
    for protocol in options.protocols:
        bits = lengths(protocol, options.bits)
        cells = [Cell(protocol, method, seed, bits) for seed in seeds for method in options.methods]
        rows += run_cells(cells, folder, quick=options.quick, verbose=sys.stderr.isatty(), jobs=options.jobs)
        for figure in (name for name in FIGURES if name in rows[-1]):
            show(rows, protocol, figure)
    write_rows(RESULTS / ("quality_quick.csv" if options.quick else "quality.csv"), rows)


if __name__ == "__main__":
    main()
