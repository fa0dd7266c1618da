"""What all peers share: validation, packing, the scikit-learn contract."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from proxcode.hamming import Codes, pack
from proxcode.utils.validation import check_points, check_whole

Matrix = NDArray[Any]
LARGEST = 1e140  # the squares of such numbers can be summed over all points


class Peer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """A method that learns codes; a subclass says how to learn (`_fit`) and how to score (`_scores`)."""

    n_bits: int

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn from X, and from y where the method is supervised."""
        points = self._points(X, reset=True)
        check_whole("n_bits", self.n_bits, 1)
        self._fit(points, y)
        self._n_features_out = self.n_bits
        return self

    def transform(self, X: ArrayLike) -> Codes:
        """Return the codes as a 0/1 matrix of shape (n, n_bits)."""
        check_is_fitted(self)
        points = self._points(X, reset=False)
        return (self._scores(points) >= 0).astype(np.uint8)

    def encode(self, X: ArrayLike) -> Codes:
        """Return the codes packed into bytes, in the bit order of `numpy.packbits`."""
        return pack(self.transform(X))

    def _points(self, X: ArrayLike, *, reset: bool) -> Matrix:
        """Return X as a matrix of numbers whose squares do not overflow, or say what is wrong with it."""
        points = check_points(self, X, reset=reset)
        extreme = max(float(points.max()), float(points.min()), key=abs)
        if abs(extreme) > LARGEST:
            raise ValueError(
                f"X contains {extreme:.3g}: squares of numbers beyond {LARGEST} may overflow; scale X down."
            )
        return points

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # bits, whatever the dtype of X
        return tags

    @abstractmethod
    def _fit(self, X: Matrix, y: Any) -> None: ...

    @abstractmethod
    def _scores(self, X: Matrix) -> Matrix: ...


class SupervisedPeer(Peer):
    """A peer that learns from classes; a subclass says how to learn (`_learn`) and how to score (`_scores`)."""

    random_state: Any

    def _fit(self, X: Matrix, y: Any) -> None:
        self.classes_, members = check_classes(self, y, len(X))
        self._learn(X, members, check_random_state(self.random_state))

    @abstractmethod
    def _learn(self, X: Matrix, members: NDArray[np.int64], rng: np.random.RandomState) -> None:
        """Learn from the points and the number of each point's class."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def check_optional_classes(peer: Any, y: Any, n_samples: int) -> tuple[Matrix | None, NDArray[np.int64] | None]:
    """Return what `check_classes` does, or (None, None) where there is no y."""
    return (None, None) if y is None else check_classes(peer, y, n_samples)


def check_classes(peer: Any, y: Any, n_samples: int) -> tuple[Matrix, NDArray[np.int64]]:
    """Return the sorted classes and the number of each point's class, or say what is wrong with y."""
    name = type(peer).__name__
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None: give one class label per point.")
    labels = column_or_1d(y, warn=True)
    if len(labels) != n_samples:
        raise ValueError(f"X has {n_samples} points but y has {len(labels)} labels: give one label per point.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"y contains NaN or infinity: {name} needs a class for every point, so drop the others.")
    if labels.dtype.kind == "f" and (fractional := labels != np.floor(labels)).any():
        raise ValueError(f"y contains {labels[fractional][0]}: {name} needs class labels, names or whole numbers.")
    classes, members = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has 1 class: {name} needs at least 2.")
    return classes, members


def indicators(members: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the matrix Y of 0 and 1 with Y[i, c] = 1 where point i is of class c.

    Examples
    --------
    >>> indicators(np.array([1, 0, 1]))
    array([[0., 1.],
           [1., 0.],
           [0., 1.]])
    """
    return np.eye(members.max() + 1)[members]
