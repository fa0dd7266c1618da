"""Training of the SVMs of all bits on the same samples, so that one matrix of kernel values serves all bits.

1. The first samples of an order drawn once are those to train on. Kernel values of all training samples with them are
   computed once, in single precision.
2. The SVM of a bit is the minimum of its dual problem, found by steps in two coefficients (`_svm_kernels.py`).
3. Its expansion over its support vectors is kept, a `KernelMachine`.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.cut.result import Partition
from proxcode.hashing._svm_kernels import optimise
from proxcode.hashing.base import HashedBit, HashTraining, Matrix, Vector
from proxcode.utils.blocks import map_blocks
from proxcode.utils.rows import ALL, Index, Rows

# Rows whose kernel values are computed at a time.
KERNEL_BLOCK = 256
# Largest violation of the optimality conditions, as in scikit-learn.
TOLERANCE = 1e-3
# Steps between two chances to interrupt the training of a bit; largest number of steps, of a bit or for each sample.
STEPS, MOST_STEPS, STEPS_PER_SAMPLE = 5000, 1_000_000, 1000


class KernelMachine(NamedTuple):
    """The SVM of a bit: its margin at x is sum_j dual_coef_j exp(-gamma |x - z_j|^2) + intercept.

    Attributes
    ----------
    support : ndarray of int, shape (n_support,)
        Row numbers of the support vectors z_j among the training samples, ascending; empty for a constant bit.
    dual_coef : ndarray of shape (n_support,)
    intercept : float
    gamma : float
    """

    support: Index
    dual_coef: Vector
    intercept: float
    gamma: float


class SVMTraining(HashTraining):
    """Training of an `SVMHash`.

    Parameters
    ----------
    bits : iterable of KernelMachine
    X : ndarray of shape (n_samples, n_features)
    order : ndarray of int
        A permutation of the samples. The first `n_trained` are those to train on.
    C, gamma : float
    n_trained : int
    n_kept : int
        Largest number of kernel values to keep.
    """

    def __init__(
        self, bits: Any, X: Matrix, order: Index, *, C: float, gamma: float, n_trained: int, n_kept: int
    ) -> None:
        super().__init__(bits)
        self.X, self.order, self.C, self.gamma = X, order, C, gamma
        self.n_trained, self.n_kept = n_trained, n_kept
        self.place = np.argsort(order)

    @cached_property
    def kernel(self) -> NDArray[np.float32]:
        """Kernel values of samples, in the order drawn, with the first `n_trained` of them."""
        n_rows = min(len(self.X), self.n_kept // self.n_trained)
        return _kernel(self.X[self.order[:n_rows]], self.n_trained, self.gamma)

    def propose(self, target: Partition, samples: Rows = ALL) -> HashedBit:
        """Train the SVM of the next bit on those of `samples` that come first in the order."""
        places = self.place[samples]
        chosen = np.argsort(places)[: self.n_trained]
        machine = self._train(places[chosen], target[chosen])
        return HashedBit(parameters=machine, margins=self.margins(machine))

    def _train(self, places: Index, target: Partition) -> KernelMachine:
        """Train an SVM on the samples at some places of the order, ascending."""
        if len(np.unique(target)) == 1:
            return KernelMachine(places[:0], np.empty(0), intercept=float(target[0]), gamma=self.gamma)
        if places[-1] >= self.n_trained:
            # Targets for a subset of the samples, of which other samples come first.
            values = _kernel(self.X[self.order[places]], len(places), self.gamma)
        elif len(places) < self.n_trained:
            values = self.kernel[np.ix_(places, places)]
        else:
            values = self.kernel[: self.n_trained]
        alpha, intercept = _minimum(values, target, self.C)
        support = self.order[places[alpha > 0]]
        ascending = np.argsort(support)
        dual_coef = (alpha * target)[alpha > 0][ascending]
        return KernelMachine(support[ascending], dual_coef, intercept=intercept, gamma=self.gamma)

    def margins(self, parameters: KernelMachine) -> Vector:
        machine, places = parameters, self.place[parameters.support]
        if len(places) == 0:
            return np.full(len(self.X), machine.intercept)
        if places.max() >= self.n_trained or machine.gamma != self.gamma:
            return expansions(self.X, self.X[machine.support], machine.support, [machine])[:, 0]
        coef = np.zeros(self.n_trained, np.float32)
        coef[places] = machine.dual_coef
        kept = np.concatenate(
            [block for _, block in map_blocks(lambda rows: self.kernel[rows] @ coef, len(self.kernel))]
        )
        margins = np.empty(len(self.X))
        margins[self.order[: len(kept)]] = kept + machine.intercept
        others = self.order[len(kept) :]
        margins[others] = expansions(self.X[others], self.X[machine.support], machine.support, [machine])[:, 0]
        return margins


def _minimum(K: NDArray[np.float32], target: Partition, C: float) -> tuple[Vector, float]:
    """Return the coefficients alpha of the dual problem of an SVM, and its intercept."""
    alpha, errors = np.zeros(len(target)), -target.astype(np.float64)
    most = max(MOST_STEPS, STEPS_PER_SAMPLE * len(target))
    for _ in range(0, most, STEPS):
        n_steps, intercept = optimise(K, target, C, TOLERANCE, alpha, errors, STEPS)
        if n_steps < STEPS:
            break
    else:
        warnings.warn(f"the SVM of a bit did not converge in {most:,} steps: lower C={C:g}.", stacklevel=2)
    return alpha, float(intercept)


def _kernel(X: Matrix, n_first: int, gamma: float) -> NDArray[np.float32]:
    """Return exp(-gamma |x - z|^2) for all rows x of X and the first of them as z; exactly 1 where x is z."""
    out = np.empty((len(X), n_first), np.float32)
    center = X[:n_first].mean(axis=0, dtype=np.float64)
    Z = X[:n_first] - center
    norms = (Z * Z).sum(axis=1)

    def fill(rows: slice) -> None:
        np.multiply(_squares(X[rows] - center, Z, norms), -gamma, out=out[rows], casting="same_kind")
        np.exp(out[rows], out=out[rows])

    for _ in map_blocks(fill, len(X), KERNEL_BLOCK):
        pass
    np.fill_diagonal(out, 1.0)
    return out


def _squares(P: Matrix, Z: Matrix, Z_norms: Vector) -> Matrix:
    """Return squared distances; those by inner products lose less to rounding when a mean was subtracted first."""
    squares = (P * P).sum(axis=1, keepdims=True) + Z_norms - 2.0 * (P @ Z.T)
    return np.maximum(squares, 0.0, out=squares)


def expansions(X: Matrix, vectors: Matrix, numbers: Index, machines: list[KernelMachine]) -> Vector:
    """Return the margins of several SVMs, shape (n_samples, n_machines).

    `vectors` holds the training samples with row numbers `numbers`, ascending, among them all support vectors.
    """
    out = np.tile([machine.intercept for machine in machines], (len(X), 1))
    if len(vectors) == 0:
        return out
    center = vectors.mean(axis=0, dtype=np.float64)
    Z = vectors - center
    Z_norms = (Z * Z).sum(axis=1)
    kernels = by_gamma(numbers, machines)

    def add(rows: slice) -> None:
        squares = _squares(X[rows] - center, Z, Z_norms)
        for gamma, bits, dual_coef in kernels:
            out[rows, bits] += np.exp(-gamma * squares) @ dual_coef

    for _ in map_blocks(add, len(X), KERNEL_BLOCK):
        pass
    return out


def by_gamma(numbers: Index, machines: list[KernelMachine]) -> list[tuple[float, Index, Matrix]]:
    """Return each gamma with the bits that have it and their coefficients over all vectors, one column per bit."""
    gammas = np.array([machine.gamma if len(machine.support) else np.nan for machine in machines])
    kernels = []
    for gamma in np.unique(gammas[~np.isnan(gammas)]):
        bits = np.flatnonzero(gammas == gamma)
        dual_coef = np.zeros((len(numbers), len(bits)))
        for column, bit in enumerate(bits):
            dual_coef[np.searchsorted(numbers, machines[bit].support), column] = machines[bit].dual_coef
        kernels.append((float(gamma), bits, dual_coef))
    return kernels
