"""Experiments in several processes, and tables and figures made again from result files."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from proxcode.experiments import redraw_experiments
from proxcode.experiments.parallel import THREADS, run_tasks
from proxcode.experiments.report import read_rows
from proxcode.experiments.runner import Cell, histograms, run_cells, write_rows
from proxcode.utils.progress import ProgressDisplay

CELLS = [Cell("labels digits", name, seed, (8, 16)) for name in ("ITQ", "KMH", "FAISS-PQ") for seed in (0, 1)]
TIMES = ("fit_seconds", "encode_seconds")


def write_threads(folder, name):
    """Write the numbers of threads of this process."""
    (folder / name).write_text(json.dumps({variable: os.environ.get(variable) for variable in THREADS}))


def fail(task):
    """Raise an error, or end this process."""
    if task == "exit":
        os._exit(9)
    raise ValueError(f"{task}: expected something else")


def test_results_are_equal_for_any_number_of_jobs(tmp_path):
    pytest.importorskip("faiss")
    found = [run_cells(CELLS, tmp_path / str(jobs), quick=True, jobs=jobs) for jobs in (1, 2)]
    without_times = [[{name: row[name] for name in row if name not in TIMES} for row in rows] for rows in found]
    assert without_times[0] == without_times[1]
    for cell in CELLS:
        for n_bits, counts in histograms(cell, tmp_path / "1").items():
            np.testing.assert_array_equal(counts, histograms(cell, tmp_path / "2")[n_bits])


def test_workers_have_one_thread_and_the_parent_keeps_its_own(tmp_path):
    before = dict(os.environ)
    progress = ProgressDisplay("finished", "tasks", shown=False)
    with progress:
        run_tasks(partial(write_threads, tmp_path), ["a", "b"], 2, progress)
    assert progress.done == 2
    assert dict(os.environ) == before
    for name in ("a", "b"):
        assert set(json.loads((tmp_path / name).read_text()).values()) == {"1"}


def test_an_error_in_a_worker_reaches_the_caller():
    with ProgressDisplay("finished", "tasks", shown=False) as progress:
        with pytest.raises(ValueError, match="expected something else"):
            run_tasks(fail, ["first", "second"], 2, progress)
        with pytest.raises(ChildProcessError, match="a worker process ended abruptly"):
            run_tasks(fail, ["exit", "exit"], 2, progress)


def test_cells_whose_time_is_a_result_run_in_this_process(tmp_path):
    cells = [Cell("timing digits", name, 0, (8,)) for name in ("LSH", "ITQ")]
    run_cells(cells, tmp_path, quick=True, jobs=2)
    threads = {json.loads(cell.path(tmp_path / "cells").read_text())["machine"]["threads"] for cell in cells}
    (here,) = threads
    from proxcode.utils.threads import n_cores

    assert here == n_cores()


def test_ctrl_c_ends_the_workers_and_keeps_finished_cells(tmp_path):
    command = [sys.executable, "-m", "proxcode", "reproduce", "table1", "--quick", "--jobs", "2", "--output"]
    with subprocess.Popen([*command, str(tmp_path)], stderr=subprocess.PIPE, text=True) as process:
        folder = tmp_path / "quick" / "cells"
        while not list(folder.rglob("*seed0.json")):
            assert process.poll() is None
            time.sleep(0.05)
        workers = _children(process.pid)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip().splitlines()[-1] == "Interrupted: run the same command again to resume."
    assert "Traceback" not in errors
    assert len(workers) >= 2
    # Python's own helper process ends a moment after its parent.
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    for path in folder.rglob("*seed0.json"):
        assert json.loads(path.read_text())["lengths"]
    record = json.loads((tmp_path / "quick" / "experiments.json").read_text())["table1"]
    assert (record["runs"], record["jobs"]) == (1, 2)


def _children(parent):
    path = Path(f"/proc/{parent}/task/{parent}/children")
    if not path.exists():
        pytest.skip("needs /proc")
    return [int(child) for child in path.read_text().split()]


def test_missing_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"table1_splits.csv does not exist: run the experiment first"):
        redraw_experiments(["table1"], tmp_path)


def test_rows_keep_their_types_in_files(tmp_path):
    rows = [{"method": "ITQ", "bits": 8, "auc": 0.1}, {"method": "LSH", "bits": 16, "auc": 1 / 3}]
    write_rows(tmp_path / "some.csv", rows)
    assert read_rows(tmp_path / "some.csv") == rows
    write_rows(tmp_path / "none.csv", [], ("method", "reason"))
    assert read_rows(tmp_path / "none.csv") == []
