"""Kernel hash functions: bits with curved decision boundaries."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist

from proxcode.hashing.base import Matrix
from proxcode.hashing.components import kernel_root
from proxcode.hashing.ridge import RidgeHash
from proxcode.storage.state import State
from proxcode.utils.validation import check_integer, check_number

# Limits of the default number of landmarks.
MIN_LANDMARKS, MAX_LANDMARKS = 1000, 6000
# Its lower limit with a list of near pairs, but no more than a quarter of the samples.
PAIR_LANDMARKS = 3000
# Largest number of features kept, samples times landmarks, where there are no labels.
MAX_FEATURES_KEPT = 500_000_000
# Rows whose kernel values stay in the processor's cache.
EXP_ROWS = 32


class KernelHash(RidgeHash):
    """Kernel ridge regression on landmarks (Nystroem): the inputs are RBF kernel values to m training samples.

    With k(x) the kernel between x and the landmarks and K that between the landmarks (plus 1e-4 on its diagonal), a
    function w'k(x) + c is penalised by ridge n w'Kw.

    Parameters
    ----------
    n_landmarks : int, default=None
        Number of training samples drawn as landmarks. None is a tenth of the samples, 1,000 to 6,000; with a list of
        near pairs a quarter, 1,000 to 3,000, if that is more; without either a twentieth. Without labels, fewer where
        the features of all samples would fill the memory.
    gamma : float, default=None
        Coefficient of the kernel `k(x, z) = exp(-gamma |x - z|^2)`. None is 1 over the median squared distance between
        landmarks.
    ridge : float, default=None
        Strength of the penalty. None chooses it where there are labels, by leave-one-out, or a list of near pairs, by
        pairs held back; it is 1e-5 otherwise.
    refine_steps : int, default=None
        Number of optimisation steps that refine each bit after the hash function is fitted to the cut, maximising b'Wb
        of its actual output. 0 disables refinement, as in the paper. None is 15 with labels and 8 without.
    max_samples : int or None, default=500_000
        Number of samples that the regression is fitted to where bits are learned from the pairs of fewer, as with more
        than 20,000 labels: evenly spaced ones, and those whose pairs take part. None is all.
    updatable : bool, default=None
        Whether the model keeps what `ProximityPreservingCode.update` needs of its training samples, where each has one
        label: sums of products of m features, which take 4 m^2 bytes of a model file, and up to 2,000 samples. None: if
        m is at most 2,000.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        Mean of the landmarks, subtracted from all samples before distances are computed.
    landmarks_ : ndarray of shape (m, n_features)
        Minus the centre.
    gamma_ : float
    exponent_factor_ : ndarray of shape (n_features + 2, m)
        Gives the exponents of the kernel by one matrix product.
    ridge_, coef_, intercept_, posteriors_, directions_, memory_
        See `RidgeHash`.
    """

    def __init__(
        self,
        n_landmarks: int | None = None,
        gamma: float | None = None,
        ridge: float | None = None,
        refine_steps: int | None = None,
        max_samples: int | None = 500_000,
        updatable: bool | None = None,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.gamma = gamma
        self.ridge = ridge
        self.refine_steps = refine_steps
        self.max_samples = max_samples
        self.updatable = updatable

    def _choose_inputs(self, X: Matrix, rng: np.random.Generator, *, supervised: bool, kept: bool) -> None:
        n_landmarks = default_landmarks(len(X), supervised, kept) if self.n_landmarks is None else self.n_landmarks
        check_integer("n_landmarks", n_landmarks, 1)
        if self.gamma is not None:
            check_number("gamma", self.gamma, above=0, below=float(np.finfo(X.dtype).max) ** 0.5)
        chosen = X[rng.choice(len(X), min(int(n_landmarks), len(X)), replace=False)]
        self.center_ = chosen.mean(axis=0, dtype=np.float64).astype(X.dtype)
        self.landmarks_ = chosen - self.center_
        self.gamma_ = _default_gamma(self.landmarks_) if self.gamma is None else float(self.gamma)
        self.exponent_factor_ = self._exponent_factor()

    def _input_root(self) -> Matrix:
        return kernel_root(self._centred_kernel(self.landmarks_), self.gamma_)

    def _inputs(self, X: Matrix) -> Matrix:
        return self._centred_kernel(X - self.center_)

    def _exponent_factor(self) -> Matrix:
        """Return (2 gamma z, -gamma |z|^2, 1) in columns: times (x, 1, -gamma |x|^2) it gives -gamma |x - z|^2."""
        Z, gamma = self.landmarks_, self.landmarks_.dtype.type(self.gamma_)
        columns = [2 * gamma * Z, -gamma * (Z * Z).sum(axis=1, keepdims=True), np.ones_like(Z[:, :1])]
        return np.ascontiguousarray(np.hstack(columns).T)

    def _centred_kernel(self, X: Matrix) -> Matrix:
        """Return exp(-gamma |x - z|^2) for the rows of X and the landmarks, both minus the centre."""
        norms = (X * X).sum(axis=1, keepdims=True)
        kernel = np.hstack([X, np.ones_like(norms), -X.dtype.type(self.gamma_) * norms]) @ self.exponent_factor_
        for start in range(0, len(X), EXP_ROWS):
            values = kernel[start : start + EXP_ROWS]
            np.minimum(values, 0, out=values)
            np.exp(values, out=values)
        return kernel

    def _input_state(self) -> State:
        return State({"gamma": self.gamma_}, {"center": self.center_, "landmarks": self.landmarks_})

    def _restore_inputs(self, state: State) -> None:
        self.gamma_ = state.number("gamma", above=0)
        self.center_ = state.array("center", "n_features")
        self.landmarks_ = state.array("landmarks", "n_inputs", "n_features")
        with np.errstate(over="ignore", invalid="ignore"):
            self.exponent_factor_ = self._exponent_factor()
        if not np.isfinite(self.exponent_factor_).all():
            raise ValueError("its array 'landmarks' holds numbers whose squares overflow; save the model again")


def default_landmarks(n: int, supervised: bool, kept: bool) -> int:
    """Return the default number of landmarks for n samples.

    `supervised` tells whether labels or pairs say what matters, `kept` whether the features of all samples are kept.

    Examples
    --------
    >>> [default_landmarks(n, supervised=True, kept=False) for n in (5000, 20_000, 59_000)]
    [1000, 2000, 5900]
    """
    least = max(MIN_LANDMARKS, min(PAIR_LANDMARKS, n // 4)) if supervised and kept else MIN_LANDMARKS
    most = min(MAX_LANDMARKS, max(MIN_LANDMARKS // 4, MAX_FEATURES_KEPT // n)) if kept else MAX_LANDMARKS
    return min(most, max(least, n // 10 if supervised else n // 20))


def _default_gamma(samples: Matrix) -> float:
    """Return 1 over the median squared distance between different samples, 1 where all are equal."""
    squares = pdist(samples[:1000], "sqeuclidean")
    squares = squares[squares > 0]
    if len(squares) == 0:
        return 1.0
    median = float(np.median(squares))
    largest = float(np.finfo(samples.dtype).max)
    if not median <= largest / 1e6:
        raise ValueError(f"squared distances of {median:.3g} overflow {samples.dtype}: scale X down, or pass float64.")
    if not 1e6 / largest <= median:
        raise ValueError(f"squared distances of {median:.3g} vanish in {samples.dtype}: scale X up, or pass float64.")
    return 1.0 / median
