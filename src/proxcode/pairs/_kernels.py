"""Numba kernels over pairs of samples with packed codes.

Everywhere `words` is an array of uint64, shape (n_words, n), with 64 bits of the codes in each row. `near[h]`, `far[h]`
and `table[h]` are weights of pairs at Hamming distance h.

The pairs (i, j), i < j, are visited once for both samples: row i in pieces of PIECE columns, whose distances and
weights stay in the processor's cache. A kernel visits the rows `stripe`, `stripe` + `n_stripes`, ..., so that threads
share a triangle evenly; the number of stripes is fixed by that of the samples, and results do not depend on that of the
threads.

Ranges run over unsigned indices: numba lets signed ones count from the end, and the check would keep the loop scalar.
"""

import numpy as np
from numba import njit

from proxcode.utils.jit import kernel
from proxcode.utils.kernels import popcount

PIECE = 512
# Columns of a piece, a divisor of PIECE, that are compared together where few are drawn.
GROUP = np.uint64(8)


@njit
def _find_distances(words, i, start, stop, distance):
    """distance[j - start] = h(i, j) for start <= j < stop."""
    first, size = np.uint64(start), np.uint64(stop - start)
    own = words[0, i]
    for j in range(size):
        distance[j] = popcount(own ^ words[0, first + j])
    for w in range(1, words.shape[0]):
        own = words[w, i]
        for j in range(size):
            distance[j] += popcount(own ^ words[w, first + j])


@njit
def _look_up(table, distance, start, stop, weight):
    """weight[j] = table[distance[j]] for start <= j < stop."""
    for j in range(np.uint64(start), np.uint64(stop)):
        weight[j] = table[distance[j]]


@njit(fastmath=True)
def _add_pairs(weight, i, start, stop, x, out):
    """Add the pairs (i, j), start <= j < stop, to the field of both samples; weight[j - start] is that of a pair."""
    first, own, s = np.uint64(start), x[i], 0.0
    for j in range(np.uint64(stop - start)):
        s += weight[j] * x[first + j]
        out[first + j] += weight[j] * own
    out[i] += s


@kernel
def add_class_field(words, near, far, x, upper, stripe, n_stripes, out):
    """out[i] += sum over j != i of w_ij x[j]; groups are sorted by class, and that of i ends before upper[i]."""
    distance, weight = np.empty(PIECE, np.uint64), np.empty(PIECE)
    for i in range(stripe, x.size, n_stripes):
        for start in range(i + 1, x.size, PIECE):
            stop = min(start + PIECE, x.size)
            n_near = min(max(0, upper[i] - start), stop - start)
            _find_distances(words, i, start, stop, distance)
            _look_up(near, distance, 0, n_near, weight)
            _look_up(far, distance, n_near, stop - start, weight)
            _add_pairs(weight, i, start, stop, x, out)


@kernel
def add_mask_field(words, near, far, x, masks, stripe, n_stripes, out):
    """out[i] += sum over j != i of w_ij x[j]; a pair is near where its masks meet."""
    distance, weight, meet = np.empty(PIECE, np.uint64), np.empty(PIECE), np.empty(PIECE, np.uint64)
    tables = np.concatenate((far, near))
    for i in range(stripe, x.size, n_stripes):
        for start in range(i + 1, x.size, PIECE):
            stop = min(start + PIECE, x.size)
            _find_distances(words, i, start, stop, distance)
            _find_meeting(masks, i, start, stop, meet)
            _shift(distance, meet, far.size, stop - start)
            _look_up(tables, distance, 0, stop - start, weight)
            _add_pairs(weight, i, start, stop, x, out)


@kernel
def add_list_field(words, near, far, x, indptr, indices, stripe, n_stripes, out):
    """out[i] += sum over j != i of w_ij x[j]; the near j of row i are listed in ascending order."""
    distance, weight = np.empty(PIECE, np.uint64), np.empty(PIECE)
    for i in range(stripe, x.size, n_stripes):
        k = indptr[i]
        while k < indptr[i + 1] and indices[k] <= i:
            k += 1
        for start in range(i + 1, x.size, PIECE):
            stop = min(start + PIECE, x.size)
            _find_distances(words, i, start, stop, distance)
            _look_up(far, distance, 0, stop - start, weight)
            while k < indptr[i + 1] and indices[k] < stop:
                j = indices[k] - start
                weight[j] = near[distance[j]]
                k += 1
            _add_pairs(weight, i, start, stop, x, out)


