"""Search as you type among many strings, without regard to case.

1. Strings that begin with what was typed come first, in alphabetical order: the first 8 bytes of each string are a
   number, and these numbers are sorted once.
2. Then strings that contain it elsewhere, in their order. Strings are divided into blocks of about 4 KB. A bitmap tells
   for each pair and each triple of bytes, by a hash of 14 bits, which blocks have it: only blocks that have all pairs
   and triples of what was typed are scanned.
3. A scan compares the two bytes of what was typed that are rarest in all strings, then the others where these agree,
   and ends when enough strings are found.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from proxcode.storage.texts import Texts

Rows = NDArray[np.int64]
# Bytes of a string that are sorted.
HEAD = 8
# Bytes of a block, and blocks scanned at a time at most; the first scan is of one, since frequent strings are near.
BLOCK, MOST_BLOCKS = 2**12, 64
# Hashes of pairs and triples of bytes, and the multiplier that mixes their bits.
N_HASHES, MIX = 2**14, np.uint32(2_654_435_761)
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
        self._edges = _block_edges(ends)
        self._bitmap = _bitmap(data, self._edges)

    def find(self, text: str, limit: int) -> Rows:
        """Return the rows of up to `limit` strings that contain a text; of the first strings for an empty text."""
        wanted = np.frombuffer(text.casefold().encode(errors="replace"), np.uint8)
        if len(wanted) == 0:
            return np.arange(min(limit, len(self.texts.ends)))
        if self._counts[wanted].min() == 0:
            return np.empty(0, np.int64)
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
        """Yield the rows of strings that contain these bytes, in increasing order, some blocks at a time."""
        ends, last_row = self.texts.ends, -1
        blocks = self._candidates(wanted)
        start, size = 0, 1
        while start < len(blocks):
            places = self._places(blocks[start : start + size], wanted)
            rows = np.searchsorted(ends, places, side="right")
            # What was found may be the end of a string and the beginning of the next one.
            rows = np.unique(rows[places + len(wanted) <= ends[rows]])
            rows = rows[rows > last_row]
            if len(rows):
                last_row = int(rows[-1])
                yield rows
            start, size = start + size, min(2 * size, MOST_BLOCKS)

    def _candidates(self, wanted: NDArray[np.uint8]) -> Rows:
        """Return the blocks that have all pairs and triples of these bytes, or one that has the same hash."""
        n_blocks = len(self._edges) - 1
        hashes = np.unique(_hashes(wanted))
        common = np.bitwise_and.reduce(self._bitmap[hashes], axis=0)
        return np.flatnonzero(np.unpackbits(common, count=n_blocks))

    def _places(self, blocks: Rows, wanted: NDArray[np.uint8]) -> Rows:
        """Return where these bytes begin in some blocks; at the end of a block they may continue in any other."""
        starts, stops = self._edges[blocks], self._edges[blocks + 1]
        data = np.concatenate([self.texts.data[start:stop] for start, stop in zip(starts, stops, strict=True)])
        rarest = np.argsort(self._counts[wanted], kind="stable")
        n_places = max(0, len(data) - len(wanted) + 1)
        is_place = np.ones(n_places, bool)
        for byte in rarest[:2]:
            is_place &= data[byte : n_places + byte] == wanted[byte]
        places = np.flatnonzero(is_place)
        for byte in rarest[2:]:
            places = places[data[places + byte] == wanted[byte]]
        before = np.cumsum(stops - starts) - (stops - starts)
        return places + (starts - before)[np.searchsorted(before, places, side="right") - 1]


def _block_edges(ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where blocks begin, and the end of the last: each ends with a string."""
    if len(ends) == 0:
        return np.zeros(1, np.int64)
    rows = np.searchsorted(ends, np.arange(BLOCK, ends[-1] + BLOCK, BLOCK))
    return np.unique(np.concatenate([[0], ends[np.minimum(rows, len(ends) - 1)]]))


def _bitmap(data: NDArray[np.uint8], edges: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return which blocks have a pair or triple of bytes of each hash, 8 blocks in a byte."""
    n_blocks = len(edges) - 1
    bitmap = np.zeros((-(-n_blocks // 8), N_HASHES), np.uint8)
    for group in range(len(bitmap)):
        has = np.zeros((8, N_HASHES), bool)
        for place, block in enumerate(range(8 * group, min(8 * group + 8, n_blocks))):
            has[place, _hashes(data[edges[block] : edges[block + 1]])] = True
        bitmap[group] = np.packbits(has, axis=0)[0]
    return np.ascontiguousarray(bitmap.T)


def _hashes(data: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Return the hashes of all pairs and triples of neighbouring bytes."""
    wide = data.astype(np.uint32)
    pairs = wide[:-1] << np.uint32(8) | wide[1:]
    triples = pairs[:-1] << np.uint32(8) | wide[2:] | np.uint32(2**24)
    return np.concatenate([pairs, triples]) * MIX >> np.uint32(18)


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
