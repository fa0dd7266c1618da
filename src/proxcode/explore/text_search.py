"""Search as you type among many strings, without regard to case.

1. Strings that begin with what was typed come first, in alphabetical order: the first 8 bytes of each string are a
   number, and these numbers are sorted once.
2. Then strings that contain it elsewhere, in their order. The bytes of all strings are scanned in blocks, by the two
   bytes of what was typed that are rarest in them, and only as far as it takes to find enough.

A million strings of 40 characters are scanned in about 20 ms.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from proxcode.storage.texts import Texts

Rows = NDArray[np.int64]
# Bytes of a string that are sorted.
HEAD = 8
# Bytes scanned at a time: the first block, since frequent strings are found at once, and the largest.
FIRST_BLOCK, LARGEST_BLOCK = 2**12, 2**18
# Strings that are converted at a time.
CONVERTED = 65_536


class TextSearch:
    """Rows of the strings that contain a string, those that begin with it first.

    Parameters
    ----------
    texts : Texts

    Examples
    --------
    >>> search = TextSearch(Texts.of(["Lamp", "red chair", "chair", "Chairman"]))
    >>> search.find("chair", 10)
    array([2, 3, 1])
    >>> search.find("CHAIR", 1)
    array([2])
    """

    def __init__(self, texts: Texts) -> None:
        self.texts = _folded(texts)
        data, ends = self.texts
        self._starts = np.concatenate([[0], ends[:-1]])
        self._counts = np.bincount(data, minlength=256)
        heads = np.zeros((len(ends), HEAD), np.uint8)
        for byte in range(HEAD):
            rows = np.flatnonzero(ends - self._starts > byte)
            heads[rows, byte] = data[self._starts[rows] + byte]
        numbers = heads.view(">u8").ravel().astype(np.uint64)
        self._order = np.argsort(numbers, kind="stable").astype(np.int32)
        self._heads = numbers[self._order]

    def find(self, text: str, limit: int) -> Rows:
        """Return the rows of up to `limit` strings that contain a text; of the first strings for an empty text."""
        wanted = np.frombuffer(text.casefold().encode(errors="replace"), np.uint8)
        if len(wanted) == 0:
            return np.arange(min(limit, len(self.texts.ends)))
        first = self._beginning_with(wanted)[:limit]
        if len(first) == limit:
            return first
        found, n_found = [first], len(first)
        for rows in self._containing(wanted):
            new = rows[~self._begins(rows, wanted)]
            found.append(new)
            n_found += len(new)
            if n_found >= limit:
                break
        return np.concatenate(found)[:limit]

    def _beginning_with(self, wanted: NDArray[np.uint8]) -> Rows:
        head = np.zeros(HEAD, np.uint8)
        head[: len(wanted)] = wanted[:HEAD]
        low = int.from_bytes(head.tobytes(), "big")
        high = low + 256 ** max(0, HEAD - len(wanted)) - 1
        start = np.searchsorted(self._heads, np.uint64(low), side="left")
        stop = np.searchsorted(self._heads, np.uint64(high), side="right")
        rows = self._order[start:stop].astype(np.int64)
        return rows if len(wanted) <= HEAD else rows[self._begins(rows, wanted)]

    def _begins(self, rows: Rows, wanted: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return which of some strings begin with these bytes."""
        is_long = self.texts.ends[rows] - self._starts[rows] >= len(wanted)
        begins = np.zeros(len(rows), bool)
        left = np.flatnonzero(is_long)
        for byte, value in enumerate(wanted):
            left = left[self.texts.data[self._starts[rows[left]] + byte] == value]
        begins[left] = True
        return begins

    def _containing(self, wanted: NDArray[np.uint8]) -> Iterator[Rows]:
        """Yield the rows of strings that contain these bytes, in increasing order, block by block."""
        data, ends = self.texts
        rarest = np.argsort(self._counts[wanted], kind="stable")
        n_places = len(data) - len(wanted) + 1
        start, size, last_row = 0, FIRST_BLOCK, -1
        while start < n_places:
            stop = min(start + size, n_places)
            is_place = np.ones(stop - start, bool)
            for byte in rarest[:2]:
                is_place &= data[start + byte : stop + byte] == wanted[byte]
            places = np.flatnonzero(is_place) + start
            for byte in rarest[2:]:
                places = places[data[places + byte] == wanted[byte]]
            rows = np.searchsorted(ends, places, side="right")
            # What was found may be the end of a string and the beginning of the next one.
            rows = np.unique(rows[places + len(wanted) <= ends[rows]])
            # A string may be in two blocks.
            rows = rows[rows > last_row]
            if len(rows):
                last_row = int(rows[-1])
                yield rows
            start, size = stop, min(2 * size, LARGEST_BLOCK)


def _folded(texts: Texts) -> Texts:
    """Return strings without differences of case; the same object where there are none."""
    parts = []
    for start in range(0, len(texts.ends), CONVERTED):
        rows = np.arange(start, min(start + CONVERTED, len(texts.ends)))
        parts.append(Texts.of([text.casefold() for text in texts.at(rows)]))
    lengths = np.concatenate([np.diff(part.ends, prepend=0) for part in parts] or [np.empty(0, np.int64)])
    data = np.concatenate([part.data for part in parts] or [np.empty(0, np.uint8)])
    folded = Texts(data, np.cumsum(lengths))
    is_same = np.array_equal(folded.data, texts.data) and np.array_equal(folded.ends, texts.ends)
    return texts if is_same else folded
