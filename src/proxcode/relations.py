"""Which pairs are near and which far, in the forms the kernels read.

The weights of a code are W = far_table[h] for all pairs, plus (near_table - far_table)[h] for the near ones: a sum over
all pairs that is the same for every relation, and a part over the near pairs that each relation knows how to visit.
Points with equal rows of W (same class, same code) are one *unit* with a size; sums run over units.

1. a `Relation` groups the points of a code into `Units`,
2. `Units.counts` gives the near and far histograms for Step I,
3. `Units.graph` gives the signed graph of Step II.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode import _kernels
from proxcode.cut import SignedGraph, SparseGraph
from proxcode.cut.graph import Side, Vector
from proxcode.hamming import GrowingCode, Words

Index = NDArray[np.int64]
Table = NDArray[np.float64]


class NearPairs(ABC):
    """The near pairs between units, visited without being stored where they are many."""

    @abstractmethod
    def with_self(self, n_units: int) -> NDArray[np.bool_]:
        """Whether two points of one unit are near."""

    @abstractmethod
    def counts(self, words: Words, size: Index, n_bits: int) -> Index:
        """Histogram of the near pairs of different units over h = 0..n_bits."""

    @abstractmethod
    def add_field(self, words: Words, table: Table, x: Vector, out: Vector) -> None:
        """out[i] += sum of table[h(i, j)] x[j] over the units j near i."""

    @abstractmethod
    def add_row(self, words: Words, table: Table, i: int, step: float, field: Vector) -> None:
        """field[j] += step * table[h(i, j)] for the units j near i."""


@dataclass(frozen=True)
class ClassRanges(NearPairs):
    """Units sorted by class: those near unit i are lower[i] to upper[i] - 1, itself among them."""

    lower: Index
    upper: Index

    def with_self(self, n_units: int) -> NDArray[np.bool_]:
        return np.ones(n_units, bool)

    def counts(self, words: Words, size: Index, n_bits: int) -> Index:
        return _kernels.count_ranges(tuple(words), size, self.upper, n_bits)

    def add_field(self, words: Words, table: Table, x: Vector, out: Vector) -> None:
        _kernels.add_range_field(tuple(words), table, x, self.lower, self.upper, out)

    def add_row(self, words: Words, table: Table, i: int, step: float, field: Vector) -> None:
        _kernels.add_range_row(tuple(words), table, i, step, self.lower[i], self.upper[i], field)


@dataclass(frozen=True)
class LabelMasks(NearPairs):
    """Label sets as bit masks, shape (n_mask_words, n_units): near where two masks meet."""

    masks: Words

    def with_self(self, n_units: int) -> NDArray[np.bool_]:
        return (self.masks != 0).any(axis=0)

    def counts(self, words: Words, size: Index, n_bits: int) -> Index:
        return _kernels.count_masks(tuple(words), self.masks, size, n_bits)

    def add_field(self, words: Words, table: Table, x: Vector, out: Vector) -> None:
        _kernels.add_mask_field(tuple(words), self.masks, table, x, out)

    def add_row(self, words: Words, table: Table, i: int, step: float, field: Vector) -> None:
        _kernels.add_mask_row(tuple(words), self.masks, table, i, step, field)


@dataclass(frozen=True)
class NeighborLists(NearPairs):
    """Near units listed row by row, each pair in both rows, none with itself."""

    indptr: Index
    indices: Index

    def with_self(self, n_units: int) -> NDArray[np.bool_]:
        return np.zeros(n_units, bool)

    def counts(self, words: Words, size: Index, n_bits: int) -> Index:
        first = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        once = first < self.indices
        distance = _kernels.list_distances(tuple(words), first[once], self.indices[once])
        return np.bincount(distance, minlength=n_bits + 1)

    def add_field(self, words: Words, table: Table, x: Vector, out: Vector) -> None:
        _kernels.add_list_field(tuple(words), self.indptr, self.indices, table, x, out)

    def add_row(self, words: Words, table: Table, i: int, step: float, field: Vector) -> None:
        _kernels.add_list_row(tuple(words), self.indptr, self.indices, table, i, step, field)


class Relation(ABC):
    """Near, far and unknown pairs of `n_points` points."""

    n_points: int

    @abstractmethod
    def units(self, code: GrowingCode) -> "Units | ListedUnits":
        """Group the points of a code into units of equal rows of W."""


class SameClass(Relation):
    """Near where the classes are equal; classes are the integers 0, 1, ..."""

    def __init__(self, classes: Index) -> None:
        self.classes = classes
        self.n_points = len(classes)

    def units(self, code: GrowingCode) -> "Units":
        words, keys, unit_of, size = _group(code.words, self.classes[None])
        lower = np.searchsorted(keys[0], keys[0], side="left")
        upper = np.searchsorted(keys[0], keys[0], side="right")
        return Units(words, unit_of, size, ClassRanges(lower, upper), code.n_bits)


class SharedClass(Relation):
    """Near where two label sets meet; sets are bit masks of shape (n_mask_words, n)."""

    def __init__(self, masks: Words) -> None:
        self.masks = masks
        self.n_points = masks.shape[1]

    def units(self, code: GrowingCode) -> "Units":
        words, masks, unit_of, size = _group(code.words, self.masks)
        return Units(words, unit_of, size, LabelMasks(masks), code.n_bits)


class ListedNear(Relation):
    """Near where listed, far elsewhere; `near` is a symmetric sparse matrix without a diagonal."""

    def __init__(self, near: sp.csr_array) -> None:
        self.near = NeighborLists(near.indptr.astype(np.int64), near.indices.astype(np.int64))
        self.n_points = near.shape[0]

    def units(self, code: GrowingCode) -> "Units":
        points = np.arange(self.n_points)
        return Units(code.words, points, np.ones_like(points), self.near, code.n_bits)


class ListedPairs(Relation):
    """Near or far where listed, unknown elsewhere: pairs first[k] < second[k] with near[k] true or false."""

    def __init__(self, first: Index, second: Index, near: NDArray[np.bool_], n_points: int) -> None:
        self.first, self.second, self.near, self.n_points = first, second, near, n_points

    def units(self, code: GrowingCode) -> "ListedUnits":
        distance = _kernels.list_distances(tuple(code.words), self.first, self.second)
        return ListedUnits(self, distance, code.n_bits)


@dataclass(frozen=True)
class Units:
    """Points of equal rows of W merged, for relations in which every pair is near or far.

    Attributes
    ----------
    words : ndarray of uint64, shape (n_words, n_units)
    unit_of : ndarray of int, shape (n_points,)
    size : ndarray of int, shape (n_units,)
        Points in each unit.
    near : NearPairs
    n_bits : int
    """

    words: Words
    unit_of: Index
    size: Index
    near: NearPairs
    n_bits: int

    def counts(self) -> tuple[Index, Index]:
        """Return the histograms of near and of far pairs over h = 0..n_bits."""
        n_units = len(self.size)
        everything = _kernels.count_ranges(tuple(self.words), self.size, np.full(n_units, n_units), self.n_bits)
        near = self.near.counts(self.words, self.size, self.n_bits)
        within = self.size * (self.size - 1) // 2
        everything[0] += within.sum()
        near[0] += within[self.near.with_self(n_units)].sum()
        return near, everything - near

    def graph(self, near_table: Table, far_table: Table) -> "CodeGraph":
        """Return the graph of the weights looked up in the two tables."""
        return CodeGraph(self, near_table, far_table)


class CodeGraph(SignedGraph):
    """W as two tables over Hamming distance; its field is that of units and holds each point's own term."""

    def __init__(self, units: Units, near_table: Table, far_table: Table) -> None:
        self.units = units
        self.far_table = far_table
        self.excess = near_table - far_table  # what a near pair weighs more than a far one
        self.n_points = len(units.unit_of)
        with_self = units.near.with_self(len(units.size))
        self.diagonal: Vector = np.where(with_self, near_table[0], far_table[0])

    def matvec(self, x: Vector) -> Vector:
        return self._unit_field(x)[self.units.unit_of] - self.diagonal[self.units.unit_of] * x

    def absolute_degrees(self) -> Vector:
        # Near weights are positive and far ones negative, so |W| is a graph of the same form.
        absolute = CodeGraph(self.units, self.excess + self.far_table, -self.far_table)
        return absolute.matvec(np.ones(self.n_points))

    def field(self, side: Side) -> Vector:
        return self._unit_field(side.astype(np.float64))

    def field_value(self, side: Side, field: Vector) -> float:
        return float(side @ field[self.units.unit_of] - self.units.size @ self.diagonal)

    def next_improving(self, side: Side, field: Vector, start: int, tolerance: float) -> int:
        return int(_kernels.next_improving(side, field, self.units.unit_of, self.diagonal, start, tolerance))

    def flip(self, point: int, side: Side, field: Vector) -> None:
        side[point] = -side[point]
        unit, step = self.units.unit_of[point], 2.0 * side[point]
        words = self.units.words
        _kernels.add_range_row(tuple(words), self.far_table, unit, step, 0, len(field), field)
        self.units.near.add_row(words, self.excess, unit, step, field)

    def _unit_field(self, x: Vector) -> Vector:
        units = self.units
        sums = np.bincount(units.unit_of, weights=x, minlength=len(units.size))
        out = np.zeros(len(units.size))
        _kernels.add_all_field(tuple(units.words), self.far_table, sums, out)
        units.near.add_field(units.words, self.excess, sums, out)
        return out


