"""Signed graphs, as the updates and initial guesses see them.

A graph is whatever can multiply its weights W by a vector and keep the field s = Wb up to date when one point changes
sides. The diagonal of W adds a constant to b'Wb (Theorem 4) and is left out everywhere.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cut._kernels import add_dense_rows, add_sparse_row, next_improving, sweep_dense, sweep_sparse
from proxcode.cut.result import Partition

Vector = NDArray[np.float64]
Edges = tuple[NDArray[np.int64], NDArray[np.int64], Vector]

BLOCK = 1 << 22  # entries of a large array that are looked at together
SUM_ROUNDING = 2.0**-44  # of the sum of all |w_ij|: what adding up weights may lose, 256 units in the last place


class QuadraticForm(ABC):
    """x'Wx with symmetric W: all that is needed to judge a bit, or to climb."""

    n_nodes: int

    @abstractmethod
    def matvec(self, x: Vector) -> Vector:
        """Return Wx."""

    def value(self, partition: Partition) -> float:
        """Return b'Wb."""
        x = partition.astype(np.float64)
        return float(x @ self.matvec(x))


class SignedGraph(QuadraticForm):
    """Symmetric weights W between `n_nodes` points; positive attracts, negative repels.

    Attributes
    ----------
    nodes : list or None
        What the points are called; None where they are numbers.
    shift : float or None
        What makes W positive semidefinite, once it is known; see `diagonal_shift`.
    """

    nodes: list[Any] | None = None
    shift: float | None = None

    @abstractmethod
    def absolute_degrees(self) -> Vector:
        """Return the sums of |w_ij| over j."""

    @abstractmethod
    def field(self, partition: Partition) -> Vector:
        """Return the field of a partition, in the graph's own form: `next_improving` and `flip` take it back."""

    @abstractmethod
    def local_fields(self, partition: Partition, field: Vector) -> Vector:
        """Return s_i of each point, from the field."""

    @abstractmethod
    def next_improving(self, partition: Partition, field: Vector, tolerance: Vector, start: int) -> int:
        """Return the first point from `start` on with b_i s_i < -tolerance_i, n_nodes where there is none."""

    @abstractmethod
    def flip(self, point: int, partition: Partition, field: Vector) -> None:
        """Move a point to the other side; updates `partition` and `field` in place."""

    def sweep(self, partition: Partition, field: Vector, tolerance: Vector) -> int:
        """Flip each point in turn with b_i s_i < -tolerance_i; returns how many, updates `partition` and `field` in place.

        With a negative tolerance -T e_i, e_i exponential, this is a Metropolis sweep at temperature T.
        """
        flips = 0
        point = self.next_improving(partition, field, tolerance, 0)
        while point < self.n_nodes:
            self.flip(point, partition, field)
            flips += 1
            point = self.next_improving(partition, field, tolerance, point + 1)
        return flips

    def is_satisfied(self, partition: Partition) -> bool:
        """Whether no edge is frustrated; where weights are not stored, up to the rounding of their sum."""
        return self.value(partition) >= (1.0 - SUM_ROUNDING) * float(self.absolute_degrees().sum())

    def edges(self) -> Edges:
        """Return the edges i < j as three arrays: i, j and w_ij."""
        raise ValueError(f"{type(self).__name__} has no list of edges: its weights are not stored.")


class ExplicitGraph(SignedGraph):
    """A graph whose weights are stored: the field is s itself.

    Weights must not change once a graph is cut: what they add up to is kept.
    """

    weights: Any
    _degrees: Vector | None = None

    def absolute_degrees(self) -> Vector:
        if self._degrees is None:
            self._degrees = self._sum_rows()
        return self._degrees

    @abstractmethod
    def _sum_rows(self) -> Vector:
        """Return the sums of |w_ij| over j, anew."""

    @abstractmethod
    def count_edges(self) -> int:
        """Return how many pairs i < j have a weight."""

    @abstractmethod
    def weight_blocks(self) -> Iterator[NDArray[Any]]:
        """Yield the stored weights, of a large array some rows at a time."""

    @abstractmethod
    def divided(self, unit: float) -> "ExplicitGraph":
        """Return a graph with all weights divided by a number."""

    def field(self, partition: Partition) -> Vector:
        return self.matvec(partition.astype(np.float64))

    def local_fields(self, partition: Partition, field: Vector) -> Vector:
        return field

    def next_improving(self, partition: Partition, field: Vector, tolerance: Vector, start: int) -> int:
        return int(next_improving(partition, field, tolerance, start))


