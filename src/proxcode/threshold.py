"""Step I: the threshold between near and far.

After k bits, a pair at Hamming distance h has inner product B = k - 2h. The paper classifies it as near where its
doubled distance 2h is at most alpha, that is, where B >= beta with beta = k - alpha. All rules use the same two
histograms: near[h] and far[h] are the numbers of near and of far pairs at distance h = 0..k.

The paper minimises over alpha > 0, so that equal codes are near: the thresholds between two distances are t = 0..k.
"Nothing is near", t = -1, would misclassify the near pairs alone, a small share of all pairs, for any code.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit
from sklearn.base import BaseEstimator

from proxcode.utils.validation import check_number

# Limit of `max_scale`.
MAX_SCALE = 1e6

Counts = NDArray[np.int64]


def inner_products(n_bits: int) -> NDArray[np.float64]:
    """Return the inner products B = n_bits - 2h for the Hamming distances h = 0..n_bits."""
    return n_bits - 2.0 * np.arange(n_bits + 1, dtype=np.float64)


def errors(near: Counts, far: Counts) -> tuple[Counts, Counts]:
    """Return |E_N| and |E_F|, the numbers of near pairs beyond t and of far pairs within t, for t = 0..k."""
    near_within = np.cumsum(near)
    return near_within[-1] - near_within, np.cumsum(far)


def loss(near: Counts, far: Counts) -> float:
    """Return the share of pairs that the best threshold alpha > 0 misclassifies (Eq. 4).

    Examples
    --------
    >>> loss(near=np.array([8, 1]), far=np.array([2, 9]))
    0.15

    A code of no bits misclassifies all far pairs.

    >>> loss(near=np.array([1]), far=np.array([3]))
    0.75
    """
    near_errors, far_errors = errors(near, far)
    return float((near_errors + far_errors).min() / (near.sum() + far.sum()))


def logistic_loss(near: Counts, far: Counts, beta: float, scale: float = 1.0) -> float:
    """Return the mean of ln(1 + exp(-y scale (B - beta))) over all pairs (Eq. 8, where scale is 1)."""
    gamma = scale * (inner_products(len(near) - 1) - beta)
    total = near @ np.logaddexp(0.0, -gamma) + far @ np.logaddexp(0.0, gamma)
    return float(total / (near.sum() + far.sum()))


class Line(NamedTuple):
    """Parameters of the logistic loss l(y scale (B - beta)) of a pair, l(z) = ln(1 + exp(-z)).

    Attributes
    ----------
    beta : float
        Threshold on the inner product.
    scale : float
    """

    beta: float
    scale: float


class Threshold(ABC, BaseEstimator):
    """Rule that finds the threshold from the histograms of near and far pairs."""

    @abstractmethod
    def beta(self, near: Counts, far: Counts) -> float:
        """Return the threshold on the inner product.

        Parameters
        ----------
        near, far : ndarrays of int, shape (k + 1,)
            Numbers of near and of far pairs at Hamming distance h = 0..k.
        """

    def line(self, near: Counts, far: Counts) -> Line:
        """Return beta and the scale of the loss; the scale is 1, as in the paper, unless a subclass overrides it."""
        return Line(self.beta(near, far), 1.0)


class EqualErrorThreshold(Threshold):
    """The paper's rule (Eq. 10): equal numbers of misclassified near pairs and misclassified far pairs.

    Hamming distances are integers, so the two numbers are rarely equal: the threshold t with the smallest difference
    is chosen, the smaller t in case of a tie. All alpha in [2t, 2t + 2) misclassify the same pairs; alpha = 2t + 1, at
    least 1, is the middle of this interval.

    Examples
    --------
    >>> EqualErrorThreshold().beta(near=np.array([8, 1, 0]), far=np.array([0, 1, 9]))  # alpha = 1, k = 2
    1.0
    """

    def beta(self, near: Counts, far: Counts) -> float:
        """Return beta = k - alpha."""
        near_errors, far_errors = errors(near, far)
        t = int(np.argmin(np.abs(near_errors - far_errors)))
        return float(len(near) - 1 - (2 * t + 1))


class LogisticThreshold(Threshold):
    """The minimiser of the logistic loss, which is convex in beta.

    At the minimum the gradient weights of all pairs sum to zero: attraction and repulsion are balanced at every bit.

    Examples
    --------
    >>> round(LogisticThreshold().beta(near=np.array([1, 0]), far=np.array([0, 9])), 3)
    1.571
    """

    def beta(self, near: Counts, far: Counts) -> float:
        """Return the beta at which the derivative of the loss is zero."""
        return _balanced_beta(near, far, 1.0)


def _balanced_beta(near: Counts, far: Counts, scale: float) -> float:
    """Return the beta that minimises the logistic loss for a given scale."""
    product = inner_products(len(near) - 1)

    def slope(beta: float) -> float:
        return float(near @ expit(scale * (beta - product)) - far @ expit(scale * (product - beta)))

    # Beyond the extreme inner products the slope has one sign as soon as exp(scale * distance) exceeds the ratio of the
    # numbers of near and far pairs.
    reach = (abs(float(np.log(near.sum()) - np.log(far.sum()))) + 1.0) / scale
    return float(brentq(slope, product.min() - reach, product.max() + reach, xtol=1e-12))


class CalibratedThreshold(Threshold):
    """Logistic regression of near against far on the inner product: the loss is minimised in beta and in its scale.

    At the paper's scale of 1, a pair misclassified by two bits weighs about fifty times as much as a pair classified
    correctly by two bits. This suits a code that separates near from far pairs. Where their distances overlap by many
    bits, the weights are dominated by few pairs, and further bits degrade the code. The fitted scale maximises the
    likelihood of the pairs; it decreases about as 1 / sqrt(k) for codes of k noisy bits.

    Parameters
    ----------
    max_scale : float, default=1.0
        Upper bound of the scale, attained by codes that are short or separate all pairs. The default is the paper's
        scale.
    """

    def __init__(self, max_scale: float = 1.0) -> None:
        self.max_scale = max_scale

    def beta(self, near: Counts, far: Counts) -> float:
        """Return the fitted beta."""
        return self.line(near, far).beta

    def line(self, near: Counts, far: Counts) -> Line:
        """Return the fitted beta and scale.

        The loss is convex in (scale, scale beta); minimised over beta, it therefore has one minimum in the scale.
        """
        check_number("max_scale", self.max_scale, above=0, below=MAX_SCALE)

        def loss_at(scale: float) -> float:
            return logistic_loss(near, far, _balanced_beta(near, far, scale), scale)

        best = minimize_scalar(loss_at, bounds=(1e-3 * self.max_scale, self.max_scale), method="bounded")
        scale = self.max_scale if loss_at(self.max_scale) <= best.fun else float(best.x)
        return Line(_balanced_beta(near, far, scale), scale)