@kernel
def draw_far(words, circle, n_compared, share, indptr, indices, starts, first_row, last_row, first, second, drawn):
    """Draw far pairs of the rows first_row to last_row - 1 with the columns that follow; return their number.

    Row and column r are sample circle[r], and words[:, r] its code. A pair at distance h is drawn with the probability
    share[h]: where the sum of the shares of a row so far, from starts[row] in [0, 1) on, passes an integer. Near
    pairs, which are listed in ascending order, are left out. Sets first and second to the samples of a pair, drawn to
    its distance.
    """
    distance, own_share = np.empty(PIECE, np.uint64), np.empty(PIECE)
    n_drawn = 0
    for row in range(first_row, last_row):
        i, s = circle[row], starts[row]
        for start in range(row + 1, row + 1 + n_compared, PIECE):
            stop = min(start + PIECE, row + 1 + n_compared)
            _find_distances(words, row, start, stop, distance)
            own_share[:] = 0.0
            _look_up(share, distance, 0, stop - start, own_share)
            for group in range(np.uint64(0), np.uint64(stop - start), GROUP):
                of_group = _sum_group(own_share, group)
                if s + of_group < 1.0:
                    # Few pairs are drawn: mostly none of a group.
                    s += of_group
                    continue
                for column in range(group, group + GROUP):
                    s += own_share[column]
                    if s >= 1.0:
                        s -= 1.0
                        j = circle[np.uint64(start) + column]
                        if not _is_listed(indptr, indices, i, j):
                            first[n_drawn], second[n_drawn], drawn[n_drawn] = i, j, distance[column]
                            n_drawn += 1
    return n_drawn


@njit(fastmath=True)
def _sum_group(values, start):
    s = 0.0
    for k in range(GROUP):
        s += values[start + k]
    return s


@njit
def _is_listed(indptr, indices, i, j):
    """Whether j is in the list of i, which is in ascending order."""
    low, high = indptr[i], indptr[i + 1]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < j:
            low = middle + 1
        else:
            high = middle
    return low < indptr[i + 1] and indices[low] == j


@kernel
def add_listed_field(first, second, weight, start, stop, x, out):
    """Add the listed pairs k, start <= k < stop, to the field of both samples."""
    for k in range(start, stop):
        i, j = first[k], second[k]
        out[i] += weight[k] * x[j]
        out[j] += weight[k] * x[i]


@njit
def _add_range(words, table, i, step, start, stop, distance, field):
    """field[j] += step * table[h(i, j)] for start <= j < stop."""
    for first in range(start, stop, PIECE):
        last = min(first + PIECE, stop)
        _find_distances(words, i, first, last, distance)
        for j in range(np.uint64(last - first)):
            field[np.uint64(first) + j] += step * table[distance[j]]


@kernel
def add_class_row(words, near, far, i, step, lower, upper, field):
    """field[j] += step * w_ij for j != i."""
    distance = np.empty(PIECE, np.uint64)
    _add_range(words, far, i, step, 0, lower, distance, field)
    _add_range(words, near, i, step, lower, i, distance, field)
    _add_range(words, near, i, step, i + 1, upper, distance, field)
    _add_range(words, far, i, step, upper, field.size, distance, field)


@kernel
def add_mask_row(words, near, far, i, step, masks, field):
    """field[j] += step * w_ij for j != i."""
    distance, meet, own = np.empty(PIECE, np.uint64), np.empty(PIECE, np.uint64), field[i]
    tables = np.concatenate((far, near))
    for start in range(0, field.size, PIECE):
        stop = min(start + PIECE, field.size)
        _find_distances(words, i, start, stop, distance)
        _find_meeting(masks, i, start, stop, meet)
        _shift(distance, meet, far.size, stop - start)
        for j in range(np.uint64(stop - start)):
            field[np.uint64(start) + j] += step * tables[distance[j]]
    field[i] = own


@kernel
def add_list_row(words, near, far, i, step, indptr, indices, field):
    """field[j] += step * w_ij for j != i."""
    distance, weight, own = np.empty(PIECE, np.uint64), np.empty(PIECE), field[i]
    k = indptr[i]
    for start in range(0, field.size, PIECE):
        stop = min(start + PIECE, field.size)
        _find_distances(words, i, start, stop, distance)
        _look_up(far, distance, 0, stop - start, weight)
        while k < indptr[i + 1] and indices[k] < stop:
            j = indices[k] - start
            weight[j] = near[distance[j]]
            k += 1
        for j in range(np.uint64(stop - start)):
            field[np.uint64(start) + j] += step * weight[j]
    field[i] = own


@njit
def _find_meeting(masks, i, start, stop, meet):
    """meet[j - start] is nonzero where the label sets of i and j have a label in common, start <= j < stop."""
    first, size = np.uint64(start), np.uint64(stop - start)
    own = masks[0, i]
    for j in range(size):
        meet[j] = own & masks[0, first + j]
    for w in range(1, masks.shape[0]):
        own = masks[w, i]
        for j in range(size):
            meet[j] |= own & masks[w, first + j]


