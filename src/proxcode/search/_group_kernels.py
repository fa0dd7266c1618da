"""Numba kernels of near-duplicates: groups of linked rows, and the positions of the codes of rows.

A row is a distinct code: row r is the code at the positions order[starts[r]] to order[starts[r + 1] - 1], in increasing
order. Groups are trees of rows: `parents` holds a smaller row of the same group for each row, or the row itself if it
is the root.
"""

import numpy as np

from proxcode.search._join_kernels import LOWER
from proxcode.utils.jit import kernel, subroutine


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
