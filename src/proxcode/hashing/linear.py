"""Linear hash functions: bits as sides of hyperplanes."""

import numpy as np

from proxcode.hashing.base import Matrix
from proxcode.hashing.ridge import RidgeHash
from proxcode.storage.state import State


class LinearHash(RidgeHash):
    """Ridge regression on the coordinates: d products a bit, nothing else to store.

    Enough where near and far are a matter of directions, as for embeddings of a network trained to tell them apart;
    `KernelHash` follows curved borders too.

    Parameters
    ----------
    ridge : float, default=None
        Strength of the penalty, for points scaled to a mean squared norm of 1. None is chosen by leave-one-out where
        there are labels, else 1e-5.

    Attributes
    ----------
    center_ : ndarray of shape (d,)
        Mean of the training points.
    scale_ : float
        Their root mean squared distance from it, which all points are divided by.
    ridge_, coef_, intercept_, posteriors_, directions_
        See `RidgeHash`.
    """

    def __init__(self, ridge: float | None = None) -> None:
        self.ridge = ridge

    def _choose_inputs(self, X: Matrix, rng: np.random.Generator, *, with_labels: bool) -> None:
        self.center_ = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        self.scale_ = float(np.sqrt(np.var(X, axis=0, dtype=np.float64).sum())) or 1.0
        if not np.isfinite(self.scale_):
            raise ValueError("squared norms of X overflow float64: scale X down.")

    def _inputs(self, X: Matrix) -> Matrix:
        return np.ascontiguousarray((X - self.center_) / X.dtype.type(self.scale_))

    def _input_root(self) -> None:
        return None

    def _input_state(self) -> State:
        return State({"scale": self.scale_}, {"center": self.center_})

    def _restore_inputs(self, state: State) -> None:
        self.scale_, self.center_ = state.values["scale"], state.arrays["center"]
