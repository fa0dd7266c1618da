"""Updates of a ridge hash function: it learns from further samples, and codes that are stored stay valid.

1. Known samples are told from further ones by their digests. Further samples are added to the sums of the regression;
   samples whose labels have changed are moved in them (`memory.py`).
2. The regression of the labels, with a score for each new class, and the posteriors of the classes are those of all
   samples so far.
3. The bits b_k are directions among the posteriors, and these have changed. Each bit is fitted again, by least squares:
   at the exemplars to the margins that it had before, at samples of a new class to the bit of the code that the class
   shall have (`bits/new_classes.py`).

Bits of samples of old classes change only where their margins are small.
"""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from proxcode.cut.result import signs_of
from proxcode.hashing.base import HashFunction, Labels, Matrix, Vector
from proxcode.hashing.features import (
    FeatureMap,
    Features,
    Regression,
    SignedLabels,
    TriangularSolver,
    along_inputs,
    factor_of,
    leave_one_out,
)
from proxcode.hashing.memory import Memory, choose_exemplars, further_exemplars, remember, row_digests
from proxcode.hashing.posteriors import Posteriors, Unchanged, fit_posteriors
from proxcode.hashing.training import LabelTraining
from proxcode.utils.blocks import one_blas_thread
from proxcode.utils.rows import Index, Rows
from proxcode.utils.samples import Samples, select

# Largest number of labels for which bits are directions among posteriors of labels.
MAX_LABELS = 1024
# Largest number of features of which the sums that an update needs are kept by default: 16 MB in a file.
MAX_REMEMBERED = 2000
# Penalty of a bit that is fitted again, relative to the mean square of its functions.
REFIT_RIDGE = 1e-6


