"""Units: points with equal rows of W, and the sums over pairs of them.

A pair weighs near_table[h] or far_table[h], h being its Hamming distance. `UnitPairs` knows which pairs of units are
near and visits all of them with the right table; sums run over units with their sizes, never over a stored matrix.

1. `Units.counts` gives the near and far histograms for Step I,
2. `Units.graph` gives the signed graph of Step II, `Units.form` what bits are judged by,
3. `SampledUnits` and `SampledForm` do the same over drawn points.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cut import SignedGraph
from proxcode.cut.graph import QuadraticForm, Vector
from proxcode.cut.result import Partition
from proxcode.hamming import GrowingCode, Words
from proxcode.pairs._kernels import (
    add_class_field,
    add_class_row,
    add_cross_field,
    add_list_field,
    add_list_row,
    add_mask_field,
    add_mask_row,
    count_masks,
    count_ranges,
    list_distances,
    next_improving,
    sweep_classes,
)

Index = NDArray[np.int64]
Table = NDArray[np.float64]
Planes = tuple[NDArray[np.uint64], ...]

PARALLEL_PAIRS = 10_000_000  # below this, some milliseconds' work, waiting for other threads costs more than they save


@contextmanager
def threads_for(n_pairs: int) -> Iterator[None]:
    """Let kernels use one thread where the work is small."""
    n_threads = numba.get_num_threads()
    numba.set_num_threads(n_threads if n_pairs > PARALLEL_PAIRS else 1)
    try:
        yield
    finally:
        numba.set_num_threads(n_threads)


class UnitPairs(ABC):
    """Which pairs of units are near, visited without being stored where they are many."""

    @abstractmethod
    def near_counts(self, words: Planes, size: Index, n_bits: int) -> Index:
        """Histogram of the near pairs of points of different units over h = 0..n_bits."""

    @abstractmethod
    def add_field(self, words: Planes, near: Table, far: Table, x: Vector, out: Vector) -> None:
        """out[i] += sum of w_ij x[j] over the units j other than i."""

    @abstractmethod
    def add_row(self, words: Planes, near: Table, far: Table, i: int, step: float, field: Vector) -> None:
        """field[j] += step * w_ij for the units j other than i."""


@dataclass(frozen=True)
class ClassRanges(UnitPairs):
    """Units sorted by class: those near unit i are lower[i] to upper[i] - 1, itself among them."""

    lower: Index
    upper: Index

    def near_counts(self, words: Planes, size: Index, n_bits: int) -> Index:
        return count_ranges(words, size, self.upper, n_bits)

    def add_field(self, words: Planes, near: Table, far: Table, x: Vector, out: Vector) -> None:
        add_class_field(words, near, far, x, self.lower, self.upper, out)

    def add_row(self, words: Planes, near: Table, far: Table, i: int, step: float, field: Vector) -> None:
        add_class_row(words, near, far, i, step, int(self.lower[i]), int(self.upper[i]), field)


@dataclass(frozen=True)
class LabelMasks(UnitPairs):
    """Label sets as bit masks, shape (n_mask_words, n_units): near where two masks meet."""

    masks: Words

    def near_counts(self, words: Planes, size: Index, n_bits: int) -> Index:
        return count_masks(words, self.masks, size, n_bits)

    def add_field(self, words: Planes, near: Table, far: Table, x: Vector, out: Vector) -> None:
        add_mask_field(words, near, far, x, self.masks, out)

    def add_row(self, words: Planes, near: Table, far: Table, i: int, step: float, field: Vector) -> None:
        add_mask_row(words, near, far, i, step, self.masks, field)


@dataclass(frozen=True)
class NeighborLists(UnitPairs):
    """Near points listed row by row in rising order, each pair in both rows, each point in its own; a unit each."""

    indptr: Index
    indices: Index

    def near_counts(self, words: Planes, size: Index, n_bits: int) -> Index:
        first = np.repeat(np.arange(len(size)), np.diff(self.indptr))
        once = first < self.indices
        distance = list_distances(words, first[once], self.indices[once])
        return np.bincount(distance, minlength=n_bits + 1)

    def add_field(self, words: Planes, near: Table, far: Table, x: Vector, out: Vector) -> None:
        add_list_field(words, near, far, x, self.indptr, self.indices, out)

    def add_row(self, words: Planes, near: Table, far: Table, i: int, step: float, field: Vector) -> None:
        add_list_row(words, near, far, i, step, self.indptr, self.indices, field)


@dataclass(frozen=True)
class Units:
    """Points of equal rows of W merged, for relations in which every pair is near or far.

    Attributes
    ----------
    words : tuple of n_words ndarrays of uint64, shape (n_units,)
    unit_of : ndarray of int, shape (n_samples,)
    size : ndarray of int, shape (n_units,)
        Points in each unit.
    near_itself : ndarray of bool, shape (n_units,)
        Whether two points of a unit are near.
    pairs : UnitPairs
    n_bits : int
    """

    words: Planes
    unit_of: Index
    size: Index
    near_itself: NDArray[np.bool_]
    pairs: UnitPairs
    n_bits: int
    points = None  # the graph is over all

    def counts(self) -> tuple[Index, Index]:
        """Return the histograms of near and of far pairs over h = 0..n_bits."""
        n_units = len(self.size)
        with threads_for(n_units**2):
            everything = count_ranges(self.words, self.size, np.full(n_units, n_units), self.n_bits)
            near = self.pairs.near_counts(self.words, self.size, self.n_bits)
        within = self.size * (self.size - 1) // 2
        everything[0] += within.sum()
        near[0] += within[self.near_itself].sum()
        return near, everything - near

    def graph(self, near_table: Table, far_table: Table) -> "CodeGraph":
        """Return the graph of the weights looked up in the two tables."""
        return CodeGraph(self, near_table, far_table)

    def form(self, near_table: Table, far_table: Table) -> "Form":
        """Return what bits are judged by: the graph itself."""
        return Form(self.graph(near_table, far_table), None)


@dataclass(frozen=True)
class SampledUnits:
    """Sums over the pairs of some points, standing for all.

    Attributes
    ----------
    points : ndarray of int
        In rising order.
    part : Units
        Of these points.
    near_factor : float
        What a near pair counts for against a far one; other than 1 where near pairs were drawn more or less often.
    """

    points: Index
    part: Units
    near_factor: float = 1.0

    def counts(self) -> tuple[Index, Index]:
        """Return the histograms of near and of far pairs over h = 0..n_bits."""
        near, far = self.part.counts()
        return np.ceil(near * self.near_factor).astype(np.int64), far

    def graph(self, near_table: Table, far_table: Table) -> "CodeGraph":
        """Return the graph between these points."""
        return self.part.graph(near_table * self.near_factor, far_table)

    def form(self, near_table: Table, far_table: Table) -> "Form":
        """Return what bits are judged by."""
        return Form(self.graph(near_table, far_table), self.points)


class Form(NamedTuple):
    """What bits are judged by, and the points that it is over; None is all."""

    form: QuadraticForm
    points: Index | None


class SampledForm(QuadraticForm):
    """Near weights of all points, exact; far weights between all points and drawn ones, each standing for several.

    A far pair with both points drawn is met twice, with one of them drawn once, otherwise never; on average as often as
    `factor` makes up for. The kernel sums far weights over all pairs, and those of near pairs are taken off again.
    """

    def __init__(
        self, lists: NeighborLists, code: GrowingCode, tables: tuple[Table, Table], points: Index, factor: float
    ) -> None:
        near_table, far_table = tables
        self.n_nodes = len(lists.indptr) - 1
        self.words: Planes = tuple(code.words)
        self.drawn_words: Planes = tuple(np.ascontiguousarray(word[points]) for word in code.words)
        self.points, self.far_table = points, factor * far_table
        rows, columns = np.repeat(np.arange(self.n_nodes), np.diff(lists.indptr)), lists.indices
        is_drawn = np.zeros(self.n_nodes)
        is_drawn[points] = 1.0
        with threads_for(len(rows)):
            distance = list_distances(self.words, rows, columns)
        weights = np.where(rows == columns, 0.0, near_table[distance])
        weights -= (is_drawn[rows] + is_drawn[columns]) * self.far_table[distance]
        self.corrections = sp.csr_array((weights, columns, lists.indptr), shape=(self.n_nodes, self.n_nodes))

    def matvec(self, x: Vector) -> Vector:
        out: Vector = self.corrections @ x
        to_drawn = np.zeros(len(self.points))
        with threads_for(len(out) * len(to_drawn)):
            add_cross_field(self.words, np.arange(len(out)), self.far_table, self.drawn_words, x[self.points], out)
            add_cross_field(self.words, self.points, self.far_table, self.words, x, to_drawn)
        out[self.points] += to_drawn
        return out


class CodeGraph(SignedGraph):
    """W as two tables over Hamming distance; its field is that of units and holds each point's own term.

    Near and far pairs are summed apart, never as a difference: once a code separates its points, their weights differ
    by many orders of magnitude, and what matters is in the small ones.
    """

    def __init__(self, units: Units, near_table: Table, far_table: Table) -> None:
        self.units = units
        self.near_table, self.far_table = near_table, far_table
        self.n_nodes = len(units.unit_of)
        # The weight between two points of a unit; where there is but one point, there is no such pair.
        within = np.where(units.near_itself, near_table[0], far_table[0])
        self.own: Vector = np.where(units.size > 1, within, 0.0)

    def matvec(self, x: Vector) -> Vector:
        return self._unit_field(x)[self.units.unit_of] - self.own[self.units.unit_of] * x

    def absolute_degrees(self) -> Vector:
        # Near weights are positive and far ones negative, so |W| is a graph of the same form.
        absolute = CodeGraph(self.units, self.near_table, -self.far_table)
        return absolute.matvec(np.ones(self.n_nodes))

    def field(self, side: Partition) -> Vector:
        return self._unit_field(side.astype(np.float64))

    def local_fields(self, side: Partition, field: Vector) -> Vector:
        return field[self.units.unit_of] - self.own[self.units.unit_of] * side

    def next_improving(self, side: Partition, field: Vector, tolerance: Vector, start: int) -> int:
        return int(next_improving(side, field, self.units.unit_of, self.own, tolerance, start))

    def flip(self, point: int, side: Partition, field: Vector) -> None:
        side[point] = -side[point]
        units, unit, step = self.units, int(self.units.unit_of[point]), 2.0 * float(side[point])
        field[unit] += step * self.own[unit]
        units.pairs.add_row(units.words, self.near_table, self.far_table, unit, step, field)

    def sweep(self, side: Partition, field: Vector, tolerance: Vector) -> int:
        units, pairs = self.units, self.units.pairs
        if not isinstance(pairs, ClassRanges):
            return super().sweep(side, field, tolerance)
        tables = (self.near_table, self.far_table)
        own = (units.unit_of, self.own)
        return int(sweep_classes(units.words, *tables, pairs.lower, pairs.upper, *own, tolerance, side, field))

    def _unit_field(self, x: Vector) -> Vector:
        units = self.units
        sums = np.bincount(units.unit_of, weights=x, minlength=len(units.size)).astype(np.float64, copy=False)
        out = self.own * sums
        with threads_for(len(out) ** 2):
            units.pairs.add_field(units.words, self.near_table, self.far_table, sums, out)
        return out
