"""Numba kernels of a flat scan: distances from queries to many codes, and the best of them.

`planes` is an array of uint8 of shape (n_bytes, n): byte b of all codes lies together, so that one instruction counts
the differing bits of 32 codes. Distances are computed for `BLOCK` codes at a time, whose bytes stay in the processor's
cache while all queries of a group are compared with them.

The kernels hold no lock and share nothing that they write: the caller runs them in threads, one task each. All lists
are in rising order of position, so that of equal distances the earlier code wins, whatever the number of threads.
"""

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

BLOCK = 4096
CHUNK = 64  # codes whose least distance is looked at before each of them is
MAX_PLANES = 28  # whose distances fit a byte, in fours


def _on_bytes(build):
    """Make an operation on uint8 of one of LLVM's; numba's own would widen the bytes to eight."""

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
    """out[j] += differing bits of bytes first to last - 1 of code start + j."""
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
    """out[j] = distance from the query to code start + j, for j < n."""
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
    least = np.uint16(65535)
    for j in range(np.uint64(start), np.uint64(stop)):
        least = min(least, values[j])
    return least


@njit(inline="always")
def _drop_beaten(distance, position, size, limit, room):
    """Keep what lies below the limit, and the first `room` at it; returns how many."""
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
    """Add a code nearer than `limit` to the list of a query.

    best = (size of the list, limit, codes below the limit): the limit is the least distance up to which there are k.
    A later code at that distance or beyond is beaten.
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
    """Write the first codes of a list in order of distance, then of position, as many as the outputs hold."""
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
    """Find the k nearest of the codes start to stop - 1, k <= stop - start, for each query."""
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
    """Return a copy with room for as many values more."""
    larger = np.empty(2 * values.size, values.dtype)
    larger[: values.size] = values
    return larger


@njit(nogil=True, cache=True)
def scan_within(planes, queries, radius, start, stop):
    """Find the codes start to stop - 1 at most `radius` away from each query.

    Returns where each query's results end, then all distances and positions, nearest first. Queries are few: their
    number times that of distances fits 32 bits.
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
                for j in range(np.uint64(chunk), np.uint64(end)):  # without a branch that would be mispredicted
                    key[size], position[size] = q * n_distances + values[j], block + np.int64(j)
                    size += values[j] <= radius
    counts = np.zeros(n_queries * n_distances, np.int64)
    out_key, out_position = np.empty(size, np.int32), np.empty(size, np.int64)
    _sort_by_distance(key, position, size, counts, out_key, out_position)
    ends = counts[n_distances - 1 :: n_distances].copy()  # sorting leaves the end of each distance there
    for i in range(size):
        out_key[i] %= n_distances
    return ends, out_key, out_position
