"""Signed graphs, in the form that searches and initial guesses use.

A graph multiplies its weights W by a vector and keeps the field s = Wb of a partition b up to date when one node is
flipped. The diagonal of W adds a constant to b'Wb (Theorem 4) and is left out everywhere.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cut._kernels import add_dense_rows, sweep_fields
from proxcode.cut.result import Partition

Vector = NDArray[np.float64]
Edges = tuple[NDArray[np.int64], NDArray[np.int64], Vector]

# Number of entries of a large array that are processed together.
BLOCK = 1 << 22
# Rounding error of a sum of weights, relative to the sum of all |w_ij|: 256 units in the last place.
SUM_ROUNDING = 2.0**-44


class QuadraticForm(ABC):
    """Quadratic form x'Wx with symmetric W: scores a bit and gives the direction of its refinement."""

    n_nodes: int

    @abstractmethod
    def matvec(self, x: Vector) -> Vector:
        """Return Wx."""

    def value(self, partition: Partition) -> float:
        """Return b'Wb."""
        x = partition.astype(np.float64)
        return float(x @ self.matvec(x))


class SignedGraph(QuadraticForm):
    """Symmetric weights W between `n_nodes` nodes; positive attracts, negative repels.

    Attributes
    ----------
    nodes : list or None
        Names of the nodes; None where they are numbers.
    shift : float or None
        Multiple of the identity that makes W positive semidefinite, once it has been computed; see `diagonal_shift`.
    """

    nodes: list[Any] | None = None
    shift: float | None = None

    @abstractmethod
    def absolute_degrees(self) -> Vector:
        """Return the sums of `|w_ij|` over j."""

    @abstractmethod
    def field(self, partition: Partition) -> Vector:
        """Return the field of a partition in the graph's own form, as `next_improving` and `flip` expect it."""

    @abstractmethod
    def local_fields(self, partition: Partition, field: Vector) -> Vector:
        """Return s_i of each node, computed from the field."""

    @abstractmethod
    def next_improving(self, partition: Partition, field: Vector, tolerance: Vector, start: int) -> int:
        """Return the first node from `start` on with b_i s_i < -tolerance_i, or n_nodes if there is none."""

    @abstractmethod
    def flip(self, node: int, partition: Partition, field: Vector) -> None:
        """Flip one node; updates `partition` and `field` in place."""

    def sweep(self, partition: Partition, field: Vector, tolerance: Vector) -> int:
        """Flip each node in turn with b_i s_i < -tolerance_i.

        Updates `partition` and `field` in place and returns the number of flips. With a negative tolerance -T e_i,
        where e_i is exponentially distributed, this is a Metropolis sweep at temperature T.
        """
        flips = 0
        node = self.next_improving(partition, field, tolerance, 0)
        while node < self.n_nodes:
            self.flip(node, partition, field)
            flips += 1
            node = self.next_improving(partition, field, tolerance, node + 1)
        return flips

    def is_satisfied(self, partition: Partition) -> bool:
        """Whether no edge is frustrated; if weights are not stored, up to the rounding of their sum."""
        return self.value(partition) >= (1.0 - SUM_ROUNDING) * float(self.absolute_degrees().sum())

    def edges(self) -> Edges:
        """Return the edges i < j as three arrays: i, j and w_ij."""
        raise ValueError(f"{type(self).__name__} does not store its weights: its edges cannot be listed")


