"""Numba kernels of a scan with float queries: the codes with the smallest sums of table entries.

Two kernels compute a lower bound of the distance to all codes in small integers, whose unit is `step`, and the
distance itself of the few codes whose bound is below the limit, the distance of the k-th code found so far.

`scan_lanes` compares `LANES` queries at a time. Their tables hold 16-bit integers and are transposed, so that the
entries of all queries for one value of a byte are contiguous: a byte of a code costs one vector load and one addition.

`scan_one` compares one query. If its tables are sums over bits, it adds up 8-bit weights of bits, for many codes at a
time; otherwise, the bound is the distance itself.

Distances are summed in single precision, in the order of the bytes, so the results of both are equal. The codes found
are 64-bit keys whose order is that of distances, then of positions. The kernels release Python's lock and share no
memory that they write to, so the caller may run them in parallel threads.
"""

import numpy as np

from proxcode.search._lane_kernels import (
    LANES,
    add,
    add_if,
    bits_of,
    fill,
    from_bits,
    lanes_below,
    load,
    lowest_one,
    smaller,
    store,
)
from proxcode.utils.jit import kernel, subroutine

# Codes whose bounds for all lanes are computed at a time: 16 KiB.
LANE_BLOCK = 256
# Bytes of a code whose tables are used at a time: 128 KiB, which fit into the second-level cache.
LANE_PLANES = 8
# Codes whose lower bounds are computed at a time.
BIT_BLOCK = 4096
# Bytes of a code whose rounded weights have a sum of at most 255.
BIT_PLANES = 4
# Codes whose smallest bound is compared with the limit before the codes are examined one by one.
LANE_CHUNK = 16
BIT_CHUNK = 32

_SIGN = np.uint32(1 << 31)
_ALL = np.uint32(0xFFFFFFFF)


@subroutine
def _key(distance, position):
    """Return a key whose order is that of distances, then of positions. The distance must not be -0."""
    bits = bits_of(distance)
    ordered = bits ^ (_ALL if bits & _SIGN else _SIGN)
    return (np.uint64(ordered) << np.uint64(32)) | np.uint64(position)


@subroutine
def _distance(key):
    """Return the distance of a key."""
    ordered = np.uint32(key >> np.uint64(32))
    return from_bits(ordered ^ (_SIGN if ordered & _SIGN else _ALL))


@subroutine
def _sift_down(heap, n, place):
    """Move one key of a heap of n keys, whose largest key is the first, to its place."""
    key = heap[place]
    while 2 * place + 1 < n:
        child = 2 * place + 1
        child += child + 1 < n and heap[child + 1] > heap[child]
        if heap[child] <= key:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = key


