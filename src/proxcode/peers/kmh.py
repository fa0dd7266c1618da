"""K-means hashing: codewords whose distances follow the Hamming distances of their indices.

He, Wen, Sun, "K-means Hashing: an Affinity-Preserving Quantization Method for Learning Binary Compact Codes" (CVPR
2013), as in their released code:

1. principal axes, largest variance first, are dealt to subspaces of equal size: each to the subspace with the smallest
   sum of logarithms of variances so far that has room (Ge et al., "Optimized Product Quantization", CVPR 2013),
2. in each subspace the index of a codeword is b bits. Codewords start at s (2 bits - 1) on the first b axes, as bits of
   their signs; s is the mean of |x| on these axes, the best for such codewords,
3. a point is assigned to the nearest codeword: shares w of the points, means m,
4. each codeword c_j in turn lowers w_j |c_j - m_j|^2 + 2 lambda sum_i w_i w_j (|c_j - c_i| - 2 s h_ij^1/2)^2, its part
   of E_quan + lambda E_aff, with h_ij the Hamming distance of indices,
5. 3 and 4 again, `n_rounds` times. The bits of a point are the indices of its nearest codewords.

The released code does 4 by a quasi-Newton method. Here -|c_j - c_i| is replaced by its tangent at the codeword so far,
which lies above: the rest is least squares, c_j = (m_j + 2 lambda sum_i w_i (c_i + 2 s h_ij^1/2 u_i)) /
(1 + 2 lambda sum_i w_i), i other than j, with u_i the unit vector from c_i to c_j.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from proxcode.peers._base import Matrix, Peer
from proxcode.peers._kernel_features import Real, squared_distances
from proxcode.peers._linear import principal_axes
from proxcode.utils.blocks import map_blocks, one_blas_thread
from proxcode.utils.validation import check_whole

TANGENTS = 5  # steps of least squares for a codeword in a round


class KMH(Peer):
    """K-means hashing: a product of small codebooks, each with as many bits as `bits_per_subspace` or, the last, fewer.

    Each bit starts from a principal axis, so that there are at most as many bits as dimensions and points; `fit`
    refuses more.

    Parameters
    ----------
    n_bits : int, default=64
    bits_per_subspace : int, default=4
        b, of 2^b codewords in a subspace; at most 10.
    affinity : float, default=10.0
        lambda, the weight of distances between codewords against quantisation.
    n_samples : int, default=10000
        Points that are drawn to learn from; all where there are fewer.
    n_rounds : int, default=50
        Rounds of assignment and codewords.
    random_state : int, RandomState or None, default=None
        Draws the points; has no effect where all are taken.

    Attributes
    ----------
    mean_ : ndarray of shape (d,)
    subspaces_ : list of Subspace
        Its axes, of shape (d, its size), and codewords, of shape (2^b, its size); codeword i is of the bits of i.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import KMH
    >>> X, _ = load_digits(return_X_y=True)
    >>> KMH(n_bits=32).fit(X).encode(X).shape
    (1797, 4)
    """

    def __init__(
        self,
        n_bits: int = 64,
        bits_per_subspace: int = 4,
        affinity: float = 10.0,
        n_samples: int = 10000,
        n_rounds: int = 50,
        random_state: Any = None,
    ) -> None:
        self.n_bits = n_bits
        self.bits_per_subspace = bits_per_subspace
        self.affinity = affinity
        self.n_samples = n_samples
        self.n_rounds = n_rounds
        self.random_state = random_state

    def _fit(self, X: Matrix, y: Any) -> None:
        n, d = X.shape
        if self.n_bits > min(n, d):
            raise ValueError(
                f"n_bits={self.n_bits}: KMH makes at most one bit per dimension and per point, and X has d={d} "
                f"dimensions and n={n} points; give at most {min(n, d)} bits."
            )
        check_whole("bits_per_subspace", self.bits_per_subspace, 1, 10)
        check_whole("n_samples", self.n_samples, 2)
        check_whole("n_rounds", self.n_rounds, 0)
        if not self.affinity >= 0:
            raise ValueError(f"affinity={self.affinity}: give at least 0.")
        drawn = np.sort(check_random_state(self.random_state).permutation(n)[: self.n_samples])
        self.mean_, axes = principal_axes(X, d)
        with one_blas_thread:
            points = (X[drawn] - self.mean_) @ axes
            sizes = [
                min(self.bits_per_subspace, self.n_bits - k) for k in range(0, self.n_bits, self.bits_per_subspace)
            ]
            self.subspaces_ = [
                Subspace(axes[:, dims], codebook(points[:, dims], b, self.affinity, self.n_rounds))
                for b, dims in zip(sizes, deal(points.var(axis=0), sizes), strict=True)
            ]

    def _scores(self, X: Matrix) -> Matrix:
        out = np.empty((len(X), self.n_bits))
        for rows, block in map_blocks(lambda rows: self._block(X[rows] - self.mean_), len(X)):
            out[rows] = block
        return out

    def _block(self, points: Matrix) -> Real:
        return 2 * np.hstack([subspace.bits(points) for subspace in self.subspaces_]) - 1


@dataclass(frozen=True)
class Subspace:
    """Axes and the codewords among them."""

    axes: Real
    codewords: Real

    def bits(self, points: Matrix) -> Real:
        """Return the bits of the nearest codewords, shape (n, b)."""
        return index_bits(len(self.codewords))[nearest(points @ self.axes, self.codewords)]


def index_bits(n_codewords: int) -> Real:
    """Return the bits of 0, 1, ..., the first bit counting most.

    Examples
    --------
    >>> index_bits(4)
    array([[0., 0.],
           [0., 1.],
           [1., 0.],
           [1., 1.]])
    """
    b = n_codewords.bit_length() - 1
    return (np.arange(n_codewords)[:, None] >> np.arange(b)[::-1] & 1).astype(np.float64)


def deal(variances: Real, n_bits: list[int]) -> list[list[int]]:
    """Return the axes of each subspace, by falling variance; room is shared out in proportion to the bits."""
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


def codebook(points: Real, b: int, affinity: float, n_rounds: int) -> Real:
    """Return the codewords of points on principal axes, shape (2^b, d)."""
    bits = index_bits(2**b)
    scale = np.abs(points[:, :b]).mean()
    codewords = np.zeros((2**b, points.shape[1]))
    codewords[:, :b] = scale * (2 * bits - 1)
    wanted = 2 * scale * np.sqrt((bits[:, None] != bits).sum(axis=2))
    for _ in range(n_rounds):
        assigned = nearest(points, codewords)
        counts = np.bincount(assigned, minlength=2**b)
        means = np.eye(2**b)[assigned].T @ points / np.maximum(counts, 1)[:, None]
        update(codewords, means, counts / len(points), wanted, affinity)
    return codewords


def nearest(points: Real, codewords: Real) -> NDArray[np.intp]:
    """Return the number of the nearest codeword of each point."""
    return squared_distances(points, codewords).argmin(axis=1)


def update(codewords: Real, means: Real, shares: Real, wanted: Real, affinity: float) -> None:
    """Lower the error of each codeword in turn, in place; one without points stays."""
    for j in np.flatnonzero(shares):
        weights = 2 * affinity * shares
        weights[j] = 0
        rest = means[j] + weights @ codewords
        for _ in range(TANGENTS):
            apart = codewords[j] - codewords
            length = np.sqrt(np.einsum("ij,ij->i", apart, apart))
            pull = weights * wanted[j] / np.where(length > 0, length, 1.0)
            codewords[j] = (rest + pull @ apart) / (1 + weights.sum())
