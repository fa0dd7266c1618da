"""HammingIndex: exact search among packed codes, in memory or in a memory-mapped file.

One search:

1. take a snapshot of the codes and their ids,
2. find the nearest codes, by a scan or with hash tables (`exact.py`), or by a scan with float queries
   (`float_scan.py`),
3. with rescoring: order these candidates by a finer distance,
4. translate positions into ids.

Codes at equal distance are in the order in which they were added.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.hamming import Codes, check_codes
from proxcode.search.exact import ExactSearch
from proxcode.search.float_queries import FloatQueries, check_queries, check_radius
from proxcode.search.planes import BytePlanes, FoundByQuery
from proxcode.storage.container import Tensors, read_file, reading, write_file
from proxcode.stores.base import MAX_BITS, CodeStore, check_fingerprint
from proxcode.stores.ids import Ids
from proxcode.stores.rescoring import Rescoring, check_rescoring, n_candidates, rescored
from proxcode.stores.results import Neighborhoods, Neighbors
from proxcode.utils.locks import ForkSafeLock
from proxcode.utils.validation import check_integer

# Threads beyond any machine's.
MAX_THREADS = 4096


class Snapshot(NamedTuple):
    """The contents of an index at one time. Changes replace it, so a search is not affected by concurrent changes.

    The engine is shared by all snapshots until codes are removed.
    """

    codes: BytePlanes
    ids: Ids
    engine: ExactSearch

    def find(self, queries: Codes | FloatQueries, k: int, radius: float) -> FoundByQuery:
        """Find at most k codes per query, the nearest, at distance at most `radius`, an integer for packed codes."""
        found = self.engine.find(self.codes, queries, k, radius)
        return FoundByQuery.joined(found, np.float32 if isinstance(queries, FloatQueries) else np.int32)


class HammingIndex(CodeStore):
    """Exact search among codes by Hamming distance, or by the distance of float queries.

    Several threads may search, add and remove codes at the same time.

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
        self._replace(np.empty((-(-self.n_bits // 8), 0), np.uint8))

    def _replace(self, planes: Codes, ids: NDArray[np.int64] | None = None) -> None:
        """Replace all codes, and with them the hash tables."""
        n_codes = planes.shape[1]
        engine = ExactSearch(self.n_threads, self.tables)
        self._snapshot = Snapshot(codes=BytePlanes(planes, n_codes), ids=Ids(n_codes, ids), engine=engine)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy: without hash tables, and without free columns, which copies must not share."""
        codes, ids, _ = self._snapshot
        own = {"_snapshot": (np.ascontiguousarray(codes.columns), ids.values), "_changing": ForkSafeLock()}
        return self.__dict__ | own

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._replace(*state["_snapshot"])

    def __len__(self) -> int:
        return self._snapshot.codes.n_codes

    @property
    def ids(self) -> NDArray[np.int64]:
        """Ids of the codes, in the order in which they were added."""
        return self._snapshot.ids.as_array()

    @property
    def codes(self) -> Codes:
        """Packed codes, in the order in which they were added."""
        return np.array(self._snapshot.codes.columns.T, order="C")

    @property
    def nbytes(self) -> int:
        """Memory of codes, ids, hash tables and offsets of float queries in bytes."""
        parts = (self._snapshot.codes.array, self._snapshot.ids.values, self._snapshot.engine)
        return sum(part.nbytes for part in parts if part is not None)

    def add(self, codes: ArrayLike, ids: ArrayLike | None = None) -> Self:
        """Add codes; parameters as in `CodeStore.add`."""
        codes = check_codes(codes, self.n_bits)
        with self._changing.own:
            before = self._snapshot
            ids_after = before.ids.extended(len(codes), ids)
            self._snapshot = Snapshot(codes=before.codes.extended(codes), ids=ids_after, engine=before.engine)
        return self

    def remove(self, ids: ArrayLike) -> Self:
        """Remove codes; parameters as in `CodeStore.remove`."""
        with self._changing.own:
            before = self._snapshot
            removed = before.ids.find(ids)
            if len(removed):
                kept = np.ascontiguousarray(np.delete(before.codes.columns, removed, axis=1))
                self._replace(kept, np.delete(before.ids.as_array(), removed))
        return self

    def get(self, ids: ArrayLike) -> Codes:
        """Return stored codes; parameters as in `CodeStore.get`."""
        now = self._snapshot
        return now.codes.at(now.ids.find(ids))

    def search(
        self, codes: ArrayLike | FloatQueries, k: int = 10, *, rescore: Rescoring | None = None, oversample: float = 4.0
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

        Returns
        -------
        Neighbors
            Arrays of shape (n_queries, min(k, number of stored codes)).
        """
        queries, k = check_queries(codes, self.n_bits, self.fingerprint), check_integer("k", k, 1)
        check_rescoring(rescore, len(queries), oversample)
        now = self._snapshot
        n_each = min(n_candidates(rescore, k, oversample), now.codes.n_codes)
        found = now.find(queries, n_each, np.inf)
        shape = (len(queries), n_each)
        neighbor = now.ids.at(found.position).reshape(shape)
        if rescore is None:
            return Neighbors(found.distance.reshape(shape), neighbor)
        return rescored(rescore, k, now.codes.at(found.position), neighbor, found.n_found)

    def _nearest(self, queries: Codes, k: int) -> Neighbors:
        return self.search(queries, k)

    def within(self, codes: ArrayLike | FloatQueries, radius: float) -> Neighborhoods:
        """Find all codes at distance at most `radius`.

        Parameters
        ----------
        codes : array of uint8, shape (n_queries, ceil(n_bits / 8)), or FloatQueries
            As in `search`.
        radius : int, or float for float queries
            Largest distance, inclusive; rounded to single precision for float queries.
        """
        queries = check_queries(codes, self.n_bits, self.fingerprint)
        radius = check_radius(radius, queries)
        now = self._snapshot
        found = now.find(queries, now.codes.n_codes, radius)
        offsets = np.concatenate([[0], np.cumsum(found.n_found)])
        return Neighborhoods(offsets=offsets, distance=found.distance, neighbor=now.ids.at(found.position))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write the index to a file, atomically; hash tables are not saved.

        Without `overwrite` an existing file is kept, and a FileExistsError raised.
        """
        codes, ids, _ = self._snapshot
        tensors: Tensors = {"planes": np.ascontiguousarray(codes.columns)}
        if ids.values is not None:
            tensors["ids"] = ids.values
        content = {"n_bits": self.n_bits, "model": self.fingerprint}
        write_file(path, "index", content, tensors, overwrite=overwrite)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        mapped: bool = True,
        n_threads: int | None = None,
        tables: bool | None = None,
        model: Any = None,
    ) -> Self:
        """Open a saved index.

        Parameters
        ----------
        path : path
        mapped : bool, default=True
            Map the file into memory: it opens without delay and several processes share its memory. False reads the
            file and verifies its digest.
        n_threads, tables
            As in the constructor.
        model : ProximityPreservingCode or str, default=None
            The model that encodes the queries: an index of the codes of another model is refused.
        """
        content, tensors = read_file(path, "index", mapped=mapped)
        with reading(path, "index"):
            n_bits = check_integer("its n_bits", content["n_bits"], 1, MAX_BITS)
            # Files of earlier versions have no fingerprint.
            stored = check_fingerprint(content.get("model"))
            index = cls(n_bits, n_threads=n_threads, tables=tables, model=stored)
            index._replace(*_checked(n_bits, tensors["planes"], tensors.get("ids"), in_full=not mapped))
            index.check_model(model)
        return index


def _checked(n_bits: int, planes: Any, ids: Any, *, in_full: bool) -> tuple[Codes, NDArray[np.int64] | None]:
    """Return the codes and ids of a file. Raises ValueError unless they have the right types and shapes.

    In full means that every value is looked at: bits after the first `n_bits` are zero and ids distinct.
    """
    n_bytes = -(-n_bits // 8)
    if planes.dtype != np.uint8 or planes.ndim != 2 or len(planes) != n_bytes:
        raise ValueError(
            f"its array 'planes' holds {planes.dtype} of shape {planes.shape}: expected uint8 of shape ({n_bytes}, "
            "n_codes); save the index again"
        )
    if ids is not None and (ids.dtype != np.int64 or ids.shape != planes.shape[1:]):
        raise ValueError(
            f"its array 'ids' holds {ids.dtype} of shape {ids.shape}: expected int64 of shape ({planes.shape[1]},); "
            "save the index again"
        )
    if in_full:
        check_codes(planes.T, n_bits)
        if ids is not None and len(np.unique(ids)) < len(ids):
            raise ValueError("its array 'ids' holds an id more than once; save the index again")
    return planes, ids
