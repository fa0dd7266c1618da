"""Canonical correlations with the labels, then the rotation of iterative quantisation.

Gong, Lazebnik, Gordo, Perronnin, "Iterative Quantization: A Procrustean Approach to Learning Binary Codes for
Large-Scale Image Retrieval" (PAMI 2013), section 4:

1. C: the covariance of X, plus a small multiple of the identity; Y: the label indicators, one column for each class,
2. w_k, rho_k: the canonical directions of X with w_k'C w_k = 1, and their correlations with Y, largest first,
3. V: the centred samples along rho_k^power w_k, for the first `n_bits` directions,
4. bits are the signs of VR, R the rotation of `ITQ`.

With one label per sample there are at most n_classes - 1 correlations above 0. The paper has more labels than bits and
leaves open what comes after. Here V goes on with the principal components of the part of X that is uncorrelated with
the canonical variables, scaled so that the first of them is as long as the last canonical variable.
"""

from dataclasses import dataclass

import numpy as np

from proxcode.hashing.rotation import rotate
from proxcode.peers._arrays import Integers, Matrix, Real, Rng, project
from proxcode.peers._base import AxisPeer, LinearPeer, SupervisedPeer
from proxcode.peers._class_covariances import axes_of, class_covariances
from proxcode.utils.validation import check_integer, check_number


@dataclass(eq=False, repr=False)
class CCAITQ(AxisPeer, LinearPeer, SupervisedPeer):
    """Iterative quantisation of canonical variables of samples and labels.

    There are at most as many bits as features and samples. Parameters and attributes not listed are those of
    `SupervisedPeer` and `LinearPeer`.

    Parameters
    ----------
    power : float, default=1
        Canonical variables are multiplied by this power of their correlations.
    ridge : float, default=1e-4
        Multiple of the identity that is added to the covariance, relative to the mean variance of the features.
    n_rotations : int, default=50
        Number of times that corners and rotation are updated.
    """

    power: float = 1.0
    ridge: float = 1e-4
    n_rotations: int = 50

    def _fit(self, X: Matrix, y: Integers, rng: Rng) -> None:
        power = check_number("power", self.power, at_least=0)
        ridge = check_number("ridge", self.ridge, above=0)
        n_rotations = check_integer("n_rotations", self.n_rotations, 0)
        self.mean_, within, between = class_covariances(X, y)
        total = within + between
        C = total + ridge * (np.trace(total) / len(total) or 1.0) * np.eye(len(total))
        n_canonical = min(self.n_bits, len(self.classes_) - 1)
        canonical, correlations = _canonical_directions(C, between, n_canonical)
        directions = np.column_stack(
            [canonical * correlations**power, self._uncorrelated(C, canonical, correlations[-1] ** power)]
        )
        V = project(X, self.mean_, directions)
        self.directions_ = directions @ rotate(V, self.n_bits, n_rotations, rng)

    def _uncorrelated(self, C: Real, canonical: Real, length: float) -> Real:
        """Return directions of the principal components of X minus its regression on the canonical variables."""
        n_others = self.n_bits - canonical.shape[1]
        # x - C W W'x is the residual of the regression on the variables W'x, whose covariance is the identity.
        residual = np.eye(len(C)) - C @ canonical @ canonical.T
        variances, axes = axes_of(residual @ C @ residual.T, n_others)
        first = np.sqrt(variances[0]) if n_others and variances[0] > 0 else 1.0
        return residual.T @ axes * (length / first)


def _canonical_directions(C: Real, between: Real, n_directions: int) -> tuple[Real, Real]:
    """Return w_k in columns and rho_k: B w = rho^2 C w with B the covariance of the class means.

    With one label per sample B = C_xy C_yy^(-1) C_yx, the matrix of the canonical correlation problem.
    """
    values, vectors = np.linalg.eigh(C)
    whitening = vectors / np.sqrt(values)
    squared, axes = axes_of(whitening.T @ between @ whitening, n_directions)
    return whitening @ axes, np.sqrt(squared)
