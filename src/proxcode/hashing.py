"""Hash functions: what carries a bit to points not seen in fit.

A hash function is a bank of binary classifiers over the same points, one per bit:

1. `begin(X)` prepares what all bits share,
2. `learn(side)` trains the next bit's classifier and returns its margins on the training points,
3. `finish()` forgets the training points,
4. `scores(X)` gives the margins of new points, one column per bit; a bit is 1 where its margin is >= 0.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.dummy import DummyClassifier

from proxcode._blocks import map_blocks, one_blas_thread
from proxcode.cut.graph import Side

Matrix = NDArray[Any]

JITTER = 1e-6  # of the mean diagonal, about the rounding of products in single precision
SVM_COMFORT = 10_000  # points that a kernel SVM takes in minutes


class HashFunction(ABC, BaseEstimator):
    """A bank of classifiers, one per bit.

    Attributes
    ----------
    n_bits_ : int
        Bits learned so far.
    """

    n_bits_: int

    @abstractmethod
    def begin(self, X: Matrix, rng: np.random.Generator) -> None:
        """Prepare to learn bits of the points X; a bank that has bits already keeps them."""

    @abstractmethod
    def learn(self, side: Side) -> NDArray[np.float64]:
        """Learn the next bit from its side, -1 or +1, of each point; return the margins of these points."""

    @abstractmethod
    def truncate(self, n_bits: int) -> None:
        """Forget all but the first `n_bits` bits."""

    @abstractmethod
    def finish(self) -> None:
        """Forget the training points."""

    @abstractmethod
    def scores(self, X: Matrix, n_bits: int) -> NDArray[np.float64]:
        """Return the margins of the first `n_bits` bits, shape (n, n_bits)."""


class KernelHash(HashFunction):
    """Kernel ridge regression on landmarks (Nystroem): one factorisation for all bits, one solve per bit.

    With k(x) the RBF kernel between x and m landmarks, a bit is the sign of w'k(x) + c, where w and c minimise

        sum_i (b_i - w'k(x_i) - c)^2 + ridge n w'Kw,

    K being the kernel between the landmarks. Kernel values are kept for all training points while bits are learned:
    n x m numbers of X's own precision.

    Parameters
    ----------
    n_landmarks : int, default=1000
        Training points drawn as landmarks; all of them where there are fewer.
    gamma : float, default=None
        k(x, z) = exp(-gamma |x - z|^2). None is 1 over the median squared distance between landmarks.
    ridge : float, default=1e-4
        Strength of the penalty.

    Attributes
    ----------
    center_ : ndarray of shape (d,)
        Mean of the landmarks, taken off all points before distances are computed.
    landmarks_ : ndarray of shape (m, d)
        Less the centre.
    gamma_ : float
    coef_ : ndarray of shape (n_bits, m)
    intercept_ : ndarray of shape (n_bits,)
    """

    def __init__(self, n_landmarks: int = 1000, gamma: float | None = None, ridge: float = 1e-4) -> None:
        self.n_landmarks = n_landmarks
        self.gamma = gamma
        self.ridge = ridge

    def begin(self, X: Matrix, rng: np.random.Generator) -> None:
        """Draw the landmarks, compute the kernel and factorise the normal equations."""
        with one_blas_thread:
            if not hasattr(self, "landmarks_"):
                self._choose_landmarks(X, rng)
            gram = self._compute_kernel(X)
            centred = gram - len(X) * np.outer(self._mean, self._mean)
            penalty = self._centred_kernel(self.landmarks_).astype(np.float64)
            self._factor = _factorise(centred + self.ridge * len(X) * penalty)

    def _choose_landmarks(self, X: Matrix, rng: np.random.Generator) -> None:
        if self.n_landmarks < 1:
            raise ValueError(f"n_landmarks={self.n_landmarks}: give at least 1.")
        if self.gamma is not None and not self.gamma > 0:
            raise ValueError(f"gamma={self.gamma}: give a number above 0, or None to have it found.")
        if not self.ridge >= 0:
            raise ValueError(f"ridge={self.ridge}: give a number of at least 0.")
        chosen = X[np.sort(rng.choice(len(X), min(self.n_landmarks, len(X)), replace=False))]
        self.center_ = chosen.mean(axis=0)
        self.landmarks_ = chosen - self.center_
        self.gamma_ = _default_gamma(self.landmarks_) if self.gamma is None else float(self.gamma)
        self.coef_ = np.empty((0, len(self.landmarks_)))
        self.intercept_ = np.empty(0)
        self.n_bits_ = 0

    def _compute_kernel(self, X: Matrix) -> NDArray[np.float64]:
        """Keep the kernel of the training points and its mean; return its Gram matrix."""
        n, m = len(X), len(self.landmarks_)
        self._kernel = np.empty((n, m), X.dtype)
        gram, sums = np.zeros((m, m)), np.zeros(m)

        def fill(rows: slice) -> tuple[Matrix, Matrix]:
            self._kernel[rows] = block = self._kernel_to(X[rows])
            return block.T @ block, block.sum(axis=0, dtype=np.float64)

        for _, (block_gram, block_sums) in map_blocks(fill, n):
            gram += block_gram
            sums += block_sums
        self._mean = sums / n
        return gram

    def learn(self, side: Side) -> NDArray[np.float64]:
        """Solve for the next bit."""
        n = len(side)
        b = side.astype(self._kernel.dtype)
        b_mean = float(b.mean(dtype=np.float64))
        moment = -n * b_mean * self._mean
        for _, product in map_blocks(lambda rows: b[rows] @ self._kernel[rows], n):
            moment += product
        with one_blas_thread:
            coef = cho_solve(self._factor, moment)
            self.intercept_ = np.append(self.intercept_, b_mean - coef @ self._mean)
        self.coef_ = np.vstack([self.coef_, coef])
        self.n_bits_ += 1
        return self._margins(lambda rows: self._kernel[rows], n, slice(self.n_bits_ - 1, self.n_bits_))[:, 0]

    def truncate(self, n_bits: int) -> None:
        """Drop the coefficients of later bits."""
        self.coef_, self.intercept_ = self.coef_[:n_bits], self.intercept_[:n_bits]
        self.n_bits_ = n_bits

    def finish(self) -> None:
        """Drop the kernel of the training points."""
        del self._kernel, self._mean, self._factor

    def scores(self, X: Matrix, n_bits: int) -> NDArray[np.float64]:
        """Return the margins of the first `n_bits` bits."""
        return self._margins(lambda rows: self._kernel_to(X[rows]), len(X), slice(0, n_bits))

    def _margins(self, kernel: Callable[[slice], Matrix], n: int, bits: slice) -> NDArray[np.float64]:
        coef, intercept = self.coef_[bits], self.intercept_[bits]
        margins = np.empty((n, len(coef)))
        # In double precision: learn() and scores() sum in different order, and must agree on the sign.
        for rows, product in map_blocks(lambda rows: kernel(rows).astype(np.float64, copy=False) @ coef.T, n):
            margins[rows] = product + intercept
        return margins

    def _kernel_to(self, X: Matrix) -> Matrix:
        """RBF kernel between the rows of X and the landmarks."""
        return self._centred_kernel(X - self.center_)

    def _centred_kernel(self, X: Matrix) -> Matrix:
        kernel = X @ (2 * self.gamma_ * self.landmarks_.T)
        kernel -= self.gamma_ * (X * X).sum(axis=1)[:, None]
        kernel -= self.gamma_ * (self.landmarks_ * self.landmarks_).sum(axis=1)
        np.minimum(kernel, 0, out=kernel)
        return np.exp(kernel, out=kernel)


def _factorise(normal: NDArray[np.float64]) -> Any:
    """Return the Cholesky factor, with a jitter on the diagonal that grows until it exists.

    Many like landmarks leave the matrix singular, and products in single precision a little indefinite.
    """
    diagonal = np.diag_indices(len(normal))
    jitter = JITTER * float(np.trace(normal)) / len(normal) + np.finfo(float).tiny
    while True:
        normal[diagonal] += jitter
        try:
            return cho_factor(normal)
        except np.linalg.LinAlgError:
            jitter *= 10


def _default_gamma(points: Matrix) -> float:
    """Return 1 over the median squared distance between different points, 1 where all are equal."""
    squares = pdist(points, "sqeuclidean")
    squares = squares[squares > 0]
    if len(squares) == 0:
        return 1.0
    median = float(np.median(squares))
    if not median <= float(np.finfo(points.dtype).max) / 1e6:
        raise ValueError(f"squared distances of {median:.3g} overflow {points.dtype}: scale X down, or give float64.")
    return 1.0 / median


class ClassifierHash(HashFunction):
    """Any scikit-learn classifier, trained anew for each bit.

    Parameters
    ----------
    classifier : estimator
        With `decision_function`, `predict_proba` or at least `predict`.
    max_samples : int, default=None
        Train on at most so many points, drawn once; None is all.

    Attributes
    ----------
    classifiers_ : list of estimators, one per bit
    """

    def __init__(self, classifier: Any = None, max_samples: int | None = None) -> None:
        self.classifier = classifier
        self.max_samples = max_samples

    def begin(self, X: Matrix, rng: np.random.Generator) -> None:
        """Draw the training points."""
        if self.classifier is None:
            raise ValueError("ClassifierHash has no classifier: give one, e.g. ClassifierHash(LogisticRegression()).")
        if not hasattr(self, "classifiers_"):
            self.classifiers_: list[Any] = []
            self.n_bits_ = 0
        self._X, self._rows = X, np.arange(len(X))
        if self.max_samples is not None:
            if self.max_samples < 2:
                raise ValueError(f"max_samples={self.max_samples}: a classifier needs at least 2 points.")
            if self.max_samples < len(X):
                self._rows = np.sort(rng.choice(len(X), self.max_samples, replace=False))
        self._seed = int(rng.integers(2**31))

    def learn(self, side: Side) -> NDArray[np.float64]:
        """Train the classifier of the next bit."""
        target = side[self._rows]
        constant = len(np.unique(target)) == 1
        classifier = DummyClassifier(strategy="most_frequent") if constant else self._new_classifier()
        self.classifiers_.append(classifier.fit(self._X[self._rows], target))
        self.n_bits_ += 1
        return _margins_of(self.classifiers_[-1], self._X)

    def _new_classifier(self) -> Any:
        classifier = clone(self.classifier)
        seeds = {name: value for name, value in classifier.get_params().items() if name.endswith("random_state")}
        seed = (self._seed + self.n_bits_) % 2**31
        return classifier.set_params(**{name: seed for name, value in seeds.items() if value is None})

    def truncate(self, n_bits: int) -> None:
        """Drop the classifiers of later bits."""
        self.classifiers_ = self.classifiers_[:n_bits]
        self.n_bits_ = n_bits

    def finish(self) -> None:
        """Drop the training points."""
        del self._X, self._rows, self._seed

    def scores(self, X: Matrix, n_bits: int) -> NDArray[np.float64]:
        """Return the margins of the first `n_bits` bits."""
        return np.column_stack([_margins_of(classifier, X) for classifier in self.classifiers_[:n_bits]])


def _margins_of(classifier: Any, X: Matrix) -> NDArray[np.float64]:
    """Signed margins: the decision function, else the probability of +1 less a half, else the prediction."""
    if len(classifier.classes_) == 1:
        return np.full(len(X), float(classifier.classes_[0]))
    if hasattr(classifier, "decision_function"):
        return np.asarray(classifier.decision_function(X), dtype=np.float64)
    if hasattr(classifier, "predict_proba"):
        return np.asarray(classifier.predict_proba(X)[:, 1] - 0.5, dtype=np.float64)
    return np.asarray(classifier.predict(X), dtype=np.float64)


class SVMHash(ClassifierHash):
    """The paper's hash function: a kernel SVM with a Gaussian kernel for each bit.

    Its time grows faster than n^2: above some 10,000 points give `max_samples`, or use `KernelHash`.

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error, as in `sklearn.svm.SVC`.
    gamma : float or {"scale", "auto"}, default="scale"
        Width of the kernel, as in `sklearn.svm.SVC`.
    max_samples : int, default=None
        Train on at most so many points, drawn once; None is all.
    """

    def __init__(self, C: float = 1.0, gamma: float | str = "scale", max_samples: int | None = None) -> None:
        self.C = C
        self.gamma = gamma
        self.max_samples = max_samples

    @property
    def classifier(self) -> Any:
        """The classifier that each bit gets a copy of."""
        from sklearn.svm import SVC

        return SVC(C=self.C, gamma=self.gamma)

    def begin(self, X: Matrix, rng: np.random.Generator) -> None:
        """Draw the training points."""
        super().begin(X, rng)
        if len(self._rows) > SVM_COMFORT:
            warnings.warn(
                f"SVMHash on {len(self._rows):,} points takes very long: SVMHash(max_samples={SVM_COMFORT}) trains on "
                "some of them, KernelHash() on all.",
                stacklevel=2,
            )


def as_hash_function(hash_function: Any) -> HashFunction:
    """Return a fresh hash function: the default for None, a bank of them for a plain classifier."""
    if hash_function is None:
        return KernelHash()
    if isinstance(hash_function, HashFunction):
        return clone(hash_function)
    if isinstance(hash_function, BaseEstimator) and is_classifier(hash_function):
        return ClassifierHash(clone(hash_function))
    raise TypeError(f"hash_function={hash_function!r}: use KernelHash(), SVMHash() or a scikit-learn classifier.")
