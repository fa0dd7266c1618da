"""Numba kernels of multi-index hashing: tables of codes by the value of a chunk, and how they are searched."""

import numpy as np
from numba import njit

from proxcode._kernels import popcount
from proxcode.search._scan_kernels import CHUNK, grown

MANY, DIGIT = 256, 11  # results from which a radix sort pays, bits of its digits


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


@njit(nogil=True, cache=True)
def sort_pairs(distance, position, n_distances):
    """Return both in order of distance, then of position."""
    place_bits = np.uint64(1)
    largest = position.max() if position.size else 0
    while largest >> place_bits:
        place_bits += np.uint64(1)
    keys = np.empty(position.size, np.uint64)
    for i in range(keys.size):
        keys[i] = (np.uint64(distance[i]) << place_bits) | np.uint64(position[i])
    keys = _radix_sorted(keys, n_distances << place_bits) if keys.size > MANY else np.sort(keys)
    for i in range(keys.size):
        distance[i] = keys[i] >> place_bits
        position[i] = keys[i] & ((np.uint64(1) << place_bits) - np.uint64(1))


@njit(inline="always")
def _radix_sorted(keys, largest):
    other, counts = np.empty_like(keys), np.empty(1 << DIGIT, np.int64)
    shift = 0
    while largest >> shift:
        counts[:] = 0
        for key in keys:
            counts[(key >> np.uint64(shift)) & np.uint64((1 << DIGIT) - 1)] += 1
        place = 0
        for digit in range(counts.size):
            counts[digit], place = place, place + counts[digit]
        for key in keys:
            digit = (key >> np.uint64(shift)) & np.uint64((1 << DIGIT) - 1)
            other[counts[digit]] = key
            counts[digit] += 1
        keys, other = other, keys
        shift += DIGIT
    return keys


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
def _ones_of(diff, masks):
    ones = np.uint64(0)
    for w in range(diff.size):
        ones += popcount(diff[w] & masks[w])
    return np.int64(ones)


@njit(inline="always")
def _found_before(diff, masks, chunk, reach):
    """Whether an earlier level has found this code: level reach m + chunk looks at distance `reach` in one chunk."""
    for other in range(masks.shape[0]):
        if other != chunk and _ones_of(diff, masks[other]) <= (reach if other < chunk else reach - 1):
            return True
    return False


@njit(inline="always")
def _is_new(planes, query, word, where, masks, chunk, reach, diff):
    """Write the bits in which a code differs to `diff`; whether no earlier level has found the code."""
    if diff.size == 1:
        diff[0] = word
    else:
        _difference(planes, where, query, diff)
    return not _found_before(diff, masks, chunk, reach)


@njit(inline="always")
def _sum_of_ones(diff):
    ones = np.uint64(0)
    for w in range(diff.size):
        ones += popcount(diff[w])
    return np.int64(ones)


@njit(nogil=True, cache=True)
def probe(
    planes, query, keys, filter_words, ends, positions, filters, masks, n_key_bits, k, radius, budget, probe_cost
):
    """Find the codes within a radius, or as far as the k nearest are, through tables of chunks (multi-index hashing).

    A code that differs in at most r bits differs in at most r // m bits in one of the first r % m + 1 of m chunks, or
    in fewer in another: level r looks into the buckets of chunk r % m at distance r // m, and when it is done, all
    codes up to distance r are found.

    Parameters
    ----------
    query, keys, filter_words : the query's bytes, its key in each chunk and what its filter would be there
    ends, positions, filters : what `fill_buckets` made of each chunk, one row each
    masks : ndarray of uint64, shape (m, n_words)
        Which bits of a code are those of a chunk.
    k, radius : int
        Levels go on until k codes are found up to the level's distance, at most up to the radius.
    budget : int
        Cost, in candidates looked at, after which it gives up.
    probe_cost : int
        Cost of a look into a bucket.

    Returns
    -------
    cost : int
        Above the budget where it gave up.
    distance, position : ndarrays
        The k nearest and some more, in no order.
    """
    m, n_distances = len(keys), 8 * planes.shape[0] + 1
    diff, counts = np.zeros(masks.shape[1], np.uint64), np.zeros(n_distances, np.int64)
    distance, position = np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int64)
    size, below, limit, cost = 0, 0, min(radius, n_distances - 1), 0
    for level in range(radius + 1):
        chunk, reach = level % m, level // m
        own_ends, own_positions, own_filters = ends[chunk], positions[chunk], filters[chunk]
        mask, last = (1 << reach) - 1, 1 << n_key_bits[chunk]
        while mask < last:
            bucket = np.int64(keys[chunk]) ^ mask
            start, stop = np.int64(own_ends[bucket]), np.int64(own_ends[bucket + 1])
            cost += probe_cost + stop - start
            if cost > budget:
                return cost, distance[:0], position[:0]
            for i in range(np.uint64(start), np.uint64(stop)):
                word = own_filters[i] ^ filter_words[chunk]
                if np.int64(popcount(word)) > limit:
                    continue
                if not _is_new(planes, query, word, own_positions[i], masks, chunk, reach, diff):
                    continue
                d = _sum_of_ones(diff)
                if d <= limit:
                    distance, position = grown(distance, size), grown(position, size)
                    distance[size], position[size] = d, own_positions[i]
                    size, below = size + 1, below + 1
                    counts[d] += 1
                    while below - counts[limit] >= k:  # the limit is the least distance up to which there are k
                        below -= counts[limit]
                        limit -= 1
            mask = _next_mask(mask) if reach else last
        if limit <= level and below >= k:
            break
    return cost, distance[:size], position[:size]
