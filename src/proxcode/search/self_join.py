"""Self-join of distinct codes: all pairs up to a Hamming distance, each found once, in blocks.

1. Divide the p bits of a code into m chunks, more than the radius r. Two codes within the radius differ in at most r
   chunks, so that they agree in at least m - r of them (Manku, Jain, Das Sarma; WWW 2007).
2. Each choice of m - r chunks is a key: sort the codes by a hash of its bits, so that codes of equal key are in one
   bucket, and compare the codes of each bucket with one another.
3. Report a pair only in the first key in which it agrees.
4. Few chunks give few, short keys and large buckets; many chunks give many, long keys and small buckets. The m of the
   smallest cost is chosen, estimated from a sample of the codes; pairs within the radius, met in each key in which they
   agree, are a part of it. Bits are dealt to the chunks in turn, the most balanced ones first: bits that are almost
   always equal do not make up a chunk of their own.
5. A comparison of all codes with one another is the key without chunks, whose one bucket has all codes. It is chosen if
   it costs less than any other way, and ends the join as soon as the hash tables have cost as much as it would have.

Costs are counted, not measured. Neither the pairs nor their order depend on the number of threads.
"""

import math
from collections.abc import Generator, Iterator
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.hamming import Words
from proxcode.search._group_kernels import are_linked
from proxcode.search._join_kernels import (
    count_partitions,
    fill_filters,
    fill_partitions,
    near_pairs,
    sort_partitions,
)
from proxcode.utils.progress import ProgressDisplay
from proxcode.utils.threads import in_order, in_threads

Parents = NDArray[np.uint32]

# Codes from which costs are estimated, and those of them that are compared with the others.
N_SAMPLED, N_COMPARED = 4096, 128
# Largest number of chunks, the bits of a word, and of keys.
MAX_CHUNKS, MAX_KEYS = 64, 512
# Pairs of codes below which all are compared.
MIN_PAIRS = 2**22
# Costs in nanoseconds: of one code in one hash table, of a comparison in a bucket, and in one large bucket; of a pair
# within the radius, in each key in which it agrees.
ENTRY_COST, PAIR_COST, SCAN_COST, NEAR_COST = 45.0, 0.2, 0.11, 30.0
# Codes of a partition, which fits into the processor's cache, and the largest number of leading bits that divide.
PARTITION, MAX_PARTITION_BITS = 4096, 12
# Ranges of rows that are counted and written in parallel, and ranges of partitions that are sorted in parallel.
N_RANGES = 32
# Largest number of buckets of a partition.
MAX_BUCKETS = 2**16
# Comparisons of a task, some milliseconds.
TASK_PAIRS = 2**24
# Rows and columns of a task in a large bucket: the filters of the columns stay in the processor's cache.
TILE_ROWS, TILE_COLUMNS = 2048, 16_384
# Pairs that are found at a time.
BLOCK = 2**16
# The key without chunks: all codes are compared.
EVERYTHING = np.uint64(0)


class RowPairs(NamedTuple):
    """Pairs of rows, shape (2, n_pairs), and their distances."""

    rows: NDArray[np.uint32]
    distance: NDArray[np.uint16]


class Keys(NamedTuple):
    """Bits of each chunk in the words of a code, shape (n_chunks, n_words); chunks of each key, as bits of a word."""

    chunks: Words
    chosen: Words

    def mask(self, key: np.uint64) -> Words:
        """Return the bits of a key in the words of a code."""
        is_chosen = (key >> np.arange(len(self.chunks), dtype=np.uint64)) & np.uint64(1) == 1
        return np.bitwise_or.reduce(self.chunks[is_chosen], axis=0)


class Tile(NamedTuple):
    """Comparisons of the entries start to stop - 1 with the later ones of their buckets, of low to high - 1."""

    start: int
    stop: int
    low: int
    high: int
    n_pairs: int

    def state(self) -> NDArray[np.int64]:
        """Return the state with which `near_pairs` begins."""
        return np.array([self.start, max(self.start + 1, self.low), self.stop, self.low, self.high])


