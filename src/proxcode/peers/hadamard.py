"""Class codewords from a Hadamard matrix, extended to new samples by a hash function.

Koutaki, Shirai, Ambai, "Hadamard Coding for Supervised Discrete Hashing" (IEEE TIP 2018):

1. a Sylvester matrix of order m, H[r, c] = (-1)^(number of ones that r and c share in binary): any two of its rows
   differ in m / 2 columns,
2. each class receives a different random row; the first rows 0, 1, ... would repeat the columns of a smaller matrix,
3. of the non-constant columns, those that separate the classes at *every* code length: the next column h minimises
   h'Eh with E_ij = 2^-(bits in which classes i and j differ so far),
4. the hash function learns each column as a bit.
"""

import numpy as np

from proxcode.peers._arrays import Rng
from proxcode.peers._codewords import CodewordPeer, Codewords
from proxcode.utils.blocks import one_blas_thread

MIN_ORDER = 128


class Hadamard(CodewordPeer):
    """Codewords of the classes from a Hadamard matrix, learned bit by bit by a hash function.

    With equal `random_state` and a hash function that learns each bit independently, a shorter code is a prefix of a
    longer one if their `hadamard_order` is equal: up to 127 bits for up to 128 classes. Parameters and attributes are
    those of `CodewordPeer`.
    """

    def _choose_codewords(self, n_classes: int, rng: Rng) -> tuple[Codewords, Codewords]:
        codewords = hadamard_codewords(n_classes, self.n_bits, rng)
        return codewords, codewords


def hadamard_order(n_classes: int, n_bits: int) -> int:
    """Return the smallest power of two with a row for each class and a non-constant column for each bit.

    At least 128: a larger matrix has more columns to choose from, and most codes are then prefixes of longer ones.

    Examples
    --------
    >>> [hadamard_order(10, n_bits) for n_bits in (12, 127, 128)]
    [128, 128, 256]
    """
    return 1 << (max(n_bits + 1, n_classes, MIN_ORDER) - 1).bit_length()


def hadamard_codewords(n_classes: int, n_bits: int, rng: Rng) -> Codewords:
    """Return a codeword of -1 and +1 for each class, shape (n_classes, n_bits)."""
    order = hadamard_order(n_classes, n_bits)
    rows = rng.permutation(order)[:n_classes]
    columns = np.arange(1, order)
    candidates = 1.0 - 2.0 * (np.bitwise_count(rows[:, None] & columns) & 1)
    chosen: list[int] = []
    closeness = np.ones((n_classes, n_classes))
    with one_blas_thread:
        for _ in range(n_bits):
            cost = (candidates * (closeness @ candidates)).sum(axis=0)
            cost[chosen] = np.inf
            chosen.append(int(cost.argmin()))
            h = candidates[:, chosen[-1]]
            closeness[h[:, None] != h] /= 2
    return candidates[:, chosen].astype(np.int8)