@njit
def _shift(distance, meet, n_distances, size):
    """Distances of near pairs continue after those of far ones, in one table for both."""
    for j in range(np.uint64(size)):
        distance[j] += np.uint64(n_distances) if meet[j] != 0 else np.uint64(0)


@njit
def _count(distance, size, start, stop, counts):
    """Add size[j] to the count of distance[j - start], start <= j < stop."""
    first, last = np.uint64(start), np.uint64(stop - start)
    # Neighbouring columns have a histogram each, so that equal distances do not wait for one another.
    for j in range(np.uint64(0), last - last % np.uint64(2), np.uint64(2)):
        counts[0, distance[j]] += size[first + j]
        counts[1, distance[j + np.uint64(1)]] += size[first + j + np.uint64(1)]
    if last % np.uint64(2):
        counts[0, distance[last - np.uint64(1)]] += size[stop - 1]


@njit
def _move(counts, size, total):
    """Add `size` times the counts to the total, and set them to zero."""
    for h in range(total.size):
        total[h] += size * (counts[0, h] + counts[1, h])
        counts[0, h] = counts[1, h] = 0


@kernel
def count_classes(words, size, upper, n_bits, stripe, n_stripes):
    """Numbers of far pairs i < j at h = 0..n_bits, and of near pairs; each pair counts size[i] * size[j] times."""
    distance, meet = np.empty(PIECE, np.uint64), np.ones(PIECE, np.uint64)
    total, counts = np.zeros(2 * n_bits + 2, np.int64), np.zeros((2, 2 * n_bits + 2), np.int64)
    for i in range(stripe, size.size, n_stripes):
        for start in range(i + 1, size.size, PIECE):
            stop = min(start + PIECE, size.size)
            _find_distances(words, i, start, stop, distance)
            _shift(distance, meet, n_bits + 1, min(max(0, upper[i] - start), stop - start))
            _count(distance, size, start, stop, counts)
        _move(counts, size[i], total)
    return total


@kernel
def count_masks(words, size, masks, n_bits, stripe, n_stripes):
    """Count far and near pairs as `count_classes`; a pair is near where its masks meet."""
    distance, meet = np.empty(PIECE, np.uint64), np.empty(PIECE, np.uint64)
    total, counts = np.zeros(2 * n_bits + 2, np.int64), np.zeros((2, 2 * n_bits + 2), np.int64)
    for i in range(stripe, size.size, n_stripes):
        for start in range(i + 1, size.size, PIECE):
            stop = min(start + PIECE, size.size)
            _find_distances(words, i, start, stop, distance)
            _find_meeting(masks, i, start, stop, meet)
            _shift(distance, meet, n_bits + 1, stop - start)
            _count(distance, size, start, stop, counts)
        _move(counts, size[i], total)
    return total


@kernel
def list_distances(words, first, second, start, stop, out):
    """out[k] = Hamming distance of the listed pair k, for start <= k < stop."""
    for k in range(start, stop):
        distance = 0
        for w in range(words.shape[0]):
            distance += popcount(words[w, first[k]] ^ words[w, second[k]])
        out[k] = distance


@kernel
def next_improving(partition, field, group_of, own, tolerance, start):
    """Return the first sample from `start` on whose flip raises b'Wb, n where there is none.

    The field is that of groups and contains the sample's own term, which is subtracted.
    """
    for i in range(start, partition.size):
        group = group_of[i]
        if partition[i] * field[group] - own[group] < -tolerance[i]:
            return i
    return partition.size


@kernel
def sweep_lists(words, near, far, indptr, indices, tolerance, partition, field):
    """Flip in turn each sample whose flip raises b'Wb, near samples as listed; return the number of flips."""
    flips = 0
    for i in range(partition.size):
        if partition[i] * field[i] < -tolerance[i]:
            partition[i] = -partition[i]
            add_list_row(words, near, far, i, 2.0 * partition[i], indptr, indices, field)
            flips += 1
    return flips


@kernel
def sweep_masks(words, near, far, masks, group_of, own, tolerance, partition, field):
    """Flip in turn each sample whose flip raises b'Wb, near where masks meet; return the number of flips."""
    flips = 0
    for i in range(partition.size):
        group = group_of[i]
        if partition[i] * field[group] - own[group] < -tolerance[i]:
            partition[i] = -partition[i]
            step = 2.0 * partition[i]
            field[group] += step * own[group]
            add_mask_row(words, near, far, group, step, masks, field)
            flips += 1
    return flips


@kernel
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
