"""Numba kernels that count pairs by Hamming distance, or draw some; see `_distance_kernels` for the arguments."""

import numpy as np

from proxcode.pairs._distance_kernels import PIECE, find_distances, find_mask_distances, look_up, shift_near
from proxcode.utils.jit import kernel, subroutine

# Columns of a piece, a divisor of PIECE, that are compared together where few are drawn.
GROUP = np.uint64(8)


@subroutine
def _count(distance, size, start, stop, counts):
    """Add size[j] to the count of distance[j - start], start <= j < stop."""
    first, last = np.uint64(start), np.uint64(stop - start)
    # Neighbouring columns have a histogram each, so that equal distances do not wait for one another.
    for j in range(np.uint64(0), last - last % np.uint64(2), np.uint64(2)):
        counts[0, distance[j]] += size[first + j]
        counts[1, distance[j + np.uint64(1)]] += size[first + j + np.uint64(1)]
    if last % np.uint64(2):
        counts[0, distance[last - np.uint64(1)]] += size[stop - 1]


@subroutine
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
            find_distances(words, i, start, stop, distance)
            shift_near(distance, meet, n_bits + 1, min(max(0, upper[i] - start), stop - start))
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
            find_mask_distances(words, masks, i, start, stop, n_bits + 1, meet, distance)
            _count(distance, size, start, stop, counts)
        _move(counts, size[i], total)
    return total


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
            find_distances(words, row, start, stop, distance)
            own_share[:] = 0.0
            look_up(share, distance, 0, stop - start, own_share)
            for group in range(np.uint64(0), np.uint64(stop - start), GROUP):
                of_group = _sum_group(own_share, group)
                if s + of_group < 1.0:
                    # Few pairs are drawn: mostly none of a group.
                    s += of_group
                    continue
                for column in range(group, group + GROUP):
                    s += own_share[column]
                    # By rounding s may be 1 again at a column beyond the last one, whose share is 0.
                    if s >= 1.0 and own_share[column] > 0.0:
                        s -= 1.0
                        j = circle[np.uint64(start) + column]
                        if not _is_listed(indptr, indices, i, j):
                            first[n_drawn], second[n_drawn], drawn[n_drawn] = i, j, distance[column]
                            n_drawn += 1
    return n_drawn


@subroutine(fastmath=True)
def _sum_group(values, start):
    s = 0.0
    for k in range(GROUP):
        s += values[start + k]
    return s


@subroutine
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
