"""Minimal loss hashing: hyperplanes that keep near pairs within a Hamming distance and far pairs beyond it.

Norouzi, Fleet, "Minimal Loss Hashing for Compact Binary Codes" (ICML 2011), as in their released code:

1. x: one of a random subset of samples, centred, of unit length, on the first 40 principal axes of the subset, and a
   constant 1; near are pairs of one class or, without labels, pairs within the mean distance to the 50th neighbour,
2. the loss of a pair at Hamming distance m is max(0, m - rho + 1) / (q - rho + 1) if near, for q bits, and
   lambda max(0, rho + 1 - m) / (rho + 1) if far,
3. it is at most max over codes (g, h) of [loss(g, h) + g'Wx_i + h'Wx_j], minus the same maximum without the loss, which
   the bits b_i = sign(Wx_i) and b_j attain; the gradient of the bound is (g - b_i) x_i' + (h - b_j) x_j',
4. g and h: a bit k that differs adds |u - v| and one that does not |u + v|, u and v entries k of Wx_i and Wx_j. The
   loss is the larger of 0 and a line l(m), hence the maximum is the larger of two: one without the loss, and one with
   l, in which each differing bit adds the slope of l,
5. from random W, each step follows the mean gradient of 100 pairs, at least about half of them near, with momentum 0.9,
   a rate that falls to 0 and a decay of W; the weights of the constant do not decay.

The paper sorts |u - v| - |u + v| in step 4 and tries every number of differing bits, which gives the same maximum. The
released code decays W; the paper scales its rows to length 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.peers._arrays import Matrix, Real, Rng, map_rows, principal_axes, random_subset, signs, squared_distances
from proxcode.peers._base import OptionallySupervisedPeer
from proxcode.peers._kernel_features import UnitRows
from proxcode.peers._kernels import loss_adjusted
from proxcode.utils.blocks import map_blocks
from proxcode.utils.validation import check_integer, check_number

# Number of pairs per step, and largest number per epoch.
BATCH, MOST_PAIRS = 100, 100_000
MOMENTUM, RATE = 0.9, 0.1
# Standard deviation of the initial W.
START = 0.1
# Smallest share of near pairs in a step.
NEAR_SHARE = 0.5


@dataclass(eq=False, repr=False)
class MLH(OptionallySupervisedPeer):
    """Minimal loss hashing; near pairs are those of equal class labels if labels are given.

    Parameters and attributes not listed are those of `Peer` and `OptionallySupervisedPeer`.

    Parameters
    ----------
    rho : int or None, default=None
        Hamming distance that near pairs stay below and far pairs exceed; None is `n_bits` / 8, rounded up, the initial
        value of the search in the released code.
    far_weight : float, default=1.0
        lambda, the weight of the loss of far pairs.
    decay : float, default=0.001
        Share of W, times the rate, that is subtracted in each step.
    n_components : int, default=40
        Number of principal axes; all if there are fewer.
    n_neighbors : int, default=50
        Rank of the neighbour whose mean distance is the radius of near pairs without labels.
    n_samples : int, default=5000
        Size of the random subset of samples to learn from; all if there are fewer. Takes 10 bytes of memory per pair.
    n_epochs : int, default=10
        Number of epochs, each over as many pairs as the subset has but at most 100,000.

    Attributes
    ----------
    scale_ : UnitRows
    directions_ : ndarray of shape (d, n_bits)
    intercepts_ : ndarray of shape (n_bits,)
    """

    rho: int | None = None
    far_weight: float = 1.0
    decay: float = 0.001
    n_components: int = 40
    n_neighbors: int = 50
    n_samples: int = 5000
    n_epochs: int = 10

    def _fit(self, X: Matrix, y: Any, rng: Rng) -> None:
        for name, least in {"n_components": 1, "n_neighbors": 1, "n_samples": 2, "n_epochs": 0}.items():
            check_integer(name, getattr(self, name), least)
        for name in ("far_weight", "decay"):
            check_number(name, getattr(self, name), at_least=0)
        lines = _lines(self.n_bits, -(-self.n_bits // 8) if self.rho is None else self.rho, self.far_weight)
        subset = random_subset(len(X), self.n_samples, rng)
        self.scale_ = UnitRows(X.mean(axis=0, dtype=np.float64))
        samples = self.scale_(X[subset])
        centre, axes = principal_axes(samples, min(self.n_components, *samples.shape))
        near = _within_radius(samples, self.n_neighbors) if y is None else y[subset, None] == y[subset]
        features = np.column_stack([(samples - centre) @ axes, np.ones(len(samples))])
        W = self._descend(features, near, lines, rng)
        self.directions_ = axes @ W[:-1]
        self.intercepts_ = W[-1] - centre @ self.directions_

    def _descend(self, features: Real, near: NDArray[np.bool_], lines: Real, rng: Rng) -> Real:
        """Return W with a column for each bit; its last row belongs to the constant."""
        n, d = features.shape
        W = np.vstack([START * rng.standard_normal((d - 1, self.n_bits)), np.zeros(self.n_bits)])
        step, decay = np.zeros_like(W), np.full((d, 1), self.decay)
        decay[-1] = 0
        near_pairs = np.flatnonzero(near)
        n_batches = -(-min(n * n, MOST_PAIRS) // BATCH)
        rates = RATE * np.linspace(1, 0, self.n_epochs * n_batches, endpoint=False).reshape(self.n_epochs, n_batches)
        for epoch in rates:
            for rate, (i, j, is_near) in zip(epoch, _batches(near, near_pairs, n_batches, rng), strict=True):
                # The first samples of all pairs, then the second ones.
                ends = features[np.concatenate([i, j])]
                margins = ends @ W
                gradient = ends.T @ (loss_adjusted(margins, lines[is_near]) - signs(margins)) / BATCH
                step = MOMENTUM * step - rate * (gradient + decay * W)
                W += step
        return W

    def _margins(self, X: Matrix) -> Matrix:
        return map_rows(lambda block: self.scale_(block) @ self.directions_ + self.intercepts_, X, self.n_bits)


def _lines(n_bits: int, rho: Any, far_weight: float) -> Real:
    """Return slope and constant of the line l(m) of far pairs, then of near pairs."""
    rho = check_integer("rho", rho, 0, n_bits, ", the code length")
    far, near = far_weight / (rho + 1), 1 / (n_bits - rho + 1)
    return np.array([[-far, far * (rho + 1)], [near, near * (1 - rho)]])


def _batches(near: Matrix, near_pairs: Matrix, n_batches: int, rng: Rng) -> Iterator[tuple[Matrix, Matrix, Matrix]]:
    """Yield random batches of pairs (i, j) and 1 for near or 0 for far pairs.

    `near` is a symmetric matrix with a true diagonal and `near_pairs` the flat positions of its true entries.
    """
    n_near = round(BATCH * max(NEAR_SHARE - len(near_pairs) / near.size, 0.0))
    any_pair = rng.randint(near.size, size=(n_batches, BATCH - n_near))
    near_pair = near_pairs[rng.randint(len(near_pairs), size=(n_batches, n_near))]
    drawn = np.hstack([any_pair, near_pair])
    yield from zip(*np.divmod(drawn, len(near)), near.ravel()[drawn].astype(np.int64), strict=True)


def _within_radius(samples: Real, n_neighbors: int) -> NDArray[np.bool_]:
    """Return which pairs are within the mean distance to the n_neighbors-th neighbour."""
    n = len(samples)
    distances, to_neighbor = np.empty((n, n)), np.empty(n)
    rank = min(n_neighbors, n - 1)
    for rows, block in map_blocks(lambda rows: np.sqrt(squared_distances(samples[rows], samples)), n):
        distances[rows] = block
        to_neighbor[rows] = np.partition(block, rank, axis=1)[:, rank]
    np.fill_diagonal(distances, 0)
    return distances <= to_neighbor.mean()
