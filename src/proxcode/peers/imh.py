"""Inductive manifold hashing: a manifold learned on a few base samples, extended to all samples by weighted means.

Shen, Shen, Shi, van den Hengel, Tang, "Inductive Hashing on Manifolds" (CVPR 2013), as in their released code:

1. B: m base samples (the anchors), and Z, w(x, x_j) = exp(-|x - x_j|^2 / sigma^2) for the s nearest base samples x_j of
   x with rows normalised (`_anchor_graph.py`),
2. Y_B: an embedding of the base samples into r dimensions, centred or nearly so,
3. y(x) = sum_j w(x, x_j) y_j / sum_j w(x, x_j), the row of x in Z Y_B; bit k is the sign of y_k(x).

IMH-LE embeds by Laplacian eigenmaps of base samples and all samples together:

4. G: among base samples, w for the k nearest of each with a width of their own, symmetrised by the larger of the two;
   M = diag(G1) - G,
5. T = diag(W'1) - Z'W, where W is Z before its rows are normalised: the contribution of all samples between the base
   samples after their elimination by 3,
6. Y_B: eigenvectors of M + 2T with the r smallest eigenvalues above 10^-3.

IMH-tSNE embeds by t-SNE of the base samples with perplexity 10. van der Maaten, Hinton, "Visualizing Data using t-SNE"
(JMLR 2008), with the settings of the authors' first code:

7. the samples scaled into [0, 1] by one common factor, centred, on their first max(20, k) principal axes,
8. p_j|i = exp(-beta_i |x_i - x_j|^2) / (sum over j other than i); beta_i by bisection, so that the entropy of row i is
   the logarithm of the perplexity; p_ij = (p_j|i + p_i|j) / 2n,
9. q_ij = (1 + |y_i - y_j|^2)^-1 / (sum over all pairs): one degree of freedom for any k,
10. from y normal with deviation 10^-4, gradient descent on the divergence of Q from P, with gradient
    4 sum_j (p_ij - q_ij)(1 + |y_i - y_j|^2)^-1 (y_i - y_j): 1,000 steps of 500, momentum 0.5, from step 250 on 0.8,
    p_ij multiplied by 4 in the first 100 steps, and for each coordinate a gain that grows by 0.2 while the step
    keeps its direction and shrinks by a fifth when the direction changes.

scikit-learn's t-SNE has k - 1 degrees of freedom: beyond a few dimensions its Q is a Gaussian and crowds the samples.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import diags_array

from proxcode.peers._anchor_graph import AnchorGraphPeer, Nearest, kernel_width, nearest_anchors
from proxcode.peers._arrays import Real, Rng, squared_distances, with_positive_largest
from proxcode.utils.validation import check_integer, check_number

SMALLEST_EIGENVALUE = 1e-3
N_STEPS, STEP = 1000, 500.0
EARLY_STEPS, EXAGGERATION = 100, 4.0
MOMENTUM_STEP = 250
N_BISECTIONS = 60


@dataclass(eq=False, repr=False)
class IMHLaplacian(AnchorGraphPeer):
    """IMH-LE: Laplacian eigenmaps of base samples, extended to all samples by weighted means.

    `projection_` is the embedding Y_B of the base samples. Parameters not listed, and attributes, are those of
    `AnchorGraphPeer`; the released code has `n_anchors=400` and `n_nearest=5`.

    Parameters
    ----------
    n_neighbors : int, default=20
        Number k of nearest base samples, itself included, to which a base sample is linked.
    """

    n_neighbors: int = 20

    def _projection(self, Z: Any, nearest: Nearest, rng: Rng) -> Real:
        n_neighbors = check_integer("n_neighbors", self.n_neighbors, 2)
        row_sums = np.exp(-nearest.squared / self.sigma_**2).sum(axis=1)
        T = np.diag(Z.T @ row_sums) - (Z.T @ (diags_array(row_sums) @ Z)).toarray()
        values, vectors = eigh(_base_laplacian(self.anchors_, n_neighbors) + 2 * T)
        smooth = vectors[:, values > SMALLEST_EIGENVALUE]
        self._check_eigenvectors(smooth.shape[1], Z)
        return with_positive_largest(smooth[:, : self.n_bits])


@dataclass(eq=False, repr=False)
class IMHTSNE(AnchorGraphPeer):
    """IMH-tSNE: t-SNE of base samples, extended to all samples by weighted means.

    `projection_` is the embedding Y_B of the base samples. Parameters not listed, and attributes, are those of
    `AnchorGraphPeer`; the released code has `n_anchors=400` and `n_nearest=5`.

    Parameters
    ----------
    perplexity : float, default=10.0
        Effective number of neighbours in t-SNE; reduced to a third of the number of base samples if that is smaller.
    """

    perplexity: float = 10.0

    def _projection(self, Z: Any, nearest: Nearest, rng: Rng) -> Real:
        perplexity = check_number("perplexity", self.perplexity, above=1)
        perplexity = max(min(perplexity, (len(self.anchors_) - 1) / 3), 1.0)
        return t_sne(self.anchors_, self.n_bits, perplexity, rng)


def _base_laplacian(base: Real, n_neighbors: int) -> Real:
    """Return M, the Laplacian of the graph G of the base samples."""
    nearest = nearest_anchors(base, base, min(n_neighbors, len(base)))
    G = np.zeros((len(base), len(base)))
    np.put_along_axis(G, nearest.anchor, np.exp(-nearest.squared / kernel_width(nearest.squared) ** 2), axis=1)
    G = np.maximum(G, G.T)
    return np.diag(G.sum(axis=1)) - G


def t_sne(X: Real, n_dimensions: int, perplexity: float, rng: Rng) -> Real:
    """Return an embedding of X with mean 0, shape (n, n_dimensions)."""
    X = (X - X.min()) / (np.ptp(X) or 1.0)
    X -= X.mean(axis=0)
    d = X.shape[1]
    _, axes = eigh(X.T @ X, subset_by_index=(max(d - max(20, n_dimensions), 0), d - 1))
    P = EXAGGERATION * _joint(X @ axes, perplexity)
    Y = 1e-4 * rng.standard_normal((len(X), n_dimensions))
    move, gain = np.zeros_like(Y), np.ones_like(Y)
    for step in range(N_STEPS):
        if step == EARLY_STEPS:
            P /= EXAGGERATION
        gradient = _gradient(P, Y)
        gain = np.where((gradient > 0) == (move > 0), 0.8 * gain, gain + 0.2)
        np.maximum(gain, 0.01, out=gain)
        move *= 0.5 if step < MOMENTUM_STEP else 0.8
        move -= STEP * gain * gradient
        Y += move
        Y -= Y.mean(axis=0)
    return Y


def _joint(X: Real, perplexity: float) -> Real:
    """Return the probabilities p_ij, shape (n, n), with a zero diagonal."""
    squared = squared_distances(X, X)
    # The shift leaves the probabilities unchanged and keeps their sum above 0.
    np.fill_diagonal(squared, np.inf)
    squared -= squared.min(axis=1, keepdims=True)
    np.fill_diagonal(squared, 0)
    beta, low, high = np.ones(len(X)), np.zeros(len(X)), np.full(len(X), np.inf)
    for _ in range(N_BISECTIONS):
        P = np.exp(-beta[:, None] * squared)
        np.fill_diagonal(P, 0)
        total = P.sum(axis=1, keepdims=True)
        P /= total
        entropy = np.log(total[:, 0]) + beta * (P * squared).sum(axis=1)
        is_wide = entropy > np.log(perplexity)
        low, high = np.where(is_wide, beta, low), np.where(is_wide, high, beta)
        beta = np.where(np.isinf(high), 2 * beta, (low + high) / 2)
    return (P + P.T) / (2 * len(X))


def _gradient(P: Real, Y: Real) -> Real:
    """Return the gradient of step 10; Y has mean 0, so that squared distances do not cancel."""
    kernel = Y @ (-2 * Y.T)
    norms = kernel.diagonal() / -2
    kernel += (1 + norms)[:, None]
    kernel += norms
    np.maximum(kernel, 1, out=kernel)
    np.reciprocal(kernel, out=kernel)
    np.fill_diagonal(kernel, 0)
    pull = kernel / -kernel.sum()
    pull += P
    pull *= kernel
    return 4 * (pull.sum(axis=1)[:, None] * Y - pull @ Y)
