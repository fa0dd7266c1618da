"""Linear hash functions: bits separated by hyperplanes."""

from __future__ import annotations

import numpy as np

from proxcode.hashing.base import Matrix
from proxcode.hashing.ridge import RidgeHash
from proxcode.storage.state import State
from proxcode.utils.samples import PIECE, as_samples


class LinearHash(RidgeHash):
    """Ridge regression on the features themselves: each bit costs one inner product.

    Sufficient where near and far are a matter of directions, as for embeddings of a network trained to tell them apart;
    `KernelHash` also fits curved decision boundaries.

    Parameters
    ----------
    ridge : float, default=None
        Strength of the penalty, for samples scaled to a mean squared norm of 1. None chooses it where there
        are labels, by leave-one-out, or a list of near pairs, by pairs held back; it is 1e-5 otherwise.
    refine_steps : int, default=None
        Number of optimisation steps that refine each bit after the hash function is fitted to the cut, maximising b'Wb
        of its actual output. 0 disables refinement, as in the paper. None is 15 with labels and 8 without.
    updatable : bool, default=False
        As in `KernelHash`, with m the number of features. By default a model holds none of its training samples.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        Mean of the training samples.
    scale_ : float
        Root mean squared distance of the training samples from it, by which all samples are divided.
    ridge_, coef_, intercept_, posteriors_, directions_, memory_
        See `RidgeHash`.
    """

    def __init__(
        self, ridge: float | None = None, refine_steps: int | None = None, updatable: bool | None = False
    ) -> None:
        self.ridge = ridge
        self.refine_steps = refine_steps
        self.updatable = updatable

    def _choose_inputs(self, X: Matrix, rng: np.random.Generator, *, supervised: bool, kept: bool) -> None:
        samples = as_samples(X)
        (total,) = samples.sum(lambda block: (block.sum(axis=0, dtype=np.float64),), PIECE)
        mean = total / len(X)
        (squares,) = samples.sum(lambda block: (((block - mean) ** 2).sum(axis=0),), PIECE)
        self.center_ = mean.astype(X.dtype)
        self.scale_ = float(np.sqrt((squares / len(X)).sum())) or 1.0
        if not np.isfinite(self.scale_):
            raise ValueError("squared norms of X overflow float64: scale X down.")

    def _inputs(self, X: Matrix) -> Matrix:
        return np.ascontiguousarray((X - self.center_) / X.dtype.type(self.scale_))

    def _input_root(self) -> None:
        return None

    def _input_state(self) -> State:
        return State({"scale": self.scale_}, {"center": self.center_})

    def _restore_inputs(self, state: State) -> None:
        self.scale_, self.center_ = state.number("scale", above=0), state.array("center", "n_features")
        state.sizes["n_inputs"] = len(self.center_)
