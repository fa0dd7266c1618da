"""Compiled inner loops of binary reconstructive embeddings (`bre.py`) and of minimal loss hashing (`mlh.py`)."""

import numpy as np

from proxcode.utils.jit import kernel

# Smallest relative width of an interval of weights that exceeds the rounding errors of its ends.
NARROWEST = 1e-12
# Gain up to which two weights count as equally good; the smaller weight is taken.
TIE = 1e-9


@kernel(fastmath=True)
def _field(errors, bit, i):
    """Return the sum over j of errors[i, j] bit[j]."""
    total = 0.0
    for j in range(bit.size):
        total += errors[i, j] * bit[j]
    return total


@kernel
def best_weight(errors, bit, margins, column, weight, n_bits):
    """Return the weight of one kernel column that minimises the sum of squared errors, and the resulting bit.

    errors : (n, n), symmetric with a zero diagonal: the given distances minus those of the codes
    bit, margins : (n,), the bit of -1 and +1 and the margins whose sign it is
    column : (n,), increase of the margins when the weight increases by 1

    The bit of a sample flips where its margin changes sign. The flips are made in increasing order of the weight from
    -infinity: with A = errors - bit bit'/(2 n_bits) off the diagonal, the sum of squares is h'Ah / n_bits plus a
    constant.
    """
    moving = np.nonzero(column)[0]
    at = weight - margins[moving] / column[moving]
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
    beyond = (at[-1] - at[0]) / moving.size + NARROWEST
    if place == 0:
        return at[0] - beyond, h
    if place == moving.size:
        return at[-1] + beyond, h
    return (at[place - 1] + at[place]) / 2, h


@kernel
def descend(errors, bits, margins, gram, anchors, weights, chosen):
    """Set weight chosen[k] of each bit k in turn to its best value; updates errors, bits, margins and weights in place.

    bits, margins : (n_bits, n); gram : (n, n); anchors, weights : (n_bits, n_anchors)
    """
    n_bits, n = bits.shape
    for k in range(n_bits):
        q = chosen[k]
        column = gram[anchors[k, q]]
        weight, bit = best_weight(errors, bits[k], margins[k], column, weights[k, q], n_bits)
        if (bit == bits[k]).all():
            continue
        margins[k] += (weight - weights[k, q]) * column
        weights[k, q] = weight
        for i in range(n):
            for j in range(n):
                errors[i, j] += (bit[i] * bit[j] - bits[k, i] * bits[k, j]) / (2 * n_bits)
        bits[k] = bit


@kernel
def loss_adjusted(margins, lines):
    """Return the codes g, then h, of -1 and +1 that maximise loss(g, h) + g'u + h'v for each pair.

    margins : (2 pairs, n_bits), u of all pairs and then v; the codes have the same shape
    lines : (pairs, 2), slope and constant of the loss by the number of differing bits, where it is positive
    """
    n, n_bits = lines.shape[0], margins.shape[1]
    codes = np.empty_like(margins)
    for i in range(n):
        slope, along, without = lines[i, 0], lines[i, 1], 0.0
        for k in range(n_bits):
            u, v = margins[i, k], margins[n + i, k]
            gain = abs(u - v) - abs(u + v)
            without += max(gain, 0.0)
            along += max(gain + slope, 0.0)
        added = slope if along > without else 0.0
        for k in range(n_bits):
            u, v = margins[i, k], margins[n + i, k]
            differs = abs(u - v) - abs(u + v) + added > 0
            aligned = u - v if differs else u + v
            codes[i, k] = 1.0 if aligned >= 0 else -1.0
            codes[n + i, k] = -codes[i, k] if differs else codes[i, k]
    return codes
