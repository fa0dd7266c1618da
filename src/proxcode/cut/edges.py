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
    given = sp.coo_array((weight, (first, second)), shape=(n, n)).tocsr()
    forward, backward = sp.triu(given, 1, "csr"), sp.tril(given, -1, "csr").T.tocsr()
    pairs = (_pattern(forward) + _pattern(backward)).tocoo()
    if directed != "sign" and not (pairs.data > 1).any():
        # No edge has two directions: much faster than to look up each pair.
        upper = forward + backward
    else:
        there, back = (np.asarray(way[pairs.row, pairs.col]).ravel() for way in (forward, backward))
        if directed is None:
            _check_equal(there, back, pairs, names)
        upper = sp.csr_array((_combined(there, back, pairs.data, directed), (pairs.row, pairs.col)), shape=(n, n))
    return (upper + upper.T).tocsr()


def undirected_array(W: NDArray[Any], directed: Directed) -> NDArray[Any]:
    """Return the symmetric weights of a square array of floats; an entry of 0 is a direction that is not given."""
    return _combined(W, W.T, (W != 0).astype(np.int8) + (W.T != 0), directed)


def not_finite(u: object, v: object, weight: object) -> ValueError:
    """Return the error for a weight that is NaN or infinite."""
    return ValueError(f"edge ({u}, {v}) has weight {weight}: expected a finite number; leave unknown edges out")


def different_weights(u: object, v: object, forward: float, backward: float) -> ValueError:
    """Return the error for an edge whose two directions have different weights."""
    return ValueError(f"edge ({u}, {v}) has weight {forward:g}, but {backward:g} in the opposite direction: {REMEDY}")


def _pattern(weights: Any) -> Any:
    """Return 1 at each stored entry, explicit zeros included."""
    return sp.csr_array((np.ones(weights.nnz, np.int8), weights.indices, weights.indptr), shape=weights.shape)


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


def _check_equal(forward: Vector, backward: Vector, pairs: Any, names: Any) -> None:
    is_equal = np.isclose(forward, backward, rtol=EQUAL_WEIGHTS, atol=0) | (pairs.data < 2)
    if not is_equal.all():
        pair = int(np.argmin(is_equal))
        raise different_weights(names[pairs.row[pair]], names[pairs.col[pair]], forward[pair], backward[pair])
