"""Numba kernels of the self-join: buckets of codes of equal key, pairs within them, and groups of linked codes.

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


@subroutine
def _root(parents, i):
    while parents[i] != i:
        i = np.int64(parents[i])
    return i


@kernel
def are_linked(parents, entries, start, stop, low, high):
    """Return whether all of the entries start to stop - 1 and low to high - 1 are of one group.

    Another thread may unite groups meanwhile: an entry of a group stays in it.
    """
    root, i = _root(parents, np.int64(entries[start] & LOWER)), start
    while i < stop and _root(parents, np.int64(entries[i] & LOWER)) == root:
        i += 1
    if i < stop:
        return False
    i = low
    while i < high and _root(parents, np.int64(entries[i] & LOWER)) == root:
        i += 1
    return i == high


@kernel
def unite(parents, pairs):
    """Unite the groups of the two rows of each pair; return how many groups fewer there are.

    A group is a tree whose root is its smallest row.
    """
    n_united = 0
    for k in range(pairs.shape[1]):
        a, b = np.int64(pairs[0, k]), np.int64(pairs[1, k])
        while parents[a] != a:
            parents[a] = parents[parents[a]]
            a = np.int64(parents[a])
        while parents[b] != b:
            parents[b] = parents[parents[b]]
            b = np.int64(parents[b])
        if a != b:
            parents[max(a, b)] = min(a, b)
            n_united += 1
    return n_united


@kernel
def number_groups(parents, order, starts, first, of_row, group):
    """Assign numbers to the groups of two or more codes, in the order of their first codes; return their number.

    Parameters
    ----------
    parents : ndarray of uint32, shape (n_rows,)
        Trees of `unite`; on return, every row has its root as its parent.
    order, starts : ndarrays of uint32
        Row r is the code at the positions order[starts[r]] to order[starts[r + 1] - 1], in increasing order.
    first : ndarray of uint32, shape (n_codes,)
        Set to the position of the first code of the group of each code.
    of_row : ndarray of uint32, shape (n_rows,)
        Memory.
    group : ndarray of int64, shape (n_codes,)
        Minus ones; set to the number of the group of each code that has duplicates.
    """
    for r in range(parents.size):
        # A parent is a smaller row, which has its root as its parent by now.
        root = parents[parents[r]]
        parents[r] = root
        of_row[r] = order[starts[r]]
        of_row[root] = min(of_row[root], of_row[r])
    for r in range(parents.size):
        for k in range(starts[r], starts[r + 1]):
            first[order[k]] = of_row[parents[r]]
    for i in range(group.size):
        if first[i] != i:
            group[first[i]] = 0
    n_groups = 0
    # The first code of a group comes before its other codes.
    for i in range(group.size):
        if first[i] != i:
            group[i] = group[first[i]]
        elif group[i] == 0:
            group[i] = n_groups
            n_groups += 1
    return n_groups


@kernel
def pairs_of_equal_codes(order, starts, state, pairs):
    """Write the pairs of positions of equal codes until the memory is full; return their number.

    `state` is a row, the first of the two codes and the second, as places in `order`; all are found once the row is the
    number of rows. It begins with (0, 0, 1).
    """
    row, i, j = state[0], state[1], state[2]
    n_rows, size, n = starts.size - 1, pairs.shape[1], 0
    while row < n_rows:
        stop = np.int64(starts[row + 1])
        while i < stop:
            while j < stop:
                if n == size:
                    state[0], state[1], state[2] = row, i, j
                    return n
                pairs[0, n], pairs[1, n] = order[i], order[j]
                n += 1
                j += 1
            i += 1
            j = i + 1
        row += 1
    state[0], state[1], state[2] = row, i, j
    return n


@kernel
def pairs_of_positions(order, starts, row_pairs, row_distances, state, n, pairs, distances):
    """Write the pairs of positions of pairs of rows after the first n ones, until the memory is full.

    Returns the number of pairs written so far. `state` is the number of a pair of rows, and of a code of its first and
    of its second row; all pairs are written once the first is the number of pairs of rows. It begins with zeros.
    """
    k, i, j, size = state[0], state[1], state[2], distances.size
    while k < row_distances.size:
        a, b = row_pairs[0, k], row_pairs[1, k]
        n_a, n_b = np.int64(starts[a + 1]) - starts[a], np.int64(starts[b + 1]) - starts[b]
        while i < n_a:
            while j < n_b:
                if n == size:
                    state[0], state[1], state[2] = k, i, j
                    return n
                one, other = order[starts[a] + i], order[starts[b] + j]
                pairs[0, n], pairs[1, n], distances[n] = min(one, other), max(one, other), row_distances[k]
                n += 1
                j += 1
            i, j = i + 1, 0
        k, i = k + 1, 0
    state[0], state[1], state[2] = k, i, j
    return n
