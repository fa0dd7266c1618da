"""Which pairs are near and which far.

A `Relation` groups the points of a code into units (`proxcode.pairs.units`), over all points or over drawn ones; it knows
which pairs are near.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cut import SparseGraph
from proxcode.hamming import GrowingCode, Words
from proxcode.pairs._kernels import list_distances
from proxcode.pairs.units import (
    ClassRanges,
    CodeGraph,
    Form,
    Index,
    LabelMasks,
    NeighborLists,
    SampledForm,
    SampledUnits,
    Table,
    Units,
    threads_for,
)

MAX_LABELS = 1024  # a matrix of points by labels is made for at most so many
ENOUGH_NEAR = 10  # near pairs for each drawn point; where there would be fewer, classes are drawn whole
EXACT_SHARE = 2.5  # n points against L drawn ones and back take 2 n L steps, all against all n^2


class Relation(ABC):
    """Near, far and unknown pairs of `n_samples` points.

    Attributes
    ----------
    n_samples : int
    start_matters : bool
        Whether several cuts are worth trying for a bit: with classes they end far apart, with neighbours they do not.
    by_labels : bool
        Whether near goes by labels: bits are then few directions, for which few points will do.
    """

    n_samples: int
    start_matters = True
    by_labels = False

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

    def draw(self, n_drawn: int, rng: np.random.Generator) -> Index:
        """Draw some of the points at random; return them in rising order."""
        return np.sort(rng.choice(self.n_samples, n_drawn, replace=False))

    @abstractmethod
    def sampled_units(self, code: GrowingCode, n_samples: int, rng: np.random.Generator) -> "AnyUnits":
        """Return units whose sums run over some of the points, drawn at random."""


class SameClass(Relation):
    """Near where the classes are equal; classes are the integers 0, 1, ..."""

    by_labels = True

    def __init__(self, classes: Index) -> None:
        self.classes = classes
        self.n_samples = len(classes)

    def label_matrix(self) -> NDArray[np.int8] | None:
        n_classes = int(self.classes.max()) + 1
        if n_classes > MAX_LABELS:
            return None
        labels = np.full((self.n_samples, n_classes), -1, np.int8)
        labels[np.arange(self.n_samples), self.classes] = 1
        return labels

    def take(self, points: Index) -> "SameClass":
        return SameClass(self.classes[points])

    def sampled_units(self, code: GrowingCode, n_samples: int, rng: np.random.Generator) -> "SampledUnits":
        points = self.draw(n_samples, rng)
        part = self.take(points).units(code.take(points))
        n_near = _n_pairs(np.bincount(self.classes))
        n_far = _n_pairs(np.array([self.n_samples])) - n_near
        sampled_near, sampled_far = (max(1, int(counts.sum())) for counts in part.counts())
        near_factor = n_near * sampled_far / (max(1, n_far) * sampled_near)
        return SampledUnits(points, part, near_factor)

    def draw(self, n_drawn: int, rng: np.random.Generator) -> Index:
        """Draw points; whole classes, up to a size, where few near or no far pairs would be drawn otherwise."""
        sizes = np.bincount(self.classes)
        if _n_pairs(sizes) * n_drawn >= ENOUGH_NEAR * self.n_samples**2:
            drawn = super().draw(n_drawn, rng)
            if len(np.unique(self.classes[drawn])) > 1:
                return drawn
        points = rng.permutation(self.n_samples)
        points = points[np.argsort(self.classes[points], kind="stable")]
        place_in_class = np.arange(self.n_samples) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        turn = rng.random(len(sizes)) + (sizes < 2)  # of the classes, those of one point last
        most = max(2, min(50, n_drawn // min(50, (sizes > 0).sum())))  # of a class, so that many classes are drawn
        priority = turn[self.classes[points]] + 2.0 * (place_in_class >= most)
        return np.sort(points[np.argsort(priority, kind="stable")[:n_drawn]])

    def units(self, code: GrowingCode) -> "Units":
        words, keys, unit_of, size = _group(code.words, self.classes[None])
        lower = np.searchsorted(keys[0], keys[0], side="left")
        upper = np.searchsorted(keys[0], keys[0], side="right")
        return Units(tuple(words), unit_of, size, np.ones(len(size), bool), ClassRanges(lower, upper), code.n_bits)


class SharedClass(Relation):
    """Near where two label sets meet; sets are bit masks of shape (n_mask_words, n)."""

    by_labels = True

    def __init__(self, masks: Words) -> None:
        self.masks = masks
        self.n_samples = masks.shape[1]

    def label_matrix(self) -> NDArray[np.int8] | None:
        if 64 * len(self.masks) > MAX_LABELS:
            return None
        bits = np.unpackbits(np.ascontiguousarray(self.masks.T).view(np.uint8), axis=1, bitorder="little")
        return np.where(bits[:, bits.any(axis=0)], 1, -1).astype(np.int8)

    def take(self, points: Index) -> "SharedClass":
        return SharedClass(np.ascontiguousarray(self.masks[:, points]))

    def sampled_units(self, code: GrowingCode, n_samples: int, rng: np.random.Generator) -> "SampledUnits":
        points = self.draw(n_samples, rng)
        return SampledUnits(points, self.take(points).units(code.take(points)))

    def units(self, code: GrowingCode) -> "Units":
        words, masks, unit_of, size = _group(code.words, self.masks)
        return Units(tuple(words), unit_of, size, (masks != 0).any(axis=0), LabelMasks(masks), code.n_bits)


class ListedNear(Relation):
    """Near where listed, far elsewhere: pairs first[k] < second[k]."""

    start_matters = False

    def __init__(self, first: Index, second: Index, n_samples: int) -> None:
        self.first, self.second, self.n_samples = first, second, n_samples
        diagonal = np.arange(n_samples)
        rows, columns = np.concatenate([first, second, diagonal]), np.concatenate([second, first, diagonal])
        near = sp.csr_array((np.ones(len(rows), bool), (rows, columns)), shape=(n_samples, n_samples))
        near.sort_indices()
        self.lists = NeighborLists(near.indptr.astype(np.int64), near.indices.astype(np.int64))

    def take(self, points: Index) -> "ListedNear":
        first, second, _ = _renumber(self.first, self.second, points, self.n_samples)
        return ListedNear(first, second, len(points))

    def sampled_units(self, code: GrowingCode, n_samples: int, rng: np.random.Generator) -> "SampledNearUnits":
        points = self.draw(n_samples, rng)
        return SampledNearUnits(points, self.take(points).units(code.take(points)), self, code)

    def units(self, code: GrowingCode) -> "Units":
        points = np.arange(self.n_samples)
        never = np.zeros(self.n_samples, bool)
        return Units(tuple(code.words), points, np.ones_like(points), never, self.lists, code.n_bits)


class ListedPairs(Relation):
    """Near or far where listed, unknown elsewhere: pairs first[k] < second[k] with near[k] true or false."""

    def __init__(self, first: Index, second: Index, near: NDArray[np.bool_], n_samples: int) -> None:
        self.first, self.second, self.near, self.n_samples = first, second, near, n_samples

    def take(self, points: Index) -> "ListedPairs":
        first, second, kept = _renumber(self.first, self.second, points, self.n_samples)
        return ListedPairs(first, second, self.near[kept], len(points))

    def sampled_units(self, code: GrowingCode, n_samples: int, rng: np.random.Generator) -> "ListedUnits":
        return self.units(code)  # sums run over the listed pairs alone, and some points may have none between them

    def units(self, code: GrowingCode) -> "ListedUnits":
        with threads_for(len(self.first)):
            distance = list_distances(tuple(code.words), self.first, self.second)
        return ListedUnits(self, distance, code.n_bits)


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
        with threads_for(len(relation.first)):
            near = relation.lists.near_counts(tuple(code.words), np.ones(relation.n_samples, np.int64), code.n_bits)
        return near, np.rint(self._part_far * self._factor).astype(np.int64)

    def form(self, near_table: Table, far_table: Table) -> "Form":
        """Return the form over all points; exact where that costs no more."""
        if self._exact:
            return self.relation.units(self.code).form(near_table, far_table)
        factor = self.relation.n_samples / (2 * len(self.points))
        return Form(SampledForm(self.relation.lists, self.code, (near_table, far_table), self.points, factor), None)

    @property
    def _exact(self) -> bool:
        return self.relation.n_samples <= EXACT_SHARE * len(self.points)

    @cached_property
    def _part_far(self) -> Index:
        return self.part.counts()[1]

    @property
    def _factor(self) -> float:
        """How many far pairs a sampled one stands for."""
        n = self.relation.n_samples
        n_far = n * (n - 1) // 2 - len(self.relation.first)
        return n_far / max(1, int(self._part_far.sum()))


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
        half = sp.coo_array((weight, (pairs.first, pairs.second)), shape=(pairs.n_samples, pairs.n_samples))
        return SparseGraph(half + half.T)

    def form(self, near_table: Table, far_table: Table) -> "Form":
        """Return what bits are judged by: the graph itself."""
        return Form(self.graph(near_table, far_table), None)


AnyUnits = Units | ListedUnits | SampledUnits | SampledNearUnits


def _n_pairs(sizes: Index) -> int:
    """Count the pairs within groups of these sizes."""
    return int((sizes * (sizes - 1) // 2).sum())


def _renumber(first: Index, second: Index, points: Index, n_samples: int) -> tuple[Index, Index, NDArray[np.bool_]]:
    """Pairs within `points`, by their places there, and which of the given pairs these are."""
    place = np.full(n_samples, -1)
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
