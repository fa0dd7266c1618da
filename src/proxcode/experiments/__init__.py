"""The paper's figures, each an experiment that writes its files to a folder.

`EXPERIMENTS` holds them by name: `run(output, quick, verbose)` returns the files written. A quick run takes one seed,
few points and few bits, to see that all works. `run_experiments` runs some and keeps a record of the run. What an
experiment needs is imported when it runs.
"""

import time
from collections.abc import Callable, Iterable
from pathlib import Path

RECORD = "experiments.json"
Experiment = Callable[[Path, bool, bool], list[Path]]


def _table(output: Path, quick: bool = False, verbose: bool = False) -> list[Path]:
    """Area under the precision-recall curve of all methods on CIFAR-10, beside the paper's numbers (Table 1)."""
    from proxcode.experiments.table import run

    return run(output, quick, verbose)


def _curves(output: Path, quick: bool = False, verbose: bool = False) -> list[Path]:
    """Precision-recall curves of 50-bit codes by radius and by class, all methods."""
    from proxcode.experiments.curves import run

    return run(output, quick, verbose)


def _illustrations(output: Path, quick: bool = False, verbose: bool = False) -> list[Path]:
    """Points in the plane: the first four bits, Hamming against Euclidean distance, near and far pairs."""
    from proxcode.experiments.illustrations import run

    return run(output, quick, verbose)


def _initial_guess(output: Path, quick: bool = False, verbose: bool = False) -> list[Path]:
    """Loss by code length for four initial guesses and two updates: the guess hardly matters."""
    from proxcode.experiments.initial_guess import run

    return run(output, quick, verbose)


def _timing(output: Path, quick: bool = False, verbose: bool = False) -> list[Path]:
    """Time to learn and to encode, all methods at equal settings."""
    from proxcode.experiments.timing import run

    return run(output, quick, verbose)


EXPERIMENTS: dict[str, Experiment] = {
    "table1": _table,
    "precision-recall": _curves,
    "illustrations": _illustrations,
    "initial-guess": _initial_guess,
    "timing": _timing,
}


def run_experiments(names: Iterable[str], output: Path, *, quick: bool = False, verbose: bool = False) -> list[Path]:
    """Run experiments by name; return the files written, among them a record of the run.

    The record tells the seconds that each took, with runs before that it went on from, versions and machine. Quick runs
    have a folder `quick` of their own: they replace no figure of a whole run.
    """
    from proxcode.experiments.runner import environment, read_json, write_json

    output = output / "quick" if quick else output
    written, runs = [], read_json(output / RECORD)
    for name in names:
        start = time.perf_counter()
        written += EXPERIMENTS[name](output, quick, verbose)
        seconds = round(time.perf_counter() - start + runs.get(name, {}).get("seconds", 0), 1)
        runs[name] = {"seconds": seconds, **environment()}
        write_json(output / RECORD, runs, indent=1)
    return [*written, output / RECORD]


__all__ = ["EXPERIMENTS", "Experiment", "run_experiments"]