@dataclass(frozen=True)
class ListedUnits:
    """The listed pairs of `ListedPairs` with their Hamming distances; every point is its own unit."""

    pairs: ListedPairs
    distance: Index
    n_bits: int

    def counts(self) -> tuple[Index, Index]:
        """Return the histograms of near and of far pairs over h = 0..n_bits."""
        near = self.pairs.near
        return (
            np.bincount(self.distance[near], minlength=self.n_bits + 1),
            np.bincount(self.distance[~near], minlength=self.n_bits + 1),
        )

    def graph(self, near_table: Table, far_table: Table) -> SparseGraph:
        """Return the sparse graph of the weights looked up in the two tables."""
        pairs = self.pairs
        weight = np.where(pairs.near, near_table[self.distance], far_table[self.distance])
        half = sp.coo_array((weight, (pairs.first, pairs.second)), shape=(pairs.n_points, pairs.n_points))
        return SparseGraph(half + half.T)


def _group(words: Words, keys: NDArray[Any]) -> tuple[Words, NDArray[Any], Index, Index]:
    """Merge points of equal key and code, sorted by key; both have one row per key and one column per point.

    Returns the words and keys of the units, the unit of each point and the sizes of the units.
    """
    columns = np.concatenate([words[::-1], keys[::-1].astype(np.uint64)])
    order = np.lexsort(columns)
    ordered = columns[:, order]
    is_new = np.concatenate([[True], (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)])
    unit_of = np.empty(len(order), np.int64)
    unit_of[order] = np.cumsum(is_new) - 1
    first = order[is_new]
    size = np.bincount(unit_of)
    return np.ascontiguousarray(words[:, first]), np.ascontiguousarray(keys[:, first]), unit_of, size
