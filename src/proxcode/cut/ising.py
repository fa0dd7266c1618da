"""Ground states of Ising models, and of dimod's binary quadratic models, as signed graph cuts."""

import math
import reprlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cut.graph import DenseGraph, SignedGraph, SparseGraph, sparse_graph
from proxcode.cut.inputs import Unread, as_graph, as_number, check_sum, check_unmasked, has_edges, listed
from proxcode.cut.problems import View
from proxcode.cut.result import Partition, relative_gap
from proxcode.cut.search import signed_cut


@dataclass(frozen=True, eq=False)
class GroundState(View):
    """Spins of low energy.

    Attributes
    ----------
    cut : Cut
        Of the graph with one point more, which stands for the fields.
    """

    @property
    def spins(self) -> Partition:
        """-1 or +1 for each spin."""
        return self.partition

    @property
    def partition(self) -> Partition:
        """-1 or +1 for each spin."""
        return (self.cut.partition[:-1] * self.cut.partition[-1]).astype(np.int8)

    @property
    def nodes(self) -> list[Any]:
        """What the spins are called, in the order of `spins`."""
        return self.cut.nodes[:-1]

    @property
    def energy(self) -> float:
        """sum_i h_i s_i + sum_{i<j} J_ij s_i s_j."""
        return -self.cut.value / 2

    @property
    def lower_bound(self) -> float:
        """No spins have less energy."""
        return -self.cut.upper_bound / 2

    @property
    def gap(self) -> float:
        """How far `lower_bound` lies under `energy`, as a part of it; 0 where the energy is proved."""
        return relative_gap(self.energy, self.lower_bound)


def ising_ground_state(h: Any, J: Any, **settings: Any) -> GroundState:
    """Find spins s in {-1, +1}^n with low energy E(s) = sum_i h_i s_i + sum_{i<j} J_ij s_i s_j.

    The sign is that of dimod and of annealing machines: J_ij > 0 is antiferromagnetic. Fields are handled by one extra
    point, joined to spin i with weight -h_i.

    Parameters
    ----------
    h : array of shape (n,) or dict
        Fields, in the order of the spins or as {spin: field}; spins that a dictionary leaves out have none.
    J : array, scipy.sparse matrix, networkx graph, list of edges, SignedGraph or dict
        Couplings of the n spins, a matrix being symmetric; a list of edges may leave out the last spins. See
        `as_graph`. A dictionary is dimod's {(spin, spin): coupling}; spins that are not whole numbers come in order of
        appearance, in h first: see `GroundState.nodes`.
    **settings
        As for `signed_cut`.

    Examples
    --------
    >>> from proxcode.cut import ising_ground_state
    >>> ground = ising_ground_state([0.5, 0.0, 0.0], [(0, 1, 1.0), (1, 2, -1.0)], random_state=0)
    >>> ground.spins.tolist(), ground.energy
    ([-1, 1, 1], -2.5)
    """
    return GroundState(signed_cut(Unread(partial(_spin_graph, h, J)), **settings))


def _spin_graph(h: Any, J: Any) -> DenseGraph | SparseGraph:
    """Return the graph whose cuts are the spins, and one point more."""
    J = listed(J)
    has_names = isinstance(J, Mapping) and not sp.issparse(J)  # SciPy's dok arrays are dictionaries too
    graph, fields, nodes = _named_model(h, J) if has_names else _model(h, J)
    bordered = _bordered(graph, fields)
    bordered.nodes = None if nodes is None else [*nodes, None]
    check_sum(bordered)
    return bordered


def _model(h: Any, J: Any) -> tuple[SignedGraph, NDArray[Any], list[Any] | None]:
    """Return couplings, fields and the names of the spins."""
    graph = as_graph(J)
    fields = _fields(_by_name(h, graph) if isinstance(h, Mapping) else h)
    n = len(fields) if fields.ndim == 1 else -1
    fits = n == graph.n_nodes or (n > graph.n_nodes and has_edges(J) and graph.nodes is None)
    if not fits or not np.isfinite(fields).all():
        told = reprlib.repr(h) if fits else f"shape {fields.shape}"
        raise ValueError(f"h must hold one finite field for each of {graph.n_nodes} spins; got {told}.")
    return graph, fields, graph.nodes