class DenseGraph(ExplicitGraph):
    """Weights as a square array of float64 or float32, used as it is; other numbers become float64.

    Taken to be symmetric and finite, which `as_graph` checks. Rows are read, so that a Fortran-ordered array is used as
    its transpose. A small array with a diagonal is copied without it; with a large one it is taken off every product.
    """

    def __init__(self, W: NDArray[Any]) -> None:
        W = np.asarray(W)
        self.weights: NDArray[Any] = W if W.dtype in (np.float64, np.float32) else W.astype(np.float64)
        if not self.weights.flags.c_contiguous:
            self.weights = np.ascontiguousarray(self.weights.T)
        if self.weights.size <= BLOCK and self.weights.diagonal().any():
            self.weights = self.weights.copy()
            np.fill_diagonal(self.weights, 0.0)
        self.diagonal: Vector = self.weights.diagonal().astype(np.float64)
        self.n_nodes = len(self.weights)

    def matvec(self, x: Vector) -> Vector:
        if self.weights.dtype == np.float64:
            return self.weights @ x - self.diagonal * x
        product = np.zeros(self.n_nodes)
        add_dense_rows(self.weights, x, product)
        return product - self.diagonal * x

    def _sum_rows(self) -> Vector:
        sums = [np.abs(self.weights[rows]).sum(axis=1, dtype=np.float64) for rows in row_blocks(self.n_nodes)]
        return np.concatenate(sums) - np.abs(self.diagonal)

    def flip(self, point: int, partition: Partition, field: Vector) -> None:
        partition[point] = -partition[point]
        own = field[point]
        field += (2.0 * partition[point]) * self.weights[point]
        field[point] = own

    def sweep(self, partition: Partition, field: Vector, tolerance: Vector) -> int:
        return int(sweep_dense(self.weights, partition, field, tolerance))

    def count_edges(self) -> int:
        n_entries = sum(int(np.count_nonzero(self.weights[rows])) for rows in row_blocks(self.n_nodes))
        return (n_entries - int(np.count_nonzero(self.diagonal))) // 2

    def weight_blocks(self) -> Iterator[NDArray[Any]]:
        yield from (self.weights[rows] for rows in row_blocks(self.n_nodes))

    def divided(self, unit: float) -> "DenseGraph":
        return DenseGraph(self.weights / unit)

    def is_satisfied(self, partition: Partition) -> bool:
        for rows in row_blocks(self.n_nodes):
            agreeing = self.weights[rows] * partition[rows, None] * partition
            agreeing[np.arange(len(agreeing)), np.arange(rows.start, rows.stop)] = 0
            if (agreeing < 0).any():
                return False
        return True

    def edges(self) -> Edges:
        found = [np.nonzero(np.triu(self.weights[rows], rows.start + 1)) for rows in row_blocks(self.n_nodes)]
        blocks = zip(row_blocks(self.n_nodes), found, strict=True)
        first = np.concatenate([rows.start + i for rows, (i, _) in blocks])
        second = np.concatenate([j for _, j in found])
        return first, second, self.weights[first, second].astype(np.float64)


class SparseGraph(ExplicitGraph):
    """Weights as a scipy.sparse matrix, taken to be symmetric and finite, which `as_graph` checks."""

    def __init__(self, W: Any) -> None:
        self.weights = sp.csr_array(W, dtype=np.float64, copy=True)
        self.weights.sum_duplicates()
        if self.weights.diagonal().any():
            self.weights -= sp.diags_array(self.weights.diagonal())
        self.weights.eliminate_zeros()
        self.n_nodes = self.weights.shape[0]
        if max(self.weights.nnz, self.n_nodes) < 2**31:  # one type wherever it fits: kernels are compiled for each
            self.weights.indptr = self.weights.indptr.astype(np.int32, copy=False)
            self.weights.indices = self.weights.indices.astype(np.int32, copy=False)

    def matvec(self, x: Vector) -> Vector:
        return self.weights @ x

    def _sum_rows(self) -> Vector:
        return np.asarray(abs(self.weights).sum(axis=1)).ravel()

    def flip(self, point: int, partition: Partition, field: Vector) -> None:
        partition[point] = -partition[point]
        W = self.weights
        add_sparse_row(W.indptr, W.indices, W.data, point, 2.0 * partition[point], field)

    def sweep(self, partition: Partition, field: Vector, tolerance: Vector) -> int:
        W = self.weights
        return int(sweep_sparse(W.indptr, W.indices, W.data, partition, field, tolerance))

    def count_edges(self) -> int:
        return int(self.weights.nnz) // 2

    def weight_blocks(self) -> Iterator[NDArray[Any]]:
        yield self.weights.data

    def divided(self, unit: float) -> "SparseGraph":
        return SparseGraph(self.weights / unit)

    def is_satisfied(self, partition: Partition) -> bool:
        own = np.repeat(partition, np.diff(self.weights.indptr))
        return bool((self.weights.data * own * partition[self.weights.indices] >= 0).all())

    def edges(self) -> Edges:
        upper = sp.triu(self.weights, 1).tocoo()
        return upper.row.astype(np.int64), upper.col.astype(np.int64), upper.data


def row_blocks(n: int) -> list[slice]:
    """Return the rows of an n x n array in slices of about BLOCK entries."""
    step = max(1, BLOCK // n)
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def sparse_graph(n: int, first: NDArray[Any], second: NDArray[Any], weight: NDArray[Any]) -> SparseGraph:
    """Return the graph of a list of edges; parallel edges are summed, self-loops ignored."""
    weight = np.asarray(weight, np.float64)
    W = sp.coo_array((weight, (first, second)), shape=(n, n)).tocsr()
    return SparseGraph(W + W.T)
