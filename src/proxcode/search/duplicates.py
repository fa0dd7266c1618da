"""Near-duplicates among codes: groups of linked codes, and all pairs up to a Hamming distance.

1. Equal codes are collapsed: codes are sorted, and each distinct code is one row with the positions of its codes.
2. A self-join finds the pairs of rows within the radius (`self_join.py`).
3. Groups: a union-find over the rows, without a list of pairs.
4. Pairs: each pair of rows stands for the pairs of their codes, and each row for those of its own; they are written to
   blocks of bounded size.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.hamming import Codes, Words, check_codes, to_words
from proxcode.search._group_kernels import number_groups, pairs_of_equal_codes, pairs_of_positions, unite
from proxcode.search.index import MAX_THREADS
from proxcode.search.planes import MAX_CODES
from proxcode.search.self_join import BLOCK, SelfJoin
from proxcode.search.string_ids import AnyIds, ids_for
from proxcode.stores.base import MAX_BITS
from proxcode.stores.ids import Ids
from proxcode.utils.validation import check_integer

# Codes that are converted to words at a time.
N_CONVERTED = 2**18


class DuplicatePairs(NamedTuple):
    """Pairs of codes, the one that comes first among the codes in `first`.

    Attributes
    ----------
    first, second : ndarrays of int64, or of str as objects
        Ids of the codes.
    distance : ndarray of int32
        Hamming distances.
    """

    first: NDArray[Any]
    second: NDArray[Any]
    distance: NDArray[np.int32]


class Rows(NamedTuple):
    """Distinct codes as words, and the positions of the codes equal to each of them.

    Row r is the code at the positions order[starts[r]] to order[starts[r + 1] - 1], in increasing order.
    """

    words: Words
    order: NDArray[np.uint32]
    starts: NDArray[np.uint32]

    @classmethod
    def of(cls, codes: Codes) -> Rows:
        """Collapse equal codes."""
        words = _row_words(codes)
        order = np.lexsort(words.T[::-1]).astype(np.uint32)
        words = words[order]
        is_first = np.ones(len(words), bool)
        # Word by word: a comparison of all words at once takes as much memory as they do.
        is_first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in words.T])
        starts = np.append(np.flatnonzero(is_first), len(words)).astype(np.uint32)
        return cls(words if len(starts) > len(words) else words[is_first], order, starts)


class Duplicates:
    """Near-duplicates among codes; `find_duplicates` returns it.

    Two codes are linked if their Hamming distance is at most the radius, and a group is a set of codes that are linked
    directly or by a chain of codes: the first and the last of a chain may be further apart than the radius. Groups are
    computed when they are first used, and pairs while they are iterated over.

    Attributes
    ----------
    n_codes, n_bits, radius : int
    ids : ndarray of int64, or of str as objects, shape (n_codes,)
    n_distinct : int
        Number of distinct codes.
    group : ndarray of int64, shape (n_codes,)
        Number of the group of each code, -1 for a code without duplicates. Groups are numbered from 0 in the order of
        their first codes.
    n_groups : int
        Number of groups of two or more codes.
    representative : ndarray of the type of `ids`, shape (n_codes,)
        Id of the first code of the group of each code; its own id for a code without duplicates.
    kept : ndarray of int64
        Positions of the codes that remain if of each group only the first is kept: `X[found.kept]`.
    n_duplicates : int
        Number of the other codes.
    """

    def __init__(
        self, codes: Codes, n_bits: int, radius: int, ids: AnyIds, n_threads: int | None, verbose: bool
    ) -> None:
        self.n_codes, self.n_bits, self.radius = len(codes), n_bits, radius
        self._ids, self._n_threads, self._verbose = ids, n_threads, verbose
        self._rows = Rows.of(codes)

    def __repr__(self) -> str:
        return f"Duplicates(radius={self.radius}), {self.n_codes:,} codes of {self.n_bits} bits"

    @property
    def ids(self) -> NDArray[Any]:
        """Ids of the codes."""
        return self._ids.as_array()

    @property
    def n_distinct(self) -> int:
        """Number of distinct codes."""
        return len(self._rows.words)

    @cached_property
    def group(self) -> NDArray[np.int64]:
        """Number of the group of each code, -1 for a code without duplicates."""
        rows = self._rows
        parents = np.arange(self.n_distinct, dtype=np.uint32)
        n_trees = self.n_distinct
        with closing(self._join.pairs(parents, verbose=self._verbose)) as found:
            for pairs in found:
                n_trees -= unite(parents, pairs.rows)
                if n_trees == 1:
                    break
        first, group = np.empty(self.n_codes, np.uint32), np.full(self.n_codes, -1)
        number_groups(parents, rows.order, rows.starts, first, np.empty(len(parents), np.uint32), group)
        return group

    @cached_property
    def _join(self) -> SelfJoin:
        return SelfJoin(self._rows.words, self.n_bits, self.radius, self._n_threads)

    @property
    def n_groups(self) -> int:
        """Number of groups of two or more codes."""
        return int(self.group.max(initial=-1)) + 1

    @property
    def representative(self) -> NDArray[Any]:
        """Id of the first code of the group of each code."""
        position = np.arange(self.n_codes)
        is_member = self.group >= 0
        position[is_member] = self._first[self.group[is_member]]
        return self._ids.at(position)

    @property
    def kept(self) -> NDArray[np.int64]:
        """Positions of the codes that remain if of each group only the first is kept."""
        is_kept = self.group < 0
        is_kept[self._first] = True
        return np.flatnonzero(is_kept)

    @property
    def n_duplicates(self) -> int:
        """Number of codes that are not kept."""
        return int((self.group >= 0).sum()) - self.n_groups

    @property
    def _first(self) -> NDArray[np.int64]:
        """Position of the first code of each group."""
        first = np.empty(self.n_groups, np.int64)
        members = np.flatnonzero(self.group >= 0)[::-1]
        # Of several values for one entry, the last one remains.
        first[self.group[members]] = members
        return first

    def pairs(self) -> Iterator[DuplicatePairs]:
        """Yield all pairs of codes up to the radius in blocks of at most 65,536 pairs.

        Each pair is yielded once, and no code with itself: first the pairs of equal codes, then the others in an order
        that is always the same. Memory does not depend on the number of pairs.
        """
        rows = self._rows
        pairs, distance = np.empty((2, BLOCK), np.uint32), np.zeros(BLOCK, np.uint16)
        state = np.array([0, 0, 1])
        while n_found := pairs_of_equal_codes(rows.order, rows.starts, state, pairs):
            yield self._block(pairs[:, :n_found], distance[:n_found])
        n_found = 0
        with closing(self._join.pairs(verbose=self._verbose)) as found:
            for of_rows in found:
                state = np.zeros(3, np.int64)
                while state[0] < len(of_rows.distance):
                    arguments = rows.order, rows.starts, *of_rows, state, n_found, pairs, distance
                    n_found = pairs_of_positions(*arguments)
                    if n_found == BLOCK:
                        yield self._block(pairs, distance)
                        n_found = 0
        if n_found:
            yield self._block(pairs[:, :n_found], distance[:n_found])

    def _block(self, pairs: NDArray[np.uint32], distance: NDArray[np.uint16]) -> DuplicatePairs:
        first, second = (self._ids.at(positions.astype(np.int64)) for positions in pairs)
        return DuplicatePairs(first, second, distance.astype(np.int32))


def find_duplicates(
    codes: ArrayLike,
    radius: int,
    *,
    n_bits: int | None = None,
    ids: ArrayLike | None = None,
    n_threads: int | None = None,
    verbose: bool = False,
) -> Duplicates:
    """Find all near-duplicates among codes: pairs of codes up to a Hamming distance, and groups of linked codes.

    The result is exact. Small radii take a time that grows little faster than the number of codes; at large ones all
    codes are compared with one another.

    Parameters
    ----------
    codes : array of uint8, shape (n_codes, n_bytes)
        Packed codes, in memory or memory-mapped.
    radius : int
        Largest Hamming distance of duplicates; 0 finds equal codes.
    n_bits : int, default=None
        Code length; None: all bits of the bytes.
    ids : array of int64 or of str, shape (n_codes,), default=None
        Distinct ids of the codes, None: their positions.
    n_threads : int, default=None
        Number of threads. None: all cores. The result is the same for any number.
    verbose : bool, default=False
        Whether progress is shown on standard error.

    Returns
    -------
    Duplicates

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.array([[0b1111], [0b0000], [0b1110], [0b0000], [0b11110000]], np.uint8)
    >>> found = find_duplicates(codes, radius=1)
    >>> found.group
    array([ 0,  1,  0,  1, -1])
    >>> found.kept
    array([0, 1, 4])
    >>> for pairs in found.pairs():
    ...     print(np.column_stack(pairs))
    [[1 3 0]]
    [[0 2 1]]
    """
    checked = check_codes(codes)
    n_bits = check_integer("n_bits", 8 * checked.shape[1] if n_bits is None else n_bits, 1, MAX_BITS)
    check_codes(checked, n_bits)
    radius = check_integer("radius", radius, 0)
    if n_threads is not None:
        n_threads = check_integer("n_threads", n_threads, 1, MAX_THREADS)
    if len(checked) > MAX_CODES:
        raise ValueError(f"codes has {len(checked):,} rows: expected at most {MAX_CODES:,}.")
    no_ids: Any = ids_for(Ids(), ids)
    return Duplicates(checked, n_bits, radius, no_ids.extended(no_ids.new(len(checked), ids)), n_threads, verbose)


def _row_words(codes: Codes) -> Words:
    """Return packed codes as 64-bit words, shape (n, n_words): the same memory if they are whole words in memory."""
    n, n_bytes = codes.shape
    if (
        n_bytes % 8 == 0
        and codes.flags.c_contiguous
        and codes.ctypes.data % 8 == 0
        and not isinstance(codes, np.memmap)
    ):
        return codes.view("<u8").astype(np.uint64, copy=False)
    words = np.empty((n, -(-n_bytes // 8)), np.uint64)
    for start in range(0, n, N_CONVERTED):
        rows = slice(start, start + N_CONVERTED)
        words[rows] = to_words(codes[rows]).T
    return words
