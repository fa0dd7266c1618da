"""Class codewords from a Hadamard matrix, carried to new points by a hash function.

Koutaki, Shirai, Ambai, "Hadamard Coding for Supervised Discrete Hashing" (IEEE TIP 2018):

1. a Sylvester matrix of order m, H[r, c] = (-1)^(number of ones that r and c share in binary): any two of its rows
   differ in m / 2 columns,
2. each class is given a row of its own, drawn at random: rows 0, 1, ... only repeat the columns of a smaller matrix,
3. of the columns but the constant first, those that keep the classes apart at *every* length: the next column h
   minimises h'Eh with E_ij = 2^-(bits in which classes i and j differ so far),
4. the hash function learns each column as a bit.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.peers._base import Matrix
from proxcode.peers._codewords import CodewordPeer
from proxcode.utils.blocks import one_blas_thread

MIN_ORDER = 128


class Hadamard(CodewordPeer):
    """Codewords of the classes from a Hadamard matrix, learned bit by bit by a hash function.

    With the same `random_state` and a hash function that learns each bit on its own, a shorter code is the beginning of
    a longer one as long as `hadamard_order` is the same: up to 127 bits for up to 128 classes.

    Parameters
    ----------
    n_bits : int, default=64
        Where 2^n_bits is below the number of classes, some classes share a codeword.
    hash_function : HashFunction or classifier, default=None
        What carries bits to new points. None is `KernelHash()`.
    random_state : int, RandomState or None, default=None
        Draws the rows of the classes, and the hash function's own choices.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    codewords_ : ndarray of int8, -1 or +1, shape (n_classes, n_bits)
    hash_function_ : HashFunction

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import Hadamard
    >>> X, y = load_digits(return_X_y=True)
    >>> Hadamard(n_bits=32, random_state=0).fit(X, y).encode(X).shape
    (1797, 4)
    """

    def __init__(self, n_bits: int = 64, *, hash_function: Any = None, random_state: Any = None) -> None:
        self.n_bits = n_bits
        self.hash_function = hash_function
        self.random_state = random_state

    def _words(self, n_classes: int, rng: np.random.RandomState) -> NDArray[np.int8]:
        self.codewords_ = hadamard_codewords(n_classes, self.n_bits, rng)
        return self.codewords_

    def _scores(self, X: Matrix) -> Matrix:
        return self._word_scores(X)


def hadamard_order(n_classes: int, n_bits: int) -> int:
    """Return the smallest power of two with a row for each class and a column that is not constant for each bit.

    At least 128: a larger matrix leaves more columns to choose from, and codes of most lengths then begin alike.

    Examples
    --------
    >>> [hadamard_order(10, n_bits) for n_bits in (12, 127, 128)]
    [128, 128, 256]
    """
    return 1 << (max(n_bits + 1, n_classes, MIN_ORDER) - 1).bit_length()


def hadamard_codewords(n_classes: int, n_bits: int, rng: np.random.RandomState) -> NDArray[np.int8]:
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
