"""Hash functions: what carries a bit to points not seen in fit.

A hash function is a bank of binary classifiers over the same points, one per bit:

1. `begin(X)` prepares what all bits share,
2. `learn(side)` trains the next bit's classifier and returns its margins on the training points,
3. `climb(graph)`, where it can, raises b'Wb of that bit as hashed,
4. `finish()` forgets the training points,
5. `scores(X)` gives the margins of new points, one column per bit; a bit is 1 where its margin is >= 0.
"""

import warnings
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.dummy import DummyClassifier

from proxcode._blocks import map_blocks, one_blas_thread
from proxcode.cut import SignedGraph
from proxcode.cut.graph import Side
from proxcode.cut.initial import sides

Matrix = NDArray[Any]
Vector = NDArray[np.float64]

JITTER = 1e-4  # on the unit diagonal of the kernel between landmarks: above the rounding of single precision
SVM_COMFORT = 10_000  # points that a kernel SVM takes in minutes


class Part(NamedTuple):
    """Some of the training points and the graph between them."""

    rows: NDArray[np.int64]
    graph: SignedGraph


class HashFunction(ABC, BaseEstimator):
    """A bank of classifiers, one per bit.

    Attributes
    ----------
    n_bits_ : int
        Bits learned so far.
    climbs : bool
        Whether `climb` is there.
    """

    n_bits_: int
    climbs = False

    @abstractmethod
    def begin(
        self,
        X: Matrix,
        rng: np.random.Generator,
        *,
        labels: NDArray[np.int8] | None = None,
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        """Prepare to learn bits of the points X; a bank that has bits already keeps them.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        rng : Generator
        labels : ndarray of shape (n, n_labels), default=None
            +1 or -1: bits may be restricted to what tells these labels apart.
        rows : ndarray of int, default=None
            The points that sides and margins are given for; None is all.
        """

    @abstractmethod
    def learn(self, side: Side) -> Vector:
        """Learn the next bit from its side, -1 or +1, of each point; return the margins of these points."""

    def climb(self, graph: SignedGraph, steps: int, part: Part | None = None) -> Vector:
        """Raise b'Wb of the last bit as hashed, in so many steps; return its margins.

        Parameters
        ----------
        graph : SignedGraph
            The graph over all training points, by which the result is judged.
        steps : int
        part : Part, default=None
            Some of the points, over which the steps are made; None is all.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot climb: use coupling=0.")

    @abstractmethod
    def training_margins(self, bit: int) -> Vector:
        """Return what `learn` or `climb` returned for a bit."""

    @abstractmethod
    def truncate(self, n_bits: int) -> None:
        """Forget all but the first `n_bits` bits."""

    @abstractmethod
    def finish(self) -> None:
        """Forget the training points."""

    @abstractmethod
    def scores(self, X: Matrix, n_bits: int) -> Vector:
        """Return the margins of the first `n_bits` bits, shape (n, n_bits)."""


class KernelHash(HashFunction):
    """Kernel ridge regression on landmarks (Nystroem): one factorisation for all bits, one product per bit.

    With k(x) the RBF kernel between x and m landmarks, a bit is the sign of w'k(x) + c. Fitted to a side b, w and c
    minimise

        sum_i (b_i - w'k(x_i) - c)^2 + ridge n w'Kw,

    K being the kernel between the landmarks (plus 1e-4 on its diagonal). The work is done in a basis of functions psi
    in which this problem is the identity; n x m numbers of X's own precision are kept while bits are learned.

    Where labels are given, the basis is that of the fitted label scores, at each training point as if fitted without it
    (leave-one-out, in closed form), so that bits are learned from what new points will show: n x n_labels numbers.

    Parameters
    ----------
    n_landmarks : int, default=None
        Training points drawn as landmarks. None is a twentieth of the points, 1,000 to 6,000.
    gamma : float, default=None
        k(x, z) = exp(-gamma |x - z|^2). None is 1 over the median squared distance between landmarks.
    ridge : float, default=1e-5
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
    directions_ : ndarray of shape (n_bits, r + 1)
        The bits in the basis, their offsets last.
    """

    climbs = True

    def __init__(self, n_landmarks: int | None = None, gamma: float | None = None, ridge: float = 1e-5) -> None:
        self.n_landmarks = n_landmarks
        self.gamma = gamma
        self.ridge = ridge

    def begin(
        self,
        X: Matrix,
        rng: np.random.Generator,
        *,
        labels: NDArray[np.int8] | None = None,
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        """Draw the landmarks, compute the basis."""
        with one_blas_thread:
            if not hasattr(self, "landmarks_"):
                self._choose_landmarks(X, rng)
            basis = self._compute_basis(X)
            if labels is not None and 0 < 2 * labels.shape[1] <= basis.shape[1]:
                basis = self._label_basis(basis, labels)
            self._basis = basis if rows is None else basis[rows]
            if not hasattr(self, "directions_"):
                self.directions_, self.coef_ = np.empty((0, basis.shape[1] + 1)), np.empty((0, len(self.landmarks_)))
                self.intercept_, self.n_bits_ = np.empty(0), 0
            if self.directions_.shape[1] != basis.shape[1] + 1:
                raise ValueError("these bits were learned with other labels or another coupling: go on with the same.")
            self._normal = self._normal_equations(len(X))

    def _choose_landmarks(self, X: Matrix, rng: np.random.Generator) -> None:
        n_landmarks = min(6000, max(1000, len(X) // 20)) if self.n_landmarks is None else self.n_landmarks
        if n_landmarks < 1:
            raise ValueError(f"n_landmarks={self.n_landmarks}: give at least 1.")
        if self.gamma is not None and not self.gamma > 0:
            raise ValueError(f"gamma={self.gamma}: give a number above 0, or None to have it found.")
        if not self.ridge > 0:
            raise ValueError(f"ridge={self.ridge}: give a number above 0.")
        chosen = X[np.sort(rng.choice(len(X), min(n_landmarks, len(X)), replace=False))]
        self.center_ = chosen.mean(axis=0)
        self.landmarks_ = chosen - self.center_
        self.gamma_ = _default_gamma(self.landmarks_) if self.gamma is None else float(self.gamma)

    def _compute_basis(self, X: Matrix) -> Matrix:
        """Return psi at the training points, psi = U^-T (R^-T k - mean), and keep R, U and the mean.

        R'R = K makes features of unit kernel, U'U = their covariance plus ridge makes the regression the identity.
        """
        n, m = len(X), len(self.landmarks_)
        kernel = self._centred_kernel(self.landmarks_).astype(np.float64)
        self._root = cholesky(kernel + JITTER * np.eye(m))
        root = self._root.astype(X.dtype)
        basis = np.empty((n, m), X.dtype)
        gram, sums = np.zeros((m, m)), np.zeros(m)

        def fill(rows: slice) -> tuple[Matrix, Vector]:
            basis[rows] = block = solve_triangular(
                root, self._kernel_to(X[rows]).T, trans=1, overwrite_b=True, check_finite=False
            ).T
            return block.T @ block, block.sum(axis=0, dtype=np.float64)

        for _, (block_gram, block_sums) in map_blocks(fill, n):
            gram += block_gram
            sums += block_sums
        self._mean = sums / n
        self._upper = self._factorise(gram - n * np.outer(self._mean, self._mean) + self.ridge * n * np.eye(m))
        upper, mean = self._upper.astype(X.dtype), self._mean.astype(X.dtype)

        def whiten(rows: slice) -> None:
            centred = (basis[rows] - mean).T
            basis[rows] = solve_triangular(upper, centred, trans=1, overwrite_b=True, check_finite=False).T

        for _ in map_blocks(whiten, n):
            pass
        self._to_psi: Matrix | None = None
        return basis

    def _factorise(self, normal: Matrix) -> Matrix:
        try:
            return cholesky(normal)
        except np.linalg.LinAlgError as error:
            raise ValueError(f"ridge={self.ridge} is lost in rounding: give a larger one, or X in float64.") from error

    def _label_basis(self, basis: Matrix, labels: NDArray[np.int8]) -> Matrix:
        """Return the label scores at the training points, each as if fitted without its point."""
        n = len(basis)
        mean = labels.mean(axis=0).astype(basis.dtype)
        self._to_psi = np.zeros((basis.shape[1], labels.shape[1]))
        for _, product in map_blocks(lambda rows: basis[rows].T @ (labels[rows] - mean), n):
            self._to_psi += product
        coefficients = self._to_psi.astype(basis.dtype)
        scores = np.empty((n, labels.shape[1]), basis.dtype)

        def leave_one_out(rows: slice) -> Matrix:
            leverage = np.minimum((basis[rows] ** 2).sum(axis=1) + 1 / n, 1 - 1000 * np.finfo(basis.dtype).eps)
            centred = labels[rows] - mean
            scores = centred - (centred - basis[rows] @ coefficients) / (1 - leverage)[:, None]
            scores += centred / (n - 1)  # less the mean without the point: the mean with it would tell its label
            return np.where(np.abs(scores) > 100 * np.finfo(basis.dtype).eps, scores, 0)  # and so would its rounding

        for rows, block in map_blocks(leave_one_out, n):
            scores[rows] = block
        return scores

    def _normal_equations(self, n: int) -> Any:
        """Return the Cholesky factor of the regression of a side on the basis."""
        r = self._basis.shape[1]
        if self._to_psi is None:  # the basis was made for it
            return cho_factor(np.eye(r) * (len(self._basis) / n))
        centred = (self._basis - self._basis.mean(axis=0)).astype(np.float64)
        gram = centred.T @ centred
        return cho_factor(gram + (1e-6 * np.trace(gram) / r + np.finfo(float).tiny) * np.eye(r))

    def learn(self, side: Side) -> Vector:
        """Fit the next bit to a side."""
        offset = float(side.mean())
        with one_blas_thread:
            direction = cho_solve(self._normal, _moments(self._basis, side - offset))
        self.directions_ = np.vstack([self.directions_, np.append(direction, offset)])
        self.n_bits_ += 1
        return self.training_margins(self.n_bits_ - 1)

    def climb(self, graph: SignedGraph, steps: int, part: Part | None = None) -> Vector:
        """Raise t'Wt of the soft bit t = tanh(margins) by L-BFGS; keep it where b'Wb of the hard bit has risen too."""
        margins = self.training_margins(self.n_bits_ - 1)
        value = graph.value(sides(margins))
        basis, slope_graph = (self._basis, graph) if part is None else (self._basis[part.rows], part.graph)
        start = self.directions_[-1] / max(float(np.abs(margins).mean()), np.finfo(float).tiny)
        unit = max(abs(value), np.finfo(float).tiny)

        def loss_and_slope(direction: Vector) -> tuple[float, Vector]:
            soft = np.tanh(_along(basis, direction))
            field = slope_graph.matvec(soft)
            slope = 2.0 * field * (1.0 - soft * soft)
            return -float(soft @ field) / unit, -np.append(_moments(basis, slope), slope.sum()) / unit

        climbed = minimize(loss_and_slope, start, jac=True, method="L-BFGS-B", options={"maxiter": steps}).x
        climbed_margins = _along(self._basis, climbed)
        if graph.value(sides(climbed_margins)) <= value:
            return margins
        self.directions_[-1] = climbed
        return climbed_margins

    def training_margins(self, bit: int) -> Vector:
        """Return the margins of a bit at the training points."""
        return _along(self._basis, self.directions_[bit])

    def truncate(self, n_bits: int) -> None:
        """Drop later bits."""
        self.directions_ = self.directions_[:n_bits]
        self.coef_, self.intercept_ = self.coef_[:n_bits], self.intercept_[:n_bits]
        self.n_bits_ = n_bits

    def finish(self) -> None:
        """Turn new directions into coefficients of the kernel, drop the basis."""
        with one_blas_thread:
            new = self.directions_[len(self.coef_) :]
            along_psi = new[:, :-1].T if self._to_psi is None else self._to_psi @ new[:, :-1].T
            along_features = solve_triangular(self._upper, along_psi)
            self.coef_ = np.vstack([self.coef_, solve_triangular(self._root, along_features).T])
            self.intercept_ = np.append(self.intercept_, new[:, -1] - self._mean @ along_features)
        del self._basis, self._normal, self._root, self._upper, self._mean, self._to_psi

    def scores(self, X: Matrix, n_bits: int) -> Vector:
        """Return the margins of the first `n_bits` bits."""
        coef, intercept = self.coef_[:n_bits].T, self.intercept_[:n_bits]
        margins = np.empty((len(X), n_bits))
        for rows, kernel in map_blocks(
            lambda rows: self._kernel_to(X[rows]).astype(np.float64, copy=False) @ coef, len(X)
        ):
            margins[rows] = kernel + intercept
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


def _along(basis: Matrix, direction: Vector) -> Vector:
    """Margins of a bit given in the basis, its offset last."""
    coefficients = direction[:-1].astype(basis.dtype)
    margins = np.empty(len(basis))
    for rows, product in map_blocks(lambda rows: basis[rows] @ coefficients, len(basis)):
        margins[rows] = product
    return margins + direction[-1]


def _moments(basis: Matrix, values: Matrix) -> Vector:
    """Return the sums of the basis functions times a value over the points."""
    values = values.astype(basis.dtype)
    moments = np.zeros(basis.shape[1])
    for _, product in map_blocks(lambda rows: values[rows] @ basis[rows], len(basis)):
        moments += product
    return moments


def _default_gamma(points: Matrix) -> float:
    """Return 1 over the median squared distance between different points, 1 where all are equal."""
    squares = pdist(points[:1000], "sqeuclidean")
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

    def begin(
        self,
        X: Matrix,
        rng: np.random.Generator,
        *,
        labels: NDArray[np.int8] | None = None,
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        """Draw the training points."""
        X = X if rows is None else X[rows]
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

    def learn(self, side: Side) -> Vector:
        """Train the classifier of the next bit."""
        target = side[self._rows]
        constant = len(np.unique(target)) == 1
        classifier = DummyClassifier(strategy="most_frequent") if constant else self._new_classifier()
        self.classifiers_.append(classifier.fit(self._X[self._rows], target))
        self.n_bits_ += 1
        return self.training_margins(self.n_bits_ - 1)

    def training_margins(self, bit: int) -> Vector:
        """Return the margins of a bit at the training points."""
        return _margins_of(self.classifiers_[bit], self._X)

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

    def scores(self, X: Matrix, n_bits: int) -> Vector:
        """Return the margins of the first `n_bits` bits."""
        return np.column_stack([_margins_of(classifier, X) for classifier in self.classifiers_[:n_bits]])


def _margins_of(classifier: Any, X: Matrix) -> Vector:
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

    def begin(
        self,
        X: Matrix,
        rng: np.random.Generator,
        *,
        labels: NDArray[np.int8] | None = None,
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        """Draw the training points."""
        super().begin(X, rng, labels=labels, rows=rows)
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
