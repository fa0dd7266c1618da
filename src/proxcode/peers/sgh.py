"""Scalable graph hashing: the graph of all similarities, never stored as a matrix.

Jiang, Li, "Scalable Graph Hashing with Feature Transformation" (IJCAI 2015), as in their released code:

1. samples are centred and scaled to unit length; S_ij = exp(-|x_i - x_j|^2 / rho), rho = 2, and codes approximate
   2S - 1,
2. e^t is nearly (e^2 - 1)/(2e) t + (e^2 + 1)/(2e) on [-1, 1], so that 2S - 1 is nearly P'Q with
   P(x) = [sqrt(2(e^2 - 1)/(e rho)) g(x) x; sqrt((e^2 + 1)/e) g(x); 1], g(x) = exp(-|x|^2 / rho),
   Q(x) the same with -1 at the end,
3. K: centred RBF features of the samples by 300 anchors (bases), the width twice the mean squared distance,
4. bit t: w_t is the leading w of A w = lambda (K'K + gamma I) w, where A = K'(c P'Q - sum of b b' so far)K for c bits,
   b_t = sign(K w_t), and K'b_t b_t'K is subtracted from A,
5. a second pass in random order: K'b_t b_t'K is added back to A, then w_t and b_t are computed again.
"""

from typing import Any

import numpy as np

from proxcode.peers._arrays import Matrix, Real, Rng, signs
from proxcode.peers._kernel_features import KernelPeer, UnitRows, centred_kernel, leading, whitener
from proxcode.utils.blocks import sum_blocks

RHO = 2.0
GAMMA = 1e-6


class SGH(KernelPeer):
    """Scalable graph hashing.

    Parameters and attributes are those of `KernelPeer`.
    """

    def _fit(self, X: Matrix, y: Any, rng: Rng) -> None:
        scale = UnitRows(X.mean(axis=0, dtype=np.float64))
        self.kernel_, K = centred_kernel(X, scale, self._draw_anchors(X, scale, rng))
        to_white = whitener(K, GAMMA)
        white = K @ to_white
        to_p = sum_blocks(lambda rows: white[rows].T @ _transform(scale(X[rows])), len(X))
        common, constant = to_p[:, :-1], to_p[:, -1]
        A = self.n_bits * (common @ common.T - np.outer(constant, constant))
        directions, images = np.empty((len(A), self.n_bits)), np.zeros((len(A), self.n_bits))
        for t in [*range(self.n_bits), *rng.permutation(self.n_bits)]:
            A += np.outer(images[:, t], images[:, t])
            directions[:, t] = leading(A)
            images[:, t] = white.T @ signs(white @ directions[:, t])
            A -= np.outer(images[:, t], images[:, t])
        self.weights_ = to_white @ directions


def _transform(X: Real) -> Real:
    """Return P(x) of each sample, shape (n, d + 2); Q(x) has the last column negated."""
    g = np.exp(np.einsum("ij,ij->i", X, X) / -RHO)[:, None]
    steep, level = np.sqrt(2 * (np.e**2 - 1) / (np.e * RHO)), np.sqrt((np.e**2 + 1) / np.e)
    return np.hstack([steep * g * X, level * g, np.ones_like(g)])
