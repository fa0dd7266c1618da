"""Run methods under protocols, cell by cell; what is finished is not run again.

A cell is one method under one protocol with one seed, at some code lengths. Its results are one JSON file, written
whole when it is done: a run that is killed loses the cell it was in, at most. Beside the figures it holds the
histograms of near and far pairs, which curves are drawn from, and what all depends on: sizes, seed, versions, machine.
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

from proxcode._files import replacing
from proxcode.experiments.judging import judge
from proxcode.experiments.methods import METHODS, Method
from proxcode.experiments.protocols import PROTOCOLS, QUICK, Split
from proxcode.metrics import (
    Counts,
    area_under_curve,
    mean_average_precision,
    precision_at,
    precision_recall,
    precision_within,
)
from proxcode.model_file import versions
from proxcode.tables import write_table

PRECISION_AT = 100
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
        missing = [n_bits for n_bits in cell.bits if str(n_bits) not in done.get("lengths", {})]
        if missing:
            if (cell.protocol, cell.seed) != current:
                current, split = (cell.protocol, cell.seed), _split(cell, folder, quick)
            assert split is not None
            done = _run(cell, missing, split, done)
            write_json(cell.path(folder), done)
        rows += _rows(cell, done)
    return rows


def environment() -> dict[str, Any]:
    """Return what results may depend on besides data and settings."""
    machine = {"cores": os.cpu_count(), "processor": platform.machine(), "system": platform.system()}
    return {"versions": versions(), "machine": machine}


def write_json(path: Path, record: dict[str, Any], **layout: Any) -> None:
    """Write a record, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as partial:
        partial.write_text(json.dumps(record, **layout))


def read_json(path: Path) -> dict[str, Any]:
    """Return a record, empty where there is none."""
    return json.loads(path.read_text()) if path.exists() else {}


def write_rows(path: Path, rows: list[Row]) -> None:
    """Write rows as a table; a split's rows and all settings are in the files of the cells."""
    write_table(path, {name: np.array([row[name] for row in rows]) for name in rows[0]})


def _split(cell: Cell, folder: Path, quick: bool) -> Split:
    """Draw the split, and save the rows that it is made of."""
    protocol = PROTOCOLS[cell.protocol]
    split = protocol.split(cell.seed, QUICK if quick else protocol.size)
    path = cell.path(folder).with_name(f"split-seed{cell.seed}.npz")
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **split.rows)
    return split


def _run(cell: Cell, bits: list[int], split: Split, done: dict[str, Any]) -> dict[str, Any]:
    method = METHODS[cell.method]
    lengths = dict(done.get("lengths", {}))
    n_classes = 0 if split.labels is None else len(np.unique(split.labels))
    for group in method.groups(bits, n_classes):
        lengths |= _run_group(method, group, split, cell.seed)
    n_train, d = split.train.shape
    sizes = {"n_train": n_train, "n_test": len(split.test), "d": d}
    about = {"protocol": cell.protocol, "method": cell.method, "seed": cell.seed, **sizes}
    return {**about, **environment(), "lengths": lengths}


def _run_group(method: Method, group: list[int], split: Split, seed: int) -> dict[str, Any]:
    """Return the figures of each length that one fit serves, or why there are none."""
    if not method.can(split):
        return {str(n_bits): {"left_out": "needs labels"} for n_bits in group}
    model = method.make(max(group), seed, split.proximity)
    start = time.perf_counter()
    try:
        model.fit(split.train, split.labels)
    except ValueError as error:  # such as more bits than dimensions
        if len(group) > 1:
            return _run_group(method, group[:-1], split, seed) | _run_group(method, group[-1:], split, seed)
        return {str(group[0]): {"left_out": str(error)}}
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
