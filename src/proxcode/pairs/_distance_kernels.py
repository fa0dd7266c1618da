"""Numba kernels of Hamming distances and weights of pairs, the parts of all others.

Everywhere `words` is an array of uint64, shape (n_words, n), with 64 bits of the codes in each row. `near[h]`, `far[h]`
and `table[h]` are weights of pairs at Hamming distance h. Row i of all pairs is visited in pieces of PIECE columns,
whose distances and weights stay in the processor's cache.

Ranges run over unsigned indices: numba lets signed ones count from the end, and the check would keep the loop scalar.
"""

import numpy as np

from proxcode.utils.jit import kernel, subroutine
from proxcode.utils.kernels import popcount

PIECE = 512


@subroutine
def find_distances(words, i, start, stop, distance):
    """distance[j - start] = h(i, j) for start <= j < stop."""
    first, size = np.uint64(start), np.uint64(stop - start)
    own = words[0, i]
    for j in range(size):
        distance[j] = popcount(own ^ words[0, first + j])
    for w in range(1, words.shape[0]):
        own = words[w, i]
        for j in range(size):
            distance[j] += popcount(own ^ words[w, first + j])


@subroutine
def look_up(table, distance, start, stop, weight):
    """weight[j] = table[distance[j]] for start <= j < stop."""
    for j in range(np.uint64(start), np.uint64(stop)):
        weight[j] = table[distance[j]]


@subroutine
def find_mask_distances(words, masks, i, start, stop, n_distances, meet, distance):
    """Find distances as `find_distances`; those of pairs whose masks meet continue after the others, at n_distances."""
    find_distances(words, i, start, stop, distance)
    _find_meeting(masks, i, start, stop, meet)
    shift_near(distance, meet, n_distances, stop - start)


@subroutine
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


@subroutine
def shift_near(distance, meet, n_distances, size):
    """Distances of near pairs continue after those of far ones, in one table for both."""
    for j in range(np.uint64(size)):
        distance[j] += np.uint64(n_distances) if meet[j] != 0 else np.uint64(0)


@kernel
def list_distances(words, first, second, start, stop, out):
    """out[k] = Hamming distance of the listed pair k, for start <= k < stop."""
    for k in range(start, stop):
        distance = 0
        for w in range(words.shape[0]):
            distance += popcount(words[w, first[k]] ^ words[w, second[k]])
        out[k] = distance
