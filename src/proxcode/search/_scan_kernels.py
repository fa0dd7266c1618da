"""Numba kernels of an exhaustive scan: distances from queries to all codes, and the nearest codes.

`planes` is a uint8 array of shape (n_bytes, n): byte b of all codes is contiguous, so that one instruction counts the
differing bits of 32 codes. Distances are computed for `BLOCK` codes at a time, whose bytes stay in the processor's
cache while all queries of a group are compared with them.

The kernels release Python's lock and share no memory that they write to, so the caller may run them in parallel
threads. All lists are in order of increasing position, so that ties are broken by position for any number of threads.
"""

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from proxcode.utils.jit import kernel

# Codes whose distances are computed at a time.
BLOCK = 4096
# Codes whose smallest distance is compared with the limit before the codes are examined one by one.
CHUNK = 64
# Bytes of a code whose distance fits into one byte, a multiple of the four planes of an inner loop.
MAX_PLANES = 28


@intrinsic
def _add_differing(typingctx, total, a, b):
    """Add the number of differing bits of two bytes to a byte; numba alone would widen the bytes to 64 bits."""

    def codegen(context, builder, signature, args):
        return builder.add(args[0], builder.ctpop(builder.xor(args[1], args[2])))

    return types.uint8(types.uint8, types.uint8, types.uint8), codegen


@njit(inline="always")
def _add_planes(planes, query, first, last, start, n, out):
    """Add to out[j] the number of differing bits in bytes first to last - 1 of code start + j."""
    b = first
    while b + 4 <= last:
        p0, p1 = planes[b, start : start + n], planes[b + 1, start : start + n]
        p2, p3 = planes[b + 2, start : start + n], planes[b + 3, start : start + n]
        q0, q1, q2, q3 = query[b], query[b + 1], query[b + 2], query[b + 3]
        for j in range(np.uint64(n)):
            total = _add_differing(_add_differing(out[j], p0[j], q0), p1[j], q1)
            out[j] = _add_differing(_add_differing(total, p2[j], q2), p3[j], q3)
        b += 4
    while b < last:
        p0, q0 = planes[b, start : start + n], query[b]
        for j in range(np.uint64(n)):
            out[j] = _add_differing(out[j], p0[j], q0)
        b += 1


@njit(inline="always")
def _measure(planes, query, start, n, part, out):
    """Set out[j] to the distance from the query to code start + j, for j < n."""
    n_bytes = planes.shape[0]
    for first in range(0, n_bytes, MAX_PLANES):
        part[:n] = 0
        _add_planes(planes, query, first, min(first + MAX_PLANES, n_bytes), start, n, part)
        if first == 0:
            for j in range(np.uint64(n)):
                out[j] = part[j]
        else:
            for j in range(np.uint64(n)):
                out[j] += part[j]


@njit(inline="always")
def _least(values, start, stop):
    """Return the minimum of values[start:stop]."""
    least = np.uint16(65535)
    for j in range(np.uint64(start), np.uint64(stop)):
        least = min(least, values[j])
    return least


@njit
def doubled(values):
    """Return a copy of twice the size."""
    larger = np.empty(2 * values.size, values.dtype)
    larger[: values.size] = values
    return larger


@njit
def _sort_by_key(key, position, n_keys):
    """Sort lists by key, then by place in the list; return the end of each key and the sorted lists."""
    ends = np.zeros(n_keys + 1, np.int64)
    for one in key:
        ends[one + 1] += 1
    ends[:] = np.cumsum(ends)
    sorted_key, sorted_position = np.empty_like(key), np.empty_like(position)
    for i in range(key.size):
        place = ends[key[i]]
        ends[key[i]] += 1
        sorted_key[place], sorted_position[place] = key[i], position[i]
    return ends[:-1], sorted_key, sorted_position


@njit
def _append_near(values, n, k, limit, n_found, counts, first_key, first_position, key, position, size):
    """Append the codes of a block at distance at most `limit`, which falls as codes are found, to the lists.

    The limit is the largest distance of a code that may be among the k nearest, `n_found` the number of codes found up
    to it. Returns the new size of the lists, the new limit and the new number of codes.
    """
    for chunk in range(0, n, CHUNK):
        end = min(chunk + CHUNK, n)
        if _least(values, chunk, end) > limit:
            continue
        before = size
        # Every code is written and only kept if it is near: a branch would often be mispredicted.
        for j in range(np.uint64(chunk), np.uint64(end)):
            key[size], position[size] = first_key + values[j], first_position + np.int64(j)
            size += values[j] <= limit
        for i in range(before, size):
            counts[key[i] - first_key] += 1
        n_found += size - before
        while n_found >= k:
            n_found -= counts[limit]
            limit -= 1
    return size, limit, n_found


@kernel
def scan(planes, queries, k, radius, start, stop):
    """Find, for each query, those of the codes start to stop - 1 at distance at most `radius`, at least the k nearest.

    Returns the end of the results of each query, and the distances and positions of all results, per query in order of
    increasing distance. The number of queries times the number of distances must fit into 32 bits.
    """
    n_queries, n_distances = len(queries), 8 * planes.shape[0] + 1
    part, values = np.empty(BLOCK, np.uint8), np.empty(BLOCK, np.uint16)
    key, position, size = np.empty(2 * BLOCK, np.int32), np.empty(2 * BLOCK, np.int64), 0
    limit, n_found = np.full(n_queries, radius), np.zeros(n_queries, np.int64)
    counts = np.zeros((n_queries, n_distances), np.int64)
    for block in range(start, stop, BLOCK):
        n = min(BLOCK, stop - block)
        for q in range(n_queries):
            _measure(planes, queries[q], block, n, part, values)
            if size + BLOCK > key.size:
                key, position = doubled(key), doubled(position)
            size, limit[q], n_found[q] = _append_near(
                values, n, k, limit[q], n_found[q], counts[q], q * n_distances, block, key, position, size
            )
    ends, key, position = _sort_by_key(key[:size], position[:size], n_queries * n_distances)
    return ends[n_distances - 1 :: n_distances].copy(), key % np.int32(n_distances), position
