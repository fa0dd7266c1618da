"""Find a bit as a cut: maximise b'Wb over b in {-1, +1}^n (Eq. 11).

1. make a graph of what is given (`as_graph`),
2. search: `Annealing`, the default, or `Restarts`, which takes an initial guess, improves it by a local search, repeats
   that for several starts and keeps the best,
3. where asked, bound what any partition could reach (`certify`).
"""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from proxcode.cut.annealing.limits import as_generator, check_seconds, check_whole
from proxcode.cut.annealing.search import Annealing
from proxcode.cut.annealing.walks import walk_on
from proxcode.cut.bounds.certificates import SuitableBound, certify
from proxcode.cut.bounds.semidefinite import SemidefiniteBound, UpperBound, ceiling_bound
from proxcode.cut.graph import DenseGraph, ExplicitGraph, SignedGraph, sparse_graph
from proxcode.cut.initial import AlonNaorGuess, InitialGuess, RandomGuess
from proxcode.cut.inputs import as_graph
from proxcode.cut.mixing import mix
from proxcode.cut.result import Cut, Progress
from proxcode.cut.updates import BitUpdate, LocalSearch


class Search(Protocol):
    """What finds a cut: `Annealing` or `Restarts`."""

    def solve(self, graph: SignedGraph, rng: np.random.Generator, time_limit: float | None = None) -> Cut:
        """Return a partition with large b'Wb."""


class Restarts(BaseEstimator):
    """Best of several starts of one local search.

    Parameters
    ----------
    initial : InitialGuess, default=None
        None is `RandomGuess()`.
    update : LocalSearch, default=None
        None is `BitUpdate()`.
    n_starts : int, default=1
        Fewer are made where a time limit or Ctrl-C ends them, but at least one.
    clock : callable, default=None
        What time limits are measured by; None is `time.perf_counter`, `time.process_time` counts processor time.
    report : callable, default=None
        Called with a `Progress` whenever a better partition is found.
    """

    def __init__(
        self,
        initial: InitialGuess | None = None,
        update: LocalSearch | None = None,
        n_starts: int = 1,
        clock: Callable[[], float] | None = None,
        report: Callable[[Progress], object] | None = None,
    ) -> None:
        self.initial = initial
        self.update = update
        self.n_starts = n_starts
        self.clock = clock
        self.report = report

    def solve(self, graph: SignedGraph, rng: np.random.Generator, time_limit: float | None = None) -> Cut:
        """Return the best partition found."""
        check_whole("n_starts", self.n_starts)
        initial, update = self.initial or RandomGuess(), self.update or BitUpdate()
        clock, status = self.clock or time.perf_counter, "finished"
        start = clock()
        best = Cut(np.ones(0, np.int8), -np.inf, 0, 0)
        flips, sweeps = 0, 0
        history: list[Progress] = []
        try:
            for _ in range(self.n_starts):
                found = update.improve(graph, initial.guess(graph, rng), rng)
                flips, sweeps = flips + found.flips, sweeps + found.sweeps
                elapsed = clock() - start
                if found.value > best.value:
                    best = found
                    history.append(Progress(elapsed, sweeps, found.value))
                    if self.report is not None:
                        self.report(history[-1])
                if time_limit is not None and elapsed >= time_limit:
                    status = "time limit"
                    break
        except KeyboardInterrupt:
            if not history:
                raise
            status = "interrupted"
        bound = ceiling_bound(graph, best.partition, best.value) if isinstance(graph, ExplicitGraph) else float("inf")
        return Cut(best.partition, best.value, flips, sweeps, tuple(history), status, bound, graph)


