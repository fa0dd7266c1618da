"""Pairs that are near by their labels: the same class, or a label in common."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cut.graph import Vector
from proxcode.cut.result import Partition
from proxcode.hamming import GrowingCode, Words
from proxcode.pairs._count_kernels import count_classes, count_masks
from proxcode.pairs._field_kernels import (
    add_class_field,
    add_class_row,
    add_mask_field,
    add_mask_row,
    sweep_classes,
    sweep_masks,
)
from proxcode.pairs.base import Pairs, Table
from proxcode.pairs.groups import GroupGraph, Groups, Subset, group_samples, sum_fields
from proxcode.utils.rows import ALL, Index, Rows

# Default number of samples from which the subsets of all bits are drawn; more do not improve the bits.
MAX_CANDIDATES = 20_000
# Number of bits learned from the full subset; later bits are learned from a share that falls as 1 / n_bits.
FULL_BITS = 12
# Smallest subset of these later bits, in samples.
MIN_SUBSET = 2500
# Near pairs for each sample of a subset; where there would be fewer, classes are drawn whole.
ENOUGH_NEAR = 10
# Ratio of near to far pairs in a subset, relative to that of all samples, which no random subset attains.
MORE_NEAR = 1.5


class LabelPairs(Pairs):
    """Pairs by labels: bits are directions among few labels, which few samples determine."""

    def candidates(self, max_samples: int, rng: np.random.Generator) -> Rows:
        n_candidates = max(MAX_CANDIDATES, max_samples)
        return ALL if n_candidates >= self.n_samples else self.draw(n_candidates, rng)

    def subset_size(self, max_samples: int, n_bits: int) -> int:
        share = min(1.0, FULL_BITS / (n_bits + 1))
        return max(min(max_samples, MIN_SUBSET), int(share * max_samples))

    def draw(self, n_drawn: int, rng: np.random.Generator) -> Index:
        """Draw a random subset of the samples, in ascending order."""
        return np.sort(rng.choice(self.n_samples, n_drawn, replace=False))


class SameClassPairs(LabelPairs):
    """Near where the classes are equal.

    Parameters
    ----------
    classes : ndarray of int, shape (n_samples,)
        Classes as the integers 0, 1, ...
    balanced : bool, default=False
        Whether each class counts alike as a label, however many samples it has.
    """

    def __init__(self, classes: Index, balanced: bool = False) -> None:
        self.classes, self.balanced = classes, balanced
        self.n_samples = len(classes)
        n_near = _n_pairs_within(np.bincount(classes))
        # Numbers of near and far pairs that sampled ones stand for.
        self.n_pairs = n_near, self.n_samples * (self.n_samples - 1) // 2 - n_near

    def labels(self) -> Any:
        weights: NDArray[Any] = np.ones(self.n_samples, np.int8)
        if self.balanced:
            weights = 1.0 / np.bincount(self.classes)[self.classes]
        shape = (self.n_samples, int(self.classes.max()) + 1)
        return sp.csr_array((weights, (np.arange(self.n_samples), self.classes)), shape=shape)

    def take(self, samples: Index) -> "SameClassPairs":
        taken = SameClassPairs(self.classes[samples], self.balanced)
        # Whole classes were drawn: near pairs are more frequent among them than among all samples.
        if taken.n_pairs[0] * self.n_pairs[1] > MORE_NEAR * self.n_pairs[0] * taken.n_pairs[1]:
            taken.n_pairs = self.n_pairs
        return taken

    def near_rows(self, queries: Index) -> NDArray[np.bool_]:
        return self.classes[queries][:, None] == self.classes

    def with_code(self, code: GrowingCode) -> "ClassGroups":
        words, keys, group_of, size = group_samples(code.words, self.classes[None])
        return ClassGroups(
            words=words,
            group_of=group_of,
            size=size,
            near_within=np.ones(len(size), bool),
            n_bits=code.n_bits,
            lower=np.searchsorted(keys[0], keys[0], side="left"),
            upper=np.searchsorted(keys[0], keys[0], side="right"),
        )

    def sampled(self, code: GrowingCode, n_samples: int, rng: np.random.Generator) -> Subset:
        samples = self.draw(n_samples, rng)
        groups = self.take(samples).with_code(code.take(samples))
        n_near, n_far = self.n_pairs
        sampled_near, sampled_far = (max(1, int(counts.sum())) for counts in groups.counts())
        near_factor = n_near * sampled_far / (max(1, n_far) * sampled_near)
        return Subset(samples=samples, groups=groups, near_factor=near_factor)

    def draw(self, n_drawn: int, rng: np.random.Generator) -> Index:
        """Draw a random subset; whole classes, up to a size, where it would have few near or no far pairs otherwise."""
        sizes = np.bincount(self.classes)
        if _n_pairs_within(sizes) * n_drawn >= ENOUGH_NEAR * self.n_samples**2:
            drawn = super().draw(n_drawn, rng)
            if len(np.unique(self.classes[drawn])) > 1:
                return drawn
        samples = rng.permutation(self.n_samples)
        samples = samples[np.argsort(self.classes[samples], kind="stable")]
        place_in_class = np.arange(self.n_samples) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        # Classes in random order, those of one sample last.
        turn = rng.random(len(sizes)) + (sizes < 2)
        # At most this many samples of a class, so that many classes are drawn.
        most = max(2, min(50, n_drawn // min(50, (sizes > 0).sum())))
        priority = turn[self.classes[samples]] + 2.0 * (place_in_class >= most)
        return np.sort(samples[np.argsort(priority, kind="stable")[:n_drawn]])


@dataclass(frozen=True)
class ClassGroups(Groups):
    """Groups sorted by class: those near group i are lower[i] to upper[i] - 1, itself included."""

    lower: Index
    upper: Index

    def counts_between(self) -> tuple[Index, Index]:
        return self.sum_counts(count_classes, self.upper)

    def field_between(self, near: Table, far: Table, x: Vector) -> Vector:
        return sum_fields(partial(add_class_field, self.words, near, far, x, self.upper), len(x))

    def add_row(self, near: Table, far: Table, i: int, step: float, field: Vector) -> None:
        add_class_row(self.words, near, far, i, step, int(self.lower[i]), int(self.upper[i]), field)

    def graph(self, near: Table, far: Table) -> "ClassGraph":
        return ClassGraph(self, near, far)


class ClassGraph(GroupGraph):
    """The graph of `ClassGroups`, which sweeps over all samples in one kernel."""

    groups: ClassGroups

    def sweep(self, partition: Partition, field: Vector, tolerance: Vector) -> int:
        groups = self.groups
        ranges = (groups.lower, groups.upper, groups.group_of)
        return int(sweep_classes(groups.words, self.near, self.far, *ranges, self.own, tolerance, partition, field))


class SharedLabelPairs(LabelPairs):
    """Near where two samples have a label in common.

    Parameters
    ----------
    masks : ndarray of uint64, shape (n_mask_words, n_samples)
        Label sets as bits: label l is bit l % 64 of word l // 64.
    """

    def __init__(self, masks: Words) -> None:
        self.masks = masks
        self.n_samples = masks.shape[1]

    def labels(self) -> Any:
        columns = []
        for mask in self.masks:
            bits = np.unpackbits(mask.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
            columns.append(sp.csr_array(bits[:, bits.any(axis=0)].astype(np.int8)))
        return sp.csr_array(sp.hstack(columns))

    def take(self, samples: Index) -> "SharedLabelPairs":
        return SharedLabelPairs(np.ascontiguousarray(self.masks[:, samples]))

    def near_rows(self, queries: Index) -> NDArray[np.bool_]:
        near = np.zeros((len(queries), self.n_samples), bool)
        for mask in self.masks:
            near |= (mask[queries][:, None] & mask) != 0
        return near

    def with_code(self, code: GrowingCode) -> "LabelSetGroups":
        words, masks, group_of, size = group_samples(code.words, self.masks)
        near_within = (masks != 0).any(axis=0)
        return LabelSetGroups(
            words=words, group_of=group_of, size=size, near_within=near_within, n_bits=code.n_bits, masks=masks
        )

    def sampled(self, code: GrowingCode, n_samples: int, rng: np.random.Generator) -> Subset:
        samples = self.draw(n_samples, rng)
        return Subset(samples=samples, groups=self.take(samples).with_code(code.take(samples)))


@dataclass(frozen=True)
class LabelSetGroups(Groups):
    """Groups with label sets as bit masks, shape (n_mask_words, n_groups): near where two masks meet."""

    masks: Words

    def counts_between(self) -> tuple[Index, Index]:
        return self.sum_counts(count_masks, self.masks)

    def field_between(self, near: Table, far: Table, x: Vector) -> Vector:
        return sum_fields(partial(add_mask_field, self.words, near, far, x, self.masks), len(x))

    def add_row(self, near: Table, far: Table, i: int, step: float, field: Vector) -> None:
        add_mask_row(self.words, near, far, i, step, self.masks, field)

    def graph(self, near: Table, far: Table) -> "LabelSetGraph":
        return LabelSetGraph(self, near, far)


class LabelSetGraph(GroupGraph):
    """The graph of `LabelSetGroups`, which sweeps over all samples in one kernel."""

    groups: LabelSetGroups

    def sweep(self, partition: Partition, field: Vector, tolerance: Vector) -> int:
        groups = self.groups
        sets = groups.masks, groups.group_of
        return int(sweep_masks(groups.words, self.near, self.far, *sets, self.own, tolerance, partition, field))


def _n_pairs_within(sizes: Index) -> int:
    """Return the number of pairs within groups of the given sizes."""
    return int((sizes * (sizes - 1) // 2).sum())
