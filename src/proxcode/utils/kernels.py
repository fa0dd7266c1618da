"""Numba kernels that several packages share."""

import numpy as np
from numba import njit, prange, types
from numba.extending import intrinsic


@intrinsic
def popcount(typingctx, word):
    """Count the ones in a uint64, by the processor's own instruction."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@njit(parallel=True, cache=True)
def add_weighted_distances(signs, weights, codes, out):
    """out[q, j] += weights[q] over the bits in which codes[j] differs from signs[q]; all are packed but the weights.

    The 256 possible sums of each byte are looked up.
    """
    n_bytes = codes.shape[1]
    for q in prange(signs.shape[0]):
        table = np.zeros((n_bytes, 256), np.float32)
        for b in range(n_bytes):
            for value in range(1, 256):
                low = 0
                while not (value >> low) & 1:
                    low += 1
                table[b, value] = table[b, value & (value - 1)] + weights[q, 8 * b + 7 - low]
        for j in range(codes.shape[0]):
            s = np.float32(0.0)
            for b in range(n_bytes):
                s += table[b, signs[q, b] ^ codes[j, b]]
            out[q, j] += s
