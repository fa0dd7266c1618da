"""Exact search: a flat scan, or tables where they pay.

1. A scan compares queries with all codes in blocks; groups of queries, or for few queries parts of the codes, run in
   threads,
2. what scans have cost and what tables would have saved is added up, the latter from a few queries and codes,
3. once the savings would have paid for the tables, these are built, and multi-index hashing takes over,
4. a query that costs the tables more than half a scan is scanned after all, and where most do, all are;
5. codes added since are scanned; when they are many, tables are built anew.

Costs are counted, not timed. Whichever way is taken, the results are the same.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Lock
from typing import NamedTuple, TypeVar

import joblib
import numpy as np

from proxcode.hamming import Codes
from proxcode.search._scan_kernels import scan_nearest, scan_within
from proxcode.search.multi_index import FILL_COST, PLANE_COST, MultiIndex, cut_into_chunks, expected_costs
from proxcode.search.results import Found

GROUP = 16  # queries compared with a block of codes while it is in the processor's cache
SMALL = 32_000_000  # bytes compared, about a millisecond, below which threads cost more than they save
MIN_CODES = 65_536  # from which on tables are thought of
OBSERVED, EVERY = 8, 2e6  # queries from which costs are estimated, each time that a plane has cost so much
TRIAL = 16  # queries of a call that try the tables before the rest follow the majority
STALE = 8  # tables are built anew when one code in so many is not in them

Task = TypeVar("Task")
Result = TypeVar("Result")


class Stock(NamedTuple):
    """Codes to search among: the first `n_codes` columns of byte planes."""

    planes: Codes
    n_codes: int

    @property
    def max_distance(self) -> int:
        """A radius within which all codes are: their whole bytes."""
        return 8 * len(self.planes)

    @property
    def scan_cost(self) -> float:
        """What comparing a query with all codes costs."""
        return PLANE_COST * len(self.planes) * self.n_codes

    @property
    def budget(self) -> float:
        """What tables may spend on a query before it is scanned."""
        return self.scan_cost / 2

    @property
    def table_cost(self) -> float:
        """What building tables costs."""
        return FILL_COST * self.n_codes * len(cut_into_chunks(len(self.planes), self.n_codes).low)


class ExactSearch:
    """Finds codes; remembers tables and what searches have cost.

    Each stock that it is given holds the codes of the one before, and maybe more after them. Threads may share it: one
    that comes while another builds tables waits for them.

    Parameters
    ----------
    n_threads : int or None
        None is all cores.
    tables : bool or None
        Whether tables may be built; None where they pay.
    """

    def __init__(self, n_threads: int | None, tables: bool | None) -> None:
        self.n_threads = joblib.cpu_count() if n_threads is None else n_threads
        self.tables = tables
        self.multi_index: MultiIndex | None = None
        self._spent = self._saved = 0.0
        self._building = Lock()

    def find(self, stock: Stock, queries: Codes, k: int, radius: int) -> list[Found]:
        """Find, for each query, at most k codes, the nearest, at most `radius` away."""
        k, radius = min(k, stock.n_codes), min(radius, stock.max_distance)
        if k == 0 or len(queries) == 0:
            return [Found(np.empty(0, np.int32), np.empty(0, np.int64)) for _ in queries]
        queries = np.require(queries, requirements=["C", "W"])  # kernels would be compiled again for any other
        tables = self._tables_for(stock)
        if tables is None:
            found = self._scan(stock, queries, 0, k, radius)
            self._observe(stock, queries, found, k, radius)
            return found
        found = self._find_in(tables, stock.planes, queries, min(k, tables.n_codes), radius)
        if tables.n_codes == stock.n_codes:
            return found
        later = self._scan(stock, queries, tables.n_codes, k, radius)
        return [_merge(pair, k) for pair in zip(found, later, strict=True)]

    def _tables_for(self, stock: Stock) -> MultiIndex | None:
        """Return tables of most codes where they are asked for or have paid."""
        with self._building:
            if self.multi_index is None:
                is_due = self.tables if self.tables is not None else self._saved > stock.table_cost
            else:
                is_due = stock.n_codes - self.multi_index.n_codes > stock.n_codes // STALE
            if is_due:
                self.multi_index, self._saved = None, 0.0  # the memory is free for the new tables
                self.multi_index = MultiIndex(stock.planes, stock.n_codes)
            tables = self.multi_index
        if tables is not None and tables.n_codes > stock.n_codes:  # of codes added after this search began
            return None
        return tables

    def _observe(self, stock: Stock, queries: Codes, found: list[Found], k: int, radius: int) -> None:
        """Add up what tables would have saved, now and then and from a few queries."""
        if self.tables is not None or stock.n_codes < MIN_CODES:
            return
        self._spent += len(queries) * stock.scan_cost
        if self._spent < EVERY * len(stock.planes):
            return
        some = np.unique(np.linspace(0, len(queries) - 1, OBSERVED).astype(np.int64))
        reach = [found[query].distance[-1] if len(found[query].distance) == k else radius for query in some]
        costs = expected_costs(stock.planes, stock.n_codes, queries[some], np.array(reach, dtype=np.int64))
        costs[costs > stock.budget] = stock.budget + stock.scan_cost  # given up, then scanned
        self._saved = max(0.0, self._saved + self._spent * (1 - costs.mean() / stock.scan_cost))
        self._spent = 0.0

    def _find_in(self, tables: MultiIndex, planes: Codes, queries: Codes, k: int, radius: int) -> list[Found]:
        stock = Stock(planes, tables.n_codes)

        def ask(group: Codes) -> list[Found | None]:
            return tables.find(planes, group, k, radius, stock.budget)

        found = ask(queries[:TRIAL])
        rest = queries[TRIAL:]
        if sum(of_query is None for of_query in found) > len(found) / 2:
            found += [None] * len(rest)
        else:
            groups = [rest[start : start + GROUP] for start in range(0, len(rest), GROUP)]
            found += [of_query for group in self._in_threads(ask, groups) for of_query in group]
        missing = np.flatnonzero([of_query is None for of_query in found])
        scanned = iter(self._scan(stock, queries[missing], 0, k, radius) if len(missing) else [])
        return [next(scanned) if of_query is None else of_query for of_query in found]

    def _scan(self, stock: Stock, queries: Codes, start: int, k: int, radius: int) -> list[Found]:
        """Compare queries with the codes from `start` on."""
        n_codes = stock.n_codes - start
        is_small = len(queries) * n_codes * len(stock.planes) < SMALL
        n_threads = 1 if is_small else self.n_threads
        size = min(GROUP, -(-len(queries) // n_threads))
        groups = [queries[first : first + size] for first in range(0, len(queries), size)]
        n_parts = min(n_codes, -(-n_threads // len(groups)))
        edges = np.linspace(start, stock.n_codes, n_parts + 1).astype(np.int64).tolist()
        parts = list(pairwise(edges))
        tasks = [(group, part) for group in groups for part in parts]
        found = self._in_threads(lambda task: _scan_part(stock.planes, task[0], *task[1], k, radius), tasks)
        if n_parts == 1:
            return [of_query for group in found for of_query in group]
        of_groups = [found[first : first + n_parts] for first in range(0, len(found), n_parts)]
        return [_merge(of_query, k) for group in of_groups for of_query in zip(*group, strict=True)]

    def _in_threads(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
        if self.n_threads == 1 or len(tasks) <= 1:
            return [function(task) for task in tasks]
        with ThreadPoolExecutor(self.n_threads) as pool:
            return list(pool.map(function, tasks))


def _scan_part(planes: Codes, queries: Codes, start: int, stop: int, k: int, radius: int) -> list[Found]:
    if radius < 8 * len(planes):  # the k nearest are searched for without a radius
        ends, distance, position = scan_within(planes, queries, radius, start, stop)
        lists = np.split(distance, ends[:-1]), np.split(position, ends[:-1])
        return [Found(distance[:k], position[:k]) for distance, position in zip(*lists, strict=True)]
    shape = (len(queries), min(k, stop - start))
    nearest = np.empty(shape, np.int32), np.empty(shape, np.int64)
    scan_nearest(planes, queries, start, stop, *nearest)
    return [Found(*of_query) for of_query in zip(*nearest, strict=True)]


def _merge(parts: Sequence[Found], k: int) -> Found:
    """Join what was found in parts of the codes, given in their order."""
    distance = np.concatenate([part.distance for part in parts])
    order = np.argsort(distance, kind="stable")[:k]
    return Found(distance[order], np.concatenate([part.position for part in parts])[order])
