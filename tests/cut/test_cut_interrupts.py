"""Ctrl-C returns the best so far."""

import _thread
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from helpers.cut_graphs import HiddenGraph, assert_no_flip_improves, random_weights
from proxcode.cut import Annealing, DenseGraph, RandomGuess, Restarts, SparseGraph, signed_cut
from proxcode.cut.annealing.walks import DenseWalk, SparseWalk, walk_on
from proxcode.cut.search import compile_search


@pytest.mark.parametrize("density", [0.2, 1.0])
def test_interrupt_returns_the_best_so_far(density, rng, monkeypatch):
    W = random_weights(rng, 100, density)
    walk = SparseWalk if density < 0.25 else DenseWalk
    calls = []

    def interrupted(self, temperatures, offsets, anneal=walk.anneal):
        calls.append(len(temperatures))
        if len(calls) == 5:
            raise KeyboardInterrupt
        anneal(self, temperatures, offsets)

    monkeypatch.setattr(walk, "anneal", interrupted)
    cut = signed_cut(W, time_limit=60, random_state=0)
    assert cut.status == "interrupted"
    assert cut.value > 0
    assert_no_flip_improves(cut, W)


@pytest.mark.parametrize("form", [DenseGraph, SparseGraph, HiddenGraph])
def test_interrupt_keeps_what_a_cooling_has_reached(form, rng, monkeypatch):
    graph = form(random_weights(rng, 300, 0.1))
    walk = type(walk_on(graph, rng))
    start = signed_cut(graph, search=Annealing(n_sweeps=1), random_state=0)

    def interrupted(self, temperatures, offsets, anneal=walk.anneal):
        anneal(self, np.linspace(2.0, 0.1, 100), rng.integers(0, 1 << 16, 100))
        raise KeyboardInterrupt

    monkeypatch.setattr(walk, "anneal", interrupted)
    cut = signed_cut(graph, search=Annealing(n_sweeps=10**6), random_state=0)
    assert cut.status == "interrupted"
    assert cut.value > start.value
    assert cut.history[-1].value == pytest.approx(cut.value)


def test_ctrl_c_is_heard_soon(rng):
    W = random_weights(rng, 400, 0.1)
    signed_cut(W, time_limit=0.1)  # loads the kernels
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may ignore it
    threading.Timer(0.3, _thread.interrupt_main).start()
    start = time.perf_counter()
    cut = signed_cut(W, time_limit=60, random_state=0)
    signal.signal(signal.SIGINT, before)
    assert cut.status == "interrupted"
    assert time.perf_counter() - start < 10
    assert_no_flip_improves(cut, W)


def test_ctrl_c_while_kernels_are_loaded_is_heard(rng, monkeypatch):
    interrupted = replace(signed_cut(random_weights(rng, 30), random_state=0), status="interrupted")
    compile_search.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(Annealing, "solve", lambda *_: interrupted)
        with pytest.raises(KeyboardInterrupt):
            signed_cut(random_weights(rng, 30), time_limit=0.1)
    assert signed_cut(random_weights(rng, 30), time_limit=0.1).status != "interrupted"


def test_interrupted_restarts_return_the_best_so_far(rng, monkeypatch):
    calls = []

    def interrupted(self, graph, draws):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return np.where(draws.random(graph.n_nodes) < 0.5, 1, -1).astype(np.int8)

    monkeypatch.setattr(RandomGuess, "guess", interrupted)
    search = Restarts(n_starts=100)
    assert signed_cut(random_weights(rng, 30), search=search, random_state=0).status == "interrupted"
