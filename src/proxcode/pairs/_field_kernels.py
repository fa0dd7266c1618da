"""Numba kernels of fields: sums of weights over the pairs of each sample; see `_distance_kernels` for the arguments.

The pairs (i, j), i < j, are visited once for both samples. A kernel visits the rows `stripe`, `stripe` + `n_stripes`,
..., so that threads share a triangle evenly; the number of stripes is fixed by that of the samples, and results do not
depend on that of the threads.
"""

import numpy as np

from proxcode.pairs._distance_kernels import PIECE, find_distances, find_mask_distances, look_up
from proxcode.utils.jit import kernel, subroutine


@subroutine(fastmath=True)
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
            find_distances(words, i, start, stop, distance)
            look_up(near, distance, 0, n_near, weight)
            look_up(far, distance, n_near, stop - start, weight)
            _add_pairs(weight, i, start, stop, x, out)


@kernel
def add_mask_field(words, near, far, x, masks, stripe, n_stripes, out):
    """out[i] += sum over j != i of w_ij x[j]; a pair is near where its masks meet."""
    distance, weight, meet = np.empty(PIECE, np.uint64), np.empty(PIECE), np.empty(PIECE, np.uint64)
    tables = np.concatenate((far, near))
    for i in range(stripe, x.size, n_stripes):
        for start in range(i + 1, x.size, PIECE):
            stop = min(start + PIECE, x.size)
            find_mask_distances(words, masks, i, start, stop, far.size, meet, distance)
            look_up(tables, distance, 0, stop - start, weight)
            _add_pairs(weight, i, start, stop, x, out)


@subroutine
def _look_up_listed(near, distance, indices, first, last, start, stop, weight):
    """weight[j - start] = near[h] for the j < stop that are listed from indices[first] on; return where the next is."""
    k = first
    while k < last and indices[k] < stop:
        j = indices[k] - start
        weight[j] = near[distance[j]]
        k += 1
    return k


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
            find_distances(words, i, start, stop, distance)
            look_up(far, distance, 0, stop - start, weight)
            k = _look_up_listed(near, distance, indices, k, indptr[i + 1], start, stop, weight)
            _add_pairs(weight, i, start, stop, x, out)


@kernel
def add_listed_field(first, second, weight, start, stop, x, out):
    """Add the listed pairs k, start <= k < stop, to the field of both samples."""
    for k in range(start, stop):
        i, j = first[k], second[k]
        out[i] += weight[k] * x[j]
        out[j] += weight[k] * x[i]


@subroutine
def _add_range(words, table, i, step, start, stop, distance, field):
    """field[j] += step * table[h(i, j)] for start <= j < stop."""
    for first in range(start, stop, PIECE):
        last = min(first + PIECE, stop)
        find_distances(words, i, first, last, distance)
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
        find_mask_distances(words, masks, i, start, stop, far.size, meet, distance)
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
        find_distances(words, i, start, stop, distance)
        look_up(far, distance, 0, stop - start, weight)
        k = _look_up_listed(near, distance, indices, k, indptr[i + 1], start, stop, weight)
        for j in range(np.uint64(stop - start)):
            field[np.uint64(start) + j] += step * weight[j]
    field[i] = own


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
def sweep_lists(words, near, far, indptr, indices, tolerance, partition, field):
    """Flip in turn each sample whose flip raises b'Wb, near samples as listed; return the number of flips."""
    flips = 0
    for i in range(partition.size):
        if partition[i] * field[i] < -tolerance[i]:
            partition[i] = -partition[i]
            add_list_row(words, near, far, i, 2.0 * partition[i], indptr, indices, field)
            flips += 1
    return flips
