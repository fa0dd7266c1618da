"""Problems that are equivalent to a signed graph cut: max-cut and the frustration of signed networks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from proxcode.cut.graph import ExplicitGraph
from proxcode.cut.inputs import GraphLike, as_graph, sign_graph
from proxcode.cut.result import Cut, Partition, Progress, relative_gap
from proxcode.cut.search import SearchSettings, solve
from proxcode.cut.symmetric import Directed


@dataclass(frozen=True, eq=False)
class View:
    """A cut as the solution of another problem."""

    cut: Cut

    @property
    def partition(self) -> Partition:
        """-1 or +1 for each node."""
        return self.cut.partition

    @property
    def proved(self) -> bool:
        """Whether the bound proves that no solution is better."""
        return self.cut.proved

    @property
    def nodes(self) -> list[Any]:
        """Names of the nodes, in the order of `partition`."""
        return self.cut.nodes

    @property
    def status(self) -> str:
        """Why the search ended; see `Cut`."""
        return self.cut.status

    @property
    def history(self) -> tuple[Progress, ...]:
        """Each improvement of b'Wb: seconds, sweeps, value."""
        return self.cut.history


@dataclass(frozen=True, eq=False)
class MaxCut(View):
    """A partition that cuts edges of large total weight.

    Attributes
    ----------
    cut : Cut
        Cut of the graph with all weights negated.
    total : float
        Sum of all weights, each edge once.
    """

    total: float

    @property
    def weight(self) -> float:
        """Sum of the weights of the edges that the partition cuts, each edge once."""
        return (self.total + self.cut.value / 2) / 2

    @property
    def upper_bound(self) -> float:
        """Upper bound of the weight over all partitions."""
        return (self.total + self.cut.upper_bound / 2) / 2

    @property
    def gap(self) -> float:
        """Relative distance of `upper_bound` from `weight`; 0 where the cut is proved optimal."""
        return relative_gap(self.weight, self.upper_bound)


def max_cut(G: GraphLike, *, directed: Directed | None = None, **settings: Unpack[SearchSettings]) -> MaxCut:
    """Find a partition that cuts edges of large total weight.

    Parameters
    ----------
    G : array, DataFrame, scipy.sparse matrix, networkx graph, list of edges or SignedGraph
        Weights of any sign; see `as_graph`, also for self-loops and repeated edges.
    directed : {"sum", "mean", "sign"} or None, default=None
        How the two directions of an edge are combined if their weights differ; see `as_graph`. None: an error.
    **settings
        `search`, `bound`, `initial`, `time_limit` and `random_state`, as for `signed_cut`.

    Returns
    -------
    MaxCut

    Examples
    --------
    All but one edge of a ring of five nodes can be cut:

    >>> from proxcode.cut import max_cut
    >>> found = max_cut([(i, (i + 1) % 5, 1) for i in range(5)], random_state=0)
    >>> found.weight, found.proved
    (4.0, True)
    """
    cut = solve(partial(_negated, G, directed), **settings)
    total = float(cut.graph.matvec(np.full(len(cut.partition), -1.0)).sum()) / 2
    return MaxCut(cut=cut, total=total)


def _negated(given: GraphLike, directed: Directed | None) -> ExplicitGraph:
    graph = as_graph(given, directed)
    if not isinstance(graph, ExplicitGraph):
        raise ValueError(f"{type(graph).__name__} does not store its weights: pass a matrix or a list of edges")
    negated = type(graph)(-graph.weights)
    negated.nodes = graph.nodes
    return negated


@dataclass(frozen=True, eq=False)
class Frustration(View):
    """A partition of a signed network into two camps, and the edges whose sign it violates.

    Attributes
    ----------
    cut : Cut
        Cut of the graph of signs.
    n_edges : int
        Number of edges with a sign.
    """

    n_edges: int

    @property
    def index(self) -> int:
        """Number of frustrated edges: an upper bound of the frustration index, equal to it where proved."""
        return round((2 * self.n_edges - self.cut.value) / 4)

    @property
    def lower_bound(self) -> int:
        """Lower bound of the number of frustrated edges over all partitions."""
        return int(np.ceil(max(0.0, (2 * self.n_edges - self.cut.upper_bound) / 4)))

    @property
    def gap(self) -> float:
        """Relative distance of `lower_bound` from `index`; 0 where the index is proved."""
        return relative_gap(self.index, self.lower_bound)

    @property
    def edges(self) -> NDArray[np.int64]:
        """The frustrated edges as rows (i, j) with i < j; see `Cut.frustrated_edges`."""
        return self.cut.frustrated_edges


def frustration(G: GraphLike, *, directed: Directed | None = None, **settings: Unpack[SearchSettings]) -> Frustration:
    """Split a signed network into two camps with few frustrated edges: friends apart, or foes together.

    Signs count, not weights; use `signed_cut` for weights. Self-loops are ignored, and edges repeated in the same
    direction are summed. If the two directions of an edge have opposite signs, the edge drops out. The sign of an edge
    of a networkx graph is that of its attribute `sign`, or of `weight` if it has no `sign`.

    Parameters
    ----------
    G : array, DataFrame, scipy.sparse matrix, networkx graph, list of edges or SignedGraph
        See `as_graph`.
    directed : {"sum", "mean", "sign"} or None, default=None
        How the two directions of an edge are combined before the sign is taken; see `as_graph`. None: "sign".
    **settings
        `search`, `bound`, `initial`, `time_limit` and `random_state`, as for `signed_cut`.

    Returns
    -------
    Frustration

    Examples
    --------
    >>> from proxcode.cut import frustration
    >>> found = frustration([(0, 1, 1), (1, 2, 1), (0, 2, -1), (2, 3, -5)], random_state=0)
    >>> found.index, found.proved
    (1, True)
    """
    cut = solve(partial(sign_graph, G, directed), **settings)
    return Frustration(cut=cut, n_edges=cut.graph.count_edges())
