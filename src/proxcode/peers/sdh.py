"""Supervised discrete hashing: bits from which a linear classifier can tell the classes.

Shen, Shen, Liu, Shen, "Supervised Discrete Hashing" (CVPR 2015), as in their released code:

1. phi(x): RBF features exp(-|x - a|^2 / (2 sigma^2)) of the unit rows by 1,000 anchors, sigma = 0.4, and a constant 1,
2. minimise |Y - BW|^2 + lambda |W|^2 + nu |B - phi(X)P|^2 over bits B, with Y the indicators of the classes,
3. from random bits: W = (B'B + lambda I)^-1 B'Y and P = (phi'phi + delta I)^-1 phi'B,
4. B by discrete cyclic coordinate descent from zeros with Q = YW' + nu phi(X)P, at most 10 rounds,
5. W and P anew; 4 and 5 five times,
6. the bits of a point are sign(phi(x)P).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve

from proxcode.peers._base import Matrix, SupervisedPeer, indicators
from proxcode.peers._dcc import descend
from proxcode.peers._kernel_features import AnchorKernel, Real, UnitRows, draw_anchors, signs
from proxcode.utils.blocks import one_blas_thread
from proxcode.utils.validation import check_whole

SIGMA = 0.4
NU, LAMBDA, DELTA = 1e-5, 1.0, 1e-2
INNER_ROUNDS = 10


class SDH(SupervisedPeer):
    """Supervised discrete hashing.

    Parameters
    ----------
    n_bits : int, default=64
    n_anchors : int, default=1000
        All points where there are fewer.
    n_rounds : int, default=5
        Rounds of bits, classifier and hash function.
    random_state : int, RandomState or None, default=None
        Draws the anchors and the bits to start from.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kernel_ : AnchorKernel
    weights_ : ndarray of shape (n_anchors + 1, n_bits)
        The last row belongs to the constant.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import SDH
    >>> X, y = load_digits(return_X_y=True)
    >>> SDH(n_bits=32, random_state=0).fit(X, y).encode(X).shape
    (1797, 4)
    """

    def __init__(self, n_bits: int = 64, n_anchors: int = 1000, n_rounds: int = 5, random_state: Any = None) -> None:
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.n_rounds = n_rounds
        self.random_state = random_state

    def _learn(self, X: Matrix, members: NDArray[np.int64], rng: np.random.RandomState) -> None:
        n_rounds = check_whole("n_rounds", self.n_rounds, 1)
        scale = UnitRows(np.zeros(X.shape[1]))
        anchors = draw_anchors(X, scale, self.n_anchors, rng)
        self.kernel_ = AnchorKernel(scale, anchors, 2 * SIGMA**2, np.zeros(len(anchors)))
        bits = signs(rng.standard_normal((len(X), self.n_bits)))
        with one_blas_thread:
            features = np.hstack([self.kernel_.features(X), np.ones((len(X), 1))])
            self.weights_ = _alternate(features, indicators(members), bits, n_rounds)

    def _scores(self, X: Matrix) -> Matrix:
        return self.kernel_.project(X, self.weights_)


def _alternate(features: Real, Y: Real, B: Real, n_rounds: int) -> Real:
    """Return P after so many rounds from the bits B, or once the bits stay as they are."""
    gram = cho_factor(features.T @ features + DELTA * np.eye(features.shape[1]))
    P = cho_solve(gram, features.T @ B)
    for _ in range(n_rounds):
        W = solve(B.T @ B + LAMBDA * np.eye(B.shape[1]), B.T @ Y, assume_a="pos")
        before, B = B, descend(Y @ W.T + NU * (features @ P), W, INNER_ROUNDS)
        if np.array_equal(B, before):
            break
        P = cho_solve(gram, features.T @ B)
    return P