@subroutine
def _keep(found, size, k, limit, distance, position):
    """Keep a code nearer than the limit in a list with room for it; return the size of the list and the new limit.

    The list becomes a heap when it has k keys: from then on the limit is the distance of the first key.
    """
    if size < k:
        found[size] = _key(distance, position)
        size += 1
        if size < k:
            return size, limit
        for place in range(k // 2 - 1, -1, -1):
            _sift_down(found, k, place)
    else:
        found[0] = _key(distance, position)
        _sift_down(found, k, 0)
    return size, min(limit, _distance(found[0]))


@subroutine
def _widened(found):
    """Return a copy of lists, one in each row, with twice the room."""
    wider = np.empty((found.shape[0], 2 * found.shape[1]), np.uint64)
    for q in range(found.shape[0]):
        for i in range(found.shape[1]):
            wider[q, i] = found[q, i]
    return wider


@kernel
def sort_lists(found, sizes, stops, distance, position):
    """Sort the keys of each row of `found`; set `distance` and `position`, those of query q end before stops[q]."""
    for q in range(sizes.size):
        keys, n, start = found[q], sizes[q], stops[q] - sizes[q]
        for place in range(n // 2 - 1, -1, -1):
            _sift_down(keys, n, place)
        for last in range(n - 1, -1, -1):
            distance[start + last] = _distance(keys[0])
            position[start + last] = keys[0] & np.uint64(0xFFFFFFFF)
            keys[0] = keys[last]
            _sift_down(keys, last, 0)


@subroutine
def _exact(planes, offsets, table, position):
    """Return the distance from a query to one code, its table of shape (n_bytes, 256)."""
    total = offsets[position] if offsets.size else np.float32(0)
    for b in range(planes.shape[0]):
        total += table[b, planes[b, position]]
    return total


@subroutine
def _measure(planes, entries, start, n, units, totals):
    """Set entries j * LANES and following of `totals` to units[j] plus those of code start + j, for j < n."""
    n_bytes, first_code = planes.shape[0], np.uint64(start)
    for first in range(0, n_bytes, LANE_PLANES):
        last = np.uint64(min(first + LANE_PLANES, n_bytes))
        for j in range(np.uint64(n)):
            total = load(totals, j) if first else fill(units[j])
            for b in range(np.uint64(first), last):
                total = add(total, load(entries, b * np.uint64(256) + np.uint64(planes[b, first_code + j])))
            store(totals, j, total)


@subroutine
def _in_units(limit, lowest, step):
    """Return the number of units from which a bound is at least the limit."""
    return np.uint16(min(max(np.ceil((limit - lowest) / step), 0.0), 65535.0))


@kernel
def scan_lanes(planes, offsets, tables, entries, smallest_offset, step, lowest, k, start, stop, limits, memory):
    """Find at most k of the codes start to stop - 1 for each query, the nearest, at distances below limits[q].

    Parameters
    ----------
    planes : ndarray of uint8, shape (n_bytes, n)
    offsets : ndarray of float32, shape (n,), or (0,) if all are 0
    tables : ndarray of float32, shape (n_queries, n_bytes, 256)
    entries : ndarray of uint16, shape (n_bytes, 256, LANES)
        The tables in units of `step`, rounded down. The first `n_queries` lanes are used.
    smallest_offset : float32
        Smallest offset, that of a code whose offset is 0 units.
    step : float
    lowest : ndarray of float64, shape (n_queries,)
        The bound of the distance from query q is lowest[q], plus `step` times the units of a code, rounding errors
        included.
    k, start, stop : int
    limits : ndarray of float32, shape (n_queries,)
        Overwritten.
    memory : tuple of ndarrays
        Zeros of uint16, shape (LANE_BLOCK,) and (LANE_BLOCK * LANES,), (LANES,); zeros of int64, shape (n_queries,),
        which become the numbers of results; lists of keys, uint64, shape (n_queries, any).

    Returns
    -------
    found : ndarray of uint64, shape (n_queries, at least k or the largest number of results)
        Keys of the results of each query, unsorted; see `sort_lists`.
    """
    n_queries, inverse = len(tables), np.float32(1 / step)
    units_of_offset, totals, units, sizes, found = memory
    # Lanes that are not used are below no limit.
    for q in range(n_queries):
        units[q] = _in_units(limits[q], lowest[q], step)
    for block in range(start, stop, LANE_BLOCK):
        n = min(LANE_BLOCK, stop - block)
        if offsets.size:
            for j in range(np.uint64(n)):
                units_of_offset[j] = np.uint16((offsets[np.uint64(block) + j] - smallest_offset) * inverse)
        _measure(planes, entries, block, n, units_of_offset, totals)
        for chunk in range(0, n, LANE_CHUNK):
            end = min(chunk + LANE_CHUNK, n)
            smallest = load(totals, np.uint64(chunk))
            for j in range(np.uint64(chunk), np.uint64(end)):
                smallest = smaller(smallest, load(totals, j))
            lanes = lanes_below(smallest, load(units, np.uint64(0)))
            while lanes:
                q = lowest_one(lanes)
                lanes &= lanes - np.uint32(1)
                for j in range(chunk, end):
                    if totals[j * LANES + q] < units[q]:
                        value = _exact(planes, offsets, tables[q], block + j)
                        if value < limits[q]:
                            if sizes[q] == found.shape[1] < k:
                                found = _widened(found)
                            sizes[q], limits[q] = _keep(found[q], sizes[q], k, limits[q], value, block + j)
                            units[q] = _in_units(limits[q], lowest[q], step)
    # A new array: an interrupt would become a SystemError if an argument were returned.
    return found.copy()


@subroutine
def _add_weights(planes, best, weights, first, last, start, n, part):
    """Set part[j] to the sum of weights of the bits in which bytes first to last - 1 of code start + j differ."""
    begin = np.uint64(start)
    for j in range(np.uint64(n)):
        part[j] = 0
    for b in range(first, last):
        query, w = best[b], weights[b]
        w0, w1, w2, w3, w4, w5, w6, w7 = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
        for j in range(np.uint64(n)):
            x = np.uint8(planes[b, begin + j] ^ query)
            total = add_if(part[j], x, np.uint8(128), w0)
            total = add_if(total, x, np.uint8(64), w1)
            total = add_if(total, x, np.uint8(32), w2)
            total = add_if(total, x, np.uint8(16), w3)
            total = add_if(total, x, np.uint8(8), w4)
            total = add_if(total, x, np.uint8(4), w5)
            total = add_if(total, x, np.uint8(2), w6)
            part[j] = add_if(total, x, np.uint8(1), w7)


@subroutine
def _bound(planes, offsets, best, weights, step, lowest, start, n, part, bounds):
    """Set bounds[j] to a lower bound of the distance to code start + j, for j < n."""
    n_bytes = planes.shape[0]
    for j in range(np.uint64(n)):
        bounds[j] = lowest
    if offsets.size:
        for j in range(np.uint64(n)):
            bounds[j] += offsets[np.uint64(start) + j]
    for first in range(0, n_bytes, BIT_PLANES):
        _add_weights(planes, best, weights, first, min(first + BIT_PLANES, n_bytes), start, n, part)
        for j in range(np.uint64(n)):
            bounds[j] += step * np.float32(part[j])


@subroutine
def _sum_entries(planes, offsets, table, start, n, totals):
    """Set totals[j] to the distance to code start + j, for j < n."""
    begin = np.uint64(start)
    for j in range(np.uint64(n)):
        totals[j] = offsets[begin + j] if offsets.size else np.float32(0)
    for b in range(planes.shape[0]):
        entries = table[b]
        for j in range(np.uint64(n)):
            totals[j] += entries[planes[b, begin + j]]


@kernel
def scan_one(planes, offsets, table, best, weights, step, lowest, k, limit, start, stop, memory):
    """Find at most k of the codes start to stop - 1, the nearest of one query, at distances below `limit`.

    Parameters
    ----------
    planes, offsets, k, limit, start, stop
        As in `scan_lanes`.
    table : ndarray of float32, shape (n_bytes, 256)
    best : ndarray of uint8, shape (n_bytes,)
        The code with the smallest bound.
    weights : ndarray of uint8, shape (n_bytes, 8), or (0, 8)
        Units of `step` by which the bound rises if a code differs from `best` in a bit. If there are none, the bound is
        the distance.
    step, lowest : float32
        The bound of a code without its offset is `lowest`, plus `step` times its weights, rounding errors included.

    memory : tuple of ndarrays
        uint8 and float32, shape (BIT_BLOCK,); zeros of int64, shape (1,), which become the number of results; a list of
        keys, uint64, shape (1, any).

    Returns
    -------
    found : ndarray of uint64, shape (1, at least k or the number of results)
        As in `scan_lanes`.
    """
    part, bounds, sizes, found = memory
    for block in range(start, stop, BIT_BLOCK):
        n = min(BIT_BLOCK, stop - block)
        if len(weights):
            _bound(planes, offsets, best, weights, step, lowest, block, n, part, bounds)
        else:
            _sum_entries(planes, offsets, table, block, n, bounds)
        for chunk in range(0, n, BIT_CHUNK):
            end = min(chunk + BIT_CHUNK, n)
            least = bounds[chunk]
            for j in range(np.uint64(chunk), np.uint64(end)):
                least = min(least, bounds[j])
            if least >= limit:
                continue
            for j in range(chunk, end):
                if bounds[j] < limit:
                    value = _exact(planes, offsets, table, block + j)
                    if value < limit:
                        if sizes[0] == found.shape[1] < k:
                            found = _widened(found)
                        sizes[0], limit = _keep(found[0], sizes[0], k, limit, value, block + j)
    # A new array: an interrupt would become a SystemError if an argument were returned.
    return found.copy()
