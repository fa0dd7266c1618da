"""The sign of each feature, called binary quantisation by vector databases.

1. mean_k: 0 or, if `centred`, the mean of feature k over the samples of `fit`,
2. bit k of x is 1 where x_k > mean_k.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from proxcode.peers._arrays import Matrix, Rng
from proxcode.peers._base import Peer
from proxcode.utils.validation import check_integer


@dataclass(eq=False, repr=False)
class Sign(Peer):
    """Bit k is 1 where feature k is above 0, or above its mean.

    Features that are never negative, such as those of GIST, give the same bit for all samples unless they are centred.

    Parameters
    ----------
    n_bits : int or None, default=None
        Number of features to use, starting with the first. None uses all features.
    centred : bool, default=False
        Whether to subtract the mean of the samples of `fit` from each feature.
    random_state : int, RandomState or None, default=None
        Ignored; present for API consistency.

    Attributes
    ----------
    mean_ : ndarray of shape (n_bits,)
        Zeros unless `centred`.

    Examples
    --------
    >>> from proxcode.peers import Sign
    >>> Sign().fit_transform([[0.3, -1.0, 0.0], [-2.0, 0.5, 0.1]])
    array([[1, 0, 0],
           [0, 1, 1]], dtype=uint8)
    """

    n_bits: Any = None
    centred: bool = field(default=False, kw_only=True)

    def _check_n_bits(self, X: Matrix) -> int:
        d = X.shape[1]
        hint = ", the number of features; None uses all features"
        return d if self.n_bits is None else check_integer("n_bits", self.n_bits, 1, d, hint)

    def _fit(self, X: Matrix, y: Any, rng: Rng) -> None:
        used = X[:, : self.n_bits]
        self.mean_ = used.mean(axis=0, dtype=np.float64) if self.centred else np.zeros(used.shape[1])

    def _margins(self, X: Matrix) -> Matrix:
        return np.where(X[:, : len(self.mean_)] > self.mean_, 1.0, -1.0)
