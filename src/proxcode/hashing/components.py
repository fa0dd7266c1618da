"""Principal components of the samples or of kernel values to landmarks (Nystroem), those of largest variance first.

With k(x) the RBF kernel between x and m landmarks and R'R that between the landmarks, the features R^-T k(x) have inner
products close to the kernel. Their principal axes are found from sums over blocks of samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from proxcode.hashing.base import Matrix, Vector
from proxcode.storage.state import State
from proxcode.utils.blocks import map_blocks

# Added to the unit diagonal of the kernel between landmarks: above the rounding of single precision.
JITTER = 1e-4


def kernel_root(kernel: Matrix, gamma: float) -> Matrix:
    """Return R, upper triangular, such that R'R is the kernel between landmarks plus 1e-4 on its diagonal."""
    penalised = kernel.astype(np.float64)
    penalised[np.diag_indices(len(penalised))] += JITTER
    try:
        return cholesky(penalised, overwrite_a=True)
    except LinAlgError as error:
        raise ValueError(
            f"gamma={gamma:g}: distances are lost in rounding; remove samples that are far from all others, set a "
            "smaller gamma, or pass X in float64."
        ) from error


class Inputs(ABC):
    """Functions of the samples whose principal components are found.

    Attributes
    ----------
    center : ndarray of shape (n_features,)
        Subtracted from all samples.
    """

    center: Matrix

    @abstractmethod
    def values(self, X: Matrix) -> Matrix:
        """Return the functions at samples, shape (n_samples, m), in the precision of X."""

    @abstractmethod
    def root(self) -> Matrix | None:
        """Return R, upper triangular, such that R^-T times the functions are the features; None is the identity."""

    @abstractmethod
    def state(self) -> State:
        """Return what defines the functions, for a model file."""


class Coordinates(Inputs):
    """The coordinates themselves, minus their mean: the limit of a very wide kernel.

    Parameters
    ----------
    center : ndarray of shape (n_features,)
    """

    def __init__(self, center: Matrix) -> None:
        self.center = center

    def values(self, X: Matrix) -> Matrix:
        return X - self.center

    def root(self) -> None:
        return None

    def state(self) -> State:
        return State({"gamma": 0.0}, {"center": self.center})


class Landmarks(Inputs):
    """Kernel values k(x, z) = exp(-gamma |x - z|^2) to landmarks z.

    Parameters
    ----------
    center : ndarray of shape (n_features,)
        Subtracted from all samples before distances are computed.
    points : ndarray of shape (m, n_features)
        The landmarks, minus the centre.
    gamma : float
    """

    def __init__(self, center: Matrix, points: Matrix, gamma: float) -> None:
        self.center, self.points, self.gamma = center, points, gamma
        self.norms = (points * points).sum(axis=1)

    def values(self, X: Matrix) -> Matrix:
        X = X - self.center
        kernel = X @ (2 * self.points.T)
        kernel -= (X * X).sum(axis=1, keepdims=True)
        kernel -= self.norms
        kernel *= X.dtype.type(self.gamma)
        np.minimum(kernel, 0, out=kernel)
        return np.exp(kernel, out=kernel)

    def root(self) -> Matrix:
        return kernel_root(self.values(self.points + self.center), self.gamma)

    def state(self) -> State:
        return State({"gamma": self.gamma}, {"center": self.center, "landmarks": self.points})


def make_inputs(samples: Matrix, gamma: float) -> Inputs:
    """Return kernel values to samples as landmarks, the coordinates themselves for gamma = 0."""
    center = samples.mean(axis=0, dtype=np.float64).astype(samples.dtype)
    return Landmarks(center, samples - center, gamma) if gamma > 0 else Coordinates(center)


def restore_inputs(state: State) -> Inputs:
    """Return the functions that a model file holds."""
    gamma, center = state.number("gamma", at_least=0), state.array("center", "n_features")
    if gamma > 0:
        return Landmarks(center, state.array("landmarks", "n_inputs", "n_features"), gamma)
    state.sizes["n_inputs"] = len(center)
    return Coordinates(center)


class Components(NamedTuple):
    """Principal components: values(x) @ axes - offset.

    Attributes
    ----------
    axes : ndarray of shape (m, n_components)
    offset : ndarray of shape (n_components,)
    """

    axes: Vector
    offset: Vector


def principal_components(inputs: Inputs, X: Matrix, n_components: int) -> Components:
    """Return the first principal components of samples, at most one per function."""
    m = inputs.values(X[:1]).shape[1]
    if len(X) < m and inputs.root() is None:
        return _few_samples_components(inputs.values(X).astype(np.float64), n_components)
    gram, sums = np.zeros((m, m)), np.zeros(m)

    def sums_of(rows: slice) -> tuple[Matrix, Vector]:
        values = inputs.values(X[rows])
        return values.T @ values, values.sum(axis=0, dtype=np.float64)

    for _, (block_gram, block_sums) in map_blocks(sums_of, len(X)):
        gram += block_gram
        sums += block_sums
    mean = sums / len(X)
    covariance, root = gram / len(X) - np.outer(mean, mean), inputs.root()
    if root is not None:
        half = solve_triangular(root, covariance, trans=1)
        covariance = solve_triangular(root, half.T, trans=1)
    n_components = min(n_components, m)
    axes = _leading_axes((covariance + covariance.T) / 2, n_components)
    axes = axes if root is None else solve_triangular(root, axes)
    return Components(axes, mean @ axes)


def _few_samples_components(values: Matrix, n_components: int) -> Components:
    """Return the principal components of fewer samples than functions, from the products of samples."""
    mean = values.mean(axis=0)
    centred = values - mean
    vectors = _leading_axes(centred @ centred.T, min(n_components, len(values)))
    axes = centred.T @ vectors
    lengths = np.linalg.norm(axes, axis=0)
    # Samples that span fewer dimensions leave axes of rounding errors alone.
    axes = np.where(lengths > 1e-9 * lengths.max(initial=0), axes / np.where(lengths > 0, lengths, 1), 0)
    return Components(axes, mean @ axes)


def _leading_axes(covariance: Matrix, n_axes: int) -> Matrix:
    """Return the eigenvectors of the largest eigenvalues, in columns, the largest first."""
    m = len(covariance)
    try:
        _, axes = eigh(covariance, subset_by_index=(m - n_axes, m - 1))
    except LinAlgError:
        # LAPACK's search for some of the eigenvectors fails where very many eigenvalues are equal.
        _, axes = eigh(covariance, driver="evd")
    return axes[:, -n_axes:][:, ::-1]


def project(inputs: Inputs, components: Components, X: Matrix) -> Matrix:
    """Return the principal components of samples, shape (n_samples, n_components), in the precision of X."""
    axes, offset = components.axes.astype(X.dtype), components.offset.astype(X.dtype)
    out = np.empty((len(X), len(offset)), X.dtype)
    for rows, block in map_blocks(lambda rows: inputs.values(X[rows]) @ axes, len(X)):
        out[rows] = block - offset
    return out