def _by_name(h: Mapping[Any, Any], graph: SignedGraph) -> list[Any]:
    names = range(graph.n_nodes) if graph.nodes is None else graph.nodes
    if unknown := set(h) - set(names):
        raise ValueError(f"h has a field for {next(iter(unknown))!r}, which is none of {graph.n_nodes} spins of J.")
    return [h.get(name, 0.0) for name in names]


def _fields(h: Any) -> NDArray[Any]:
    """Return fields as an array of floats."""
    check_unmasked("h", h)
    fields = np.asarray(h)
    if fields.dtype in (np.float32, np.float64):
        return fields
    try:
        if fields.dtype.kind not in "biufO":
            raise TypeError
        return fields.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"h must hold real numbers; got {reprlib.repr(h)}: give each spin its field.") from None


def _named_model(h: Any, J: Mapping[Any, Any]) -> tuple[SignedGraph, NDArray[Any], list[Any] | None]:
    """Return couplings that are a dictionary, as dimod has them, the fields and the names of the spins."""
    if not isinstance(h, Mapping) and np.ndim(h) != 1:
        raise ValueError(f"h is {reprlib.repr(h)}: give one field for each spin, or {{spin: field}}.")
    for pair in J:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(f"J has the key {pair!r}: give couplings as {{(spin, spin): coupling}}.")
    given = h if isinstance(h, Mapping) else dict(enumerate(h))
    names = list(dict.fromkeys([*given, *(name for pair in J for name in pair)]))
    if not names:
        raise ValueError("the model has no spins: give at least one field or coupling.")
    are_numbers = all(isinstance(name, int | np.integer) and name >= 0 for name in names)
    if are_numbers:
        names = list(range(_count_spins(names)))
    number = {name: i for i, name in enumerate(names)}
    edges = [(number[u], number[v], _coupling(u, v, coupling)) for (u, v), coupling in J.items()]
    graph = as_graph(edges or [(0, 0, 0.0)])
    fields = _fields([given.get(name, 0.0) for name in names])
    if not np.isfinite(fields).all():
        raise ValueError(f"h must hold one finite field for each of {len(names)} spins; got {reprlib.repr(h)}.")
    return graph, fields, None if are_numbers else names


def _coupling(u: Any, v: Any, coupling: Any) -> float:
    """Return a coupling as a number, or say of which spins it is none."""
    with suppress(ValueError):
        if math.isfinite(number := as_number(u, v, coupling)):
            return number
    raise ValueError(f"J has {reprlib.repr(coupling)} at ({u!r}, {v!r}): give a finite number for each coupling.")


def _count_spins(numbers: list[int]) -> int:
    largest = max(numbers)
    if largest >= 100 * len(numbers) + 1_000_000:
        raise ValueError(f"there is a spin {largest}, but {len(numbers)} spins in all: number spins from 0 on.")
    return int(largest) + 1


def _bordered(graph: SignedGraph, fields: NDArray[Any]) -> DenseGraph | SparseGraph:
    """Return -J with one point more, joined to spin i by -h_i."""
    n = len(fields)
    if isinstance(graph, DenseGraph):
        W = np.zeros((n + 1, n + 1), np.result_type(graph.weights, fields))
        np.negative(graph.weights, out=W[:n, :n])
        W[:n, n] = W[n, :n] = -fields
        return DenseGraph(W)
    first, second, coupling = graph.edges()
    ends = np.concatenate([first, np.arange(n)]), np.concatenate([second, np.full(n, n)])
    return sparse_graph(n + 1, *ends, -np.concatenate([coupling, fields]))


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
    try:
        dimod = import_module("dimod")
    except ModuleNotFoundError:
        raise ModuleNotFoundError("sample needs dimod: pip install dimod, or use ising_ground_state(h, J).") from None
    if not bqm.variables:
        raise ValueError("the model has no variables: give at least one.")
    h, J, offset = bqm.to_ising()
    number = {name: i for i, name in enumerate(bqm.variables)}
    couplings = {(number[u], number[v]): coupling for (u, v), coupling in J.items()}
    ground = ising_ground_state([h[name] for name in number], couplings, **settings)
    values = ground.spins if bqm.vartype is dimod.SPIN else (ground.spins + 1) // 2
    info = {"proved": ground.proved, "lower_bound": ground.lower_bound + offset, "status": ground.status}
    return dimod.SampleSet.from_samples_bqm(dict(zip(number, values.tolist(), strict=True)), bqm, info=info)
