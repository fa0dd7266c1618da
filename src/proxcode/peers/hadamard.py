"""Class codewords from a Hadamard matrix, extended to new samples by a hash function.

Koutaki, Shirai, Ambai, "Hadamard Coding for Supervised Discrete Hashing" (IEEE TIP 2018):

1. a Sylvester matrix of order m, H[r, c] = (-1)^(number of ones that r and c share in binary): any two of its rows
   differ in m / 2 columns,
2. each class receives a different random row; the first rows 0, 1, ... would repeat the columns of a smaller matrix,
3. of the non-constant columns, those that separate the classes at *every* code length: the next column h minimises
   h'Eh with E_ij = 2^-(bits in which classes i and j differ so far),
4. the hash function learns each column as a bit.
"""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.hashing import KernelHash, as_hash_function
from proxcode.hashing.training import LabelTraining
from proxcode.pairs import SameClassPairs
from proxcode.peers._arrays import Integers, Matrix, Rng
from proxcode.peers._base import SupervisedPeer

Codewords = NDArray[np.int8]

MIN_ORDER = 128


@dataclass(eq=False, repr=False)
class CodewordPeer(SupervisedPeer):
    """Base class of peers that assign a codeword to each class, whose bits a hash function then learns.

    A subclass chooses the codewords in `_choose_codewords`. Parameters and attributes not listed are those of
    `SupervisedPeer`.

    Parameters
    ----------
    n_bits : int, default=64
        Code length. Some classes share a codeword if there are more than 2^n_bits classes.
    hash_function : HashFunction or classifier, default=None
        Learns the bits of the codewords. None is `KernelHash()`.

    Attributes
    ----------
    codewords_ : ndarray of int8, -1 or +1, shape (n_classes, n_bits)
    hash_function_ : HashFunction
    """

    hash_function: Any = field(default=None, kw_only=True)

    def _fit(self, X: Matrix, y: Integers, rng: Rng) -> None:
        self.codewords_, targets = self._choose_codewords(len(self.classes_), rng)
        hash_function = as_hash_function(KernelHash() if self.hash_function is None else self.hash_function)
        hash_rng = np.random.default_rng(rng.randint(2**31))
        training = hash_function.begin(X, hash_rng, labels=SameClassPairs(y).labels())
        self._targets = None
        if isinstance(training, LabelTraining):
            # Least squares is linear in its targets: the margin of a codeword is the sum of those of its classes.
            self._targets = targets.astype(np.float64)
            self._class_shares = np.bincount(y) / len(y)
        else:
            for bit in targets.T:
                training.append(training.propose(bit[y]))
        hash_function.finish(training, len(training.bits))
        self.hash_function_ = hash_function

    def _margins(self, X: Matrix) -> Matrix:
        return self._word_scores(X)

    def _word_scores(self, X: Matrix) -> Matrix:
        """Return the margins of the bits that the hash function learned."""
        if self._targets is None:
            return self.hash_function_.scores(X, self.hash_function_.n_bits_)
        return (self.hash_function_.label_scores(X) / 2 + self._class_shares) @ self._targets

    @abstractmethod
    def _choose_codewords(self, n_classes: int, rng: Rng) -> tuple[Codewords, Codewords]:
        """Return `codewords_` and the bits that the hash function learns for each class, shape (n_classes, length)."""


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
    for _ in range(n_bits):
        cost = (candidates * (closeness @ candidates)).sum(axis=0)
        cost[chosen] = np.inf
        chosen.append(int(cost.argmin()))
        h = candidates[:, chosen[-1]]
        closeness[h[:, None] != h] /= 2
    return candidates[:, chosen].astype(np.int8)
