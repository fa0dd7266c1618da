"""Exhaustive scan with float queries, and the stored offsets of codes.

1. The offsets of all codes are computed when a function of offsets is first used, and those of codes added since.
2. Queries are compared with the codes in groups of `LANES`, each thread with a range of the codes.
3. The queries of a last group that is small are scanned one by one, which is faster, above all if their tables are
   sums over bits: a lower bound of the distance with an 8-bit weight for each bit then excludes almost all codes.

The distances do not depend on the way, nor on the number of threads.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.hamming import Codes
from proxcode.search._float_kernels import BIT_BLOCK, BIT_PLANES, LANE_BLOCK, scan_lanes, scan_one, sort_lists
from proxcode.search._lane_kernels import LANES
from proxcode.search.float_queries import FloatQueries, Floats, Offsets, offsets_of
from proxcode.search.planes import BytePlanes, Found, split_by_query
from proxcode.search.tasks import scan_all
from proxcode.utils.locks import ForkSafeLock

# Queries from which a group is compared with all lanes, although some of them are not used.
MIN_LANES = 6
# Bytes of codes times queries, about a millisecond, below which threads cost more than they save.
MIN_THREADED_BYTES = 16_000_000
# Sizes of the memory for 16-bit units: offsets and totals of a block, limits of lanes.
LANE_MEMORY = LANE_BLOCK, LANE_BLOCK * LANES, LANES
# Largest sum of 16-bit units of a code, with room for rounding.
MAX_UNITS = 65_000
# Smallest unit: its inverse fits into single precision.
MIN_STEP = 1e-30
# Codes whose offsets are computed at a time.
OFFSET_BLOCK = 65_536
# The bytes with one bit that is 1, and all bytes as bits, the highest bit first.
BIT_VALUES = 1 << np.arange(7, -1, -1)
BYTES_AS_BITS = (np.arange(256)[:, None] & BIT_VALUES > 0).astype(np.float64)
# Largest difference between tables and sums over bits, as a fraction of the range of the distances.
MAX_RESIDUAL = 1 / 256


class CodeOffsets(NamedTuple):
    """Offsets of codes, none if all are 0, and numbers that none of them is below or above."""

    values: Floats = np.empty(0, np.float32)
    smallest: float = 0.0
    largest: float = 0.0

    @property
    def magnitude(self) -> float:
        """Largest magnitude of an offset."""
        return max(self.largest, -self.smallest)

    def extended(self, new: Floats) -> CodeOffsets:
        """Append the offsets of further codes."""
        smallest, largest = float(new.min()), float(new.max())
        if len(self.values):
            smallest, largest = min(smallest, self.smallest), max(largest, self.largest)
        return CodeOffsets(np.concatenate([self.values, new]), smallest, largest)


class StoredOffsets:
    """Offsets of the codes of an index for the last function used. Codes are only appended; threads may share it."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._function: Offsets | None = None
        self._offsets = CodeOffsets()

    @property
    def nbytes(self) -> int:
        """Memory of the offsets in bytes."""
        return self._offsets.values.nbytes

    def get(self, function: Offsets | None, codes: BytePlanes) -> CodeOffsets:
        """Return the offsets of the codes, of which there is at least one; none if the function is None."""
        if function is None:
            return CodeOffsets()
        with self._lock.own:
            # Results of other calls are never written to: each change makes a new array.
            known = self._offsets if function == self._function else CodeOffsets()
            n, start = codes.n_codes, len(known.values)
            if start < n:
                blocks = [slice(first, min(first + OFFSET_BLOCK, n)) for first in range(start, n, OFFSET_BLOCK)]
                new = [offsets_of(function, np.ascontiguousarray(codes.array[:, block].T)) for block in blocks]
                known = known.extended(np.concatenate(new))
            self._function, self._offsets = function, known
        # Another thread may have added codes after this search began.
        return known._replace(values=known.values[:n])

    def chosen(self, function: Offsets | None, codes: BytePlanes, positions: NDArray[np.int64]) -> StoredOffsets:
        """Return the offsets of the codes at some positions, for the same function."""
        known = self.get(function, codes)
        others = StoredOffsets()
        if function is not None:
            others._function, others._offsets = function, known._replace(values=known.values[positions])
        return others


class BitWeights(NamedTuple):
    """A lower bound of the distance of one query, as `scan_one` computes it: see there."""

    best: Codes
    weights: Codes
    step: np.float32
    lowest: np.float32

    @classmethod
    def from_table(cls, table: Floats, offsets: CodeOffsets) -> BitWeights:
        """Return a lower bound for a table of shape (n_bytes, 256), without weights if it is not a sum over bits."""
        n_bytes = len(table)
        rise = table.astype(np.float64) - table[:, :1]
        # What each bit makes of an entry, the highest bit first, and what all bits leave unexplained.
        effect = rise[:, BIT_VALUES]
        residual = rise - effect @ BYTES_AS_BITS.T
        smallest, largest = residual.min(axis=1), residual.max(axis=1)
        size = np.abs(effect)
        best = np.packbits(effect < 0, axis=1)[:, 0]
        if (largest - smallest).sum() > MAX_RESIDUAL * size.sum():
            return cls(best, np.empty((0, 8), np.uint8), np.float32(1), np.float32(0))
        sums = [size[first : first + BIT_PLANES].sum() for first in range(0, n_bytes, BIT_PLANES)]
        step = np.float32(max(max(sums) / 255 * (1 + 1e-6), MIN_STEP))
        weights = (size / np.float64(step)).astype(np.uint8)
        lowest = table[:, 0].sum(dtype=np.float64) + smallest.sum() + np.minimum(effect, 0).sum()
        magnitude = np.abs(table).max(axis=1).sum(dtype=np.float64) + size.sum() + offsets.magnitude
        return cls(best, weights, step, np.float32(lowest - _rounding(n_bytes) * magnitude))


