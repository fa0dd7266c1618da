"""Which pairs are near and which far, in the forms the kernels read.

A pair weighs near_table[h] or far_table[h], h being its Hamming distance; each relation knows how to visit all pairs
with the right table. Points with equal rows of W (same class, same code) are one *unit* with a size; sums run over
units.

1. a `Relation` groups the points of a code into `Units`,
2. `Units.counts` gives the near and far histograms for Step I,
3. `Units.graph` gives the signed graph of Step II.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numba
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode._kernels import (
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
from proxcode.cut import SignedGraph, SparseGraph
from proxcode.cut.graph import QuadraticForm, Side, Vector
from proxcode.hamming import GrowingCode, Words

Index = NDArray[np.int64]
Table = NDArray[np.float64]
Planes = tuple[NDArray[np.uint64], ...]

MAX_LABELS = 1024  # a matrix of points by labels is made for at most so many
ENOUGH_NEAR = 10  # near pairs for each drawn point; where there would be fewer, classes are drawn whole
EXACT_SHARE = 2.5  # n points against L drawn ones and back take 2 n L steps, all against all n^2
PARALLEL_PAIRS = 10_000_000  # below this, some milliseconds' work, waiting for other threads costs more than they save


@contextmanager
def _threads_for(n_pairs: int) -> Iterator[None]:
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


class Relation(ABC):
    """Near, far and unknown pairs of `n_points` points.

    Attributes
    ----------
    n_points : int
    start_matters : bool
        Whether several cuts are worth trying for a bit: with classes they end far apart, with neighbours they do not.
    """

    n_points: int
    start_matters = True

    @abstractmethod
    def units(self, code: GrowingCode) -> "AnyUnits":
        """Group the points of a code into units of equal rows of W."""

    def label_matrix(self) -> NDArray[np.int8] | None:
        """Return +1 for each label that a point has and -1 for the others.

        None where nearness is not by labels, or by more than MAX_LABELS of them.
        """
        return None

    @abstractmethod
    def take(self, points: Index) -> "Relation":
        """Return the relation between some of the points, given in rising order."""

    @abstractmethod
    def sampled_units(self, code: GrowingCode, n_points: int, rng: np.random.Generator) -> "AnyUnits":
        """Return units whose sums run over some of the points, drawn at random."""


class SameClass(Relation):
    """Near where the classes are equal; classes are the integers 0, 1, ..."""

    def __init__(self, classes: Index) -> None:
        self.classes = classes
        self.n_points = len(classes)

    def label_matrix(self) -> NDArray[np.int8] | None:
        n_classes = int(self.classes.max()) + 1
        if n_classes > MAX_LABELS:
            return None
        labels = np.full((self.n_points, n_classes), -1, np.int8)
        labels[np.arange(self.n_points), self.classes] = 1
        return labels

    def take(self, points: Index) -> "SameClass":
        return SameClass(self.classes[points])

    def sampled_units(self, code: GrowingCode, n_points: int, rng: np.random.Generator) -> "SampledUnits":
        points = self._draw(n_points, rng)
        part = self.take(points).units(code.take(points))
        n_near = _n_pairs(np.bincount(self.classes))
        n_far = _n_pairs(np.array([self.n_points])) - n_near
        sampled_near, sampled_far = (max(1, int(counts.sum())) for counts in part.counts())
        near_factor = n_near * sampled_far / (max(1, n_far) * sampled_near)
        return SampledUnits(points, part, near_factor)

    def _draw(self, n_drawn: int, rng: np.random.Generator) -> Index:
        """Draw points; whole classes, up to a size, where few near pairs would be drawn otherwise."""
        sizes = np.bincount(self.classes)
        if _n_pairs(sizes) * n_drawn >= ENOUGH_NEAR * self.n_points**2:
            return _draw(self.n_points, n_drawn, rng)
        points = rng.permutation(self.n_points)
        points = points[np.argsort(self.classes[points], kind="stable")]
        place_in_class = np.arange(self.n_points) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        turn = rng.random(len(sizes)) + (sizes < 2)  # of the classes, those of one point last
        most = max(2, min(50, n_drawn // min(50, len(sizes))))  # of a class, so that many classes are drawn
        priority = turn[self.classes[points]] + 2.0 * (place_in_class >= most)
        return np.sort(points[np.argsort(priority, kind="stable")[:n_drawn]])

    def units(self, code: GrowingCode) -> "Units":
        words, keys, unit_of, size = _group(code.words, self.classes[None])
        lower = np.searchsorted(keys[0], keys[0], side="left")
        upper = np.searchsorted(keys[0], keys[0], side="right")
        return Units(tuple(words), unit_of, size, np.ones(len(size), bool), ClassRanges(lower, upper), code.n_bits)


class SharedClass(Relation):
    """Near where two label sets meet; sets are bit masks of shape (n_mask_words, n)."""

    def __init__(self, masks: Words) -> None:
        self.masks = masks
        self.n_points = masks.shape[1]

    def label_matrix(self) -> NDArray[np.int8] | None:
        if 64 * len(self.masks) > MAX_LABELS:
            return None
        bits = np.unpackbits(np.ascontiguousarray(self.masks.T).view(np.uint8), axis=1, bitorder="little")
        return np.where(bits[:, bits.any(axis=0)], 1, -1).astype(np.int8)

    def take(self, points: Index) -> "SharedClass":
        return SharedClass(np.ascontiguousarray(self.masks[:, points]))

    def sampled_units(self, code: GrowingCode, n_points: int, rng: np.random.Generator) -> "SampledUnits":
        points = _draw(self.n_points, n_points, rng)
        return SampledUnits(points, self.take(points).units(code.take(points)))

    def units(self, code: GrowingCode) -> "Units":
        words, masks, unit_of, size = _group(code.words, self.masks)
        return Units(tuple(words), unit_of, size, (masks != 0).any(axis=0), LabelMasks(masks), code.n_bits)


class ListedNear(Relation):
    """Near where listed, far elsewhere: pairs first[k] < second[k]."""

    start_matters = False

    def __init__(self, first: Index, second: Index, n_points: int) -> None:
        self.first, self.second, self.n_points = first, second, n_points
        diagonal = np.arange(n_points)
        rows, columns = np.concatenate([first, second, diagonal]), np.concatenate([second, first, diagonal])
        near = sp.csr_array((np.ones(len(rows), bool), (rows, columns)), shape=(n_points, n_points))
        near.sort_indices()
        self.lists = NeighborLists(near.indptr.astype(np.int64), near.indices.astype(np.int64))

    def take(self, points: Index) -> "ListedNear":
        first, second, _ = _renumber(self.first, self.second, points, self.n_points)
        return ListedNear(first, second, len(points))

    def sampled_units(self, code: GrowingCode, n_points: int, rng: np.random.Generator) -> "SampledNearUnits":
        points = _draw(self.n_points, n_points, rng)
        return SampledNearUnits(points, self.take(points).units(code.take(points)), self, code)

    def units(self, code: GrowingCode) -> "Units":
        points = np.arange(self.n_points)
        never = np.zeros(self.n_points, bool)
        return Units(tuple(code.words), points, np.ones_like(points), never, self.lists, code.n_bits)


class ListedPairs(Relation):
    """Near or far where listed, unknown elsewhere: pairs first[k] < second[k] with near[k] true or false."""

    def __init__(self, first: Index, second: Index, near: NDArray[np.bool_], n_points: int) -> None:
        self.first, self.second, self.near, self.n_points = first, second, near, n_points

    def take(self, points: Index) -> "ListedPairs":
        first, second, kept = _renumber(self.first, self.second, points, self.n_points)
        return ListedPairs(first, second, self.near[kept], len(points))

    def sampled_units(self, code: GrowingCode, n_points: int, rng: np.random.Generator) -> "ListedUnits":
        return self.units(code)  # sums run over the listed pairs alone, and some points may have none between them

    def units(self, code: GrowingCode) -> "ListedUnits":
        with _threads_for(len(self.first)):
            distance = list_distances(tuple(code.words), self.first, self.second)
        return ListedUnits(self, distance, code.n_bits)


@dataclass(frozen=True)
class Units:
    """Points of equal rows of W merged, for relations in which every pair is near or far.

    Attributes
    ----------
    words : tuple of n_words ndarrays of uint64, shape (n_units,)
    unit_of : ndarray of int, shape (n_points,)
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
        with _threads_for(n_units**2):
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


