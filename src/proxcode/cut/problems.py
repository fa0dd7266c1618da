"""Problems that are a signed graph cut by another name."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.cut.graph import DenseGraph, ExplicitGraph, SparseGraph
from proxcode.cut.inputs import Unread, as_graph, sign_graph
from proxcode.cut.result import Cut, Partition, Progress, relative_gap
from proxcode.cut.search import signed_cut


@dataclass(frozen=True, eq=False)
class View:
    """A cut seen as the answer to another problem."""

    cut: Cut

    @property
    def partition(self) -> Partition:
        """-1 or +1 for each point."""
        return self.cut.partition

    @property
    def proved(self) -> bool:
        """Whether the bound shows that nothing is better."""
        return self.cut.proved

    @property
    def nodes(self) -> list[Any]:
        """What the points are called, in the order of `partition`."""
        return self.cut.nodes

    @property
    def status(self) -> str:
        """Why the search ended."""
        return self.cut.status

    @property
    def history(self) -> tuple[Progress, ...]:
        """Each improvement of b'Wb: seconds, sweeps, value."""
        return self.cut.history


@dataclass(frozen=True, eq=False)
class MaxCut(View):
    """Points on two sides, with much weight between them.

    Attributes
    ----------
    cut : Cut
        Of the graph with all weights negated.
    total : float
        Sum of all weights.
    """

    total: float

    @property
    def weight(self) -> float:
        """Weight between the sides, each edge once."""
        return (self.total + self.cut.value / 2) / 2

    @property
    def upper_bound(self) -> float:
        """No partition cuts more."""
        return (self.total + self.cut.upper_bound / 2) / 2

    @property
    def gap(self) -> float:
        """How far `upper_bound` lies above `weight`, as a part of it; 0 where the cut is proved."""
        return relative_gap(self.weight, self.upper_bound)


def max_cut(G: Any, **settings: Any) -> MaxCut:
    """Cut as much weight as can be.

    Parameters
    ----------
    G : array, scipy.sparse matrix, networkx graph, list of edges or SignedGraph
        Weights of any sign; see `as_graph`.
    **settings
        As for `signed_cut`.

    Examples
    --------
    All but one edge of a ring of five:

    >>> from proxcode.cut import max_cut
    >>> found = max_cut([(i, (i + 1) % 5, 1) for i in range(5)], random_state=0)
    >>> found.weight, found.proved
    (4.0, True)
    """
    negated = Unread(partial(_negated, G))
    cut = signed_cut(negated, **settings)
    return MaxCut(cut, float(negated.graph.matvec(np.full(len(cut.partition), -1.0)).sum()) / 2)


def _negated(given: Any) -> ExplicitGraph:
    """Return the graph with all weights negated: in place, unless they are those that were given."""
    graph = as_graph(given)
    if not isinstance(graph, DenseGraph | SparseGraph):
        raise ValueError("max_cut needs explicit weights: give a matrix, a networkx graph or a list of edges.")
    if graph is given or (isinstance(graph, DenseGraph) and np.may_share_memory(graph.weights, np.asarray(given))):
        negated = type(graph)(-graph.weights)
        negated.nodes = graph.nodes
        return negated
    graph.weights *= -1
    if isinstance(graph, DenseGraph):
        graph.diagonal *= -1
    return graph


@dataclass(frozen=True, eq=False)
class Frustration(View):
    """Two camps of a signed network, and the edges that do not fit.

    Attributes
    ----------
    cut : Cut
        Of the graph of signs.
    n_edges : int
        Edges that have a sign.
    """

    n_edges: int

    @property
    def index(self) -> int:
        """Number of frustrated edges: an upper bound of the frustration index, and the index itself where proved."""
        return round((2 * self.n_edges - self.cut.value) / 4)

    @property
    def lower_bound(self) -> int:
        """No partition leaves fewer edges frustrated."""
        return int(np.ceil(max(0.0, (2 * self.n_edges - self.cut.upper_bound) / 4)))

    @property
    def gap(self) -> float:
        """How far `lower_bound` lies under `index`, as a part of it; 0 where the index is proved."""
        return relative_gap(self.index, self.lower_bound)

    @property
    def edges(self) -> NDArray[np.int64]:
        """The frustrated edges as pairs i < j, one a row."""
        return self.cut.frustrated_edges


def frustration(G: Any, **settings: Any) -> Frustration:
    """Split a signed network into two camps with few frustrated edges: friends apart, or foes together.

    Signs count, not weights: parallel edges are summed by sign, and a tie drops out. For weights, use `signed_cut`.
    Where an edge of a networkx graph has both `sign` and `weight`, its `sign` counts.

    Parameters
    ----------
    G : array, scipy.sparse matrix, networkx graph, list of edges or SignedGraph
        See `as_graph`.
    **settings
        As for `signed_cut`.

    Examples
    --------
    >>> from proxcode.cut import frustration
    >>> found = frustration([(0, 1, 1), (1, 2, 1), (0, 2, -1), (2, 3, -5)], random_state=0)
    >>> found.index, found.proved
    (1, True)
    """
    signs = Unread(partial(sign_graph, G))
    return Frustration(signed_cut(signs, **settings), signs.graph.count_edges())
