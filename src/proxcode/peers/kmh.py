"""K-means hashing: codewords whose distances follow the Hamming distances of their indices.

He, Wen, Sun, "K-means Hashing: an Affinity-Preserving Quantization Method for Learning Binary Compact Codes" (CVPR
2013), as in their released code:

1. principal axes, largest variance first, are allocated to subspaces of equal size: each to the subspace with room that
   has the smallest sum of logarithms of variances so far (Ge et al., "Optimized Product Quantization", CVPR 2013),
2. in each subspace the index of a codeword is b bits. Codewords start at s (2 bits - 1) on the first b axes, with the
   bits as signs; s is the mean of |x| on these axes, the best scale for such codewords,
3. each sample is assigned to the nearest codeword: shares w of the samples, means m,
4. each codeword c_j in turn lowers w_j |c_j - m_j|^2 + 2 lambda sum_i w_i w_j (|c_j - c_i| - 2 s h_ij^1/2)^2, its part
   of E_quan + lambda E_aff, with h_ij the Hamming distance of indices,
5. 3 and 4 again, `n_rounds` times. The bits of a sample are the indices of its nearest codewords.

The released code solves step 4 by a quasi-Newton method. Here -|c_j - c_i| is replaced by its tangent at the current
codeword, an upper bound; the rest is least squares, c_j = (m_j + 2 lambda sum_i w_i (c_i + 2 s h_ij^1/2 u_i)) /
(1 + 2 lambda sum_i w_i), i other than j, with u_i the unit vector from c_i to c_j.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.peers._arrays import Matrix, Real, Rng, map_rows, principal_axes, random_subset, squared_distances
from proxcode.peers._base import AxisPeer
from proxcode.utils.validation import check_integer, check_number

# Number of least-squares steps per codeword and round.
TANGENTS = 5


@dataclass(eq=False, repr=False)
class KMH(AxisPeer):
    """K-means hashing: a product of codebooks of `bits_per_subspace` bits each; the last may have fewer bits.

    Each bit starts from a principal axis, so that there are at most as many bits as features and samples. Parameters
    not listed are those of `Peer`; the seed has no effect if all samples are used.

    Parameters
    ----------
    bits_per_subspace : int, default=4
        b, of 2^b codewords in a subspace; at most 10.
    affinity : float, default=10.0
        lambda, the weight of distances between codewords against quantisation.
    n_samples : int, default=10000
        Size of the random subset of samples to learn from; all if there are fewer.
    n_rounds : int, default=50
        Number of rounds of assignment and update of the codewords.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
    subspaces_ : list of Subspace
        Axes, of shape (d, size), and codewords, of shape (2^b, size); the bits of codeword i are those of i.
    """

    bits_per_subspace: int = 4
    affinity: float = 10.0
    n_samples: int = 10000
    n_rounds: int = 50

    def _fit(self, X: Matrix, y: Any, rng: Rng) -> None:
        most = check_integer("bits_per_subspace", self.bits_per_subspace, 1, 10)
        n_rounds = check_integer("n_rounds", self.n_rounds, 0)
        affinity = check_number("affinity", self.affinity, at_least=0)
        subset = random_subset(len(X), check_integer("n_samples", self.n_samples, 2), rng)
        self.mean_, axes = principal_axes(X, X.shape[1])
        samples = (X[subset] - self.mean_) @ axes
        n_bits = [min(most, self.n_bits - k) for k in range(0, self.n_bits, most)]
        self.subspaces_ = [
            Subspace(axes[:, dims], codebook(samples[:, dims], b, affinity, n_rounds))
            for b, dims in zip(n_bits, allocate(samples.var(axis=0), n_bits), strict=True)
        ]

    def _margins(self, X: Matrix) -> Matrix:
        def of_block(block: Matrix) -> Real:
            centred = block - self.mean_
            bits = [index_bits(len(words))[nearest(centred @ axes, words)] for axes, words in self.subspaces_]
            return 2 * np.hstack(bits) - 1

        return map_rows(of_block, X, self.n_bits)


class Subspace(NamedTuple):
    """Axes of a subspace and its codewords."""

    axes: Real
    codewords: Real


def index_bits(n_codewords: int) -> Real:
    """Return the bits of 0, ..., n_codewords - 1 in rows, the most significant bit first."""
    b = n_codewords.bit_length() - 1
    return (np.arange(n_codewords)[:, None] >> np.arange(b)[::-1] & 1).astype(np.float64)


def allocate(variances: Real, n_bits: list[int]) -> list[list[int]]:
    """Return the axes of each subspace (step 1), in numbers proportional to its bits."""
    ends = np.cumsum([0, *n_bits]) * len(variances) // sum(n_bits)
    room = np.diff(ends)
    logarithm = np.log(np.maximum(variances, 1e-20))
    logarithm += 1 - logarithm.min()
    subspaces: list[list[int]] = [[] for _ in n_bits]
    total = np.zeros(len(n_bits))
    for axis, value in enumerate(logarithm):
        least = int(np.argmin(total))
        subspaces[least].append(axis)
        total[least] = total[least] + value if len(subspaces[least]) < room[least] else np.inf
    return subspaces


def codebook(samples: Real, b: int, affinity: float, n_rounds: int) -> Real:
    """Return the codewords of samples on principal axes, shape (2^b, d)."""
    bits = index_bits(2**b)
    scale = np.abs(samples[:, :b]).mean()
    codewords = np.zeros((2**b, samples.shape[1]))
    codewords[:, :b] = scale * (2 * bits - 1)
    wanted = 2 * scale * np.sqrt((bits[:, None] != bits).sum(axis=2))
    for _ in range(n_rounds):
        assigned = nearest(samples, codewords)
        counts = np.bincount(assigned, minlength=2**b)
        means = np.eye(2**b)[assigned].T @ samples / np.maximum(counts, 1)[:, None]
        update(codewords, means, counts / len(samples), wanted, affinity)
    return codewords


def nearest(samples: Real, codewords: Real) -> NDArray[np.intp]:
    """Return the index of the nearest codeword of each sample."""
    return squared_distances(samples, codewords).argmin(axis=1)


def update(codewords: Real, means: Real, shares: Real, wanted: Real, affinity: float) -> None:
    """Lower the error of each codeword in turn, in place; codewords without samples do not change."""
    for j in np.flatnonzero(shares):
        weights = 2 * affinity * shares
        weights[j] = 0
        rest = means[j] + weights @ codewords
        for _ in range(TANGENTS):
            apart = codewords[j] - codewords
            length = np.sqrt(np.einsum("ij,ij->i", apart, apart))
            pull = weights * wanted[j] / np.where(length > 0, length, 1.0)
            codewords[j] = (rest + pull @ apart) / (1 + weights.sum())
