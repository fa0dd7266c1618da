"""Pairs that are listed: near pairs alone, or near and far pairs."""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cut import SparseGraph
from proxcode.cut.graph import Vector
from proxcode.cut.result import Partition
from proxcode.hamming import GrowingCode
from proxcode.pairs._count_kernels import count_classes
from proxcode.pairs._field_kernels import add_list_field, add_list_row, sweep_lists
from proxcode.pairs.base import CodedPairs, Form, ListedNear, Pairs, Table
from proxcode.pairs.drawn_far import DrawnForm
from proxcode.pairs.groups import GroupGraph, Groups, pair_distances, sum_fields
from proxcode.utils.rows import ALL, Index

# Largest subset that a cut is found for.
MAX_CUT = 4000


class NearLists(Pairs):
    """Near where listed, far elsewhere.

    Parameters
    ----------
    first, second : ndarrays of int, shape (n_pairs,)
        The near pairs, each once, with first[k] < second[k] < n_samples; not validated.
    n_samples : int
        Number of samples that take part, the length of `FoundPairs.samples`.
    """

    def __init__(self, first: Index, second: Index, n_samples: int) -> None:
        self.first, self.second, self.n_samples = first, second, n_samples
        diagonal = np.arange(n_samples)
        rows, columns = np.concatenate([first, second, diagonal]), np.concatenate([second, first, diagonal])
        near = sp.csr_array((np.ones(len(rows), bool), (rows, columns)), shape=(n_samples, n_samples))
        near.sort_indices()
        # Row by row, the near samples of each sample in ascending order, itself included.
        self.indptr, self.indices = near.indptr.astype(np.int64), near.indices.astype(np.int64)

    def take(self, samples: Index) -> "NearLists":
        first, second, _ = renumbered(self.first, self.second, samples, self.n_samples)
        return NearLists(first, second, len(samples))

    def near_rows(self, queries: Index) -> NDArray[np.bool_]:
        near = np.zeros((len(queries), self.n_samples), bool)
        for row, query in zip(near, queries, strict=True):
            row[self.indices[self.indptr[query] : self.indptr[query + 1]]] = True
        return near

    def with_code(self, code: GrowingCode) -> "ListGroups":
        samples = np.arange(self.n_samples)
        return ListGroups(
            words=code.words,
            group_of=samples,
            size=np.ones_like(samples),
            near_within=np.zeros(self.n_samples, bool),
            n_bits=code.n_bits,
            pairs=self,
        )

    def sampled(self, code: GrowingCode, n_samples: int, rng: np.random.Generator) -> "SampledNearLists":
        samples = np.sort(rng.choice(self.n_samples, n_samples, replace=False))
        subset, seed = self.take(samples).with_code(code.take(samples)), int(rng.integers(2**63))
        return SampledNearLists(samples=samples, subset=subset, pairs=self, code=code, seed=seed)

    def subset_size(self, max_samples: int, n_bits: int) -> int:
        """Return at most `MAX_CUT`: more samples do not improve the cut, and refinement is over all samples anyway."""
        return min(max_samples, MAX_CUT)

    def n_cuts(self, n_bits: int) -> int:
        """Return 1: cuts from different starts end close together, unlike those of classes."""
        return 1


@dataclass(frozen=True)
class ListGroups(Groups):
    """Every sample as a group of its own, near samples as listed."""

    pairs: NearLists

    def near_counts(self) -> Index:
        """Return the numbers of near pairs at Hamming distance h = 0..n_bits."""
        distance = pair_distances(self.words, self.pairs.first, self.pairs.second)
        return np.bincount(distance, minlength=self.n_bits + 1)

    def counts_between(self) -> tuple[Index, Index]:
        none_is_near = np.zeros(len(self.size), np.int64)
        _, everything = self.sum_counts(count_classes, none_is_near)
        near = self.near_counts()
        return near, everything - near

    def field_between(self, near: Table, far: Table, x: Vector) -> Vector:
        lists = self.pairs.indptr, self.pairs.indices
        return sum_fields(partial(add_list_field, self.words, near, far, x, *lists), len(x))

    def add_row(self, near: Table, far: Table, i: int, step: float, field: Vector) -> None:
        add_list_row(self.words, near, far, i, step, self.pairs.indptr, self.pairs.indices, field)

    def graph(self, near: Table, far: Table) -> "ListGraph":
        return ListGraph(self, near, far)


class ListGraph(GroupGraph):
    """The graph of `ListGroups`, which sweeps over all samples in one kernel."""

    groups: ListGroups

    def sweep(self, partition: Partition, field: Vector, tolerance: Vector) -> int:
        words, pairs = self.groups.words, self.groups.pairs
        lists = pairs.indptr, pairs.indices
        return int(sweep_lists(words, self.near, self.far, *lists, tolerance, partition, field))


