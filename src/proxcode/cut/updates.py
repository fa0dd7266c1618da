"""The paper's two local searches: Algorithm 1, vector update, and Algorithm 2, bit update.

Both take a partition b and return one that is at least as good: b'Wb never decreases.
"""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from proxcode.cut.graph import SignedGraph
from proxcode.cut.result import Cut, Partition
from proxcode.cut.spectral import diagonal_shift

# A node is flipped if its field exceeds this part of its absolute weights: far above rounding errors and far below
# any gain of interest.
RELATIVE_TOLERANCE = 1e-10


class LocalSearch(ABC, BaseEstimator):
    """Base class of local searches."""

    @abstractmethod
    def improve(self, graph: SignedGraph, partition: Partition, rng: np.random.Generator) -> Cut:
        """Return a partition no worse than `partition`, which is not changed."""


class NoUpdate(LocalSearch):
    """The initial guess without any improvement, to study it on its own."""

    def improve(self, graph: SignedGraph, partition: Partition, rng: np.random.Generator) -> Cut:
        """Return the same partition."""
        return Cut(partition=partition, value=graph.value(partition), flips=0, sweeps=0)


class BitUpdate(LocalSearch):
    """Algorithm 2: each node in turn takes the sign of its field, until a sweep changes none.

    The field s = Wb is kept up to date: a flip costs one row of W, and a sweep as many rows as it makes flips. A node
    whose field is 0 is not flipped.
    """

    def improve(self, graph: SignedGraph, partition: Partition, rng: np.random.Generator) -> Cut:
        """Return a partition that no single flip improves."""
        partition = partition.copy()
        field = graph.field(partition)
        tolerance = RELATIVE_TOLERANCE * graph.absolute_degrees()
        flips, sweeps, flips_before = 0, 0, -1
        while flips > flips_before:
            flips_before = flips
            flips += graph.sweep(partition, field, tolerance)
            sweeps += 1
        value = float(partition @ graph.local_fields(partition, field))
        return Cut(partition=partition, value=value, flips=flips, sweeps=sweeps)


class VectorUpdate(LocalSearch):
    """Algorithm 1: all nodes at once, b <- sign((W + |lambda_min| I) b), until nothing changes.

    The shift makes the matrix positive semidefinite, so that no step decreases b'Wb (Theorems 1 to 4).
    """

    def improve(self, graph: SignedGraph, partition: Partition, rng: np.random.Generator) -> Cut:
        """Return a fixed point of the update."""
        shift = diagonal_shift(graph)
        tolerance = RELATIVE_TOLERANCE * (graph.absolute_degrees() + shift)
        flips, sweeps, changed = 0, 0, 1
        while changed:
            b = partition.astype(np.float64)
            shifted_field = graph.matvec(b) + shift * b
            updated = np.where(b * shifted_field < -tolerance, -partition, partition)
            changed = int((updated != partition).sum())
            partition, flips, sweeps = updated, flips + changed, sweeps + 1
        return Cut(partition=partition, value=graph.value(partition), flips=flips, sweeps=sweeps)
