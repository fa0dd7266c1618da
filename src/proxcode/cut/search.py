"""The signed graph cut: maximise b'Wb over b in {-1, +1}^n (Eq. 11).

1. Read the graph (`as_graph`). With a time limit, compile the numba kernels next; the time for that does not count.
2. Search: `Annealing`, the default, or `Restarts`, the paper's local search from several initial guesses.
3. On request, compute an upper bound of b'Wb over all partitions (`certify`).
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any, Protocol, TypedDict, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from proxcode.cut.annealing.search import Annealing
from proxcode.cut.annealing.walks import walk_on
from proxcode.cut.bounds.base import UpperBound
from proxcode.cut.bounds.certificates import SuitableBound, certify
from proxcode.cut.bounds.cycles import CycleBound
from proxcode.cut.bounds.packing import CyclePackingBound, packed_weight
from proxcode.cut.bounds.semidefinite import SemidefiniteBound
from proxcode.cut.graph import DenseGraph, SignedGraph, sparse_graph
from proxcode.cut.initial import AlonNaorGuess, GivenGuess, InitialGuess, RandomGuess
from proxcode.cut.inputs import GraphLike, as_graph
from proxcode.cut.relaxation import mix
from proxcode.cut.restarts import BitUpdate
from proxcode.cut.result import Cut, Partition
from proxcode.cut.symmetric import Directed
from proxcode.cut.validation import RandomState, as_generator, check_partition, check_time_limit
from proxcode.utils.validation import check_component

# Part of the time limit that the search may use even if reading the graph took longer.
LEAST_SEARCH = 0.1


@runtime_checkable
class Search(Protocol):
    """A search for a cut: `Annealing` or `Restarts`."""

    def solve(self, graph: SignedGraph, rng: Generator, time_limit: float | None = None) -> Cut:
        """Return a partition with large b'Wb."""


class SearchSettings(TypedDict, total=False):
    """Keyword arguments of `signed_cut` that the other problems share."""

    search: Search | None
    bound: UpperBound | None
    initial: InitialGuess | ArrayLike | None
    time_limit: float | None
    random_state: RandomState


def signed_cut(
    W: GraphLike,
    *,
    search: Search | None = None,
    bound: UpperBound | None = None,
    initial: InitialGuess | ArrayLike | None = None,
    directed: Directed | None = None,
    time_limit: float | None = None,
    random_state: RandomState = None,
) -> Cut:
    """Cut a signed graph: find b in {-1, +1}^n with large b'Wb.

    Parameters
    ----------
    W : array, DataFrame, scipy.sparse matrix, networkx graph, list of edges or SignedGraph
        Weights; positive attracts, negative repels, 0 is no edge. Self-loops and the diagonal are ignored, edges
        repeated in the same direction are summed, and an edge given in both directions with equal weights counts once;
        see `as_graph`.
    search : Annealing or Restarts, default=None
        None: `Annealing()`. `Restarts(initial=..., update=..., n_starts=...)` is the paper's local search.
    bound : UpperBound, default=None
        Upper bound of b'Wb to compute after the search: `SemidefiniteBound()`, `CycleBound()`, or `SuitableBound()`,
        which chooses one of the two; see `certify`. None: the bound that the search itself knows.
    initial : InitialGuess or array-like of shape (n,), default=None
        Where the search starts, in place of its own parameter `initial`. An array of -1 and +1 is a partition to
        improve upon; the result is never worse.
    directed : {"sum", "mean", "sign"} or None, default=None
        How the two directions of an edge are combined if their weights differ; see `as_graph`. None: an error.
    time_limit : float, default=None
        Seconds for reading the graph and for the search; a bound may take as long again. Steps that cannot be
        interrupted on a large graph (reading, reduction, the first descent) are completed even if they take longer;
        compilation does not count. Ctrl-C ends the search as well and returns the best cut so far; during the
        computation of the bound it returns the cut without that bound. None: the search ends by itself, `Annealing()`
        after about one second of work, more on large graphs, and its result depends on the seed alone.
    random_state : int, Generator, RandomState or None, default=None
        An integer makes the result reproducible.

    Returns
    -------
    Cut

    Examples
    --------
    Two pairs of friends who dislike each other:

    >>> import numpy as np
    >>> from proxcode import signed_cut
    >>> W = np.array([[0, 1, -1, -1], [1, 0, -1, -1], [-1, -1, 0, 1], [-1, -1, 1, 0]])
    >>> cut = signed_cut(W, random_state=0)
    >>> bool(cut.partition[0] == cut.partition[1] != cut.partition[2] == cut.partition[3]), cut.value, cut.proved
    (True, 12.0, True)
    """
    return solve(partial(as_graph, W, directed), search, bound, initial, time_limit, random_state)


