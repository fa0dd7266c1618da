"""Kernels are compiled or loaded before a time limit starts to run."""

import numba
import numpy as np
import pytest
import scipy.sparse as sp

from helpers.cut_graphs import random_weights
from proxcode.cut import (
    AlonNaorGuess,
    Annealing,
    CycleBound,
    CyclePackingBound,
    Restarts,
    SemidefiniteBound,
    SuitableBound,
    relaxation,
    signed_cut,
)
from proxcode.cut import graph as graph_module
from proxcode.cut.annealing import reduction, walks
from proxcode.cut.annealing import search as annealing_module
from proxcode.cut.bounds import packing
from proxcode.cut.search import compile_mixing, compile_packing, compile_search


def test_compiling_does_not_count(rng, monkeypatch):
    warmed = []
    monkeypatch.setattr("proxcode.cut.search.compile_search", lambda *key: warmed.append(key))
    signed_cut(random_weights(rng, 30).astype(np.float32), time_limit=0.01)
    signed_cut(random_weights(rng, 30))
    assert warmed == [(np.float32, True)]


def note_kernels(monkeypatch):
    """Return a set to which each call of a kernel adds its name and the types of its arguments."""
    called = set()

    def noting(name, kernel):
        def note(*arguments):
            called.add((name, *map(numba.typeof, arguments)))
            return kernel(*arguments)

        return note

    for module in (annealing_module, graph_module, packing, reduction, relaxation, walks):
        for name, kernel in list(vars(module).items()):
            if isinstance(kernel, numba.core.registry.CPUDispatcher):
                monkeypatch.setattr(module, name, noting(name, kernel))
    return called


def read_only(W):
    W.flags.writeable = False
    return W


def wide_indices(W):
    W = sp.csr_array(W)
    W.indices, W.indptr = W.indices.astype(np.int64), W.indptr.astype(np.int64)
    return W


@pytest.mark.parametrize(
    "form", [np.array, np.float32, read_only, sp.csr_array, wide_indices], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("density", [0.1, 1.0])
@pytest.mark.parametrize(
    ("kind", "initial", "bound"),
    [
        (Annealing, None, None),
        (Annealing, None, SuitableBound()),
        (Restarts, None, SemidefiniteBound(max_iter=5)),
        (Restarts, None, CycleBound(max_rounds=1)),
        (Restarts, None, CyclePackingBound()),
        (Restarts, AlonNaorGuess(max_iter=5), None),
    ],
)
def test_kernels_are_loaded_before_the_search(kind, initial, bound, density, form, rng, monkeypatch):
    W, called, loaded = form(random_weights(rng, 100, density)), note_kernels(monkeypatch), set()
    for compile_kernels in (compile_search, compile_mixing, compile_packing):
        compile_kernels.cache_clear()

    class Noted(kind):
        def solve(self, *arguments):
            loaded.update(called)
            return super().solve(*arguments)

    signed_cut(W, search=Noted(initial=initial), bound=bound, time_limit=0.1, random_state=0)
    assert loaded
    assert called <= loaded


def test_the_mixing_method_is_loaded_where_needed(rng, monkeypatch):
    called = note_kernels(monkeypatch)
    compile_search.cache_clear()
    signed_cut(random_weights(rng, 30), time_limit=0.1, random_state=0)
    loaded = {(name, len(rows)) for name, rows, *_ in called if name in ("anneal_nodes", "sweep_nodes")}
    assert loaded == {(name, n_arrays) for name in ("anneal_nodes", "sweep_nodes") for n_arrays in (1, 3)}
    assert "mix_sparse" not in {name for name, *_ in called}