class ExplicitGraph(SignedGraph):
    """A graph whose weights are stored; its field is s itself.

    Weights must not change once a graph is cut, because their sums are cached.
    """

    weights: Any

    @abstractmethod
    def __init__(self, W: Any) -> None:
        """Store the weights."""

    def absolute_degrees(self) -> Vector:
        return self._degrees

    @cached_property
    @abstractmethod
    def _degrees(self) -> Vector:
        """Sums of `|w_ij|` over j."""

    @abstractmethod
    def count_edges(self) -> int:
        """Return the number of pairs i < j with a weight other than 0."""

    @abstractmethod
    def weight_blocks(self) -> Iterator[NDArray[Any]]:
        """Yield the stored weights; those of a large array in blocks of rows."""

    @property
    @abstractmethod
    def rows(self) -> tuple[NDArray[Any], ...]:
        """The weights as `_kernels` reads them."""

    def field(self, partition: Partition) -> Vector:
        return self.matvec(partition.astype(np.float64))

    def local_fields(self, partition: Partition, field: Vector) -> Vector:
        return field

    def next_improving(self, partition: Partition, field: Vector, tolerance: Vector, start: int) -> int:
        improving = np.flatnonzero(partition[start:] * field[start:] < -tolerance[start:])
        return start + int(improving[0]) if improving.size else self.n_nodes

    def flip(self, node: int, partition: Partition, field: Vector) -> None:
        row, own = self.weights[[node]], field[node]
        partition[node] = -partition[node]
        field += 2.0 * partition[node] * (row.toarray() if sp.issparse(row) else row)[0]
        field[node] = own

    def sweep(self, partition: Partition, field: Vector, tolerance: Vector) -> int:
        return int(sweep_fields(self.rows, partition, field, tolerance))


class DenseGraph(ExplicitGraph):
    """Weights as a square array of float64 or float32, used without a copy; other types are converted to float64.

    The array must be symmetric and finite, which `as_graph` checks. Weights are read by rows, so that the transpose of
    a Fortran-ordered array is used. A small array with a diagonal is copied without it; the diagonal of a large one is
    subtracted from every product.
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

    @cached_property
    def _degrees(self) -> Vector:
        sums = [np.abs(block).sum(axis=1, dtype=np.float64) for block in self.weight_blocks()]
        return np.concatenate(sums) - np.abs(self.diagonal)

    @property
    def rows(self) -> tuple[NDArray[Any], ...]:
        return (self.weights,)

    def count_edges(self) -> int:
        n_entries = sum(int(np.count_nonzero(block)) for block in self.weight_blocks())
        return (n_entries - int(np.count_nonzero(self.diagonal))) // 2

    def weight_blocks(self) -> Iterator[NDArray[Any]]:
        yield from (self.weights[rows] for rows in row_blocks(self.n_nodes))

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
    """Weights as a scipy.sparse matrix, copied; it must be symmetric and finite, which `as_graph` checks."""

    def __init__(self, W: Any) -> None:
        self.weights = sp.csr_array(W, dtype=np.float64, copy=True)
        self.weights.sum_duplicates()
        if self.weights.diagonal().any():
            self.weights -= sp.diags_array(self.weights.diagonal())
        self.weights.eliminate_zeros()
        self.n_nodes = self.weights.shape[0]
        # One type of indices wherever it fits, because kernels are compiled for each type.
        if max(self.weights.nnz, self.n_nodes) < 2**31:
            self.weights.indptr = self.weights.indptr.astype(np.int32, copy=False)
            self.weights.indices = self.weights.indices.astype(np.int32, copy=False)

    def matvec(self, x: Vector) -> Vector:
        return self.weights @ x

    @cached_property
    def _degrees(self) -> Vector:
        return np.asarray(abs(self.weights).sum(axis=1)).ravel()

    @property
    def rows(self) -> tuple[NDArray[Any], ...]:
        return self.weights.indptr, self.weights.indices, self.weights.data

    def count_edges(self) -> int:
        return int(self.weights.nnz) // 2

    def weight_blocks(self) -> Iterator[NDArray[Any]]:
        yield self.weights.data

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
    """Return the graph of edges between nodes 0 to n - 1; repeated and opposite edges are summed, loops ignored."""
    weight = np.asarray(weight, np.float64)
    W = sp.coo_array((weight, (first, second)), shape=(n, n)).tocsr()
    return SparseGraph(W + W.T)
