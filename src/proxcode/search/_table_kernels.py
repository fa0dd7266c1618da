"""Numba kernels of multi-index hashing: building and searching the hash tables."""

import numpy as np

from proxcode.search._scan_kernels import CHUNK, doubled
from proxcode.utils.jit import kernel, subroutine
from proxcode.utils.kernels import popcount

# Costs are in units of one code examined in its bucket, about a nanosecond; all others are dominated by memory latency.
# Cost of opening one bucket.
PROBE_COST = 100
# Cost of reading one byte of a code outside its bucket, for codes longer than their filters.
FETCH_COST = 12
# Number of results from which a radix sort is faster than a comparison sort.
MANY = 256
# Number of results from which a radix sort with longer digits is faster.
VERY_MANY = 16_384


@kernel
def bucket_keys(planes, low, n_key_bits, n):
    """Return bits low to low + n_key_bits - 1 of the first n codes; bit 0 is the lowest bit of the first byte."""
    first, last = low // 8, (low + n_key_bits - 1) // 8
    mask = np.uint32((1 << n_key_bits) - 1)
    keys = np.empty(n, np.uint32)
    for i in range(n):
        word = np.uint64(0)
        for b in range(last, first - 1, -1):
            word = (word << np.uint64(8)) | np.uint64(planes[b, i])
        keys[i] = np.uint32(word >> np.uint64(low % 8)) & mask
    return keys


@kernel
def fill_buckets(planes, keys, ends, positions, filters):
    """Sort codes by key, then by position, and store up to eight bytes of each code, its filter.

    `planes` are the byte planes of the filters. `ends` has two entries more than there are keys and holds zeros; on
    return, bucket k is ends[k] to ends[k + 1] - 1.
    """
    for key in keys:
        ends[key + 2] += 1
    for k in range(2, ends.size):
        ends[k] += ends[k - 1]
    # Bucket k is filled from ends[k + 1] on, which is its end when all codes are stored.
    for i in range(keys.size):
        place = ends[keys[i] + 1]
        ends[keys[i] + 1] += 1
        positions[place] = i
        word = np.uint64(0)
        for b in range(planes.shape[0] - 1, -1, -1):
            word = (word << np.uint64(8)) | np.uint64(planes[b, i])
        filters[place] = word


@subroutine
def _sort(keys, size, n_key_bits, spare):
    """Sort the first `size` keys; return the array with the result and an array for later use as `spare`."""
    if size < MANY:
        # A shell sort: numba's own sort takes a second to compile.
        for gap in (132, 57, 23, 10, 4, 1):
            for i in range(gap, size):
                key, place = keys[i], i
                while place >= gap and keys[place - gap] > key:
                    keys[place] = keys[place - gap]
                    place -= gap
                keys[place] = key
        return keys, spare
    if spare.size < keys.size:
        spare = np.empty(keys.size, np.uint64)
    digit_bits = 11 if size < VERY_MANY else 14
    counts = np.empty(1 << digit_bits, np.int64)
    last_digit = np.uint64(counts.size - 1)
    for low in range(0, n_key_bits, digit_bits):
        shift = np.uint64(low)
        _clear(counts)
        for i in range(size):
            counts[(keys[i] >> shift) & last_digit] += 1
        place = 0
        for digit in range(counts.size):
            n_keys = counts[digit]
            counts[digit] = place
            place += n_keys
        for i in range(size):
            digit = (keys[i] >> shift) & last_digit
            spare[counts[digit]] = keys[i]
            counts[digit] += 1
        keys, spare = spare, keys
    return keys, spare


