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
from numba import njit

from proxcode.search._lanes import (
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
from proxcode.search._scan_kernels import doubled
from proxcode.utils.jit import kernel

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


@njit(inline="always")
def _key(distance, position):
    """Return a key whose order is that of distances, then of positions. The distance must not be -0."""
    bits = bits_of(distance)
    ordered = bits ^ (_ALL if bits & _SIGN else _SIGN)
    return (np.uint64(ordered) << np.uint64(32)) | np.uint64(position)


@njit(inline="always")
def _distance(key):
    """Return the distance of a key."""
    ordered = np.uint32(key >> np.uint64(32))
    return from_bits(ordered ^ (_SIGN if ordered & _SIGN else _ALL))


@njit
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


@njit
def _keep(found, size, k, limit, distance, position):
    """Keep a code nearer than the limit; return its list, the size of the list and the new limit.

    The list becomes a heap when it has k keys: from then on the limit is the distance of the first key.
    """
    if size < k:
        if size == found.size:
            found = doubled(found)
        found[size] = _key(distance, position)
        size += 1
        if size < k:
            return found, size, limit
        for place in range(k // 2 - 1, -1, -1):
            _sift_down(found, k, place)
    else:
        found[0] = _key(distance, position)
        _sift_down(found, k, 0)
    return found, size, min(limit, _distance(found[0]))


@njit
def _results(found, sizes):
    """Return the end of the results of each query, and the distances and positions of all results, sorted."""
    stops = np.cumsum(sizes)
    distance, position = np.empty(stops[-1], np.float32), np.empty(stops[-1], np.int64)
    for q in range(len(found)):
        keys = np.sort(found[q][: sizes[q]])
        start = stops[q] - sizes[q]
        for i in range(sizes[q]):
            distance[start + i] = _distance(keys[i])
            position[start + i] = np.int64(keys[i] & np.uint64(0xFFFFFFFF))
    return stops, distance, position


@njit(inline="always")
def _exact(planes, offsets, table, position):
    """Return the distance from a query to one code, its table of shape (n_bytes, 256)."""
    total = offsets[position] if offsets.size else np.float32(0)
    for b in range(planes.shape[0]):
        total += table[b, planes[b, position]]
    return total


@njit(inline="always")
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


@njit(inline="always")
def _in_units(limit, lowest, step):
    """Return the number of units from which a bound is at least the limit."""
    return np.uint16(min(max(np.ceil((limit - lowest) / step), 0.0), 65535.0))


@kernel
def scan_lanes(planes, offsets, tables, entries, smallest_offset, step, lowest, k, limit, start, stop):
    """Find at most k of the codes start to stop - 1 for each query, the nearest, at distances below `limit`.

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
    k : int
    limit : float32
    start, stop : int

    Returns
    -------
    stops, distance, position
        The end of the results of each query, and the distances and positions of all results, per query in order of
        increasing distance, ties in order of position.
    """
    n_queries, inverse = len(tables), np.float32(1 / step)
    units_of_offset = np.zeros(LANE_BLOCK, np.uint16)
    totals = np.empty(LANE_BLOCK * LANES, np.uint16)
    found = [np.empty(min(k, 1024), np.uint64) for _ in range(n_queries)]
    sizes, limits = np.zeros(n_queries, np.int64), np.full(n_queries, limit)
    # Lanes that are not used are below no limit.
    units = np.zeros(LANES, np.uint16)
    for q in range(n_queries):
        units[q] = _in_units(limit, lowest[q], step)
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
                            found[q], sizes[q], limits[q] = _keep(found[q], sizes[q], k, limits[q], value, block + j)
                            units[q] = _in_units(limits[q], lowest[q], step)
    return _results(found, sizes)


@njit(inline="always")
def _add_weights(planes, best, weights, first, last, start, n, part):
    """Set part[j] to the sum of weights of the bits in which bytes first to last - 1 of code start + j differ."""
    part[:n] = 0
    for b in range(first, last):
        plane, query, w = planes[b, start : start + n], best[b], weights[b]
        w0, w1, w2, w3, w4, w5, w6, w7 = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
        for j in range(np.uint64(n)):
            x = np.uint8(plane[j] ^ query)
            total = add_if(part[j], x, np.uint8(128), w0)
            total = add_if(total, x, np.uint8(64), w1)
            total = add_if(total, x, np.uint8(32), w2)
            total = add_if(total, x, np.uint8(16), w3)
            total = add_if(total, x, np.uint8(8), w4)
            total = add_if(total, x, np.uint8(4), w5)
            total = add_if(total, x, np.uint8(2), w6)
            part[j] = add_if(total, x, np.uint8(1), w7)


@njit(inline="always")
def _bound(planes, offsets, best, weights, step, lowest, start, n, part, bounds):
    """Set bounds[j] to a lower bound of the distance to code start + j, for j < n."""
    n_bytes = planes.shape[0]
    if offsets.size:
        for j in range(np.uint64(n)):
            bounds[j] = lowest + offsets[np.uint64(start) + j]
    else:
        bounds[:n] = lowest
    for first in range(0, n_bytes, BIT_PLANES):
        _add_weights(planes, best, weights, first, min(first + BIT_PLANES, n_bytes), start, n, part)
        for j in range(np.uint64(n)):
            bounds[j] += step * np.float32(part[j])


@njit(inline="always")
def _sum_entries(planes, offsets, table, start, n, totals):
    """Set totals[j] to the distance to code start + j, for j < n."""
    if offsets.size:
        totals[:n] = offsets[start : start + n]
    else:
        totals[:n] = 0
    for b in range(planes.shape[0]):
        plane, entries = planes[b, start : start + n], table[b]
        for j in range(np.uint64(n)):
            totals[j] += entries[plane[j]]


@kernel
def bit_effects(table):
    """Return the difference that each bit makes to a table of shape (n_bytes, 256), and what it leaves unexplained.

    Returns
    -------
    effect : ndarray of float64, shape (n_bytes, 8)
        Entries of the values with one bit that is 1, the highest bit first, less the entry of 0.
    smallest, largest : ndarray of float64, shape (n_bytes,)
        Smallest and largest difference between an entry and the entry of 0 plus the effects of the bits that are 1.
    """
    n_bytes = len(table)
    effect, sums = np.empty((n_bytes, 8)), np.zeros(256)
    smallest, largest = np.zeros(n_bytes), np.zeros(n_bytes)
    for b in range(n_bytes):
        zero = np.float64(table[b, 0])
        for bit in range(8):
            effect[b, 7 - bit] = table[b, 1 << bit] - zero
            for value in range(1 << bit, 2 << bit):
                sums[value] = sums[value - (1 << bit)] + effect[b, 7 - bit]
                residual = table[b, value] - zero - sums[value]
                smallest[b], largest[b] = min(smallest[b], residual), max(largest[b], residual)
    return effect, smallest, largest


@kernel
def scan_one(planes, offsets, table, best, weights, step, lowest, k, limit, start, stop):
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

    Returns
    -------
    stops, distance, position
        As in `scan_lanes`, of one query.
    """
    part, bounds = np.empty(BIT_BLOCK, np.uint8), np.empty(BIT_BLOCK, np.float32)
    found, size = np.empty(min(k, 1024), np.uint64), 0
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
                        found, size, limit = _keep(found, size, k, limit, value, block + j)
    return _results([found], np.array([size]))
