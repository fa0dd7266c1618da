"""Multi-index hashing (Norouzi, Punjani, Fleet; CVPR 2012): exact search that looks at few codes.

1. Cut the code of p bits into m chunks of about log2(n) bits,
2. for each chunk keep a table: the codes sorted by its value, so that a value's codes lie together,
3. codes within distance r of a query are within r // m of it in at least one chunk: look into the buckets of all such
   values and measure what lies there.

Beside each code a table holds up to eight of its bytes. With codes of up to 64 bits that is all of them: buckets are
read from end to end and nothing is looked up elsewhere.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.search._table_kernels import FETCH_COST, PROBE_COST, bucket_keys, fill_buckets, probe
from proxcode.search.results import Found

Planes = NDArray[np.uint8]
MIN_KEY_BITS, MAX_KEY_BITS = 8, 24
FILTER_BYTES = 8
SAMPLE = 1024  # codes that costs are estimated from
PLANE_COST = 0.045  # cost of a flat scan for one byte of one code, in the unit of PROBE_COST
FILL_COST = 100.0  # cost of a table for one code


class Chunks(NamedTuple):
    """Where a code of so many bytes is cut.

    Attributes
    ----------
    low, n_key_bits : ndarrays of shape (m,)
        First bit and number of bits of each chunk.
    masks : ndarray of uint64, shape (m, n_words)
    first_byte, last_byte : ndarrays of shape (m,)
        The bytes kept beside each code.
    """

    low: NDArray[np.int64]
    n_key_bits: NDArray[np.int64]
    masks: NDArray[np.uint64]
    first_byte: NDArray[np.int64]
    last_byte: NDArray[np.int64]


def cut_into_chunks(n_bytes: int, n_codes: int) -> Chunks:
    """Cut codes into chunks of about log2(n_codes) bits, as equal as can be."""
    n_bits = 8 * n_bytes
    key_bits = min(MAX_KEY_BITS, max(MIN_KEY_BITS, round(math.log2(max(2, n_codes)))))
    n_chunks = max(-(-n_bits // min(MAX_KEY_BITS, key_bits + 2)), round(n_bits / key_bits))
    edges = np.linspace(0, n_bits, n_chunks + 1).round().astype(np.int64)
    low, high = edges[:-1], edges[1:]
    bits = np.zeros((len(low), -(-n_bytes // 8), 64), np.uint8)
    for chunk, (start, stop) in enumerate(zip(low, high, strict=True)):
        bits.reshape(len(low), -1)[chunk, start:stop] = 1
    masks = np.packbits(bits, axis=2, bitorder="little").view("<u8")[:, :, 0].copy()
    first = -(-high // 8)  # what follows a chunk tells most about the rest of the code
    first[first + FILTER_BYTES > n_bytes] = 0
    return Chunks(low, high - low, masks, first, np.minimum(first + FILTER_BYTES, n_bytes))


def keys_of(planes: Planes, n_codes: int, chunks: Chunks) -> NDArray[np.uint32]:
    """Return the value of each chunk of the first codes, shape (m, n_codes)."""
    keys = np.empty((len(chunks.low), n_codes), np.uint32)
    for low, n_key_bits, out in zip(chunks.low, chunks.n_key_bits, keys, strict=True):
        bucket_keys(planes, low, n_key_bits, n_codes, out)
    return keys


def expected_costs(planes: Planes, n_codes: int, queries: Planes, reach: NDArray[np.int64]) -> NDArray[np.float64]:
    """Estimate what each query would cost with tables, from some of the codes.

    Parameters
    ----------
    planes : ndarray of uint8, shape (n_bytes, at least n_codes)
    n_codes : int
    queries : ndarray of uint8, shape (n_queries, n_bytes)
    reach : ndarray of shape (n_queries,)
        Distance up to which each has to look: the radius, or how far its k-th neighbour is.
    """
    chunks = cut_into_chunks(len(planes), n_codes)
    rows = np.linspace(0, n_codes - 1, SAMPLE).astype(np.int64)
    sample = np.ascontiguousarray(planes[:, rows])
    keys = keys_of(sample, SAMPLE, chunks)
    fetch_cost = FETCH_COST * len(planes) if len(planes) > FILTER_BYTES else 0
    query_keys = keys_of(np.ascontiguousarray(queries.T), len(queries), chunks)
    m, costs = len(keys), np.zeros(len(queries))
    for chunk, length in enumerate(chunks.n_key_bits.tolist()):
        differing = np.bitwise_count(query_keys[chunk, :, None] ^ keys[chunk])
        furthest = (reach - chunk) // m  # distance in this chunk at the last of its levels, -1 for none
        n_buckets = np.cumsum([math.comb(length, distance) for distance in range(length + 1)])
        probes = np.where(furthest < 0, 0, n_buckets[np.clip(furthest, 0, length)])
        is_looked_at = differing <= furthest[:, None]
        costs += PROBE_COST * probes + n_codes * is_looked_at.mean(axis=1)
        if fetch_cost:
            kept = slice(chunks.first_byte[chunk], chunks.last_byte[chunk])
            filtered = np.bitwise_count(queries[:, kept, None] ^ sample[kept]).sum(axis=1) <= reach[:, None]
            costs += fetch_cost * n_codes * (is_looked_at & filtered).mean(axis=1)
    return costs


class MultiIndex:
    """Tables of the first codes of an index.

    Parameters
    ----------
    planes : ndarray of uint8, shape (n_bytes, at least n_codes)
    n_codes : int
    """

    def __init__(self, planes: Planes, n_codes: int) -> None:
        self.n_codes = n_codes
        self.chunks = cut_into_chunks(len(planes), n_codes)
        m = len(self.chunks.low)
        self._ends = np.zeros((m, (1 << int(self.chunks.n_key_bits.max())) + 1), np.uint32)
        self._positions = np.empty((m, self.n_codes), np.uint32)
        self._filters = np.empty((m, self.n_codes), np.uint64)
        keys = np.empty(self.n_codes, np.uint32)
        for chunk in range(m):
            low, n_key_bits, _, first, last = (part[chunk] for part in self.chunks)
            bucket_keys(planes, low, n_key_bits, self.n_codes, keys)
            ends = self._ends[chunk, : (1 << int(n_key_bits)) + 1]
            fill_buckets(planes, keys, first, last, ends, self._positions[chunk], self._filters[chunk])

    @property
    def nbytes(self) -> int:
        """Memory of the tables."""
        return self._ends.nbytes + self._positions.nbytes + self._filters.nbytes

    def find(self, planes: Planes, queries: Planes, k: int, radius: int, budget: float) -> list[Found | None]:
        """Find, for each query, the codes within a radius or the k nearest of them; None where that cost too much.

        Parameters
        ----------
        planes : ndarray of uint8, shape (n_bytes, at least n_codes)
            Those that the tables were made of, or more.
        queries : ndarray of uint8, shape (n_queries, n_bytes)
        k, radius : int
            At most k codes, at most so far away.
        budget : float
            Most that a query may cost.
        """
        low, n_key_bits, masks, first, last = self.chunks
        keys = keys_of(np.ascontiguousarray(queries.T), len(queries), self.chunks)
        words = np.zeros((len(queries), len(low), FILTER_BYTES), np.uint8)
        for chunk in range(len(low)):
            words[:, chunk, : last[chunk] - first[chunk]] = queries[:, first[chunk] : last[chunk]]
        of_queries = np.ascontiguousarray(keys.T), words.view("<u8").reshape(len(queries), len(low))
        tables = self._ends, self._positions, self._filters
        given_up, stops, distance, position = probe(
            planes, queries, *of_queries, *tables, masks, n_key_bits, k, radius, int(budget)
        )
        lists = zip(given_up, np.split(distance, stops[:-1]), np.split(position, stops[:-1]), strict=True)
        return [None if gave_up else Found(distance, position) for gave_up, distance, position in lists]
