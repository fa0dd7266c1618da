"""Supervised hashing with kernels: inner products of codes fitted to labels, bit by bit.

Liu, Wang, Ji, Jiang, Chang, "Supervised Hashing with Kernels" (CVPR 2012), as in their released code:

1. K: centred RBF features by 300 anchors, the width the mean squared distance, of l labelled points,
2. S_ij is +1 for a near pair and -1 for a far one; R_0 = rS for r bits,
3. bit k starts from the leading a of K'R_{k-1}K a = lambda (K'K + gamma I) a, scaled to a'K'Ka = l,
4. and descends the smooth -h'R_{k-1}h, h = 2/(1 + exp(-Ka)) - 1, by Nesterov's gradient method: the step is halved
   until the quadratic model lies above, and it ends when a step gains at most 0.01 per point,
5. of the two directions the one with the larger b'R_{k-1}b, b = sign(Ka), is kept; R_k = R_{k-1} - bb'.

R is kept as the classes and the bits that made it, never as a matrix.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.peers._base import Matrix, SupervisedPeer, indicators
from proxcode.peers._kernel_features import Centred, Real, centred_kernel, draw_anchors, leading, signs, whitener
from proxcode.utils.blocks import one_blas_thread
from proxcode.utils.validation import check_whole

GAMMA = 1e-6
MAX_STEPS, MAX_HALVINGS, GAIN = 500, 50, 0.01


class KSH(SupervisedPeer):
    """Supervised hashing with kernels.

    Parameters
    ----------
    n_bits : int, default=64
    n_anchors : int, default=300
        All points where there are fewer.
    n_labelled : int, default=1000
        Points whose labels are used, drawn at random; all where there are fewer.
    random_state : int, RandomState or None, default=None
        Draws the anchors and the labelled points.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kernel_ : AnchorKernel
    weights_ : ndarray of shape (n_anchors, n_bits)

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import KSH
    >>> X, y = load_digits(return_X_y=True)
    >>> KSH(n_bits=8, n_labelled=500, random_state=0).fit(X, y).encode(X).shape
    (1797, 1)
    """

    def __init__(
        self, n_bits: int = 64, n_anchors: int = 300, n_labelled: int = 1000, random_state: Any = None
    ) -> None:
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.n_labelled = n_labelled
        self.random_state = random_state

    def _learn(self, X: Matrix, members: NDArray[np.int64], rng: np.random.RandomState) -> None:
        n_labelled = check_whole("n_labelled", self.n_labelled, 2)
        scale = Centred(X.mean(axis=0, dtype=np.float64))
        anchors = draw_anchors(X, scale, self.n_anchors, rng)
        labelled = np.sort(rng.permutation(len(X))[:n_labelled])
        with one_blas_thread:
            self.kernel_, features = centred_kernel(X, scale, anchors)
            residual = _Residual(self.n_bits, indicators(members[labelled]), np.empty((len(labelled), 0)))
            self.weights_ = _directions(features[labelled], residual)

    def _scores(self, X: Matrix) -> Matrix:
        return self.kernel_.project(X, self.weights_)


@dataclass(frozen=True)
class _Residual:
    """R = r(2YY' - 11') - BB' for r bits, indicators Y of the classes and the bits B so far."""

    r: int
    Y: Real
    B: Real

    def times(self, h: Real) -> Real:
        return self.r * (self.Y @ (2 * (self.Y.T @ h)) - h.sum(axis=0)) - self.B @ (self.B.T @ h)

    def without(self, bit: Real) -> "_Residual":
        return _Residual(self.r, self.Y, np.column_stack([self.B, bit]))


def _directions(features: Real, residual: _Residual) -> Real:
    """Return the directions of all bits, shape (m, n_bits)."""
    to_white = whitener(features, GAMMA)
    white = features @ to_white
    A = white.T @ residual.times(white)
    directions = []
    for _ in range(residual.r):
        start = to_white @ leading(A)
        start *= np.sqrt(len(features)) / (np.linalg.norm(features @ start) or 1.0)
        candidates = [start, _descend(features, residual, start)]
        bits = [signs(features @ direction) for direction in candidates]
        best = int(np.argmax([bit @ residual.times(bit) for bit in bits]))
        directions.append(candidates[best])
        residual = residual.without(bits[best])
        image = white.T @ bits[best]
        A -= np.outer(image, image)
    return np.column_stack(directions)


def _descend(features: Real, residual: _Residual, start: Real) -> Real:
    """Return the direction that Nesterov's gradient method ends at.

    Directions are carried as (a, Ka): K meets only the slope, once from each side in a step.
    """
    last = here = np.concatenate([start, features @ start])
    m = len(start)
    cost, curvature, momentum, next_momentum = _smooth(residual, here[m:])[0], 1.0, 0.0, 1.0
    for _ in range(MAX_STEPS):
        ahead = here + (momentum - 1) / next_momentum * (here - last)
        value, h, pull = _smooth(residual, ahead[m:])
        slope = -(features.T @ (pull * (1 - h**2)))
        step = np.concatenate([slope, features @ slope])
        for _ in range(MAX_HALVINGS + 1):
            trial = ahead - step / curvature
            trial_cost = _smooth(residual, trial[m:])[0]
            if trial_cost <= value - slope @ slope / (2 * curvature):
                break
            curvature *= 2
        else:
            break
        gain, last, here, cost = abs(trial_cost - cost), here, trial, trial_cost
        if gain <= GAIN * len(features):
            break
        momentum, next_momentum = next_momentum, (1 + np.sqrt(1 + 4 * next_momentum**2)) / 2
    return here[:m]


def _smooth(residual: _Residual, projected: Real) -> tuple[float, Real, Real]:
    """Return -h'Rh, h and Rh for h = 2/(1 + exp(-Ka)) - 1."""
    h = np.tanh(projected / 2)
    pull = residual.times(h)
    return -float(h @ pull), h, pull
