"""Groups: samples with equal rows of W, and sums over pairs of them.

In pairs of which none is unknown, samples with the same near samples and the same code have equal rows of W. Sums over
pairs run over groups of such samples with their sizes, and W is never stored:

1. `Groups.counts` counts near and far pairs by Hamming distance,
2. `Groups.graph` is the signed graph of the two lookup tables,
3. `Subset` does the same over a random subset of the samples.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.cut import SignedGraph
from proxcode.cut.graph import Vector
from proxcode.cut.result import Partition
from proxcode.hamming import Words
from proxcode.pairs._distance_kernels import list_distances
from proxcode.pairs._field_kernels import next_improving
from proxcode.pairs.base import CodedPairs, Table
from proxcode.utils.rows import ALL, Index
from proxcode.utils.threads import in_threads

# Pairs below which a kernel runs on one thread: a few milliseconds of work, less than waiting for other threads costs.
PARALLEL_PAIRS = 10_000_000
# Listed pairs, whose codes are read from anywhere, for one thread at a time.
LISTED_PAIRS = 1_000_000
# Parts into which larger work is divided, whatever the number of threads: the order of a sum decides its last digits.
N_STRIPES = 16


def sum_stripes(of_stripe: Callable[[int, int], NDArray[Any]], n_pairs: int) -> NDArray[Any]:
    """Return the sum of of_stripe(stripe, n_stripes) over the stripes of n_pairs pairs, computed on all cores."""
    n_stripes = N_STRIPES if n_pairs > PARALLEL_PAIRS else 1
    sums = in_threads(lambda stripe: of_stripe(stripe, n_stripes), range(n_stripes))
    return np.add.reduce(sums)


def sum_fields(add_field: Callable[[int, int, Vector], None], n_samples: int, n_pairs: int | None = None) -> Vector:
    """Return the sum of what a kernel adds to the fields of samples in all stripes of n_pairs pairs; None: all."""

    def of_stripe(stripe: int, n_stripes: int) -> Vector:
        out = np.zeros(n_samples)
        add_field(stripe, n_stripes, out)
        return out

    return sum_stripes(of_stripe, n_samples**2 if n_pairs is None else n_pairs)


def pair_distances(words: Words, first: Index, second: Index) -> Index:
    """Return the Hamming distances of listed pairs."""
    out = np.empty(len(first), np.int64)

    def of_part(start: int) -> None:
        list_distances(words, first, second, start, min(start + LISTED_PAIRS, len(out)), out)

    in_threads(of_part, range(0, len(out), LISTED_PAIRS))
    return out


@dataclass(frozen=True)
class Groups(CodedPairs):
    """Samples merged into groups; a subclass knows which pairs of groups are near.

    Attributes
    ----------
    words : ndarray of uint64, shape (n_words, n_groups)
        Code of each group.
    group_of : ndarray of int, shape (n_samples,)
    size : ndarray of int, shape (n_groups,)
        Number of samples in each group.
    near_within : ndarray of bool, shape (n_groups,)
        Whether two samples of a group are near.
    n_bits : int
    """

    words: Words
    group_of: Index
    size: Index
    near_within: NDArray[np.bool_]
    n_bits: int
    samples = ALL

    @abstractmethod
    def counts_between(self) -> tuple[Index, Index]:
        """Return the numbers of near and far pairs of samples of different groups at Hamming distance h = 0..n_bits."""

    @abstractmethod
    def field_between(self, near: Table, far: Table, x: Vector) -> Vector:
        """Return for each group i the sum of w_ij x[j] over the groups j other than i."""

    @abstractmethod
    def add_row(self, near: Table, far: Table, i: int, step: float, field: Vector) -> None:
        """field[j] += step * w_ij for the groups j other than i."""

    def sum_counts(self, count: Callable[..., Index], near: NDArray[Any]) -> tuple[Index, Index]:
        """Return what a kernel counts in all stripes: near and far pairs; `near` tells it which pairs are near."""
        count_stripe = partial(count, self.words, self.size, near, self.n_bits)
        far, near = np.split(sum_stripes(count_stripe, len(self.size) ** 2), 2)
        return near, far

    def counts(self) -> tuple[Index, Index]:
        near, far = self.counts_between()
        within = self.size * (self.size - 1) // 2
        near[0] += within[self.near_within].sum()
        far[0] += within[~self.near_within].sum()
        return near, far

    def graph(self, near: Table, far: Table) -> "GroupGraph":
        return GroupGraph(self, near, far)


@dataclass(frozen=True)
class Subset(CodedPairs):
    """Pairs of a random subset of the samples, standing for all pairs.

    Attributes
    ----------
    samples : ndarray of int
        The subset, in ascending order.
    groups : Groups
        Of the samples of the subset.
    near_factor : float
        Weight of a near pair relative to a far one; different from 1 where near pairs were sampled more or less often.
    """

    samples: Index
    groups: Groups
    near_factor: float = 1.0

    def counts(self) -> tuple[Index, Index]:
        near, far = self.groups.counts()
        return np.ceil(near * self.near_factor).astype(np.int64), far

    def graph(self, near: Table, far: Table) -> "GroupGraph":
        return self.groups.graph(near * self.near_factor, far)


class GroupGraph(SignedGraph):
    """W as two lookup tables over Hamming distance; its field is that of groups and contains each sample's own term.

    Near and far pairs are summed separately, never as a difference: once a code separates its samples, the weights
    differ by many orders of magnitude, and the small ones decide.
    """

    def __init__(self, groups: Groups, near: Table, far: Table) -> None:
        self.groups, self.near, self.far = groups, near, far
        self.n_nodes = len(groups.group_of)
        # The weight between two samples of a group; a group of one sample has no such pair.
        self.own: Vector = np.where(groups.size > 1, np.where(groups.near_within, near[0], far[0]), 0.0)

    def matvec(self, x: Vector) -> Vector:
        return self._group_field(x)[self.groups.group_of] - self.own[self.groups.group_of] * x

    def absolute_degrees(self) -> Vector:
        # Near weights are positive and far ones negative: |W| is a graph of the same form.
        return type(self)(self.groups, self.near, -self.far).matvec(np.ones(self.n_nodes))

    def field(self, partition: Partition) -> Vector:
        return self._group_field(partition.astype(np.float64))

    def local_fields(self, partition: Partition, field: Vector) -> Vector:
        return field[self.groups.group_of] - self.own[self.groups.group_of] * partition

    def next_improving(self, partition: Partition, field: Vector, tolerance: Vector, start: int) -> int:
        return int(next_improving(partition, field, self.groups.group_of, self.own, tolerance, start))

    def flip(self, node: int, partition: Partition, field: Vector) -> None:
        partition[node] = -partition[node]
        group, step = int(self.groups.group_of[node]), 2.0 * float(partition[node])
        field[group] += step * self.own[group]
        self.groups.add_row(self.near, self.far, group, step, field)

    def _group_field(self, x: Vector) -> Vector:
        groups = self.groups
        sums = np.bincount(groups.group_of, weights=x, minlength=len(groups.size)).astype(np.float64, copy=False)
        return self.own * sums + groups.field_between(self.near, self.far, sums)


def group_samples(words: Words, keys: NDArray[Any]) -> tuple[Words, NDArray[Any], Index, Index]:
    """Merge samples of equal key and code, sorted by key.

    Parameters
    ----------
    words : ndarray of uint64, shape (n_words, n_samples)
    keys : ndarray of shape (n_keys, n_samples)

    Returns
    -------
    words, keys : of the groups
    group_of : the group of each sample
    size : the number of samples in each group
    """
    columns = np.concatenate([words[::-1], keys[::-1].astype(np.uint64)])
    order = np.lexsort(columns)
    ordered = columns[:, order]
    is_new = np.concatenate([[True], (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)])
    group_of = np.empty(len(order), np.int64)
    group_of[order] = np.cumsum(is_new) - 1
    first = order[is_new]
    return (
        np.ascontiguousarray(words[:, first]),
        np.ascontiguousarray(keys[:, first]),
        group_of,
        np.bincount(group_of),
    )
