"""Column-sampled discrete supervised hashing: bits of a few sampled points and of all others in turn.

Kang, Li, Zhou, "Column Sampling Based Discrete Supervised Hashing" (AAAI 2016), as in their released code:

1. from random bits B of q columns, 10 times: q points Omega are drawn, Gamma are the others; S holds the columns of
   the similarities of all points with Omega, +1 for a near pair and -(near pairs)/(far pairs) for a far one,
2. bit k of Omega minimises |q S_Omega - B_Omega B_Omega'|^2 + |q S_Gamma - B_Gamma B_Omega'|^2 given the bits before
   it: b'Qb + p'b with Q = -2 R_Omega off its diagonal and p = -2 R_Gamma' b_Gamma, R what bits before k leave of qS,
3. B_Gamma = sign(S_Gamma B_Omega), the minimum of the L1 loss; where the sum is 0 the bit stays,
4. 2 and 3 three times,
5. the bits of a point are the signs of a ridge regression of B on its standardised features.

The paper solves 2 by a clustering that is at most twice the minimum; here single bits flip, the best first, from the
bits so far until none improves.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve

from proxcode.peers._base import Matrix, SupervisedPeer
from proxcode.peers._kernel_features import Real, signs
from proxcode.peers._linear import project
from proxcode.utils.blocks import map_blocks, one_blas_thread

SAMPLES, ALTERNATIONS = 10, 3
RIDGE = 1.0
TIE = 1e-5


class COSDISH(SupervisedPeer):
    """Column-sampled discrete supervised hashing, carried to new points by linear regression.

    Parameters
    ----------
    n_bits : int, default=64
    random_state : int, RandomState or None, default=None
        Draws the bits to start from and the columns.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    training_bits_ : ndarray of uint8, 0 or 1, shape (n, n_bits)
        The bits of the training points themselves, that the regression learns; the authors search among these.
    mean_, deviation_ : ndarrays of shape (d,)
    weights_ : ndarray of shape (d, n_bits)

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import COSDISH
    >>> X, y = load_digits(return_X_y=True)
    >>> COSDISH(n_bits=32, random_state=0).fit(X, y).encode(X).shape
    (1797, 4)
    """

    def __init__(self, n_bits: int = 64, random_state: Any = None) -> None:
        self.n_bits = n_bits
        self.random_state = random_state

    def _learn(self, X: Matrix, members: NDArray[np.int64], rng: np.random.RandomState) -> None:
        bits = signs(rng.standard_normal((len(X), self.n_bits)))
        with one_blas_thread:
            for _ in range(SAMPLES):
                sampled = np.sort(rng.permutation(len(X))[: self.n_bits])
                _alternate(bits, members, sampled)
            self.training_bits_ = (bits > 0).astype(np.uint8)
            self._regress(X, bits)

    def _regress(self, X: Matrix, bits: Real) -> None:
        self.mean_, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        self.deviation_ = np.where(deviation > 0, deviation, 1.0)
        d = X.shape[1]
        gram, moment = RIDGE * np.eye(d), np.zeros((d, self.n_bits))

        def block(rows: slice) -> tuple[Real, Real]:
            points = (X[rows] - self.mean_) / self.deviation_
            return points.T @ points, points.T @ bits[rows]

        for _, (of_points, of_bits) in map_blocks(block, len(X)):
            gram += of_points
            moment += of_bits
        self.weights_ = solve(gram, moment, assume_a="pos")

    def _scores(self, X: Matrix) -> Matrix:
        return project(X, self.mean_, self.weights_ / self.deviation_[:, None])


def _alternate(B: Real, members: NDArray[np.int64], sampled: NDArray[np.int64]) -> None:
    """Improve the bits of the sampled points and of all others in turn, in place."""
    others = np.setdiff1d(np.arange(len(B)), sampled)
    near = members[:, None] == members[sampled]
    S = np.where(near, 1.0, -near.sum() / max((~near).sum(), 1))
    for _ in range(ALTERNATIONS):
        B[sampled] = _sampled_bits(B[sampled], B[others], S[sampled], S[others])
        pull = S[others] @ B[sampled]
        B[others] = np.where(np.abs(pull) < TIE, B[others], signs(pull))


def _sampled_bits(B: Real, B_others: Real, S: Real, S_others: Real) -> Real:
    """Return the bits of the sampled points, column by column, given those of the others."""
    q = B.shape[1]
    pull, overlap = q * (S_others.T @ B_others), B_others.T @ B_others
    R = q * S
    B = B.copy()
    for k in range(q):
        p = -2 * (pull[:, k] - B[:, :k] @ overlap[:k, k])
        B[:, k] = _flip(-2 * (R - np.diag(np.diag(R))), p, B[:, k])
        R -= np.outer(B[:, k], B[:, k])
    return B


def _flip(Q: Real, p: Real, b: Real) -> Real:
    """Return b of -1 and +1 after the single flips that lower b'Qb + p'b most; Q symmetric with zero diagonal."""
    b = b.copy()
    slope = 2 * Q @ b + p
    while (change := -2 * b * slope)[best := int(change.argmin())] < -TIE:
        slope -= 4 * b[best] * Q[best]
        b[best] = -b[best]
    return b
