"""Scalable graph hashing: the graph of all similarities, without ever building it.

Jiang, Li, "Scalable Graph Hashing with Feature Transformation" (IJCAI 2015), as in their released code:

1. points are centred and scaled to unit length; S_ij = exp(-|x_i - x_j|^2 / rho), rho = 2, and 2S - 1 is to be met,
2. e^t is nearly (e^2 - 1)/(2e) t + (e^2 + 1)/(2e) on [-1, 1], so that 2S - 1 is nearly P'Q with
   P(x) = [sqrt(2(e^2 - 1)/(e rho)) g(x) x; sqrt((e^2 + 1)/e) g(x); 1], g(x) = exp(-|x|^2 / rho),
   Q(x) the same with -1 at the end,
3. K: centred RBF features of the points by 300 bases, the width the mean squared distance,
4. bit t: w_t is the leading w of A w = lambda (K'K + gamma I) w, where A = K'(c P'Q - sum of b b' so far)K for c bits,
   b_t = sign(K w_t) and A loses K'b_t b_t'K,
5. once more in random order: A gets back K'b_t b_t'K, w_t and b_t are found anew.
"""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from proxcode.peers._base import Matrix, Peer
from proxcode.peers._kernel_features import Real, UnitRows, centred_kernel, draw_anchors, leading, signs, whitener
from proxcode.utils.blocks import map_blocks, one_blas_thread

RHO = 2.0
GAMMA = 1e-6


class SGH(Peer):
    """Scalable graph hashing.

    Parameters
    ----------
    n_bits : int, default=64
    n_anchors : int, default=300
        Kernel bases; all points where there are fewer.
    random_state : int, RandomState or None, default=None
        Draws the bases and the order of the second pass.

    Attributes
    ----------
    kernel_ : AnchorKernel
    weights_ : ndarray of shape (n_anchors, n_bits)

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import SGH
    >>> X, _ = load_digits(return_X_y=True)
    >>> SGH(n_bits=32, random_state=0).fit(X).encode(X).shape
    (1797, 4)
    """

    def __init__(self, n_bits: int = 64, n_anchors: int = 300, random_state: Any = None) -> None:
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.random_state = random_state

    def _fit(self, X: Matrix, y: Any) -> None:
        rng = check_random_state(self.random_state)
        scale = UnitRows(X.mean(axis=0, dtype=np.float64))
        anchors = draw_anchors(X, scale, self.n_anchors, rng)
        with one_blas_thread:
            self.kernel_, features = centred_kernel(X, scale, anchors)
            to_white = whitener(features, GAMMA)
            white = features @ to_white
            A = self.n_bits * _transformed_graph(X, scale, white)
            self.weights_ = to_white @ _directions(A, white, self.n_bits, rng)

    def _scores(self, X: Matrix) -> Matrix:
        return self.kernel_.project(X, self.weights_)


def _transformed_graph(X: Matrix, scale: UnitRows, features: Real) -> Real:
    """Return F'P'QF for features F, shape (m, m)."""
    to_p = np.zeros((features.shape[1], X.shape[1] + 2))
    for _, block in map_blocks(lambda rows: features[rows].T @ _transform(scale(X[rows])), len(X)):
        to_p += block
    common, constant = to_p[:, :-1], to_p[:, -1]
    return common @ common.T - np.outer(constant, constant)


def _transform(points: Real) -> Real:
    """Return P(x) of each point, shape (n, d + 2); Q(x) has the last column negative."""
    g = np.exp(np.einsum("ij,ij->i", points, points) / -RHO)[:, None]
    steep, level = np.sqrt(2 * (np.e**2 - 1) / (np.e * RHO)), np.sqrt((np.e**2 + 1) / np.e)
    return np.hstack([steep * g * points, level * g, np.ones_like(g)])


def _directions(A: Real, white: Real, n_bits: int, rng: np.random.RandomState) -> Real:
    """Return the directions of all bits in whitened features, shape (m, n_bits); A is used up."""
    m = len(A)
    directions, images = np.empty((m, n_bits)), np.empty((m, n_bits))
    passes = [*range(n_bits), *rng.permutation(n_bits)]
    for step, t in enumerate(passes):
        if step >= n_bits:
            A += np.outer(images[:, t], images[:, t])
        directions[:, t] = leading(A)
        images[:, t] = white.T @ signs(white @ directions[:, t])
        A -= np.outer(images[:, t], images[:, t])
    return directions
