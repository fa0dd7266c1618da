"""How good a cut is: the bound that suits its graph."""

import numpy as np

from proxcode.cut.annealing.limits import as_generator, check_seconds
from proxcode.cut.bounds.cycles import CycleBound
from proxcode.cut.bounds.semidefinite import SemidefiniteBound, UpperBound, checked_bound
from proxcode.cut.graph import ExplicitGraph
from proxcode.cut.result import Cut, Partition

FEW_EDGES = 10  # a point, 20 neighbours on average: cycles are short, and the linear program small


class SuitableBound(UpperBound):
    """`CycleBound()` where points have 20 edges or less on average, else `SemidefiniteBound()`."""

    def bound(
        self, graph: ExplicitGraph, partition: Partition, rng: np.random.Generator, time_limit: float | None = None
    ) -> float:
        """Return the bound."""
        has_few_edges = graph.count_edges() <= FEW_EDGES * graph.n_nodes
        chosen = CycleBound() if has_few_edges else SemidefiniteBound()
        return chosen.bound(graph, partition, rng, time_limit)


def certify(
    cut: Cut, bound: UpperBound | None = None, random_state: object = None, time_limit: float | None = None
) -> Cut:
    """Return a cut with an upper bound, and with it `gap` and `proved`.

    Parameters
    ----------
    cut : Cut
        Of `signed_cut` on explicit weights.
    bound : UpperBound, default=None
        None is `SuitableBound()`.
    random_state : int, Generator, RandomState or None
    time_limit : float, default=None
        Seconds, about: the bound looks at the time between its steps, and returns what it has. None leaves it to the
        bound's own settings.

    Examples
    --------
    A triangle of enemies leaves one edge frustrated:

    >>> from proxcode.cut import Restarts, certify, signed_cut
    >>> cut = signed_cut([(0, 1, -1), (1, 2, -1), (0, 2, -1)], search=Restarts(), random_state=0)
    >>> certify(cut).proved, cut.value
    (True, 2.0)
    """
    check_seconds(time_limit)
    graph = cut.graph
    if not isinstance(graph, ExplicitGraph):
        raise ValueError(
            "only cuts of explicit weights can be certified: use signed_cut on a matrix or a list of edges."
        )
    if cut.proved:
        return cut
    found = (bound or SuitableBound()).bound(graph, cut.partition, as_generator(random_state), time_limit)
    return cut.bounded(checked_bound(graph, cut.value, found))
