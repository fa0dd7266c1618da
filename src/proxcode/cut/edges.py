"""One rule for repeated edges, shared by Python objects (`as_graph`) and files (`read_graph`).

1. Self-loops are ignored: they add a constant to b'Wb.
2. Edges repeated in the same direction are summed.
3. An edge given in one direction only, or in both with equal weights, counts once.
4. An edge whose two directions have different weights is an error, unless `directed` says how to combine them.
"""

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cut.graph import Vector

Directed = Literal["sum", "mean", "sign"]
# Relative difference up to which the weights of an edge's two directions count as equal.
EQUAL_WEIGHTS = 1e-10
REMEDY = 'pass directed="sum", "mean" or "sign" to combine the directions'


def check_directed(directed: object) -> None:
    """Raise ValueError unless `directed` is None or names a way to combine two directions."""
    if directed not in (None, "sum", "mean", "sign"):
        raise ValueError(f'directed={directed!r}: expected "sum", "mean", "sign" or None')


def undirected_weights(
    n: int,
    first: NDArray[Any],
    second: NDArray[Any],
    weight: Vector,
    *,
    directed: Directed | None = None,
    names: Any = None,
) -> Any:
    """Return the symmetric weights of a list of edges.

    Parameters
    ----------
    n : int
        Number of nodes.
    first, second : ndarrays of int, shape (m,)
        Ends of the edges, as numbers from 0 to n - 1.
    weight : ndarray of float64, shape (m,)
    directed : {"sum", "mean", "sign"} or None, default=None
        How the two directions of an edge are combined. "sum" adds them, "mean" averages the directions that are given,
        "sign" adds the signs of the two directions and takes the sign of the result, so that ties drop out.
    names : sequence of length n, default=None
        Names of the nodes for error messages. None: their numbers.

    Returns
    -------
    scipy.sparse.csr_array of shape (n, n)
        Without a diagonal; the graph's edges are the nonzero entries.
    """
    check_directed(directed)
    names = range(n) if names is None else names
    if (wrong := np.flatnonzero(~np.isfinite(weight))).size:
        raise not_finite(names[first[wrong[0]]], names[second[wrong[0]]], weight[wrong[0]])
    is_edge = first != second
    first, second, weight = first[is_edge], second[is_edge], np.asarray(weight, np.float64)[is_edge]
    upper = _summed(n, np.minimum(first, second), np.maximum(first, second), weight)
    if upper.nnz < len(weight):
        n_given, forward, backward = _directions(upper, first, second, weight)
        if directed is None:
            _check_equal(upper, n_given, forward, backward, names)
        upper.data = _combined(forward, backward, n_given, directed)
    elif directed == "sign":
        upper.data = np.sign(upper.data)
    return (upper + upper.T).tocsr()


def _summed(n: int, first: NDArray[Any], second: NDArray[Any], weight: Vector) -> Any:
    """Return the matrix of edges of one direction, repeated ones summed."""
    weights = sp.coo_array((weight, (first, second)), shape=(n, n)).tocsr()
    weights.sort_indices()
    return weights


def _directions(
    upper: Any, first: NDArray[Any], second: NDArray[Any], weight: Vector
) -> tuple[NDArray[np.int8], Vector, Vector]:
    """Return the number of directions of each entry of `upper`, and the sums of the weights of each direction."""
    n, pairs = upper.shape[0], _keys(upper)
    n_given, sums = np.zeros(len(pairs), np.int8), np.zeros((2, len(pairs)))
    is_forward = first < second
    for way, low, high, chosen in ((0, first, second, is_forward), (1, second, first, ~is_forward)):
        summed = _summed(n, low[chosen], high[chosen], weight[chosen])
        position = np.searchsorted(pairs, _keys(summed))
        n_given[position] += 1
        sums[way, position] = summed.data
    return n_given, sums[0], sums[1]


def _keys(weights: Any) -> NDArray[np.int64]:
    """Return row * n + column of each stored entry, in ascending order."""
    entries = weights.tocoo()
    return entries.row.astype(np.int64) * weights.shape[1] + entries.col


def _check_equal(upper: Any, n_given: NDArray[np.int8], forward: Vector, backward: Vector, names: Any) -> None:
    differs = (n_given > 1) & ~np.isclose(forward, backward, rtol=EQUAL_WEIGHTS, atol=0)
    if differs.any():
        pair, entries = int(np.argmax(differs)), upper.tocoo()
        raise different_weights(names[entries.row[pair]], names[entries.col[pair]], forward[pair], backward[pair])


def undirected_array(W: NDArray[Any], directed: Directed) -> NDArray[Any]:
    """Return the symmetric weights of a square array of floats; an entry of 0 is a direction that is not given."""
    return _combined(W, W.T, (W != 0).astype(np.int8) + (W.T != 0), directed)


def not_finite(u: object, v: object, weight: object) -> ValueError:
    """Return the error for a weight that is NaN or infinite."""
    return ValueError(f"edge ({u}, {v}) has weight {weight}: expected a finite number; leave unknown edges out")


def different_weights(u: object, v: object, forward: float, backward: float) -> ValueError:
    """Return the error for an edge whose two directions have different weights."""
    return ValueError(f"edge ({u}, {v}) has weight {forward:g}, but {backward:g} in the opposite direction: {REMEDY}")


def _combined(
    forward: NDArray[Any], backward: NDArray[Any], n_given: NDArray[Any], directed: Directed | None
) -> NDArray[Any]:
    """Combine the weights of both directions, of which `n_given` (0, 1 or 2) are given; 0 where one is not."""
    if directed == "sign":
        return np.sign(np.sign(forward) + np.sign(backward))
    with np.errstate(over="ignore"):
        total = forward + backward
    if directed == "sum":
        return total
    if directed == "mean":
        return np.where(n_given > 1, 0.5 * total, total).astype(total.dtype, copy=False)
    return np.where(n_given > 1, forward, total)