def solve(
    read: Callable[[], SignedGraph],
    search: Search | None = None,
    bound: UpperBound | None = None,
    initial: InitialGuess | ArrayLike | None = None,
    time_limit: float | None = None,
    random_state: RandomState = None,
) -> Cut:
    """`signed_cut` of the graph that `read` returns; the time for reading it counts."""
    check_time_limit(time_limit)
    if search is not None:
        check_component("search", search, Search, "Annealing()")
    if bound is not None:
        check_component("bound", bound, UpperBound, "SuitableBound()")
    search = Annealing() if search is None else search
    rng, clock = as_generator(random_state), getattr(search, "clock", None) or time.perf_counter
    start = clock()
    graph = read()
    if initial is not None:
        search = _started_from(search, initial, graph.n_nodes)
    guess = getattr(search, "initial", None)
    seconds = time_limit
    if time_limit is not None:
        seconds = max(time_limit - (clock() - start), LEAST_SEARCH * time_limit)
        _warm_up(graph, guess, bound)
    cut = search.solve(graph, rng, seconds)
    if cut.graph is None:
        cut = replace(cut, graph=graph)
    if isinstance(guess, GivenGuess):
        cut = _no_worse(cut, graph, guess.guess(graph, rng))
    if bound is None or cut.status == "interrupted":
        return cut
    try:
        return certify(cut, bound, rng, time_limit)
    except KeyboardInterrupt:
        return replace(cut, status="interrupted")


def _started_from(search: Search, initial: InitialGuess | ArrayLike, n: int) -> Search:
    """Return a copy of the search that starts from a guess or from a given partition of n nodes."""
    if isinstance(initial, str | type):
        raise TypeError(f"initial={initial!r}: expected an object such as RandomGuess(), or a partition")
    if not hasattr(search, "initial"):
        raise TypeError(f"search={search!r} has no parameter `initial`: use Annealing() or Restarts()")
    search = copy.copy(search)
    is_guess = hasattr(initial, "guess")
    search.initial = initial if is_guess else GivenGuess(check_partition("initial", initial, n))
    return search


def _no_worse(cut: Cut, graph: SignedGraph, given: Partition) -> Cut:
    """Return the cut, or the given partition, improved by single flips, if Ctrl-C or rounding left the cut below it."""
    if graph.value(given) <= cut.value:
        return cut
    improved = BitUpdate().improve(graph, given, np.random.default_rng(0))
    value = graph.value(improved.partition)
    return replace(cut, partition=improved.partition, value=value, upper_bound=max(cut.upper_bound, value))


def _warm_up(graph: SignedGraph, initial: InitialGuess | None, bound: UpperBound | None) -> None:
    """Compile, or load from the cache, the kernels that the search and the bound of a graph need."""
    weights = graph.weights if isinstance(graph, DenseGraph) else np.empty(0)
    compile_search(weights.dtype, weights.flags.writeable)
    if isinstance(initial, AlonNaorGuess) or isinstance(bound, SemidefiniteBound | SuitableBound):
        compile_mixing(weights.dtype)
    if isinstance(bound, CycleBound | CyclePackingBound | SuitableBound):
        compile_packing()


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


@cache
def compile_packing() -> None:
    """Run the kernel of the packing of cycles on a triangle with one frustrated edge."""
    packed_weight(sparse_graph(3, *np.triu_indices(3, 1), -np.ones(3)), np.ones(3, np.int8))
