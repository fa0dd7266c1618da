"""From label scores to posteriors: the probable labels of a sample."""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, softmax

from proxcode.hashing.base import Matrix, Vector
from proxcode.hashing.features import SignedLabels
from proxcode.utils.rows import evenly_spaced

# Samples that the slope and the offsets are fitted to; more do not change them.
FIT_SAMPLES = 20_000
# Factor on the fitted logits.
SOFTENING = 0.25


class Posteriors(NamedTuple):
    """Softmax of slope * scores + offset where each sample has one label, else the sigmoid of each.

    Attributes
    ----------
    slope : float, or ndarray of shape (n_labels,)
        One for all labels, or one for each where samples are weighted.
    offset : ndarray of shape (n_labels,)
    exclusive : bool
        Whether each sample has exactly one label.
    """

    slope: float | Vector
    offset: Vector
    exclusive: bool

    def __call__(self, scores: Matrix) -> Matrix:
        """Return the posteriors, scaled so that certain ones have a standard deviation near 1."""
        n_labels = scores.shape[1]
        logits = scores * np.asarray(self.slope, scores.dtype) + self.offset.astype(scores.dtype)
        if not self.exclusive:
            return expit(logits) * scores.dtype.type(2.0)
        return softmax(logits, axis=1) * scores.dtype.type(np.sqrt(n_labels))

    def probabilities(self, scores: Matrix) -> Matrix:
        """Return the posteriors as they were fitted, not softened, scaled to a sum of 1 for each sample."""
        logits = (scores * self.slope + self.offset) / SOFTENING
        shares = softmax(logits, axis=1) if self.exclusive else expit(logits)
        return shares / np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(float).tiny)


class Unchanged(NamedTuple):
    """In place of posteriors where bits are directions among the scores themselves."""

    def __call__(self, scores: Matrix) -> Matrix:
        """Return the scores."""
        return scores


def fit_posteriors(scores: Matrix, labels: SignedLabels, weights: Vector | None = None) -> Posteriors:
    """Fit slope and offsets by maximum likelihood, and soften them.

    Weights of samples, which have one label each, are those of their likelihoods; scores are then divided by their
    standard deviations, since those of a rare label are small.

    Labels are smoothed by one sample of each kind, as Platt does. The fitted posteriors are calibrated but make poor
    bits: a misclassified sample gets the whole code of another class. Softened posteriors leave its code between the
    two.
    """
    chosen = evenly_spaced(len(scores), FIT_SAMPLES)
    n = len(chosen)
    scores, owned = scores[chosen].astype(np.float64), labels[chosen] > 0
    exclusive = bool((owned.sum(axis=1) == 1).all())
    n_kinds = labels.shape[1] if exclusive else 2
    target = (n * owned + 1.0) / (n + n_kinds)
    units: float | Vector = 1.0
    if weights is not None:
        units = np.maximum(scores.std(axis=0), np.finfo(np.float32).eps)
        scores, share = scores / units, weights[chosen] / weights[chosen].sum()
    spread = float(scores.std())
    if spread < np.finfo(np.float32).eps:  # the scores show nothing of the labels
        return Posteriors(1.0, np.zeros(labels.shape[1]), exclusive)

    def loss_and_slope(parameters: Vector) -> tuple[float, Vector]:
        logits = scores * parameters[0] + parameters[1:]
        if exclusive:
            top = logits.max(axis=1, keepdims=True)
            log_sum = top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))
            error = np.exp(logits - log_sum[:, None]) - target
            if weights is not None:
                error *= share[:, None]
                loss = float(share @ (log_sum - (target * logits).sum(axis=1)))
                return loss, np.append((error * scores).sum(), error.sum(axis=0))
            loss = float(log_sum.mean() - (target * logits).sum() / n)
        else:
            loss = float((np.logaddexp(0, logits) - target * logits).sum() / n)
            error = expit(logits) - target
        return loss, np.append((error * scores).sum(), error.sum(axis=0)) / n

    start: Any = np.append(1 / spread, np.zeros(scores.shape[1]))
    bounds = [(0.1 / spread, 1000 / spread), *[(-50.0, 50.0)] * scores.shape[1]]
    fitted = minimize(loss_and_slope, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return Posteriors(SOFTENING * float(fitted[0]) / units, SOFTENING * fitted[1:], exclusive)
