"""Supervised hashing with kernels: inner products of codes fitted to labels, bit by bit.

Liu, Wang, Ji, Jiang, Chang, "Supervised Hashing with Kernels" (CVPR 2012), as in their released code:

1. K: centred RBF features by 300 anchors, the width twice the mean squared distance, of l labelled samples,
2. S_ij is +1 for a near pair and -1 for a far one; R_0 = rS for r bits,
3. bit k starts from the leading a of K'R_{k-1}K a = lambda (K'K + gamma I) a, scaled to a'K'Ka = l,
4. and descends the smooth -h'R_{k-1}h, h = 2/(1 + exp(-Ka)) - 1, by Nesterov's gradient method: the step is halved
   until the quadratic model is an upper bound; a step that gains at most 0.01 per sample is the last,
5. of the two directions the one with the larger b'R_{k-1}b, b = sign(Ka), is kept; R_k = R_{k-1} - bb'.

R is represented by class indicators and bits, never as a matrix.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from proxcode.peers._arrays import Integers, Matrix, Real, Rng, project, random_subset, signs
from proxcode.peers._base import SupervisedPeer
from proxcode.peers._kernel_features import Centred, KernelPeer, centred_kernel, leading, whitener
from proxcode.utils.validation import check_integer

Product = Callable[[Real], Real]

GAMMA = 1e-6
# Limits of Nesterov's method: steps, halvings of a step, and the gain per sample of the last step.
MAX_STEPS, MAX_HALVINGS, GAIN = 500, 50, 0.01


@dataclass(eq=False, repr=False)
class KSH(SupervisedPeer, KernelPeer):
    """Supervised hashing with kernels.

    Parameters not listed, and attributes, are those of `KernelPeer` and `SupervisedPeer`.

    Parameters
    ----------
    n_labelled : int, default=1000
        Number of random samples whose labels are used; all if there are fewer.
    """

    n_labelled: int = 1000

    def _fit(self, X: Matrix, y: Integers, rng: Rng) -> None:
        n_labelled = check_integer("n_labelled", self.n_labelled, 2)
        features = self._features(X, rng)
        labelled = random_subset(len(X), n_labelled, rng)
        K, Y, B = features[labelled], np.eye(len(self.classes_))[y[labelled]], np.empty((len(labelled), 0))

        def times_residual(h: Real) -> Real:
            """Return Rh for R = r(2YY' - 11') - BB' with r bits, class indicators Y and the bits B so far."""
            return self.n_bits * (Y @ (2 * (Y.T @ h)) - h.sum(axis=0)) - B @ (B.T @ h)

        to_white = whitener(K, GAMMA)
        white = K @ to_white
        A = white.T @ times_residual(white)
        directions = []
        for _ in range(self.n_bits):
            start = to_white @ leading(A)
            start *= np.sqrt(len(K)) / (np.linalg.norm(K @ start) or 1.0)
            candidates = [start, _descend(K, times_residual, start)]
            bits = [signs(K @ direction) for direction in candidates]
            best = int(np.argmax([bit @ times_residual(bit) for bit in bits]))
            directions.append(candidates[best])
            B = np.column_stack([B, bits[best]])
            image = white.T @ bits[best]
            A -= np.outer(image, image)
        self.weights_ = np.column_stack(directions)

    def _features(self, X: Matrix, rng: Rng) -> Real:
        """Return the centred features of the samples, and set what computes those of new samples."""
        scale = Centred(X.mean(axis=0, dtype=np.float64))
        self.kernel_, features = centred_kernel(X, scale, self._draw_anchors(X, scale, rng))
        return features


class LinearKSH(KSH):
    """KSH for samples that are kernel features already: its features are those of the samples, centred.

    `n_anchors` is ignored. Parameters and attributes not listed are those of `KSH`.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
        Mean of the samples of `fit`.
    """

    def _features(self, X: Matrix, rng: Rng) -> Real:
        self.mean_ = X.mean(axis=0, dtype=np.float64)
        return X - self.mean_

    def _margins(self, X: Matrix) -> Matrix:
        return project(X, self.mean_, self.weights_)


def _descend(K: Real, times_residual: Product, start: Real) -> Real:
    """Return the last direction of Nesterov's gradient method.

    The iterates are stored as (a, Ka), so that a step needs one product with K' and one with K.
    """
    last = here = np.concatenate([start, K @ start])
    m = len(start)
    cost, curvature, momentum, next_momentum = _smooth(times_residual, here[m:])[0], 1.0, 0.0, 1.0
    for _ in range(MAX_STEPS):
        ahead = here + (momentum - 1) / next_momentum * (here - last)
        value, h, Rh = _smooth(times_residual, ahead[m:])
        slope = -(K.T @ (Rh * (1 - h**2)))
        step = np.concatenate([slope, K @ slope])
        for _ in range(MAX_HALVINGS + 1):
            trial = ahead - step / curvature
            trial_cost = _smooth(times_residual, trial[m:])[0]
            if trial_cost <= value - slope @ slope / (2 * curvature):
                break
            curvature *= 2
        else:
            break
        gain, last, here, cost = abs(trial_cost - cost), here, trial, trial_cost
        if gain <= GAIN * len(K):
            break
        momentum, next_momentum = next_momentum, (1 + np.sqrt(1 + 4 * next_momentum**2)) / 2
    return here[:m]


def _smooth(times_residual: Product, Ka: Real) -> tuple[float, Real, Real]:
    """Return -h'Rh, h and Rh for h = 2/(1 + exp(-Ka)) - 1."""
    h = np.tanh(Ka / 2)
    Rh = times_residual(h)
    return -float(h @ Rh), h, Rh
