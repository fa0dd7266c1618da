"""Codes in FAISS; requires `pip install 'proxcode[faiss]'`.

All binary indexes of FAISS except the flat index are approximate: they may miss neighbours, but the distances they
return are exact.
"""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from proxcode.hamming import Codes, check_codes
from proxcode.stores.base import CodeStore
from proxcode.stores.ids import Ids, check_new_ids
from proxcode.stores.results import Neighborhoods, Neighbors
from proxcode.utils.validation import check_component, check_integer

# Training samples per cluster below which FAISS warns: upper limit of the default number of lists.
MIN_CODES_PER_LIST = 39


class Engine(ABC):
    """A binary index type of FAISS with its parameters, and the operations that FAISS implements for it."""

    supports_removal = False
    supports_radius = True

    @abstractmethod
    def create(self, faiss: Any, codes: Codes) -> Any:
        """Return an empty FAISS index, trained on `codes` if the index type needs training."""


class Flat(Engine):
    """`IndexBinaryFlat`: exhaustive search, exact."""

    supports_removal = True

    def create(self, faiss: Any, codes: Codes) -> Any:
        """Return an empty index."""
        return faiss.IndexBinaryFlat(8 * codes.shape[1])


class IVF(Engine):
    """`IndexBinaryIVF`: inverted lists around cluster centres, of which the nearest are searched.

    The centres are learned from the codes of the first call of `add`.

    Parameters
    ----------
    n_lists : int, default=None
        Number of lists. None: four times the square root of the number of codes, but at least 39 codes per list.
    n_probe : int, default=16
        Number of lists searched per query.
    """

    def __init__(self, n_lists: int | None = None, n_probe: int = 16) -> None:
        self.n_lists = None if n_lists is None else check_integer("n_lists", n_lists, 1)
        self.n_probe = check_integer("n_probe", n_probe, 1)

    def create(self, faiss: Any, codes: Codes) -> Any:
        """Return an empty index, trained on `codes`."""
        n_lists = self.n_lists or max(1, min(int(4 * len(codes) ** 0.5), len(codes) // MIN_CODES_PER_LIST))
        if n_lists > len(codes):
            raise ValueError(f"n_lists={n_lists}: expected at most {len(codes)}, the number of codes.")
        index = faiss.IndexBinaryIVF(faiss.IndexBinaryFlat(8 * codes.shape[1]), 8 * codes.shape[1], n_lists)
        index.cp.min_points_per_centroid = 1
        index.train(codes)
        # From positions to codes, for `get`.
        index.make_direct_map()
        index.nprobe = min(self.n_probe, n_lists)
        return index


class HNSW(Engine):
    """`IndexBinaryHNSW`: a navigable graph of neighbours, without search within a radius.

    Parameters
    ----------
    n_links : int, default=32
        Number of links per node.
    ef_construction, ef_search : int, default=40, 64
        Number of candidates kept during construction and during search.
    """

    supports_radius = False

    def __init__(self, n_links: int = 32, ef_construction: int = 40, ef_search: int = 64) -> None:
        self.n_links = check_integer("n_links", n_links, 1)
        self.ef_construction = check_integer("ef_construction", ef_construction, 1)
        self.ef_search = check_integer("ef_search", ef_search, 1)

    def create(self, faiss: Any, codes: Codes) -> Any:
        """Return an empty index."""
        index = faiss.IndexBinaryHNSW(8 * codes.shape[1], self.n_links)
        index.hnsw.efConstruction, index.hnsw.efSearch = self.ef_construction, self.ef_search
        return index


class MultiHash(Engine):
    """`IndexBinaryMultiHash`: hash tables of chunks of the code, as in multi-index hashing, with a limit on bit flips.

    Parameters
    ----------
    n_tables : int, default=None
        Number of hash tables. None: as many chunks as fit into the code.
    key_bits : int, default=16
        Number of bits of a chunk, the key of its hash table.
    n_flips : int, default=1
        Largest number of bits of a key that are flipped to search further buckets.
    """

    def __init__(self, n_tables: int | None = None, key_bits: int = 16, n_flips: int = 1) -> None:
        self.n_tables = None if n_tables is None else check_integer("n_tables", n_tables, 1)
        self.key_bits = check_integer("key_bits", key_bits, 1, 32)
        self.n_flips = check_integer("n_flips", n_flips, 0)

    def create(self, faiss: Any, codes: Codes) -> Any:
        """Return an empty index."""
        n_bits = 8 * codes.shape[1]
        n_tables = self.n_tables or max(1, n_bits // self.key_bits)
        if n_tables * self.key_bits > n_bits:
            raise ValueError(
                f"n_tables={n_tables}, key_bits={self.key_bits}: expected a product of at most {n_bits}, the number of "
                "bits."
            )
        index = faiss.IndexBinaryMultiHash(n_bits, n_tables, self.key_bits)
        index.nflip = self.n_flips
        return index


class FaissIndex(CodeStore):
    """Codes in a binary index of FAISS, with the methods of `HammingIndex`.

    Parameters
    ----------
    n_bits : int
        Code length in bits, from 1 to 1024.
    engine : Engine, default=None
        `Flat()`, `IVF()`, `HNSW()` or `MultiHash()`. None: `Flat()`.
    model : ProximityPreservingCode or str, default=None
        As in `CodeStore`.

    Attributes
    ----------
    faiss_index : faiss.IndexBinary
        The index of FAISS, over codes padded to whole bytes; its ids are positions in the order of addition. Created by
        the first call of `add`, until then an empty flat index.

    Examples
    --------
    >>> import numpy as np
    >>> index = FaissIndex(n_bits=16)
    >>> index.add(np.array([[0, 0], [0, 7], [255, 255]], np.uint8), ids=[10, 20, 30])
    FaissIndex(n_bits=16, engine=Flat), 3 codes
    >>> index.search(np.array([[0, 1]], np.uint8), k=2)
    Neighbors(distance=array([[1, 2]], dtype=int32), neighbor=array([[10, 20]]))
    """

    def __init__(self, n_bits: int, engine: Engine | None = None, *, model: Any = None) -> None:
        super().__init__(n_bits, model=model)
        self._engine = Flat() if engine is None else engine
        check_component("engine", self._engine, Engine, "Flat() or IVF()")
        self._ids = Ids()
        self.faiss_index = Flat().create(_import_faiss(), np.empty((0, -(-self.n_bits // 8)), np.uint8))

    def __len__(self) -> int:
        return int(self.faiss_index.ntotal)

    def add(self, codes: ArrayLike, ids: ArrayLike | None = None) -> Self:
        """Add codes; parameters as in `CodeStore.add`."""
        codes = check_codes(codes, self.n_bits)
        new = self._ids.new(len(codes), ids)
        if len(codes) == 0:
            return self
        if len(self) == 0:
            self.faiss_index = self._engine.create(_import_faiss(), codes)
        self.faiss_index.add(codes)
        self._ids = self._ids.extended(new)
        return self

    def upsert(self, codes: ArrayLike, ids: ArrayLike) -> Self:
        """Replace or add codes; parameters as in `CodeStore.upsert`. Only the engine `Flat` can replace codes."""
        codes = check_codes(codes, self.n_bits)
        new = check_new_ids(ids, len(codes))
        positions = self._ids.positions(new)
        is_stored = positions >= 0
        if is_stored.any():
            self._check_changes("the replacement of codes")
        self.add(codes[~is_stored], new[~is_stored])
        if is_stored.any():
            faiss = _import_faiss()
            stored = faiss.rev_swig_ptr(self.faiss_index.xb.data(), self.faiss_index.xb.size())
            stored.reshape(len(self), -1)[positions[is_stored]] = codes[is_stored]
        return self

    def _check_changes(self, change: str) -> None:
        if not self._engine.supports_removal:
            name = type(self._engine).__name__
            raise ValueError(f"{name} does not support {change}: use Flat() or HammingIndex.")

    def remove(self, ids: ArrayLike) -> Self:
        """Remove codes, with the engine `Flat` only; parameters as in `CodeStore.remove`."""
        removed = self._ids.find(ids)
        if len(removed) == 0:
            return self
        self._check_changes("removal")
        self.faiss_index.remove_ids(removed)
        self._ids = self._ids.without(removed)
        return self

    def get(self, ids: ArrayLike) -> Codes:
        """Return stored codes; parameters as in `CodeStore.get`."""
        # Graphs and hash tables keep the codes in a flat index of their own.
        flat = getattr(self.faiss_index, "storage", self.faiss_index)
        codes = [flat.reconstruct(int(position)) for position in self._ids.find(ids)]
        return np.array(codes, np.uint8).reshape(len(codes), -(-self.n_bits // 8))

    def _nearest(self, queries: Codes, k: int) -> Neighbors:
        k = min(k, len(self))
        if k == 0:
            return Neighbors(np.empty((len(queries), 0), np.int32), np.empty((len(queries), 0), np.int64))
        distance, position = self.faiss_index.search(queries, k)
        is_missing = position < 0
        return Neighbors(
            distance=np.where(is_missing, -1, distance).astype(np.int32),
            neighbor=np.where(is_missing, -1, self._ids.at(position)),
        )

    def within(self, codes: ArrayLike, radius: int) -> Neighborhoods:
        """Find codes at Hamming distance at most `radius`; parameters as in `CodeStore.within`."""
        queries, radius = check_codes(codes, self.n_bits), check_integer("radius", radius, 0)
        if not self._engine.supports_radius:
            name = type(self._engine).__name__
            raise ValueError(f"{name} does not support search within a radius: use Flat(), IVF() or HammingIndex.")
        # The radius of FAISS is exclusive.
        offsets, distance, position = self.faiss_index.range_search(queries, min(radius, 8 * queries.shape[1]) + 1)
        offsets = offsets.astype(np.int64)
        query = np.repeat(np.arange(len(queries)), np.diff(offsets))
        order = np.lexsort((position, distance, query))
        return Neighborhoods(
            offsets=offsets, distance=distance[order].astype(np.int32), neighbor=self._ids.at(position[order])
        )

    def __repr__(self) -> str:
        return f"FaissIndex(n_bits={self.n_bits}, engine={type(self._engine).__name__}), {len(self):,} codes"


def _import_faiss() -> Any:
    try:
        import faiss
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("FaissIndex requires FAISS: pip install 'proxcode[faiss]'.") from error
    return faiss