def signed_cut(
    W: Any,
    *,
    initial: InitialGuess | None = None,
    update: LocalSearch | None = None,
    search: Search | None = None,
    bound: UpperBound | None = None,
    time_limit: float | None = None,
    n_starts: int | None = None,
    random_state: Any = None,
) -> Cut:
    """Cut a signed graph: find b in {-1, +1}^n with large b'Wb.

    Parameters
    ----------
    W : array, DataFrame, scipy.sparse matrix, networkx graph, list of edges or SignedGraph
        Symmetric weights; positive attracts, negative repels, 0 is no edge. The diagonal is ignored. See `as_graph`.
    initial, update, n_starts : InitialGuess, LocalSearch, int, default=None
        Where one of them is given, the search is `Restarts(initial, update, n_starts)`, the paper's way; n_starts is
        then 10 by default.
    search : Annealing or Restarts, default=None
        None is `Annealing()`, unless one of the three above is given.
    bound : UpperBound, default=None
        Bounds what any partition could reach: `SemidefiniteBound()`, `CycleBound()` or, of these, `SuitableBound()`;
        see `certify`. None leaves what the search itself knows.
    time_limit : float, default=None
        Seconds for reading the graph and the search; a bound may take as long again. What cannot be interrupted on a
        large graph, reading it, its reduction and a first descent, is finished even if that takes longer; compiling
        does not count. Ctrl-C ends the search too, and its best cut so far is returned; while the bound is looked for,
        the cut without it. None lets the search end by itself, for `Annealing()` after about a second's work, more on
        large graphs, with a result that depends on the seed alone.
    random_state : int, Generator, RandomState or None
        Same seed, same cut.

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
    restarts_asked = any(part is not None for part in (initial, update, n_starts))
    if search is not None and restarts_asked:
        raise ValueError("give initial, update and n_starts to the search itself, such as Restarts(initial, update).")
    check_seconds(time_limit)
    _check_part("initial", initial, "guess", "RandomGuess()")
    _check_part("update", update, "improve", "BitUpdate()")
    _check_part("search", search, "solve", "Annealing()")
    _check_part("bound", bound, "bound", "SuitableBound()")
    if search is None:
        search = Restarts(initial, update, 10 if n_starts is None else n_starts) if restarts_asked else Annealing()
    rng, clock = as_generator(random_state), getattr(search, "clock", None) or time.perf_counter
    start = clock()
    graph = as_graph(W)
    seconds = time_limit
    if time_limit is not None:  # reading the graph counts, but leaves some time to search
        seconds = max(time_limit - (clock() - start), 0.1 * time_limit)
        _warm_up_for(graph, getattr(search, "initial", None), bound)
    cut = search.solve(graph, rng, seconds)
    return cut if bound is None or cut.status == "interrupted" else _certified(cut, bound, rng, time_limit)


def _check_part(name: str, part: object, method: str, example: str) -> None:
    """Refuse what is no part: a string, or a class in place of an object."""
    if part is not None and (isinstance(part, type) or not hasattr(part, method)):
        raise ValueError(f"{name}={part!r}: give an object such as {example}.")


def _certified(cut: Cut, bound: UpperBound, rng: np.random.Generator, time_limit: float | None) -> Cut:
    """Return the cut with its bound; without it where Ctrl-C ends that."""
    try:
        return certify(cut, bound, rng, time_limit)
    except KeyboardInterrupt:
        return replace(cut, status="interrupted")


def _warm_up_for(graph: SignedGraph, initial: InitialGuess | None, bound: UpperBound | None) -> None:
    """Compile or load what a graph and the parts of its search need."""
    weights = graph.weights if isinstance(graph, DenseGraph) else np.empty(0)
    warm_up(weights.dtype, weights.flags.writeable)
    if isinstance(initial, AlonNaorGuess) or isinstance(bound, SemidefiniteBound | SuitableBound):
        warm_up_mixing(weights.dtype)


@cache
def warm_up(dtype: np.dtype[Any], is_writeable: bool = True) -> None:
    """Compile or load the kernels, once, so that no time limit pays for it.

    Those of sparse graphs, those of dense ones in float64, in which a sparse graph may end, and those of dense weights
    as they are given: numba tells arrays apart that must not be written to.
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
    if small.status == "interrupted":  # Ctrl-C is meant for the caller's graph
        raise KeyboardInterrupt


@cache
def warm_up_mixing(dtype: np.dtype[Any]) -> None:
    """`warm_up` for the mixing method, on sparse weights and on those of a dense graph."""
    for kind in (np.dtype(np.float64), dtype):
        mix(DenseGraph(np.ones((2, 2), kind)), None, 1, 0.0, np.random.default_rng(0))
