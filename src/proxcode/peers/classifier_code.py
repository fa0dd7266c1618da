"""The predicted class as a code: what a classifier alone can do for retrieval.

1. The hash function learns each class against all others, one bit per class,
2. a point is of the class with the largest margin,
3. its code is that class's codeword: equal classes at distance 0, all others away.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.peers._base import Matrix
from proxcode.peers._codewords import CodewordPeer
from proxcode.peers.hadamard import hadamard_codewords


class ClassifierCode(CodewordPeer):
    """Codeword of the class that one-versus-rest hash functions predict.

    With at least as many bits as classes the codeword is one-hot, bit k for class k, and further bits stay 0. With
    fewer bits it is the codeword of `Hadamard`.

    Parameters
    ----------
    n_bits : int, default=64
        Where 2^n_bits is below the number of classes, some classes share a codeword.
    hash_function : HashFunction or classifier, default=None
        What tells a class from the others. None is `KernelHash()`.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    codewords_ : ndarray of int8, -1 or +1, shape (n_classes, n_bits)
    hash_function_ : HashFunction
        One bit per class.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import ClassifierCode
    >>> X, y = load_digits(return_X_y=True)
    >>> ClassifierCode(n_bits=10, random_state=0).fit(X, y).transform(X[:2])
    array([[1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
           [0, 1, 0, 0, 0, 0, 0, 0, 0, 0]], dtype=uint8)
    """

    def __init__(self, n_bits: int = 64, *, hash_function: Any = None, random_state: Any = None) -> None:
        self.n_bits = n_bits
        self.hash_function = hash_function
        self.random_state = random_state

    def _words(self, n_classes: int, rng: np.random.RandomState) -> NDArray[np.int8]:
        if self.n_bits < n_classes:
            self.codewords_ = hadamard_codewords(n_classes, self.n_bits, rng)
        else:
            self.codewords_ = one_hot_codewords(n_classes, self.n_bits)
        return one_hot_codewords(n_classes, n_classes)

    def _scores(self, X: Matrix) -> Matrix:
        margins = self._word_scores(X)
        return self.codewords_[margins.argmax(axis=1)]


def one_hot_codewords(n_classes: int, n_bits: int) -> NDArray[np.int8]:
    """Return words of -1 with +1 at the class's own place.

    Examples
    --------
    >>> one_hot_codewords(2, n_bits=3)
    array([[ 1, -1, -1],
           [-1,  1, -1]], dtype=int8)
    """
    return (2 * np.eye(n_classes, n_bits) - 1).astype(np.int8)
