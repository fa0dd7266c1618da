"""What a proximity is: it turns the user's data into near and far pairs of samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from proxcode.hashing import HashFunction, KernelHash
from proxcode.pairs import FoundPairs
from proxcode.storage.state import State


class Proximity(ABC, BaseEstimator):
    """Base class of the rules that decide which pairs of samples are near, far or unknown.

    A subclass implements `find_pairs`; the other methods have defaults.
    """

    def fit(self, X: NDArray[Any], y: Any = None) -> Self:
        """Learn from the training data what `find_pairs` needs; nothing, unless a subclass overrides it."""
        return self

    @abstractmethod
    def find_pairs(self, X: NDArray[Any], y: Any = None) -> FoundPairs:
        """Return the near and far pairs of the samples X.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Validated samples, those of `fit` or new ones.
        y : object
            The argument y of `fit`, `extend` or `score`, unchanged.
        """

    def read(self, y: Any) -> NDArray[Any] | None:
        """Return the content of y that `find_pairs` uses, the same for equivalent forms of y; None if it uses none."""
        return None

    def hash_function(self) -> HashFunction:
        """Return the hash function that serves this proximity best, where the user names none."""
        return KernelHash()

    def describe(self) -> str:
        """Return what near means, in a few words."""
        return repr(self)

    def state(self) -> State:
        """Return what `fit` learned, for a model file."""
        return State()

    def restore(self, state: State) -> None:
        """Take over what another proximity of the same parameters learned."""
