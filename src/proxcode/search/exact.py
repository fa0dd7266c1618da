"""Exact search: an exhaustive scan, or hash tables once they save more time than building them takes.

1. A scan compares the queries with all codes. Groups of queries run in parallel threads; if there are few queries, so
   do ranges of the codes.
2. The cost of all scans is summed, and with it the estimated saving by hash tables, from a sample of queries and codes.
3. Once the saving exceeds the cost of building them, the hash tables are built and multi-index hashing is used.
4. A query that costs more than half a scan with hash tables is scanned instead. If most of the first queries of a call
   are, all queries of the call are scanned.
5. Codes added after the hash tables were built are scanned. When they are many, the hash tables are rebuilt.
6. If there is not enough memory for hash tables, all codes are scanned from then on.

Float queries are always scanned (`float_scan.py`).

Costs are counted, not measured, so the same calls always take the same way. The results do not depend on the way.
"""

import warnings
from functools import partial
from itertools import chain

import numpy as np

from proxcode.hamming import Codes
from proxcode.search._scan_kernels import BLOCK, scan, sort_found
from proxcode.search.float_queries import FloatQueries
from proxcode.search.float_scan import FloatScan
from proxcode.search.multi_index import MultiIndex, build_cost, expected_costs, scan_cost
from proxcode.search.planes import BytePlanes, Found, merge, split_by_query
from proxcode.search.tasks import scan_all
from proxcode.utils.locks import ForkSafeLock
from proxcode.utils.rows import evenly_spaced
from proxcode.utils.threads import in_threads, n_cores

# Queries per task: they are compared with a block of codes while it is in the processor's cache.
GROUP = 16
# Compared bytes, about a millisecond, below which threads cost more than they save.
MIN_THREADED_BYTES = 32_000_000
# Codes below which hash tables are not built unless requested.
MIN_CODES = 65_536
# Cost of scans, in units of `multi_index` and per byte of a code, after which the saving is estimated again.
ESTIMATE_INTERVAL = 2e6
# Queries of a call from which the saving is estimated.
N_ESTIMATED = 8
# Largest cost of a query with hash tables, as a fraction of the cost of a scan, before it is scanned instead.
MAX_PROBE_SHARE = 0.5
# First queries of a call, which decide whether the others use the hash tables.
N_TRIAL = 16
# Hash tables are rebuilt when more than one code in this many is not in them.
REBUILD_SHARE = 8


