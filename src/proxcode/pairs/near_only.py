"""Pairs of which only near ones are listed, such as items clicked together: far pairs are sampled.

1. A share of the near pairs is held back: no bit is learned from them. Step I finds the threshold from their distances,
   which are those of new pairs; the distances of the others are too small, since the bits were fitted to them.
2. For each bit, far pairs are drawn anew: two samples of near pairs, put together at random. Few of them are near in
   truth. A sample is drawn as often as it is listed, so that far pairs differ from near ones in nothing but who was put
   together with whom.
3. Near and far pairs have the same total weight: their numbers say nothing, the one of the list is the user's, the
   other one ours. The threshold therefore balances the share of near pairs beyond it and that of far pairs within it.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.cut import SparseGraph
from proxcode.hamming import GrowingCode, Words
from proxcode.pairs.base import CodedPairs, ListedNear, Pairs, Table
from proxcode.pairs.groups import pair_distances
from proxcode.pairs.lists import renumbered
from proxcode.utils.rows import ALL, Index

# Far pairs drawn for a bit: this many for each near pair, within limits.
FAR_PER_NEAR, MIN_FAR, MAX_FAR = 5, 20_000, 500_000
# One near pair in so many is held back; at least so many pairs, but no more than a quarter of them.
HELD_BACK, MIN_HELD_BACK = 10, 100
# Seed of far pairs where none is given.
FAR_SEED = 0


class NearOnlyPairs(Pairs):
    """Near where listed, far for pairs drawn at random from the others.

    Parameters
    ----------
    near : ListedNear
        The near pairs, each once, with first < second < n_samples; not validated.
    n_samples : int
        Number of samples that take part, the length of `FoundPairs.samples`.
    """

    def __init__(self, near: ListedNear, n_samples: int) -> None:
        self.near, self.n_samples = near, n_samples

    def listed_near(self) -> ListedNear:
        return self.near

    def take(self, samples: Index) -> "NearOnlyPairs":
        learned, held_back = (
            np.vstack(renumbered(pairs[0], pairs[1], samples, self.n_samples)[:2]) for pairs in self.near
        )
        return NearOnlyPairs(ListedNear(learned, held_back), len(samples))

    def with_code(self, code: GrowingCode) -> "CodedNearOnly":
        return self.sampled(code, self.n_samples, np.random.default_rng([FAR_SEED, code.n_bits]))

    def sampled(self, code: GrowingCode, n_samples: int, rng: np.random.Generator) -> "CodedNearOnly":
        """Return all near pairs, whose number is the cost, and far pairs of all samples."""
        return CodedNearOnly(pairs=self, far=self.draw_far(rng), words=code.words, n_bits=code.n_bits)

    def draw_far(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw distinct pairs that are not listed, shape (2, n_pairs); all of them where they are few."""
        n = self.n_samples
        n_drawn = max(MIN_FAR, min(FAR_PER_NEAR * self.near.learned.shape[1], MAX_FAR))
        if n * (n - 1) // 2 <= n_drawn:
            drawn = np.vstack(np.triu_indices(n, 1))
        else:
            ends = self.near.learned.ravel()
            drawn = np.sort(ends[rng.integers(len(ends), size=(2, n_drawn))], axis=0)
        keys = np.sort(drawn[0] * n + drawn[1])
        is_listed = self._keys[np.searchsorted(self._keys, keys) % len(self._keys)] == keys
        is_repeated = np.append(False, keys[1:] == keys[:-1])
        keys = keys[(keys // n != keys % n) & ~is_listed & ~is_repeated]
        return np.vstack([keys // n, keys % n])

    @cached_property
    def _keys(self) -> Index:
        first, second = np.hstack(self.near)
        return np.sort(first * self.n_samples + second)


@dataclass(frozen=True)
class CodedNearOnly(CodedPairs):
    """Listed near pairs and drawn far pairs with their Hamming distances.

    Attributes
    ----------
    pairs : NearOnlyPairs
    far : ndarray of int, shape (2, n_far)
        The far pairs drawn.
    words : ndarray of uint64, shape (n_words, n_samples)
        Codes of the samples.
    n_bits : int
    """

    pairs: NearOnlyPairs
    far: NDArray[np.int64]
    words: Words
    n_bits: int
    samples = ALL

    def counts(self) -> tuple[Index, Index]:
        """Return the counts of near pairs held back and of far pairs, the fewer scaled up to as many as the others."""
        near, far = self._histogram(self.pairs.near.to_measure), self._histogram(self.far)
        total = max(int(near.sum()), int(far.sum()))
        scaled = [np.rint(counts * (total / max(1, counts.sum()))).astype(np.int64) for counts in (near, far)]
        return scaled[0], scaled[1]

    def graph(self, near: Table, far: Table) -> SparseGraph:
        learned, n = self.pairs.near.learned, self.pairs.n_samples
        factor = self.far.shape[1] / learned.shape[1]
        weights = np.append(factor * near[self._distances(learned)], far[self._distances(self.far)])
        half = sp.coo_array((weights, tuple(np.hstack([learned, self.far]))), shape=(n, n))
        return SparseGraph(half + half.T)

    def _histogram(self, pairs: NDArray[np.int64]) -> Index:
        return np.bincount(self._distances(pairs), minlength=self.n_bits + 1)

    def _distances(self, pairs: NDArray[np.int64]) -> Index:
        return pair_distances(self.words, *pairs)


def hold_back(near: NDArray[np.int64]) -> ListedNear:
    """Hold back a random share of near pairs, the same for the same list."""
    m = near.shape[1]
    n_held = min(max(m // HELD_BACK, MIN_HELD_BACK), m // 4)
    order = np.random.default_rng(m).permutation(m)
    held, learned = np.sort(order[:n_held]), np.sort(order[n_held:])
    return ListedNear(near[:, learned], near[:, held])


def held_back_of_both(near: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """Return the near and far pairs to hold back, the same for the same list; None where either kind is scarce."""
    if min(near.sum(), (~near).sum()) < HELD_BACK * MIN_HELD_BACK:
        return None
    return np.random.default_rng(len(near)).random(len(near)) < 1 / HELD_BACK
