"""A linear map of samples, learned from class labels, for codes of classes that are not in `fit`.

A code that is learned to tell the known classes apart says little about new ones. What carries over is which directions
vary within a class and which between classes:

1. A: principal axes of the samples, at most `MAX_AXES`; all that follows is computed in these coordinates,
2. W, B: the covariances within and between the known classes, C = W + B that of all samples,
3. canonical directions v_k with B v_k = lambda_k C v_k, V'CV = I: lambda_k is the share of the variance along v_k that
   lies between classes, above 0 for at most n_classes - 1 of them,
4. amplification F = V diag(tau r + (1 - tau) lambda)^(1/2) V^(-1), r = trace(B) / trace(C): directions in which the
   known classes differ become longer; tau is the weight of the assumption that new classes differ in all directions,
5. whitening K = ((1 - s) W + s w I)^(-1/2), w the mean variance within classes: directions in which samples of one
   class vary become shorter; s is the shrinkage,
6. the mapped sample is A'(x - mean), times F, times K, scaled to unit length.

The strength, a pair (s, tau), is chosen by leaving classes out: a map learned from the other classes is measured by the
average precision of cosine distances between pairs of samples of the left-out classes. The weakest strength whose mean
is within one standard error of the best is taken; the weakest of all is to leave the samples as they are.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from proxcode.hashing.base import Matrix, Vector
from proxcode.utils.blocks import map_blocks, one_blas_thread

Integers = NDArray[np.int64]


class Strength(NamedTuple):
    """How far a map departs from the geometry of the samples; (1, 1) is not to depart at all."""

    shrinkage: float
    tau: float


PLAIN = Strength(1.0, 1.0)
# Candidates, from the weakest to the strongest.
STRENGTHS = (PLAIN, Strength(0.9, 0.7), Strength(0.9, 0.5), Strength(0.5, 0.5), Strength(0.2, 0.5))
# Largest number of principal axes.
MAX_AXES = 256
# Numbers of random samples that the principal axes, and the covariances, are computed from.
AXIS_SAMPLES = 2000
COVARIANCE_SAMPLES = 20_000
# Number of times that classes are left out, share of the classes, and number of their samples that are compared.
N_ROUNDS = 8
LEFT_OUT = 0.3
PAIRED_SAMPLES = 600
# Fewest classes of two samples or more for a choice: two to learn from and two that are left out.
FEWEST_CLASSES = 4
# Variance added to all directions before canonical directions are computed, relative to the mean variance.
RIDGE = 1e-3


class ClassMap(NamedTuple):
    """A map of samples, and how it was chosen.

    Attributes
    ----------
    mean : ndarray of shape (d,) or None
        Mean of the samples; None: mapped samples are the samples themselves.
    directions : ndarray of shape (d, n_axes) or None
        A F K in one matrix.
    strength : Strength
    scores : ndarray of shape (n_rounds, n_strengths)
        Average precision on pairs of left-out classes for each candidate of `STRENGTHS`; no rows if there are too few
        classes to leave some out.
    """

    mean: Vector | None
    directions: Matrix | None
    strength: Strength
    scores: Matrix

    @property
    def is_plain(self) -> bool:
        """Whether samples are left as they are."""
        return self.directions is None

    def __call__(self, X: Matrix) -> Matrix:
        """Return the mapped samples, shape (n, n_axes), rows of unit length; X itself if the map is plain."""
        if self.mean is None or self.directions is None:
            return X
        return _unit_rows(_project(X, self.mean, self.directions))


class _Covariances(NamedTuple):
    """Eigenvectors and eigenvalues that maps of all strengths are made of."""

    within_axes: Matrix
    within: Vector
    canonical: Matrix
    inverse: Matrix
    shares: Vector
    mean_share: float


def fit_class_map(X: Matrix, classes: NDArray[Any], rng: np.random.Generator) -> ClassMap:
    """Learn a map of samples from their classes, for codes of classes that come later.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    classes : ndarray of shape (n,)
        Class of each sample.
    rng : numpy.random.Generator
        Draws the samples that the map is learned from, and the classes that are left out.

    Returns
    -------
    ClassMap
        A plain map, which returns samples as they are, where labels do not help left-out classes, and where fewer than
        `FEWEST_CLASSES` classes have two samples or more, so that this cannot be measured.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> class_map = fit_class_map(X[y < 7], y[y < 7], np.random.default_rng(0))
    >>> class_map.scores.shape, class_map(X[y >= 7]).shape
    ((8, 5), (533, 64))
    """
    with one_blas_thread:
        rows = _subset(len(X), COVARIANCE_SAMPLES, rng)
        numbers = np.unique(np.asarray(classes)[rows], return_inverse=True)[1]
        mean, axes = _principal_axes(X, _subset(len(X), AXIS_SAMPLES, rng))
        # Rounding errors are those of double precision from here on; the coordinates are few.
        Z = _project(X[rows], mean, axes).astype(np.float64)
        scores = _left_out_scores(Z, numbers, rng)
        strength = choose_strength(scores)
        if strength == PLAIN:
            return ClassMap(None, None, PLAIN, scores)
        matrix = _map_matrix(_covariances(Z, numbers), strength)
        return ClassMap(mean, (axes @ matrix).astype(X.dtype), strength, scores)


def choose_strength(scores: Matrix) -> Strength:
    """Return the weakest strength whose mean score is within one standard error of the best.

    The standard error is that of the difference to the best, round by round.
    """
    if len(scores) < 2:
        return PLAIN
    behind = scores[:, [scores.mean(axis=0).argmax()]] - scores
    error = behind.std(axis=0, ddof=1) / np.sqrt(len(scores))
    return STRENGTHS[int(np.flatnonzero(behind.mean(axis=0) <= error)[0])]


def _left_out_scores(Z: Matrix, classes: Integers, rng: np.random.Generator) -> Matrix:
    """Return the average precision on pairs of left-out classes, a row for each round, a column for each strength."""
    candidates = np.flatnonzero(np.bincount(classes) >= 2)
    if len(candidates) < FEWEST_CLASSES:
        return np.zeros((0, len(STRENGTHS)))
    n_left_out = max(2, round(LEFT_OUT * len(candidates)))
    scores = np.zeros((N_ROUNDS, len(STRENGTHS)))
    for k in range(N_ROUNDS):
        left_out = rng.permutation(candidates)[:n_left_out]
        is_left_out = np.isin(classes, left_out)
        learned = _covariances(Z[~is_left_out], np.unique(classes[~is_left_out], return_inverse=True)[1])
        mean = Z[~is_left_out].mean(axis=0)
        compared = _samples_of(left_out, classes, rng)
        for i, strength in enumerate(STRENGTHS):
            mapped = _unit_rows((Z[compared] - mean) @ _map_matrix(learned, strength))
            scores[k, i] = _average_precision(mapped, classes[compared])
    return scores


def _samples_of(left_out: Integers, classes: Integers, rng: np.random.Generator) -> Integers:
    """Return at most `PAIRED_SAMPLES` random samples of left-out classes, among them samples of equal class."""
    # With fewer classes than samples, some samples share their class even where classes are small.
    chosen = left_out[: PAIRED_SAMPLES // 5]
    return rng.permutation(np.flatnonzero(np.isin(classes, chosen)))[:PAIRED_SAMPLES]


def _average_precision(mapped: Matrix, classes: Integers) -> float:
    """Return the average precision of pairs ranked by their cosine: the mean precision at each near pair."""
    first, second = np.triu_indices(len(mapped), 1)
    cosine = (mapped @ mapped.T)[first, second]
    is_near = (classes[first] == classes[second])[np.argsort(-cosine, kind="stable")]
    places = np.flatnonzero(is_near) + 1
    return float((np.arange(1, len(places) + 1) / places).mean())


def _covariances(Z: Matrix, classes: Integers) -> _Covariances:
    """Decompose the covariances within and between classes 0, 1, ... of samples."""
    n, q = Z.shape
    sizes = np.bincount(classes)
    order = np.argsort(classes, kind="stable")
    means = np.add.reduceat(Z[order], np.cumsum(sizes) - sizes, axis=0) / sizes[:, None]
    deviations = Z - means[classes]
    W = deviations.T @ deviations / n
    shifted = (means - Z.mean(axis=0)) * np.sqrt(sizes / n)[:, None]
    B = shifted.T @ shifted
    variance = float(np.trace(W + B)) or 1.0
    C = W + B + RIDGE * variance / q * np.eye(q)
    within, within_axes = eigh(W)
    shares, canonical = eigh(B, C)
    return _Covariances(
        within_axes=within_axes,
        within=np.maximum(within, 0),
        canonical=canonical,
        inverse=canonical.T @ C,
        shares=np.maximum(shares, 0),
        mean_share=float(np.trace(B)) / variance,
    )


def _map_matrix(learned: _Covariances, strength: Strength) -> Matrix:
    """Return F K, shape (n_axes, n_axes), for samples in rows; the identity if the strength is plain."""
    s, tau = strength
    gain = np.sqrt(tau * learned.mean_share + (1 - tau) * learned.shares)
    spread = (1 - s) * learned.within + s * learned.within.mean()
    if strength == PLAIN or not gain.all() or not spread.all():
        return np.eye(len(gain))
    amplification = (learned.canonical * gain) @ learned.inverse
    return amplification @ (learned.within_axes / np.sqrt(spread)) @ learned.within_axes.T


def _principal_axes(X: Matrix, rows: Integers) -> tuple[Vector, Matrix]:
    """Return the mean of some samples, and their axes of largest variance in columns, at most `MAX_AXES`."""
    sample = X[rows].astype(np.float64)
    mean = sample.mean(axis=0)
    sample -= mean
    n, d = sample.shape
    # Eigenvectors of the smaller of the two matrices of products.
    products = sample.T @ sample if d <= n else sample @ sample.T
    size = len(products)
    values, vectors = eigh(products, subset_by_index=(max(size - MAX_AXES, 0), size - 1))
    kept = values > max(values[-1], 0) * size * np.finfo(X.dtype).eps
    kept[-1] = True
    axes = vectors[:, kept][:, ::-1] if d <= n else sample.T @ vectors[:, kept][:, ::-1]
    lengths = np.linalg.norm(axes, axis=0)
    return mean.astype(X.dtype), (axes / np.where(lengths > 0, lengths, 1)).astype(X.dtype)


def _project(X: Matrix, mean: Vector, directions: Matrix) -> Matrix:
    """Return (X - mean) @ directions in the precision of the directions."""
    out = np.empty((len(X), directions.shape[1]), directions.dtype)
    for rows, block in map_blocks(lambda rows: (X[rows] - mean) @ directions, len(X)):
        out[rows] = block
    return out


def _unit_rows(Z: Matrix) -> Matrix:
    length = np.sqrt(np.einsum("ij,ij->i", Z, Z))
    return Z / np.where(length > 0, length, 1)[:, None]


def _subset(n: int, size: int, rng: np.random.Generator) -> Integers:
    return np.sort(rng.permutation(n)[:size])
