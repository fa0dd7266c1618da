"""Places in which the library must work: forked workers, no OpenMP, read-only folders, full and damaged caches."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import proxcode

SOURCE = Path(proxcode.__file__).parent
DATA = (
    "import numpy as np, warnings\n"
    "from proxcode import HammingIndex, ProximityPreservingCode, WithinRadius\n"
    "from proxcode.search import ByMargins\n"
    "import proxcode.pairs.groups as groups; groups.PARALLEL_PAIRS = 0\n"
    "rng = np.random.default_rng(0)\n"
    "X, y = rng.normal(size=(300, 8)), rng.integers(0, 3, 300)\n"
)
WORK = DATA + (
    "def work(seed=0):\n"
    "    model = ProximityPreservingCode(n_bits=8, random_state=seed).fit(X, y)\n"
    "    radius = ProximityPreservingCode(n_bits=8, proximity=WithinRadius(), random_state=seed).fit(X)\n"
    "    index = HammingIndex(8).add(model.encode(X))\n"
    "    rescored = index.search(model.encode(X), 5, rescore=ByMargins(model.scores(X)))\n"
    "    return model.score(X, y), radius.score(X), rescored.distance.sum()\n"
)
# Only the kernels of a labelled fit, which compile in a few seconds.
FIT = DATA + "ProximityPreservingCode(n_bits=4, random_state=0).fit(X, y); print('fitted')\n"


def run(script, cwd, timeout=300, **environment):
    """Run a script in a new process whose environment is the given one alone."""
    environment = {"PATH": "/usr/bin:/bin", **environment}
    command = [sys.executable, "-c", script]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout, check=False
    )


def check(finished):
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_forked_workers_fit_score_and_search_after_the_parent_did(tmp_path):
    script = WORK + (
        "import multiprocessing\n"
        "expected = [work(seed) for seed in range(3)]\n"
        "with multiprocessing.get_context('fork').Pool(2) as pool:\n"
        "    assert pool.map_async(work, range(3)).get(120) == expected\n"
    )
    check(run(script, tmp_path))


@pytest.mark.parametrize("layer", ["workqueue", "omp"])
def test_threads_fit_score_and_search_with_any_threading_layer(layer, tmp_path):
    script = WORK + (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "expected = work()\n"
        "with ThreadPoolExecutor(4) as pool:\n"
        "    assert set(pool.map(work, [0] * 8)) == {expected}\n"
        "import numba\n"
        "try:\n"
        "    print(numba.threading_layer())\n"
        "except ValueError:\n"
        "    print('no layer')\n"
    )
    # No kernel starts numba's threads at all.
    assert check(run(script, tmp_path, NUMBA_THREADING_LAYER=layer)).strip() == "no layer"


@pytest.fixture(scope="module")
def read_only_package(tmp_path_factory):
    """A folder with a copy of the package whose `__pycache__` folders are files: no cache can be made, even by root."""
    folder = tmp_path_factory.mktemp("read_only")
    shutil.copytree(SOURCE, folder / "proxcode", ignore=shutil.ignore_patterns("__pycache__"))
    for package in [folder / "proxcode", *(path for path in folder.rglob("*") if path.is_dir())]:
        (package / "__pycache__").touch()
    return folder


def test_nothing_is_writable(read_only_package, tmp_path):
    finished = run(FIT, tmp_path, PYTHONPATH=str(read_only_package), HOME="/proc/none", XDG_CACHE_HOME="/proc/none")
    assert check(finished).strip() == "fitted"
    assert finished.stderr.count("RuntimeWarning") == 1
    assert "compiled kernels cannot be kept" in finished.stderr
    assert "set NUMBA_CACHE_DIR to a folder that can be written" in finished.stderr
