"""The predicted class as a code: a baseline for retrieval by class.

Sablayrolles, Douze, Usunier, Jegou, "How Should We Evaluate Supervised Hashing?" (ICASSP 2017):

1. the hash function learns each class against all others, one bit per class,
2. the predicted class of a sample is that of the largest margin,
3. the code is the codeword of the predicted class: equal classes are at distance 0, different ones further apart.
"""

import numpy as np

from proxcode.peers._arrays import Matrix, Rng
from proxcode.peers.hadamard import CodewordPeer, Codewords, hadamard_codewords


class ClassifierCode(CodewordPeer):
    """Codeword of the class that one-versus-rest hash functions predict.

    With at least as many bits as classes the codeword is one-hot, bit k for class k, followed by zeros. With fewer bits
    it is the codeword of `Hadamard`. Parameters and attributes are those of `CodewordPeer`; `hash_function_` has one
    bit per class.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import ClassifierCode
    >>> X, y = load_digits(return_X_y=True)
    >>> ClassifierCode(n_bits=10, random_state=0).fit(X, y).transform(X[:2])
    array([[1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
           [0, 1, 0, 0, 0, 0, 0, 0, 0, 0]], dtype=uint8)
    """

    def _choose_codewords(self, n_classes: int, rng: Rng) -> tuple[Codewords, Codewords]:
        one_hot = (2 * np.eye(n_classes, max(self.n_bits, n_classes)) - 1).astype(np.int8)
        codewords = one_hot if self.n_bits >= n_classes else hadamard_codewords(n_classes, self.n_bits, rng)
        return codewords, one_hot[:, :n_classes]

    def _margins(self, X: Matrix) -> Matrix:
        return self.codewords_[self._word_scores(X).argmax(axis=1)]
