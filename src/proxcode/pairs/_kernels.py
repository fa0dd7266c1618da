"""Numba kernels over packed codes.

Everywhere `words` is a tuple of uint64 arrays of shape (n,), one array per 64 bits of code: its length is part of its
type, so that the loop over the words of a pair is unrolled and the loop over samples is vectorised for every code
length. `near[h]`, `far[h]` and `table[h]` are weights of pairs at Hamming distance h.

Ranges run over unsigned indices: numba lets signed ones count from the end, and the check would keep the loop scalar.
Each output element is summed by one thread in a fixed order: results do not depend on the number of threads.
"""

import numpy as np
from numba import njit, prange

from proxcode.utils.kernels import popcount

ONE = np.uint64(1)
N_STRIPES = 16  # rows are dealt to this many stripes: enough to balance a triangle over the cores


@njit(inline="always")
def _distance(words, i, j):
    distance = popcount(words[0][i] ^ words[0][j])
    for w in range(1, len(words)):
        distance += popcount(words[w][i] ^ words[w][j])
    return distance


@njit(inline="always")
def _sum_range(words, table, x, i, start, stop):
    """Sum of table[h(i, j)] x[j] over start <= j < stop."""
    s = 0.0
    for j in range(np.uint64(start), np.uint64(stop)):
        s += table[_distance(words, i, j)] * x[j]
    return s


@njit(parallel=True, fastmath=True, cache=True)
def add_class_field(words, near, far, x, lower, upper, out):
    """out[i] += sum over j != i of w_ij x[j]; groups are sorted by class, and that of i is lower[i] to upper[i] - 1."""
    for i in prange(x.size):
        s = _sum_range(words, far, x, i, 0, lower[i]) + _sum_range(words, near, x, i, lower[i], i)
        s += _sum_range(words, near, x, i, i + 1, upper[i]) + _sum_range(words, far, x, i, upper[i], x.size)
        out[i] += s


@njit(parallel=True, fastmath=True, cache=True)
def add_mask_field(words, near, far, x, masks, out):
    """out[i] += sum over j != i of w_ij x[j]; a pair is near where its masks meet."""
    for i in prange(x.size):
        s = 0.0
        for j in range(x.size):
            if j != i:
                table = near if masks_meet(masks, i, j) else far
                s += table[_distance(words, i, j)] * x[j]
        out[i] += s


@njit(parallel=True, fastmath=True, cache=True)
def add_list_field(words, near, far, x, indptr, indices, out):
    """out[i] += sum over j != i of w_ij x[j]; the near j of row i are listed in ascending order, and i among them."""
    for i in prange(x.size):
        s = 0.0
        start = 0
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            s += _sum_range(words, far, x, i, start, j)
            if j != i:
                s += near[_distance(words, i, j)] * x[j]
            start = j + 1
        out[i] += s + _sum_range(words, far, x, i, start, x.size)


@njit(parallel=True, fastmath=True, cache=True)
def add_cross_field(words, row_numbers, table, columns, x, out):
    """out[k] += sum over all columns j of table[h(row_numbers[k], columns[j])] x[j]."""
    n_words = len(words)
    for k in prange(row_numbers.size):
        i = row_numbers[k]
        s = 0.0
        for j in range(np.uint64(0), np.uint64(x.size)):
            distance = popcount(words[0][i] ^ columns[0][j])
            for w in range(1, n_words):
                distance += popcount(words[w][i] ^ columns[w][j])
            s += table[distance] * x[j]
        out[k] += s


@njit(inline="always")
def _add_range(words, table, i, step, start, stop, field):
    for j in range(np.uint64(start), np.uint64(stop)):
        field[j] += step * table[_distance(words, i, j)]


@njit(cache=True)
def add_class_row(words, near, far, i, step, lower, upper, field):
    """field[j] += step * w_ij for j != i."""
    _add_range(words, far, i, step, 0, lower, field)
    _add_range(words, near, i, step, lower, i, field)
    _add_range(words, near, i, step, i + 1, upper, field)
    _add_range(words, far, i, step, upper, field.size, field)


