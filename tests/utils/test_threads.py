"""The shared pool of threads: order, errors, nested work, forks."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from threading import Barrier, BrokenBarrierError

import joblib
import pytest
from threadpoolctl import threadpool_info

from proxcode.utils import blocks, threads
from proxcode.utils.threads import in_order, in_threads


@pytest.mark.parametrize("n_threads", [1, 2, 7, None])
def test_results_come_in_the_order_of_the_tasks(n_threads):
    assert in_threads(lambda x: x * x, range(50), n_threads) == [x * x for x in range(50)]
    assert list(in_order(lambda x: x * x, range(50))) == [x * x for x in range(50)]
    assert in_threads(lambda x: x, [], n_threads) == list(in_order(lambda x: x, [])) == []


def test_tasks_run_at_the_same_time():
    # Each task waits for another one.
    barrier = Barrier(2)
    assert sorted(in_threads(lambda _: barrier.wait(timeout=20), range(2), 2)) == [0, 1]


def test_no_more_threads_than_asked_for():
    assert set(in_threads(lambda _: threading.current_thread(), range(20), 1)) == {threading.current_thread()}
    assert len(set(in_threads(lambda _: threading.current_thread(), range(200), 2))) <= 2


@pytest.mark.parametrize(
    "function", [lambda f, tasks: in_threads(f, tasks, 3), lambda f, tasks: list(in_order(f, tasks))]
)
def test_an_error_ends_the_work(function, monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    done = []

    def fails_at_three(number):
        if number == 3:
            raise ValueError("three")
        done.append(number)

    with pytest.raises(ValueError, match="three"):
        function(fails_at_three, range(10_000))
    n_done = len(done)
    assert n_done < 10_000
    # Nothing goes on in the background.
    in_threads(lambda _: None, range(10), 2)
    assert len(done) == n_done


def test_work_may_ask_for_work(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 4)

    def total(depth):
        return 1 if depth == 0 else sum(in_threads(total, [depth - 1] * 3)) + sum(in_order(total, [depth - 1] * 3))

    assert total(4) == 6**4


def test_results_ahead_of_the_reader_are_few(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    begun = []
    results = in_order(begun.append, range(100))
    next(results)
    results.close()
    assert len(begun) <= 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    in_threads(lambda x: x, range(8), 2)
    child = os.fork()
    if child == 0:
        barrier, code = Barrier(2), 1
        with suppress(BrokenBarrierError):
            # Two tasks that wait for each other need two threads.
            code = 0 if sorted(in_threads(lambda _: barrier.wait(timeout=20), range(2), 2)) == [0, 1] else 1
        os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def test_an_error_of_another_thread_ends_the_work_of_this_one():
    begun, both = [], Barrier(2)

    def fails_elsewhere(number):
        if number < 2:
            both.wait(timeout=20)
        if threading.current_thread() is not threading.main_thread():
            raise ValueError("elsewhere")
        begun.append(number)
        time.sleep(0.01)

    with pytest.raises(ValueError, match="elsewhere"):
        in_threads(fails_elsewhere, range(500), 2)
    assert len(begun) < 250


def test_work_goes_on_in_a_thread_that_outlives_the_main_one():
    script = (
        "import threading, time, joblib; from proxcode.utils.threads import in_order, in_threads\n"
        "def work():\n"
        "    time.sleep(0.5)\n"
        "    print(in_threads(abs, [-1, 2, -3], 2), list(in_order(abs, [-1, 2])))\n"
        "threading.Thread(target=work).start()\n"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert finished.stdout.strip() == "[1, 2, 3] [1, 2]", finished.stderr


def test_an_interrupt_waits_for_what_was_begun(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    ended = []

    def slow(number):
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        time.sleep(0.3)
        ended.append(number)

    with pytest.raises(KeyboardInterrupt):
        in_threads(slow, range(4), 2)
    n_ended = len(ended)
    time.sleep(0.4)
    assert len(ended) == n_ended


def test_a_limit_of_blas_that_fails_is_set_the_next_time(monkeypatch):
    limit = blocks._OneThread()
    with monkeypatch.context() as patch:
        patch.setattr(blocks, "_blas", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            limit.__enter__()
    with limit:
        assert {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"} == {1}


@pytest.fixture
def no_thread_starts(monkeypatch):
    """Return a function after which no thread can be started, as with a limit on processes."""

    def fails(thread):
        raise RuntimeError("can't start new thread")

    threads._shared_pool.cache_clear()
    yield lambda: monkeypatch.setattr(threading.Thread, "start", fails)
    threads._shared_pool.cache_clear()


def test_work_is_done_where_no_thread_can_be_started(no_thread_starts, monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    no_thread_starts()
    assert in_threads(lambda x: x * x, range(9), 2) == [x * x for x in range(9)]
    assert list(in_order(lambda x: x * x, range(9))) == [x * x for x in range(9)]


def test_work_that_no_thread_began_is_neither_kept_nor_run_later(no_thread_starts):
    class Data:
        pass

    data, free, n_runs = Data(), threading.Event(), []
    # The only thread of the pool is busy, and a second one cannot be started.
    threads._shared_pool().submit(free.wait, 60)
    no_thread_starts()
    in_threads(lambda _, data=data: n_runs.append(1), range(5), 2)
    kept = weakref.ref(data)
    del data
    gc.collect()
    free.set()
    threads._shared_pool().shutdown(wait=True)
    assert kept() is None
    assert len(n_runs) == 5


INTERRUPTED = """
import signal, sys, time
from proxcode.utils.locks import ForkSafeLock

lock, n_interrupts, deadline = ForkSafeLock(), 0, time.monotonic() + 60
while n_interrupts < 300 and time.monotonic() < deadline:
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0003 + 1e-7 * n_interrupts)
        while True:
            with lock.own:
                pass
    except KeyboardInterrupt:
        n_interrupts += 1
    if lock.own.locked():
        sys.exit("the lock is closed for ever")
"""
SIGNAL_IS_AN_INTERRUPT = "import signal; signal.signal(signal.SIGALRM, signal.default_int_handler)\n"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no timer that sends signals")
def test_an_interrupt_leaves_locks_open():
    subprocess.run([sys.executable, "-c", SIGNAL_IS_AN_INTERRUPT + INTERRUPTED], check=True, timeout=120)


INTERRUPTED_SCAN = """
import sys
import numpy as np
from proxcode import FloatQueries, HammingIndex

rng = np.random.default_rng(0)
codes = rng.integers(0, 256, (1_000_000, 8), np.uint8)
index = HammingIndex(64, tables=False, n_threads=1).add(codes)
for queries in (codes[:20], *(FloatQueries.from_weights(rng.normal(size=(n, 64))) for n in (1, 40))):
    index.search(queries)
    for number in range(10):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.004 + 0.001 * number)
            while True:
                index.search(queries)
        except KeyboardInterrupt:
            pass
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no timer that sends signals")
def test_an_interrupted_search_raises_keyboard_interrupt():
    subprocess.run([sys.executable, "-c", SIGNAL_IS_AN_INTERRUPT + INTERRUPTED_SCAN], check=True, timeout=120)
