"""Supervised discrete hashing: bits from which a linear classifier predicts the classes.

Shen, Shen, Liu, Shen, "Supervised Discrete Hashing" (CVPR 2015), as in their released code:

1. phi(x): RBF features exp(-|x - a|^2 / (2 sigma^2)) of the unit rows by 1,000 anchors, sigma = 0.4, and a constant 1,
2. minimise |Y - BW|^2 + lambda |W|^2 + nu |B - phi(X)P|^2 over bits B, with Y the class indicator matrix,
3. from random bits: W = (B'B + lambda I)^-1 B'Y and P = (phi'phi + delta I)^-1 phi'B,
4. B by discrete cyclic coordinate descent from zeros with Q = YW' + nu phi(X)P, at most 10 rounds: column k given the
   others is sign(q_k - B_others W_others w_k'), the exact minimum,
5. W and P again; 4 and 5 five times,
6. the bits of a sample are sign(phi(x)P).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve

from proxcode.peers._arrays import Integers, Matrix, Real, Rng, signs
from proxcode.peers._base import SupervisedPeer
from proxcode.peers._kernel_features import AnchorKernel, KernelPeer, UnitRows
from proxcode.utils.blocks import sum_blocks
from proxcode.utils.validation import check_integer

SIGMA = 0.4
NU, LAMBDA, DELTA = 1e-5, 1.0, 1e-2
INNER_ROUNDS = 10


@dataclass(eq=False, repr=False)
class SDH(SupervisedPeer, KernelPeer):
    """Supervised discrete hashing.

    Parameters not listed, and attributes, are those of `KernelPeer` and `SupervisedPeer`; the last row of `weights_`
    belongs to the constant feature.

    Parameters
    ----------
    n_anchors : int or None, default=1000
    n_rounds : int, default=5
        Number of times that bits, classifier and hash function are updated.
    """

    n_anchors: int | None = 1000
    n_rounds: int = 5

    def _fit(self, X: Matrix, y: Integers, rng: Rng) -> None:
        n_rounds = check_integer("n_rounds", self.n_rounds, 1)
        scale = UnitRows(np.zeros(X.shape[1]))
        anchors = self._draw_anchors(X, scale, rng)
        self.kernel_ = AnchorKernel(scale, anchors, 2 * SIGMA**2, np.zeros(len(anchors)))
        B = signs(rng.standard_normal((len(X), self.n_bits)))
        phi = np.hstack([self.kernel_.features(X), np.ones((len(X), 1))])
        Y = np.eye(len(self.classes_))[y]
        gram = sum_blocks(lambda rows: phi[rows].T @ phi[rows], len(phi))
        factor = cho_factor(gram + DELTA * np.eye(len(gram)))
        self.weights_ = cho_solve(factor, phi.T @ B)
        for _ in range(n_rounds):
            W = solve(B.T @ B + LAMBDA * np.eye(self.n_bits), B.T @ Y, assume_a="pos")
            before, B = B, coordinate_descent(Y @ W.T + NU * (phi @ self.weights_), W, INNER_ROUNDS)
            if np.array_equal(B, before):
                break
            self.weights_ = cho_solve(factor, phi.T @ B)


def coordinate_descent(Q: Real, W: Real, max_rounds: int) -> Real:
    """Return B of -1 and +1, shape (n, p), which minimises |Y - BW|^2 - 2 tr(B'F) one column at a time from zeros.

    Q = YW' + F is of shape (n, p) and W of shape (p, c). A round over the columns without a change ends the descent.
    """
    B = np.zeros_like(Q)
    overlap = W @ W.T
    np.fill_diagonal(overlap, 0)
    for _ in range(max_rounds):
        before = B.copy()
        for k in range(Q.shape[1]):
            B[:, k] = signs(Q[:, k] - B @ overlap[k])
        if np.array_equal(B, before):
            break
    return B
