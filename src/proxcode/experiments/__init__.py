"""The table and the figures of the paper as experiments, each of which writes its files to a folder.

`EXPERIMENTS` holds the experiments by name: `run(output, quick, verbose, jobs)` returns the paths of the files written.
A quick run uses one seed, few samples and few bits, as a check that everything works. An experiment writes what it
measured to CSV files, and makes its tables and figures from them: `redraw(output)` makes them again. `run_experiments`
runs several experiments and keeps a record of the run. The module of an experiment is imported when it runs.
"""

import json
import time
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

# Record of the runs in the folder of the results.
RECORD = "experiments.json"


class Experiment(NamedTuple):
    """An experiment: the module that runs it, and a description."""

    module: str
    about: str

    def run(self, output: Path, quick: bool = False, verbose: bool = False, jobs: int = 1) -> list[Path]:
        """Measure what has no results yet, in up to `jobs` processes; write all files."""
        paths: list[Path] = self._imported().run(output, quick, verbose, jobs)
        return paths

    def redraw(self, output: Path) -> list[Path]:
        """Write tables and figures from the CSV files of an earlier run."""
        paths: list[Path] = self._imported().redraw(output)
        return paths

    def _imported(self) -> Any:
        return import_module(f"{__name__}.{self.module}")


EXPERIMENTS = {
    "table1": Experiment("table", "Area under the precision-recall curve of all methods on CIFAR-10 (Table 1)."),
    "other-data": Experiment(
        "other_data", "Areas on Banking77, and by a radius on scene15 and CIFAR-10; the best peers."
    ),
    "precision-recall": Experiment("curves", "Precision-recall curves of 50-bit codes by radius and by class."),
    "illustrations": Experiment(
        "illustrations",
        "Samples in the plane: the first four bits, Hamming and Euclidean distance, near and far pairs.",
    ),
    "initial-guess": Experiment("initial_guess", "Loss by code length for four initial guesses and two updates."),
    "satisfied": Experiment("satisfied", "Loss by code length until no pair is misplaced."),
    "ablations": Experiment("ablations", "Area of variants of the method, each with one change, on three splits."),
    "timing": Experiment("timing", "Fit and encoding time of all methods at equal settings."),
}


def run_experiments(
    names: Iterable[str], output: Path, *, quick: bool = False, verbose: bool = False, jobs: int = 1
) -> list[Path]:
    """Run experiments by name; return the files written, including the record of the run.

    The record `experiments.json` holds for each experiment the seconds, added up over its runs, the number of runs and
    of jobs, the versions and the machine. Quick runs write to the subfolder `quick`, so that they do not replace the
    results of full runs.
    """
    from proxcode.experiments.runner import environment, read_json, write_text

    output = output / "quick" if quick else output
    output.mkdir(parents=True, exist_ok=True)
    path = output / RECORD
    written, runs = [], read_json(path)
    for name in names:
        start = time.perf_counter()
        try:
            written += EXPERIMENTS[name].run(output, quick, verbose, jobs)
        finally:
            # An interrupted run counts: the next one resumes it.
            earlier = runs.get(name, {"seconds": 0, "runs": 0})
            seconds = round(time.perf_counter() - start + earlier["seconds"], 3)
            runs[name] = {"seconds": seconds, "runs": earlier["runs"] + 1, "jobs": jobs, **environment()}
            write_text(path, json.dumps(runs, indent=1))
    return [*written, path]


def redraw_experiments(names: Iterable[str], output: Path, *, quick: bool = False) -> list[Path]:
    """Write the tables and figures of experiments from the CSV files of an earlier run; return their paths."""
    folder = output / "quick" if quick else output
    return [path for name in names for path in EXPERIMENTS[name].redraw(folder)]
