"""Ground states of Ising models, and of dimod's binary quadratic models, as signed graph cuts."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Unpack

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cut.graph import DenseGraph, SignedGraph, SparseGraph, sparse_graph
from proxcode.cut.inputs import GraphLike, as_graph, as_number, check_sum, check_unmasked, listed
from proxcode.cut.problems import View
from proxcode.cut.result import Partition, relative_gap
from proxcode.cut.search import SearchSettings, solve
from proxcode.cut.symmetric import Directed
from proxcode.cut.validation import check_partition


@dataclass(frozen=True, eq=False)
class GroundState(View):
    """Spins of low energy.

    Attributes
    ----------
    cut : Cut
        Cut of the graph with one additional node, which represents the fields.
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
        """Names of the spins, in the order of `spins`."""
        return self.cut.nodes[:-1]

    @property
    def energy(self) -> float:
        """sum_i h_i s_i + sum_{i<j} J_ij s_i s_j."""
        return -self.cut.value / 2

    @property
    def lower_bound(self) -> float:
        """Lower bound of the energy of all spins."""
        return -self.cut.upper_bound / 2

    @property
    def gap(self) -> float:
        """Relative distance of `lower_bound` from `energy`; 0 where the energy is proved minimal."""
        return relative_gap(self.energy, self.lower_bound)


def ising_ground_state(
    h: Any, J: GraphLike, *, directed: Directed | None = None, **settings: Unpack[SearchSettings]
) -> GroundState:
    """Find spins s in {-1, +1}^n with low energy E(s) = sum_i h_i s_i + sum_{i<j} J_ij s_i s_j.

    The sign is that of dimod and of annealing machines: J_ij > 0 is antiferromagnetic. Fields are represented by one
    additional node, joined to spin i with weight -h_i.

    Parameters
    ----------
    h : array of shape (n,) or dict
        Fields in the order of the spins, or as {spin: field}; spins that are missing in a dictionary have no field.
    J : array, DataFrame, scipy.sparse matrix, networkx graph, list of edges, SignedGraph or dict
        Couplings of the n spins; see `as_graph`. A list of edges need not contain the last spins. A dictionary is
        dimod's {(spin, spin): coupling}, whose entries for (i, j) and (j, i) are summed; spins that are not integers
        are numbered in order of appearance, first in h, then in J: see `GroundState.nodes`.
    directed : {"sum", "mean", "sign"} or None, default=None
        How J_ij and J_ji are combined if they differ; see `as_graph`. None: an error.
    **settings
        `search`, `bound`, `initial`, `time_limit` and `random_state`, as for `signed_cut`; `initial` may hold spins.

    Returns
    -------
    GroundState

    Examples
    --------
    >>> from proxcode.cut import ising_ground_state
    >>> ground = ising_ground_state([0.5, 0.0, 0.0], [(0, 1, 1.0), (1, 2, -1.0)], random_state=0)
    >>> ground.spins.tolist(), ground.energy
    ([-1, 1, 1], -2.5)
    """
    spins = settings.get("initial")
    if spins is None or hasattr(spins, "guess"):
        return GroundState(cut=solve(partial(_spin_graph, h, J, directed, None), **settings))
    settings["initial"] = np.append(np.asarray(spins), 1)
    return GroundState(cut=solve(partial(_spin_graph, h, J, directed, spins), **settings))


def _spin_graph(h: Any, J: Any, directed: Directed | None, spins: Any) -> DenseGraph | SparseGraph:
    """Return the graph of the spins and one additional node; checks that initial spins fit."""
    J = listed(J)
    # SciPy's dok arrays are dictionaries too.
    if isinstance(J, Mapping) and not sp.issparse(J):
        h, graph, n = _named_model(h, J)
    else:
        graph = as_graph(J, directed)
        is_edge_list = isinstance(graph, SparseGraph) and graph is not J and graph.nodes is None and not sp.issparse(J)
        n = max(graph.n_nodes, len(h)) if is_edge_list and np.ndim(h) == 1 else graph.n_nodes
    fields = _fields(h, range(n) if graph.nodes is None else graph.nodes)
    if spins is not None:
        check_partition("initial", spins, n, "spins")
    bordered = _bordered(graph, fields)
    bordered.nodes = None if graph.nodes is None else [*graph.nodes, None]
    check_sum(bordered)
    return bordered


