"""A month of a model and an index in use, each day in a process of its own, some of which are killed.

After each day the index, read again from its files, gives the answers of an index that is built at once from what it
should hold.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from helpers.month_day import N_BITS, encode, ids_of
from proxcode import HammingIndex, KernelHash, ProximityPreservingCode, load

SCRIPT = Path(__file__).parent / "helpers" / "month_day.py"
N_STORED, N_DAYS = 10_000, 20
UPDATE_DAY, EXTEND_DAY, RELABEL_DAY = 7, 12, 16
KILLED_DAYS = (3, 7, 12, 18)
NEW = 9


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 14_000)
    return (rng.normal(size=(10, 24))[labels] * 1.5 + rng.normal(size=(14_000, 24))).astype(np.float32), labels


def run_day(folder, day, killed_after):
    """Run the plan of a day; kill the process after so many seconds and run it again, if asked."""
    command = [sys.executable, str(SCRIPT), str(folder), str(day)]
    if killed_after is not None:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        # When it has begun: the kill is in the middle of the work.
        process.stdout.readline()
        time.sleep(killed_after)
        process.kill()
        process.communicate()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def plan_of(day, rng, stored, fresh, labels):
    """Return the steps of a day and the rows of samples that are stored after it."""
    removed = rng.choice(sorted(stored), 40, replace=False).tolist()
    added = [fresh.pop() for _ in range(100)]
    replaced = rng.choice(sorted(stored - set(removed)), 30, replace=False).tolist()
    steps = [["remove", removed], ["upsert", added[:50]], ["upsert", replaced], ["upsert", added[50:]]]
    if day == UPDATE_DAY:
        of_class = np.flatnonzero(labels == NEW)
        steps = [["update", of_class[:200].tolist()], ["upsert", of_class[:200].tolist()], *steps]
        added += of_class[:200].tolist()
    if day == EXTEND_DAY:
        steps.append(["extend", sorted(stored)[:3000]])
    if day == RELABEL_DAY:
        steps.append(["update", sorted(stored)[:50]])
    return steps, (stored - set(removed)) | set(added)


def test_a_month_gives_the_answers_of_an_index_built_at_once(samples, tmp_path):
    X, labels = samples
    rng = np.random.default_rng(1)
    known = np.flatnonzero(labels != NEW)
    np.save(tmp_path / "samples.npy", X)
    np.save(tmp_path / "labels.npy", labels)
    hash_function = KernelHash(n_landmarks=300)
    model = ProximityPreservingCode(N_BITS, hash_function=hash_function, random_state=0)
    model.fit(X[known[:3000]], labels[known[:3000]]).save(tmp_path / "model.proxcode")
    stored, fresh = set(known[:N_STORED].tolist()), known[N_STORED:].tolist()
    codes = dict(zip(sorted(stored), encode(model, X[sorted(stored)]), strict=True))
    index = HammingIndex(N_BITS, model=model.fingerprint(N_BITS))
    index.add(encode(model, X[sorted(stored)]), ids_of(sorted(stored))).save(tmp_path / "items.index")
    queries = rng.choice(len(X), 50, replace=False)
    for day in range(N_DAYS):
        if day == RELABEL_DAY:
            labels[sorted(stored)[:10]] = NEW
            np.save(tmp_path / "labels.npy", labels)
        steps, stored = plan_of(day, rng, stored, fresh, labels)
        (tmp_path / f"{day}.json").write_text(json.dumps(steps))
        run_day(tmp_path, day, rng.uniform(0, 0.3) if day in KILLED_DAYS else None)
        model = load(tmp_path / "model.proxcode")
        touched = sorted({row for step, rows in steps if step == "upsert" for row in rows} & stored)
        codes |= dict(zip(touched, encode(model, X[touched]), strict=True))
        rows = sorted(stored)
        at_once = HammingIndex(N_BITS).add(np.array([codes[row] for row in rows]), ids_of(rows))
        found = HammingIndex.load(tmp_path / "items.index", model=model.fingerprint(N_BITS))
        assert set(found.ids.tolist()) == set(ids_of(rows)), day
        query_codes = encode(model, X[queries])
        for name in ("search", "within"):
            compare(getattr(found, name)(query_codes, 9), getattr(at_once, name)(query_codes, 9))
    assert model.n_bits_ == 96
    assert [update.new_classes for update in model.updates_ if update.new_classes] == [[NEW]]
    assert model.updates_[-1].n_relabelled == 10
    of_class = np.flatnonzero(labels == NEW)
    neighbor = found.search(encode(model, X[of_class[300:400]]), 10).neighbor
    right = [labels[int(name.split()[1])] == NEW for name in neighbor.ravel()]
    assert np.mean(right) > 0.8


def compare(found, expected):
    """Raise an AssertionError unless two results have equal distances, and equal ids but for ties."""
    for query in range(len(expected) if hasattr(expected, "offsets") else len(expected.distance)):
        if hasattr(expected, "offsets"):
            ours, theirs = found[query], expected[query]
        else:
            ours, theirs = (type(found)(r.distance[query], r.neighbor[query]) for r in (found, expected))
        np.testing.assert_array_equal(ours.distance, theirs.distance)
        # The last of the k nearest may be any of those at its distance.
        last = -1 if hasattr(expected, "offsets") or len(theirs.distance) == 0 else theirs.distance[-1]
        for distance in np.unique(theirs.distance[theirs.distance != last]):
            assert set(ours.neighbor[ours.distance == distance]) == set(theirs.neighbor[theirs.distance == distance])
