"""Kernel hash functions: bits whose borders curve."""

import numbers
from typing import Any

import numpy as np
from scipy.linalg import cholesky
from scipy.spatial.distance import pdist

from proxcode.hashing.base import Matrix
from proxcode.hashing.ridge import RidgeHash
from proxcode.storage.state import State

JITTER = 1e-4  # on the unit diagonal of the kernel between landmarks: above the rounding of single precision
MIN_LANDMARKS, MAX_LANDMARKS = 1000, 6000
MAX_NUMBERS = 500_000_000  # points times landmarks, where the features of all points are kept
EXP_ROWS = 32  # rows whose kernel values stay in the processor's cache


class KernelHash(RidgeHash):
    """Kernel ridge regression on landmarks (Nystroem), the inputs being RBF kernels to m training points.

    With k(x) the kernel between x and the landmarks and K that between the landmarks (plus 1e-4 on its diagonal), a
    function w'k(x) + c is penalised by ridge n w'Kw.

    Parameters
    ----------
    n_landmarks : int, default=None
        Training points drawn as landmarks. None is a tenth of the points, 1,000 to 6,000; without labels a twentieth,
        and fewer where the features of all points would fill the memory.
    gamma : float, default=None
        k(x, z) = exp(-gamma |x - z|^2). None is 1 over the median squared distance between landmarks.
    ridge : float, default=None
        Strength of the penalty. None is chosen by leave-one-out where there are labels, else 1e-5.

    Attributes
    ----------
    center_ : ndarray of shape (d,)
        Mean of the landmarks, taken off all points before distances are computed.
    landmarks_ : ndarray of shape (m, d)
        Less the centre.
    gamma_ : float
    exponent_factor_ : ndarray of shape (d + 2, m)
        What gives the exponents of the kernel in one product.
    ridge_, coef_, intercept_, posteriors_, directions_
        See `RidgeHash`.
    """

    def __init__(self, n_landmarks: int | None = None, gamma: float | None = None, ridge: float | None = None) -> None:
        self.n_landmarks = n_landmarks
        self.gamma = gamma
        self.ridge = ridge

    def _choose_inputs(self, X: Matrix, rng: np.random.Generator, *, with_labels: bool) -> None:
        default = self._default_landmarks(len(X), with_labels)
        n_landmarks: Any = default if self.n_landmarks is None else self.n_landmarks
        gamma: Any = self.gamma
        if not isinstance(n_landmarks, numbers.Integral) or n_landmarks < 1:
            raise ValueError(f"n_landmarks={self.n_landmarks!r}: give a whole number, at least 1.")
        largest = float(np.finfo(X.dtype).max) ** 0.5
        if gamma is not None and not (isinstance(gamma, numbers.Real) and 0 < float(gamma) < largest):
            raise ValueError(f"gamma={gamma!r}: give a number above 0, or None to have it found.")
        chosen = X[rng.choice(len(X), min(int(n_landmarks), len(X)), replace=False)]
        self.center_ = chosen.mean(axis=0, dtype=np.float64).astype(X.dtype)
        self.landmarks_ = chosen - self.center_
        self.gamma_ = _default_gamma(self.landmarks_) if gamma is None else float(gamma)
        self.exponent_factor_ = self._exponent_factor()

    @staticmethod
    def _default_landmarks(n: int, with_labels: bool) -> int:
        if with_labels:
            return min(MAX_LANDMARKS, max(MIN_LANDMARKS, n // 10))
        most = min(MAX_LANDMARKS, max(MIN_LANDMARKS // 4, MAX_NUMBERS // n))
        return min(most, max(MIN_LANDMARKS, n // 20))

    def _input_root(self) -> Matrix:
        kernel = self._centred_kernel(self.landmarks_).astype(np.float64)
        kernel[np.diag_indices(len(kernel))] += JITTER
        return cholesky(kernel, overwrite_a=True)

    def _inputs(self, X: Matrix) -> Matrix:
        return self._centred_kernel(X - self.center_)

    def _exponent_factor(self) -> Matrix:
        """Return (2 gamma z, -gamma |z|^2, 1) in columns: times (x, 1, -gamma |x|^2) it gives -gamma |x - z|^2."""
        Z, gamma = self.landmarks_, self.landmarks_.dtype.type(self.gamma_)
        columns = [2 * gamma * Z, -gamma * (Z * Z).sum(axis=1, keepdims=True), np.ones_like(Z[:, :1])]
        return np.ascontiguousarray(np.hstack(columns).T)

    def _centred_kernel(self, X: Matrix) -> Matrix:
        """Return exp(-gamma |x - z|^2) for the rows of X and the landmarks, both less the centre."""
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
        self.gamma_ = state.values["gamma"]
        self.center_, self.landmarks_ = state.arrays["center"], state.arrays["landmarks"]
        self.exponent_factor_ = self._exponent_factor()


def _default_gamma(points: Matrix) -> float:
    """Return 1 over the median squared distance between different points, 1 where all are equal."""
    squares = pdist(points[:1000], "sqeuclidean")
    squares = squares[squares > 0]
    if len(squares) == 0:
        return 1.0
    median = float(np.median(squares))
    largest = float(np.finfo(points.dtype).max)
    if not median <= largest / 1e6:
        raise ValueError(f"squared distances of {median:.3g} overflow {points.dtype}: scale X down, or give float64.")
    if not 1e6 / largest <= median:
        raise ValueError(f"squared distances of {median:.3g} vanish in {points.dtype}: scale X up, or give float64.")
    return 1.0 / median
