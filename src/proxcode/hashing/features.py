"""Features of the training samples and sums over them, computed in blocks of rows.

Inputs f(x), kernel values or plain coordinates, give features phi(x) = R^-T f(x). With the centred features P and
U'U = P'P + ridge n, the functions psi(x) = U^-T (phi(x) - mean) make the normal equations of ridge regression the
identity, and sum_j psi_j(x_i)^2 + 1/n is the leverage of a sample: the share of its own value that it explains.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from proxcode.hashing.base import Matrix, Vector
from proxcode.utils.blocks import BLOCK, map_blocks
from proxcode.utils.rows import ALL, Index, Rows, evenly_spaced
from proxcode.utils.samples import InMemory, Samples, as_samples

SignedLabels = NDArray[np.int8]  # +1 or -1, shape (n_samples, n_labels)

# Values of the ridge to choose from by leave-one-out, all above the rounding of single precision.
RIDGES = (1e-3, 1e-4, 1e-5, 1e-6)
# Numbers of features (at least, at most) and of samples that this choice is made with.
MIN_RIDGE_FEATURES, RIDGE_FEATURES, RIDGE_SAMPLES = 200, 1500, 2000
# Rows of a block while fitting; each block adds a matrix of shape (m, m).
FIT_BLOCK = 8192
# Columns of a triangular system that are solved for at a time.
PANEL = 256


class Features:
    """Features phi at the training samples.

    Parameters
    ----------
    inputs : callable
        Gives f(x) for each row of a matrix.
    root : ndarray of shape (m, m) or None
        R, upper triangular; None is the identity.
    X : ndarray or Samples of shape (n, d)
    n_features : int
        m.
    labels : ndarray of int8, shape (n, n_labels), or None
        +1 or -1.
    keep : bool, default=False
        Whether the features of all samples are kept.

    Attributes
    ----------
    mean : ndarray of shape (m,)
    gram : ndarray of shape (m, m)
        The centred Gram matrix.
    moments : ndarray of shape (m, n_labels)
        Sums over samples of features times centred labels; no columns without labels.
    kept : ndarray of shape (n, m) or None
        The features, where they are kept; where few of them are needed again, they are recomputed.
    """

    def __init__(
        self,
        inputs: Callable[[Matrix], Matrix],
        root: Matrix | None,
        X: Matrix | Samples,
        n_features: int,
        labels: SignedLabels | None,
        keep: bool = False,
    ) -> None:
        # Where features are kept, which are more, samples may be.
        self.X = InMemory(X[ALL]) if keep else as_samples(X)
        self.n, self.m, self.dtype = len(X), n_features, X.dtype
        self.compute = FeatureMap(inputs, None if root is None else TriangularSolver(root, X.dtype))
        self.kept = np.empty((self.n, self.m), X.dtype) if keep else None
        sums = FeatureSums(self.compute, self.n, None if labels is None else labels.mean(axis=0).astype(X.dtype))
        along = () if labels is None else (labels,)
        if self.kept is None:
            self.gram, self.mean, self.moments = self.X.sum(sums, FIT_BLOCK, along)
        else:
            kept_sums = _Keeping(sums, self.kept)
            self.gram, self.mean, self.moments = self.X.sum(kept_sums, FIT_BLOCK, (np.arange(self.n), *along))
        self.gram -= self.n * np.outer(self.mean, self.mean)

    def kept_features(self) -> Matrix:
        """Return phi at all samples; the caller may overwrite it."""
        if self.kept is None:
            raise RuntimeError("the features were not kept")
        return self.kept

    def factor(self, ridge: float, m: int | None = None) -> Matrix:
        """Return U of the first m features, by default of all."""
        return factor_of(self.gram[:m, :m], ridge, self.n)

    def whitened(self, upper: Matrix, rows: Rows) -> Matrix:
        """Return psi at some samples; it overwrites features that are kept."""
        solver, mean = TriangularSolver(upper, self.dtype), self.mean.astype(self.dtype)
        if self.kept is None:
            samples = self.X[rows]
            basis = np.empty((len(samples), self.m), self.dtype)
            for block, features in map_blocks(lambda block: self.compute(samples[block]), len(samples)):
                basis[block] = features
        else:
            basis = self.kept[rows]

        def whiten(block: slice) -> None:
            basis[block] = solver.solve(basis[block] - mean)

        for _ in map_blocks(whiten, len(basis)):
            pass
        return basis

    def best_ridge(self, labels: SignedLabels) -> float:
        """Return the ridge of least squared leave-one-out error, from the first features and evenly spaced samples.

        A ridge that is lost in rounding is not chosen. Raises ValueError if all of them are lost.
        """
        n = self.n
        m = min(self.m, RIDGE_FEATURES, max(MIN_RIDGE_FEATURES, n // 2))
        rows = evenly_spaced(n, RIDGE_SAMPLES)
        features = self.compute(self.X[rows])[:, :m] - self.mean[:m]
        centred_labels = labels[rows] - labels.mean(axis=0)
        errors: list[float] = []
        for ridge in RIDGES:
            try:
                upper = self.factor(ridge, m)
            except ValueError:
                # RIDGES decrease: those that follow are lost too.
                if not errors:
                    raise
                break
            psi = solve_triangular(upper, features.T, trans=1).T
            fitted = psi @ solve_triangular(upper, self.moments[:m], trans=1)
            leverage = (psi**2).sum(axis=1) + 1 / n
            errors.append(float(((centred_labels - fitted) ** 2).sum(axis=1) @ (1 - leverage) ** -2.0))
        return RIDGES[int(np.argmin(errors))]

    def leave_one_out(self, upper: Matrix, along_psi: Matrix, labels: SignedLabels, rows: Index) -> Matrix:
        """Return the label scores of training samples `rows`, each as if fitted without that sample."""
        # At once: a file would be read again for each block.
        samples, label_mean = self.X[rows], labels.mean(axis=0).astype(self.dtype)
        regression = Regression(self.n, self.mean, upper, along_psi)
        return leave_one_out(self.compute, regression, samples, labels[rows] - label_mean)


class Regression(NamedTuple):
    """A ridge regression of labels: number of samples, mean of the features, U, and the coefficients of psi."""

    n: int
    mean: Vector
    upper: Matrix
    along_psi: Matrix


def factor_of(gram: Matrix, ridge: float, n: int) -> Matrix:
    """Return U of the centred Gram matrix of n samples."""
    # The Gram matrix is symmetric: its transpose is in the order of LAPACK.
    penalised = gram.T.copy(order="F")
    penalised[np.diag_indices(len(penalised))] += ridge * n
    try:
        return cholesky(penalised, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError as error:
        raise ValueError(f"ridge={ridge}: lost in rounding; set a larger ridge, or pass X in float64.") from error


def leave_one_out(
    compute: "FeatureMap", regression: Regression, samples: Matrix, centred_labels: Matrix, block: int = BLOCK
) -> Matrix:
    """Return the label scores of some of the samples of a regression, each as if fitted without that sample."""
    n, dtype = regression.n, samples.dtype
    mean, along_psi = regression.mean.astype(dtype), regression.along_psi.astype(dtype)
    solver = TriangularSolver(regression.upper, dtype)
    rounding = np.finfo(dtype).eps

    def scores_of(rows: slice) -> Matrix:
        psi = solver.solve(compute(samples[rows]) - mean)
        unexplained = 1 - 1 / n - (psi**2).sum(axis=1, keepdims=True)
        # A sample that explains itself entirely leaves nothing but rounding.
        is_known = unexplained > 1000 * rounding
        centred = centred_labels[rows]
        scores = centred - (centred - psi @ along_psi) / np.where(is_known, unexplained, 1)
        # Minus the mean of the other samples: the mean with the sample, and its rounding, would reveal its label.
        scores += centred / (n - 1)
        return np.where(is_known & (np.abs(scores) > 100 * rounding), scores, 0)

    scores = np.empty(centred_labels.shape, dtype)
    for rows, values in map_blocks(scores_of, len(samples), block):
        scores[rows] = values
    return scores


def along_inputs(root: Matrix | None, along_features: Matrix) -> Matrix:
    """Return coefficients of the inputs from those of the features."""
    return along_features if root is None else solve_triangular(root, along_features)


@dataclass(frozen=True)
class FeatureMap:
    """Gives phi(x) = R^-T f(x) for the rows of a matrix; what a worker needs to compute features."""

    inputs: Callable[[Matrix], Matrix]
    root: "TriangularSolver | None"

    def __call__(self, samples: Matrix) -> Matrix:
        """Return phi of samples."""
        values = self.inputs(samples)
        return values if self.root is None else self.root.solve(values)


@dataclass(frozen=True)
class FeatureSums:
    """Gives the sums of a block of samples: products of features, features over n, features times centred labels."""

    compute: FeatureMap
    n: int
    label_mean: Vector | None

    def __call__(self, samples: Matrix, labels: SignedLabels | None = None) -> tuple[Matrix, Vector, Matrix]:
        """Return the sums."""
        return self.of_features(self.compute(samples), labels)

    def of_features(self, block: Matrix, labels: SignedLabels | None) -> tuple[Matrix, Vector, Matrix]:
        """Return the sums of features."""
        centred_labels = np.empty((len(block), 0), block.dtype)
        if labels is not None and self.label_mean is not None:
            centred_labels = labels - self.label_mean
        return block.T @ block, block.sum(axis=0, dtype=np.float64) / self.n, block.T @ centred_labels


@dataclass(frozen=True)
class _Keeping:
    """Gives sums and keeps the features; for samples in memory alone."""

    sums: FeatureSums
    kept: Matrix

    def __call__(self, samples: Matrix, rows: Index, labels: SignedLabels | None = None) -> Any:
        features = self.sums.compute(samples)
        self.kept[rows[0] : rows[-1] + 1] = features
        return self.sums.of_features(features, labels)


class TriangularSolver:
    """Rows times the inverse of an upper triangular matrix, panel by panel, by matrix products alone.

    scipy calls the BLAS routine for it with Python's lock held: blocks in other threads would have to wait.
    """

    def __init__(self, upper: Matrix, dtype: Any) -> None:
        self.panels = [slice(start, min(start + PANEL, len(upper))) for start in range(0, len(upper), PANEL)]
        self.upper = np.zeros(upper.shape, dtype)
        # Tile by tile: a copy of the whole from columns into rows would miss the processor's caches.
        for k, panel in enumerate(self.panels):
            for known in self.panels[: k + 1]:
                self.upper[known, panel] = upper[known, panel]
        self.inverses = [solve_triangular(upper[p, p], np.eye(p.stop - p.start)).astype(dtype) for p in self.panels]

    def solve(self, rows: Matrix) -> Matrix:
        """Return rows U^-1; it overwrites `rows`."""
        for panel, inverse in zip(self.panels, self.inverses, strict=True):
            known = slice(0, panel.start)
            rows[:, panel] = (rows[:, panel] - rows[:, known] @ self.upper[known, panel]) @ inverse
        return rows
