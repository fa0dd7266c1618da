"""Multi-index hashing (Norouzi, Punjani, Fleet; CVPR 2012): exact search that examines few codes.

1. Divide the code of p bits into m chunks of about log2(n) bits.
2. Build one hash table per chunk: the codes sorted by the value of the chunk, the key, so that the codes of equal key,
   a bucket, are contiguous.
3. A code within distance r of a query is within distance r // m in at least one chunk: examine the buckets of all such
   keys and compute the distances of the codes in them.

Next to each code a hash table holds up to eight of its bytes, the filter. For codes of up to 64 bits the filter is the
whole code: buckets are read sequentially and nothing is looked up elsewhere.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proxcode.hamming import Codes
from proxcode.search._table_kernels import FETCH_COST, PROBE_COST, bucket_keys, fill_buckets, probe
from proxcode.search.planes import BytePlanes, Found, split_by_query

# Smallest and largest number of bits of a key.
MIN_KEY_BITS, MAX_KEY_BITS = 8, 24
# Bytes of a code next to its position in a hash table, in one 64-bit word.
FILTER_BYTES = 8
# Codes from which costs are estimated.
N_SAMPLED = 1024
# Cost of scanning one byte of one code, in the unit of `_table_kernels`: one code examined in its bucket.
PLANE_COST = 0.045
# Cost of inserting one code into one hash table, in the same unit.
FILL_COST = 100.0


@dataclass(frozen=True, eq=False)
class Chunks:
    """Division of a code into m chunks.

    Attributes
    ----------
    low, n_key_bits : ndarrays of int64, shape (m,)
        First bit and number of bits of each chunk.
    masks : ndarray of uint64, shape (m, n_words)
        Bits of each chunk in the words of a code.
    first_byte, last_byte : ndarrays of int64, shape (m,)
        Bytes first_byte to last_byte - 1 of a code are its filter in the hash table of this chunk.
    """

    low: NDArray[np.int64]
    n_key_bits: NDArray[np.int64]
    masks: NDArray[np.uint64]
    first_byte: NDArray[np.int64]
    last_byte: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.low)


def divide_into_chunks(n_bytes: int, n_codes: int) -> Chunks:
    """Divide codes into chunks of about log2(n_codes) bits and almost equal lengths."""
    n_bits = 8 * n_bytes
    key_bits = min(MAX_KEY_BITS, max(MIN_KEY_BITS, round(math.log2(max(2, n_codes)))))
    n_chunks = max(-(-n_bits // min(MAX_KEY_BITS, key_bits + 2)), round(n_bits / key_bits))
    edges = np.linspace(0, n_bits, n_chunks + 1).round().astype(np.int64)
    low, high = edges[:-1], edges[1:]
    bits = np.zeros((n_chunks, -(-n_bytes // 8), 64), np.uint8)
    for chunk, (start, stop) in enumerate(zip(low, high, strict=True)):
        bits.reshape(n_chunks, -1)[chunk, start:stop] = 1
    masks = np.packbits(bits, axis=2, bitorder="little").view("<u8")[:, :, 0].copy()
    # The key is known in a bucket, so the bytes after it say most about the rest of the code.
    first_byte = -(-high // 8)
    first_byte[first_byte + FILTER_BYTES > n_bytes] = 0
    last_byte = np.minimum(first_byte + FILTER_BYTES, n_bytes)
    return Chunks(low=low, n_key_bits=high - low, masks=masks, first_byte=first_byte, last_byte=last_byte)


def keys_of(planes: Codes, chunks: Chunks) -> NDArray[np.uint32]:
    """Return the keys of all codes of an array of byte planes, shape (m, n)."""
    keys = np.empty((len(chunks), planes.shape[1]), np.uint32)
    for low, n_key_bits, out in zip(chunks.low, chunks.n_key_bits, keys, strict=True):
        bucket_keys(planes, low, n_key_bits, planes.shape[1], out)
    return keys


def scan_cost(n_bytes: int, n_codes: int) -> float:
    """Return the cost of comparing one query with all codes."""
    return PLANE_COST * n_bytes * n_codes


def build_cost(n_bytes: int, n_codes: int) -> float:
    """Return the cost of building the hash tables."""
    return FILL_COST * n_codes * len(divide_into_chunks(n_bytes, n_codes))


def expected_costs(codes: BytePlanes, queries: Codes, reach: NDArray[np.int64]) -> NDArray[np.float64]:
    """Estimate the cost of each query with hash tables, from a sample of the codes.

    Parameters
    ----------
    codes : BytePlanes
    queries : ndarray of uint8, shape (n_queries, n_bytes)
    reach : ndarray of int64, shape (n_queries,)
        Distance up to which each query has to be searched: the radius, or the distance of the k-th neighbour.
    """
    chunks = divide_into_chunks(codes.n_bytes, codes.n_codes)
    rows = np.linspace(0, codes.n_codes - 1, N_SAMPLED).astype(np.int64)
    sampled = np.ascontiguousarray(codes.array[:, rows])
    keys, query_keys = keys_of(sampled, chunks), keys_of(np.ascontiguousarray(queries.T), chunks)
    fetch_cost = FETCH_COST * codes.n_bytes if codes.n_bytes > FILTER_BYTES else 0
    m, costs = len(keys), np.zeros(len(queries))
    for chunk, length in enumerate(chunks.n_key_bits.tolist()):
        # Largest distance of a key from the query's key whose bucket is examined, -1 if no bucket is.
        furthest = (reach - chunk) // m
        n_buckets = np.cumsum([math.comb(length, distance) for distance in range(length + 1)])
        n_probes = np.where(furthest < 0, 0, n_buckets[np.clip(furthest, 0, length)])
        is_examined = np.bitwise_count(query_keys[chunk, :, None] ^ keys[chunk]) <= furthest[:, None]
        costs += PROBE_COST * n_probes + codes.n_codes * is_examined.mean(axis=1)
        if fetch_cost:
            kept = slice(chunks.first_byte[chunk], chunks.last_byte[chunk])
            passes = np.bitwise_count(queries[:, kept, None] ^ sampled[kept]).sum(axis=1) <= reach[:, None]
            costs += fetch_cost * codes.n_codes * (is_examined & passes).mean(axis=1)
    return costs


class MultiIndex:
    """Hash tables of codes.

    Parameters
    ----------
    codes : BytePlanes

    Attributes
    ----------
    n_codes : int
        Number of codes in the hash tables.
    """

    def __init__(self, codes: BytePlanes) -> None:
        self.n_codes = codes.n_codes
        self.chunks = divide_into_chunks(codes.n_bytes, codes.n_codes)
        m = len(self.chunks)
        self._ends = np.zeros((m, (1 << int(self.chunks.n_key_bits.max())) + 1), np.uint32)
        self._positions = np.empty((m, self.n_codes), np.uint32)
        self._filters = np.empty((m, self.n_codes), np.uint64)
        keys = np.empty(self.n_codes, np.uint32)
        for chunk in range(m):
            n_key_bits = self.chunks.n_key_bits[chunk]
            bucket_keys(codes.array, self.chunks.low[chunk], n_key_bits, self.n_codes, keys)
            fill_buckets(
                codes.array,
                keys,
                self.chunks.first_byte[chunk],
                self.chunks.last_byte[chunk],
                self._ends[chunk, : (1 << int(n_key_bits)) + 1],
                self._positions[chunk],
                self._filters[chunk],
            )

    @property
    def nbytes(self) -> int:
        """Memory of the hash tables in bytes."""
        return self._ends.nbytes + self._positions.nbytes + self._filters.nbytes

    def find(self, codes: BytePlanes, queries: Codes, k: int, radius: int, budget: float) -> list[Found | None]:
        """Find at most k codes per query, the nearest, at distance at most `radius`.

        Parameters
        ----------
        codes : BytePlanes
            The codes of the hash tables, possibly followed by further codes, which are not searched.
        queries : ndarray of uint8, shape (n_queries, n_bytes)
        k, radius : int
        budget : float
            Largest cost of a query.

        Returns
        -------
        list of Found or None
            None for a query whose cost exceeds the budget.
        """
        chunks, m = self.chunks, len(self.chunks)
        keys = keys_of(np.ascontiguousarray(queries.T), chunks)
        filters = np.zeros((len(queries), m, FILTER_BYTES), np.uint8)
        for chunk, (first, last) in enumerate(zip(chunks.first_byte, chunks.last_byte, strict=True)):
            filters[:, chunk, : last - first] = queries[:, first:last]
        is_given_up, stops, distance, position = probe(
            codes.array,
            queries,
            np.ascontiguousarray(keys.T),
            filters.view("<u8").reshape(len(queries), m),
            self._ends,
            self._positions,
            self._filters,
            chunks.masks,
            chunks.n_key_bits,
            k,
            radius,
            int(budget),
        )
        found = split_by_query(distance, position, stops)
        return [None if gave_up else of_query for gave_up, of_query in zip(is_given_up, found, strict=True)]
