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

# Codes whose distances are computed at a time.
BLOCK = 4096
# Codes whose smallest distance is compared with the limit before the codes are examined one by one.
CHUNK = 64
# Bytes of a code whose distance fits into one byte, a multiple of the four planes of an inner loop.
MAX_PLANES = 28


def _on_bytes(build):
    """Return an operation on uint8 that is compiled to one LLVM instruction; numba would widen the bytes to 64 bits."""

    def unary(typingctx, a):
        def codegen(context, builder, signature, args):
            return build(builder, *args)

        return types.uint8(types.uint8), codegen

    def binary(typingctx, a, b):
        def codegen(context, builder, signature, args):
            return build(builder, *args)

        return types.uint8(types.uint8, types.uint8), codegen

    return intrinsic(unary if build.__code__.co_argcount == 2 else binary)


_ones = _on_bytes(lambda builder, a: builder.ctpop(a))
_add = _on_bytes(lambda builder, a, b: builder.add(a, b))
_xor = _on_bytes(lambda builder, a, b: builder.xor(a, b))


@njit(inline="always")
def _add_planes(planes, query, first, last, start, n, out):
    """Add to out[j] the number of differing bits in bytes first to last - 1 of code start + j."""
    b = first
    while b + 4 <= last:
        p0, p1 = planes[b, start : start + n], planes[b + 1, start : start + n]
        p2, p3 = planes[b + 2, start : start + n], planes[b + 3, start : start + n]
        q0, q1, q2, q3 = query[b], query[b + 1], query[b + 2], query[b + 3]
        for j in range(np.uint64(n)):
            low = _add(_ones(_xor(p0[j], q0)), _ones(_xor(p1[j], q1)))
            high = _add(_ones(_xor(p2[j], q2)), _ones(_xor(p3[j], q3)))
            out[j] = _add(out[j], _add(low, high))
        b += 4
    while b < last:
        p0, q0 = planes[b, start : start + n], query[b]
        for j in range(np.uint64(n)):
            out[j] = _add(out[j], _ones(_xor(p0[j], q0)))
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


@njit(inline="always")
def _drop_beaten(distance, position, size, limit, room):
    """Keep the codes at a distance below the limit and the first `room` codes at the limit; return their number."""
    kept = 0
    for i in range(size):
        if distance[i] == limit:
            room -= 1
        if distance[i] < limit or (distance[i] == limit and room >= 0):
            distance[kept], position[kept] = distance[i], position[i]
            kept += 1
    return kept


@njit(inline="always")
def _push(d, where, k, best, distance, position, counts):
    """Add a code at a distance below the limit to the list of a query.

    `best` is (size of the list, limit, number of codes below the limit). The limit is the smallest distance up to which
    k codes have been found; a later code at this distance or beyond cannot be among the k nearest.
    """
    size, limit, below = best
    if size == distance.size:
        size = _drop_beaten(distance, position, size, limit, k - below)
    distance[size], position[size] = d, where
    counts[d] += 1
    below += 1
    while below >= k:
        limit -= 1
        below -= counts[limit]
    return size + 1, limit, below


@njit(inline="always")
def _sort_by_distance(distance, position, size, counts, out_distance, out_position):
    """Sort a list by distance, then by position, and write as many codes as the outputs hold."""
    counts[:] = 0
    for i in range(size):
        counts[distance[i]] += 1
    place = 0
    for d in range(counts.size):
        counts[d], place = place, place + counts[d]
    for i in range(size):
        place = counts[distance[i]]
        counts[distance[i]] += 1
        if place < out_distance.size:
            out_distance[place], out_position[place] = distance[i], position[i]


@njit(nogil=True, cache=True)
def scan_nearest(planes, queries, start, stop, out_distance, out_position):
    """Find the k nearest of the codes start to stop - 1 for each query; k is the width of the outputs."""
    n_queries, k = out_distance.shape
    n_distances = 8 * planes.shape[0] + 1
    part, values = np.empty(BLOCK, np.uint8), np.empty(BLOCK, np.uint16)
    room = min(2 * k + CHUNK, stop - start)
    distance, position = np.empty((n_queries, room), np.int32), np.empty((n_queries, room), np.int64)
    counts = np.zeros((n_queries, n_distances), np.int64)
    size, below = np.zeros(n_queries, np.int64), np.zeros(n_queries, np.int64)
    limit = np.full(n_queries, n_distances)
    for block in range(start, stop, BLOCK):
        n = min(BLOCK, stop - block)
        for q in range(n_queries):
            _measure(planes, queries[q], block, n, part, values)
            for chunk in range(0, n, CHUNK):
                end = min(chunk + CHUNK, n)
                if _least(values, chunk, end) >= limit[q]:
                    continue
                best = (size[q], limit[q], below[q])
                for j in range(chunk, end):
                    if values[j] < best[1]:
                        best = _push(values[j], block + j, k, best, distance[q], position[q], counts[q])
                size[q], limit[q], below[q] = best
    for q in range(n_queries):
        _sort_by_distance(distance[q], position[q], size[q], counts[q], out_distance[q], out_position[q])


@njit
def doubled(values):
    """Return a copy of twice the size."""
    larger = np.empty(2 * values.size, values.dtype)
    larger[: values.size] = values
    return larger


@njit(nogil=True, cache=True)
def scan_within(planes, queries, radius, start, stop):
    """Find, for each query, those of the codes start to stop - 1 at distance at most `radius`.

    Returns the end of the results of each query, and the distances and positions of all results, per query in order of
    increasing distance. The number of queries times the number of distances must fit into 32 bits.
    """
    n_queries, n_distances = len(queries), 8 * planes.shape[0] + 1
    part, values = np.empty(BLOCK, np.uint8), np.empty(BLOCK, np.uint16)
    key, position = np.empty(2 * CHUNK, np.int32), np.empty(2 * CHUNK, np.int64)
    size = 0
    for block in range(start, stop, BLOCK):
        n = min(BLOCK, stop - block)
        for q in range(n_queries):
            _measure(planes, queries[q], block, n, part, values)
            for chunk in range(0, n, CHUNK):
                end = min(chunk + CHUNK, n)
                if _least(values, chunk, end) > radius:
                    continue
                if size + CHUNK > key.size:
                    key, position = doubled(key), doubled(position)
                # Every code is written and only kept if it is near: a branch would often be mispredicted.
                for j in range(np.uint64(chunk), np.uint64(end)):
                    key[size], position[size] = q * n_distances + values[j], block + np.int64(j)
                    size += values[j] <= radius
    counts = np.zeros(n_queries * n_distances, np.int64)
    out_key, out_position = np.empty(size, np.int32), np.empty(size, np.int64)
    _sort_by_distance(key, position, size, counts, out_key, out_position)
    # After sorting, counts holds the end of each distance.
    ends = counts[n_distances - 1 :: n_distances].copy()
    for i in range(size):
        out_key[i] %= n_distances
    return ends, out_key, out_position
