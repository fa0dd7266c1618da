"""Numba kernels of an exhaustive scan: distances from queries to all codes, and the nearest codes.

`planes` is a uint8 array of shape (n_bytes, n): byte b of all codes is contiguous, so that one instruction counts the
differing bits of 32 codes. Distances are computed for `BLOCK` codes at a time, whose bytes stay in the processor's
cache while all queries of a group are compared with them.

The kernels release Python's lock and share no memory that they write to, so the caller may run them in parallel
threads. All lists are in order of increasing position, so that ties are broken by position for any number of threads.
"""

import numpy as np
from numba import types
from numba.extending import intrinsic

from proxcode.utils.jit import kernel, subroutine

# Codes whose distances are computed at a time.
BLOCK = 4096
# Codes whose smallest distance is compared with the limit before the codes are examined one by one.
CHUNK = 64
# Bytes of a code whose distance fits into one byte, a multiple of the four planes of an inner loop.
MAX_PLANES = 28
# Keys are in the upper, positions in the lower half of a result.
HALF, LOWER = np.uint64(32), np.uint64(0xFFFFFFFF)


@intrinsic
def _add_differing(typingctx, total, a, b):
    """Add the number of differing bits of two bytes to a byte; numba alone would widen the bytes to 64 bits."""

    def codegen(context, builder, signature, args):
        return builder.add(args[0], builder.ctpop(builder.xor(args[1], args[2])))

    return types.uint8(types.uint8, types.uint8, types.uint8), codegen


@subroutine
def _add_planes(planes, query, first, last, start, n, out):
    """Add to out[j] the number of differing bits in bytes first to last - 1 of code start + j."""
    begin, b = np.uint64(start), first
    while b + 4 <= last:
        q0, q1, q2, q3 = query[b], query[b + 1], query[b + 2], query[b + 3]
        for j in range(np.uint64(n)):
            code = begin + j
            total = _add_differing(_add_differing(out[j], planes[b, code], q0), planes[b + 1, code], q1)
            out[j] = _add_differing(_add_differing(total, planes[b + 2, code], q2), planes[b + 3, code], q3)
        b += 4
    while b < last:
        q0 = query[b]
        for j in range(np.uint64(n)):
            out[j] = _add_differing(out[j], planes[b, begin + j], q0)
        b += 1


@subroutine
def _measure(planes, query, start, n, part, out):
    """Set out[j] to the distance from the query to code start + j, for j < n."""
    n_bytes = planes.shape[0]
    for first in range(0, n_bytes, MAX_PLANES):
        for j in range(np.uint64(n)):
            part[j] = 0
        _add_planes(planes, query, first, min(first + MAX_PLANES, n_bytes), start, n, part)
        for j in range(np.uint64(n)):
            out[j] = part[j] if first == 0 else out[j] + part[j]


@subroutine
def _least(values, start, stop):
    """Return the minimum of values[start:stop]."""
    least = np.uint16(65535)
    for j in range(np.uint64(start), np.uint64(stop)):
        least = min(least, values[j])
    return least


@subroutine
def doubled(values):
    """Return a copy of an array of uint64 with twice the size."""
    larger = np.empty(2 * values.size, np.uint64)
    for i in range(values.size):
        larger[i] = values[i]
    return larger


@subroutine
def _append_near(values, n, k, limit, n_found, counts, first_key, first_position, found, size):
    """Append the codes of a block at distance at most `limit`, which falls as codes are found, to the list.

    The limit is the largest distance of a code that may be among the k nearest, `n_found` the number of codes found up
    to it. Returns the new size of the list, the new limit and the new number of codes.
    """
    for chunk in range(0, n, CHUNK):
        end = min(chunk + CHUNK, n)
        if _least(values, chunk, end) > limit:
            continue
        before = size
        # Every code is written and only kept if it is near: a branch would often be mispredicted.
        for j in range(np.uint64(chunk), np.uint64(end)):
            found[size] = ((first_key + np.uint64(values[j])) << HALF) | (first_position + j)
            size += values[j] <= limit
        for i in range(before, size):
            counts[np.int64((found[i] >> HALF) - first_key)] += 1
        n_found += size - before
        while n_found >= k:
            n_found -= counts[limit]
            limit -= 1
    return size, limit, n_found


@kernel
def scan(planes, queries, k, start, stop, limit, n_found, counts, part, values, found):
    """Find, for each query, those of the codes start to stop - 1 at distance at most limit[q], at least the k nearest.

    Parameters
    ----------
    planes : ndarray of uint8, shape (n_bytes, n)
    queries : ndarray of uint8, shape (n_queries, n_bytes)
    k, start, stop : int
    limit : ndarray of int64, shape (n_queries,)
        The radius; overwritten.
    n_found : ndarray of int64, shape (n_queries,)
        Zeros.
    counts : ndarray of int64, shape (n_queries, n_distances)
        Zeros.
    part, values : ndarrays of uint8 and uint16, shape (BLOCK,)
        Memory for the distances of a block.
    found : ndarray of uint64
        Memory for at least BLOCK results.

    Returns
    -------
    found : ndarray of uint64
        Results: (q * n_distances + distance) << 32 | position, for each q in order of position.
    """
    n_distances, size = counts.shape[1], np.int64(0)
    for block in range(start, stop, BLOCK):
        n = min(BLOCK, stop - block)
        for q in range(len(queries)):
            _measure(planes, queries[q], block, n, part, values)
            if size + BLOCK > found.size:
                found = doubled(found)
            first_key, first_position = np.uint64(q * n_distances), np.uint64(block)
            size, limit[q], n_found[q] = _append_near(
                values, n, k, limit[q], n_found[q], counts[q], first_key, first_position, found, size
            )
    # A new array: an interrupt would become a SystemError if an argument were returned.
    return found[:size].copy()


@kernel
def sort_found(found, n_distances, ends, distance, position):
    """Sort the results of `scan` by query and distance, equal ones as they were found.

    Sets `distance` and `position`, and ends[key] to the end of the results of that key. The array `ends` has one entry
    more than there are keys and holds zeros.
    """
    for i in range(found.size):
        ends[np.int64(found[i] >> HALF) + 1] += 1
    for key in range(1, ends.size):
        ends[key] += ends[key - 1]
    for i in range(found.size):
        key = np.int64(found[i] >> HALF)
        place = ends[key]
        ends[key] += 1
        distance[place] = key % n_distances
        position[place] = found[i] & LOWER
