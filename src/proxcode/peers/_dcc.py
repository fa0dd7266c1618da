"""Discrete cyclic coordinate descent: bits B that minimise |Y - BW|^2 - 2 tr(B'F), one column at a time.

With Q = YW' + F, column k of B given the others is sign(q_k - B_others W_others w_k'), the exact minimum.
"""

import numpy as np
from numpy.typing import NDArray

from proxcode.peers._kernel_features import signs

Real = NDArray[np.float64]


def descend(Q: Real, W: Real, max_rounds: int) -> Real:
    """Return B of -1 and +1, shape (n, p), from all zeros; stops when a round over the columns changes nothing.

    Q is of shape (n, p) and W of shape (p, c).
    """
    B = np.zeros_like(Q)
    overlap = W @ W.T
    np.fill_diagonal(overlap, 0)
    for _ in range(max_rounds):
        before = B.copy()
        for k in range(Q.shape[1]):
            B[:, k] = signs(Q[:, k] - B @ overlap[k])
        if np.array_equal(B, before):
            break
    return B
