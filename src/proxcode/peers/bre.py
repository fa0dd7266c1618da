"""Binary reconstructive embeddings: Hamming distances fitted to given distances, one weight at a time.

Kulis, Darrell, "Learning to Hash with Binary Reconstructive Embeddings" (NIPS 2009):

1. of n drawn points, less their mean and of unit length, d(i, j) is half the squared distance over its largest value;
   where classes are given, 0 within a class and 1 between classes,
2. bit k of x is the sign of sum_q W_kq kappa(x, a_kq), kappa the inner product, a_k1..a_ks points drawn for this bit,
3. W minimises the sum over pairs of (d(i, j) - d~(i, j))^2, d~ the Hamming distance over the number of bits,
4. from W of small normal numbers, each bit in turn has one weight, drawn at random, set to the best of all its values:
   between two of the n weights at which the bit of a point flips all values are alike, and a flip changes the sum by
   what one row of the errors d - d~ tells,
5. until a round over the bits lowers the mean over pairs by at most `tolerance`.

All pairs of the drawn points count; the paper takes 5 % of them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from proxcode.peers._base import Matrix, Peer, check_optional_classes
from proxcode.peers._kernel_features import Real, UnitRows, signs, squared_distances
from proxcode.peers._kernels import descend
from proxcode.peers._linear import project
from proxcode.utils.blocks import one_blas_thread
from proxcode.utils.validation import check_whole

START = 1e-3  # size of the weights to start from


class BRE(Peer):
    """Binary reconstructive embeddings with a linear kernel; learns from classes where they are given.

    Parameters
    ----------
    n_bits : int, default=64
    n_anchors : int, default=50
        Number s of points that a bit is a combination of; all drawn points where there are fewer.
    n_samples : int, default=1000
        Points that are drawn to learn from; all where there are fewer. Memory is 24 bytes for a pair of them.
    n_rounds : int, default=200
        Rounds over the bits at most.
    tolerance : float, default=1e-6
        The rounds end with one that lowers the mean squared error by no more.
    random_state : int, RandomState or None, default=None
        Draws the points, the anchors, the weights to start from and the weights to set.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or None
    mean_ : ndarray of shape (d,)
    directions_ : ndarray of shape (d, n_bits)
        The combinations of anchors.
    losses_ : ndarray
        Mean squared error of the distances at the start and after each round.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import BRE
    >>> X, y = load_digits(return_X_y=True)
    >>> BRE(n_bits=16, n_samples=300, random_state=0).fit(X).encode(X).shape
    (1797, 2)
    """

    def __init__(
        self,
        n_bits: int = 64,
        n_anchors: int = 50,
        n_samples: int = 1000,
        n_rounds: int = 200,
        tolerance: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.n_samples = n_samples
        self.n_rounds = n_rounds
        self.tolerance = tolerance
        self.random_state = random_state

    def _fit(self, X: Matrix, y: Any) -> None:
        check_whole("n_anchors", self.n_anchors, 1)
        check_whole("n_samples", self.n_samples, 2)
        check_whole("n_rounds", self.n_rounds, 0)
        self.classes_, members = check_optional_classes(self, y, len(X))
        rng = check_random_state(self.random_state)
        drawn = np.sort(rng.permutation(len(X))[: self.n_samples])
        self.mean_ = X.mean(axis=0, dtype=np.float64)
        with one_blas_thread:
            points = UnitRows(self.mean_)(X[drawn])
            wanted = _half_squared_distances(points) if members is None else _class_distances(members[drawn])
            anchors, weights = self._descend(points @ points.T, wanted, rng)
            self.directions_ = np.column_stack([w @ points[a] for a, w in zip(anchors, weights, strict=True)])

    def _descend(self, gram: Real, wanted: Real, rng: np.random.RandomState) -> tuple[NDArray[np.int64], Real]:
        """Return the numbers of the anchors and their weights, each of shape (n_bits, n_anchors)."""
        n = len(gram)
        anchors = np.array([rng.permutation(n)[: self.n_anchors] for _ in range(self.n_bits)])
        weights = START * rng.standard_normal(anchors.shape)
        scores = np.array([w @ gram[a] for a, w in zip(anchors, weights, strict=True)])
        bits = signs(scores)
        errors = wanted - (1 - bits.T @ bits / self.n_bits) / 2
        np.fill_diagonal(errors, 0)
        losses = [np.mean(errors**2)]
        for _ in range(self.n_rounds):
            descend(errors, bits, scores, gram, anchors, weights, rng.randint(anchors.shape[1], size=self.n_bits))
            losses.append(np.mean(errors**2))
            if losses[-2] - losses[-1] <= self.tolerance:
                break
        self.losses_ = np.array(losses)
        return anchors, weights

    def _scores(self, X: Matrix) -> Matrix:
        return project(X, self.mean_, self.directions_)


def _half_squared_distances(points: Real) -> Real:
    """Return d(i, j) in [0, 1]."""
    distances = squared_distances(points, points)
    return distances / (distances.max() or 1.0)


def _class_distances(members: NDArray[np.int64]) -> Real:
    """Return 0 for points of one class and 1 for others."""
    return (members[:, None] != members).astype(np.float64)
