"""The same codes in FAISS, for those who have it: `pip install 'proxcode[faiss]'`.

All of FAISS's binary indexes but the flat one are approximate: they may miss neighbours, never misjudge a distance.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.hamming import Codes
from proxcode.search.index import MAX_BITS, check_ids, check_index_codes
from proxcode.search.results import Neighborhoods, Neighbors
from proxcode.utils.validation import check_whole


class Engine(ABC):
    """One of FAISS's binary indexes with its settings."""

    @abstractmethod
    def build(self, faiss: Any, codes: Codes) -> Any:
        """Return an index of the codes."""


class Flat(Engine):
    """`IndexBinaryFlat`: all codes, one by one. Exact."""

    def build(self, faiss: Any, codes: Codes) -> Any:
        """Return the index."""
        index = faiss.IndexBinaryFlat(8 * codes.shape[1])
        index.add(codes)
        return index


class IVF(Engine):
    """`IndexBinaryIVF`: codes in lists around centres, of which the nearest are searched.

    Parameters
    ----------
    n_lists : int, default=None
        None is four times the square root of the number of codes, and so that a list has 39 codes or more.
    n_probe : int, default=16
        Lists searched.
    """

    def __init__(self, n_lists: int | None = None, n_probe: int = 16) -> None:
        self.n_lists = None if n_lists is None else check_whole("n_lists", n_lists, 1)
        self.n_probe = check_whole("n_probe", n_probe, 1)

    def build(self, faiss: Any, codes: Codes) -> Any:
        """Return the index, trained on its own codes."""
        n_lists = self.n_lists or max(1, min(int(4 * len(codes) ** 0.5), len(codes) // 39))
        if n_lists > len(codes):
            raise ValueError(f"n_lists={n_lists} is more than the {len(codes)} codes: give fewer.")
        index = faiss.IndexBinaryIVF(faiss.IndexBinaryFlat(8 * codes.shape[1]), 8 * codes.shape[1], n_lists)
        index.cp.min_points_per_centroid = 1
        index.train(codes)
        index.nprobe = min(self.n_probe, n_lists)
        index.add(codes)
        return index


class HNSW(Engine):
    """`IndexBinaryHNSW`: a graph of neighbours. It has no search within a radius.

    Parameters
    ----------
    n_links : int, default=32
    ef_construction, ef_search : int, default=40, 64
        Codes kept in view while building and while searching.
    """

    def __init__(self, n_links: int = 32, ef_construction: int = 40, ef_search: int = 64) -> None:
        self.n_links = check_whole("n_links", n_links, 1)
        self.ef_construction = check_whole("ef_construction", ef_construction, 1)
        self.ef_search = check_whole("ef_search", ef_search, 1)

    def build(self, faiss: Any, codes: Codes) -> Any:
        """Return the index."""
        index = faiss.IndexBinaryHNSW(8 * codes.shape[1], self.n_links)
        index.hnsw.efConstruction, index.hnsw.efSearch = self.ef_construction, self.ef_search
        index.add(codes)
        return index


class MultiHash(Engine):
    """`IndexBinaryMultiHash`: tables of chunks of the code, as in multi-index hashing, up to so many flips.

    Parameters
    ----------
    n_tables : int, default=None
        None is as many as the code has chunks.
    key_bits : int, default=16
        Bits of a chunk.
    n_flips : int, default=1
        Bits flipped in a chunk to look into other buckets.
    """

    def __init__(self, n_tables: int | None = None, key_bits: int = 16, n_flips: int = 1) -> None:
        self.n_tables = None if n_tables is None else check_whole("n_tables", n_tables, 1)
        self.key_bits = check_whole("key_bits", key_bits, 1, 32)
        self.n_flips = check_whole("n_flips", n_flips, 0)

    def build(self, faiss: Any, codes: Codes) -> Any:
        """Return the index."""
        n_bits = 8 * codes.shape[1]
        n_tables = self.n_tables or max(1, n_bits // self.key_bits)
        if n_tables * self.key_bits > n_bits:
            raise ValueError(
                f"n_tables={n_tables} of key_bits={self.key_bits} do not fit codes of {n_bits} bits: give fewer."
            )
        index = faiss.IndexBinaryMultiHash(n_bits, n_tables, self.key_bits)
        index.nflip = self.n_flips
        index.add(codes)
        return index


class FaissIndex:
    """Codes in an index of FAISS, under the names of `HammingIndex`.

    Parameters
    ----------
    codes : array of uint8, shape (n, ceil(n_bits / 8))
    n_bits : int
    engine : Engine, default=None
        `Flat()` (None), `IVF()`, `HNSW()` or `MultiHash()`.
    ids : array of int64, default=None
        None is 0, 1, 2, ...

    Attributes
    ----------
    faiss_index : faiss.IndexBinary
        FAISS's own, of the codes filled up to whole bytes; its ids are row numbers.
    """

    def __init__(
        self, codes: ArrayLike, n_bits: int, engine: Engine | None = None, ids: ArrayLike | None = None
    ) -> None:
        try:
            import faiss
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("FaissIndex needs FAISS: pip install 'proxcode[faiss]'.") from error
        self.n_bits = check_whole("n_bits", n_bits, 1, MAX_BITS)
        codes = check_index_codes(codes, self.n_bits)
        if len(codes) == 0:
            raise ValueError("there are no codes: FaissIndex needs at least one.")
        self._ids = None if ids is None else check_ids(ids)
        if self._ids is not None and len(self._ids) != len(codes):
            raise ValueError(f"there are {len(codes)} codes but {len(self._ids)} ids: give one id per code.")
        self._engine = engine or Flat()
        self.faiss_index = self._engine.build(faiss, codes)

    def __len__(self) -> int:
        return int(self.faiss_index.ntotal)

    def search(self, codes: ArrayLike, k: int = 10) -> Neighbors:
        """Find k near codes of each query; places for which the engine found none have distance and neighbour -1."""
        queries, k = check_index_codes(codes, self.n_bits), check_whole("k", k, 1)
        distance, position = self.faiss_index.search(queries, min(k, len(self)))
        return Neighbors(np.where(position < 0, -1, distance).astype(np.int32), self._ids_at(position))

    def within(self, codes: ArrayLike, radius: int) -> Neighborhoods:
        """Find codes at Hamming distance at most `radius`, that distance included, nearest first."""
        if isinstance(self._engine, HNSW):
            raise ValueError("HNSW has no search within a radius: use HammingIndex, or Flat() or IVF().")
        queries, radius = check_index_codes(codes, self.n_bits), check_whole("radius", radius, 0)
        # FAISS means strictly below.
        limits, distance, position = self.faiss_index.range_search(queries, min(radius, 8 * queries.shape[1]) + 1)
        limits = limits.astype(np.int64)
        query = np.repeat(np.arange(len(queries)), np.diff(limits))
        order = np.lexsort((position, distance, query))
        return Neighborhoods(limits, distance[order].astype(np.int32), self._ids_at(position[order]))

    def _ids_at(self, position: NDArray[np.int64]) -> NDArray[np.int64]:
        return position if self._ids is None else np.where(position < 0, -1, self._ids[position])

    def __repr__(self) -> str:
        return f"FaissIndex(n_bits={self.n_bits}, engine={type(self._engine).__name__}), {len(self):,} codes"
