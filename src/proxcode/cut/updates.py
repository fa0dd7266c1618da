"""The paper's two local searches: Algorithm 1, vector update, and Algorithm 2, bit update.

Both take a partition b and return one that is at least as good: b'Wb never falls.
"""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from proxcode.cut.graph import SignedGraph
from proxcode.cut.result import Cut, Partition
from proxcode.cut.spectral import diagonal_shift

# A point moves when its field is more than this part of its weights: far above rounding, far below any gain worth it.
RELATIVE_TOLERANCE = 1e-10


class LocalSearch(ABC, BaseEstimator):
    """A way to improve a partition."""

    @abstractmethod
    def improve(self, graph: SignedGraph, partition: Partition, rng: np.random.Generator) -> Cut:
        """Return a partition no worse than `partition`, which is left as it is."""


class NoUpdate(LocalSearch):
    """The initial guess as it is, to study it on its own."""

    def improve(self, graph: SignedGraph, partition: Partition, rng: np.random.Generator) -> Cut:
        """Return the same partition."""
        return Cut(partition, graph.value(partition), flips=0, sweeps=0)


class BitUpdate(LocalSearch):
    """Algorithm 2: point after point takes the side its field asks for, until a sweep changes none.

    The field s = Wb is kept; a flip costs one row of W, a sweep its number of flips. A point with no field stays.
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
        return Cut(partition, float(partition @ graph.local_fields(partition, field)), flips, sweeps)


class VectorUpdate(LocalSearch):
    """Algorithm 1: all points at once, b <- sign((W + |lambda_min| I) b), until nothing changes.

    The shift makes the matrix positive semidefinite, so that no step lowers b'Wb (Theorems 1 to 4).
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
        return Cut(partition, graph.value(partition), flips, sweeps)
