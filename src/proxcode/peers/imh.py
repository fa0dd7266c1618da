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

IMH-tSNE embeds by t-SNE (`_tsne.py`) with perplexity 10.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import diags_array

from proxcode.peers._anchor_graph import AnchorGraphPeer, Nearest, kernel_width, nearest_anchors
from proxcode.peers._arrays import Real, Rng, with_positive_largest
from proxcode.peers._tsne import t_sne
from proxcode.utils.validation import check_integer, check_number

SMALLEST_EIGENVALUE = 1e-3


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
        if smooth.shape[1] < self.n_bits:
            raise ValueError(
                f"n_bits={self.n_bits}: IMHLaplacian needs an eigenvector of the graph for each bit, and the graph of "
                f"n_samples={Z.shape[0]} with {Z.shape[1]} base samples has {smooth.shape[1]}; pass at most "
                f"{smooth.shape[1]} bits, or more anchors."
            )
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
