"""HammingIndex: exact search among packed codes, in memory or in a memory-mapped file.

Codes are kept as byte planes, byte b of all codes together: the layout that the kernels are fast on. Of codes at equal
distance the one added first comes first.
"""

import os
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.hamming import Codes, check_codes
from proxcode.search.exact import ExactSearch, Stock
from proxcode.search.rescoring import Rescoring
from proxcode.search.results import Neighborhoods, Neighbors
from proxcode.storage.container import Tensors, read_file, write_file
from proxcode.utils.validation import check_whole

MAX_BITS = 1024
GROWTH = 16  # one part in so many is kept free for codes to come

Number = TypeVar("Number", np.uint8, np.int64)


class Contents(NamedTuple):
    """What an index holds, replaced as a whole: a search keeps to what it began with, whatever happens meanwhile.

    Attributes
    ----------
    stock : Stock
    ids : ndarray of int64 or None
        One for each code, and room for more; None where they are 0, 1, 2, ...
    engine : ExactSearch
        That of this stock and of what is added to it; after a removal there is another.
    """

    stock: Stock
    ids: NDArray[np.int64] | None
    engine: ExactSearch

    def ids_at(self, position: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the ids of codes found."""
        return position if self.ids is None else self.ids[position]


class HammingIndex:
    """Exact search among codes by Hamming distance.

    Several threads may search at once, also while one adds or removes.

    Parameters
    ----------
    n_bits : int
        Length of the codes, 1 to 1024.
    n_threads : int, default=None
        None is all cores.
    tables : bool, default=None
        Whether tables for multi-index hashing may be built: 4 to 11 times the memory of the codes, for searches of
        close neighbours among millions of codes that are 10 to 300 times faster. None builds them by itself once they
        pay, True before the first search, False never. The results are the same.

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

    def __init__(self, n_bits: int, *, n_threads: int | None = None, tables: bool | None = None) -> None:
        self.n_bits = check_whole("n_bits", n_bits, 1, MAX_BITS)
        self.n_threads = None if n_threads is None else check_whole("n_threads", n_threads, 1)
        self.tables = tables
        self._fill(np.empty((-(-self.n_bits // 8), 0), np.uint8), None)

    def _fill(self, planes: Codes, ids: NDArray[np.int64] | None) -> None:
        """Hold these codes and no others."""
        engine = ExactSearch(self.n_threads, self.tables)
        self._contents = Contents(Stock(planes, planes.shape[1]), ids, engine)

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and pickles hold: no tables, and no room that two copies would both write to."""
        (planes, n), ids, _ = self._contents
        state = {"n_bits": self.n_bits, "n_threads": self.n_threads, "tables": self.tables}
        return {**state, "planes": np.ascontiguousarray(planes[:, :n]), "ids": None if ids is None else ids[:n]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.n_bits, self.n_threads, self.tables = state["n_bits"], state["n_threads"], state["tables"]
        self._fill(state["planes"], state["ids"])

    def __len__(self) -> int:
        return self._contents.stock.n_codes

    def __repr__(self) -> str:
        return f"HammingIndex(n_bits={self.n_bits}), {len(self):,} codes"

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids of the codes, in the order in which they were added."""
        stock, ids, _ = self._contents
        return np.arange(stock.n_codes) if ids is None else ids[: stock.n_codes].copy()

    @property
    def codes(self) -> Codes:
        """The codes, packed, in the same order."""
        planes, n = self._contents.stock
        return np.array(planes[:, :n].T, order="C")

    @property
    def nbytes(self) -> int:
        """Memory of codes, ids and tables."""
        stock, ids, engine = self._contents
        parts = (stock.planes, ids, engine.multi_index)
        return sum(part.nbytes for part in parts if part is not None)

    def add(self, codes: ArrayLike, ids: ArrayLike | None = None) -> Self:
        """Add codes.

        Parameters
        ----------
        codes : array of uint8, shape (n, ceil(n_bits / 8))
        ids : array of int64, shape (n,), default=None
            Your own numbers, each once. None goes on from the largest so far, from 0 in an empty index.
        """
        codes = check_index_codes(codes, self.n_bits)
        new_ids = self._new_ids(len(codes), ids)
        (planes, n), own_ids, engine = self._contents
        total = n + len(codes)
        if total > np.iinfo(np.uint32).max:
            raise ValueError(f"{total:,} codes are more than an index holds, {np.iinfo(np.uint32).max:,}: use several.")
        if new_ids is not None:
            own_ids = _grown(np.arange(n) if own_ids is None else own_ids, n, total)
            own_ids[n:total] = new_ids
        planes = _grown(planes, n, total)
        planes[:, n:total] = codes.T
        self._contents = Contents(Stock(planes, total), own_ids, engine)
        return self

    def _new_ids(self, n: int, ids: ArrayLike | None) -> NDArray[np.int64] | None:
        """Return the ids of n codes to come, None where they go on as 0, 1, 2, ..."""
        if ids is None:
            if self._contents.ids is None:
                return None
            start = int(self._contents.ids[: len(self)].max()) + 1 if len(self) else 0
            if start + n - 1 > np.iinfo(np.int64).max:
                raise ValueError(f"ids cannot go on from {start - 1}, the largest number there is: give ids.")
            return np.arange(start, start + n)
        new = check_ids(ids)
        if len(new) != n:
            raise ValueError(f"there are {n} codes but {len(new)} ids: give one id per code.")
        distinct, times = np.unique(new, return_counts=True)
        if len(distinct) < n:
            raise ValueError(f"id {distinct[times > 1][0]} is given twice: each id stands for one code.")
        if (known := self._positions(distinct) >= 0).any():
            raise ValueError(f"id {distinct[known][0]} is in the index already: remove it first, or give another.")
        return new

    def _positions(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where ids are, -1 for those that are not."""
        if self._contents.ids is None:
            return np.where((ids >= 0) & (ids < len(self)), ids, -1)
        present = self._contents.ids[: len(self)]
        where = np.flatnonzero(np.isin(present, ids))
        order = where[np.argsort(present[where])]
        if len(order) == 0:
            return np.full(len(ids), -1)
        place = np.minimum(np.searchsorted(present[order], ids), len(order) - 1)
        return np.where(present[order][place] == ids, order[place], -1)

    def remove(self, ids: ArrayLike) -> Self:
        """Take codes out; the others stay in order.

        Parameters
        ----------
        ids : array of int64
            All of them must be there.
        """
        gone = check_ids(ids)
        positions = self._positions(gone)
        if (unknown := positions < 0).any():
            raise ValueError(f"id {gone[unknown][0]} is not in the index: nothing was removed.")
        if len(gone) == 0:
            return self
        stays = np.ones(len(self), bool)
        stays[positions] = False
        kept = np.flatnonzero(stays)
        self._fill(np.ascontiguousarray(self._contents.stock.planes[:, kept]), self.ids[kept])
        return self

    def search(
        self, codes: ArrayLike, k: int = 10, *, rescore: Rescoring | None = None, oversample: float = 4.0
    ) -> Neighbors:
        """Find the k nearest codes of each query.

        Parameters
        ----------
        codes : array of uint8, shape (n_queries, ceil(n_bits / 8))
        k : int, default=10
        rescore : Rescoring, default=None
            Order the nearest by something finer than whole bits: `ByMargins` or `ByDistance`.
        oversample : float, default=4.0
            With `rescore`, so many times k codes are taken by Hamming distance, and the best k of them returned.

        Returns
        -------
        Neighbors
            Arrays of shape (n_queries, k), fewer columns where the index holds fewer codes.
        """
        queries, k = check_index_codes(codes, self.n_bits), check_whole("k", k, 1)
        if not 1 <= oversample < np.inf:
            raise ValueError(f"oversample={oversample}: give a number of at least 1.")
        contents = self._contents
        stock = contents.stock
        n_taken = min(stock.n_codes, k if rescore is None else int(np.ceil(k * oversample)))
        found = contents.engine.find(stock, queries, n_taken, stock.max_distance)
        distance = np.array([of_query.distance for of_query in found], np.int32).reshape(len(queries), n_taken)
        position = np.array([of_query.position for of_query in found], np.int64).reshape(len(queries), n_taken)
        neighbors = Neighbors(distance, contents.ids_at(position))
        if rescore is None:
            return neighbors
        scored = rescore.distances(queries, stock.planes, position, neighbors.neighbor)
        order = np.argsort(scored, axis=1, kind="stable")[:, :k]
        return Neighbors(*(np.take_along_axis(array, order, axis=1) for array in (scored, neighbors.neighbor)))

    def within(self, codes: ArrayLike, radius: int) -> Neighborhoods:
        """Find all codes at Hamming distance at most `radius`, that distance included.

        Parameters
        ----------
        codes : array of uint8, shape (n_queries, ceil(n_bits / 8))
        radius : int
            For the codes of a model: its `radius_`.
        """
        queries, radius = check_index_codes(codes, self.n_bits), check_whole("radius", radius, 0)
        contents = self._contents
        found = contents.engine.find(contents.stock, queries, contents.stock.n_codes, radius)
        offsets = np.cumsum([0, *(len(of_query.position) for of_query in found)])
        position = np.concatenate([np.empty(0, np.int64), *(of_query.position for of_query in found)])
        distance = np.concatenate([np.empty(0, np.int32), *(of_query.distance for of_query in found)])
        return Neighborhoods(offsets, distance, contents.ids_at(position))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file, whole or not at all; tables are not written."""
        state = self.__getstate__()
        tensors: Tensors = {name: state[name] for name in ("planes", "ids") if state[name] is not None}
        write_file(path, "index", {"n_bits": self.n_bits}, tensors)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        mapped: bool = True,
        n_threads: int | None = None,
        tables: bool | None = None,
    ) -> Self:
        """Open a saved index.

        Parameters
        ----------
        path : path
        mapped : bool, default=True
            Map the file into memory: it opens at once, and processes share it. False reads it and checks its digest.
        n_threads, tables : as for a new index
        """
        content, tensors = read_file(path, "index", mapped=mapped)
        index = cls(content["n_bits"], n_threads=n_threads, tables=tables)
        planes, ids = tensors.get("planes", np.empty(0)), tensors.get("ids")
        n_bytes = len(index._contents.stock.planes)
        if planes.shape[:-1] != (n_bytes,) or (ids is not None and ids.shape != planes.shape[1:]):
            raise ValueError(f"{path} does not hold codes of {index.n_bits} bits with an id each: make it again.")
        index._fill(planes, ids)
        return index


def check_index_codes(codes: ArrayLike, n_bits: int) -> Codes:
    """Return packed codes of so many bits, in C order, or say why they are none."""
    codes = np.ascontiguousarray(check_codes(codes))
    n_bytes = -(-n_bits // 8)
    if codes.shape[1] != n_bytes:
        raise ValueError(
            f"codes have {codes.shape[1]} bytes but those of {n_bits} bits have {n_bytes}: encode with as many bits as "
            "the index has."
        )
    padding = (1 << (-n_bits % 8)) - 1
    if padding and (codes[:, -1] & padding).any():
        raise ValueError(f"codes have ones beyond their {n_bits} bits: fill up with zeros, as encode() does.")
    return codes


def check_ids(ids: ArrayLike) -> NDArray[np.int64]:
    """Return ids as int64 or say why they are none."""
    array = np.asarray(ids)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"ids must be whole numbers, one per code; got {array.dtype} of shape {array.shape}.")
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"id {array.max()} does not fit 64 bits with a sign: give smaller ids.")
    return array.astype(np.int64)


def _grown(array: NDArray[Number], n: int, total: int) -> NDArray[Number]:
    """Return an array with room for `total` in its last axis, the first n copied."""
    if total <= array.shape[-1]:
        return array
    room = total if n == 0 else max(total, n + n // GROWTH)
    larger = np.empty((*array.shape[:-1], room), array.dtype)
    larger[..., :n] = array[..., :n]
    return larger
