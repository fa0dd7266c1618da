"""Ridge regression on features of the points: one factorisation for all bits, one product per bit.

Inputs f(x), kernel values or plain coordinates, give features phi(x) = R^-T f(x). A bit fitted to a side b minimises

    sum_i (b_i - w'phi(x_i) - c)^2 + ridge n w'w.

With U'U = (centred features)'(centred features) + ridge n, the functions psi(x) = U^-T (phi(x) - mean) make the normal
equations the identity, and sum_j psi_j(x_i)^2 + 1/n is the leverage of a point: how much of its own value it explains.
"""

import numbers
from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize

from proxcode.cut.graph import QuadraticForm
from proxcode.cut.initial import signs_of
from proxcode.cut.result import Partition
from proxcode.hashing.base import HashFunction, Labels, Matrix, Rows, Vector
from proxcode.hashing.posteriors import Posteriors, fit_posteriors
from proxcode.storage.state import State
from proxcode.utils.blocks import map_blocks, one_blas_thread

DEFAULT_RIDGE = 1e-5
RIDGES = (1e-3, 1e-4, 1e-5, 1e-6)  # to choose from by leave-one-out
MIN_RIDGE_FEATURES, RIDGE_FEATURES, RIDGE_POINTS = 200, 1500, 2000  # the first features and points for that
FIT_BLOCK = 8192  # rows; each block adds a matrix of features by features
FEW = 256  # functions, with which products are too small to be split over threads
BIT_PANEL = 32  # bits whose coefficients are solved for at a time
PANEL = 256  # columns that a triangular system is solved for at a time
ENCODE_BLOCK = 1024  # rows whose inputs stay in the processor's cache


