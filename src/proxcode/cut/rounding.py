"""Roundings of the bilinear relaxation: unit vectors u_i and v_j to signs x_i and y_j.

The three roundings of Alon and Naor ("Approximating the cut-norm via Grothendieck's inequality"), each the algorithm
in one proof of the inequality. At the maximum B of sum_ij w_ij u_i'v_j, the expectation of x'Wy is at least rho B:

1. `TruncatedRounding`: project on random signs and truncate; rho = (1 - sqrt(3) / (2 M)) / M^2, up to .197.
2. `HyperplaneRounding`: signs of a Gaussian projection; rho = 4 / pi - 1 = .273 (Rietz).
3. `KrivineRounding`: other vectors first, then a hyperplane; rho = 2 ln(1 + sqrt 2) / pi = .561.

The constants hold for x'Wy with x and y chosen independently. They are worst cases: on most graphs all three give more.
"""

from abc import ABC, abstractmethod

import numpy as np
import scipy.linalg
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from proxcode.cut.result import signs_of
from proxcode.utils.validation import check_number

Vectors = NDArray[np.float64]
Signs = tuple[NDArray[np.int8], NDArray[np.int8]]

# Krivine's constant c with sinh(c) = 1: ln(1 + sqrt 2).
KRIVINE = float(np.arcsinh(1.0))
# Largest number of nodes of Krivine's rounding: the decomposition of 2,000 x 2,000 numbers takes seconds.
KRIVINE_NODES = 1000


class Rounding(ABC, BaseEstimator):
    """Base class of roundings."""

    @abstractmethod
    def draw(self, left: Vectors, right: Vectors, n_draws: int, rng: Generator) -> Signs:
        """Return random signs x and y, arrays of shape (n_draws, n).

        `left` and `right` hold the unit vectors u_i and v_j as rows.
        """


class HyperplaneRounding(Rounding):
    """Signs of the projections on a Gaussian vector g: x_i = sign(u_i'g), y_j = sign(v_j'g).

    E[x_i y_j] = 2 / pi arcsin(u_i'v_j).
    """

    def draw(self, left: Vectors, right: Vectors, n_draws: int, rng: Generator) -> Signs:
        """Return the signs of n_draws projections."""
        directions = rng.standard_normal((left.shape[1], n_draws))
        return signs_of((left @ directions).T), signs_of((right @ directions).T)


class TruncatedRounding(Rounding):
    """Projections on random signs e, truncated at M and rounded to -1 or +1 with the same expectation.

    E[x_i | e] = clip(u_i'e, -M, M) / M, and likewise for y_j; given e, all signs are independent, so that
    E[x_i y_j] = E[clip(u_i'e) clip(v_j'e)] / M^2. The signs e are independent; the proof needs four of them to be.
    The part of a projection that is cut off has a mean square of at most E[(u_i'e)^4] / (16 M^2) <= 3 / (16 M^2),
    from which the constant follows: 0.079 for M = 3, and at most 0.197, for M = 1.3.

    Parameters
    ----------
    limit : float, default=1.3
        Value M at which projections are truncated.
    """

    def __init__(self, limit: float = 1.3) -> None:
        self.limit = limit

    def draw(self, left: Vectors, right: Vectors, n_draws: int, rng: Generator) -> Signs:
        """Return the rounded signs of n_draws projections."""
        limit = check_number("limit", self.limit, above=0.0)
        directions = rng.choice(np.array([-1.0, 1.0]), (left.shape[1], n_draws))
        # A uniform number in (-M, M) is below the projection with probability (1 + clip(projection) / M) / 2.
        thresholds = rng.uniform(-limit, limit, (2, n_draws, len(left)))
        return signs_of((left @ directions).T - thresholds[0]), signs_of((right @ directions).T - thresholds[1])


class KrivineRounding(Rounding):
    """Krivine's vectors u' and v', then a hyperplane: E[x_i y_j] = 2 c / pi u_i'v_j exactly, c = ln(1 + sqrt 2).

    The vectors are given by their inner products, u'_i'v'_j = sin(c u_i'v_j), u'_i'u'_j = sinh(c u_i'u_j) and
    v'_i'v'_j = sinh(c v_i'v_j), so that the arcsine of the hyperplane rounding is undone. Needs a decomposition of
    2n x 2n numbers: up to 1,000 nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from proxcode.cut import KrivineRounding
    >>> u, v = np.array([[1.0, 0.0]]), np.array([[0.6, 0.8]])
    >>> x, y = KrivineRounding().draw(u, v, 200_000, np.random.default_rng(0))
    >>> expected = 2 * np.log(1 + np.sqrt(2)) / np.pi * 0.6
    >>> round(float((x * y).mean()), 2), round(float(expected), 2)
    (0.34, 0.34)
    """

    def draw(self, left: Vectors, right: Vectors, n_draws: int, rng: Generator) -> Signs:
        """Return the signs of n_draws projections of Krivine's vectors."""
        n = len(left)
        if n > KRIVINE_NODES:
            raise ValueError(
                f"KrivineRounding on {n} nodes: expected at most {KRIVINE_NODES}, because it decomposes a dense matrix "
                "of twice that size; use HyperplaneRounding()"
            )
        across = np.sin(KRIVINE * (left @ right.T))
        gram = np.block(
            [[np.sinh(KRIVINE * (left @ left.T)), across], [across.T, np.sinh(KRIVINE * (right @ right.T))]]
        )
        # Positive semidefinite, up to rounding.
        values, vectors = scipy.linalg.eigh(gram)
        roots = vectors * np.sqrt(np.maximum(values, 0.0))
        return HyperplaneRounding().draw(roots[:n], roots[n:], n_draws, rng)
