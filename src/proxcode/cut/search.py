"""Find a bit as a cut: maximise b'Wb over b in {-1, +1}^n (Eq. 11).

1. take an initial guess (`initial`),
2. improve it by a local search (`update`),
3. repeat for several starts and keep the best (`Restarts`).
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from proxcode.cut.graph import Cut, SignedGraph, as_graph
from proxcode.cut.initial import InitialGuess, RandomGuess
from proxcode.cut.updates import BitUpdate, LocalSearch


class Restarts(BaseEstimator):
    """Best of several starts of one local search.

    Parameters
    ----------
    initial : InitialGuess, default=None
        None is `RandomGuess()`.
    update : LocalSearch, default=None
        None is `BitUpdate()`.
    n_starts : int, default=1
    """

    def __init__(
        self, initial: InitialGuess | None = None, update: LocalSearch | None = None, n_starts: int = 1
    ) -> None:
        self.initial = initial
        self.update = update
        self.n_starts = n_starts

    def solve(self, graph: SignedGraph, rng: np.random.Generator) -> Cut:
        """Return the best partition found."""
        if self.n_starts < 1:
            raise ValueError(f"n_starts={self.n_starts}: a search needs at least 1 start.")
        initial, update = self.initial or RandomGuess(), self.update or BitUpdate()
        found = [update.improve(graph, initial.guess(graph, rng), rng) for _ in range(self.n_starts)]
        best = max(found, key=lambda cut: cut.value)
        return Cut(best.side, best.value, sum(c.flips for c in found), sum(c.sweeps for c in found))


def signed_cut(
    W: Any,
    *,
    initial: InitialGuess | None = None,
    update: LocalSearch | None = None,
    n_starts: int = 10,
    random_state: Any = None,
) -> Cut:
    """Cut a signed graph: find b in {-1, +1}^n with large b'Wb.

    Parameters
    ----------
    W : array or scipy.sparse matrix of shape (n, n)
        Symmetric weights; positive attracts, negative repels, 0 is no edge. The diagonal is ignored.
    initial : InitialGuess, default=None
        Where each start begins; None is `RandomGuess()`.
    update : LocalSearch, default=None
        How it is improved; None is `BitUpdate()`.
    n_starts : int, default=10
        The best of so many starts is returned.
    random_state : int, Generator or None
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
    >>> bool(cut.side[0] == cut.side[1] != cut.side[2] == cut.side[3]), cut.value
    (True, 12.0)
    """
    rng = np.random.default_rng(random_state)
    return Restarts(initial, update, n_starts).solve(as_graph(W), rng)
