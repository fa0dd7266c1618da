"""The paper, transcribed with dense n x n matrices: slow, short, and independent of the package."""

import numpy as np


def equal_error_beta(Y, B, k):
    """Eq. 10, by counting E_N and E_F for every threshold alpha > 0 between two distances."""
    d = k - B
    i, j = np.triu_indices(len(Y), 1)
    candidates = np.arange(1, 2 * k + 2, 2)
    E_N = np.array([np.sum((Y[i, j] > 0) & (d[i, j] > alpha)) for alpha in candidates])
    E_F = np.array([np.sum((Y[i, j] < 0) & (d[i, j] <= alpha)) for alpha in candidates])
    return k - candidates[np.argmin(abs(E_N - E_F))]


def logistic_beta(Y, B, k):
    """Minimise Eq. 9 in beta: bisection on its derivative."""
    i, j = np.triu_indices(len(Y), 1)
    y, b = Y[i, j], B[i, j]
    low, high = -k - 50.0, k + 50.0
    for _ in range(200):
        middle = (low + high) / 2
        slope = np.sum(y / (1 + np.exp(y * (b - middle))))
        low, high = (middle, high) if slope < 0 else (low, middle)
    return middle


def gradient_weights(Y, gamma):
    return np.where(Y == 0, 0, Y / (1 + np.exp(Y * gamma)))


def difference_weights(Y, gamma):
    return Y * (np.log1p(np.exp(-Y * (gamma - Y))) - np.log1p(np.exp(-Y * (gamma + Y)))) / 2


def bit_update(b, W):
    """Algorithm 2; a sample whose field is zero keeps its bit."""
    b = b.astype(float)
    tolerance = 1e-10 * np.abs(W).sum(axis=1)
    while True:
        before = b.copy()
        for i in range(len(b)):
            b_minus_i = b.copy()
            b_minus_i[i] = 0
            field = b_minus_i @ W[:, i]
            if abs(field) > tolerance[i]:
                b[i] = np.sign(field)
        if (b == before).all():
            return b


def proximity_preserving_code(Y, n_bits, seed, beta_rule, weight_rule, hash_bits):
    """Return the codes, n x n_bits in {-1, +1}, the betas and the weight matrices of every bit."""
    n = len(Y)
    C = np.empty((0, n))
    betas, Ws = [], []
    for k in range(n_bits):
        B = C.T @ C if k else np.zeros((n, n))
        beta = beta_rule(Y, B, k)
        W = weight_rule(Y, B - beta)
        np.fill_diagonal(W, 0)
        start = 2 * np.random.default_rng([seed, k]).integers(0, 2, n) - 1
        b = hash_bits(bit_update(start, W))
        C = np.vstack([C, b])
        betas.append(beta)
        Ws.append(W)
    return C.T, betas, Ws
