"""Runs methods under protocols, cell by cell, and resumes interrupted runs.

A cell is one method under one protocol with one seed, at some code lengths. Its results are one JSON file, written
atomically after each fit: an interrupted run loses at most the current fit. The file holds the measures, the histograms
of near and far pairs from which curves are drawn, and the conditions of the run: settings, sizes, seed, versions and
machine. The settings hold a digest of the source code that computes the cell: a cell whose settings or whose code have
changed is run again. Concurrent runs in the same folder are not supported.
"""

import json
import os
import platform
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from proxcode import metrics
from proxcode.experiments.datasets import write_arrays
from proxcode.experiments.digests import classes_of, digest, full_name
from proxcode.experiments.judging import judge
from proxcode.experiments.methods import Method
from proxcode.experiments.parallel import run_tasks
from proxcode.experiments.protocols import PROTOCOLS, QUICK, Size, Split
from proxcode.experiments.registry import method_named
from proxcode.files import write_table
from proxcode.metrics import Counts
from proxcode.storage.atomic import atomic_write
from proxcode.storage.model_file import versions
from proxcode.utils.progress import ProgressDisplay
from proxcode.utils.threads import n_cores

SEEDS = (0, 1, 2)
CELLS = "cells"

Row = dict[str, Any]
Record = dict[str, Any]


class Cell(NamedTuple):
    """One method under one protocol with one seed, at some code lengths."""

    protocol: str
    method: str
    seed: int
    bits: tuple[int, ...]

    def path(self, folder: Path) -> Path:
        """Return the path of the results."""
        return folder / self.protocol.replace(" ", "_") / f"{self.method}-seed{self.seed}.json"


def run_cells(
    cells: Iterable[Cell], folder: Path, *, quick: bool = False, verbose: bool = False, jobs: int = 1
) -> list[Row]:
    """Run all cells that have no results yet; return one row for each cell and code length.

    Parameters
    ----------
    cells : iterable of Cell
    folder : Path
        Results are stored in its subfolder `cells`.
    quick : bool, default=False
        Whether to use a small subset of the samples.
    verbose : bool, default=False
        Whether to show progress.
    jobs : int, default=1
        Number of processes. Cells whose time is a result run alone, after all others, whatever the number.
    """
    # Cells of the same split are adjacent, so that a process draws each split once.
    cells = sorted(cells, key=lambda cell: (cell.protocol, cell.seed))
    if len({cell.path(folder) for cell in cells}) < len(cells):
        raise ValueError("two cells have the same protocol, method and seed: join their code lengths in one cell.")
    tasks = [_Task(cell, _settings(cell, quick), folder / CELLS, quick) for cell in cells]
    open_tasks = sorted(filter(_Task.missing, tasks), key=_Task.order)
    together = [task for task in open_tasks if not PROTOCOLS[task.cell.protocol].alone]
    alone = [task for task in open_tasks if PROTOCOLS[task.cell.protocol].alone]
    done = len(tasks) - len(open_tasks)
    try:
        with ProgressDisplay("finished", "cells", len(tasks), done=done, shown=verbose) as progress:
            run_tasks(_run, together, jobs, progress)
            run_tasks(_run, alone, 1, progress)
    finally:
        _split.cache_clear()
    return [row for task in tasks for row in _rows(task.cell, task.record())]


class _Task(NamedTuple):
    """A cell, the settings that its results must have, and where they are stored."""

    cell: Cell
    settings: dict[str, Any]
    folder: Path
    quick: bool

    def record(self) -> Record:
        """Return the stored record, an empty one if its settings are others."""
        record = read_json(self.cell.path(self.folder))
        return record if record.get("settings") == self.settings else {"settings": self.settings, "lengths": {}}

    def missing(self) -> list[int]:
        """Return the code lengths that have no results."""
        lengths = self.record()["lengths"]
        return [n_bits for n_bits in self.cell.bits if str(n_bits) not in lengths]

    def order(self) -> tuple[str, int, float]:
        """Return protocol, seed and the negative time of an earlier run: long fits of a split are begun first."""
        lengths = read_json(self.cell.path(self.folder)).get("lengths", {})
        seconds = sum(result.get("fit_seconds", 0.0) for result in lengths.values())
        return self.cell.protocol, self.cell.seed, -seconds


def _size(protocol: str, quick: bool) -> Size:
    return QUICK if quick else PROTOCOLS[protocol].size


def _settings(cell: Cell, quick: bool) -> dict[str, Any]:
    """Return what the results of a cell depend on besides data, seed and versions."""
    protocol, method = PROTOCOLS[cell.protocol], method_named(cell.method)
    model = method.make(cell.bits[0], cell.seed, None)
    parameters = model.get_params(deep=False)
    return {
        "split": str(protocol),
        "size": list(_size(cell.protocol, quick)),
        "parameters": {name: repr(value) for name, value in parameters.items() if name != "n_bits"},
        "source": digest(
            *classes_of(model), *map(full_name, (protocol.split.func, method.fit_key, Method)), f"{__name__}._run_group"
        ),
    }


def results(cell: Cell, folder: Path) -> dict[int, Record]:
    """Return the stored results of a cell by code length; results are empty at code lengths not run yet."""
    lengths = read_json(cell.path(folder / CELLS)).get("lengths", {})
    return {n_bits: lengths.get(str(n_bits), {}) for n_bits in cell.bits}


