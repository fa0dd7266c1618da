"""Problems that are a signed graph cut by another name."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.cut.graph import DenseGraph, SignedGraph, SparseGraph, sparse_graph
from proxcode.cut.inputs import as_graph, sign_graph
from proxcode.cut.result import Cut, Side
from proxcode.cut.search import signed_cut


@dataclass(frozen=True, eq=False)
class _View:
    """A cut seen as the answer to another problem."""

    cut: Cut

    @property
    def side(self) -> Side:
        """-1 or +1 for each point."""
        return self.cut.side

    @property
    def proved(self) -> bool:
        """Whether the bound shows that nothing is better."""
        return self.cut.proved


@dataclass(frozen=True, eq=False)
class MaxCut(_View):
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
    graph = as_graph(G)
    negated: SignedGraph
    if isinstance(graph, SparseGraph):
        negated = SparseGraph(-graph.weights)
    elif isinstance(graph, DenseGraph):
        negated = DenseGraph(-graph.weights)
    else:
        raise ValueError("max_cut needs explicit weights: give a matrix, a networkx graph or a list of edges.")
    total = float(graph.matvec(np.ones(graph.n_points)).sum()) / 2
    return MaxCut(signed_cut(negated, **settings), total)


@dataclass(frozen=True, eq=False)
class Frustration(_View):
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
    def lower_bound(self) -> float:
        """No partition leaves fewer edges frustrated."""
        return max(0.0, (2 * self.n_edges - self.cut.upper_bound) / 4)

    @property
    def edges(self) -> NDArray[np.int64]:
        """The frustrated edges as pairs i < j, one a row."""
        return self.cut.frustrated_edges


def frustration(G: Any, **settings: Any) -> Frustration:
    """Split a signed network into two camps with few frustrated edges: friends apart, or foes together.

    Signs count, not weights: parallel edges are summed by sign, and a tie drops out. For weights, use `signed_cut`.

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
    graph = sign_graph(G)
    return Frustration(signed_cut(graph, **settings), graph.weights.nnz // 2)


@dataclass(frozen=True, eq=False)
class GroundState(_View):
    """Spins of low energy.

    Attributes
    ----------
    cut : Cut
        Of the graph with one point more, which stands for the fields.
    """

    @property
    def spins(self) -> Side:
        """-1 or +1 for each spin."""
        return self.side

    @property
    def side(self) -> Side:
        """-1 or +1 for each spin."""
        return (self.cut.side[:-1] * self.cut.side[-1]).astype(np.int8)

    @property
    def energy(self) -> float:
        """sum_i h_i s_i + sum_{i<j} J_ij s_i s_j."""
        return -self.cut.value / 2

    @property
    def lower_bound(self) -> float:
        """No spins have less energy."""
        return -self.cut.upper_bound / 2


def ising_ground_state(h: Any, J: Any, **settings: Any) -> GroundState:
    """Find spins s in {-1, +1}^n with low energy E(s) = sum_i h_i s_i + sum_{i<j} J_ij s_i s_j.

    The sign is that of dimod and of annealing machines: J_ij > 0 is antiferromagnetic. Fields are handled by one extra
    point, joined to spin i with weight -h_i.

    Parameters
    ----------
    h : array of shape (n,)
        Fields.
    J : array, scipy.sparse matrix, networkx graph, list of edges or SignedGraph
        Couplings of the n spins; a list of edges may leave out the last ones. See `as_graph`.
    **settings
        As for `signed_cut`.

    Examples
    --------
    >>> from proxcode.cut import ising_ground_state
    >>> ground = ising_ground_state([0.5, 0.0, 0.0], [(0, 1, 1.0), (1, 2, -1.0)], random_state=0)
    >>> ground.spins.tolist(), ground.energy
    ([-1, 1, 1], -2.5)
    """
    fields = np.asarray(h, np.float64)
    graph = as_graph(J)
    n = len(fields) if fields.ndim == 1 else -1
    if n < graph.n_points or not np.isfinite(fields).all():
        raise ValueError(f"h must hold one finite field for each of {graph.n_points} spins; got shape {fields.shape}.")
    first, second, coupling = graph.edges()
    spins = np.arange(n)
    ends = np.concatenate([first, spins]), np.concatenate([second, np.full(n, n)])
    return GroundState(signed_cut(sparse_graph(n + 1, *ends, -np.concatenate([coupling, fields])), **settings))


def sample(bqm: Any, **settings: Any) -> Any:
    """Solve a dimod binary quadratic model; needs dimod.

    Parameters
    ----------
    bqm : dimod.BinaryQuadraticModel
        Over spins or binary variables, with any names.
    **settings
        As for `signed_cut`.

    Returns
    -------
    dimod.SampleSet
        One sample with its energy; `info` tells whether it is `proved`, the `lower_bound` and the search's `status`.
    """
    dimod = import_module("dimod")
    h, J, offset = bqm.to_ising()
    names = list(bqm.variables)
    if not names:
        raise ValueError("the model has no variables: give at least one.")
    number = {name: i for i, name in enumerate(names)}
    couplings = [(number[u], number[v], coupling) for (u, v), coupling in J.items()]
    fields = np.array([h.get(name, 0.0) for name in names], np.float64)
    ground = ising_ground_state(fields, couplings or [(0, 0, 0.0)], **settings)
    spins = ground.spins if bqm.vartype is dimod.SPIN else (ground.spins + 1) // 2
    info = {"proved": ground.proved, "lower_bound": ground.lower_bound + offset, "status": ground.cut.status}
    return dimod.SampleSet.from_samples_bqm(dict(zip(names, spins.tolist(), strict=True)), bqm, info=info)
