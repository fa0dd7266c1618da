"""Numba kernels of the self-join: buckets of codes of equal key, and pairs within them.

`rows` is an array of uint64 of shape (n, n_words): the words of one code are contiguous. The filter of a code is the
exclusive or of its words, which is the code itself up to 64 bits: two filters differ in no more bits than their codes.
"""

import numpy as np

from proxcode.utils.jit import kernel, subroutine
from proxcode.utils.kernels import popcount

# Codes whose smallest distance is compared with the radius before they are examined one by one.
CHUNK = 64
# Codes of which this first comparison is not worth its time.
FEW = 8
# Bits of the hash of a key, the upper half of an entry of a hash table; the lower half is the number of the row.
HALF, LOWER = np.uint64(32), np.uint64(0xFFFFFFFF)


@subroutine
def _hashed(rows, i, mask):
    """Return 32 bits that depend on the bits of a code under a mask (the mixing function of SplitMix64)."""
    word = np.uint64(0)
    for w in range(rows.shape[1]):
        word ^= rows[i, w] & mask[w]
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        word ^= word >> np.uint64(31)
    return word >> HALF


@kernel
def count_partitions(rows, mask, start, stop, shift, counts):
    """Count the rows start to stop - 1 by partition, the leading bits of the hash of their key."""
    for i in range(start, stop):
        counts[_hashed(rows, i, mask) >> np.uint64(shift)] += 1


@kernel
def fill_partitions(rows, mask, start, stop, shift, places, entries, filters):
    """Write the rows start to stop - 1 to their partitions, from places[partition] on, which is moved forward."""
    for i in range(start, stop):
        hashed = _hashed(rows, i, mask)
        place = places[hashed >> np.uint64(shift)]
        places[hashed >> np.uint64(shift)] += 1
        entries[place] = (hashed << HALF) | np.uint64(i)
        filters[place] = _filter(rows, i)


@subroutine
def _filter(rows, i):
    word = rows[i, 0]
    for w in range(1, rows.shape[1]):
        word ^= rows[i, w]
    return word


@kernel
def fill_filters(rows, filters):
    """Set the filters of all rows, in their order."""
    for i in range(rows.shape[0]):
        filters[i] = _filter(rows, i)


@kernel
def sort_partitions(edges, shift, entries, filters, ends, n_pairs, counts, spare):
    """Sort the codes of some partitions into buckets by further bits of their hashes.

    Parameters
    ----------
    edges : ndarray of int64, shape (n_partitions + 1,)
        First entry of each partition.
    shift : int
        Bits of a hash after those that number the partition.
    entries, filters : ndarrays of uint64
        Sorted by bucket on return, then by row.
    ends : ndarray of uint32
        Set to the end of the bucket of each entry.
    n_pairs : ndarray of int64, shape (n_partitions,)
        Set to the number of pairs of codes in the same bucket.
    counts : ndarray of int64
        Memory: a power of two, at least 2.
    spare : ndarray of uint64, shape (2, size of the largest partition)
        Memory.
    """
    for p in range(n_pairs.size):
        start, stop = edges[p], edges[p + 1]
        n_bits = 1
        while (1 << n_bits) < min(2 * (stop - start), counts.size) and n_bits < shift:
            n_bits += 1
        low, last = np.uint64(32 + shift - n_bits), np.uint64((1 << n_bits) - 1)
        for bucket in range(1 << n_bits):
            counts[bucket] = 0
        for i in range(start, stop):
            counts[(entries[i] >> low) & last] += 1
            spare[0, i - start], spare[1, i - start] = entries[i], filters[i]
        place, pairs = start, np.int64(0)
        for bucket in range(1 << n_bits):
            size = counts[bucket]
            counts[bucket] = place
            pairs += size * (size - 1) // 2
            for i in range(place, place + size):
                ends[i] = place + size
            place += size
        for i in range(stop - start):
            bucket = (spare[0, i] >> low) & last
            place = counts[bucket]
            counts[bucket] += 1
            entries[place], filters[place] = spare[0, i], spare[1, i]
        n_pairs[p] = pairs


@subroutine
def _least_distance(filters, word, start, stop):
    """Return the smallest number of bits in which filters start to stop - 1 differ from a word."""
    least = np.uint64(64)
    for i in range(np.uint64(start), np.uint64(stop)):
        least = min(least, popcount(filters[i] ^ word))
    return least


@subroutine
def _distance(rows, a, b):
    ones = np.uint64(0)
    for w in range(rows.shape[1]):
        ones += popcount(rows[a, w] ^ rows[b, w])
    return np.int64(ones)


@subroutine
def _is_new(rows, a, b, chunks, key, earlier):
    """Return whether two codes agree in all chunks of a key, and in those of no earlier key."""
    agreeing = np.uint64(0)
    for chunk in range(chunks.shape[0]):
        differing = np.uint64(0)
        for w in range(rows.shape[1]):
            differing |= (rows[a, w] ^ rows[b, w]) & chunks[chunk, w]
        agreeing |= np.uint64(differing == 0) << np.uint64(chunk)
    is_new = key & ~agreeing == 0
    for k in range(earlier.size):
        is_new &= earlier[k] & ~agreeing != 0
    return is_new


@kernel
def near_pairs(rows, entries, filters, ends, chunks, key, earlier, radius, state, pairs, distances):
    """Find pairs of codes in the same bucket at distance at most `radius`, until the memory for them is full.

    Parameters
    ----------
    rows : ndarray of uint64, shape (n, n_words)
    entries, filters, ends : ndarrays
        A hash table: see `sort_partitions`.
    chunks : ndarray of uint64, shape (n_chunks, n_words)
        Bits of each chunk.
    key : uint64
        Chunks whose bits are the key of this hash table.
    earlier : ndarray of uint64
        Keys whose pairs have been found before.
    radius : int
    state : ndarray of int64, shape (5,)
        First entry and its first partner, the end of the entries, and the first and the end of the partners. The first
        two are moved forward; all pairs are found once the first one is the end.
    pairs : ndarray of uint32, shape (2, size)
        Set to the rows of each pair.
    distances : ndarray of uint16, shape (size,)

    Returns
    -------
    n_found : int
    """
    i, j, last, low, high = state[0], state[1], state[2], state[3], state[4]
    n_found = 0
    while i < last:
        stop, word = min(np.int64(ends[i]), high), filters[i]
        while j < stop:
            if n_found + CHUNK > distances.size:
                state[0], state[1] = i, j
                return n_found
            part = min(j + CHUNK, stop)
            if part - j < FEW or _least_distance(filters, word, j, part) <= radius:
                for k in range(j, part):
                    if popcount(filters[k] ^ word) <= radius:
                        a, b = np.int64(entries[i] & LOWER), np.int64(entries[k] & LOWER)
                        distance = _distance(rows, a, b)
                        if distance <= radius and _is_new(rows, a, b, chunks, key, earlier):
                            pairs[0, n_found], pairs[1, n_found], distances[n_found] = a, b, distance
                            n_found += 1
            j = part
        i += 1
        j = max(i + 1, low)
    state[0], state[1] = i, j
    return n_found
