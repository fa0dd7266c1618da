"""How good a cut is: the bound that suits its graph."""

import numpy as np

from proxcode.cut.bounds import SemidefiniteBound, UpperBound, checked_bound
from proxcode.cut.cycles import CycleBound
from proxcode.cut.graph import ExplicitGraph, SparseGraph
from proxcode.cut.result import Cut


def certify(cut: Cut, bound: UpperBound | None = None, random_state: object = None) -> Cut:
    """Return a cut with an upper bound, and with it `gap` and `proved`.

    Parameters
    ----------
    cut : Cut
        Of `signed_cut` on explicit weights.
    bound : UpperBound, default=None
        None is `CycleBound()` where points have 20 edges or less on average, else `SemidefiniteBound()`.
    random_state : int, Generator or None

    Examples
    --------
    A triangle of enemies leaves one edge frustrated:

    >>> from proxcode.cut import Restarts, certify, signed_cut
    >>> cut = signed_cut([(0, 1, -1), (1, 2, -1), (0, 2, -1)], search=Restarts(), random_state=0)
    >>> certify(cut).proved, cut.value
    (True, 2.0)
    """
    graph = cut.graph
    if not isinstance(graph, ExplicitGraph):
        raise ValueError(
            "only cuts of explicit weights can be certified: use signed_cut on a matrix or a list of edges."
        )
    if cut.proved:
        return cut
    if bound is None:
        n_edges = len(graph.edges()[2]) if isinstance(graph, SparseGraph) else graph.n_points**2
        bound = CycleBound() if n_edges <= 10 * graph.n_points else SemidefiniteBound()
    found = bound.bound(graph, cut.side, np.random.default_rng(random_state))  # type: ignore[arg-type]
    return cut.bounded(checked_bound(graph, cut.value, found))
