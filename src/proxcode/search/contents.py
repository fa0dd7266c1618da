"""The contents of an index at one time, and how a change makes the next ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.hamming import Codes
from proxcode.search.exact import ExactSearch
from proxcode.search.filtered import Filter, find
from proxcode.search.float_queries import FloatQueries
from proxcode.search.planes import MAX_CODES, BytePlanes, FoundByQuery
from proxcode.search.string_ids import AnyIds, NewIds, StringIds, ids_for
from proxcode.storage.changes import ADD, Change, NetChange
from proxcode.storage.texts import Texts
from proxcode.stores.results import Neighborhoods, Neighbors
from proxcode.utils.growing import GrowingArray

Positions = NDArray[np.int64]


class Snapshot(NamedTuple):
    """The contents of an index at one time. Changes return another one, so a search is not affected by them.

    The engine is shared by all snapshots until codes are removed or replaced.
    """

    planes: GrowingArray
    ids: AnyIds
    engine: ExactSearch

    @classmethod
    def of(cls, planes: Codes, ids: AnyIds, engine: ExactSearch) -> Snapshot:
        """Return the contents of an index whose codes are byte planes of shape (n_bytes, n_codes)."""
        return cls(GrowingArray(planes), ids, engine)

    @property
    def n_codes(self) -> int:
        """Number of codes."""
        return self.planes.n

    @property
    def codes(self) -> BytePlanes:
        """The codes in the layout of the search kernels."""
        return BytePlanes(self.planes.array, self.planes.n)

    def find(self, queries: Codes | FloatQueries, k: int, radius: float, chosen: Filter | None = None) -> FoundByQuery:
        """Find at most k codes per query, the nearest, at distance at most `radius`, an integer for packed codes."""
        found = find(self.engine, self.codes, queries, k, radius, chosen)
        joined = FoundByQuery.joined(found, np.float32 if isinstance(queries, FloatQueries) else np.int32)
        return joined if chosen is None else chosen.without_excluded(joined, k)

    def neighborhoods(self, found: FoundByQuery) -> Neighborhoods:
        """Return codes that were found, under their ids."""
        offsets = np.concatenate([[0], np.cumsum(found.n_found)])
        return Neighborhoods(offsets=offsets, distance=found.distance, neighbor=self.ids.at(found.position))

    def neighbors(self, found: FoundByQuery, k: int) -> Neighbors:
        """Return at most k codes per query that were found, under their ids, as arrays with a row for each query."""
        n_queries = len(found.n_found)
        n_each = k if n_queries == 0 else found.n_found[0]
        if (found.n_found != n_each).any():
            return self.neighborhoods(found).as_neighbors()
        shape = (n_queries, n_each)
        return Neighbors(found.distance.reshape(shape), self.ids.at(found.position).reshape(shape))

    def positions(self, ids: ArrayLike) -> Positions:
        """Return the positions of ids, -1 where an id is not stored."""
        return ids_for(self.ids, ids).positions(ids)

    def added(self, codes: Codes, new: NewIds, ids: AnyIds) -> Snapshot:
        """Append codes under new ids, validated by `ids`: those of `ids_for`."""
        if self.n_codes + len(codes) > MAX_CODES:
            raise ValueError(
                f"{self.n_codes + len(codes):,} codes in one index: expected at most {MAX_CODES:,}; use several "
                "indexes."
            )
        after: Any = ids
        return self._replace(planes=self.planes.extended(np.array(codes.T, order="C")), ids=after.extended(new))

    def changed(self, changes: Sequence[Change], *, in_full: bool) -> Snapshot:
        """Make several changes of a journal at once.

        Additions alone are compared with the stored ids only if `in_full`: a comparison sorts the ids of the index,
        which takes seconds for tens of millions of them.
        """
        has_strings = isinstance(changes[0].ids, Texts)
        if has_strings and self.ids.n == 0 and self.ids.contents is None:
            return self._replace(ids=StringIds.of(Texts.of([]))).changed(changes, in_full=in_full)
        if isinstance(self.ids, StringIds) != has_strings:
            raise ValueError("has ids of another kind than the index")
        is_compared = in_full or any(change.kind != ADD for change in changes)
        net = NetChange.of(changes, self.ids.positions if is_compared else None)
        after = self.replaced(net.replaced, net.replacements).removed(net.removed)
        return after.added(net.added, net.ids, after.ids)

    def removed(self, positions: Positions) -> Snapshot:
        """Remove the codes at some positions."""
        if len(positions) == 0:
            return self
        kept = np.ascontiguousarray(np.delete(self.planes.columns, positions, axis=1))
        return Snapshot(GrowingArray(kept), self.ids.without(positions), self.engine.renewed())

    def replaced(self, positions: Positions, codes: Codes) -> Snapshot:
        """Replace the codes at some positions."""
        if len(positions) == 0:
            return self
        planes = self.planes.array.copy()
        planes[:, positions] = codes.T
        return self._replace(planes=GrowingArray(planes, self.n_codes), engine=self.engine.renewed())


def make_filter(
    now: Snapshot, n_queries: int, among: ArrayLike | set[int] | set[str] | None, exclude: ArrayLike | None
) -> Filter | None:
    """Validate the arguments `among` and `exclude` of a search; None if there is nothing to filter by."""
    if among is None and exclude is None:
        return None
    positions = None if among is None else _positions_among(now, among)
    excluded = None if exclude is None else _positions(now, "exclude", exclude)
    if excluded is not None and len(excluded) != n_queries:
        raise ValueError(f"exclude has {len(excluded)} ids for {n_queries} queries: expected one id per query.")
    return Filter(positions, excluded)


def _positions_among(now: Snapshot, among: ArrayLike | set[int] | set[str]) -> Positions:
    given: Any = list(among) if isinstance(among, set | frozenset) else among
    if given is among:
        array = np.asarray(given)
        if array.dtype == bool:
            if array.shape != (now.n_codes,):
                raise ValueError(
                    f"among has shape {array.shape} for {now.n_codes} codes: expected one truth value per stored code, "
                    "or ids."
                )
            return np.flatnonzero(array)
    found = _positions(now, "among", given)
    is_among = np.zeros(now.n_codes, bool)
    is_among[found[found >= 0]] = True
    return np.flatnonzero(is_among)


def _positions(now: Snapshot, name: str, ids: ArrayLike) -> Positions:
    try:
        return now.positions(ids)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