def _fields(h: Any, names: Sequence[Any]) -> NDArray[Any]:
    """Return the fields of all spins as an array of floats."""
    check_unmasked("h", h)
    if isinstance(h, Mapping):
        if unknown := set(h) - set(names):
            raise ValueError(f"h has a field for {next(iter(unknown))!r}: expected one of the {len(names)} spins of J")
        h = [h.get(name, 0.0) for name in names]
    fields, held = np.asarray(h), f"h holds {reprlib.repr(h)}"
    if fields.dtype not in (np.float32, np.float64):
        try:
            if fields.dtype.kind not in "biufO":
                raise TypeError
            fields = fields.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{held}: expected a real number for each spin") from None
    fits = fields.shape == (len(names),)
    if not fits or not np.isfinite(fields).all():
        held = held if fits else f"h has shape {fields.shape}"
        raise ValueError(f"{held}: expected one finite field for each of {len(names)} spins")
    return fields


def _named_model(h: Any, J: Mapping[Any, Any]) -> tuple[Mapping[Any, Any], SignedGraph, int]:
    """Return the fields by spin, the couplings of a dictionary as dimod uses it, and the number of spins."""
    if not isinstance(h, Mapping):
        if np.ndim(h) != 1:
            raise ValueError(f"h is {reprlib.repr(h)}: expected one field for each spin, or {{spin: field}}")
        h = dict(enumerate(h))
    for pair in J:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(f"J has the key {pair!r}: expected {{(spin, spin): coupling}}")
    names = list(dict.fromkeys([*h, *(name for pair in J for name in pair)]))
    if not names:
        raise ValueError("the model has no spins: expected at least one field or coupling")
    if are_numbers := all(isinstance(name, int | np.integer) and name >= 0 for name in names):
        if (largest := int(max(names))) >= 100 * len(names) + 1_000_000:
            raise ValueError(
                f"the model has the spin {largest}, but only {len(names)} spins: number the spins from 0 on"
            )
        names = list(range(largest + 1))
    number = {name: i for i, name in enumerate(names)}
    edges = [(number[u], number[v], _coupling(u, v, coupling)) for (u, v), coupling in J.items()]
    graph = as_graph(edges or [(0, 0, 0.0)], directed="sum")
    graph.nodes = None if are_numbers else names
    return h, graph, len(names)


def _coupling(u: Any, v: Any, coupling: Any) -> float:
    """Return the coupling of two spins as a finite number."""
    with suppress(ValueError):
        if math.isfinite(number := as_number(u, v, coupling)):
            return number
    raise ValueError(f"J has {reprlib.repr(coupling)} at ({u!r}, {v!r}): expected a finite number")


def _bordered(graph: SignedGraph, fields: NDArray[Any]) -> DenseGraph | SparseGraph:
    """Return -J with one additional node, joined to spin i with weight -h_i."""
    n = len(fields)
    if isinstance(graph, DenseGraph):
        W = np.zeros((n + 1, n + 1), np.result_type(graph.weights, fields))
        np.negative(graph.weights, out=W[:n, :n])
        W[:n, n] = W[n, :n] = -fields
        return DenseGraph(W)
    first, second, coupling = graph.edges()
    ends = np.concatenate([first, np.arange(n)]), np.concatenate([second, np.full(n, n)])
    return sparse_graph(n + 1, *ends, -np.concatenate([coupling, fields]))


def sample(bqm: Any, **settings: Unpack[SearchSettings]) -> Any:
    """Solve a dimod binary quadratic model; needs dimod.

    Parameters
    ----------
    bqm : dimod.BinaryQuadraticModel
        Model of spins or binary variables with any names.
    **settings
        `search`, `bound`, `initial`, `time_limit` and `random_state`, as for `ising_ground_state`.

    Returns
    -------
    dimod.SampleSet
        One sample with its energy; `info` holds `proved`, `lower_bound` and `status` of the search.
    """
    try:
        dimod = import_module("dimod")
    except ModuleNotFoundError:
        raise ModuleNotFoundError("sample requires dimod: pip install dimod, or use ising_ground_state(h, J)") from None
    if not bqm.variables:
        raise ValueError("the model has no variables: expected at least one")
    h, J, offset = bqm.to_ising()
    number = {name: i for i, name in enumerate(bqm.variables)}
    couplings = {(number[u], number[v]): coupling for (u, v), coupling in J.items()}
    ground = ising_ground_state([h[name] for name in number], couplings, **settings)
    values = ground.spins if bqm.vartype is dimod.SPIN else (ground.spins + 1) // 2
    info = {"proved": ground.proved, "lower_bound": ground.lower_bound + offset, "status": ground.status}
    return dimod.SampleSet.from_samples_bqm(dict(zip(number, values.tolist(), strict=True)), bqm, info=info)
