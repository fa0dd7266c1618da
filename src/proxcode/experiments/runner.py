"""Run methods under protocols, cell by cell; what is finished is not run again.

A cell is one method under one protocol with one seed, at some code lengths. Its results are one JSON file, written
whole after each fit: a run that is killed loses the fit it was in, at most. Beside the figures it holds the histograms
of near and far pairs, which curves are drawn from, and what all depends on: settings, sizes, seed, versions, machine.
A cell whose settings have changed since is run again. One run at a time may use a folder.
"""

import json
import os
import platform
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from proxcode.experiments.judging import judge
from proxcode.experiments.methods import METHODS, Method
from proxcode.experiments.protocols import PROTOCOLS, QUICK, Split
from proxcode.files import write_table
from proxcode.metrics import (
    Counts,
    area_under_curve,
    mean_average_precision,
    precision_at,
    precision_recall,
    precision_within,
)
from proxcode.storage.atomic import atomic_write
from proxcode.storage.model_file import versions

PRECISION_AT = 100
SEEDS = (0, 1, 2)
CELLS = "cells"


class Cell(NamedTuple):
    """What is run at a time."""

    protocol: str
    method: str
    seed: int
    bits: tuple[int, ...]

    def path(self, folder: Path) -> Path:
        """Return where its results are."""
        return folder / self.protocol.replace(" ", "_") / f"{self.method}-seed{self.seed}.json"


Row = dict[str, Any]


def run_cells(cells: Iterable[Cell], folder: Path, *, quick: bool = False, verbose: bool = False) -> list[Row]:
    """Run what is not there yet; return a row for each cell and length.

    Parameters
    ----------
    cells : Cells
    folder : Path
        Results are kept in its folder `cells`.
    quick : bool, default=False
        Take few points.
    verbose : bool, default=False
        Show progress.
    """
    folder = folder / CELLS
    cells = sorted(cells, key=lambda cell: (cell.protocol, cell.seed))  # so that they share a split
    current, split, rows = None, None, []
    for cell in tqdm(cells, unit="cell", disable=not verbose):
        done = read_json(cell.path(folder))
        if done.get("settings") != (settings := _settings(cell, quick)):
            done = {"settings": settings, "lengths": {}}
        missing = [n_bits for n_bits in cell.bits if str(n_bits) not in done["lengths"]]
        if missing:
            if (cell.protocol, cell.seed) != current:
                current, split = (cell.protocol, cell.seed), _split(cell, folder, quick)
            assert split is not None
            _run(cell, missing, split, done, cell.path(folder))
        rows += _rows(cell, done)
    return rows


def left_out(cells: Iterable[Cell], folder: Path) -> dict[str, list[Cell]]:
    """Return the cells without a figure by the reason; lengths that have one are taken out of them."""
    reasons: dict[str, list[Cell]] = {}
    for cell in cells:
        lengths = read_json(cell.path(folder / CELLS)).get("lengths", {})
        for n_bits in cell.bits:
            reason = lengths.get(str(n_bits), {}).get("left_out")
            if reason:
                reasons.setdefault(reason, []).append(cell._replace(bits=(n_bits,)))
    return reasons


def environment() -> dict[str, Any]:
    """Return what results may depend on besides data and settings."""
    machine = {"cores": os.cpu_count(), "processor": platform.machine(), "system": platform.system()}
    return {"versions": versions(), "machine": machine}


def write_json(path: Path, record: dict[str, Any], **layout: Any) -> None:
    """Write a record, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as partial:
        partial.write_text(json.dumps(record, **layout))


def read_json(path: Path) -> dict[str, Any]:
    """Return a record, empty where there is none."""
    if not path.exists():
        return {}
    try:
        return dict(json.loads(path.read_text()))
    except ValueError:
        raise ValueError(f"{path} is no record of a run, or damaged: delete it, and it is measured again.") from None


def write_rows(path: Path, rows: list[Row]) -> None:
    """Write rows as a table; a split's rows and all settings are in the files of the cells."""
    write_table(path, {name: np.array([row[name] for row in rows]) for name in rows[0]})


