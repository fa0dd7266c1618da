"""Two-step hashing: bits that lower a loss of pairs, then a classifier that learns them.

Lin, Shen, Suter, van den Hengel, "A General Two-Step Approach to Learning-Based Hashing" (ICCV 2013), with the hinge
loss, the block-wise inference and the step-wise update of Lin, Shen, Shi, van den Hengel, Suter, "Fast Supervised
Hashing with Decision Trees for High-Dimensional Data" (CVPR 2014):

1. at Hamming distance d over r bits a near pair costs l(d) = d^2 and a far one l(d) = max(0, r/2 - d)^2,
2. bit r: z minimises the sum of a_ij z_i z_j, a_ij = l(d_ij) - l(d_ij + 1) with d_ij the distance over the bits before,
3. from the sign of the leading eigenvector of -a, each block of samples in turn takes its best bits given all others,
   until none changes; the pairs of a block attract, so that its best bits are found exactly,
4. the hash function learns z; its own bits, not z, enter the code before the next bit is learned.

A block is the samples of one class with the same code so far. All its pairs attract and all its samples have the same
a_ij to the others: its best bits are equal, and the a_ij of blocks, weighted by their sizes, suffice.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.hashing import SVMHash, as_hash_function
from proxcode.peers._arrays import Integers, Matrix, Real, Rng, random_subset, signs
from proxcode.peers._base import SupervisedPeer
from proxcode.peers._kernel_features import leading
from proxcode.utils.validation import check_integer

SVM_SAMPLES = 2000
MAX_SWEEPS = 100


@dataclass(eq=False, repr=False)
class TSH(SupervisedPeer):
    """Two-step hashing with the hinge loss.

    Parameters and attributes not listed are those of `SupervisedPeer`.

    Parameters
    ----------
    hash_function : HashFunction or classifier, default=None
        Learns the bits. None is `SVMHash(max_samples=2000)`, the RBF-SVM of the first paper. With boosted trees the
        method is `FastHash`, that of the second paper.
    n_labelled : int, default=5000
        Number of random samples whose bits are inferred and learned; all if there are fewer.

    Attributes
    ----------
    hash_function_ : HashFunction
    """

    hash_function: Any = field(default=None, kw_only=True)
    n_labelled: int = field(default=5000, kw_only=True)

    def _fit(self, X: Matrix, y: Integers, rng: Rng) -> None:
        labelled = random_subset(len(X), check_integer("n_labelled", self.n_labelled, 2), rng)
        hash_function = as_hash_function(
            self._default_hash_function() if self.hash_function is None else self.hash_function
        )
        training = hash_function.begin(X[labelled], np.random.default_rng(rng.randint(2**31)))
        bits = np.empty((len(labelled), self.n_bits), np.int8)
        for r in range(self.n_bits):
            bit = training.propose(infer(bits[:, :r], y[labelled]))
            training.append(bit)
            bits[:, r] = signs(bit.margins)
        hash_function.finish(training, self.n_bits)
        self.hash_function_ = hash_function

    def _default_hash_function(self) -> Any:
        return SVMHash(max_samples=SVM_SAMPLES)

    def _margins(self, X: Matrix) -> Matrix:
        return self.hash_function_.scores(X, self.n_bits)


def infer(bits: NDArray[np.int8], classes: Integers) -> NDArray[np.int8]:
    """Return the next bit z of each sample, -1 or +1, given its bits so far, shape (n, r - 1), and its class."""
    blocks, block_of, sizes = np.unique(
        np.column_stack([classes, bits]), axis=0, return_inverse=True, return_counts=True
    )
    near = blocks[:, :1] == blocks[:, 0]
    codes = blocks[:, 1:].astype(np.float64)
    a = pair_weights((codes.shape[1] - codes @ codes.T) / 2, near, codes.shape[1] + 1)
    a *= np.outer(sizes, sizes)
    np.fill_diagonal(a, 0)
    z = signs(leading(-a))
    for _ in range(MAX_SWEEPS):
        before = z.copy()
        for g in range(len(z)):
            pull = a[g] @ z
            z[g] = z[g] if pull == 0 else -np.sign(pull)
        if np.array_equal(z, before):
            break
    return z[block_of.ravel()].astype(np.int8)


def pair_weights(distance: Real, near: NDArray[np.bool_], r: int) -> Real:
    """Return l(d) - l(d + 1) of pairs at distance d over the r - 1 bits before the r-th."""
    far_loss, far_loss_apart = (np.maximum(r / 2 - d, 0) ** 2 for d in (distance, distance + 1))
    return np.where(near, -(2 * distance + 1), far_loss - far_loss_apart)
