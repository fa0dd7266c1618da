"""Step II: the weights of pairs at the next bit.

Let gamma = B - beta be the inner product of a pair relative to the threshold. The next bit b changes the loss of the
pair to l(y (gamma + b_i b_j)), or to l(y scale (gamma + b_i b_j)) where the threshold rule finds a scale. A weight
depends on y and the Hamming distance h alone, so W is given by two lookup tables over h = 0..k: near[h] > 0 attracts
and far[h] < 0 repels.
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator

from proxcode.threshold import inner_products

Table = NDArray[np.float64]


class Weights(ABC, BaseEstimator):
    """Rule that computes the two lookup tables of W."""

    def tables(self, beta: float, n_bits: int, scale: float = 1.0) -> tuple[Table, Table]:
        """Return the weights of near and of far pairs at Hamming distance h = 0..n_bits.

        Parameters
        ----------
        beta : float
            Threshold on the inner product.
        n_bits : int
            Length k of the code so far.
        scale : float, default=1.0
            Scale of the loss.

        Returns
        -------
        near, far : ndarrays of shape (n_bits + 1,)
        """
        gamma = inner_products(n_bits) - beta
        return self.weight(gamma, scale), -self.weight(-gamma, scale)

    @abstractmethod
    def weight(self, z: Table, scale: float = 1.0) -> Table:
        """Return `|w|` of a pair with z = y gamma, up to a factor that depends on the scale alone."""


class GradientWeights(Weights):
    """The paper's weights: minus the derivative of the logistic loss, w = -y l'(y gamma) = y / (1 + exp(y gamma)).

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

    As b_i b_j is -1 or +1, the loss of a pair is an affine function of it, and this difference is its slope: b'Wb gives
    the change of the logistic loss exactly, `GradientWeights` to first order.

    Examples
    --------
    >>> near, far = DifferenceWeights().tables(beta=0.0, n_bits=0)
    >>> near.round(3), far.round(3)
    (array([0.5]), array([-0.5]))
    """

    def weight(self, z: Table, scale: float = 1.0) -> Table:
        """Return [l(scale (z - 1)) - l(scale (z + 1))] / (2 scale)."""
        return 0.5 * (np.logaddexp(0.0, scale * (1.0 - z)) - np.logaddexp(0.0, scale * (-1.0 - z))) / scale
