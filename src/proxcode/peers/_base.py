"""What all peers share: validation, packing, the scikit-learn contract."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from proxcode._validation import check_points, check_whole
from proxcode.hamming import Codes, pack
from proxcode.hashing import as_hash_function
from proxcode.hashing.ridge import RidgeHash
from proxcode.relations import SameClass

Matrix = NDArray[Any]


class Peer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """A method that learns codes; a subclass says how to learn (`_fit`) and how to score (`_scores`)."""

    n_bits: int

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn from X, and from y where the method is supervised."""
        points = check_points(self, X, reset=True)
        check_whole("n_bits", self.n_bits, 1)
        self._fit(points, y)
        self._n_features_out = self.n_bits
        return self

    def transform(self, X: ArrayLike) -> Codes:
        """Return the codes as a 0/1 matrix of shape (n, n_bits)."""
        check_is_fitted(self)
        points = check_points(self, X, reset=False)
        return (self._scores(points) >= 0).astype(np.uint8)

    def encode(self, X: ArrayLike) -> Codes:
        """Return the codes packed into bytes, in the bit order of `numpy.packbits`."""
        return pack(self.transform(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # bits, whatever the dtype of X
        return tags

    @abstractmethod
    def _fit(self, X: Matrix, y: Any) -> None: ...

    @abstractmethod
    def _scores(self, X: Matrix) -> Matrix: ...


class SupervisedPeer(Peer):
    """A peer that learns from classes: each is given a codeword, and a hash function learns words bit by bit.

    A subclass says which words are learned (`_words`); `_word_scores` then scores new points.
    """

    hash_function: Any
    random_state: Any

    def _fit(self, X: Matrix, y: Any) -> None:
        self.classes_, members = check_classes(self, y, len(X))
        rng = check_random_state(self.random_state)
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def check_optional_classes(peer: Any, y: Any, n_points: int) -> tuple[Matrix | None, NDArray[np.int64] | None]:
    """Return what `check_classes` does, or (None, None) where there is no y."""
    return (None, None) if y is None else check_classes(peer, y, n_points)


def check_classes(peer: Any, y: Any, n_points: int) -> tuple[Matrix, NDArray[np.int64]]:
    """Return the sorted classes and the number of each point's class, or say what is wrong with y."""
    name = type(peer).__name__
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None: give one class label per point.")
    labels = column_or_1d(y, warn=True)
    if len(labels) != n_points:
        raise ValueError(f"X has {n_points} points but y has {len(labels)} labels: give one label per point.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"y contains NaN or infinity: {name} needs a class for every point, so drop the others.")
    if labels.dtype.kind == "f" and (fractional := labels != np.floor(labels)).any():
        raise ValueError(f"y contains {labels[fractional][0]}: {name} needs class labels, names or whole numbers.")
    classes, members = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has 1 class: {name} needs at least 2.")
    return classes, members
