"""Numba kernels of multi-index hashing: tables of codes by the value of a chunk, and how they are searched."""

import numpy as np
from numba import njit

from proxcode.search._scan_kernels import CHUNK, doubled
from proxcode.utils.kernels import popcount

# Costs, the unit being one code looked at in its bucket, about a nanosecond. The others wait for the memory.
PROBE_COST = 100  # of a look into a bucket
FETCH_COST = 12  # of a byte of a code that is read where all codes are, for codes longer than their filters
MANY, VERY_MANY = 256, 16_384  # results from which a radix sort pays, and one with longer digits


@njit(nogil=True, cache=True)
def bucket_keys(planes, low, n_key_bits, n, out):
    """out[i] = bits low to low + n_key_bits - 1 of code i < n, the lowest bit of its first byte being bit 0."""
    first, last = low // 8, (low + n_key_bits - 1) // 8
    mask = np.uint32((1 << n_key_bits) - 1)
    for i in range(n):
        key = np.uint64(0)
        for b in range(last, first - 1, -1):
            key = (key << np.uint64(8)) | np.uint64(planes[b, i])
        out[i] = np.uint32(key >> np.uint64(low % 8)) & mask


@njit(nogil=True, cache=True)
def fill_buckets(planes, keys, first_byte, last_byte, ends, positions, filters):
    """Sort codes by key, in rising order of position; beside each lie up to eight of its bytes.

    `ends` holds zeros, and a zero more than there are keys; when done, bucket k is ends[k] to ends[k + 1] - 1.
    """
    n = keys.size
    for i in range(n):
        ends[keys[i] + 1] += 1
    for k in range(1, ends.size):
        ends[k] += ends[k - 1]
    for i in range(n):  # bucket k fills from ends[k] on, which so becomes its end
        place = ends[keys[i]]
        ends[keys[i]] += 1
        positions[place] = i
        word = np.uint64(0)
        for b in range(last_byte - 1, first_byte - 1, -1):
            word = (word << np.uint64(8)) | np.uint64(planes[b, i])
        filters[place] = word
    for k in range(ends.size - 1, 0, -1):
        ends[k] = ends[k - 1]
    ends[0] = 0


@njit
def _sort(keys, size, n_key_bits, spare):
    """Sort the first numbers of `keys`; the result lies in the first array returned, the second is spare."""
    if size < MANY:
        keys[:size] = np.sort(keys[:size])
        return keys, spare
    if spare.size < keys.size:
        spare = np.empty_like(keys)
    digit_bits = 11 if size < VERY_MANY else 14
    counts = np.empty(1 << digit_bits, np.int64)
    last_digit = np.uint64(counts.size - 1)
    for low in range(0, n_key_bits, digit_bits):
        shift = np.uint64(low)
        counts[:] = 0
        for i in range(size):
            counts[(keys[i] >> shift) & last_digit] += 1
        place = 0
        for digit in range(counts.size):
            counts[digit], place = place, place + counts[digit]
        for i in range(size):
            digit = (keys[i] >> shift) & last_digit
            spare[counts[digit]] = keys[i]
            counts[digit] += 1
        keys, spare = spare, keys
    return keys, spare


