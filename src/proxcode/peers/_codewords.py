"""Peers that assign a codeword to each class, whose bits a hash function then learns."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.hashing import as_hash_function
from proxcode.hashing.training import LabelTraining
from proxcode.pairs import SameClassPairs
from proxcode.peers._arrays import Integers, Matrix, Rng
from proxcode.peers._base import Seed, SupervisedPeer

Codewords = NDArray[np.int8]


class CodewordPeer(SupervisedPeer):
    """Base class of supervised peers with codewords; a subclass chooses them in `_choose_codewords`.

    Parameters
    ----------
    n_bits : int, default=64
        Code length. Some classes share a codeword if there are more than 2^n_bits classes.
    hash_function : HashFunction or classifier, default=None
        Learns the bits of the codewords. None is `KernelHash()`.
    random_state : int, RandomState or None, default=None
        Seed of the choice of codewords, then of the hash function.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    codewords_ : ndarray of int8, -1 or +1, shape (n_classes, n_bits)
    hash_function_ : HashFunction
    """

    def __init__(self, n_bits: int = 64, *, hash_function: Any = None, random_state: Seed = None) -> None:
        super().__init__(n_bits, random_state)
        self.hash_function = hash_function

    def _fit(self, X: Matrix, y: Integers, rng: Rng) -> None:
        self.codewords_, targets = self._choose_codewords(len(self.classes_), rng)
        hash_function = as_hash_function(self.hash_function)
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
