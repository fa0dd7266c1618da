"""Codes of samples from the margins of their bits."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from proxcode.hamming import Codes, pack
from proxcode.utils.samples import Samples, as_samples
from proxcode.utils.validation import check_integer, check_samples

# Rows whose margins are held at a time: a multiple of the rows of any block in which margins are computed.
ENCODED_ROWS = 16_384


class HasScores(Protocol):
    """What gives the margins of bits."""

    def scores(self, X: Any, n_bits: Any) -> NDArray[np.float64]:
        """Return the margins of the first `n_bits` bits."""


@dataclass(frozen=True)
class _Codes:
    """Gives the codes of a block of samples; what a worker needs to encode."""

    encoder: HasScores
    n_bits: int

    def __call__(self, samples: NDArray[Any]) -> Codes:
        return pack(self.encoder.scores(samples, self.n_bits) >= 0)


def without_codes(model: Any) -> Any:
    """Return a copy of a model, pipeline or hash function without what encoding does not need: codes, and sums."""
    light = copy(model)
    if hasattr(light, "codes_"):
        # Of a pipeline this also copies the last step.
        light.codes_ = light.codes_[:0]
    last = light.steps[-1][1] if hasattr(light, "steps") else light
    if hasattr(last, "without_memory"):
        return last.without_memory()
    if hasattr(getattr(last, "hash_function_", None), "without_memory"):
        last.hash_function_ = last.hash_function_.without_memory()
    return light


def codes_of(encoder: HasScores, X: NDArray[Any] | Samples, n_bits: int) -> Codes:
    """Return the packed codes of samples, computed in blocks, on the engine of samples in files."""
    codes = np.empty((len(X), -(-n_bits // 8)), np.uint8)
    for rows, block in as_samples(X).map(_Codes(encoder, n_bits), ENCODED_ROWS):
        codes[rows] = block
    return codes


class BinaryEncoderMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Methods `transform` and `encode` of estimators with a method `scores`."""

    n_bits_: int

    @abstractmethod
    def scores(self, X: ArrayLike, n_bits: int | None = None) -> NDArray[np.float64]:
        """Return the margins of each bit, shape (n_samples, n_bits): a bit is 1 where its margin is at least 0."""

    def transform(self, X: ArrayLike) -> Codes:
        """Return the codes as a 0/1 matrix of shape `(n_samples, n_bits_)`."""
        return (self.scores(X) >= 0).astype(np.uint8)

    def encode(self, X: ArrayLike, n_bits: int | None = None) -> Codes:
        """Return the packed codes, shape (n_samples, ceil(n_bits / 8)), in the bit order of `numpy.packbits`.

        Parameters
        ----------
        X : array or Samples of shape (n_samples, n_features)
            Samples in files are read in blocks.
        n_bits : int, default=None
            Length of the prefix of the code to return. None is all bits. A prefix of the code of
            `ProximityPreservingCode` is the code of a shorter model, unless its bits are learned at once (hash
            functions without `has_prefixes`): then it is a random choice of bits.
        """
        if isinstance(X, Samples):
            check_is_fitted(self, "n_bits_")
            n_bits = self.n_bits_ if n_bits is None else check_integer("n_bits", n_bits, 1, self.n_bits_)
            return codes_of(without_codes(self), check_samples(self, X, reset=False), n_bits)
        return pack(self.scores(X, n_bits) >= 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Bits, whatever the dtype of X.
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_bits_
