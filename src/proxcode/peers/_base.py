"""What all peers share: validation, packing, the scikit-learn contract."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from proxcode._validation import check_points
from proxcode.hamming import Codes, pack

Matrix = NDArray[Any]


class Peer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """A method that learns codes; a sibling says how to learn (`_fit`) and how to score (`_scores`)."""

    n_bits: int

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn from X, and from y where the method is supervised."""
        points = check_points(self, X, reset=True)
        if self.n_bits < 1:
            raise ValueError(f"n_bits={self.n_bits}: give at least 1.")
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
