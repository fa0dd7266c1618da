"""The table and the figures of the paper as experiments, each of which writes its files to a folder.

`EXPERIMENTS` holds the experiments by name: `run(output, quick, verbose)` returns the paths of the files written. A
quick run uses one seed, few samples and few bits, as a check that everything works. `run_experiments` runs several
experiments and keeps a record of the run. The module of an experiment is imported when it runs.
"""

import json
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

Experiment = Callable[[Path, bool, bool], list[Path]]


def _experiment(module: str, about: str) -> Experiment:
    def run(output: Path, quick: bool = False, verbose: bool = False) -> list[Path]:
        paths: list[Path] = import_module(f"{__name__}.{module}").run(output, quick, verbose)
        return paths

    run.__doc__ = about
    return run


EXPERIMENTS = {
    "table1": _experiment("table", "Area under the precision-recall curve of all methods on CIFAR-10 (Table 1)."),
    "precision-recall": _experiment("curves", "Precision-recall curves of 50-bit codes by radius and by class."),
    "illustrations": _experiment(
        "illustrations",
        "Samples in the plane: the first four bits, Hamming and Euclidean distance, near and far pairs.",
    ),
    "initial-guess": _experiment("initial_guess", "Loss by code length for four initial guesses and two updates."),
    "satisfied": _experiment("satisfied", "Loss by code length until no pair is misplaced."),
    "ablations": _experiment("ablations", "Area of variants of the method, each with one change, on three splits."),
    "timing": _experiment("timing", "Fit and encoding time of all methods at equal settings."),
}


def run_experiments(names: Iterable[str], output: Path, *, quick: bool = False, verbose: bool = False) -> list[Path]:
    """Run experiments by name; return the files written, including the record of the run.

    The record `experiments.json` holds the seconds of each experiment, added up over resumed runs, the versions and the
    machine. Quick runs write to the subfolder `quick`, so that they do not replace the results of full runs.
    """
    from proxcode.experiments.runner import environment, read_json, write_text

    output = output / "quick" if quick else output
    output.mkdir(parents=True, exist_ok=True)
    path = output / "experiments.json"
    written, runs = [], read_json(path)
    for name in names:
        start = time.perf_counter()
        written += EXPERIMENTS[name](output, quick, verbose)
        seconds = round(time.perf_counter() - start + runs.get(name, {}).get("seconds", 0), 1)
        runs[name] = {"seconds": seconds, **environment()}
        write_text(path, json.dumps(runs, indent=1))
    return [*written, path]
