"""Numba kernels that pack cycles: each frustrated edge is closed by short paths of satisfied edges.

Satisfied edges are a sparse matrix: entries starts[i] to ends[i] - 1 are the neighbours of node i and the numbers of
the edges that lead there. An edge whose capacity is used up is never usable again: it is moved behind ends[i] when it
is met, so that later searches do not read it.
"""

import numpy as np

from proxcode.utils.jit import kernel, subroutine

# Number of meeting points of the two searches that are compared, of which the best closes the cycle.
CANDIDATES = 8


@subroutine
def _trace_back(node, memory, length):
    """Append to a path of some length the edges from a node back to where its search began; returns the new length."""
    _, previous, through, path, _ = memory
    while previous[node] >= 0:
        path[length] = through[node]
        length += 1
        node = previous[node]
    return length


@subroutine
def _forget(memory, end):
    """Reset the nodes that a search has reached."""
    side, queues = memory[0], memory[4]
    for s in range(2):
        for position in range(end[s]):
            side[queues[s, position]] = 0


@subroutine
def _shortest_path(u, v, max_hops, satisfied, capacity, demand, memory):
    """Find a shortest path of at most `max_hops` usable edges from u to v, by breadth-first search from both ends.

    Writes the edges to the array `path` of the memory. Returns their number, 0 if all paths are longer and -1 if there
    is none, and the number of entries read. Of several paths, one is chosen that meets where demand is low.
    """
    starts, ends, neighbors, numbers = satisfied
    side, previous, through, path, queues = memory
    side[u], side[v] = 1, 2
    previous[u], previous[v] = -1, -1
    queues[0, 0], queues[1, 0] = u, v
    begin, end = np.zeros(2, np.int64), np.ones(2, np.int64)
    cost = np.array([ends[u] - starts[u], ends[v] - starts[v]])
    length, n_read = 0, 0
    for hops in range(1, max_hops + 1):
        if begin[0] == end[0] or begin[1] == end[1]:
            length = -1
            break
        # The search advances on the side with fewer entries to read.
        s = 0 if cost[0] <= cost[1] else 1
        own, other = s + 1, 2 - s
        last, next_cost, n_met = end[s], 0, 0
        lowest, near, far, link = np.inf, 0, 0, 0
        for position in range(begin[s], end[s]):
            i = queues[s, position]
            k = starts[i]
            while k < ends[i] and n_met < CANDIDATES:
                n_read += 1
                if capacity[numbers[k]] <= 0:
                    ends[i] -= 1
                    neighbors[k], neighbors[ends[i]] = neighbors[ends[i]], neighbors[k]
                    numbers[k], numbers[ends[i]] = numbers[ends[i]], numbers[k]
                    continue
                j = neighbors[k]
                if side[j] == other:
                    n_met += 1
                    if demand[i] + demand[j] < lowest:
                        lowest, near, far, link = demand[i] + demand[j], i, j, numbers[k]
                # Nodes after the last hop cannot be on the path.
                elif side[j] == 0 and hops < max_hops:
                    side[j], previous[j], through[j] = own, i, numbers[k]
                    queues[s, last] = j
                    last += 1
                    next_cost += ends[j] - starts[j]
                k += 1
            if n_met == CANDIDATES:
                break
        begin[s], end[s], cost[s] = end[s], last, next_cost
        if n_met:
            path[0] = link
            length = _trace_back(near, memory, _trace_back(far, memory, 1))
            break
    _forget(memory, end)
    return length, n_read


@kernel
def pack_cycles(pending, start, first, second, max_hops, satisfied, capacity, demand, memory, budget):
    """Close the frustrated edges `pending`, from number `start` on, by paths of at most `max_hops` satisfied edges.

    Each cycle takes the smallest capacity of its edges away from all of them. An edge that no later search can close
    is replaced by -1. Ends when about `budget` entries have been read; returns the sum of the capacities taken and the
    number of edges of `pending` that are done.
    """
    path = memory[3]
    packed, n_read = 0.0, 0
    for number in range(start, pending.size):
        edge, length = pending[number], 1
        while capacity[edge] > 0 and length > 0:
            length, read = _shortest_path(first[edge], second[edge], max_hops, satisfied, capacity, demand, memory)
            n_read += read
            if length > 0:
                amount = capacity[edge]
                for k in range(length):
                    amount = min(amount, capacity[path[k]])
                for k in range(length):
                    capacity[path[k]] -= amount
                capacity[edge] -= amount
                packed += amount
        if length != 0:
            pending[number] = -1
        if n_read > budget:
            return packed, number + 1
    return packed, pending.size