@subroutine
def _next_mask(mask):
    """Return the next larger number with the same number of ones (Gosper's hack)."""
    lowest = mask & -mask
    ripple = mask + lowest
    return ripple | (((mask ^ ripple) >> 2) // lowest)


@subroutine
def _select(filters, word, start, stop, limit, chosen):
    """Write the places whose filter differs from a word in at most `limit` bits to `chosen`; return their number."""
    n = 0
    # Every place is written and only kept if it is near: a branch would often be mispredicted.
    for i in range(np.uint64(start), np.uint64(stop)):
        chosen[n] = i
        n += np.int64(popcount(filters[i] ^ word)) <= limit
    return n


@subroutine
def _clear(values):
    for i in range(values.size):
        values[i] = 0


@subroutine
def _differing_bits(planes, i, query, out):
    """Set `out` to the bits in which code i differs from a query, in words of eight bytes."""
    _clear(out)
    for b in range(planes.shape[0]):
        out[b // 8] |= np.uint64(planes[b, i] ^ query[b]) << np.uint64(8 * (b % 8))


@subroutine
def _ones(words, mask):
    """Return the number of ones of some words under a mask."""
    ones = np.uint64(0)
    for w in range(words.size):
        ones += popcount(words[w] & mask[w])
    return np.int64(ones)


@subroutine
def _is_new(diff, masks, bounds):
    """Return whether a code differs from the query in more bits of each chunk than earlier levels have examined."""
    is_new = True
    for chunk in range(masks.shape[0]):
        is_new &= _ones(diff, masks[chunk]) > bounds[chunk]
    return is_new


@subroutine
def _lower_limit(found, start, stop, shift, k, limit, below, counts):
    """Count new codes and return (limit, below).

    The limit is the smallest distance up to which k codes have been found, `below` the number of codes up to it.
    """
    for i in range(start, stop):
        d = np.int64(found[i] >> shift)
        counts[d] += 1
        below += d <= limit
    while below - counts[limit] >= k:
        below -= counts[limit]
        limit -= 1
    return limit, below


@subroutine
def _probe_one(planes, query, keys, words, tables, k, radius, budget, shift, memory, found):
    """Collect the codes in the buckets of one query, level by level.

    Returns the cost, the number of codes and the codes as distance << shift | position, unsorted: the k nearest and
    possibly others. The codes are written to `found`, or to a larger array if they do not fit.
    """
    ends, positions, filters, masks, key_bits = tables
    diff, chosen, counts, bounds, _ = memory
    m = len(keys)
    _clear(counts)
    # Integers of one type: functions are compiled for each type anew.
    size, below, limit, cost = np.int64(0), np.int64(0), np.int64(radius), np.int64(0)
    for level in range(radius + 1):
        chunk, reach = level % m, level // m
        for c in range(m):
            bounds[c] = reach if c < chunk else reach - 1
        own_ends, own_filters, places, word = ends[chunk], filters[chunk], positions[chunk], words[chunk]
        mask, last = (1 << reach) - 1, 1 << key_bits[chunk]
        while mask < last:
            bucket = np.int64(keys[chunk]) ^ mask
            start, stop = np.int64(own_ends[bucket]), np.int64(own_ends[bucket + 1])
            cost += PROBE_COST + stop - start
            if cost > budget:
                return cost, 0, found
            for part in range(start, stop, CHUNK):
                before = size
                n_chosen = _select(own_filters, word, part, min(part + CHUNK, stop), limit, chosen)
                if size + CHUNK > found.size:
                    found = doubled(found)
                for c in range(n_chosen):
                    i = chosen[c]
                    position = places[i]
                    # The filter is the whole code if it has up to 64 bits.
                    if diff.size == 1:
                        diff[0] = own_filters[i] ^ word
                    else:
                        _differing_bits(planes, position, query, diff)
                        cost += FETCH_COST * planes.shape[0]
                    # Words under themselves as a mask: all their ones.
                    distance = _ones(diff, diff)
                    if distance <= limit:
                        found[size] = (np.uint64(distance) << shift) | np.uint64(position)
                        size += _is_new(diff, masks, bounds)
                if k < positions.shape[1]:
                    limit, below = _lower_limit(found, before, size, shift, k, limit, below, counts)
            mask = _next_mask(mask) if reach else last
        if limit <= level and below >= k:
            break
    return cost, size, found


@kernel
def probe(planes, queries, keys, words, tables, k, radius, budget, key_sizes, memory, costs, stops):
    """Find at most k codes per query, the nearest, at distance at most `radius`, by multi-index hashing.

    A code that differs from the query in at most r bits differs in at most r // m bits in one of the first r % m + 1 of
    m chunks, or in fewer than r // m bits in another chunk. Level r examines the buckets of chunk r % m at distance
    r // m; after level r all codes up to distance r have been found.

    Parameters
    ----------
    planes : ndarray of uint8, shape (n_bytes, n)
    queries : ndarray of uint8, shape (n_queries, n_bytes)
    keys, words : ndarrays, shape (n_queries, m)
        The key and the filter of each query in each chunk.
    tables : tuple of ndarrays
        `ends`, `positions` and `filters` of `fill_buckets`, one row per chunk, then the bits of each chunk in the words
        of a code, shape (m, n_words), and their number.
    k, radius : int
    budget : int
        Cost above which a query is given up.
    key_sizes : tuple of int
        Bits of a position and of a distance.
    memory : tuple of ndarrays
        Memory for one query: words of a code, CHUNK places, counts of distances, m bounds, at least CHUNK results.
    costs, stops : ndarrays of int64, shape (n_queries,)
        Set to the cost of each query, and to the end of its results.

    Returns
    -------
    results : ndarray of uint64
        Results, distance << bits of a position | position, per query in ascending order.
    """
    position_bits, distance_bits = key_sizes
    shift, found = np.uint64(position_bits), memory[4]
    results, spare, total = np.empty(CHUNK, np.uint64), np.empty(CHUNK, np.uint64), np.int64(0)
    for q in range(len(queries)):
        costs[q], size, found = _probe_one(
            planes, queries[q], keys[q], words[q], tables, k, radius, budget, shift, memory, found
        )
        found, spare = _sort(found, size, position_bits + distance_bits, spare)
        size = min(size, k)
        while total + size > results.size:
            results = doubled(results)
        for i in range(size):
            results[total + i] = found[i]
        total += size
        stops[q] = total
    return results
