"""Step II: what joining or cutting a pair is worth at this bit.

With gamma = B - beta, the margin of a pair before the new bit, the bit moves the pair's loss to l(y (gamma + b_i b_j)),
or l(y scale (gamma + b_i b_j)) where the threshold rule finds a scale.
A pair enters only through y and its Hamming distance h, so W is two tables over h = 0..k: `near[h] > 0` attracts,
`far[h] < 0` repels.
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator

from proxcode.threshold import inner_products

Table = NDArray[np.float64]


class Weights(ABC, BaseEstimator):
    """A rule that turns margins into the two tables of W."""

    def tables(self, beta: float, n_bits: int, scale: float = 1.0) -> tuple[Table, Table]:
        """Return the weights of near and of far pairs at Hamming distance h = 0..n_bits."""
        gamma = inner_products(n_bits) - beta
        return self.weight(gamma, scale), -self.weight(-gamma, scale)

    @abstractmethod
    def weight(self, z: Table, scale: float = 1.0) -> Table:
        """Return the size of the weight of a pair with margin z = y gamma, up to a factor that depends on scale."""


class GradientWeights(Weights):
    """The paper's weights: the slope of the logistic loss, w = -y l'(y gamma) = y / (1 + exp(y gamma)).

    Examples
    --------
    >>> near, far = GradientWeights().tables(beta=0.0, n_bits=0)
    >>> near, far
    (array([0.5]), array([-0.5]))
    """

    def weight(self, z: Table, scale: float = 1.0) -> Table:
        """Return -l'(scale z)."""
        return expit(-scale * z)


class DifferenceWeights(Weights):
    """The exact weights: w = y [l(y gamma - 1) - l(y gamma + 1)] / 2.

    b_i b_j is -1 or +1, so the loss of a pair is affine in it and this difference is its slope: b'Wb tells the change
    of the logistic loss exactly, where the gradient tells it to first order.

    Examples
    --------
    >>> near, far = DifferenceWeights().tables(beta=0.0, n_bits=0)
    >>> near.round(3), far.round(3)
    (array([0.5]), array([-0.5]))
    """

    def weight(self, z: Table, scale: float = 1.0) -> Table:
        """Return [l(scale (z - 1)) - l(scale (z + 1))] / (2 scale)."""
        return 0.5 * (np.logaddexp(0.0, scale * (1.0 - z)) - np.logaddexp(0.0, scale * (-1.0 - z))) / scale
