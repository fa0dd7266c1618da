"""Numba kernels shared by several packages."""

import numpy as np
from numba import types
from numba.extending import intrinsic

from proxcode.utils.jit import kernel


@intrinsic
def popcount(typingctx, word):
    """Return the number of ones in a uint64, by one processor instruction."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@kernel
def add_weighted_distances(signs, weights, codes, query, out):
    """Add to out[q, j] the sum of weights[q] over the bits in which codes[j] differs from signs[q]; q is `query`.

    A lookup table holds the 256 possible sums of each byte.

    Parameters
    ----------
    signs : ndarray of uint8, shape (n_queries, n_bytes)
        Packed bits of the queries.
    weights : ndarray of float32, shape (n_queries, 8 * n_bytes)
    codes : ndarray of uint8, shape (n_codes, n_bytes)
        Packed codes.
    query : int
    out : ndarray of float32, shape (n_queries, n_codes)
    """
    n_bytes = codes.shape[1]
    table = np.zeros((n_bytes, 256), np.float32)
    for b in range(n_bytes):
        for value in range(1, 256):
            low = 0
            while not (value >> low) & 1:
                low += 1
            table[b, value] = table[b, value & (value - 1)] + weights[query, 8 * b + 7 - low]
    for j in range(codes.shape[0]):
        s = np.float32(0.0)
        for b in range(n_bytes):
            s += table[b, signs[query, b] ^ codes[j, b]]
        out[query, j] += s


@kernel
def count_grades(query, base, grades, counts):
    """Add 1 to counts[grades[j], h] for each code j of the base at Hamming distance h from the query.

    Parameters
    ----------
    query : ndarray of uint64, shape (n_words,)
    base : ndarray of uint64, shape (n_words, n_codes)
    grades : ndarray of uint8, shape (n_codes,)
    counts : ndarray of int64, shape (n_grades, n_bits + 1)
    """
    for j in range(base.shape[1]):
        h = np.uint64(0)
        for word in range(base.shape[0]):
            h += popcount(query[word] ^ base[word, j])
        counts[grades[j], h] += 1
