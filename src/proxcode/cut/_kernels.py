"""Numba kernels over explicit weight matrices.

The annealing kernels keep the stabilities g_i = b_i s_i, s = Wb: a flip of point i changes b'Wb by -4 g_i, so that a
proposal costs one comparison. Arrays of sides hold numbers of the weights' own type.
"""

import numpy as np
from numba import njit


@njit(cache=True)
def next_improving(partition, field, tolerance, start):
    """First point from `start` on whose flip raises b'Wb, or n where there is none."""
    for i in range(start, partition.size):
        if partition[i] * field[i] < -tolerance[i]:
            return i
    return partition.size


@njit(cache=True)
def add_sparse_row(indptr, indices, data, i, step, field):
    """field[j] += step * W[i, j] over the stored entries of row i."""
    for k in range(indptr[i], indptr[i + 1]):
        field[indices[k]] += step * data[k]


@njit(cache=True)
def sweep_sparse(indptr, indices, data, partition, field, tolerance):
    """Flip each point in turn with b_i s_i < -tolerance_i; returns the flips, updates `partition` and `field` in place."""
    flips = 0
    for i in range(partition.size):
        if partition[i] * field[i] < -tolerance[i]:
            partition[i] = -partition[i]
            add_sparse_row(indptr, indices, data, i, 2.0 * partition[i], field)
            flips += 1
    return flips


@njit(cache=True)
def sweep_dense(weights, partition, field, tolerance):
    """`sweep_sparse` over a square array, its diagonal ignored."""
    flips = 0
    for i in range(partition.size):
        if partition[i] * field[i] < -tolerance[i]:
            partition[i] = -partition[i]
            own, step = field[i], 2.0 * partition[i]
            for j in range(partition.size):
                field[j] += step * weights[i, j]
            field[i] = own
            flips += 1
    return flips


@njit(cache=True, nogil=True)
def add_dense_rows(weights, x, total):
    """Total += sum_i x_i W[i], the product Wx of symmetric weights: each is read once, in whatever type it has."""
    for i in range(x.size):
        for j in range(x.size):
            total[j] += x[i] * weights[i, j]


@njit(inline="always")  # a call would cost a quarter of the sweep
def _flip_sparse(indptr, indices, data, i, partition, stability):
    own, side_i = stability[i], partition[i]  # read once: the compiler cannot know that row i leaves them alone
    step = 2 * side_i
    for k in range(indptr[i], indptr[i + 1]):
        j = indices[k]
        stability[j] -= step * partition[j] * data[k]
    partition[i] = -side_i
    stability[i] = -own


@njit(cache=True, nogil=True)
def anneal_sparse(indptr, indices, data, partition, stability, table, offsets, temperatures):
    """One Metropolis sweep per temperature, T e_i being drawn from a table of exponentials e = -log u.

    Returns the flips; updates `partition` and `stability` in place.
    """
    mask = table.size - 1
    flips = 0
    for sweep in range(temperatures.size):
        temperature, offset = temperatures[sweep], offsets[sweep]
        for i in range(partition.size):
            if stability[i] < temperature * table[(offset + i) & mask]:
                _flip_sparse(indptr, indices, data, i, partition, stability)
                flips += 1
    return flips


@njit(cache=True, nogil=True)
def descend_sparse(indptr, indices, data, partition, stability, tolerance):
    """Flip points until no flip improves; returns the flips, updates `partition` and `stability` in place."""
    flips, before = 0, -1
    while flips > before:
        before = flips
        for i in range(partition.size):
            if stability[i] < -tolerance[i]:
                _flip_sparse(indptr, indices, data, i, partition, stability)
                flips += 1
    return flips


@njit(cache=True, nogil=True)
def sparse_stability(indptr, indices, data, partition, stability):
    """stability[i] = b_i sum_j w_ij b_j."""
    for i in range(partition.size):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * partition[indices[k]]
        stability[i] = total * partition[i]


@njit(cache=True, nogil=True)
def _flip_dense(weights, i, partition, stability):
    step, own = 2 * partition[i], stability[i]
    row = weights[i]
    for j in range(partition.size):
        stability[j] -= step * partition[j] * row[j]
    partition[i] = -partition[i]
    stability[i] = -own  # whatever the diagonal holds


