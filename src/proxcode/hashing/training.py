"""Training of ridge hash functions: bits as directions among the functions of a basis.

1. `propose` fits a direction to a target by least squares,
2. `refine` maximises t'Wt of the soft bit t = tanh(margins) by L-BFGS.
"""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from proxcode.cut.graph import QuadraticForm
from proxcode.cut.result import Partition, signs_of
from proxcode.hashing.base import HashedBit, HashTraining, Matrix, Vector
from proxcode.utils.blocks import map_blocks, one_blas_thread
from proxcode.utils.rows import ALL, Rows

# Functions below which products are too small to be split over threads.
FEW = 256


class RidgeTraining(HashTraining):
    """Training of a `RidgeHash`: bits as directions among the functions of a basis.

    Parameters
    ----------
    directions : ndarray of shape (n_bits, r + 1)
        Bits learned so far.
    basis : ndarray of shape (n, r)
        The functions at the training samples.
    """

    # Length of a step in the offset for which all coordinates of a direction move alike.
    offset_unit = 1.0

    def __init__(self, directions: Matrix, basis: Matrix) -> None:
        super().__init__(directions)
        self.basis = basis

    @abstractmethod
    def _fit(self, moments: Vector, offset: float) -> Vector:
        """Return the direction fitted to a target with the given sums and mean."""

    def propose(self, target: Partition, samples: Rows = ALL) -> HashedBit:
        """Fit the next bit to a target by least squares."""
        offset = float(target.mean())
        with one_blas_thread:
            moments = _moments(self.basis[samples], target - offset) * (len(self.basis) / len(target))
            direction = self._fit(moments, offset)
        return HashedBit(parameters=direction, margins=self.margins(direction))

    def refine(self, bit: HashedBit, form: QuadraticForm, samples: Rows = ALL) -> HashedBit:
        """Maximise t'Wt, t = tanh(margins), by L-BFGS; keep the result where b'Wb, b = sign(margins), rises too."""
        basis = self.basis[samples]
        margins = _along(basis, bit.parameters)
        value = form.value(signs_of(margins))
        direction = bit.parameters / max(float(np.abs(margins).mean()), np.finfo(float).tiny)
        units = np.ones(basis.shape[1] + 1)
        units[-1] = self.offset_unit
        value_unit = max(abs(value), np.finfo(float).tiny)

        def loss_and_gradient(coordinates: Vector) -> tuple[float, Vector]:
            soft = np.tanh(_along(basis, coordinates * units))
            field = form.matvec(soft)
            slope = 2.0 * field * (1.0 - soft * soft)
            gradient = np.append(_moments(basis, slope), slope.sum()) * units
            return -float(soft @ field) / value_unit, -gradient / value_unit

        options = {"maxiter": self.refine_steps}
        refined = minimize(loss_and_gradient, direction / units, jac=True, method="L-BFGS-B", options=options).x * units
        if form.value(signs_of(_along(basis, refined))) > value:
            direction = refined
        return HashedBit(parameters=direction, margins=self.margins(direction))

    def margins(self, parameters: Vector) -> Vector:
        return _along(self.basis, parameters)


class FeatureTraining(RidgeTraining):
    """Training without labels: the functions are psi, in which the normal equations are the identity.

    Parameters
    ----------
    directions, basis
        As in `RidgeTraining`.
    samples_per_row : float
        Number of training samples for each row of the basis, which may be a subset.
    upper, root, mean
        U, R and the mean of the features.
    """

    def __init__(
        self,
        directions: Matrix,
        basis: Matrix,
        samples_per_row: float,
        upper: Matrix,
        root: Matrix | None,
        mean: Vector,
    ) -> None:
        super().__init__(directions, basis)
        self.samples_per_row, self.upper, self.root, self.mean = samples_per_row, upper, root, mean
        self.offset_unit = len(basis) ** -0.5

    def _fit(self, moments: Vector, offset: float) -> Vector:
        return np.append(moments * self.samples_per_row, offset)


class LabelTraining(RidgeTraining):
    """Training with labels: the functions are posteriors of the labels.

    Parameters
    ----------
    directions, basis
        As in `RidgeTraining`.
    labels : ndarray of int8, shape (n, n_labels), default=None
        +1 or -1.
    """

    def __init__(self, directions: Matrix, basis: Matrix, labels: NDArray[np.int8] | None = None) -> None:
        super().__init__(directions, basis)
        self.labels = labels
        self.basis_mean = basis.mean(axis=0, dtype=np.float64)
        self.normal = _normal_equations(basis - self.basis_mean)

    def _fit(self, moments: Vector, offset: float) -> Vector:
        direction = cho_solve(self.normal, moments)
        return np.append(direction, offset - float(self.basis_mean @ direction))

    def label_codes(self, directions: Matrix) -> Vector | None:
        """Return the mean code, of bits -1 and +1, of the samples of each label, shape (n_labels, n_bits)."""
        if self.labels is None:
            return None
        owned = (self.labels > 0).astype(np.float64)
        codes = np.empty((len(owned), len(directions)))
        for bit, direction in enumerate(directions):
            codes[:, bit] = signs_of(self.margins(direction))
        return (owned.T @ codes) / np.maximum(owned.sum(axis=0), 1)[:, None]


def _normal_equations(centred: Matrix) -> Any:
    """Return the Cholesky factor of the regression on a few centred functions."""
    gram = centred.T @ centred
    r = len(gram)
    return cho_factor(gram + (1e-6 * np.trace(gram) / r + 1e-9 * len(centred)) * np.eye(r))


def _along(basis: Matrix, direction: Vector) -> Vector:
    """Return the margins of a bit given as a direction, its offset last."""
    coefficients = direction[:-1].astype(basis.dtype)
    if basis.shape[1] < FEW:
        return (basis @ coefficients).astype(np.float64) + direction[-1]
    margins = np.empty(len(basis))
    for rows, product in map_blocks(lambda rows: basis[rows] @ coefficients, len(basis)):
        margins[rows] = product
    return margins + direction[-1]


def _moments(basis: Matrix, values: Matrix) -> Vector:
    """Return the sums over samples of the basis functions times a value."""
    values = values.astype(basis.dtype)
    if basis.shape[1] < FEW:
        return (values @ basis).astype(np.float64)
    moments = np.zeros(basis.shape[1])
    for _, product in map_blocks(lambda rows: values[rows] @ basis[rows], len(basis)):
        moments += product
    return moments
