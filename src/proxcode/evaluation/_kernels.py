"""Numba kernel that counts the samples of a database by grade of relevance and Hamming distance."""

import numpy as np

from proxcode.utils.jit import kernel
from proxcode.utils.kernels import popcount


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
