"""Centred linear projections, from which several peers start."""

from typing import Any

import numpy as np
from scipy.linalg import eigh

from proxcode.peers._arrays import Matrix, Real, map_rows, with_positive_largest
from proxcode.peers._base import Peer
from proxcode.utils.blocks import map_blocks, one_blas_thread
from proxcode.utils.validation import check_integer


class LinearPeer(Peer):
    """Base class of peers whose margins are linear in the centred sample: w_k'(x - mean).

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
        Mean of the samples of `fit`.
    directions_ : ndarray of shape (d, n_bits)
        w_k in column k.
    """

    def _margins(self, X: Matrix) -> Matrix:
        return project(X, self.mean_, self.directions_)


def project(X: Matrix, mean: Matrix, directions: Matrix) -> Real:
    """Return (X - mean) @ directions."""
    return map_rows(lambda block: (block - mean) @ directions, X, directions.shape[1])


def principal_axes(X: Matrix, n_axes: int) -> tuple[Real, Real]:
    """Return the mean, shape (d,), and the axes of largest variance in columns, shape (d, n_axes), largest first.

    The largest entry of each axis is positive.
    """
    mean = X.mean(axis=0, dtype=np.float64)
    d = len(mean)
    scatter = np.zeros((d, d))
    for _, block in map_blocks(lambda rows: (centred := X[rows] - mean).T @ centred, len(X)):
        scatter += block
    with one_blas_thread:
        _, axes = eigh(scatter, subset_by_index=(d - n_axes, d - 1))
    return mean, with_positive_largest(axes[:, ::-1])


def check_bits_of_axes(peer: Any, X: Matrix) -> int:
    """Validate the code length of a peer that derives each bit from a principal axis of X."""
    n, d = X.shape
    n_bits = check_integer("n_bits", peer.n_bits, 1)
    if n_bits > min(n, d):
        raise ValueError(
            f"n_bits={n_bits}: {type(peer).__name__} learns at most one bit per feature and per sample, and X has "
            f"n_samples={n} and n_features={d}; pass at most {min(n, d)} bits."
        )
    return n_bits