@njit(cache=True)
def add_mask_row(words, near, far, i, step, masks, field):
    """field[j] += step * w_ij for j != i."""
    for j in range(field.size):
        if j != i:
            table = near if masks_meet(masks, i, j) else far
            field[j] += step * table[_distance(words, i, j)]


@njit(cache=True)
def add_list_row(words, near, far, i, step, indptr, indices, field):
    """field[j] += step * w_ij for j != i."""
    start = 0
    for k in range(indptr[i], indptr[i + 1]):
        j = indices[k]
        _add_range(words, far, i, step, start, j, field)
        if j != i:
            field[j] += step * near[_distance(words, i, j)]
        start = j + 1
    _add_range(words, far, i, step, start, field.size, field)


@njit(inline="always")
def masks_meet(masks, i, j):
    """Whether two label sets have a label in common."""
    for w in range(masks.shape[0]):
        if masks[w, i] & masks[w, j]:
            return True
    return False


@njit(parallel=True, cache=True)
def count_ranges(words, size, upper, n_bits):
    """Histogram of h(i, j) over i < j < upper[i], each pair counted size[i] * size[j] times."""
    n = size.size
    counts = np.zeros((N_STRIPES, n_bits + 1), np.int64)
    for stripe in prange(N_STRIPES):
        # Neighbouring columns have a histogram each, so that equal distances do not wait for one another.
        even, odd = np.zeros(n_bits + 1, np.int64), np.zeros(n_bits + 1, np.int64)
        for i in range(stripe, n, N_STRIPES):
            last = upper[i] - (upper[i] - i - 1) % 2
            for j in range(np.uint64(i + 1), np.uint64(last), np.uint64(2)):
                even[_distance(words, i, j)] += size[j]
                odd[_distance(words, i, j + ONE)] += size[j + ONE]
            if last < upper[i]:
                even[_distance(words, i, last)] += size[last]
            for h in range(n_bits + 1):
                counts[stripe, h] += size[i] * (even[h] + odd[h])
                even[h] = odd[h] = 0
    return counts.sum(axis=0)


@njit(parallel=True, cache=True)
def count_masks(words, masks, size, n_bits):
    """Histogram of h(i, j) over i < j whose masks meet, each pair counted size[i] * size[j] times."""
    n = size.size
    counts = np.zeros((N_STRIPES, n_bits + 1), np.int64)
    for stripe in prange(N_STRIPES):
        own = np.zeros(n_bits + 1, np.int64)
        for i in range(stripe, n, N_STRIPES):
            for j in range(i + 1, n):
                if masks_meet(masks, i, j):
                    own[_distance(words, i, j)] += size[i] * size[j]
        counts[stripe] = own
    return counts.sum(axis=0)


@njit(parallel=True, cache=True)
def list_distances(words, first, second):
    """Hamming distance of each listed pair."""
    out = np.empty(first.size, np.int64)
    for k in prange(first.size):
        out[k] = _distance(words, first[k], second[k])
    return out


@njit(cache=True)
def next_improving(partition, field, group_of, own, tolerance, start):
    """Return the first sample from `start` on whose flip raises b'Wb, n where there is none.

    The field is that of groups and contains the sample's own term, which is subtracted.
    """
    for i in range(start, partition.size):
        group = group_of[i]
        if partition[i] * field[group] - own[group] < -tolerance[i]:
            return i
    return partition.size


@njit(cache=True)
def sweep_classes(words, near, far, lower, upper, group_of, own, tolerance, partition, field):
    """Flip in turn each sample whose flip raises b'Wb, groups sorted by class; return the number of flips."""
    flips = 0
    for i in range(partition.size):
        group = group_of[i]
        if partition[i] * field[group] - own[group] < -tolerance[i]:
            partition[i] = -partition[i]
            step = 2.0 * partition[i]
            field[group] += step * own[group]
            add_class_row(words, near, far, group, step, lower[group], upper[group], field)
            flips += 1
    return flips