class ExactSearch:
    """Search engine of an index: holds the hash tables, the costs of past searches and offsets of codes.

    The codes of successive calls only grow: each call passes the codes of the previous call, possibly followed by
    further codes. Threads may share an engine; a thread that arrives while another one builds hash tables waits for
    them. The parameters are those of `HammingIndex`.
    """

    def __init__(self, n_threads: int | None, tables: bool | None) -> None:
        self.n_threads = n_cores() if n_threads is None else n_threads
        self.tables = tables
        # The hash tables, None until they are built.
        self.multi_index: MultiIndex | None = None
        self._spent = self._saved = 0.0
        self._building = ForkSafeLock()
        # Whether memory was too small for hash tables: no search tries again.
        self._out_of_memory = False
        self.floats = FloatScan(self.n_threads)

    def renewed(self) -> "ExactSearch":
        """Return an engine for other codes."""
        return ExactSearch(self.n_threads, self.tables)

    def find(self, codes: BytePlanes, queries: Codes | FloatQueries, k: int, radius: float) -> list[Found]:
        """Find at most k codes per query, the nearest, at distance at most `radius`, an integer for packed codes."""
        if isinstance(queries, FloatQueries):
            return self.floats.find(codes, queries, k, radius)
        return self._find(codes, queries, k, int(min(radius, 8 * codes.n_bytes)))

    @property
    def nbytes(self) -> int:
        """Memory of hash tables and offsets in bytes."""
        return self.floats.offsets.nbytes + (0 if self.multi_index is None else self.multi_index.nbytes)

    def _find(self, codes: BytePlanes, queries: Codes, k: int, radius: int) -> list[Found]:
        k = min(k, codes.n_codes)
        if k == 0 or len(queries) == 0:
            return [Found(np.empty(0, np.int32), np.empty(0, np.int64)) for _ in queries]
        # Numba would compile the kernels again for arrays that are read-only or not contiguous.
        queries = np.require(queries, requirements=["C", "W"])
        tables = self._tables_for(codes)
        if tables is None:
            found = self._scan(codes, queries, 0, k, radius)
            self._estimate_saving(codes, queries, found, k, radius)
            return found
        found = self._probe(tables, BytePlanes(codes.array, tables.n_codes), queries, min(k, tables.n_codes), radius)
        if tables.n_codes == codes.n_codes:
            return found
        found_later = self._scan(codes, queries, tables.n_codes, k, radius)
        return [merge(parts, k) for parts in zip(found, found_later, strict=True)]

    def _tables_for(self, codes: BytePlanes) -> MultiIndex | None:
        """Return hash tables of most of the codes if they are requested or worth their cost."""
        with self._building.own:
            if self._out_of_memory:
                is_due = False
            elif self.multi_index is not None:
                is_due = codes.n_codes - self.multi_index.n_codes > codes.n_codes // REBUILD_SHARE
            elif self.tables is not None:
                is_due = self.tables
            else:
                is_due = self._saved > build_cost(codes.n_bytes, codes.n_codes)
            if is_due:
                # Frees the memory of the old hash tables before the new ones are built.
                self.multi_index, self._saved = None, 0.0
                self._build(codes)
            tables = self.multi_index
        # Another thread may have added codes, and rebuilt the hash tables, after this search began.
        return None if tables is None or tables.n_codes > codes.n_codes else tables

    def _build(self, codes: BytePlanes) -> None:
        """Build the hash tables if memory allows it."""
        try:
            self.multi_index = MultiIndex(codes)
        except MemoryError as error:
            self._out_of_memory = True
            reason = f" ({error})" if str(error) else ""
            warnings.warn(
                f"not enough memory for hash tables of {codes.n_codes:,} codes{reason}: all codes are scanned, with "
                "the same results; pass tables=False to avoid the attempt.",
                RuntimeWarning,
                stacklevel=8,
            )

    def _estimate_saving(self, codes: BytePlanes, queries: Codes, found: list[Found], k: int, radius: int) -> None:
        """Add the cost of a scan; at intervals, estimate which part of it hash tables would have saved."""
        if self.tables is not None or self._out_of_memory or codes.n_codes < MIN_CODES:
            return
        cost = scan_cost(codes.n_bytes, codes.n_codes)
        self._spent += len(queries) * cost
        if self._spent < ESTIMATE_INTERVAL * codes.n_bytes:
            return
        sampled = evenly_spaced(len(queries), N_ESTIMATED)
        reach = [found[query].distance[-1] if len(found[query].distance) == k else radius for query in sampled]
        with_tables = expected_costs(codes, queries[sampled], np.array(reach, dtype=np.int64))
        budget = MAX_PROBE_SHARE * cost
        # A query over the budget is first probed up to the budget, then scanned.
        with_tables[with_tables > budget] = budget + cost
        self._saved = max(0.0, self._saved + self._spent * (1 - with_tables.mean() / cost))
        self._spent = 0.0

    def _probe(self, tables: MultiIndex, codes: BytePlanes, queries: Codes, k: int, radius: int) -> list[Found]:
        """Search the hash tables; scan the codes for queries that cost too much."""
        budget = MAX_PROBE_SHARE * scan_cost(codes.n_bytes, codes.n_codes)

        def probe(group: Codes) -> list[Found | None]:
            return tables.find(codes, group, k, radius, budget)

        found, rest = probe(queries[:N_TRIAL]), queries[N_TRIAL:]
        if found.count(None) > len(found) / 2:
            found += [None] * len(rest)
        else:
            found += chain.from_iterable(in_threads(probe, _groups(rest, GROUP), self.n_threads))
        missing = np.flatnonzero([of_query is None for of_query in found])
        scanned = iter(self._scan(codes, queries[missing], 0, k, radius) if len(missing) else [])
        return [next(scanned) if of_query is None else of_query for of_query in found]

    def _scan(self, codes: BytePlanes, queries: Codes, start: int, k: int, radius: int) -> list[Found]:
        """Compare queries with the codes from position `start` on."""
        is_small = len(queries) * (codes.n_codes - start) * codes.n_bytes < MIN_THREADED_BYTES
        n_threads = 1 if is_small else self.n_threads
        groups = _groups(queries, min(GROUP, -(-len(queries) // n_threads)))

        def scan_range(group: Codes, first: int, stop: int) -> list[Found]:
            return scan_codes(codes.array, group, k, radius, first, stop)

        return scan_all([partial(scan_range, group) for group in groups], start, codes.n_codes, k, n_threads)


def scan_codes(planes: Codes, queries: Codes, k: int, radius: int, start: int, stop: int) -> list[Found]:
    """Compare queries with the codes start to stop - 1; return the k nearest of each at distance at most `radius`."""
    n_queries, n_distances = len(queries), 8 * len(planes) + 1
    limit, n_found = np.full(n_queries, radius), np.zeros(n_queries, np.int64)
    counts = np.zeros((n_queries, n_distances), np.int64)
    part, values, found = np.empty(BLOCK, np.uint8), np.empty(BLOCK, np.uint16), np.empty(2 * BLOCK, np.uint64)
    found = scan(planes, queries, k, start, stop, limit, n_found, counts, part, values, found)
    ends = np.zeros(n_queries * n_distances + 1, np.int64)
    distance, position = np.empty(len(found), np.int32), np.empty(len(found), np.int64)
    sort_found(found, n_distances, ends, distance, position)
    return split_by_query(k, ends[n_distances - 1 :: n_distances], distance, position)


def _groups(queries: Codes, size: int) -> list[Codes]:
    return [queries[start : start + size] for start in range(0, len(queries), size)]