class Table(NamedTuple):
    """Codes sorted into buckets: see `sort_partitions`. Partition p is edges[p] to edges[p + 1] - 1."""

    entries: Words
    filters: Words
    ends: NDArray[np.uint32]
    edges: NDArray[np.int64]
    n_pairs: NDArray[np.int64]

    def tiles(self) -> Iterator[Tile]:
        """Divide the comparisons into tasks."""
        start, n_pairs = 0, 0
        for (first, last), n_own in zip(pairwise(self.edges.tolist()), self.n_pairs.tolist(), strict=True):
            if n_pairs and n_pairs + n_own > TASK_PAIRS:
                yield Tile(start, first, start, first, n_pairs)
                start, n_pairs = first, 0
            if n_own > TASK_PAIRS:
                yield from self._tiles_of(first, last)
                start = last
            else:
                n_pairs += n_own
        if n_pairs:
            yield Tile(start, len(self.entries), start, len(self.entries), n_pairs)

    def _tiles_of(self, start: int, stop: int) -> Iterator[Tile]:
        """Divide a partition with large buckets."""
        edges = np.concatenate([[start], np.unique(self.ends[start:stop])]).astype(np.int64)
        sizes = np.diff(edges)
        # Small buckets together, as many as make up a task; each large bucket alone.
        is_large = sizes > TILE_ROWS
        number = np.cumsum(np.where(is_large, 0, sizes * (sizes - 1) // 2)) // TASK_PAIRS
        changes = (np.diff(number) > 0) | is_large[1:] | is_large[:-1]
        for first, last in pairwise([0, *(np.flatnonzero(changes) + 1).tolist(), len(sizes)]):
            low, high = int(edges[first]), int(edges[last])
            if is_large[first]:
                yield from _square(low, high)
            elif n_pairs := int((sizes[first:last] * (sizes[first:last] - 1) // 2).sum()):
                yield Tile(low, high, low, high, n_pairs)


def _square(start: int, stop: int) -> Iterator[Tile]:
    """Divide the comparisons in one large bucket."""
    for first in range(start, stop, TILE_ROWS):
        last = min(first + TILE_ROWS, stop)
        for low in range(first, stop, TILE_COLUMNS):
            high = min(low + TILE_COLUMNS, stop)
            n_below = (last - first) * (last - first + 1) // 2 if low == first else 0
            yield Tile(first, last, low, high, (last - first) * (high - low) - n_below)


class SelfJoin:
    """Pairs of distinct codes up to a Hamming distance.

    `rows` are distinct codes as words, shape (n, n_words); `n_threads=None` uses all cores.
    """

    def __init__(self, rows: Words, n_bits: int, radius: int, n_threads: int | None) -> None:
        self.rows, self.radius, self.n_threads = rows, min(radius, n_bits), n_threads
        self.keys = choose_keys(rows, n_bits, self.radius)

    def pairs(self, parents: Parents | None = None, *, verbose: bool = False) -> Generator[RowPairs, None, None]:
        """Yield all pairs in blocks.

        Parameters
        ----------
        parents : ndarray of uint32, default=None
            The trees of `unite`, to which the caller adds the pairs: pairs of rows of one tree may be left out.
        verbose : bool, default=False
            Whether progress is shown.
        """
        n = len(self.rows)
        with ProgressDisplay("compared", "codes", n * len(self.keys.chosen), shown=verbose) as progress:
            for number, (key, table) in enumerate(self._tables()):
                if key == EVERYTHING:
                    progress.total = n * (number + 1)
                yield from self._compare(table, key, number, parents, progress)

    def _tables(self) -> Iterator[tuple[np.uint64, Table]]:
        """Yield the keys with their hash tables; once these cost as much as comparing all codes, this ends them."""
        n, spent = len(self.rows), 0.0
        # All hash tables use the same memory, one after another.
        memory = np.empty(n, np.uint64), np.empty(n, np.uint64), np.empty(n, np.uint32)
        for key in self.keys.chosen:
            table = self._table(key, *memory)
            spent += ENTRY_COST * n + PAIR_COST * int(table.n_pairs.sum())
            if key != EVERYTHING and spent > _scan_cost(n):
                yield EVERYTHING, self._table(EVERYTHING, *memory)
                return
            yield key, table

    def _compare(
        self, table: Table, key: np.uint64, n_earlier: int, parents: Parents | None, progress: ProgressDisplay
    ) -> Iterator[RowPairs]:
        """Yield the pairs of codes in the same bucket that none of the earlier keys has found."""
        earlier = self.keys.chosen[:n_earlier]

        def find(state: NDArray[np.int64]) -> RowPairs:
            pairs, distance = np.empty((2, BLOCK), np.uint32), np.empty(BLOCK, np.uint16)
            arrays = table.entries, table.filters, table.ends, self.keys.chunks
            n_found = near_pairs(self.rows, *arrays, key, earlier, self.radius, state, pairs, distance)
            return RowPairs(pairs[:, :n_found].copy(), distance[:n_found].copy())

        def begin(tile: Tile) -> tuple[Tile, NDArray[np.int64], RowPairs]:
            state = tile.state()
            if is_done(tile):
                state[0] = tile.stop
            return tile, state, find(state)

        def is_done(tile: Tile) -> bool:
            """Return whether all pairs of a task are in one group, if that is less work than to compare them."""
            n_entries = tile.stop - tile.start + tile.high - tile.low
            return parents is not None and n_entries < BLOCK and are_linked(parents, table.entries, *tile[:4])

        n, total, compared, shown = len(self.rows), max(1, int(table.n_pairs.sum())), 0, 0
        for tile, state, found in in_order(begin, table.tiles(), self.n_threads):
            yield found
            # A task stops where its memory is full: what is left is found here.
            while state[0] < tile.stop and not is_done(tile):
                yield find(state)
            compared += tile.n_pairs
            progress.update(n * compared // total - shown)
            shown = n * compared // total
        progress.update(n - shown)

    def _table(self, key: np.uint64, entries: Words, filters: Words, ends: NDArray[np.uint32]) -> Table:
        """Sort all codes into buckets by the bits of a key; the arrays are overwritten."""
        n, mask = len(self.rows), self.keys.mask(key)
        if key == EVERYTHING:
            fill_filters(self.rows, filters)
            entries[:], ends[:] = np.arange(n, dtype=np.uint64), n
            return Table(entries, filters, ends, np.array([0, n]), np.array([n * (n - 1) // 2]))
        n_partition_bits = min(MAX_PARTITION_BITS, max(0, round(math.log2(n / PARTITION))))
        shift, n_partitions = 32 - n_partition_bits, 1 << n_partition_bits
        ranges = list(enumerate(pairwise(_edges(n, N_RANGES))))
        counts = np.zeros((len(ranges), n_partitions), np.int64)

        def count(task: Any) -> None:
            count_partitions(self.rows, mask, *task[1], shift, counts[task[0]])

        in_threads(count, ranges, self.n_threads)
        places = np.cumsum(np.append(0, counts.T.ravel()[:-1])).reshape(n_partitions, -1).T.copy()
        edges = np.append(places[0], n)

        def fill(task: Any) -> None:
            fill_partitions(self.rows, mask, *task[1], shift, places[task[0]], entries, filters)

        in_threads(fill, ranges, self.n_threads)
        n_pairs = np.empty(n_partitions, np.int64)

        def sort(of: tuple[int, int]) -> None:
            own = edges[of[0] : of[1] + 1]
            spare, sizes = np.empty((2, int(np.diff(own).max())), np.uint64), np.empty(MAX_BUCKETS, np.int64)
            sort_partitions(own, shift, entries, filters, ends, n_pairs[of[0] : of[1]], sizes, spare)

        in_threads(sort, list(pairwise(_edges(n_partitions, N_RANGES))), self.n_threads)
        return Table(entries, filters, ends, edges, n_pairs)


def choose_keys(rows: Words, n_bits: int, radius: int) -> Keys:
    """Return the keys of the smallest estimated cost; one key without chunks if all codes are to be compared."""
    n, n_words = rows.shape
    best = Keys(np.zeros((0, n_words), np.uint64), np.array([EVERYTHING]))
    if n * (n - 1) // 2 < MIN_PAIRS:
        return best
    sampled = rows[np.random.default_rng(0).choice(n, min(n, N_SAMPLED), replace=False)]
    near, cost_of_near = _near_differences(sampled, radius, n)
    smallest = _scan_cost(n) + cost_of_near * len(near)
    bits = np.unpackbits(sampled.astype("<u8").view(np.uint8), axis=1, count=n_bits)
    # The most balanced bits first.
    order = np.argsort(np.abs(bits.mean(axis=0) - 0.5), kind="stable")
    for n_chunks in range(radius + 1, min(MAX_CHUNKS, n_bits) + 1):
        cost = ENTRY_COST * n * math.comb(n_chunks, radius)
        if math.comb(n_chunks, radius) > MAX_KEYS or cost > smallest:
            break
        keys = _divided(order, n_chunks, radius, n_words)
        for mask in map(keys.mask, keys.chosen):
            cost += PAIR_COST * _expected_pairs(sampled & mask, n)
            # A near pair is met in every key in which it agrees.
            cost += cost_of_near * int((~(near & mask).any(axis=1)).sum())
        if cost < smallest:
            best, smallest = keys, cost
    return best


def _near_differences(sampled: Words, radius: int, n: int) -> tuple[Words, float]:
    """Return the differing bits of sampled pairs within the radius, and the cost of the pairs that each stands for."""
    some, others = np.split(sampled, [min(N_COMPARED, len(sampled) // 2)])
    distance = sum(np.bitwise_count(a[:, None] ^ b).astype(np.uint16) for a, b in zip(some.T, others.T, strict=True))
    first, second = np.nonzero(distance <= radius)
    return some[first] ^ others[second], NEAR_COST * n * (n - 1) / 2 / (len(some) * len(others))


def _divided(order: NDArray[np.int64], n_chunks: int, radius: int, n_words: int) -> Keys:
    """Deal bits to chunks in turn, in the given order; a key is a choice of n_chunks - radius of them."""
    bits = np.zeros((n_chunks, 64 * n_words), np.uint8)
    bits[np.arange(len(order)) % n_chunks, order] = 1
    chosen = [sum(1 << chunk for chunk in some) for some in combinations(range(n_chunks), n_chunks - radius)]
    return Keys(np.packbits(bits, axis=1).view("<u8").astype(np.uint64), np.array(chosen, np.uint64))


def _expected_pairs(masked: Words, n: int) -> float:
    """Estimate how many pairs of n codes have equal keys, from the keys of a sample."""
    # Sums of products with odd numbers tell the keys of several words apart.
    factors = np.random.default_rng(1).integers(2**63, size=masked.shape[1], dtype=np.uint64) * np.uint64(
        2
    ) + np.uint64(1)
    _, counts = np.unique((masked * factors).sum(axis=1), return_counts=True)
    n_sampled = len(masked)
    return float((counts * (counts - 1)).sum()) * n * (n - 1) / (2.0 * n_sampled * (n_sampled - 1))


def _scan_cost(n: int) -> float:
    """Return the cost of comparing all codes with one another."""
    return SCAN_COST * n * (n - 1) / 2


def _edges(n: int, n_ranges: int) -> list[int]:
    """Return the limits of ranges of almost equal lengths, none of them empty."""
    return np.linspace(0, n, min(n, n_ranges) + 1).astype(np.int64).tolist()
