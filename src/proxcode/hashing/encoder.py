"""Codes of samples from the margins of their bits."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from proxcode.hamming import Codes, pack


class BinaryEncoderMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Methods `transform` and `encode` of estimators with a method `scores`."""

    n_bits_: int

    @abstractmethod
    def scores(self, X: ArrayLike, n_bits: int | None = None) -> NDArray[np.float64]:
        """Return the margins of each bit, shape (n_samples, n_bits): a bit is 1 where its margin is at least 0."""

    def transform(self, X: ArrayLike) -> Codes:
        """Return the codes as a 0/1 matrix of shape (n_samples, n_bits_)."""
        return (self.scores(X) >= 0).astype(np.uint8)

    def encode(self, X: ArrayLike, n_bits: int | None = None) -> Codes:
        """Return the packed codes, shape (n_samples, ceil(n_bits / 8)), in the bit order of `numpy.packbits`.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        n_bits : int, default=None
            Length of the prefix of the code to return. None is all bits. A prefix of the code of
            `ProximityPreservingCode` is the code of a shorter model, unless its bits are learned at once (hash
            functions without `has_prefixes`): then it is a random choice of bits.
        """
        return pack(self.scores(X, n_bits) >= 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Bits, whatever the dtype of X.
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_bits_
