"""Binary reconstructive embeddings: Hamming distances fitted to given distances, one weight at a time.

Kulis, Darrell, "Learning to Hash with Binary Reconstructive Embeddings" (NIPS 2009):

1. of n random samples, centred and of unit length, d(i, j) is half the squared distance over its largest value;
   if class labels are given, 0 within a class and 1 between classes,
2. bit k of x is the sign of sum_q W_kq kappa(x, a_kq), kappa the inner product, a_k1..a_ks random samples for this bit,
3. W minimises the sum over pairs of (d(i, j) - d~(i, j))^2, d~ the Hamming distance over the number of bits,
4. from W of small normal numbers, for each bit in turn one random weight is set to its best value: the sum changes only
   at the n values of the weight at which the bit of a sample flips, and one row of the errors d - d~ gives the change
   by a flip,
5. 4 again until a round over the bits lowers the mean over pairs by at most `tolerance`.

All pairs of the random samples are used; the paper uses 5 % of them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from proxcode.peers._arrays import Matrix, Rng, random_subset, signs, squared_distances
from proxcode.peers._base import LinearPeer, OptionallySupervisedPeer
from proxcode.peers._kernel_features import UnitRows
from proxcode.peers._kernels import descend
from proxcode.utils.validation import check_integer, check_number

# Standard deviation of the initial weights.
START = 1e-3


@dataclass(eq=False, repr=False)
class BRE(OptionallySupervisedPeer, LinearPeer):
    """Binary reconstructive embeddings with a linear kernel; learns from class labels if they are given.

    Parameters and attributes not listed are those of `Peer`, `LinearPeer` and `OptionallySupervisedPeer`.

    Parameters
    ----------
    n_anchors : int, default=50
        Number s of samples in the linear combination of a bit; all samples of the subset if there are fewer.
    n_samples : int, default=1000
        Size of the random subset of samples to learn from; all if there are fewer. Takes 24 bytes of memory per pair.
    n_rounds : int, default=200
        Largest number of rounds over the bits.
    tolerance : float, default=1e-6
        A round that lowers the mean squared error by at most this value is the last.

    Attributes
    ----------
    losses_ : ndarray
        Mean squared error of the distances, initially and after each round.
    """

    n_anchors: int = 50
    n_samples: int = 1000
    n_rounds: int = 200
    tolerance: float = 1e-6

    def _fit(self, X: Matrix, y: Any, rng: Rng) -> None:
        check_integer("n_anchors", self.n_anchors, 1)
        check_integer("n_rounds", self.n_rounds, 0)
        check_number("tolerance", self.tolerance)
        subset = random_subset(len(X), check_integer("n_samples", self.n_samples, 2), rng)
        self.mean_ = X.mean(axis=0, dtype=np.float64)
        samples = UnitRows(self.mean_)(X[subset])
        if y is None:
            squared = squared_distances(samples, samples)
            wanted = squared / (squared.max() or 1.0)
        else:
            wanted = (y[subset, None] != y[subset]).astype(np.float64)
        gram = samples @ samples.T
        anchors = np.array([rng.permutation(len(gram))[: self.n_anchors] for _ in range(self.n_bits)])
        weights = START * rng.standard_normal(anchors.shape)
        margins = np.array([w @ gram[a] for a, w in zip(anchors, weights, strict=True)])
        bits = signs(margins)
        errors = wanted - (1 - bits.T @ bits / self.n_bits) / 2
        np.fill_diagonal(errors, 0)
        losses = [np.mean(errors**2)]
        for _ in range(self.n_rounds):
            descend(errors, bits, margins, gram, anchors, weights, rng.randint(anchors.shape[1], size=self.n_bits))
            losses.append(np.mean(errors**2))
            if losses[-2] - losses[-1] <= self.tolerance:
                break
        self.losses_ = np.array(losses)
        self.directions_ = np.column_stack([w @ samples[a] for a, w in zip(anchors, weights, strict=True)])