class RidgeHash(HashFunction):
    """Bits as directions in functions fitted by ridge regression; a subclass says what the inputs are.

    Without labels the functions are psi, and n x m numbers of X's own precision are kept while bits are learned. With
    labels they are the posteriors of the labels given their regression scores. Scores of training points are
    leave-one-out, in closed form, so that bits are learned from what new points will show: n x n_labels numbers.

    Attributes
    ----------
    ridge_ : float
    coef_ : ndarray of shape (n_outputs, m)
        Of the inputs; the outputs are the bits' margins or, where there are labels, their scores less the mean.
    intercept_ : ndarray of shape (n_outputs,)
    posteriors_ : Posteriors or None
        What turns label scores into the functions that bits are directions of.
    directions_ : ndarray of shape (n_bits, r + 1)
        The bits in these functions, their offsets last.
    """

    climbs = True
    ridge: float | None

    @abstractmethod
    def _choose_inputs(self, X: Matrix, rng: np.random.Generator, *, with_labels: bool) -> None:
        """Fix the inputs; without labels n x m features will be kept."""

    @abstractmethod
    def _inputs(self, X: Matrix) -> Matrix:
        """Return f(x) for each row, a new array in C order."""

    @abstractmethod
    def _input_root(self) -> Matrix | None:
        """Return R, upper triangular; None is the identity."""

    def begin(
        self,
        X: Matrix,
        rng: np.random.Generator,
        *,
        labels: Labels | None = None,
        rows: Rows | None = None,
    ) -> None:
        """Compute the functions that bits will be directions of."""
        with one_blas_thread:
            try:
                self._begin(X, rng, labels, rows)
            except BaseException:
                self._forget()
                raise

    def _begin(self, X: Matrix, rng: np.random.Generator, labels: Labels | None, rows: Rows | None) -> None:
        is_new = not hasattr(self, "directions_")
        if is_new:
            self._check_ridge()
            self._choose_inputs(X, rng, with_labels=labels is not None)
        n_features = self._inputs(X[:1]).shape[1]
        if labels is not None and not 0 < 2 * labels.shape[1] <= n_features:
            labels = None
        n_functions = n_features if labels is None else labels.shape[1]
        if is_new:
            self.directions_, self.n_bits_ = np.empty((0, n_functions + 1)), 0
        elif self.directions_.shape[1] != n_functions + 1 or (labels is None) != (self.posteriors_ is None):
            raise ValueError("these bits were learned with other labels or another coupling: go on with the same.")
        self._root = self._input_root()
        features = _Features(self._inputs, self._root, X, n_features, labels)
        if labels is None:
            self._basis = self._feature_basis(features, is_new)
            self._basis = self._basis if rows is None else self._basis[rows]
            self._per_point = len(X) / len(self._basis)
        else:
            self._basis = self._label_basis(features, labels, np.arange(len(X)) if rows is None else rows, is_new)
            self._basis_mean = self._basis.mean(axis=0, dtype=np.float64)
            self._normal = _normal_equations(self._basis - self._basis_mean)

    def _check_ridge(self) -> None:
        ridge: Any = self.ridge
        if ridge is not None and not (isinstance(ridge, numbers.Real) and 0 < float(ridge) < np.inf):
            raise ValueError(f"ridge={ridge!r}: give a number above 0, or None to have it chosen.")

    def _feature_basis(self, features: "_Features", is_new: bool) -> Matrix:
        """Return psi at the training points."""
        self.ridge_ = DEFAULT_RIDGE if self.ridge is None else float(self.ridge)
        self._factorise(features)
        if is_new:
            self.posteriors_: Posteriors | None = None
            self.coef_, self.intercept_ = np.empty((0, features.m)), np.empty(0)
        return features.whitened(self._upper)

    def _factorise(self, features: "_Features") -> None:
        try:
            self._upper = features.factor(self.ridge_)
        except np.linalg.LinAlgError as error:
            raise ValueError(f"ridge={self.ridge_} is lost in rounding: give a larger one, or X in float64.") from error
        self._mean = features.mean

    def _label_basis(self, features: "_Features", labels: Labels, rows: Rows, is_new: bool) -> Matrix:
        """Return the posteriors of the labels at some training points, each as if fitted without its point."""
        if is_new:
            self.ridge_ = features.best_ridge(labels) if self.ridge is None else float(self.ridge)
        self._factorise(features)
        along_psi = solve_triangular(self._upper, features.moments, trans=1)
        along_features = solve_triangular(self._upper, along_psi)
        coef = self._along_inputs(along_features).T
        scores = features.leave_one_out(self._upper, along_psi, labels, rows)
        if is_new:
            self.coef_ = np.ascontiguousarray(coef)
            self.intercept_ = -self._mean @ along_features  # scores are those of labels less their mean
            self.posteriors_ = fit_posteriors(scores, labels[rows])
        elif np.abs(coef - self.coef_).max() > 1e-3 * np.abs(self.coef_).max():
            raise ValueError("these bits were learned with other labels: go on with the same.")
        assert self.posteriors_ is not None
        return self.posteriors_(scores)

    def _along_inputs(self, along_features: Matrix) -> Matrix:
        return along_features if self._root is None else solve_triangular(self._root, along_features)

    def learn(self, side: Partition, points: Rows | None = None) -> Vector:
        """Fit the next bit to a side."""
        offset = float(side.mean())
        basis = self._basis if points is None else self._basis[points]
        with one_blas_thread:
            direction = _moments(basis, side - offset) * (len(self._basis) / len(side))
            if self.posteriors_ is None:  # the basis was made for it
                direction *= self._per_point
            else:
                direction = cho_solve(self._normal, direction)
                offset -= float(self._basis_mean @ direction)
        self.directions_ = np.vstack([self.directions_, np.append(direction, offset)])
        self.n_bits_ += 1
        return self.training_margins(self.n_bits_ - 1)

    def climb(self, form: QuadraticForm, steps: int, points: Rows | None = None) -> Vector:
        """Raise t'Wt of the soft bit t = tanh(margins) by L-BFGS; keep it where b'Wb of the hard bit has risen too."""
        basis = self._basis if points is None else self._basis[points]
        margins = _along(basis, self.directions_[-1])
        value = form.value(signs_of(margins))
        self.directions_[-1] /= max(float(np.abs(margins).mean()), np.finfo(float).tiny)
        units = np.ones(basis.shape[1] + 1)  # in which coordinates move alike
        units[-1] = 1.0 if self.posteriors_ is not None else len(self._basis) ** -0.5
        start = self.directions_[-1] / units
        value_unit = max(abs(value), np.finfo(float).tiny)

        def loss_and_slope(coordinates: Vector) -> tuple[float, Vector]:
            soft = np.tanh(_along(basis, coordinates * units))
            field = form.matvec(soft)
            slope = 2.0 * field * (1.0 - soft * soft)
            gradient = np.append(_moments(basis, slope), slope.sum()) * units
            return -float(soft @ field) / value_unit, -gradient / value_unit

        climbed = minimize(loss_and_slope, start, jac=True, method="L-BFGS-B", options={"maxiter": steps}).x * units
        if form.value(signs_of(_along(basis, climbed))) > value:
            self.directions_[-1] = climbed
        return self.training_margins(self.n_bits_ - 1)

    def training_margins(self, bit: int) -> Vector:
        """Return the margins of a bit at the training points."""
        return _along(self._basis, self.directions_[bit])

    def truncate(self, n_bits: int) -> None:
        """Drop later bits."""
        self.directions_ = self.directions_[:n_bits]
        if self.posteriors_ is None:
            self.coef_, self.intercept_ = self.coef_[:n_bits], self.intercept_[:n_bits]
        self.n_bits_ = n_bits

    def finish(self) -> None:
        """Turn new directions into coefficients of the inputs, drop the basis."""
        if self.posteriors_ is None:
            with one_blas_thread:
                for start in range(len(self.coef_) // BIT_PANEL * BIT_PANEL, self.n_bits_, BIT_PANEL):
                    self._solve_bits(slice(start, min(start + BIT_PANEL, self.n_bits_)))
        self._forget()

    def _solve_bits(self, bits: slice) -> None:
        """Append the coefficients of those bits of a panel that have none yet.

        The last digits of a solution depend on how many right sides there are. A panel is filled up with zeros, so that
        a bit has the same digits whether it was learned in one fit or in several.
        """
        panel = np.zeros((BIT_PANEL, self.directions_.shape[1] - 1))
        panel[: bits.stop - bits.start] = self.directions_[bits, :-1]
        along_features = solve_triangular(self._upper, panel.T)
        new = slice(len(self.coef_) - bits.start, bits.stop - bits.start)
        coef = self._along_inputs(along_features).T[new]
        intercept = (-self._mean @ along_features)[new] + self.directions_[len(self.coef_) : bits.stop, -1]
        self.coef_ = np.ascontiguousarray(np.vstack([self.coef_, coef]))
        self.intercept_ = np.append(self.intercept_, intercept)

    def _forget(self) -> None:
        for name in ("_basis", "_basis_mean", "_normal", "_per_point", "_root", "_upper", "_mean"):
            self.__dict__.pop(name, None)

    def progress(self) -> State:
        """Return the directions."""
        return State(arrays={"directions": self.directions_})

    def resume(self, progress: State) -> None:
        """Take directions over."""
        directions = progress.arrays["directions"]
        if directions.shape[1] != self.directions_.shape[1]:
            raise ValueError("these bits were learned with other labels or another coupling: go on with the same.")
        self.directions_, self.n_bits_ = directions, len(directions)

    @abstractmethod
    def _input_state(self) -> State:
        """Return what gives the inputs."""

    @abstractmethod
    def _restore_inputs(self, state: State) -> None:
        """Take over what gives the inputs."""

    def state(self) -> State:
        """Return the inputs, the regression, the posteriors of labels if there are any, and the directions."""
        values, arrays, _ = self._input_state()
        values = {**values, "ridge": self.ridge_, "posteriors": None}
        arrays = {**arrays, "coef": self.coef_, "intercept": self.intercept_, "directions": self.directions_}
        if self.posteriors_ is not None:
            slope, arrays["offset"], exclusive = self.posteriors_
            values["posteriors"] = {"slope": slope, "exclusive": exclusive}
        return State(values, arrays)

    def restore(self, state: State) -> None:
        """Take all of it over."""
        values, arrays, _ = state
        self._restore_inputs(state)
        self.ridge_, self.coef_, self.intercept_ = values["ridge"], arrays["coef"], arrays["intercept"]
        self.directions_, self.n_bits_ = arrays["directions"], len(arrays["directions"])
        self.posteriors_ = None
        if (fitted := values["posteriors"]) is not None:
            self.posteriors_ = Posteriors(fitted["slope"], arrays["offset"], fitted["exclusive"])

    def scores(self, X: Matrix, n_bits: int) -> Vector:
        """Return the margins of the first `n_bits` bits."""
        if self.posteriors_ is None:
            return self._outputs(X, n_bits)
        directions = self.directions_[:n_bits]
        return self.posteriors_(self.label_scores(X)) @ directions[:, :-1].T + directions[:, -1]

    def label_scores(self, X: Matrix) -> Vector:
        """Return the regression scores of the labels, +1 or -1, less their mean; shape (n, n_labels)."""
        return self._outputs(X, len(self.coef_))

    def _outputs(self, X: Matrix, n_outputs: int) -> Vector:
        coef, intercept = self.coef_[:n_outputs].T, self.intercept_[:n_outputs]
        outputs = np.empty((len(X), n_outputs))
        for rows, block in map_blocks(
            lambda rows: self._inputs(X[rows]).astype(np.float64, copy=False) @ coef, len(X), ENCODE_BLOCK
        ):
            outputs[rows] = block + intercept
        return outputs


class _Features:
    """phi at the training points, computed in blocks.

    Attributes
    ----------
    mean : ndarray of shape (m,)
    gram : ndarray of shape (m, m)
        The centred Gram matrix.
    moments : ndarray of shape (m, n_labels)
        Sums over points of features times centred labels; without labels there are none.
    kept : ndarray of shape (n, m) or None
        The features, where there are no labels; with labels few are needed again, and computed again.
    """

    def __init__(self, inputs: Any, root: Matrix | None, X: Matrix, n_features: int, labels: Labels | None) -> None:
        self.inputs, self.X, self.n, self.m = inputs, X, len(X), n_features
        self.root = None if root is None else _Solver(root, X.dtype)
        self.kept = np.empty((self.n, self.m), X.dtype) if labels is None else None
        self.gram, self.mean = np.zeros((self.m, self.m), order="F"), np.zeros(self.m)
        self.moments = np.zeros((self.m, 0 if labels is None else labels.shape[1]))
        self._sum_up(labels)

    def _sum_up(self, labels: Labels | None) -> None:
        centred_labels = np.empty((self.n, 0), self.X.dtype)
        if labels is not None:
            centred_labels = labels - labels.mean(axis=0).astype(self.X.dtype)

        def sums_of(rows: slice) -> tuple[Matrix, Vector, Matrix]:
            block = self.compute(self.X[rows])
            if self.kept is not None:
                self.kept[rows] = block
            sums = block.sum(axis=0, dtype=np.float64)
            return block.T @ block, sums, block.T @ centred_labels[rows]

        for _, (gram, sums, moments) in map_blocks(sums_of, self.n, FIT_BLOCK):
            self.gram += gram
            self.mean += sums / self.n
            self.moments += moments
        self.gram -= self.n * np.outer(self.mean, self.mean)

    def compute(self, points: Matrix) -> Matrix:
        """Return phi of some points."""
        values = self.inputs(points)
        return values if self.root is None else self.root.solve(values)

    def factor(self, ridge: float) -> Matrix:
        """Return U of all features."""
        penalised = self.gram.copy(order="F")
        penalised[np.diag_indices(self.m)] += ridge * self.n
        return cholesky(penalised, overwrite_a=True, check_finite=False)

    def whitened(self, upper: Matrix) -> Matrix:
        """Return psi at all points, in the place of the features that were kept."""
        assert self.kept is not None
        basis, solver, mean = self.kept, _Solver(upper, self.X.dtype), self.mean.astype(self.X.dtype)

        def whiten(rows: slice) -> None:
            basis[rows] = solver.solve(basis[rows] - mean)

        for _ in map_blocks(whiten, self.n):
            pass
        return basis

    def best_ridge(self, labels: Labels) -> float:
        """Return the ridge of least squared leave-one-out error, by the first features and some points."""
        n = self.n
        m = min(self.m, RIDGE_FEATURES, max(MIN_RIDGE_FEATURES, n // 2))
        rows = np.linspace(0, n - 1, min(n, RIDGE_POINTS)).astype(np.int64)
        points = self.compute(self.X[rows])[:, :m] - self.mean[:m]
        centred_labels = labels[rows] - labels.mean(axis=0)
        errors = []
        for ridge in RIDGES:  # all of them above the rounding of single precision
            upper = cholesky(self.gram[:m, :m] + ridge * n * np.eye(m))
            psi = solve_triangular(upper, points.T, trans=1).T
            fitted = psi @ solve_triangular(upper, self.moments[:m], trans=1)
            leverage = (psi**2).sum(axis=1) + 1 / n
            errors.append(float(((centred_labels - fitted) ** 2).sum(axis=1) @ (1 - leverage) ** -2.0))
        return RIDGES[int(np.argmin(errors))]

    def leave_one_out(self, upper: Matrix, along_psi: Matrix, labels: Labels, rows: Rows) -> Matrix:
        """Return the label scores at some training points, each as if fitted without its point."""
        n, dtype = self.n, self.X.dtype
        label_mean, mean = labels.mean(axis=0).astype(dtype), self.mean.astype(dtype)
        solver, along_psi = _Solver(upper, dtype), along_psi.astype(dtype)
        rounding = np.finfo(dtype).eps

        def scores_of(block: slice) -> Matrix:
            chosen = rows[block]
            psi = solver.solve(self.compute(self.X[chosen]) - mean)
            unexplained = 1 - 1 / n - (psi**2).sum(axis=1, keepdims=True)
            is_known = unexplained > 1000 * rounding  # else a point explains itself, and the rest is rounding
            centred = labels[chosen] - label_mean
            scores = centred - (centred - psi @ along_psi) / np.where(is_known, unexplained, 1)
            scores += centred / (n - 1)  # less the mean without the point: the mean with it would tell its label
            return np.where(is_known & (np.abs(scores) > 100 * rounding), scores, 0)  # and so would its rounding

        scores = np.empty((len(rows), labels.shape[1]), dtype)
        for block, values in map_blocks(scores_of, len(rows)):
            scores[block] = values
        return scores


class _Solver:
    """Rows times the inverse of an upper triangular matrix, panel by panel, by products alone.

    BLAS has a routine for it, but scipy calls it with Python's lock held: blocks in other threads would have to wait.
    """

    def __init__(self, upper: Matrix, dtype: Any) -> None:
        self.upper = upper.astype(dtype, order="C")
        self.panels = [slice(start, min(start + PANEL, len(upper))) for start in range(0, len(upper), PANEL)]
        self.inverses = [solve_triangular(upper[p, p], np.eye(p.stop - p.start)).astype(dtype) for p in self.panels]

    def solve(self, rows: Matrix) -> Matrix:
        """Return rows U^-1, in the place of the rows."""
        for panel, inverse in zip(self.panels, self.inverses, strict=True):
            known = slice(0, panel.start)
            rows[:, panel] = (rows[:, panel] - rows[:, known] @ self.upper[known, panel]) @ inverse
        return rows


def _normal_equations(centred: Matrix) -> Any:
    """Return the Cholesky factor of the regression on a few functions, less their mean."""
    gram = centred.T @ centred
    r = len(gram)
    return cho_factor(gram + (1e-6 * np.trace(gram) / r + 1e-9 * len(centred)) * np.eye(r))


def _along(basis: Matrix, direction: Vector) -> Vector:
    """Margins of a bit given in the basis, its offset last."""
    coefficients = direction[:-1].astype(basis.dtype)
    if basis.shape[1] < FEW:
        return (basis @ coefficients).astype(np.float64) + direction[-1]
    margins = np.empty(len(basis))
    for rows, product in map_blocks(lambda rows: basis[rows] @ coefficients, len(basis)):
        margins[rows] = product
    return margins + direction[-1]


def _moments(basis: Matrix, values: Matrix) -> Vector:
    """Return the sums of the basis functions times a value over the points."""
    values = values.astype(basis.dtype)
    if basis.shape[1] < FEW:
        return (values @ basis).astype(np.float64)
    moments = np.zeros(basis.shape[1])
    for _, product in map_blocks(lambda rows: values[rows] @ basis[rows], len(basis)):
        moments += product
    return moments
