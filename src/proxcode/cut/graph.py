"""Signed graphs, as the updates and initial guesses see them.

A graph is whatever can multiply its weights W by a vector and keep the field s = Wb up to date when one point changes
sides. The diagonal of W adds a constant to b'Wb (Theorem 4) and is left out everywhere.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cut._kernels import add_sparse_row, next_improving

Vector = NDArray[np.float64]
Side = NDArray[np.int8]


@dataclass(frozen=True)
class Cut:
    """A partition of a signed graph.

    Attributes
    ----------
    side : ndarray of int8, shape (n,)
        -1 or +1 for each point.
    value : float
        b'Wb without the diagonal.
    flips, sweeps : int
        What the search took, over all its starts.
    """

    side: Side
    value: float
    flips: int
    sweeps: int


class QuadraticForm(ABC):
    """x'Wx with symmetric W: all that is needed to judge a bit, or to climb."""

    n_points: int

    @abstractmethod
    def matvec(self, x: Vector) -> Vector:
        """Return Wx."""

    def value(self, side: Side) -> float:
        """Return b'Wb."""
        x = side.astype(np.float64)
        return float(x @ self.matvec(x))


class SignedGraph(QuadraticForm):
    """Symmetric weights W between `n_points` points; positive attracts, negative repels."""

    @abstractmethod
    def absolute_degrees(self) -> Vector:
        """Return the sums of |w_ij| over j."""

    @abstractmethod
    def field(self, side: Side) -> Vector:
        """Return the field of a partition, in the graph's own form: `next_improving` and `flip` take it back."""

    @abstractmethod
    def local_fields(self, side: Side, field: Vector) -> Vector:
        """Return s_i of each point, from the field."""

    @abstractmethod
    def next_improving(self, side: Side, field: Vector, tolerance: Vector, start: int) -> int:
        """Return the first point from `start` on with b_i s_i < -tolerance_i, n_points where there is none."""

    @abstractmethod
    def flip(self, point: int, side: Side, field: Vector) -> None:
        """Move a point to the other side; updates `side` and `field` in place."""

    def sweep(self, side: Side, field: Vector, tolerance: Vector) -> int:
        """Flip each point in turn whose flip improves; returns how many, updates `side` and `field` in place."""
        flips = 0
        point = self.next_improving(side, field, tolerance, 0)
        while point < self.n_points:
            self.flip(point, side, field)
            flips += 1
            point = self.next_improving(side, field, tolerance, point + 1)
        return flips


class _ExplicitGraph(SignedGraph):
    """A graph whose weights are stored: the field is s itself."""

    def field(self, side: Side) -> Vector:
        return self.matvec(side.astype(np.float64))

    def local_fields(self, side: Side, field: Vector) -> Vector:
        return field

    def next_improving(self, side: Side, field: Vector, tolerance: Vector, start: int) -> int:
        return int(next_improving(side, field, tolerance, start))


class DenseGraph(_ExplicitGraph):
    """Weights as a square array."""

    def __init__(self, W: NDArray[Any]) -> None:
        self.weights: NDArray[np.float64] = np.array(W, dtype=np.float64)
        np.fill_diagonal(self.weights, 0.0)
        self.n_points = len(self.weights)

    def matvec(self, x: Vector) -> Vector:
        return self.weights @ x

    def absolute_degrees(self) -> Vector:
        return np.abs(self.weights).sum(axis=1)

    def flip(self, point: int, side: Side, field: Vector) -> None:
        side[point] = -side[point]
        field += (2.0 * side[point]) * self.weights[point]


class SparseGraph(_ExplicitGraph):
    """Weights as a scipy.sparse matrix."""

    def __init__(self, W: Any) -> None:
        self.weights = sp.csr_array(W, dtype=np.float64, copy=True)
        self.weights -= sp.diags_array(self.weights.diagonal())
        self.weights.eliminate_zeros()
        self.n_points = self.weights.shape[0]

    def matvec(self, x: Vector) -> Vector:
        return self.weights @ x

    def absolute_degrees(self) -> Vector:
        return np.asarray(abs(self.weights).sum(axis=1)).ravel()

    def flip(self, point: int, side: Side, field: Vector) -> None:
        side[point] = -side[point]
        W = self.weights
        add_sparse_row(W.indptr, W.indices, W.data, point, 2.0 * side[point], field)


def as_graph(W: Any) -> SignedGraph:
    """Make a graph of a symmetric array or scipy.sparse matrix, or say why it is none."""
    if isinstance(W, SignedGraph):
        return W
    W = W if sp.issparse(W) else np.asarray(W)
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise ValueError(f"W must be a square matrix of weights; got shape {W.shape}.")
    if W.shape[0] == 0:
        raise ValueError("W has no points: give at least one.")
    if W.dtype.kind not in "biuf":
        raise ValueError(f"W must hold real numbers; got dtype {W.dtype}.")
    W = sp.csr_array(W, dtype=np.float64) if sp.issparse(W) else W.astype(np.float64)
    if not np.isfinite(W.data if sp.issparse(W) else W).all():
        raise ValueError("W has NaN or infinite weights: set unknown pairs to 0.")
    difference = float(abs(W - W.T).max())
    if difference > 1e-10 * abs(W).max():
        raise ValueError(f"W must be symmetric; W and W.T differ by up to {difference:g}: use (W + W.T) / 2.")
    return SparseGraph(W) if sp.issparse(W) else DenseGraph(W)
