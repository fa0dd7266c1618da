"""HammingIndex under concurrent changes, forks, and too little memory for hash tables."""

import copy
import os
import pickle
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from helpers.codes import assert_same, random_codes
from proxcode.search import HammingIndex
from proxcode.search import exact as exact_module
from proxcode.search.multi_index import MultiIndex
from proxcode.utils.locks import ForkSafeLock

N_THREADS, N_ADDITIONS = 8, 60


@pytest.fixture(autouse=True)
def frequent_switches():
    """Threads take turns often, so that a missing lock is noticed."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def in_threads(function, n=N_THREADS):
    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(function, range(n)))


@pytest.mark.parametrize("own_ids", [False, True])
def test_codes_that_several_threads_add_are_all_there(rng, own_ids):
    index = HammingIndex(32, tables=False)
    codes = random_codes(rng, N_THREADS * N_ADDITIONS * 3, 32).reshape(N_THREADS, N_ADDITIONS, 3, 4)
    ids = 7 * np.arange(codes[..., 0].size).reshape(codes.shape[:3])

    def add(thread):
        for number in range(N_ADDITIONS):
            index.add(codes[thread, number], ids[thread, number] if own_ids else None)

    in_threads(add)
    assert len(index) == len(np.unique(index.ids)) == ids.size
    if own_ids:
        np.testing.assert_array_equal(index.codes[np.argsort(index.ids)], codes.reshape(-1, 4))
    else:
        expected, found = codes.reshape(-1, 4), index.codes
        np.testing.assert_array_equal(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])


def test_threads_that_add_remove_and_search(rng):
    codes = random_codes(rng, 400, 32, 10)
    index = HammingIndex(32, tables=True).add(codes, np.arange(400))
    errors = []

    def change(thread):
        for number in range(20):
            ids = 1000 * (thread + 1) + 10 * number + np.arange(5)
            index.add(codes[:5], ids)
            found = index.search(codes[:3], 3)
            if not (np.diff(found.distance, axis=1) >= 0).all():
                errors.append(found)
            index.remove(ids[:2])

    in_threads(change)
    assert errors == []
    starts = [1000 * (thread + 1) + 10 * number for thread in range(N_THREADS) for number in range(20)]
    kept = [start + i for start in starts for i in (2, 3, 4)]
    np.testing.assert_array_equal(np.sort(index.ids), [*range(400), *kept])
    stored = dict(zip(index.ids.tolist(), index.codes.tolist(), strict=True))
    assert all(stored[id_] == codes[id_ % 10].tolist() for id_ in kept)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))])
def test_copies_have_locks_of_their_own(rng, duplicate):
    index = HammingIndex(16).add(random_codes(rng, 5, 16))
    with index._changing.own:
        other = duplicate(index)
        other.add(random_codes(rng, 5, 16)).remove([0])
    assert (len(index), len(other)) == (5, 9)
    assert other._changing is not index._changing


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_while_another_thread_changes_the_index_is_not_blocked(rng):
    codes = random_codes(rng, 3000, 32)
    index = HammingIndex(32, tables=True, n_threads=1).add(codes)
    index.search(codes[:1])
    held, release = threading.Event(), threading.Event()

    def hold():
        with index._changing.own, index._snapshot.engine._building.own:
            held.set()
            release.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(30)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            index.add(codes[:2])
            status = 0 if len(index) == 3002 and index.search(codes[:1], 1).distance[0, 0] == 0 else 2
        finally:
            os._exit(status)
    deadline = threading.Timer(30, os.kill, (child, 9))
    deadline.start()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    deadline.cancel()
    release.set()
    thread.join()


def test_a_lock_excludes_other_threads():
    lock, inside, most = ForkSafeLock(), [], []

    def work(thread):
        for _ in range(200):
            with lock.own:
                inside.append(thread)
                most.append(len(inside))
                inside.pop()

    in_threads(work)
    assert max(most) == 1


@pytest.mark.parametrize("n_before", [0, 2000])
def test_without_memory_for_tables_all_codes_are_scanned(rng, monkeypatch, n_before):
    codes = random_codes(rng, 3000, 32, 30)
    tried = []

    def build(planes):
        tried.append(planes.n_codes)
        if len(tried) > bool(n_before):
            raise MemoryError("Unable to allocate 9 TiB")
        return MultiIndex(planes)

    monkeypatch.setattr(exact_module, "MultiIndex", build)
    index = HammingIndex(32, tables=True)
    if n_before:
        index.add(codes[:n_before]).search(codes[:1])
    index.add(codes[n_before:])
    with pytest.warns(RuntimeWarning, match=r"for hash tables of 3,000 codes \(Unable.*\): all codes are scanned"):
        index.search(codes[:1])
    # Neither a second attempt nor a second warning.
    assert_same(index, codes[:40], codes, np.arange(3000), 20, 3)
    index.add(codes[:1000])
    assert_same(index, codes[:40], np.vstack([codes, codes[:1000]]), np.arange(4000), 20, 3)
    assert tried == ([n_before] if n_before else []) + [3000]
    assert index._snapshot.engine.multi_index is None


def test_the_warning_may_be_an_error_and_the_next_search_works(rng, monkeypatch):
    def fail(planes):
        raise MemoryError

    monkeypatch.setattr(exact_module, "MultiIndex", fail)
    codes = random_codes(rng, 100, 16)
    index = HammingIndex(16, tables=True).add(codes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            index.search(codes[:1])
        assert_same(index, codes[:5], codes, np.arange(100), 5, 3)