@dataclass(frozen=True)
class SampledNearUnits:
    """All near pairs, which are few and listed, and the far pairs of some points.

    Attributes
    ----------
    points, part
        As in `SampledUnits`.
    relation : ListedNear
    code : GrowingCode
        Of all points.
    """

    points: Index
    part: Units
    relation: ListedNear
    code: GrowingCode

    def graph(self, near_table: Table, far_table: Table) -> "CodeGraph":
        """Return the graph between the drawn points."""
        return self.part.graph(near_table, far_table)

    def counts(self) -> tuple[Index, Index]:
        """Return the histogram of all near pairs, and that of the sampled far pairs scaled up to all."""
        relation, code = self.relation, self.code
        if self._exact:
            return relation.units(code).counts()
        with _threads_for(len(relation.first)):
            distance = list_distances(tuple(code.words), relation.first, relation.second)
        near = np.bincount(distance, minlength=code.n_bits + 1)
        return near, np.rint(self._part_far * self._factor).astype(np.int64)

    def form(self, near_table: Table, far_table: Table) -> "Form":
        """Return the form over all points; exact where that costs no more."""
        if self._exact:
            return self.relation.units(self.code).form(near_table, far_table)
        factor = self.relation.n_points / (2 * len(self.points))
        return Form(SampledForm(self.relation.lists, self.code, (near_table, far_table), self.points, factor), None)

    @property
    def _exact(self) -> bool:
        return self.relation.n_points <= EXACT_SHARE * len(self.points)

    @cached_property
    def _part_far(self) -> Index:
        return self.part.counts()[1]

    @property
    def _factor(self) -> float:
        """How many far pairs a sampled one stands for."""
        n = self.relation.n_points
        n_far = n * (n - 1) // 2 - len(self.relation.first)
        return n_far / max(1, int(self._part_far.sum()))


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
        self.n_points = len(lists.indptr) - 1
        self.words: Planes = tuple(code.words)
        self.drawn_words: Planes = tuple(np.ascontiguousarray(word[points]) for word in code.words)
        self.points, self.far_table = points, factor * far_table
        rows, columns = np.repeat(np.arange(self.n_points), np.diff(lists.indptr)), lists.indices
        is_drawn = np.zeros(self.n_points)
        is_drawn[points] = 1.0
        with _threads_for(len(rows)):
            distance = list_distances(self.words, rows, columns)
        weights = np.where(rows == columns, 0.0, near_table[distance])
        weights -= (is_drawn[rows] + is_drawn[columns]) * self.far_table[distance]
        self.corrections = sp.csr_array((weights, columns, lists.indptr), shape=(self.n_points, self.n_points))

    def matvec(self, x: Vector) -> Vector:
        out: Vector = self.corrections @ x
        to_drawn = np.zeros(len(self.points))
        with _threads_for(len(out) * len(to_drawn)):
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
        self.n_points = len(units.unit_of)
        # The weight between two points of a unit; where there is but one point, there is no such pair.
        within = np.where(units.near_itself, near_table[0], far_table[0])
        self.own: Vector = np.where(units.size > 1, within, 0.0)

    def matvec(self, x: Vector) -> Vector:
        return self._unit_field(x)[self.units.unit_of] - self.own[self.units.unit_of] * x

    def absolute_degrees(self) -> Vector:
        # Near weights are positive and far ones negative, so |W| is a graph of the same form.
        absolute = CodeGraph(self.units, self.near_table, -self.far_table)
        return absolute.matvec(np.ones(self.n_points))

    def field(self, side: Side) -> Vector:
        return self._unit_field(side.astype(np.float64))

    def local_fields(self, side: Side, field: Vector) -> Vector:
        return field[self.units.unit_of] - self.own[self.units.unit_of] * side

    def next_improving(self, side: Side, field: Vector, tolerance: Vector, start: int) -> int:
        return int(next_improving(side, field, self.units.unit_of, self.own, tolerance, start))

    def flip(self, point: int, side: Side, field: Vector) -> None:
        side[point] = -side[point]
        units, unit, step = self.units, int(self.units.unit_of[point]), 2.0 * float(side[point])
        field[unit] += step * self.own[unit]
        units.pairs.add_row(units.words, self.near_table, self.far_table, unit, step, field)

    def sweep(self, side: Side, field: Vector, tolerance: Vector) -> int:
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
        with _threads_for(len(out) ** 2):
            units.pairs.add_field(units.words, self.near_table, self.far_table, sums, out)
        return out


@dataclass(frozen=True)
class ListedUnits:
    """The listed pairs of `ListedPairs` with their Hamming distances; every point is its own unit."""

    pairs: ListedPairs
    distance: Index
    n_bits: int
    points = None  # the graph is over all

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

    def form(self, near_table: Table, far_table: Table) -> "Form":
        """Return what bits are judged by: the graph itself."""
        return Form(self.graph(near_table, far_table), None)


AnyUnits = Units | ListedUnits | SampledUnits | SampledNearUnits


def _draw(n_points: int, n_drawn: int, rng: np.random.Generator) -> Index:
    """Draw some of n points, in rising order."""
    return np.sort(rng.choice(n_points, n_drawn, replace=False))


def _n_pairs(sizes: Index) -> int:
    """Count the pairs within groups of these sizes."""
    return int((sizes * (sizes - 1) // 2).sum())


def _renumber(first: Index, second: Index, points: Index, n_points: int) -> tuple[Index, Index, NDArray[np.bool_]]:
    """Pairs within `points`, by their places there, and which of the given pairs these are."""
    place = np.full(n_points, -1)
    place[points] = np.arange(len(points))
    kept = (place[first] >= 0) & (place[second] >= 0)
    return place[first[kept]], place[second[kept]], kept


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