@njit(cache=True, nogil=True)
def anneal_dense(weights, partition, stability, table, offsets, temperatures):
    """`anneal_sparse` over a square array, its diagonal ignored."""
    mask = table.size - 1
    flips = 0
    for sweep in range(temperatures.size):
        temperature, offset = temperatures[sweep], offsets[sweep]
        for i in range(partition.size):
            if stability[i] < temperature * table[(offset + i) & mask]:
                _flip_dense(weights, i, partition, stability)
                flips += 1
    return flips


@njit(cache=True, nogil=True)
def descend_dense(weights, partition, stability, tolerance):
    """`descend_sparse` over a square array, its diagonal ignored."""
    flips, before = 0, -1
    while flips > before:
        before = flips
        for i in range(partition.size):
            if stability[i] < -tolerance[i]:
                _flip_dense(weights, i, partition, stability)
                flips += 1
    return flips


@njit(cache=True, nogil=True)
def dense_stability(weights, partition, stability):
    """stability[i] = b_i sum_j w_ij b_j, j other than i."""
    for i in range(partition.size):
        total = 0.0
        for j in range(partition.size):
            total += weights[i, j] * partition[j]
        stability[i] = total * partition[i] - weights[i, i]


@njit(cache=True, nogil=True)
def keep_components(indptr, indices, data, best, other):
    """Take over from `other` each connected component of the difference to `best` that does not lower b'Wb.

    Components have no edge between them, so that their gains add up. Updates `best` in place.
    """
    n = best.size
    seen = np.zeros(n, np.bool_)
    component = np.empty(n, np.int64)
    for root in range(n):
        if seen[root] or best[root] == other[root]:
            continue
        component[0], size, position, gain = root, 1, 0, 0.0
        seen[root] = True
        while position < size:
            i = component[position]
            position += 1
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                if best[j] == other[j]:
                    gain -= data[k] * best[i] * best[j]
                elif not seen[j]:
                    seen[j] = True
                    component[size] = j
                    size += 1
        if gain >= 0:
            for k in range(size):
                best[component[k]] = other[component[k]]


@njit(cache=True, nogil=True)
def dense_field(weights, partition, field):
    """field[i] = sum_j w_ij b_j."""
    for i in range(partition.size):
        field[i] = 0.0
        for j in range(partition.size):
            field[i] += weights[i, j] * partition[j]


@njit(cache=True, nogil=True)
def enumerate_partitions(weights):
    """Return the best of all partitions, the last point on the side +1; W has no diagonal, n is small.

    Partitions are visited in the order of the Gray code: each differs from the one before by one flip.
    """
    n = weights.shape[0]
    partition = np.ones(n)
    field = np.zeros(n)
    dense_field(weights, partition, field)
    value, best = (partition * field).sum(), (partition * field).sum()
    best_side = partition.copy()
    for count in range(1, 1 << (n - 1)):
        i, bits = 0, count
        while bits & 1 == 0:
            bits >>= 1
            i += 1
        value -= 4.0 * partition[i] * field[i]
        partition[i] = -partition[i]
        if count & 63 == 0:  # anew, before rounding errors add up
            dense_field(weights, partition, field)
            value = (partition * field).sum()
        else:
            for j in range(n):
                field[j] += 2.0 * partition[i] * weights[i, j]
        if value > best:
            best = value
            best_side[:] = partition
    return best_side


@njit(cache=True, nogil=True)
def mix_sparse(indptr, indices, data, vectors, norms):
    """One sweep of the mixing method: v_i <- sum_j w_ij v_j, normalised, point after point.

    Updates `vectors` and `norms`, the lengths before normalising, in place; returns the gain of sum w_ij v_i'v_j.
    """
    n, rank = vectors.shape
    total = np.empty(rank)
    gain = 0.0
    for i in range(n):
        total[:] = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            j, weight = indices[k], data[k]
            for r in range(rank):
                total[r] += weight * vectors[j, r]
        squared, before = 0.0, 0.0
        for r in range(rank):
            squared += total[r] * total[r]
            before += total[r] * vectors[i, r]
        norms[i] = np.sqrt(squared)
        if norms[i] > 0:
            gain += 2.0 * (norms[i] - before)
            for r in range(rank):
                vectors[i, r] = total[r] / norms[i]
    return gain
