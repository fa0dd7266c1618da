"""Exhaustive scan with float queries, and the stored offsets of codes.

1. The offsets of all codes are computed when a function of offsets is first used, and those of codes added since.
2. Queries are compared with the codes in groups of `LANES`, each group in its own thread; if there are few groups, so
   are ranges of the codes.
3. Of a last group with few queries, each is scanned by itself if its tables are sums over bits, which is faster: a
   lower bound of the distance with weights of 8 bits per bit of the code excludes almost all codes.

The distances do not depend on the way, nor on the number of threads.
"""

from __future__ import annotations

from functools import partial
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.hamming import Codes
from proxcode.search._float_kernels import BIT_PLANES, scan_bits, scan_lanes
from proxcode.search._lanes import LANES
from proxcode.search.float_queries import FloatQueries, Floats, Offsets, offsets_of
from proxcode.search.planes import BytePlanes, Found, split_by_query
from proxcode.search.tasks import scan_all

# Queries from which a group is compared with all lanes, although some of them are not used.
MIN_LANES = 8
# Bytes of codes times queries, about a millisecond, below which threads cost more than they save.
MIN_THREADED_BYTES = 16_000_000
# Largest sum of 16-bit units of a code, with room for rounding.
MAX_UNITS = 65_000
# Codes whose offsets are computed at a time.
OFFSET_BLOCK = 65_536
# Largest difference between tables and sums over bits, as a fraction of the range of the distances.
MAX_RESIDUAL = 1 / 256

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float64)


class StoredOffsets:
    """Offsets of the codes of an index for the last function used. Codes are only appended; threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._function: Offsets | None = None
        self._values: Floats = np.empty(0, np.float32)

    @property
    def nbytes(self) -> int:
        """Memory of the offsets in bytes."""
        return self._values.nbytes

    def get(self, function: Offsets | None, codes: BytePlanes) -> Floats:
        """Return the offsets of all codes, or an empty array if the function is None."""
        if function is None:
            return np.empty(0, np.float32)
        with self._lock:
            # Results of other calls are never written to: each change makes a new array.
            values = self._values if function == self._function else self._values[:0]
            n, start = codes.n_codes, len(values)
            if start < n:
                blocks = [slice(first, min(first + OFFSET_BLOCK, n)) for first in range(start, n, OFFSET_BLOCK)]
                new = (offsets_of(function, np.ascontiguousarray(codes.array[:, block].T)) for block in blocks)
                values = np.concatenate([values, *new])
            self._function, self._values = function, values
            # Another thread may have added codes after this search began.
            return values[:n]


class BitWeights(NamedTuple):
    """A lower bound of the distance of one query, as `scan_bits` computes it: see there."""

    best: Codes
    weights: Codes
    step: np.float32
    lowest: np.float32

    @classmethod
    def from_table(cls, table: Floats, largest_offset: float) -> BitWeights | None:
        """Return a lower bound for a table of shape (n_bytes, 256), None if the table is not a sum over bits."""
        exact = table.astype(np.float64)
        n_bytes = len(exact)
        # Differences made by each bit, the highest first, and what they leave unexplained.
        effect = exact[:, 128 >> np.arange(8)] - exact[:, :1]
        residual = exact - exact[:, :1] - effect @ _BITS.T
        size = np.abs(effect)
        if np.ptp(residual, axis=1).sum() > MAX_RESIDUAL * size.sum():
            return None
        sums = [size[first : first + BIT_PLANES].sum() for first in range(0, n_bytes, BIT_PLANES)]
        step = np.float32(max(sums) / 255 * (1 + 1e-6)) or np.float32(1)
        lowest = (exact[:, 0] + residual.min(axis=1) + np.minimum(effect, 0).sum(axis=1)).sum()
        lowest -= _rounding(n_bytes) * (np.abs(exact).max(axis=1).sum() + size.sum() + largest_offset)
        weights = np.floor(size / np.float64(step)).astype(np.uint8)
        return cls(np.packbits(effect < 0, axis=1)[:, 0], weights, step, np.float32(lowest))


class Quantised(NamedTuple):
    """Lower bounds of the distances of a group of queries, as `scan_lanes` computes them: see there."""

    entries: NDArray[np.uint16]
    unit_offsets: NDArray[np.uint16]
    step: float
    lowest: NDArray[np.float64]

    @classmethod
    def from_tables(cls, tables: Floats, offsets: Floats) -> Quantised:
        """Return lower bounds for tables of shape (n_queries, n_bytes, 256)."""
        n_queries, n_bytes, _ = tables.shape
        exact = tables.astype(np.float64)
        smallest, largest = exact.min(axis=2), exact.max(axis=2)
        first, last = _range(offsets)
        # All queries share one unit, so that the units of an offset are the same for all of them.
        step = ((largest - smallest).sum(axis=1).max() + last - first) / MAX_UNITS or 1.0
        entries = np.zeros((n_bytes, 256, LANES), np.uint16)
        entries[:, :, :n_queries] = ((exact - smallest[:, :, None]) / step).transpose(1, 2, 0)
        unit_offsets = ((offsets.astype(np.float64) - first) / step).astype(np.uint16)
        magnitude = np.maximum(largest, -smallest).sum(axis=1) + max(last, -first)
        lowest = smallest.sum(axis=1) + first - _rounding(n_bytes) * magnitude
        return cls(entries, unit_offsets, float(step), lowest)


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
            return split_by_query(k, *scan_lanes(codes.array, offsets, tables, *bound, k, limit, start, stop))

        def by_bits(table: Floats, bound: BitWeights, start: int, stop: int) -> list[Found]:
            return split_by_query(k, *scan_bits(codes.array, offsets, table, *bound, k, limit, start, stop))

        groups = [queries.tables[first : first + LANES] for first in range(0, len(queries), LANES)]
        bounds = _bit_weights(groups[-1], offsets) if len(groups[-1]) < MIN_LANES else []
        single = groups.pop() if bounds else ()
        scans = [partial(by_lanes, tables) for tables in groups]
        scans += [partial(by_bits, table, bound) for table, bound in zip(single, bounds, strict=True)]
        is_small = len(queries) * codes.n_codes * codes.n_bytes < MIN_THREADED_BYTES
        return scan_all(scans, 0, codes.n_codes, k, 1 if is_small else self.n_threads)


def _bit_weights(tables: Floats, offsets: Floats) -> list[BitWeights]:
    """Return lower bounds for the tables of some queries, none if one of them is not a sum over bits."""
    first, last = _range(offsets)
    bounds = [BitWeights.from_table(table, max(last, -first)) for table in tables]
    known = [bound for bound in bounds if bound is not None]
    return known if len(known) == len(bounds) else []


def _range(offsets: Floats) -> tuple[float, float]:
    return (float(offsets.min()), float(offsets.max())) if len(offsets) else (0.0, 0.0)


def _rounding(n_bytes: int) -> float:
    """Return a bound of the errors of a distance and of its lower bound, relative to the magnitude of their terms."""
    return (2 * n_bytes + 16) * 2.0**-24