def _settings(cell: Cell, quick: bool) -> dict[str, Any]:
    """Return what the results of a cell depend on and code can tell, without the data."""
    protocol = PROTOCOLS[cell.protocol]
    parameters = METHODS[cell.method].make(cell.bits[0], cell.seed, None).get_params(deep=False)
    return {
        "split": str(protocol),
        "size": list(QUICK if quick else protocol.size),
        "parameters": {name: repr(value) for name, value in parameters.items() if name != "n_bits"},
    }


def _split(cell: Cell, folder: Path, quick: bool) -> Split:
    """Draw the split, and save the rows that it is made of."""
    protocol = PROTOCOLS[cell.protocol]
    split = protocol.split(cell.seed, QUICK if quick else protocol.size)
    path = cell.path(folder).with_name(f"split-seed{cell.seed}.npz")
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **split.rows)
    return split


def _run(cell: Cell, bits: list[int], split: Split, done: dict[str, Any], path: Path) -> None:
    """Add the figures of some lengths to what is done; write it after each fit."""
    n_train, d = split.train.shape
    done |= {"protocol": cell.protocol, "method": cell.method, "seed": cell.seed}
    done |= {"n_train": n_train, "n_test": len(split.test), "d": d, **environment()}
    method = METHODS[cell.method]
    n_classes = 0 if split.labels is None else len(np.unique(split.labels))
    for group in method.groups(bits, n_classes):
        done["lengths"] |= _run_group(method, group, split, cell.seed)
        write_json(path, done)


def _run_group(method: Method, group: list[int], split: Split, seed: int) -> dict[str, Any]:
    """Return the figures of each length that one fit serves, or why there are none."""
    if not method.can(split):
        return {str(n_bits): {"left_out": "needs labels"} for n_bits in group}
    model = method.make(max(group), seed, split.proximity)
    start = time.perf_counter()
    try:
        model.fit(split.train, split.labels)
    except np.linalg.LinAlgError:  # a ValueError, but no refusal
        raise
    except ValueError as error:  # such as more bits than dimensions
        shorter = _run_group(method, group[:-1], split, seed) if len(group) > 1 else {}
        return shorter | {str(group[-1]): {"left_out": str(error)}}
    fitted = time.perf_counter()
    judged = judge(split, model)
    seconds = {"fit_bits": max(group), "fit_seconds": fitted - start, "encode_seconds": time.perf_counter() - fitted}
    return {str(n_bits): {**_figures(*judged.counts(n_bits), judged.is_hamming), **seconds} for n_bits in group}


def _figures(near: Counts, far: Counts, is_hamming: bool) -> dict[str, Any]:
    """Return figures and histograms; what is within Hamming radius 2 is None where distances are not Hamming's."""
    total_near, total_far = near.sum(axis=0), far.sum(axis=0)
    return {
        "auc": area_under_curve(precision_recall(total_near, total_far)),
        "map": mean_average_precision(near, far),
        f"precision_at_{PRECISION_AT}": precision_at(near, far, PRECISION_AT),
        "precision_within_2": precision_within(near, far, 2) if is_hamming else None,
        "near": total_near.tolist(),
        "far": total_far.tolist(),
    }


def _rows(cell: Cell, done: dict[str, Any]) -> list[Row]:
    """Return what was measured as rows of numbers, NaN where a figure means nothing; lengths left out are not there."""
    about = {name: done[name] for name in ("protocol", "method", "seed", "n_train", "n_test", "d")}
    figures = {n_bits: done["lengths"][str(n_bits)] for n_bits in cell.bits}
    return [
        {**about, "bits": n_bits, **{name: _number(found[name]) for name in found if name not in ("near", "far")}}
        for n_bits, found in figures.items()
        if "left_out" not in found
    ]


def _number(value: float | None) -> float:
    return float("nan") if value is None else value  # JSON has no NaN


def histograms(cell: Cell, folder: Path) -> dict[int, tuple[Counts, Counts]]:
    """Return near and far pairs by Hamming distance or level, for each length of a finished cell."""
    lengths = read_json(cell.path(folder / CELLS)).get("lengths", {})
    found = {n_bits: lengths.get(str(n_bits), {}) for n_bits in cell.bits}
    return {n_bits: (np.array(of["near"]), np.array(of["far"])) for n_bits, of in found.items() if "near" in of}
