"""The inner loops of binary reconstructive embeddings and of minimal loss hashing."""

import numpy as np
from numba import njit

NARROWEST = 1e-12  # relative width of an interval of weights that is still told from the rounding of its ends
TIE = 1e-9  # gain below which the smaller weight stays


@njit(fastmath=True, cache=True)
def _field(errors, bit, i):
    """Return the sum over j of errors[i, j] bit[j]."""
    total = 0.0
    for j in range(bit.size):
        total += errors[i, j] * bit[j]
    return total


@njit(cache=True, nogil=True)
def best_weight(errors, bit, scores, column, weight, n_bits):
    """Return the weight of one kernel column that minimises the sum of squared errors, and the bit that it gives.

    errors : (n, n), symmetric with a zero diagonal: the distances wanted less those of the codes
    bit, scores : (n,), the bit of -1 and +1 and the scores it is the sign of
    column : (n,), what a score gains when the weight grows by 1

    A point flips where its score changes sign. The flips are made in rising order of the weight from -infinity: with
    A = errors - bit bit'/(2 n_bits) off the diagonal, the sum of squares is h'Ah / n_bits and a constant.
    """
    moving = np.nonzero(column)[0]
    at = weight - scores[moving] / column[moving]
    order = np.argsort(at, kind="mergesort")
    moving, at = moving[order], at[order]
    h = bit.copy()
    for i in moving:
        h[i] = -1.0 if column[i] > 0 else 1.0
    agreement = (bit * h).sum()
    change, least, place = 0.0, 0.0, 0
    for k in range(moving.size):
        i = moving[k]
        pull = _field(errors, h, i) - bit[i] * (agreement - bit[i] * h[i]) / (2 * n_bits)
        change -= 4 * h[i] * pull
        agreement -= 2 * bit[i] * h[i]
        h[i] = -h[i]
        is_wide = k + 1 == moving.size or at[k + 1] - at[k] > NARROWEST * (abs(at[k]) + abs(at[k + 1]))
        if is_wide and change < least - TIE:
            least, place = change, k + 1
    for i in moving[place:]:
        h[i] = -h[i]
    if moving.size == 0:
        return weight, h
    margin = (at[-1] - at[0]) / moving.size + NARROWEST
    if place == 0:
        return at[0] - margin, h
    if place == moving.size:
        return at[-1] + margin, h
    return (at[place - 1] + at[place]) / 2, h


@njit(cache=True, nogil=True)
def descend(errors, bits, scores, gram, anchors, weights, chosen):
    """Set weight chosen[k] of each bit k in turn to its best value; all but gram, anchors and chosen change in place.

    bits, scores : (n_bits, n); gram : (n, n); anchors, weights : (n_bits, n_anchors)
    """
    n_bits, n = bits.shape
    for k in range(n_bits):
        q = chosen[k]
        column = gram[anchors[k, q]]
        weight, bit = best_weight(errors, bits[k], scores[k], column, weights[k, q], n_bits)
        if (bit == bits[k]).all():
            continue
        scores[k] += (weight - weights[k, q]) * column
        weights[k, q] = weight
        for i in range(n):
            for j in range(n):
                errors[i, j] += (bit[i] * bit[j] - bits[k, i] * bits[k, j]) / (2 * n_bits)
        bits[k] = bit


@njit(cache=True, nogil=True)
def loss_adjusted(scores, lines):
    """Return the codes g, then h, of -1 and +1 that maximise loss(g, h) + g'u + h'v for each pair.

    scores : (2 pairs, n_bits), u of all pairs and then v; the codes are of the same shape
    lines : (pairs, 2), slope and constant of the loss by the number of bits that differ, where it is not 0
    """
    n, n_bits = lines.shape[0], scores.shape[1]
    codes = np.empty_like(scores)
    for i in range(n):
        slope, along, without = lines[i, 0], lines[i, 1], 0.0
        for k in range(n_bits):
            u, v = scores[i, k], scores[n + i, k]
            gain = abs(u - v) - abs(u + v)
            without += max(gain, 0.0)
            along += max(gain + slope, 0.0)
        added = slope if along > without else 0.0
        for k in range(n_bits):
            u, v = scores[i, k], scores[n + i, k]
            differs = abs(u - v) - abs(u + v) + added > 0
            side = u - v if differs else u + v
            codes[i, k] = 1.0 if side >= 0 else -1.0
            codes[n + i, k] = -codes[i, k] if differs else codes[i, k]
    return codes
