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
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.hamming import Codes
from proxcode.search._scan_kernels import CHUNK
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


class Chunk(NamedTuple):
    """The bits of a code that are its key in one hash table, and the bytes that are its filter there."""

    first_bit: int
    n_bits: int
    filter: slice

    def keys(self, planes: Codes, n: int) -> NDArray[np.uint32]:
        """Return the keys of the first n codes of an array of byte planes."""
        return bucket_keys(planes, self.first_bit, self.n_bits, n)


def divide_into_chunks(n_bytes: int, n_codes: int) -> list[Chunk]:
    """Divide codes into chunks of about log2(n_codes) bits and almost equal lengths."""
    n_bits = 8 * n_bytes
    key_bits = min(MAX_KEY_BITS, max(MIN_KEY_BITS, round(math.log2(max(2, n_codes)))))
    n_chunks = max(-(-n_bits // min(MAX_KEY_BITS, key_bits + 2)), round(n_bits / key_bits))
    chunks = []
    for start, stop in pairwise(np.linspace(0, n_bits, n_chunks + 1).round().astype(int).tolist()):
        # The key is known in a bucket, so the bytes after it say most about the rest of the code.
        after = -(-stop // 8)
        first_byte = after if after + FILTER_BYTES <= n_bytes else 0
        chunks.append(Chunk(start, stop - start, slice(first_byte, min(first_byte + FILTER_BYTES, n_bytes))))
    return chunks


def chunk_masks(chunks: list[Chunk], n_bytes: int) -> NDArray[np.uint64]:
    """Return the bits of each chunk in the 64-bit words of a code, shape (n_chunks, n_words)."""
    bits = np.zeros((len(chunks), 64 * -(-n_bytes // 8)), np.uint8)
    for row, chunk in zip(bits, chunks, strict=True):
        row[chunk.first_bit : chunk.first_bit + chunk.n_bits] = 1
    return np.packbits(bits, axis=1, bitorder="little").view("<u8")


def scan_cost(n_bytes: int, n_codes: int) -> float:
    """Return the cost of comparing one query with all codes."""
    return PLANE_COST * n_bytes * n_codes


def build_cost(n_bytes: int, n_codes: int) -> float:
    """Return the cost of building the hash tables."""
    return FILL_COST * n_codes * len(divide_into_chunks(n_bytes, n_codes))


def expected_costs(codes: BytePlanes, queries: Codes, reach: NDArray[np.int64]) -> NDArray[np.float64]:
    """Estimate the cost of each query with hash tables, from a sample of the codes.

    `reach` is the distance up to which each query is searched: the radius, or the distance of the k-th neighbour.
    """
    chunks = divide_into_chunks(codes.n_bytes, codes.n_codes)
    rows = np.linspace(0, codes.n_codes - 1, N_SAMPLED).astype(np.int64)
    sampled, query_planes = np.ascontiguousarray(codes.array[:, rows]), np.ascontiguousarray(queries.T)
    fetch_cost = FETCH_COST * codes.n_bytes if codes.n_bytes > FILTER_BYTES else 0
    costs = np.zeros(len(queries))
    for number, chunk in enumerate(chunks):
        # Largest distance of a key from the query's key whose bucket is examined, -1 if no bucket is.
        furthest = (reach - number) // len(chunks)
        n_buckets = np.cumsum([math.comb(chunk.n_bits, distance) for distance in range(chunk.n_bits + 1)])
        n_probes = np.where(furthest < 0, 0, n_buckets[np.clip(furthest, 0, chunk.n_bits)])
        differing = chunk.keys(query_planes, len(queries))[:, None] ^ chunk.keys(sampled, N_SAMPLED)
        is_examined = np.bitwise_count(differing) <= furthest[:, None]
        costs += PROBE_COST * n_probes + codes.n_codes * is_examined.mean(axis=1)
        if fetch_cost:
            differing = queries[:, chunk.filter, None] ^ sampled[chunk.filter]
            passes = np.bitwise_count(differing).sum(axis=1) <= reach[:, None]
            costs += fetch_cost * codes.n_codes * (is_examined & passes).mean(axis=1)
    return costs


class MultiIndex:
    """Hash tables of codes, one per chunk."""

    def __init__(self, codes: BytePlanes) -> None:
        self.n_codes = codes.n_codes
        self.chunks = divide_into_chunks(codes.n_bytes, self.n_codes)
        m, longest = len(self.chunks), max(chunk.n_bits for chunk in self.chunks)
        self._masks = chunk_masks(self.chunks, codes.n_bytes)
        self._key_bits = np.array([chunk.n_bits for chunk in self.chunks])
        self._ends = np.zeros((m, (1 << longest) + 2), np.uint32)
        self._positions = np.empty((m, self.n_codes), np.uint32)
        self._filters = np.empty((m, self.n_codes), np.uint64)
        for chunk, *table in zip(self.chunks, self._ends, self._positions, self._filters, strict=True):
            fill_buckets(codes.array[chunk.filter], chunk.keys(codes.array, self.n_codes), *table)

    @property
    def nbytes(self) -> int:
        """Memory of the hash tables in bytes."""
        return self._ends.nbytes + self._positions.nbytes + self._filters.nbytes

    def find(self, codes: BytePlanes, queries: Codes, k: int, radius: int, budget: float) -> list[Found | None]:
        """Find at most k codes per query, the nearest, at distance at most `radius`.

        Returns None for a query whose cost exceeds the budget. `codes` are the codes of the hash tables, possibly
        followed by further codes, which are not searched.
        """
        planes = np.ascontiguousarray(queries.T)
        keys = np.ascontiguousarray(np.transpose([chunk.keys(planes, len(queries)) for chunk in self.chunks]))
        filters = np.zeros((len(queries), len(self.chunks), FILTER_BYTES), np.uint8)
        for number, chunk in enumerate(self.chunks):
            filters[:, number, : min(FILTER_BYTES, codes.n_bytes)] = queries[:, chunk.filter]
        words = filters.view("<u8")[:, :, 0]
        tables = (self._ends, self._positions, self._filters, self._masks, self._key_bits)
        key_sizes = self.n_codes.bit_length(), max(1, radius).bit_length()
        of_one = (
            np.empty(self._masks.shape[1], np.uint64),
            np.empty(CHUNK, np.uint64),
            np.empty(8 * codes.n_bytes + 1, np.int64),
            np.empty(len(self.chunks), np.int64),
            np.empty(2 * CHUNK, np.uint64),
        )
        budget, costs, stops = int(budget), *np.zeros((2, len(queries)), np.int64)
        results = probe(codes.array, queries, keys, words, tables, k, radius, budget, key_sizes, of_one, costs, stops)
        results = results[: stops[-1]]
        distance = (results >> np.uint64(key_sizes[0])).astype(np.int32)
        position = (results & np.uint64((1 << key_sizes[0]) - 1)).astype(np.int64)
        of_queries = split_by_query(k, stops, distance, position)
        return [None if cost > budget else of_query for cost, of_query in zip(costs, of_queries, strict=True)]
