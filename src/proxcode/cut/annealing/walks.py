# ruff: noqa: D102 (methods are documented in the base class)
"""Walks: the current partition of an annealing search, and the gain of each flip.

A walk keeps its partition b and the stabilities b_i s_i, which give the change of b'Wb by each flip, up to date.
`SparseWalk` and `DenseWalk` pass explicit weights to the kernels; `GraphWalk` uses the interface of `SignedGraph` only,
so that graphs whose weights are never stored can be annealed too.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator
from numpy.typing import NDArray

from proxcode.cut._kernels import anneal_nodes, compute_stability, keep_components, sweep_nodes
from proxcode.cut.annealing.tuning import TUNING
from proxcode.cut.graph import DenseGraph, ExplicitGraph, SignedGraph, SparseGraph, Vector
from proxcode.cut.restarts import RELATIVE_TOLERANCE
from proxcode.cut.result import Partition

Offsets = NDArray[np.int64]
# Sums of multiples of 1/8 are exact in float32 if they stay below this number of eighths.
EXACT_EIGHTHS = 1 << 22


class Walk(ABC):
    """The current partition of a search, with the gain of each flip.

    All sweeps share one lookup table of exponential random numbers e = -log u, each from an offset of its own.
    """

    def __init__(self, graph: SignedGraph, rng: Generator) -> None:
        self.graph = graph
        self.n_nodes = graph.n_nodes
        self.table: NDArray[Any] = rng.exponential(size=TUNING.table_size)
        degrees = graph.absolute_degrees()
        self.tolerance: Vector = RELATIVE_TOLERANCE * degrees
        # The value b'Wb of a partition without frustrated edges.
        self.ceiling = float(degrees.sum())
        self.flips = 0

    @property
    @abstractmethod
    def partition(self) -> Partition:
        """A copy of the partition."""

    @property
    @abstractmethod
    def value(self) -> float:
        """Return b'Wb."""

    @abstractmethod
    def place(self, partition: Partition) -> None:
        """Make this partition the current one."""

    @abstractmethod
    def anneal(self, temperatures: Vector, offsets: Offsets) -> None:
        """Make one Metropolis sweep for each temperature T: node i is flipped if b_i s_i < T e_i."""

    @abstractmethod
    def _sweep(self) -> int:
        """Flip each node in turn whose flip improves; returns the number of flips."""

    @abstractmethod
    def row_norms(self, rng: Generator) -> Vector:
        """Return sqrt(sum_j w_ij^2), the root mean square local field of each node over random partitions."""

    def descend(self) -> None:
        """Flip nodes until no flip improves."""
        while flips := self._sweep():
            self.flips += flips

    def product(self, x: Vector) -> Vector:
        """Return Wx in the precision of the walk."""
        return self.graph.matvec(x)

    def sweep_work(self) -> float:
        """Return the approximate number of weights that a sweep reads."""
        return float(self.n_nodes) ** 2

    def better(self, first: Partition, second: Partition) -> Partition:
        """Return the partition with the larger value, the first one if they are equal."""
        values = []
        for partition in (first, second):
            self.place(partition)
            values.append(self.value)
        return first if values[0] >= values[1] else second

    def combine(self, best: Partition, other: Partition) -> Partition:
        """Return the better one, or a partition composed of both that is at least as good."""
        return self.better(best, other)


class ExplicitWalk(Walk):
    """A walk on stored weights, with b and b_i s_i as arrays of floats of the type `kind`."""

    graph: ExplicitGraph

    def __init__(self, graph: ExplicitGraph, rng: Generator, kind: Any = np.float64) -> None:
        super().__init__(graph, rng)
        self._rows = graph.rows
        self._signs: NDArray[Any] = np.ones(self.n_nodes, kind)
        self._stability: NDArray[Any] = np.empty(self.n_nodes, kind)
        self.table = self.table.astype(kind)

    @property
    def partition(self) -> Partition:
        return self._signs.astype(np.int8)

    @property
    def value(self) -> float:
        return float(self._stability.sum(dtype=np.float64))

    def place(self, partition: Partition) -> None:
        self._signs[:] = partition
        compute_stability(self._rows, self._signs, self._stability)

    def anneal(self, temperatures: Vector, offsets: Offsets) -> None:
        scaled = temperatures.astype(self._signs.dtype)
        self.flips += anneal_nodes(self._rows, self._signs, self._stability, self.table, offsets, scaled)

    def _sweep(self) -> int:
        return int(sweep_nodes(self._rows, self._signs, self._stability, self.tolerance))


