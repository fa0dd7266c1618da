"""The result of a search."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Partition = NDArray[np.int8]


def signs_of(x: NDArray[np.float64]) -> Partition:
    """Return the sign of each entry; zero counts as +1."""
    return np.where(x >= 0, 1, -1).astype(np.int8)


class Progress(NamedTuple):
    """A better partition: seconds and sweeps until it was found, and its b'Wb."""

    seconds: float
    sweeps: int
    value: float


Clock = Callable[[], float]
Report = Callable[[Progress], object]


def relative_gap(value: float, bound: float) -> float:
    """Return `|bound - value| / |value|`; infinite where the value is 0 and the bound is not."""
    if value == bound:
        return 0.0
    return abs(bound - value) / abs(value) if value else float("inf")


@dataclass(frozen=True, eq=False)
class Cut:
    """A partition of a signed graph.

    Attributes
    ----------
    partition : ndarray of int8, shape (n,)
        -1 or +1 for each node.
    value : float
        The objective b'Wb, without the diagonal of W.
    flips, sweeps : int
        Number of flips and sweeps of the search, over all its starts.
    history : tuple of Progress
        Each improvement: seconds, sweeps, value.
    status : str
        Why the search ended: "finished", "time limit", "interrupted" (Ctrl-C), or "optimal" where the search proved
        its own cut.
    upper_bound : float
        Upper bound of b'Wb over all partitions; infinite where none is known. Exact for integer weights whose sum is
        below 2^53; otherwise up to the rounding of sums, 2^-44 of the sum of all `|w_ij|`.
    graph : SignedGraph or None
        The graph that was cut.
    """

    partition: Partition
    value: float
    flips: int
    sweeps: int
    history: tuple[Progress, ...] = field(default=(), repr=False)
    status: str = "finished"
    upper_bound: float = float("inf")
    graph: Any = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """Relative distance of the upper bound from the value; 0 where the cut is proved optimal."""
        return 0.0 if self.proved else relative_gap(self.value, self.upper_bound)

    @property
    def proved(self) -> bool:
        """Whether the upper bound proves that no partition is better."""
        return self.value >= self.upper_bound

    @property
    def nodes(self) -> list[Any]:
        """Names of the nodes in the order of `partition`: those of a networkx graph or a DataFrame, else 0, 1, ..."""
        names = getattr(self.graph, "nodes", None)
        return list(range(len(self.partition))) if names is None else names

    @property
    def cut_weight(self) -> float:
        """Sum of the weights of the edges that the partition cuts, each edge once: (1'W1 - b'Wb) / 4."""
        graph = self._known_graph()
        return (float(graph.matvec(np.ones(graph.n_nodes)).sum()) - self.value) / 4

    @property
    def frustrated_edges(self) -> NDArray[np.int64]:
        """Edges whose sign the partition violates, as rows (i, j) with i < j: positive and cut, or negative and not."""
        first, second, _ = self._frustrated()
        return np.column_stack([first, second])

    @property
    def frustrated_weight(self) -> float:
        """Sum of `|w_ij|` over the frustrated edges; their number where all weights are -1 and +1."""
        return float(np.abs(self._frustrated()[2]).sum())

    def _frustrated(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        first, second, weight = self._known_graph().edges()
        is_together = self.partition[first] == self.partition[second]
        is_frustrated = is_together == (weight < 0)
        return first[is_frustrated], second[is_frustrated], weight[is_frustrated]

    def _known_graph(self) -> Any:
        if self.graph is None:
            raise ValueError("this cut has no graph: use signed_cut, which keeps it")
        return self.graph
