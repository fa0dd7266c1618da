"""Minimal loss hashing: hyperplanes that keep near pairs within a Hamming distance and far pairs beyond it.

Norouzi, Fleet, "Minimal Loss Hashing for Compact Binary Codes" (ICML 2011), as in their released code:

1. x: a drawn point less the mean, of unit length, on the first 40 principal axes of these, and a constant 1; near are
   pairs of one class or, without classes, pairs within the mean distance to the 50th neighbour,
2. the loss of a pair at Hamming distance m is max(0, m - rho + 1) / (q - rho + 1) if near, for q bits, and
   lambda max(0, rho + 1 - m) / (rho + 1) if far,
3. it is at most max over codes (g, h) of [loss(g, h) + g'Wx_i + h'Wx_j], less the same maximum without the loss, that
   the bits b_i = sign(Wx_i) and b_j attain; the bound's gradient is (g - b_i) x_i' + (h - b_j) x_j',
4. g and h: a bit k that differs adds |u - v| and one that does not |u + v|, u and v entries k of Wx_i and Wx_j. The
   loss is the larger of 0 and a line l(m), hence the maximum that of two: without the loss, and with l, whose slope
   is what each bit that differs adds,
5. from random W, each step goes down the mean gradient of 100 pairs, about half of them near or more, with momentum
   0.9, a rate that falls to 0 and a decay of W; the constant's weights do not decay.

The paper sorts |u - v| - |u + v| for 4 and tries every number of differing bits, which gives the same maximum. The
released code lets W decay; the paper scales its rows to length 1.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from proxcode.peers._base import Matrix, Peer, check_optional_classes
from proxcode.peers._kernel_features import Real, UnitRows, signs, squared_distances
from proxcode.peers._kernels import loss_adjusted
from proxcode.peers._linear import principal_axes
from proxcode.utils.blocks import map_blocks, one_blas_thread
from proxcode.utils.validation import check_whole

BATCH, MOST_PAIRS = 100, 100_000  # pairs of a step and of an epoch
MOMENTUM, RATE, START = 0.9, 0.1, 0.1
NEAR_SHARE = 0.5

Numbers = NDArray[np.int64]


class MLH(Peer):
    """Minimal loss hashing; near pairs are those of a class where classes are given.

    Parameters
    ----------
    n_bits : int, default=64
    rho : int, default=None
        Hamming distance that near pairs should stay below and far pairs go beyond; None is `n_bits` / 8, rounded up,
        where the released code starts its search.
    far_weight : float, default=1.0
        lambda, the weight of the loss of far pairs.
    decay : float, default=0.001
        What the rate times W is lowered by in each step.
    n_components : int, default=40
        Principal axes; all where there are fewer.
    n_neighbors : int, default=50
        Which neighbour tells the radius of near pairs, without classes.
    n_samples : int, default=5000
        Points that are drawn to learn from; all where there are fewer. Memory is about 10 bytes for a pair of them.
    n_epochs : int, default=10
        Passes over as many pairs as there are, 100,000 at most.
    random_state : int, RandomState or None, default=None
        Draws the points, W and the pairs.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or None
    scale_ : UnitRows
    directions_ : ndarray of shape (d, n_bits)
    intercepts_ : ndarray of shape (n_bits,)

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import MLH
    >>> X, y = load_digits(return_X_y=True)
    >>> MLH(n_bits=16, n_epochs=1, random_state=0).fit(X, y).encode(X).shape
    (1797, 2)
    """

    def __init__(
        self,
        n_bits: int = 64,
        rho: int | None = None,
        far_weight: float = 1.0,
        decay: float = 0.001,
        n_components: int = 40,
        n_neighbors: int = 50,
        n_samples: int = 5000,
        n_epochs: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_bits = n_bits
        self.rho = rho
        self.far_weight = far_weight
        self.decay = decay
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.n_samples = n_samples
        self.n_epochs = n_epochs
        self.random_state = random_state

    def _fit(self, X: Matrix, y: Any) -> None:
        for name, least in {"n_components": 1, "n_neighbors": 1, "n_samples": 2, "n_epochs": 0}.items():
            check_whole(name, getattr(self, name), least)
        for name in ("far_weight", "decay"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name}={getattr(self, name)}: give at least 0.")
        lines = _lines(self.n_bits, -(-self.n_bits // 8) if self.rho is None else self.rho, self.far_weight)
        self.classes_, members = check_optional_classes(self, y, len(X))
        rng = check_random_state(self.random_state)
        drawn = np.sort(rng.permutation(len(X))[: self.n_samples])
        self.scale_ = UnitRows(X.mean(axis=0, dtype=np.float64))
        points = self.scale_(X[drawn])
        centre, axes = principal_axes(points, min(self.n_components, *points.shape))
        with one_blas_thread:
            if members is None:
                near = _within_radius(points, self.n_neighbors)
            else:
                near = members[drawn, None] == members[drawn]
            features = np.column_stack([(points - centre) @ axes, np.ones(len(points))])
            W = self._descend(features, _Pairs(near), lines, rng)
            self.directions_ = axes @ W[:-1]
            self.intercepts_ = W[-1] - centre @ self.directions_

    def _descend(self, points: Real, pairs: "_Pairs", lines: Real, rng: np.random.RandomState) -> Real:
        """Return W, a column for each bit and a row more for the constant."""
        n, d = points.shape
        W = np.vstack([START * rng.standard_normal((d - 1, self.n_bits)), np.zeros(self.n_bits)])
        step, decay = np.zeros_like(W), np.full((d, 1), self.decay)
        decay[-1] = 0
        n_batches = -(-min(n * n, MOST_PAIRS) // BATCH)
        rates = RATE * np.linspace(1, 0, self.n_epochs * n_batches, endpoint=False).reshape(self.n_epochs, n_batches)
        for epoch in rates:
            for rate, (i, j, near) in zip(epoch, pairs.draw(n_batches, rng), strict=True):
                ends = points[np.concatenate([i, j])]
                step = MOMENTUM * step - rate * (_gradient(W, ends, lines[near]) + decay * W)
                W += step
        return W

    def _scores(self, X: Matrix) -> Matrix:
        out = np.empty((len(X), self.n_bits))
        for rows, block in map_blocks(lambda rows: self.scale_(X[rows]) @ self.directions_ + self.intercepts_, len(X)):
            out[rows] = block
        return out


def _lines(n_bits: int, rho: Any, far_weight: float) -> Real:
    """Return (slope, constant) of the lines of far pairs, then of near pairs."""
    rho = check_whole("rho", rho, 0, n_bits, " with this number of bits")
    far, near = far_weight / (rho + 1), 1 / (n_bits - rho + 1)
    return np.array([[-far, far * (rho + 1)], [near, near * (1 - rho)]])


def _gradient(W: Real, ends: Real, lines: Real) -> Real:
    """Return the mean gradient of the bound; ends are the first points of all pairs, then the second ones."""
    scores = ends @ W
    return ends.T @ (loss_adjusted(scores, lines) - signs(scores)) / len(lines)


class _Pairs:
    """Pairs of n points to draw from; near is a symmetric matrix of truth values, a point near itself."""

    def __init__(self, near: NDArray[np.bool_]) -> None:
        self.near = near
        self._near_pairs = np.flatnonzero(near)

    def draw(self, n_batches: int, rng: np.random.RandomState) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """Yield batches of pairs of points and whether each is near, as 0 or 1; about half of them or more are."""
        n_near = round(BATCH * max(NEAR_SHARE - len(self._near_pairs) / self.near.size, 0.0))
        any_pair = rng.randint(self.near.size, size=(n_batches, BATCH - n_near))
        near_pair = self._near_pairs[rng.randint(len(self._near_pairs), size=(n_batches, n_near))]
        drawn = np.hstack([any_pair, near_pair])
        yield from zip(*np.divmod(drawn, len(self.near)), self.near.ravel()[drawn].astype(np.int64), strict=True)


def _within_radius(points: Real, n_neighbors: int) -> NDArray[np.bool_]:
    """Return which pairs are within the mean distance to so many neighbours."""
    n = len(points)
    distances, to_neighbor = np.empty((n, n)), np.empty(n)
    place = min(n_neighbors, n - 1)
    for rows, block in map_blocks(lambda rows: np.sqrt(squared_distances(points[rows], points)), n):
        distances[rows] = block
        to_neighbor[rows] = np.partition(block, place, axis=1)[:, place]
    np.fill_diagonal(distances, 0)
    return distances <= to_neighbor.mean()