class SparseWalk(ExplicitWalk):
    """A walk on weights that are stored by rows."""

    def __init__(self, graph: SparseGraph, rng: Generator) -> None:
        kind = np.float32 if _exact_in_float32(graph) else np.float64
        super().__init__(graph, rng, kind)
        indptr, indices, data = graph.rows
        self._rows = indptr.astype(np.int32), indices.astype(np.int32), data.astype(kind)

    def row_norms(self, rng: Generator) -> Vector:
        unit = _unit(self.graph.weights.data)
        squares = (self.graph.weights / unit) ** 2
        return unit * np.sqrt(np.asarray(squares.sum(axis=1)).ravel())

    def sweep_work(self) -> float:
        return float(self.n_nodes + len(self._rows[2]))

    def combine(self, best: Partition, other: Partition) -> Partition:
        """Adopt each connected component of the difference to other, or to -other if nearer, that does not hurt."""
        mixed = best.astype(self._signs.dtype)
        nearer = other if 2 * np.count_nonzero(best != other) <= self.n_nodes else -other
        keep_components(self._rows, mixed, nearer.astype(self._signs.dtype))
        self.place(mixed.astype(np.int8))
        self.descend()
        return self.partition


class DenseWalk(ExplicitWalk):
    """A walk on a square array, which is not copied and whose diagonal is ignored."""

    graph: DenseGraph

    def row_norms(self, rng: Generator) -> Vector:
        unit = max(map(_unit, self.graph.weight_blocks()))
        blocks = (block / unit for block in self.graph.weight_blocks())
        squares = np.concatenate([np.einsum("ij,ij->i", block, block) for block in blocks])
        return unit * np.sqrt(np.maximum(squares - (self.graph.diagonal / unit) ** 2, 0.0))

    def product(self, x: Vector) -> Vector:
        weights = self.graph.weights
        return (weights @ x.astype(weights.dtype)).astype(np.float64) - self.graph.diagonal * x


class GraphWalk(Walk):
    """A walk through the interface of `SignedGraph`, for weights that are not stored."""

    def __init__(self, graph: SignedGraph, rng: Generator) -> None:
        super().__init__(graph, rng)
        self._nodes = np.arange(self.n_nodes)
        self.place(np.ones(self.n_nodes, np.int8))

    @property
    def partition(self) -> Partition:
        return self._signs.copy()

    @property
    def value(self) -> float:
        return float(self._signs @ self.graph.local_fields(self._signs, self._field))

    def place(self, partition: Partition) -> None:
        self._signs: Partition = partition.copy()
        self._field: Vector = self.graph.field(self._signs)

    def anneal(self, temperatures: Vector, offsets: Offsets) -> None:
        for temperature, offset in zip(temperatures, offsets, strict=True):
            drawn = self.table[(offset + self._nodes) % TUNING.table_size]
            self.flips += self.graph.sweep(self._signs, self._field, -temperature * drawn)

    def _sweep(self) -> int:
        return self.graph.sweep(self._signs, self._field, self.tolerance)

    def row_norms(self, rng: Generator) -> Vector:
        """Estimate the norms from four random partitions: the mean square of s_i is sum_j w_ij^2."""
        fields = np.array([self.graph.matvec(rng.choice([-1.0, 1.0], self.n_nodes)) for _ in range(4)])
        unit = _unit(fields)
        return unit * np.sqrt(np.mean(np.square(fields / unit), axis=0))


def is_dense(graph: ExplicitGraph) -> bool:
    """Whether more than a quarter of all pairs of nodes have an edge."""
    return 2 * graph.count_edges() > TUNING.dense_share * graph.n_nodes**2


def walk_on(graph: SignedGraph, rng: Generator) -> Walk:
    """Return the walk that suits a graph."""
    if not isinstance(graph, DenseGraph | SparseGraph):
        return GraphWalk(graph, rng)
    if isinstance(graph, SparseGraph):
        return DenseWalk(DenseGraph(graph.weights.toarray()), rng) if is_dense(graph) else SparseWalk(graph, rng)
    return DenseWalk(graph, rng) if is_dense(graph) else SparseWalk(SparseGraph(sp.csr_array(graph.weights)), rng)


def _unit(values: NDArray[Any]) -> float:
    """Return the largest |value|, or 1 if all are 0: squares of values divided by it neither overflow nor vanish."""
    return float(max(values.max(initial=0.0), -values.min(initial=0.0))) or 1.0


def _exact_in_float32(graph: SparseGraph) -> bool:
    eighths = 8.0 * graph.weights.data
    largest = 8.0 * float(graph.absolute_degrees().max(initial=0.0))
    return largest < EXACT_EIGHTHS and bool((eighths == np.rint(eighths)).all())
