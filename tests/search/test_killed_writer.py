"""A killed writer of an index file: no acknowledged change is lost, and no half of a change is there."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.index_operations import N_BITS, Operations, change_index, changed, same_state, state_of
from proxcode import HammingIndex

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")

N_KILLS = 20
# A journal is merged into its file every few dozen changes.
WRITE = """
import sys
from helpers.index_operations import Operations, change_index, state_of
from proxcode import HammingIndex
from proxcode.storage import index_writer

index_writer.MIN_JOURNAL = 3000
path, first, strings = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "True"
operations = Operations(5, strings)
with HammingIndex.open(path) as index:
    print("open", flush=True)
    for number in range(first, first + 3000):
        change_index(index, *operations.change(number, index.ids.tolist()))
        print(number, flush=True)
"""


@pytest.mark.parametrize("strings", [False, True])
def test_every_index_reopened_after_a_kill_is_a_prefix_of_the_changes(strings, tmp_path):
    path = tmp_path / "a.index"
    HammingIndex(N_BITS).save(path)
    operations, rng = Operations(5, strings), random.Random(strings)
    state, n_done, n_merged = {}, 0, 0
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    for _ in range(N_KILLS // 2):
        before = path.read_bytes()
        command = [sys.executable, "-c", WRITE, str(path), str(n_done), str(strings)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert writer.stdout.readline() == "open\n"
        time.sleep(rng.uniform(0, 0.7))
        writer.kill()
        acknowledged = writer.communicate()[0].split("\n")[:-1]
        n_acknowledged = int(acknowledged[-1]) + 1 if acknowledged else n_done
        # All states from the last reopened one to one after the last acknowledged change.
        states = [state]
        for number in range(n_done, n_acknowledged + 1):
            states.append(changed(states[-1], *operations.change(number, states[-1])))
        loaded = HammingIndex.load(path)
        found = [n_done + k for k, one in enumerate(states) if same_state(loaded, one)]
        assert found
        assert found[-1] >= n_acknowledged
        n_merged += path.read_bytes() != before
        state, n_done = state_of(loaded), found[-1]
        # The next writer works on what is left, and what it does is permanent too.
        with HammingIndex.open(path) as index:
            assert same_state(index, state)
            change_index(index, *operations.change(n_done, list(state)))
            state, n_done = state_of(index), n_done + 1
    assert n_done > N_KILLS
    assert n_merged > 0
    assert {file.name for file in tmp_path.iterdir()} <= {"a.index", "a.index.journal", ".a.index.partial"}
