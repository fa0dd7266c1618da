"""A small version of benchmarks/faults.py: kills and full disks, each followed by the same command."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "faults.py"


@pytest.mark.skipif(os.name != "posix", reason="forks and signals are POSIX's")
def test_kills_and_full_disks_lose_nothing():
    options = "--part kills --part disk-full --case encode --tries 4 --seconds 60 --print-only"
    run = subprocess.run([sys.executable, BENCHMARK, *options.split()], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert [line.split(" | ")[0] for line in lines] == ["part: kills", "part: disk-full"]
    for line in lines:
        assert re.search(
            r"tries: \d+ \| faults: [1-4] \| crashes: 0 \| hangs: 0 \| torn files: 0 \| silent losses: 0$", line
        )
