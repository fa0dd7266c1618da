"""Locality-sensitive hashing by random hyperplanes.

Charikar, "Similarity Estimation Techniques from Rounding Algorithms" (STOC 2002):

1. w_k: a vector of independent standard normal numbers for each bit,
2. bit k of x is the sign of w_k'(x - mean): two samples differ in it with probability angle / pi.

The paper's hyperplanes pass through the origin; here they pass through the mean of the samples.
"""

from typing import Any

import numpy as np

from proxcode.peers._arrays import Matrix, Rng
from proxcode.peers._base import LinearPeer


class LSH(LinearPeer):
    """Signs of random projections of the centred samples.

    Parameters are those of `Peer`, attributes those of `LinearPeer`.

    Examples
    --------
    >>> from proxcode.peers import LSH
    >>> LSH(n_bits=4, random_state=0).fit_transform([[0.0, 1.0], [1.0, 0.0]])
    array([[1, 0, 0, 0],
           [0, 1, 1, 1]], dtype=uint8)
    """

    def _fit(self, X: Matrix, y: Any, rng: Rng) -> None:
        self.mean_ = X.mean(axis=0, dtype=np.float64)
        self.directions_ = rng.standard_normal((X.shape[1], self.n_bits))