class Quantised(NamedTuple):
    """Lower bounds of the distances of a group of queries, as `scan_lanes` computes them: see there."""

    entries: NDArray[np.uint16]
    smallest_offset: np.float32
    step: float
    lowest: NDArray[np.float64]

    @classmethod
    def from_tables(cls, tables: Floats, offsets: CodeOffsets) -> Quantised:
        """Return lower bounds for tables of shape (n_queries, n_bytes, 256)."""
        n_queries, n_bytes, _ = tables.shape
        exact = tables.astype(np.float64)
        smallest, largest = exact.min(axis=2), exact.max(axis=2)
        # All queries share one unit, so that the units of an offset are the same for all of them.
        spread = (largest - smallest).sum(axis=1).max() + offsets.largest - offsets.smallest
        step = max(float(spread) / MAX_UNITS, MIN_STEP)
        entries = np.zeros((n_bytes, 256, LANES), np.uint16)
        entries[:, :, :n_queries] = ((exact - smallest[:, :, None]) / step).transpose(1, 2, 0)
        magnitude = np.maximum(largest, -smallest).sum(axis=1) + offsets.magnitude
        lowest = smallest.sum(axis=1) + offsets.smallest - _rounding(n_bytes) * magnitude
        return cls(entries, np.float32(offsets.smallest), step, lowest)


class FloatScan:
    """Scan of an index with float queries; holds the offsets of its codes.

    The codes of successive calls only grow, as those of `ExactSearch`.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self.offsets = StoredOffsets()

    def find(self, codes: BytePlanes, queries: FloatQueries, k: int, radius: float) -> list[Found]:
        """Find at most k codes per query, the nearest, at distance at most `radius`, rounded to single precision."""
        k = min(k, codes.n_codes)
        if k == 0 or len(queries) == 0:
            return [Found(np.empty(0, np.float32), np.empty(0, np.int64)) for _ in range(len(queries))]
        with np.errstate(over="ignore"):
            limit = np.nextafter(np.float32(radius), np.float32(np.inf))
        offsets = self.offsets.get(queries.offsets, codes)

        def by_lanes(tables: Floats, start: int, stop: int) -> list[Found]:
            bound = Quantised.from_tables(tables, offsets)
            units, limits = [np.zeros(size, np.uint16) for size in LANE_MEMORY], np.full(len(tables), limit)
            memory = *units, *(lists := _empty_lists(len(tables), k))
            found = scan_lanes(codes.array, offsets.values, tables, *bound, k, start, stop, limits, memory)
            return _sorted_lists(found, lists[0])

        def by_itself(table: Floats, start: int, stop: int) -> list[Found]:
            bound = BitWeights.from_table(table, offsets)
            memory = np.empty(BIT_BLOCK, np.uint8), np.empty(BIT_BLOCK, np.float32), *(lists := _empty_lists(1, k))
            found = scan_one(codes.array, offsets.values, table, *bound, k, limit, start, stop, memory)
            return _sorted_lists(found, lists[0])

        groups = [queries.tables[first : first + LANES] for first in range(0, len(queries), LANES)]
        few = groups.pop() if len(groups[-1]) < MIN_LANES else ()
        scans = [partial(by_lanes, tables) for tables in groups] + [partial(by_itself, table) for table in few]
        is_small = len(queries) * codes.n_codes * codes.n_bytes < MIN_THREADED_BYTES
        n_threads = 1 if is_small else self.n_threads
        # Each thread scans its range for all groups: their number is rarely a multiple of the number of threads.
        return scan_all(scans, 0, codes.n_codes, k, n_threads, n_ranges=n_threads)


def _empty_lists(n_queries: int, k: int) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the sizes of lists of results, and room for some results in each; the kernels make more."""
    return np.zeros(n_queries, np.int64), np.empty((n_queries, min(k, 1024)), np.uint64)


def _sorted_lists(found: NDArray[np.uint64], sizes: NDArray[np.int64]) -> list[Found]:
    """Return the results of each query in order of distance, then of position."""
    stops = np.cumsum(sizes)
    distance, position = np.empty(stops[-1], np.float32), np.empty(stops[-1], np.int64)
    sort_lists(found, sizes, stops, distance, position)
    return split_by_query(found.shape[1], stops, distance, position)


def _rounding(n_bytes: int) -> float:
    """Return a bound of the errors of a distance and of its lower bound, relative to the magnitude of their terms."""
    return (2 * n_bytes + 16) * 2.0**-24