@dataclass(frozen=True)
class SampledNearLists(CodedPairs):
    """All near pairs, which are few and listed, and a sample of the far pairs.

    Attributes
    ----------
    samples : ndarray of int
        The subset that the graph covers, in ascending order.
    subset : ListGroups
        Pairs among the subset.
    pairs : NearLists
        Pairs among all samples.
    code : GrowingCode
        Of all samples.
    seed : int
        Seed of the far pairs that are drawn.
    """

    samples: Index
    subset: ListGroups
    pairs: NearLists
    code: GrowingCode
    seed: int

    def graph(self, near: Table, far: Table) -> GroupGraph:
        return self.subset.graph(near, far)

    def counts(self) -> tuple[Index, Index]:
        """Return the counts of all near pairs, and those of the far pairs of the subset scaled up to all."""
        return self.pairs.with_code(self.code).near_counts(), np.rint(self._n_far).astype(np.int64)

    def form(self, near: Table, far: Table) -> Form:
        """Return the form over all samples, of all near pairs and of far pairs that are drawn at random."""
        pairs, rng = self.pairs, np.random.default_rng(self.seed)
        lists = pairs.indptr, pairs.indices
        return Form(DrawnForm((pairs.first, pairs.second), lists, self.code, near, far, self._n_far, rng), ALL)

    @cached_property
    def _n_far(self) -> Vector:
        """Estimated numbers of far pairs of all samples at Hamming distance h = 0..n_bits."""
        n, counts = self.pairs.n_samples, self.subset.counts()[1]
        n_far = n * (n - 1) // 2 - len(self.pairs.first)
        return counts.astype(np.float64) * (n_far / max(1, int(counts.sum())))


class ListedPairs(Pairs):
    """Near or far where listed, unknown elsewhere.

    Parameters
    ----------
    first, second : ndarrays of int, shape (n_pairs,)
        The listed pairs, each once, with first[k] < second[k] < n_samples; not validated.
    near : ndarray of bool, shape (n_pairs,)
        Whether a listed pair is near; it is far otherwise.
    n_samples : int
        Number of samples that take part, the length of `FoundPairs.samples`.
    held_back : ndarray of bool, shape (n_pairs,), default=None
        Pairs that no bit is learned from: the threshold is found from these, see `near_only`. None are held back by
        default, and the hash function learns nothing from the near pairs of so short a list.
    """

    def __init__(
        self,
        first: Index,
        second: Index,
        near: NDArray[np.bool_],
        n_samples: int,
        held_back: NDArray[np.bool_] | None = None,
    ) -> None:
        self.first, self.second, self.near, self.n_samples = first, second, near, n_samples
        self.held_back = held_back

    def listed_near(self) -> ListedNear | None:
        if self.held_back is None:
            return None
        pairs = np.vstack([self.first, self.second])
        return ListedNear(pairs[:, self.near & ~self.held_back], pairs[:, self.near & self.held_back])

    def take(self, samples: Index) -> "ListedPairs":
        first, second, kept = renumbered(self.first, self.second, samples, self.n_samples)
        held_back = None if self.held_back is None else self.held_back[kept]
        return ListedPairs(first, second, self.near[kept], len(samples), held_back)

    def with_code(self, code: GrowingCode) -> "CodedList":
        distance = pair_distances(code.words, self.first, self.second)
        return CodedList(pairs=self, distance=distance, n_bits=code.n_bits)

    def sampled(self, code: GrowingCode, n_samples: int, rng: np.random.Generator) -> "CodedList":
        """Return all listed pairs: their number is the cost, and a subset of the samples may have none."""
        return self.with_code(code)


@dataclass(frozen=True)
class CodedList(CodedPairs):
    """The listed pairs of `ListedPairs` with their Hamming distances."""

    pairs: ListedPairs
    distance: Index
    n_bits: int
    samples = ALL

    def counts(self) -> tuple[Index, Index]:
        near, distance = self.pairs.near, self.distance
        if self.pairs.held_back is not None:
            near, distance = near[self.pairs.held_back], distance[self.pairs.held_back]
        return (
            np.bincount(distance[near], minlength=self.n_bits + 1),
            np.bincount(distance[~near], minlength=self.n_bits + 1),
        )

    def graph(self, near: Table, far: Table) -> SparseGraph:
        pairs = self.pairs
        weight = np.where(pairs.near, near[self.distance], far[self.distance])
        if pairs.held_back is not None:
            weight[pairs.held_back] = 0.0
        half = sp.coo_array((weight, (pairs.first, pairs.second)), shape=(pairs.n_samples, pairs.n_samples))
        return SparseGraph(half + half.T)


def renumbered(first: Index, second: Index, samples: Index, n_samples: int) -> tuple[Index, Index, NDArray[np.bool_]]:
    """Return the pairs within a subset, by their places in it, and which of the given pairs these are."""
    place = np.full(n_samples, -1)
    place[samples] = np.arange(len(samples))
    kept = (place[first] >= 0) & (place[second] >= 0)
    return place[first[kept]], place[second[kept]], kept
