"""Base class of hash functions that can learn from further samples."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Self

import numpy as np

from proxcode.hashing.base import Labels, Matrix
from proxcode.hashing.features import Features, SignedLabels, leave_one_out
from proxcode.hashing.memory import Memory, remember
from proxcode.hashing.posteriors import Posteriors
from proxcode.hashing.training import LabelTraining
from proxcode.hashing.updating import RegressionHash, RidgeUpdate, begin_update, regression_of
from proxcode.utils.blocks import one_blas_thread
from proxcode.utils.rows import Index, Rows
from proxcode.utils.samples import Samples, select

# Largest number of labels for which bits are directions among posteriors of labels.
MAX_LABELS = 1024
# Largest number of features of which the sums that an update needs are kept by default: 16 MB in a file.
MAX_REMEMBERED = 2000


class UpdatableHash(RegressionHash):
    """What hash functions on ridge regressions need to learn from further samples."""

    updatable: bool | None = None

    def remember(
        self, features: Features, labels: SignedLabels, rows: Index, values: Matrix, root: Matrix | None
    ) -> None:
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
            self.memory_ = remember(features.X, classes, n_classes, **sums, rows=rows, values=values, root=root)

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
        if self.updatable:
            return "this model cannot be updated: samples differ in double precision alone; subtract their mean first."
        return (
            "this model does not keep the regression sums that update() needs: fit it again with "
            f"hash_function={name}(updatable=True); if they cannot be kept, its update() tells why."
        )

    def begin_updated(self, X: Matrix | Samples, labels: Labels, rows: Rows) -> LabelTraining:
        """Return a training on samples that are all in the memory, for further bits after an update."""
        if labels is None:
            raise ValueError("error_correction=False: expected True, as in the original fit.")
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


def signed_labels(labels: Labels) -> SignedLabels:
    """Return labels as a dense matrix of +1 and -1."""
    signed = np.full(labels.shape, -1, np.int8)
    signed[(labels > 0).nonzero()] = 1
    return signed
