"""HammingIndex: exact search among packed codes, in memory or in a memory-mapped file.

One search:

1. take a snapshot of the codes and their ids (`contents.py`),
2. find the nearest codes, by a scan or with hash tables (`exact.py`), or by a scan with float queries
   (`float_scan.py`); among some of the codes, and without the query itself, as in `filtered.py`,
3. with rescoring: order these candidates by a finer distance,
4. translate positions into ids.

Codes at equal distance are in the order in which they were added.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.hamming import Codes, check_codes
from proxcode.search.contents import Snapshot, make_filter
from proxcode.search.exact import ExactSearch
from proxcode.search.float_queries import FloatQueries, check_queries, check_radius
from proxcode.search.saved import SavedIndexMixin
from proxcode.search.string_ids import StringIds, ids_for, rows_of
from proxcode.storage.changes import ADD, REMOVE, UPSERT, Change
from proxcode.storage.index_file import StoredIds
from proxcode.storage.texts import Texts
from proxcode.stores.base import CodeStore
from proxcode.stores.ids import Ids
from proxcode.stores.rescoring import Rescoring, check_rescoring, n_candidates, rescored
from proxcode.stores.results import Neighborhoods, Neighbors
from proxcode.utils.locks import ForkSafeLock
from proxcode.utils.lookup import KeyLookup
from proxcode.utils.validation import check_integer

# Threads beyond any machine's.
MAX_THREADS = 4096


class HammingIndex(SavedIndexMixin, CodeStore):
    """Exact search among codes by Hamming distance, or by the distance of float queries.

    Ids are integers or strings, as those of the first codes that are added. Several threads may search, add, replace
    and remove codes at the same time.

    Parameters
    ----------
    n_bits : int
        Code length in bits, from 1 to 1024.
    n_threads : int, default=None
        Number of threads. None: all cores.
    tables : bool, default=None
        Whether hash tables for multi-index hashing are built. They need 4 to 11 times the memory of the codes; searches
        for close neighbours among millions of codes become 10 to 300 times faster. None: built once they save more time
        than building them takes. True: built before the first search. False: never built. The results are the same.
    model : ProximityPreservingCode or str, default=None
        The model whose codes are stored, or its `fingerprint(n_bits)`; saved with the index.

    Attributes
    ----------
    fingerprint : str or None
        That of the model whose codes are stored, None if it is not known.

    Examples
    --------
    >>> import numpy as np
    >>> index = HammingIndex(n_bits=16)
    >>> index.add(np.array([[0, 0], [0, 7], [255, 255]], np.uint8), ids=[10, 20, 30])
    HammingIndex(n_bits=16), 3 codes
    >>> index.search(np.array([[0, 1]], np.uint8), k=2)
    Neighbors(distance=array([[1, 2]], dtype=int32), neighbor=array([[10, 20]]))
    >>> index.within(np.array([[0, 1]], np.uint8), radius=1)[0].neighbor
    array([10])
    >>> files = HammingIndex(n_bits=16).add(np.array([[0, 0], [0, 7]], np.uint8), ids=["a.jpg", "b.jpg"])
    >>> files.search(np.array([[0, 3]], np.uint8), k=1).neighbor
    array([['b.jpg']], dtype=object)
    """

    def __init__(
        self, n_bits: int, *, n_threads: int | None = None, tables: bool | None = None, model: Any = None
    ) -> None:
        super().__init__(n_bits, model=model)
        self.n_threads = None if n_threads is None else check_integer("n_threads", n_threads, 1, MAX_THREADS)
        if not isinstance(tables, bool | np.bool_ | None):
            raise TypeError(f"tables={tables!r}: expected True, False or None.")
        self.tables = tables
        # Held by a thread that replaces the snapshot.
        self._changing = ForkSafeLock()
        self._writer = None
        self._replace(self._no_codes.T)

    def _replace(self, planes: Codes, ids: StoredIds = None, lookup: KeyLookup | None = None) -> None:
        """Replace all codes, and with them the hash tables."""
        stored = StringIds.of(ids, lookup) if isinstance(ids, Texts) else Ids(planes.shape[1], ids, lookup)
        self._snapshot = Snapshot.of(planes, stored, ExactSearch(self.n_threads, self.tables))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy, in memory alone: without hash tables and free columns, which are not shared."""
        planes, ids, _ = self._snapshot
        own = {"_snapshot": (np.ascontiguousarray(planes.columns), ids.contents), "_changing": ForkSafeLock()}
        return self.__dict__ | own | {"_writer": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._replace(*state["_snapshot"])

    def __len__(self) -> int:
        return self._snapshot.n_codes

    @property
    def ids(self) -> NDArray[Any]:
        """Ids of the codes, in the order in which they were added: int64, or strings as objects."""
        return self._snapshot.ids.as_array()

    @property
    def codes(self) -> Codes:
        """Packed codes, in the order in which they were added."""
        return np.array(self._snapshot.planes.columns.T, order="C")

    @property
    def nbytes(self) -> int:
        """Memory of codes, ids, hash tables and offsets of float queries in bytes."""
        return sum(part.nbytes for part in self._snapshot)

    def add(self, codes: ArrayLike, ids: ArrayLike | None = None) -> Self:
        """Add codes.

        Parameters
        ----------
        codes : array of uint8, shape (n, ceil(n_bits / 8))
            Packed codes.
        ids : array of int64 or of str, shape (n,), default=None
            Ids of the codes, distinct and not yet in the index. The first ones decide whether the index has integers or
            strings. None continues from the largest stored integer, or from 0 in an empty index.
        """
        codes = check_codes(codes, self.n_bits)
        with self._changing.own:
            before = self._snapshot
            stored = ids_for(before.ids, ids)
            new = stored.new(len(codes), ids)
            self._commit(before.added(codes, new, stored), Change(ADD, new, codes))
        return self

    def upsert(self, codes: ArrayLike, ids: ArrayLike) -> Self:
        """Replace or add codes in one change; parameters as in `CodeStore.upsert`, ids as in `add`."""
        codes = check_codes(codes, self.n_bits)
        with self._changing.own:
            before = self._snapshot
            stored = ids_for(before.ids, ids)
            given = stored.distinct(len(codes), ids)
            positions = stored.positions(given)
            is_new = positions < 0
            replaced = before.replaced(positions[~is_new], codes[~is_new])
            self._commit(replaced.added(codes[is_new], rows_of(given, is_new), stored), Change(UPSERT, given, codes))
        return self

    def remove(self, ids: ArrayLike) -> Self:
        """Remove codes; parameters as in `CodeStore.remove`, ids as in `add`."""
        with self._changing.own:
            before = self._snapshot
            positions = np.unique(ids_for(before.ids, ids).find(ids))
            self._commit(before.removed(positions), Change(REMOVE, before.ids.stored(positions), self._no_codes))
        return self

    @property
    def _no_codes(self) -> Codes:
        return np.empty((0, -(-self.n_bits // 8)), np.uint8)

    def get(self, ids: ArrayLike) -> Codes:
        """Return stored codes; parameters as in `CodeStore.get`, ids as in `add`."""
        now = self._snapshot
        return now.codes.at(ids_for(now.ids, ids).find(ids))

    def search(
        self,
        codes: ArrayLike | FloatQueries,
        k: int = 10,
        *,
        rescore: Rescoring | None = None,
        oversample: float = 4.0,
        among: ArrayLike | set[int] | set[str] | None = None,
        exclude: ArrayLike | None = None,
    ) -> Neighbors:
        """Find the k nearest codes of each query.

        Parameters
        ----------
        codes : array of uint8, shape (n_queries, ceil(n_bits / 8)), or FloatQueries
            Packed codes of the queries, compared by Hamming distance, or float queries, compared by their own distance.
        k : int, default=10
            Number of neighbours per query.
        rescore : Rescoring, default=None
            A finer distance that orders the candidates: `ByMargins`, `ByFloatQueries` or `ByDistance`.
        oversample : float, default=4.0
            With `rescore`, the nearest `oversample` times k codes are the candidates.
        among : set or array of ids, or array of bool, default=None
            Search among these codes alone: their ids, or a truth value for each stored code, in the order of `ids`. Ids
            that are not stored have no effect. None: all codes.
        exclude : array of ids, shape (n_queries,), default=None
            For each query an id that is not returned for it, such as its own; other queries may find it. An id that is
            not stored excludes nothing.

        Returns
        -------
        Neighbors
            Arrays of shape (n_queries, min(k, number of codes to search)). Where `exclude` leaves fewer codes for some
            queries than for others, their last neighbours are missing: id -1, None among strings, at distance -1, or
            infinity for real distances.
        """
        queries, k = check_queries(codes, self.n_bits, self.fingerprint), check_integer("k", k, 1)
        check_rescoring(rescore, len(queries), oversample)
        now = self._snapshot
        chosen = make_filter(now, len(queries), among, exclude)
        n_each = min(n_candidates(rescore, k, oversample), now.n_codes)
        found = now.find(queries, n_each, np.inf, chosen)
        if rescore is None:
            return now.neighbors(found, n_each)
        return rescored(rescore, k, now.codes.at(found.position), now.neighbors(found, n_each).neighbor, found.n_found)

    def _nearest(self, queries: Codes, k: int) -> Neighbors:
        return self.search(queries, k)

    def within(
        self,
        codes: ArrayLike | FloatQueries,
        radius: float,
        *,
        among: ArrayLike | set[int] | set[str] | None = None,
        exclude: ArrayLike | None = None,
    ) -> Neighborhoods:
        """Find all codes at distance at most `radius`.

        Parameters
        ----------
        codes : array of uint8, shape (n_queries, ceil(n_bits / 8)), or FloatQueries
            As in `search`.
        radius : int, or float for float queries
            Largest distance, inclusive; rounded to single precision for float queries.
        among, exclude
            As in `search`.
        """
        queries = check_queries(codes, self.n_bits, self.fingerprint)
        radius = check_radius(radius, queries)
        now = self._snapshot
        chosen = make_filter(now, len(queries), among, exclude)
        return now.neighborhoods(now.find(queries, now.n_codes, radius, chosen))
