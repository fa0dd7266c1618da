"""What peers share that give each class a codeword, which a hash function then learns bit by bit."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.hashing import as_hash_function
from proxcode.hashing.ridge import RidgeHash
from proxcode.pairs.relations import SameClass
from proxcode.peers._base import Matrix, SupervisedPeer


class CodewordPeer(SupervisedPeer):
    """A supervised peer with codewords; a subclass says which are learned (`_words`), `_word_scores` scores points."""

    hash_function: Any

    def _learn(self, X: Matrix, members: NDArray[np.int64], rng: np.random.RandomState) -> None:
        words = self._words(len(self.classes_), rng)
        bank = as_hash_function(self.hash_function)
        bank_rng = np.random.default_rng(rng.randint(2**31))
        self._words_by_class = None
        bank.begin(X, bank_rng, labels=SameClass(members).label_matrix())
        if isinstance(bank, RidgeHash) and bank.posteriors_ is not None:
            # Least squares is linear: a word's score is the sum of its classes'.
            self._words_by_class = words.astype(np.float64)
            self._class_shares = np.bincount(members) / len(members)
        else:
            for bit in words.T:
                bank.learn(bit[members])
        bank.finish()
        self.hash_function_ = bank

    def _word_scores(self, X: Matrix) -> Matrix:
        """Return the scores of the bits of words."""
        if self._words_by_class is None:
            return self.hash_function_.scores(X, self.hash_function_.n_bits_)
        return (self.hash_function_.label_scores(X) / 2 + self._class_shares) @ self._words_by_class

    @abstractmethod
    def _words(self, n_classes: int, rng: np.random.RandomState) -> NDArray[np.int8]:
        """Return the word of -1 and +1 that is learned for each class, shape (n_classes, word length)."""
