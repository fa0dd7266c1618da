"""Searches among some of the codes, and without the code of the query itself; all of them exact.

1. Few codes are copied out of the index and scanned.
2. Many codes: more than k codes are found among all of them, and those that are not to be searched are dropped. Where
   fewer than k remain for a query, it is compared with a copy of the codes as in 1.
3. The excluded code of a query is dropped from one neighbour more than asked for.
"""

from __future__ import annotations

import math
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.hamming import Codes
from proxcode.search.exact import ExactSearch
from proxcode.search.float_queries import FloatQueries
from proxcode.search.planes import BytePlanes, Found, FoundByQuery

Positions = NDArray[np.int64]
# Cost of copying a code out of the index, in scans of one code.
COPY_COST = 32
# Codes found among all codes, as a multiple of those expected to be enough, and a number added to it.
OVERFETCH, MIN_EXTRA = 2.0, 16


class Filter(NamedTuple):
    """Positions of the codes to search, in increasing order, and of the code that each query excludes.

    `among` is None for all codes, `exclude` None if no query excludes a code; -1 stands for no code.
    """

    among: Positions | None
    exclude: Positions | None

    def without_excluded(self, found: FoundByQuery, k: int) -> FoundByQuery:
        """Drop the excluded code of each query, and what exceeds k codes."""
        if self.exclude is None:
            return found
        query = np.repeat(np.arange(len(found.n_found)), found.n_found)
        is_kept = found.position != self.exclude[query]
        query, distance, position = query[is_kept], found.distance[is_kept], found.position[is_kept]
        n_found = np.bincount(query, minlength=len(found.n_found))
        rank = np.arange(len(query)) - np.repeat(np.cumsum(n_found) - n_found, n_found)
        return FoundByQuery(np.minimum(n_found, k), distance[rank < k], position[rank < k])


def find(
    engine: ExactSearch,
    codes: BytePlanes,
    queries: Codes | FloatQueries,
    k: int,
    radius: float,
    chosen: Filter | None,
) -> list[Found]:
    """Find at most k codes per query, and one more if each query excludes a code, which is still among them."""
    if chosen is None:
        return engine.find(codes, queries, k, radius)
    among, k = chosen.among, k + (chosen.exclude is not None)
    if among is None or len(among) == codes.n_codes:
        return engine.find(codes, queries, k, radius)
    k = min(k, len(among))
    n_fetched = math.ceil(OVERFETCH * k * codes.n_codes / max(1, len(among))) + MIN_EXTRA
    is_within = np.isfinite(radius)
    is_few = len(among) * (COPY_COST + len(queries)) <= codes.n_codes * len(queries)
    if is_few or (n_fetched >= codes.n_codes and not is_within):
        return _find_in_copy(engine, codes, queries, k, radius, among)
    n_fetched = codes.n_codes if is_within else n_fetched
    is_among = np.zeros(codes.n_codes, bool)
    is_among[among] = True
    fetched = engine.find(codes, queries, n_fetched, radius)
    found = [_filtered(of_query, is_among, k) for of_query in fetched]
    # All codes of a search within a radius were found.
    is_short = [not is_within and len(of_query.position) < k for of_query in found]
    rows = np.flatnonzero(is_short)
    if len(rows):
        for row, of_query in zip(
            rows, _find_in_copy(engine, codes, _rows(queries, rows), k, radius, among), strict=True
        ):
            found[row] = of_query
    return found


def _find_in_copy(
    engine: ExactSearch, codes: BytePlanes, queries: Codes | FloatQueries, k: int, radius: float, among: Positions
) -> list[Found]:
    """Copy the codes to search and scan them."""
    copied = BytePlanes(np.take(codes.array, among, axis=1), len(among))
    scan = ExactSearch(engine.n_threads, tables=False)
    if isinstance(queries, FloatQueries) and codes.n_codes:
        # The offsets of an unfiltered search, to the last digit.
        scan.floats.offsets = engine.floats.offsets.chosen(queries.offsets, codes, among)
    found = scan.find(copied, queries, k, radius)
    return [Found(of_query.distance, among[of_query.position]) for of_query in found]


def _filtered(found: Found, is_among: NDArray[np.bool_], k: int) -> Found:
    kept = is_among[found.position]
    return Found(found.distance[kept][:k], found.position[kept][:k])


def _rows(queries: Codes | FloatQueries, rows: Positions) -> Codes | FloatQueries:
    if not isinstance(queries, FloatQueries):
        return queries[rows]
    chosen = copy(queries)
    chosen.tables = queries.tables[rows]
    return chosen
