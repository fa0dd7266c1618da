"""What a search returns."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Partition = NDArray[np.int8]


class Progress(NamedTuple):
    """A better partition was found: when, after how many sweeps, and its b'Wb."""

    seconds: float
    sweeps: int
    value: float


def relative_gap(value: float, bound: float) -> float:
    """Return how far a value is from its bound, as a part of the value; infinite where that is 0."""
    if value == bound:
        return 0.0
    return abs(bound - value) / abs(value) if value else float("inf")


@dataclass(frozen=True, eq=False)
class Cut:
    """A partition of a signed graph.

    Attributes
    ----------
    partition : ndarray of int8, shape (n,)
        -1 or +1 for each point.
    value : float
        b'Wb without the diagonal.
    flips, sweeps : int
        What the search took, over all its starts.
    history : tuple of Progress
        Each improvement: seconds, sweeps, value.
    status : str
        Why the search ended: "finished", "time limit", "interrupted", or "optimal" where it proved its own cut.
    upper_bound : float
        No partition has a larger b'Wb; infinite where nothing is known. Exact for whole weights that add up to less
        than 2^53; else up to the rounding of sums, 2^-44 of the sum of all |w_ij|.
    graph : SignedGraph or None
        What was cut.
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
        """How far the bound lies above the value, as a part of the value; 0 where the cut is proved."""
        return 0.0 if self.proved else relative_gap(self.value, self.upper_bound)

    @property
    def proved(self) -> bool:
        """Whether the bound shows that no partition is better."""
        return self.value >= self.upper_bound

    @property
    def nodes(self) -> list[Any]:
        """What the points are called, in the order of `partition`: as in a networkx graph or a DataFrame, else 0, 1, ..."""
        names = getattr(self.graph, "nodes", None)
        return list(range(len(self.partition))) if names is None else names

    @property
    def cut_weight(self) -> float:
        """Sum of the weights between the two sides, each edge once: (1'W1 - b'Wb) / 4."""
        graph = self._known_graph()
        return (float(graph.matvec(np.ones(graph.n_nodes)).sum()) - self.value) / 4

    @property
    def frustrated_edges(self) -> NDArray[np.int64]:
        """Pairs i < j, one a row, that are cut though positive, or joined though negative; see `nodes` for names."""
        first, second, weight = self._known_graph().edges()
        agree = self.partition[first] == self.partition[second]
        return np.column_stack([first, second])[agree == (weight < 0)]

    def bounded(self, upper_bound: float) -> "Cut":
        """Return the same cut with the better of its own and another upper bound."""
        return replace(self, upper_bound=min(self.upper_bound, upper_bound))

    def _known_graph(self) -> Any:
        if self.graph is None:
            raise ValueError("this cut does not know its graph: use signed_cut, which keeps it.")
        return self.graph
