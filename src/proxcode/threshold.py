"""Step I: the threshold between near and far.

After k bits a pair at Hamming distance h has inner product B = k - 2h. The paper calls it near where its doubled
distance 2h is at most alpha, that is where B >= beta with beta = k - alpha. All rules here read the same two
histograms, near[h] and far[h]: how many near and far pairs lie at distance h = 0..k.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit
from sklearn.base import BaseEstimator

Counts = NDArray[np.int64]


def inner_products(n_bits: int) -> NDArray[np.float64]:
    """B = n_bits - 2h for the Hamming distances h = 0..n_bits."""
    return n_bits - 2.0 * np.arange(n_bits + 1, dtype=np.float64)


def errors(near: Counts, far: Counts) -> tuple[Counts, Counts]:
    """|E_N| and |E_F| for the thresholds t = -1..k: near pairs beyond t, far pairs within t."""
    near_within = np.concatenate([[0], np.cumsum(near)])
    far_within = np.concatenate([[0], np.cumsum(far)])
    return near_within[-1] - near_within, far_within


def loss(near: Counts, far: Counts) -> float:
    """Share of pairs on the wrong side of the best threshold (Eq. 4).

    Examples
    --------
    >>> loss(near=np.array([8, 1]), far=np.array([2, 9]))
    0.15
    """
    near_errors, far_errors = errors(near, far)
    return float((near_errors + far_errors).min() / (near.sum() + far.sum()))


def logistic_loss(near: Counts, far: Counts, beta: float, scale: float = 1.0) -> float:
    """Mean of ln(1 + exp(-y scale (B - beta))) over all pairs (Eq. 8, where scale is 1)."""
    gamma = scale * (inner_products(len(near) - 1) - beta)
    total = near @ np.logaddexp(0.0, -gamma) + far @ np.logaddexp(0.0, gamma)
    return float(total / (near.sum() + far.sum()))


class Line(NamedTuple):
    """Where the logistic loss puts near and far: l(y scale (B - beta))."""

    beta: float
    scale: float


class Threshold(ABC, BaseEstimator):
    """A rule that finds beta from the two histograms."""

    @abstractmethod
    def beta(self, near: Counts, far: Counts) -> float:
        """Return beta for histograms over h = 0..k."""

    def line(self, near: Counts, far: Counts) -> Line:
        """Return beta and the scale of the loss, which is 1 in the paper."""
        return Line(self.beta(near, far), 1.0)


class EqualErrorThreshold(Threshold):
    """The paper's rule (Eq. 10): as many near pairs too far as far pairs too near.

    Distances are whole numbers, so the two counts rarely meet exactly: the Hamming threshold t with the smallest
    difference is taken, the smaller one of two equals. Every alpha in [2t, 2t + 2) has the same errors; alpha = 2t + 1
    stands midway between the pairs it parts.

    Examples
    --------
    >>> EqualErrorThreshold().beta(near=np.array([8, 1, 0]), far=np.array([0, 1, 9]))  # alpha = 1, k = 2
    1.0
    """

    def beta(self, near: Counts, far: Counts) -> float:
        """Return beta = k - alpha."""
        near_errors, far_errors = errors(near, far)
        t = int(np.argmin(np.abs(near_errors - far_errors))) - 1
        return float(len(near) - 1 - (2 * t + 1))


class LogisticThreshold(Threshold):
    """The exact minimiser of the logistic loss in beta, which is convex.

    Its optimality condition is that the gradient weights of all pairs sum to zero: attraction and repulsion balance,
    from the first bit on.

    Examples
    --------
    >>> LogisticThreshold().beta(near=np.array([5, 5]), far=np.array([5, 5]))
    0.0
    """

    def beta(self, near: Counts, far: Counts) -> float:
        """Return the beta at which the derivative of the loss is zero."""
        return _balanced_beta(near, far, 1.0)


def _balanced_beta(near: Counts, far: Counts, scale: float) -> float:
    product = inner_products(len(near) - 1)

    def slope(beta: float) -> float:
        return float(near @ expit(scale * (beta - product)) - far @ expit(scale * (product - beta)))

    # Beyond the extreme products every pair pulls one way but for a factor exp(scale distance).
    reach = (abs(float(np.log(near.sum()) - np.log(far.sum()))) + 1.0) / scale
    return float(brentq(slope, product.min() - reach, product.max() + reach, xtol=1e-12))


class CalibratedThreshold(Threshold):
    """Logistic regression of near against far on the inner product: the loss is minimised in beta and in its scale.

    At scale 1, the paper's, a pair two bits on the wrong side of the threshold weighs some fifty times one two bits on
    the right side. That is right for a code that separates its pairs; where distances overlap by many bits, the weights
    hang on a few pairs at the threshold and further bits spoil what was there. The fitted scale is the one at which the
    loss is the likelihood of the pairs; it falls about as 1 / sqrt(k) for codes of k noisy bits.

    Parameters
    ----------
    max_scale : float, default=1.0
        Upper bound of the scale, in force while a code is short or perfect; the paper's scale.
    """

    def __init__(self, max_scale: float = 1.0) -> None:
        self.max_scale = max_scale

    def beta(self, near: Counts, far: Counts) -> float:
        """Return the fitted beta."""
        return self.line(near, far).beta

    def line(self, near: Counts, far: Counts) -> Line:
        """Fit both: the loss is convex in scale and scale beta, so the best loss for a scale has one minimum."""
        if not self.max_scale > 0:
            raise ValueError(f"max_scale={self.max_scale}: give a number above 0.")

        def loss_at(scale: float) -> float:
            return logistic_loss(near, far, _balanced_beta(near, far, scale), scale)

        best = minimize_scalar(loss_at, bounds=(1e-3 * self.max_scale, self.max_scale), method="bounded")
        scale = self.max_scale if loss_at(self.max_scale) <= best.fun else float(best.x)
        return Line(_balanced_beta(near, far, scale), scale)
