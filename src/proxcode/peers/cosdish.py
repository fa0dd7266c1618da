"""Column-sampled discrete supervised hashing: bits of a few random samples and of all others, alternately.

Kang, Li, Zhou, "Column Sampling Based Discrete Supervised Hashing" (AAAI 2016), as in their released code:

1. from random bits B of q columns, 10 times: Omega are q random samples, Gamma the others; S holds the columns of the
   similarities of all samples with Omega, +1 for a near pair and -(near pairs)/(far pairs) for a far one,
2. bit k of Omega minimises |q S_Omega - B_Omega B_Omega'|^2 + |q S_Gamma - B_Gamma B_Omega'|^2 given the bits before
   it: b'Qb + p'b with Q = -2 R_Omega off its diagonal and p = -2 R_Gamma' b_Gamma, R the residual of qS after the bits
   before k,
3. B_Gamma = sign(S_Gamma B_Omega), the minimum of the L1 loss; a bit whose sum is 0 does not change,
4. 2 and 3 three times,
5. the bits of a sample are the signs of a ridge regression of B on its standardised features.

The paper solves step 2 by a clustering whose value is at most twice the minimum; here the best single flips follow from
the current bits until no flip improves.
"""

import numpy as np
from scipy.linalg import solve

from proxcode.peers._arrays import Integers, Matrix, Real, Rng, project, random_subset, signs
from proxcode.peers._base import SupervisedPeer
from proxcode.utils.blocks import sum_blocks

SAMPLES, ALTERNATIONS = 10, 3
RIDGE = 1.0
TIE = 1e-5


class COSDISH(SupervisedPeer):
    """Column-sampled discrete supervised hashing, extended to new samples by linear regression.

    Parameters and attributes not listed are those of `SupervisedPeer`.

    Attributes
    ----------
    training_bits_ : ndarray of uint8, 0 or 1, shape (n, n_bits)
        The bits of the samples of `fit`, the targets of the regression; the authors search among these.
    mean_, deviation_ : ndarrays of shape (d,)
    weights_ : ndarray of shape (d, n_bits)
    """

    def _fit(self, X: Matrix, y: Integers, rng: Rng) -> None:
        bits = signs(rng.standard_normal((len(X), self.n_bits)))
        for _ in range(SAMPLES):
            _alternate(bits, y, random_subset(len(X), self.n_bits, rng))
        self.training_bits_ = (bits > 0).astype(np.uint8)
        self.mean_, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        self.deviation_ = np.where(deviation > 0, deviation, 1.0)

        def standardised(rows: slice) -> Real:
            return (X[rows] - self.mean_) / self.deviation_

        gram = sum_blocks(lambda rows: (Z := standardised(rows)).T @ Z, len(X))
        moment = sum_blocks(lambda rows: standardised(rows).T @ bits[rows], len(X))
        self.weights_ = solve(gram + RIDGE * np.eye(len(gram)), moment, assume_a="pos")

    def _margins(self, X: Matrix) -> Matrix:
        return project(X, self.mean_, self.weights_ / self.deviation_[:, None])


def _alternate(B: Real, classes: Integers, omega: Integers) -> None:
    """Improve the bits of the samples Omega and of all others alternately, in place."""
    gamma = np.setdiff1d(np.arange(len(B)), omega)
    near = classes[:, None] == classes[omega]
    S = np.where(near, 1.0, -near.sum() / max((~near).sum(), 1))
    for _ in range(ALTERNATIONS):
        B[omega] = _bits_of_omega(B[omega], B[gamma], S[omega], S[gamma])
        pull = S[gamma] @ B[omega]
        B[gamma] = np.where(np.abs(pull) < TIE, B[gamma], signs(pull))


def _bits_of_omega(B: Real, B_gamma: Real, S: Real, S_gamma: Real) -> Real:
    """Return the bits of the samples Omega, column by column, given those of Gamma."""
    q = B.shape[1]
    pull, overlap = q * (S_gamma.T @ B_gamma), B_gamma.T @ B_gamma
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
