"""Compilation of the numba kernels before a time limit starts to run."""

from functools import cache
from typing import Any

import numpy as np

from proxcode.cut.annealing.search import Annealing
from proxcode.cut.annealing.walks import walk_on
from proxcode.cut.bounds.base import UpperBound
from proxcode.cut.bounds.certificates import SuitableBound
from proxcode.cut.bounds.semidefinite import SemidefiniteBound
from proxcode.cut.graph import DenseGraph, SignedGraph, sparse_graph
from proxcode.cut.initial import AlonNaorGuess, InitialGuess, RandomGuess
from proxcode.cut.relaxation import mix
from proxcode.cut.restarts import BitUpdate


def warm_up(graph: SignedGraph, initial: InitialGuess | None, bound: UpperBound | None) -> None:
    """Compile, or load from the cache, the kernels that the search and the bound of a graph need."""
    weights = graph.weights if isinstance(graph, DenseGraph) else np.empty(0)
    compile_search(weights.dtype, weights.flags.writeable)
    if isinstance(initial, AlonNaorGuess) or isinstance(bound, SemidefiniteBound | SuitableBound):
        compile_mixing(weights.dtype)


@cache
def compile_search(dtype: np.dtype[Any], is_writeable: bool = True) -> None:
    """Run all kernels of a search on small graphs.

    The kernels of sparse graphs, those of dense graphs in float64, into which a sparse graph may be converted, and
    those of dense weights of the given type; numba compiles separately for arrays that are not writeable.
    """
    rng, n = np.random.default_rng(0), 30
    first, step = np.repeat(np.arange(n), 3), np.tile([1, 2, 5], n)
    signs = rng.choice([-1.0, 1.0], 3 * n)
    graphs: list[SignedGraph] = [sparse_graph(n, first, (first + step) % n, unit * signs) for unit in (1.0, 1 / 3)]
    W = np.triu(rng.normal(size=(n, n)), 1)
    graphs.append(DenseGraph(W + W.T))
    if dtype != np.float64 or not is_writeable:
        given = (W + W.T).astype(dtype)
        given.flags.writeable = is_writeable
        graphs.append(DenseGraph(given))
    for graph in graphs:
        walk, partition = walk_on(graph, rng), RandomGuess().guess(graph, rng)
        walk.place(partition)
        walk.anneal(np.ones(1), np.zeros(1, np.int64))
        walk.descend()
        walk.combine(partition, walk.partition)
        BitUpdate().improve(graph, partition, rng)
    small = Annealing().solve(sparse_graph(7, *np.triu_indices(7, 1), rng.normal(size=21)), rng)
    # Ctrl-C during the compilation is meant for the caller's graph.
    if small.status == "interrupted":
        raise KeyboardInterrupt


@cache
def compile_mixing(dtype: np.dtype[Any]) -> None:
    """Run the kernel of the mixing method on sparse weights and on dense weights of the given type."""
    for kind in (np.dtype(np.float64), dtype):
        mix(DenseGraph(np.ones((2, 2), kind)), None, 1, 0.0, np.random.default_rng(0))