class UpdatableHash(HashFunction):
    """What hash functions on ridge regressions need to learn from further samples.

    Attributes
    ----------
    memory_ : Memory or None
        What an update needs of the training samples.
    """

    updatable: bool | None = None
    memory_: Memory | None = None
    ridge_: float
    coef_: Matrix
    intercept_: Vector
    directions_: Matrix
    posteriors_: Posteriors | Unchanged | None
    label_codes_: Vector | None

    @abstractmethod
    def _inputs(self, X: Matrix) -> Matrix:
        """Return f(x) for each row, a new array in C order."""

    @abstractmethod
    def _input_root(self) -> Matrix | None:
        """Return R, upper triangular; None is the identity."""

    def remember(self, features: Features, labels: SignedLabels, rows: Index, values: Matrix) -> None:
        """Keep what an update needs, unless it is too large or samples have several labels."""
        if self.updatable is None:
            is_kept = features.m <= MAX_REMEMBERED
        elif isinstance(self.updatable, bool | np.bool_):
            is_kept = bool(self.updatable)
        else:
            raise TypeError(f"updatable={self.updatable!r}: expected True, False or None.")
        if is_kept and ((labels > 0).sum(axis=1) == 1).all():
            sums = {"gram": features.gram, "mean": features.mean, "moments": features.moments}
            classes, n_classes = labels.argmax(axis=1), labels.shape[1]
            self.memory_ = remember(features.X, classes, n_classes, **sums, rows=rows, values=values)

    def feature_map(self, dtype: Any) -> tuple[FeatureMap, Matrix | None]:
        """Return what computes the features of samples, and R."""
        root = self._input_root()
        return FeatureMap(self._inputs, None if root is None else TriangularSolver(root, dtype)), root

    def begin_update(self, X: Matrix | Samples, classes: Index, n_classes: int) -> RidgeUpdate | None:
        """Begin to learn from further samples, or from other labels of known ones; None where nothing is new.

        Parameters
        ----------
        X : ndarray or Samples of shape (n, n_features)
        classes : ndarray of int, shape (n,)
            Numbers of labels, as in `begin`; further numbers are new labels.
        n_classes : int
            Number of labels after the update.
        """
        if self.memory_ is None:
            raise ValueError(self._why_not_updatable())
        if n_classes > MAX_LABELS or 2 * n_classes > len(self.memory_.mean):
            most = min(MAX_LABELS, len(self.memory_.mean) // 2)
            raise ValueError(f"y brings the number of classes to {n_classes}, above {most}: fit a new model.")
        return begin_update(self, X, classes, n_classes)

    def for_other_samples(self) -> Self:
        """Return a copy that learns further bits from any samples in its memory, not from those of its fit alone."""
        other = copy(self)
        if self.memory_ is not None:
            other.memory_ = replace(self.memory_, is_updated=True)
        return other

    def _why_not_updatable(self) -> str:
        name = type(self).__name__
        if not isinstance(self.posteriors_, Posteriors):
            return f"this model cannot be updated: its {name} did not learn from one label per sample; fit a new model."
        return f"this model keeps no sums to be updated: fit it again with hash_function={name}(updatable=True)."

    def begin_updated(self, X: Matrix | Samples, labels: Labels, rows: Rows) -> LabelTraining:
        """Return a training on samples that are all in the memory, for further bits after an update."""
        memory: Memory = self.memory_  # type: ignore[assignment]
        chosen = np.arange(len(X))[rows]
        with one_blas_thread:
            compute, _ = self.feature_map(X.dtype)
            regression = regression_of(memory, self.ridge_)
            signed = np.full((len(chosen), memory.n_classes), -1, np.int8)
            signed[:, : labels.shape[1]] = signed_labels(labels[chosen])
            samples = np.asarray(select(X, chosen)[:])
            scores = leave_one_out(compute, regression, samples, signed - memory.label_mean.astype(X.dtype))
            training = LabelTraining(self.directions_, self.posteriors_(scores), signed)  # type: ignore[misc]
        training.refine_steps = self.n_refine_steps(labels)
        return training


@dataclass
class RidgeUpdate:
    """An update of which the codes of new classes are still to be found.

    Attributes
    ----------
    n_known_classes : int
        Number of classes before the update.
    classes : ndarray of int, shape (n,)
        Classes of the exemplars that bits are fitted to again: those from before the update, then those of new classes.
    margins : ndarray of shape (n_before, n_bits)
        Margins that the exemplars had before the update.
    n_added, n_relabelled, n_repeated : int
        Numbers of samples that are new, that have another label than before, and that tell nothing new.
    """

    n_known_classes: int
    classes: Index
    margins: Vector
    n_added: int
    n_relabelled: int
    n_repeated: int
    _before: UpdatableHash
    _memory: Memory
    _coef: Matrix
    _intercept: Vector
    _posteriors: Posteriors
    _values: Matrix

    def finish(self, codewords: Matrix) -> UpdatableHash:
        """Return the updated hash function; the one before is not changed.

        Parameters
        ----------
        codewords : ndarray of shape (n_new_classes, n_bits)
            Codes of -1 and +1 that the new classes shall have.
        """
        is_new = self.classes >= self.n_known_classes
        units = np.abs(self.margins).mean(axis=0)
        targets = np.vstack([self.margins, codewords[self.classes[is_new] - self.n_known_classes] * units])
        counts = np.bincount(self.classes, minlength=self._memory.n_classes)
        # Classes count by the numbers of their samples, not of their exemplars.
        weights = (self._memory.class_counts / np.maximum(counts, 1))[self.classes]
        after = copy(self._before)
        with one_blas_thread:
            after.directions_ = _fitted_directions(self._values, targets, weights)
        after.coef_, after.intercept_, after.posteriors_ = self._coef, self._intercept, self._posteriors
        margins = self._values[is_new] @ after.directions_[:, :-1].T + after.directions_[:, -1]
        if after.label_codes_ is not None:
            new_codes = [
                signs_of(margins[self.classes[is_new] == label]).mean(axis=0)
                for label in range(self.n_known_classes, self._memory.n_classes)
            ]
            after.label_codes_ = np.vstack([after.label_codes_, *new_codes])
        after.memory_ = _thinned(self._memory)
        return after


def begin_update(before: UpdatableHash, X: Matrix | Samples, classes: Index, n_classes: int) -> RidgeUpdate | None:
    """Add samples to the regression of a hash function; return None where nothing is new.

    Parameters
    ----------
    before : UpdatableHash
        With a memory; not changed.
    X : ndarray or Samples of shape (n, n_features)
        Samples in their units.
    classes : ndarray of int, shape (n,)
        Their classes, numbered as before the update; larger numbers are new classes.
    n_classes : int
        Number of classes after the update.
    """
    known: Memory = before.memory_  # type: ignore[assignment]
    digests = row_digests(X)
    seen = known.classes_of(digests)
    further = np.flatnonzero(seen < 0)
    # A sample that is named several times has its last label.
    _, last = np.unique(digests[::-1], return_index=True)
    changed = np.sort(len(digests) - 1 - last)
    changed = changed[(seen[changed] >= 0) & (seen[changed] != classes[changed])]
    if len(further) + len(changed) == 0:
        return None
    with one_blas_thread:
        compute, root = before.feature_map(X.dtype)
        memory = known.with_classes(n_classes)
        if len(changed):
            memory = memory.relabelled(select(X, changed), classes[changed], digests[changed], compute)
        if len(further):
            memory = memory.with_samples(select(X, further), classes[further], digests[further], compute)
        n_before = len(memory.exemplars)
        chosen = further[further_exemplars(classes[further], memory)]
        memory = replace(
            memory,
            exemplars=np.vstack([memory.exemplars, np.asarray(select(X, chosen)[:])]),
            exemplar_classes=np.append(memory.exemplar_classes, classes[chosen]),
            is_updated=True,
        )
        regression = regression_of(memory, before.ridge_)
        signed = np.full((len(memory.exemplars), n_classes), -1, np.int8)
        signed[np.arange(len(signed)), memory.exemplar_classes] = 1
        label_mean = memory.label_mean.astype(X.dtype)
        scores = leave_one_out(compute, regression, memory.exemplars, signed - label_mean)
        along_features = solve_triangular(regression.upper, regression.along_psi)
    weights = None
    if isinstance(before.posteriors_, Posteriors) and isinstance(before.posteriors_.slope, np.ndarray):
        weights = 1.0 / memory.class_counts[memory.exemplar_classes]
    posteriors = fit_posteriors(scores, signed, weights)
    values = posteriors(scores)
    margins = known.exemplar_values @ before.directions_[:, :-1].T + before.directions_[:, -1]
    is_new = memory.exemplar_classes >= known.n_classes
    # Exemplars from before the update keep their margins, but for those that now have the label of a new class.
    kept = np.flatnonzero(~is_new[:n_before])
    taught = np.append(kept, np.flatnonzero(is_new))
    return RidgeUpdate(
        n_known_classes=known.n_classes,
        classes=memory.exemplar_classes[taught],
        margins=margins[kept],
        n_added=len(further),
        n_relabelled=len(changed),
        n_repeated=len(X) - len(further) - len(changed),
        _before=before,
        _memory=replace(memory, exemplar_values=values),
        _coef=np.ascontiguousarray(along_inputs(root, along_features).T),
        _intercept=-regression.mean @ along_features,
        _posteriors=posteriors,
        _values=values[taught].astype(np.float64),
    )


def regression_of(memory: Memory, ridge: float) -> Regression:
    """Return the regression of the labels from the sums of a memory."""
    upper = factor_of(memory.gram, ridge, memory.n)
    return Regression(memory.n, memory.mean, upper, solve_triangular(upper, memory.moments, trans=1))


def _fitted_directions(values: Matrix, targets: Matrix, weights: Vector) -> Matrix:
    """Return directions and offsets of bits, fitted to margins by weighted least squares."""
    functions = np.hstack([values, np.ones((len(values), 1))])
    weighted = functions * (weights / weights.sum())[:, None]
    normal = weighted.T @ functions
    penalised = np.arange(len(normal) - 1)
    normal[penalised, penalised] += REFIT_RIDGE * np.trace(normal) / len(normal)
    directions: Matrix = cho_solve(cho_factor(normal), weighted.T @ targets).T
    return np.ascontiguousarray(directions)


def _thinned(memory: Memory) -> Memory:
    """Return a memory with no more exemplars than the sizes of its classes allow."""
    kept = choose_exemplars(memory.exemplar_classes, memory.class_counts)
    return replace(
        memory,
        exemplars=memory.exemplars[kept],
        exemplar_classes=memory.exemplar_classes[kept],
        exemplar_values=memory.exemplar_values[kept],
    )


def signed_labels(labels: Labels) -> SignedLabels:
    """Return labels as a dense matrix of +1 and -1."""
    signed = np.full(labels.shape, -1, np.int8)
    signed[(labels > 0).nonzero()] = 1
    return signed
