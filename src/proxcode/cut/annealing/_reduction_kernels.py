# mypy: ignore-errors
"""Numba kernels that reduce a sparse graph and restore its partitions.

Edge e joins two nodes; its half-edges are 2e and 2e + 1, and h ^ 1 is the other half of h. The half-edges that leave a
node form a doubly linked list: an edge is removed in constant time, and its memory is used again, because no rule adds
more edges than it removes.
"""

import numpy as np

from proxcode.utils.jit import kernel


@kernel
def _link(h, node, lists):
    _, head, following, previous, degree = lists
    following[h] = head[node]
    previous[h] = -1
    if head[node] >= 0:
        previous[head[node]] = h
    head[node] = h
    degree[node] += 1


@kernel
def _unlink(h, node, lists):
    _, head, following, previous, degree = lists
    if previous[h] >= 0:
        following[previous[h]] = following[h]
    else:
        head[node] = following[h]
    if following[h] >= 0:
        previous[following[h]] = previous[h]
    degree[node] -= 1


@kernel
def _remove(e, lists, free, n_free):
    """Remove an edge; returns the number of free edges."""
    target = lists[0]
    _unlink(2 * e, target[2 * e + 1], lists)
    _unlink(2 * e + 1, target[2 * e], lists)
    free[n_free] = e
    return n_free + 1


@kernel
def _find(u, v, lists):
    """Return the edge between u and v, or -1 if there is none; the shorter list is read."""
    target, head, following, _, degree = lists
    if degree[u] > degree[v]:
        u, v = v, u
    h = head[u]
    while h >= 0:
        if target[h] == v:
            return h >> 1
        h = following[h]
    return -1


@kernel
def _add(u, v, weight, weights, lists, free, n_free):
    """Add to the weight between u and v, and remove the edge if it becomes 0; returns the number of free edges."""
    if weight == 0.0:
        return n_free
    e = _find(u, v, lists)
    if e >= 0:
        weights[e] += weight
        return _remove(e, lists, free, n_free) if weights[e] == 0.0 else n_free
    n_free -= 1
    e = free[n_free]
    target = lists[0]
    weights[e] = weight
    target[2 * e], target[2 * e + 1] = v, u
    _link(2 * e, u, lists)
    _link(2 * e + 1, v, lists)
    return n_free


@kernel
def _read_neighbors(v, weights, lists, near, near_weight):
    """Write v's neighbours and their weights; returns the position of the largest |weight| and whether it dominates."""
    target, head, following, _, _ = lists
    total, top, k, h = 0.0, 0, 0, head[v]
    while h >= 0:
        near[k], near_weight[k] = target[h], weights[h >> 1]
        total += abs(near_weight[k])
        if abs(near_weight[k]) > abs(near_weight[top]):
            top = k
        k += 1
        h = following[h]
    return top, k > 0 and 2 * abs(near_weight[top]) >= total


@kernel
def _linked_lists(n, first, second):
    m = first.size
    lists = np.empty(2 * m, np.int64), np.full(n, -1), np.full(2 * m, -1), np.full(2 * m, -1), np.zeros(n, np.int64)
    for e in range(m):
        lists[0][2 * e], lists[0][2 * e + 1] = second[e], first[e]
        _link(2 * e, first[e], lists)
        _link(2 * e + 1, second[e], lists)
    return lists


@kernel
def star_triangle(a, b, c):
    """Return weights of the pairs (1, 2), (1, 3), (2, 3) with |a b1 + b b2 + c b3| = constant + sum_kl w_kl b_k b_l."""
    all_equal, first, second, third = abs(a + b + c), abs(b + c - a), abs(a + c - b), abs(a + b - c)
    return (
        (all_equal + third - first - second) / 4,
        (all_equal + second - first - third) / 4,
        (all_equal + first - second - third) / 4,
    )


@kernel
def reduce_edges(n, first, second, weights, scan_limit):
    """Remove nodes while a rule applies; `weights` is changed in place.

    Returns the removed nodes in order, up to three neighbours of each and the weights that decide its sign (padded by
    -1 and 0), a mask of the edges that are left, and the ends of all edges as half-edge targets.
    """
    lists = _linked_lists(n, first, second)
    target, head, _, _, degree = lists
    free, n_free = np.empty(weights.size, np.int64), 0
    queue, n_queued, is_queued = np.arange(n)[::-1].copy(), n, np.ones(n, np.bool_)
    removed, n_removed = np.empty(n, np.int64), 0
    neighbors, deciding = np.full((n, 3), -1), np.zeros((n, 3))
    near, near_weight = np.empty(max(scan_limit, 3), np.int64), np.empty(max(scan_limit, 3))
    while n_queued:
        n_queued -= 1
        v = queue[n_queued]
        is_queued[v] = False
        d = degree[v]
        if d > near.size:
            continue
        top, dominated = _read_neighbors(v, weights, lists, near, near_weight)
        if d > 3 and not dominated:
            continue
        while head[v] >= 0:
            n_free = _remove(head[v] >> 1, lists, free, n_free)
        removed[n_removed] = v
        if dominated:
            # Rule 1: the edges of the removed node are added to its dominating neighbour.
            neighbors[n_removed, 0], deciding[n_removed, 0] = near[top], near_weight[top]
            sign = np.sign(near_weight[top])
            for k in range(d):
                if k != top:
                    n_free = _add(near[top], near[k], sign * near_weight[k], weights, lists, free, n_free)
        elif d == 3:
            # Rule 2: weights are added between the three neighbours of the removed node.
            neighbors[n_removed], deciding[n_removed] = near[:3], near_weight[:3]
            pairs = star_triangle(near_weight[0], near_weight[1], near_weight[2])
            n_free = _add(near[0], near[1], pairs[0], weights, lists, free, n_free)
            n_free = _add(near[0], near[2], pairs[1], weights, lists, free, n_free)
            n_free = _add(near[1], near[2], pairs[2], weights, lists, free, n_free)
        n_removed += 1
        for k in range(d):
            if not is_queued[near[k]]:
                is_queued[near[k]] = True
                queue[n_queued] = near[k]
                n_queued += 1
    is_left = np.ones(weights.size, np.bool_)
    is_left[free[:n_free]] = False
    return removed[:n_removed], neighbors[:n_removed], deciding[:n_removed], is_left, target


@kernel
def restore_signs(removed, neighbors, deciding, partition):
    """Give the removed nodes, last first, the best sign given their neighbours; updates `partition` in place."""
    for step in range(removed.size - 1, -1, -1):
        total = 0.0
        for k in range(3):
            if neighbors[step, k] >= 0:
                total += deciding[step, k] * partition[neighbors[step, k]]
        partition[removed[step]] = 1 if total >= 0 else -1
