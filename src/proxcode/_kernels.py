"""Numba kernels over packed codes.

Everywhere `words` is a tuple of uint64 arrays of shape (n,), one array per 64 bits of code: its length is part of its
type, so that the loop over the words of a pair is unrolled and the loop over points is vectorised for every code
length. `table[h]` is the weight of a pair at Hamming distance h.

Each output element is summed by one thread in a fixed order: results do not depend on the number of threads.
"""

import numpy as np
from numba import njit, prange, types
from numba.extending import intrinsic

N_STRIPES = 16  # rows are dealt to this many stripes: enough to balance a triangle over the cores


@intrinsic
def popcount(typingctx, word):  # type: ignore[no-untyped-def]
    """Count the ones in a uint64, by the processor's own instruction."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@njit(inline="always")
def _distance(words, i, j):  # type: ignore[no-untyped-def]
    distance = popcount(words[0][i] ^ words[0][j])
    for w in range(1, len(words)):
        distance += popcount(words[w][i] ^ words[w][j])
    return distance


@njit(parallel=True, fastmath=True, cache=True)
def add_all_field(words, table, x, out):  # type: ignore[no-untyped-def]
    """out[i] += sum over all j of table[h(i, j)] x[j]; four rows at a time share each load of j."""
    n = x.size
    for quad in prange((n + 3) // 4):
        i0 = 4 * quad
        # A short last quad repeats its last row; the stores below overwrite it with the same value.
        i1, i2, i3 = min(i0 + 1, n - 1), min(i0 + 2, n - 1), min(i0 + 3, n - 1)
        o0, o1, o2, o3 = out[i0], out[i1], out[i2], out[i3]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(n):
            s0 += table[_distance(words, i0, j)] * x[j]
            s1 += table[_distance(words, i1, j)] * x[j]
            s2 += table[_distance(words, i2, j)] * x[j]
            s3 += table[_distance(words, i3, j)] * x[j]
        out[i3] = o3 + s3
        out[i2] = o2 + s2
        out[i1] = o1 + s1
        out[i0] = o0 + s0


@njit(parallel=True, fastmath=True, cache=True)
def add_range_field(words, table, x, lower, upper, out):  # type: ignore[no-untyped-def]
    """out[i] += sum over lower[i] <= j < upper[i] of table[h(i, j)] x[j]."""
    for i in prange(x.size):
        s = 0.0
        for j in range(lower[i], upper[i]):
            s += table[_distance(words, i, j)] * x[j]
        out[i] += s


@njit(parallel=True, fastmath=True, cache=True)
def add_mask_field(words, masks, table, x, out):  # type: ignore[no-untyped-def]
    """out[i] += sum over j whose mask meets that of i of table[h(i, j)] x[j]."""
    for i in prange(x.size):
        s = 0.0
        for j in range(x.size):
            if masks_meet(masks, i, j):
                s += table[_distance(words, i, j)] * x[j]
        out[i] += s


@njit(parallel=True, fastmath=True, cache=True)
def add_list_field(words, indptr, indices, table, x, out):  # type: ignore[no-untyped-def]
    """out[i] += sum over the listed j of row i of table[h(i, j)] x[j]."""
    for i in prange(x.size):
        s = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            s += table[_distance(words, i, indices[k])] * x[indices[k]]
        out[i] += s


@njit(cache=True)
def add_range_row(words, table, i, step, lower, upper, field):  # type: ignore[no-untyped-def]
    """field[j] += step * table[h(i, j)] for lower <= j < upper."""
    for j in range(lower, upper):
        field[j] += step * table[_distance(words, i, j)]


@njit(cache=True)
def add_mask_row(words, masks, table, i, step, field):  # type: ignore[no-untyped-def]
    """field[j] += step * table[h(i, j)] for each j whose mask meets that of i."""
    for j in range(field.size):
        if masks_meet(masks, i, j):
            field[j] += step * table[_distance(words, i, j)]


@njit(cache=True)
def add_list_row(words, indptr, indices, table, i, step, field):  # type: ignore[no-untyped-def]
    """field[j] += step * table[h(i, j)] for each listed j of row i."""
    for k in range(indptr[i], indptr[i + 1]):
        field[indices[k]] += step * table[_distance(words, i, indices[k])]


@njit(inline="always")
def masks_meet(masks, i, j):  # type: ignore[no-untyped-def]
    """Whether two label sets have a label in common."""
    for w in range(masks.shape[0]):
        if masks[w, i] & masks[w, j]:
            return True
    return False


@njit(parallel=True, cache=True)
def count_ranges(words, size, upper, n_bits):  # type: ignore[no-untyped-def]
    """Histogram of h(i, j) over i < j < upper[i], each pair counted size[i] * size[j] times."""
    n = size.size
    counts = np.zeros((N_STRIPES, n_bits + 1), np.int64)
    for stripe in prange(N_STRIPES):
        # Four neighbouring columns have a histogram each, so that equal distances do not wait for one another.
        own = np.zeros((4, n_bits + 1), np.int64)
        for i in range(stripe, n, N_STRIPES):
            last = upper[i] - (upper[i] - i - 1) % 4
            for j in range(i + 1, last, 4):
                own[0, _distance(words, i, j)] += size[i] * size[j]
                own[1, _distance(words, i, j + 1)] += size[i] * size[j + 1]
                own[2, _distance(words, i, j + 2)] += size[i] * size[j + 2]
                own[3, _distance(words, i, j + 3)] += size[i] * size[j + 3]
            for j in range(last, upper[i]):
                own[0, _distance(words, i, j)] += size[i] * size[j]
        counts[stripe] = own.sum(axis=0)
    return counts.sum(axis=0)


@njit(parallel=True, cache=True)
def count_masks(words, masks, size, n_bits):  # type: ignore[no-untyped-def]
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
def list_distances(words, first, second):  # type: ignore[no-untyped-def]
    """Hamming distance of each listed pair."""
    out = np.empty(first.size, np.int64)
    for k in prange(first.size):
        out[k] = _distance(words, first[k], second[k])
    return out


@njit(cache=True)
def next_improving(side, field, unit_of, diagonal, start, tolerance):  # type: ignore[no-untyped-def]
    """First point from `start` on whose flip raises b'Wb, or n where there is none.

    The field is that of units, points with equal rows of W; it holds a point's own term, which is taken off.
    """
    for i in range(start, side.size):
        unit = unit_of[i]
        if side[i] * field[unit] - diagonal[unit] < -tolerance:
            return i
    return side.size