def histograms(cell: Cell, folder: Path) -> dict[int, tuple[Counts, Counts]]:
    """Return near and far pairs by Hamming distance or level, for each code length of a finished cell."""
    stored = results(cell, folder)
    return {n_bits: (np.array(of["near"]), np.array(of["far"])) for n_bits, of in stored.items() if "near" in of}


def environment() -> dict[str, Any]:
    """Return the versions and the machine, on which results may depend besides data and settings."""
    machine = {
        "cores": os.cpu_count(),
        "threads": n_cores(),
        "processor": platform.machine(),
        "system": platform.system(),
    }
    return {"versions": versions(), "machine": machine}


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically; create its folder if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as partial:
        partial.write_text(text)


def read_json(path: Path) -> Record:
    """Read a record; return an empty one if the file does not exist."""
    if not path.exists():
        return {}
    try:
        return dict(json.loads(path.read_text()))
    except ValueError:
        raise ValueError(f"{path} is not a valid JSON record; delete it to repeat the measurement.") from None


def write_rows(path: Path, rows: list[Row], columns: Iterable[str] = ()) -> None:
    """Write rows, dictionaries of measures, to a tabular file; a measure that a row does not have is NaN.

    `columns` are the names of the first columns, needed where there may be no rows.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    names = dict.fromkeys([*columns, *(name for row in rows for name in row)])
    write_table(path, {name: np.array([row.get(name, np.nan) for row in rows]) for name in names})


@lru_cache(maxsize=1)
def _split(protocol: str, seed: int, quick: bool, folder: Path) -> Split:
    """Draw a split and write its row numbers."""
    split = PROTOCOLS[protocol].split(seed, _size(protocol, quick))
    folder.mkdir(parents=True, exist_ok=True)
    # Another process may be writing the same row numbers.
    with suppress(BlockingIOError):
        write_arrays(folder / f"split-seed{seed}.npz", split.rows)
    return split


def _run(task: _Task) -> None:
    """Add the missing results of a cell to its record; write it after each fit."""
    cell, record, bits, path = task.cell, task.record(), task.missing(), task.cell.path(task.folder)
    split = _split(cell.protocol, cell.seed, task.quick, path.parent)
    n_train, d = split.train.shape
    record |= {"protocol": cell.protocol, "method": cell.method, "seed": cell.seed}
    record |= {"n_train": n_train, "n_test": len(split.test), "d": d, **environment()}
    method = method_named(cell.method)
    n_classes = 0 if split.labels is None else len(np.unique(split.labels))
    for group in method.groups(bits, n_classes):
        record["lengths"] |= _run_group(method, group, split, cell.seed)
        write_text(path, json.dumps(record))


def _run_group(method: Method, group: list[int], split: Split, seed: int) -> dict[str, Any]:
    """Fit a method at the largest of some code lengths; return the results at each, or why there are none."""
    if method.needs_labels and split.labels is None:
        return {str(n_bits): {"left_out": "needs labels"} for n_bits in group}
    model = method.make(max(group), seed, split.proximity)
    start = time.perf_counter()
    try:
        model.fit(split.train, split.labels)
    except np.linalg.LinAlgError:
        # A subclass of ValueError, but a numerical failure: no reason to leave a code length out.
        raise
    except ValueError as error:
        # The method does not support this code length, such as more bits than features.
        shorter = _run_group(method, group[:-1], split, seed) if len(group) > 1 else {}
        return shorter | {str(group[-1]): {"left_out": str(error)}}
    fitted = time.perf_counter()
    if len(group) > 1 and not getattr(getattr(model, "hash_function_", None), "has_prefixes", True):
        # The code is learned at once: each length needs a fit of its own.
        return {key: value for n_bits in group for key, value in _run_group(method, [n_bits], split, seed).items()}
    judged = judge(split, model)
    seconds = {"fit_bits": max(group), "fit_seconds": fitted - start, "encode_seconds": time.perf_counter() - fitted}
    measured = {}
    for n_bits in group:
        recalls = {f"recall_at_{k}": value for k, value in judged.recalls(n_bits).items()}
        measured[str(n_bits)] = {**_figures(*judged.counts(n_bits), judged.is_hamming), **recalls, **seconds}
    return measured


def _figures(near: Counts, far: Counts, is_hamming: bool) -> dict[str, Any]:
    """Return measures and histograms; precision within Hamming radius 2 is None for other distances."""
    total_near, total_far = near.sum(axis=0), far.sum(axis=0)
    return {
        "auc": metrics.area_under_curve(metrics.precision_recall(total_near, total_far)),
        "map": metrics.mean_average_precision(near, far),
        "precision_at_100": metrics.precision_at(near, far, 100),
        "precision_within_2": metrics.precision_within(near, far, 2) if is_hamming else None,
        "near": total_near.tolist(),
        "far": total_far.tolist(),
    }


def _rows(cell: Cell, record: Record) -> list[Row]:
    """Return one row of measures for each code length that was not left out."""
    about = {name: record[name] for name in ("protocol", "method", "seed", "n_train", "n_test", "d")}
    rows = []
    for n_bits in cell.bits:
        result = record["lengths"][str(n_bits)]
        if "left_out" not in result:
            # JSON has no NaN: undefined measures are stored as null.
            measures = {name: np.nan if value is None else value for name, value in result.items()}
            del measures["near"], measures["far"]
            rows.append({**about, "bits": n_bits, **measures})
    return rows