@njit(inline="always")
def _next_mask(mask):
    """Return the next larger number with as many ones (Gosper)."""
    lowest = mask & -mask
    ripple = mask + lowest
    return ripple | (((mask ^ ripple) >> 2) // lowest)


@njit(inline="always")
def _difference(planes, i, query, diff):
    """Diff = bits in which code i differs from a query, in words of eight bytes."""
    diff[:] = np.uint64(0)
    for b in range(planes.shape[0]):
        diff[b // 8] |= np.uint64(planes[b, i] ^ query[b]) << np.uint64(8 * (b % 8))


@njit(inline="always")
def _is_new(diff, masks, bounds):
    """Whether a code differs from the query in more bits of each chunk than earlier levels have looked at."""
    is_new = True
    for chunk in range(masks.shape[0]):
        ones = np.uint64(0)
        for w in range(diff.size):
            ones += popcount(diff[w] & masks[chunk, w])
        is_new &= np.int64(ones) > bounds[chunk]
    return is_new


@njit(inline="always")
def _ones_of(diff):
    ones = np.uint64(0)
    for w in range(diff.size):
        ones += popcount(diff[w])
    return np.int64(ones)


@njit(inline="always")
def _select(filters, word, start, stop, limit, chosen):
    """Write the places whose filter differs from a word in at most `limit` bits to `chosen`; returns how many."""
    n = 0
    for i in range(np.uint64(start), np.uint64(stop)):  # without a branch that would be mispredicted
        chosen[n] = i
        n += np.int64(popcount(filters[i] ^ word)) <= limit
    return n


@njit(inline="always")
def _keep_new(planes, query, positions, chosen, masks, bounds, limit, shift, diff, found, size):
    """Add those of the chosen codes within the limit that no earlier level has found; returns how many there are."""
    for i in chosen:
        _difference(planes, positions[i], query, diff)
        d = _ones_of(diff)
        found[size] = (np.uint64(d) << shift) | np.uint64(positions[i])
        size += (d <= limit) & _is_new(diff, masks, bounds)
    return size


@njit(inline="always")
def _keep_new_words(filters, positions, word, chosen, masks, bounds, shift, found, size):
    """Do the same for codes of up to 64 bits: the filter is the code, and within the limit."""
    for i in chosen:
        diff = filters[i] ^ word
        is_new = True
        for chunk in range(masks.shape[0]):
            is_new &= np.int64(popcount(diff & masks[chunk, 0])) > bounds[chunk]
        found[size] = (popcount(diff) << shift) | np.uint64(positions[i])
        size += is_new
    return size


@njit(inline="always")
def _lower_limit(found, start, stop, shift, k, limit, below, counts):
    """Count codes newly found; the limit is the least distance up to which there are k, `below` how many there are."""
    for i in range(start, stop):
        d = np.int64(found[i] >> shift)
        counts[d] += 1
        below += d <= limit
    while below - counts[limit] >= k:
        below -= counts[limit]
        limit -= 1
    return limit, below


@njit
def _probe_one(planes, query, keys, words, ends, positions, filters, masks, key_bits, k, radius, budget, shift, found):
    """Collect what lies in the buckets of one query, level by level.

    Returns the cost, how many codes were found, and these as distance << shift | position, in no order: the k nearest
    and some more. `found` is where they go if they fit.
    """
    m = len(keys)
    diff, counts = np.zeros(masks.shape[1], np.uint64), np.zeros(8 * planes.shape[0] + 1, np.int64)
    chosen, bounds = np.empty(CHUNK, np.uint64), np.full(m, -1)
    size, below, limit, cost = 0, 0, radius, 0
    for level in range(radius + 1):
        chunk, reach = level % m, level // m
        bounds[:chunk], bounds[chunk:] = reach, reach - 1
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
                some = chosen[:n_chosen]
                if diff.size == 1:
                    size = _keep_new_words(own_filters, places, word, some, masks, bounds, shift, found, size)
                else:
                    cost += FETCH_COST * planes.shape[0] * n_chosen
                    size = _keep_new(planes, query, places, some, masks, bounds, limit, shift, diff, found, size)
                if k < positions.shape[1]:
                    limit, below = _lower_limit(found, before, size, shift, k, limit, below, counts)
            mask = _next_mask(mask) if reach else last
        if limit <= level and below >= k:
            break
    return cost, size, found


@njit(nogil=True, cache=True)
def probe(planes, queries, keys, words, ends, positions, filters, masks, key_bits, k, radius, budget):
    """Find the codes within a radius, or the k nearest of them, through tables of chunks (multi-index hashing).

    A code that differs in at most r bits differs in at most r // m bits in one of the first r % m + 1 of m chunks, or
    in fewer in another: level r looks into the buckets of chunk r % m at distance r // m, and when it is done, all
    codes up to distance r are found.

    Parameters
    ----------
    queries : ndarray of uint8, shape (n_queries, n_bytes)
    keys, words : ndarrays of shape (n_queries, m)
        Each query's key in each chunk, and what its filter would be there.
    ends, positions, filters : what `fill_buckets` made of each chunk, one row each
    masks : ndarray of uint64, shape (m, n_words)
        Which bits of a code are those of a chunk.
    key_bits : ndarray of shape (m,)
    k, radius : int
        Levels go on until k codes are found up to the level's distance, at most up to the radius.
    budget : int
        Cost, in codes looked at, after which a query is given up.

    Returns
    -------
    given_up : ndarray of bool, shape (n_queries,)
    stops : ndarray of int64, shape (n_queries,)
        Where each query's results end.
    distance, position : ndarrays
        Nearest first, of equals the first.
    """
    n_queries = len(queries)
    position_bits, distance_bits = _bit_length(positions.shape[1]), _bit_length(radius)
    shift = np.uint64(position_bits)
    given_up, stops = np.zeros(n_queries, np.bool_), np.zeros(n_queries, np.int64)
    distance, position = np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int64)
    found, spare, total = np.empty(2 * CHUNK, np.uint64), np.empty(0, np.uint64), 0
    for q in range(n_queries):
        one = queries[q], keys[q], words[q]
        cost, size, found = _probe_one(
            planes, *one, ends, positions, filters, masks, key_bits, k, radius, budget, shift, found
        )
        given_up[q] = cost > budget
        found, spare = _sort(found, size, position_bits + distance_bits, spare)
        size = min(size, k)
        while total + size > distance.size:
            distance, position = doubled(distance), doubled(position)
        for i in range(size):
            distance[total + i] = found[i] >> shift
            position[total + i] = found[i] & ((np.uint64(1) << shift) - np.uint64(1))
        total += size
        stops[q] = total
    return given_up, stops, distance[:total], position[:total]


@njit
def _bit_length(number):
    n_bits = 1
    while number >> n_bits:
        n_bits += 1
    return n_bits
