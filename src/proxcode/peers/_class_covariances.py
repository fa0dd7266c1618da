"""Covariances within and between classes, and directions among features that they determine."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from proxcode.peers._arrays import Integers, Matrix, Real, with_positive_largest
from proxcode.utils.blocks import sum_blocks


class ClassCovariances(NamedTuple):
    """Mean of samples, shape (d,), and their covariances, shape (d, d), each divided by the number of samples.

    The covariance of all samples is `within` + `between`.
    """

    mean: Real
    within: Real
    between: Real


def class_covariances(X: Matrix, y: Integers) -> ClassCovariances:
    """Return the covariance of samples about the means of their classes and that of these means."""
    n, n_classes = len(X), int(y.max()) + 1
    sizes = np.bincount(y, minlength=n_classes)
    mean = X.mean(axis=0, dtype=np.float64)
    means = np.zeros((n_classes, X.shape[1]))
    for c in range(n_classes):
        means[c] = X[y == c].mean(axis=0, dtype=np.float64)
    within = sum_blocks(lambda rows: (centred := X[rows] - means[y[rows]]).T @ centred, n) / n
    shifted = (means - mean) * np.sqrt(sizes / n)[:, None]
    return ClassCovariances(mean, within, shifted.T @ shifted)


def shrunk(covariance: Real, shrinkage: float) -> Real:
    """Return (1 - shrinkage) covariance + shrinkage v I, v the mean variance of the features; I if all are constant."""
    d = len(covariance)
    variance = np.trace(covariance) / d
    if variance <= 0:
        return np.eye(d)
    return (1 - shrinkage) * covariance + shrinkage * variance * np.eye(d)


def inverse_root(covariance: Real) -> Real:
    """Return the symmetric inverse square root of a positive definite matrix."""
    values, vectors = eigh(covariance)
    return (vectors / np.sqrt(values)) @ vectors.T


def axes_of(covariance: Real, n_axes: int) -> tuple[Real, Real]:
    """Return the largest eigenvalues, shape (n_axes,), and their eigenvectors in columns, largest first."""
    d = len(covariance)
    if n_axes == 0:
        return np.zeros(0), np.zeros((d, 0))
    values, axes = eigh(covariance, subset_by_index=(d - n_axes, d - 1))
    return np.maximum(values[::-1], 0), with_positive_largest(axes[:, ::-1])


def remaining_axes(covariance: Real, axes: Real, n_axes: int) -> tuple[Real, Real]:
    """Return variances and axes of largest variance that are orthogonal to the given orthonormal `axes`."""
    complement = np.linalg.qr(axes, mode="complete")[0][:, axes.shape[1] :]
    variances, inside = axes_of(complement.T @ covariance @ complement, n_axes)
    return variances, with_positive_largest(complement @ inside)
