"""t-SNE of a few samples into many dimensions.

van der Maaten, Hinton, "Visualizing Data using t-SNE" (JMLR 2008), with the settings of the authors' first code:

1. the samples scaled into [0, 1] by one common factor, centred, on their first max(20, k) principal axes,
2. p_j|i = exp(-beta_i |x_i - x_j|^2) / (sum over j other than i); beta_i by bisection, so that the entropy of row i is
   the logarithm of the perplexity; p_ij = (p_j|i + p_i|j) / 2n,
3. q_ij = (1 + |y_i - y_j|^2)^-1 / (sum over all pairs): one degree of freedom for any k,
4. from y normal with deviation 10^-4, gradient descent on the divergence of Q from P, with gradient
   4 sum_j (p_ij - q_ij)(1 + |y_i - y_j|^2)^-1 (y_i - y_j): 1,000 steps of 500, momentum 0.5, from step 250 on 0.8,
   p_ij multiplied by 4 in the first 100 steps, and for each coordinate a gain that grows by 0.2 while the step
   keeps its direction and shrinks by a fifth when the direction changes.

scikit-learn's t-SNE has k - 1 degrees of freedom: beyond a few dimensions its Q is a Gaussian and crowds the samples.
"""

import numpy as np
from scipy.linalg import eigh

from proxcode.peers._arrays import Real, Rng, squared_distances

N_STEPS, STEP = 1000, 500.0
EARLY_STEPS, EXAGGERATION = 100, 4.0
MOMENTUM_STEP = 250
N_BISECTIONS = 60


def t_sne(X: Real, n_dimensions: int, perplexity: float, rng: Rng) -> Real:
    """Return an embedding of X with mean 0, shape (n, n_dimensions)."""
    P = EXAGGERATION * _joint(_principal(X, max(20, n_dimensions)), perplexity)
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


def _principal(X: Real, n_axes: int) -> Real:
    """Return the samples of step 1."""
    X = (X - X.min()) / (np.ptp(X) or 1.0)
    X = X - X.mean(axis=0)
    d = X.shape[1]
    _, axes = eigh(X.T @ X, subset_by_index=(max(d - n_axes, 0), d - 1))
    return X @ axes


def _joint(X: Real, perplexity: float) -> Real:
    """Return the probabilities p_ij, shape (n, n), with a zero diagonal."""
    squared = squared_distances(X, X)
    # The shift leaves the probabilities unchanged and keeps their sum above 0.
    np.fill_diagonal(squared, np.inf)
    squared -= squared.min(axis=1, keepdims=True)
    np.fill_diagonal(squared, 0)
    beta, low, high = np.ones(len(X)), np.zeros(len(X)), np.full(len(X), np.inf)
    for _ in range(N_BISECTIONS):
        P, entropy = _conditional(squared, beta)
        is_wide = entropy > np.log(perplexity)
        low, high = np.where(is_wide, beta, low), np.where(is_wide, high, beta)
        beta = np.where(np.isinf(high), 2 * beta, (low + high) / 2)
    return (P + P.T) / (2 * len(X))


def _conditional(squared: Real, beta: Real) -> tuple[Real, Real]:
    """Return p_j|i in row i, and the entropies of the rows."""
    P = np.exp(-beta[:, None] * squared)
    np.fill_diagonal(P, 0)
    total = P.sum(axis=1, keepdims=True)
    P /= total
    return P, np.log(total[:, 0]) + beta * (P * squared).sum(axis=1)


def _gradient(P: Real, Y: Real) -> Real:
    """Return the gradient of step 4; Y has mean 0, so that squared distances do not cancel."""
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
