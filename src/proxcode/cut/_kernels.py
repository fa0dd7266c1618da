"""Numba kernels over explicit weight matrices.

Weights are tuples `rows`: (weights,) for a square array, whose diagonal is ignored, and (indptr, indices, data) for a
sparse matrix. Numba decides which of the two at compile time, because the length of a tuple is part of its type.

The local search keeps the field s = Wb, because a flip then costs one row of W. Annealing keeps the stabilities
g_i = b_i s_i: a flip of node i changes b'Wb by -4 g_i, so that a proposal costs one comparison; its partitions are
arrays of floats.
"""

import numpy as np

from proxcode.utils.jit import kernel, subroutine


@kernel
def sweep_fields(rows, partition, field, tolerance):
    """Flip each node in turn with b_i s_i < -tolerance_i; updates `partition` and `field`, returns the flips."""
    flips = 0
    for i in range(partition.size):
        if partition[i] * field[i] < -tolerance[i]:
            partition[i] = -partition[i]
            own, step = field[i], 2.0 * partition[i]
            if len(rows) == 1:
                row = rows[0][i]
                for j in range(partition.size):
                    field[j] += step * row[j]
            else:
                indptr, indices, data = rows
                for k in range(indptr[i], indptr[i + 1]):
                    field[indices[k]] += step * data[k]
            field[i] = own
            flips += 1
    return flips


@kernel
def add_dense_rows(weights, x, total):
    """Add sum_i x_i W[i] to `total`: the product Wx of symmetric weights, each read once in its own type."""
    for i in range(x.size):
        for j in range(x.size):
            total[j] += x[i] * weights[i, j]


# Inlined, because a call would cost a quarter of the sweep.
@subroutine(forceinline=True)
def _flip(rows, i, partition, stability):
    # Read once, because the compiler cannot know that row i does not change them.
    own, sign = stability[i], partition[i]
    step = 2 * sign
    if len(rows) == 1:
        row = rows[0][i]
        for j in range(partition.size):
            stability[j] -= step * partition[j] * row[j]
    else:
        indptr, indices, data = rows
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            stability[j] -= step * partition[j] * data[k]
    partition[i] = -sign
    stability[i] = -own


@kernel
def anneal_nodes(rows, partition, stability, table, offsets, temperatures):
    """Make one Metropolis sweep per temperature T; e_i = -log u_i is read from a lookup table at an offset.

    Updates `partition` and `stability` in place and returns the number of flips.
    """
    mask = table.size - 1
    flips = 0
    for sweep in range(temperatures.size):
        temperature, offset = temperatures[sweep], offsets[sweep]
        for i in range(partition.size):
            if stability[i] < temperature * table[(offset + i) & mask]:
                _flip(rows, i, partition, stability)
                flips += 1
    return flips


@kernel
def sweep_nodes(rows, partition, stability, tolerance):
    """`sweep_fields` with stabilities in place of the field."""
    flips = 0
    for i in range(partition.size):
        if stability[i] < -tolerance[i]:
            _flip(rows, i, partition, stability)
            flips += 1
    return flips


@kernel
def compute_stability(rows, partition, stability):
    """Compute stability[i] = b_i sum_j w_ij b_j over j other than i."""
    for i in range(partition.size):
        total, own = 0.0, 0.0
        if len(rows) == 1:
            own = rows[0][i, i]
            for j in range(partition.size):
                total += rows[0][i, j] * partition[j]
        else:
            indptr, indices, data = rows
            for k in range(indptr[i], indptr[i + 1]):
                total += data[k] * partition[indices[k]]
        stability[i] = total * partition[i] - own


@kernel
def keep_components(rows, best, other):
    """Adopt from `other` each connected component of the difference to `best` that does not decrease b'Wb.

    Components have no edge between them, so that their gains are additive. Updates `best` in place.
    """
    indptr, indices, data = rows
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


@kernel
def enumerate_partitions(weights):
    """Return the best of all partitions whose last entry is +1; W has no diagonal, n is small.

    Partitions are visited in the order of the Gray code, so that each differs from the one before by one flip.
    """
    n = weights.shape[0]
    partition, stability = np.ones(n), np.empty(n)
    compute_stability((weights,), partition, stability)
    value, best, best_partition = stability.sum(), stability.sum(), partition.copy()
    for count in range(1, 1 << (n - 1)):
        i, bits = 0, count
        while bits & 1 == 0:
            bits >>= 1
            i += 1
        value -= 4.0 * stability[i]
        _flip((weights,), i, partition, stability)
        # The stabilities are recomputed regularly, before rounding errors accumulate.
        if count & 63 == 0:
            compute_stability((weights,), partition, stability)
            value = stability.sum()
        if value > best:
            best = value
            best_partition[:] = partition
    return best_partition


@kernel
def mix_sparse(indptr, indices, data, vectors, norms):
    """Make one sweep of the mixing method: v_i <- sum_j w_ij v_j, normalised, node by node.

    Updates `vectors` and `norms`, the lengths before normalisation, in place; returns the gain of sum w_ij v_i'v_j.
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
