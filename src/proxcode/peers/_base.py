"""The contract of all peers; a peer implements two methods, `_fit` and `_margins`.

1. `fit` validates X, the code length and the class labels, then calls `_fit(X, y, rng)`, which learns,
2. `scores` validates X and returns the margins from `_margins(X)`,
3. `transform` sets bit k of a sample to 1 where margin k is at least 0; `encode` packs these bits into bytes.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from proxcode.hashing.encoder import BinaryEncoderMixin
from proxcode.peers._arrays import Integers, Matrix, Rng, project
from proxcode.utils.blocks import one_blas_thread
from proxcode.utils.validation import check_integer, check_samples

Seed = int | np.random.RandomState | None

# Largest absolute value in X; the squares of such values can be summed over all samples without overflow.
LARGEST = 1e140


@dataclass(eq=False, repr=False)
class Peer(BinaryEncoderMixin, BaseEstimator, ABC):
    """Base class of the methods that learn binary codes.

    Parameters
    ----------
    n_bits : int, default=64
        Code length.
    random_state : int, RandomState or None, default=None
        Seed of all random choices. Ignored by peers without random choices.

    Attributes
    ----------
    n_bits_ : int
        Code length.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import PEERS
    >>> X, y = load_digits(return_X_y=True)
    >>> PEERS["ITQ"](n_bits=32, random_state=0).fit(X).encode(X).shape
    (1797, 4)
    """

    n_bits: int = 64
    random_state: Seed = field(default=None, kw_only=True)

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn from the samples X and, if the method is supervised, from the class labels y."""
        X = self._check_samples(X, reset=True)
        n_bits = self._check_n_bits(X)
        y = self._check_labels(y, len(X))
        # BLAS with several threads rounds differently for each number of threads.
        with one_blas_thread:
            self._fit(X, y, check_random_state(self.random_state))
        self.n_bits_ = n_bits
        return self

    def scores(self, X: ArrayLike, n_bits: int | None = None) -> Matrix:
        """Return the margins of the first `n_bits` bits (None: all), shape (n_samples, n_bits)."""
        check_is_fitted(self, "n_bits_")
        n_bits = check_integer("n_bits", self.n_bits_ if n_bits is None else n_bits, 1, self.n_bits_)
        return self._margins(self._check_samples(X, reset=False))[:, :n_bits]

    @abstractmethod
    def _fit(self, X: Matrix, y: Any, rng: Rng) -> None:
        """Learn from validated X of shape (n, d) and set attributes that end in `_`.

        y is None, or the class numbers 0, 1, ... of the samples if the peer is a `SupervisedPeer`.
        """

    @abstractmethod
    def _margins(self, X: Matrix) -> Matrix:
        """Return the margins of validated samples, shape (n, n_bits)."""

    def _check_samples(self, X: ArrayLike, *, reset: bool) -> Matrix:
        """Validate samples: a finite matrix of values whose squares do not overflow."""
        samples = check_samples(self, X, reset=reset)
        extreme = max(float(samples.max()), float(samples.min()), key=abs)
        if abs(extreme) > LARGEST:
            raise ValueError(
                f"X contains {extreme:.3g}: squares of values beyond {LARGEST} may overflow; scale X down."
            )
        return samples

    def _check_n_bits(self, X: Matrix) -> int:
        """Validate the code length; peers with a largest code length override this method."""
        return check_integer("n_bits", self.n_bits, 1)

    def _check_labels(self, y: Any, n_samples: int) -> Integers | None:
        """Ignore the labels; supervised peers override this method."""
        return None


class OptionallySupervisedPeer(Peer):
    """Base class of peers that learn from class labels if `fit` receives them and from distances otherwise.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or None
        Sorted class labels; None after a fit without labels.
    """

    def _check_labels(self, y: Any, n_samples: int) -> Integers | None:
        self.classes_: Any = None
        if y is None:
            return None
        name, labels = type(self).__name__, column_or_1d(y, warn=True)
        if len(labels) != n_samples:
            raise ValueError(f"X has {n_samples} samples but y has {len(labels)} labels: pass one label per sample.")
        if labels.dtype.kind == "f" and (invalid := ~np.isfinite(labels) | (labels != np.floor(labels))).any():
            raise ValueError(f"y contains {labels[invalid][0]}: {name} needs a string or an integer for every sample.")
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has 1 class: {name} needs at least 2.")
        return numbers


class SupervisedPeer(OptionallySupervisedPeer):
    """Base class of peers that learn from class labels.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted class labels.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import PEERS
    >>> X, y = load_digits(return_X_y=True)
    >>> PEERS["COSDISH"](n_bits=32, random_state=0).fit(X, y).encode(X).shape
    (1797, 4)
    """

    def _check_labels(self, y: Any, n_samples: int) -> Integers | None:
        if y is None:
            name = type(self).__name__
            raise ValueError(f"{name} requires y to be passed, but the target y is None: pass one label per sample.")
        return super()._check_labels(y, n_samples)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class AxisPeer(Peer):
    """Base class of peers that start each bit from a principal axis: at most as many bits as features and samples."""

    def _check_n_bits(self, X: Matrix) -> int:
        n, d = X.shape
        hint = f", the smaller of n_samples={n} and n_features={d}"
        return check_integer("n_bits", self.n_bits, 1, min(n, d), hint)


class LinearPeer(Peer):
    """Base class of peers whose margins are linear in the centred sample: w_k'(x - mean).

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
        Mean of the samples of `fit`.
    directions_ : ndarray of shape (d, n_bits)
        w_k in column k.
    """

    def _margins(self, X: Matrix) -> Matrix:
        return project(X, self.mean_, self.directions_)
