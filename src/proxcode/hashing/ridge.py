"""Ridge regression on features of the samples: one factorisation for all bits, one product per bit.

A bit fitted to a target b minimises

    sum_i (b_i - w'phi(x_i) - c)^2 + ridge n w'w

over the features phi (see `features.py`); `training.py` fits and refines bits.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from proxcode.hashing.agreement import Agreement
from proxcode.hashing.base import HashTraining, Labels, Matrix, NearPairs, Vector
from proxcode.hashing.features import Features, SignedLabels, along_inputs
from proxcode.hashing.memory import Memory
from proxcode.hashing.posteriors import Posteriors, Unchanged, fit_posteriors
from proxcode.hashing.training import FeatureTraining, LabelTraining, RidgeTraining
from proxcode.hashing.updatable import MAX_LABELS, UpdatableHash, signed_labels
from proxcode.storage.state import State
from proxcode.utils.blocks import map_blocks, one_blas_thread
from proxcode.utils.rows import ALL, Rows, evenly_spaced
from proxcode.utils.samples import select
from proxcode.utils.validation import check_integer, check_number

# Refinement steps with labels and without, after which more improve nothing on new samples.
LABEL_STEPS, STEPS = 15, 8
# The ridge without labels.
DEFAULT_RIDGE = 1e-5
# Limits of the ridge and of the refinement steps that may be asked for.
MAX_RIDGE, MAX_STEPS = 1e30, 1_000_000
# How a model file names `Unchanged`.
UNCHANGED = "unchanged"
# Bits whose coefficients are solved for at a time.
BIT_PANEL = 32
# Rows of a block while encoding: their inputs stay in the processor's cache.
ENCODE_BLOCK = 1024


class RidgeHash(UpdatableHash):
    """Bits as directions among functions fitted by ridge regression; a subclass defines the inputs.

    Without labels the functions are psi, and n x m numbers in the precision of X are kept while bits are learned. With
    labels they are the posteriors of the labels given their regression scores. Scores of training samples are
    leave-one-out, in closed form, so that bits are learned from what new samples will show: n x n_labels numbers.

    Attributes
    ----------
    ridge_ : float
    coef_ : ndarray of shape (n_outputs, m)
        Coefficients of the inputs; the outputs are the margins of the bits or, with labels, the label scores minus
        their mean.
    intercept_ : ndarray of shape (n_outputs,)
    posteriors_ : Posteriors, Unchanged or None
        What turns label scores into the functions that bits are directions of.
    directions_ : ndarray of shape (n_bits, r + 1)
        The bits as directions among these functions, their offsets last.
    label_codes_ : ndarray of shape (n_labels, n_bits) or None
        Mean code, of bits -1 and +1, of the training samples of each label, for float queries.
    memory_ : Memory or None
        What `update` needs of the training samples.
    """

    ridge: float | None
    refine_steps: int | None
    max_samples: int | None = None

    @abstractmethod
    def _choose_inputs(self, X: Matrix, rng: np.random.Generator, *, supervised: bool, kept: bool) -> None:
        """Fix the inputs, given whether labels or pairs say what matters, and whether n x m features will be kept."""

    def n_refine_steps(self, labels: Labels | None) -> int:
        """Return `refine_steps`, by default 15 with labels and 8 without."""
        if self.refine_steps is None:
            return STEPS if labels is None else LABEL_STEPS
        return check_integer("refine_steps", self.refine_steps, 0, MAX_STEPS)

    def begin(
        self, X: Matrix, rng: np.random.Generator, *, labels: Labels | None = None, rows: Rows = ALL
    ) -> RidgeTraining:
        """Compute the functions that bits will be directions of."""
        if self.memory_ is not None and self.memory_.is_updated:
            return self.begin_updated(X, labels, rows)
        X, labels, rows = self._limited(X, labels, rows)
        steps = self.n_refine_steps(labels)
        if labels is not None and (steps == 0 or labels.shape[1] > MAX_LABELS):
            labels = None
        is_new = not hasattr(self, "directions_")
        with one_blas_thread:
            if is_new:
                if self.ridge is not None:
                    check_number("ridge", self.ridge, above=0, below=MAX_RIDGE)
                self._choose_inputs(X, rng, supervised=labels is not None, kept=labels is None)
            n_features = self._inputs(X[:1]).shape[1]
            if labels is not None and not 0 < 2 * labels.shape[1] <= n_features:
                labels = None
            signed = None if labels is None else signed_labels(labels)
            n_functions = n_features if signed is None else signed.shape[1]
            if is_new:
                self.directions_, self.n_bits_ = np.empty((0, n_functions + 1)), 0
            elif self.directions_.shape[1] != n_functions + 1 or (signed is None) != (self.posteriors_ is None):
                raise ValueError("labels or `refine_steps` differ from those of the original fit; pass the same ones.")
            root = self._input_root()
            # The features of all samples, or of a subset computed again.
            keep = signed is None and isinstance(rows, slice)
            features = Features(self._inputs, root, X, n_features, signed, keep)
            training: RidgeTraining
            if signed is None:
                training = self._feature_training(features, rows, root, is_new)
            else:
                training = self._label_training(features, signed, rows, root, is_new, _weights_of(labels))
        training.refine_steps = steps
        return training

    def _limited(self, X: Matrix, labels: Labels | None, rows: Rows) -> tuple[Matrix, Labels | None, Rows]:
        """Return the samples that the regression is fitted to, with `rows` among them: all, unless there are more."""
        limit = None if self.max_samples is None else check_integer("max_samples", self.max_samples, 2)
        if limit is None or len(X) <= limit or isinstance(rows, slice):
            return X, labels, rows
        chosen = np.union1d(evenly_spaced(len(X), max(0, limit - len(rows))), rows)
        return select(X, chosen), None if labels is None else labels[chosen], np.searchsorted(chosen, rows)

    def begin_with_pairs(self, X: Matrix, rng: np.random.Generator, near: NearPairs) -> RidgeTraining:
        """Find the functions that near pairs agree on; bits will be directions of these."""
        steps = self.n_refine_steps(None)
        if steps == 0:
            return self.begin(X, rng)
        is_new = not hasattr(self, "directions_")
        with one_blas_thread:
            if is_new:
                if self.ridge is not None:
                    check_number("ridge", self.ridge, above=0, below=MAX_RIDGE)
                self._choose_inputs(X, rng, supervised=True, kept=True)
            root = self._input_root()
            features = Features(self._inputs, root, X, self._inputs(X[:1]).shape[1], None, keep=True)
            agreement = Agreement(features, near)
            if is_new:
                self.ridge_ = agreement.best_ridge() if self.ridge is None else float(self.ridge)
                along_features, values = agreement.functions(self.ridge_)
                self.coef_ = np.ascontiguousarray(along_inputs(root, along_features).T)
                self.intercept_ = -agreement.mean @ along_features
                self.posteriors_ = Unchanged()
                self.directions_, self.n_bits_ = np.empty((0, len(self.coef_) + 1)), 0
            elif not isinstance(self.posteriors_, Unchanged):
                raise ValueError("pairs or `refine_steps` differ from those of the original fit; pass the same ones.")
            else:
                # Not from `functions`: rounding may exchange functions that near pairs agree on alike.
                along_features = self.coef_.T if root is None else root @ self.coef_.T
                values = agreement.values(along_features, self.ridge_, np.arange(len(X)))
            training = LabelTraining(self.directions_, values)
        training.refine_steps = steps
        return training

    def _feature_training(self, features: Features, rows: Rows, root: Matrix | None, is_new: bool) -> FeatureTraining:
        """Return a training whose functions are psi."""
        self.ridge_ = DEFAULT_RIDGE if self.ridge is None else float(self.ridge)
        upper = features.factor(self.ridge_)
        if is_new:
            self.posteriors_ = None
            self.coef_, self.intercept_ = np.empty((0, features.m)), np.empty(0)
        basis = features.whitened(upper, rows)
        return FeatureTraining(self.directions_, basis, features.n / len(basis), upper, root, features.mean)

    def _label_training(
        self,
        features: Features,
        labels: SignedLabels,
        rows: Rows,
        root: Matrix | None,
        is_new: bool,
        weights: Vector | None,
    ) -> LabelTraining:
        """Return a training whose functions are posteriors of the labels, each as if fitted without its sample."""
        if is_new:
            self.ridge_ = features.best_ridge(labels) if self.ridge is None else float(self.ridge)
        upper = features.factor(self.ridge_)
        along_psi = solve_triangular(upper, features.moments, trans=1)
        along_features = solve_triangular(upper, along_psi)
        coef = along_inputs(root, along_features).T
        chosen = np.arange(features.n)[rows]
        scores = features.leave_one_out(upper, along_psi, labels, chosen)
        if is_new:
            self.coef_ = np.ascontiguousarray(coef)
            self.intercept_ = -features.mean @ along_features
            self.posteriors_ = fit_posteriors(scores, labels[chosen], *() if weights is None else (weights[chosen],))
        elif np.abs(coef - self.coef_).max() > 1e-3 * np.abs(self.coef_).max():
            raise ValueError("labels differ from those of the original fit; pass the same ones.")
        values = self.posteriors_(scores)  # type: ignore[misc]
        if is_new:
            self.remember(features, labels, chosen, values, root)
        return LabelTraining(self.directions_, values, labels[chosen])

    def finish(self, training: HashTraining, n_bits: int) -> None:
        """Keep the directions; without labels, turn them into coefficients of the inputs."""
        self.directions_ = np.vstack([self.directions_[:0], *training.bits[:n_bits]])
        self.n_bits_ = n_bits
        if isinstance(training, LabelTraining):
            self.label_codes_ = self._label_codes(training)
        if isinstance(training, FeatureTraining):
            with one_blas_thread:
                for start in range(len(self.coef_) // BIT_PANEL * BIT_PANEL, n_bits, BIT_PANEL):
                    self._append_coefficients(training, slice(start, min(start + BIT_PANEL, n_bits)))

    def _label_codes(self, training: LabelTraining) -> Vector | None:
        """Return the mean codes of labels; after an update those of the exemplars: samples may lack some labels."""
        if self.memory_ is not None and self.memory_.is_updated:
            return self.memory_.label_codes(self.directions_, self.label_codes_)
        return training.label_codes(self.directions_)

    def _append_coefficients(self, training: FeatureTraining, bits: slice) -> None:
        """Append the coefficients of those bits of a panel that have none yet.

        The last digits of a solution depend on the number of right-hand sides. A panel is filled up with zeros, so that
        a bit has the same digits whether it was learned in one fit or in several.
        """
        panel = np.zeros((BIT_PANEL, self.directions_.shape[1] - 1))
        panel[: bits.stop - bits.start] = self.directions_[bits, :-1]
        along_features = solve_triangular(training.upper, panel.T)
        new = slice(len(self.coef_) - bits.start, bits.stop - bits.start)
        coef = along_inputs(training.root, along_features).T[new]
        intercept = (-training.mean @ along_features)[new] + self.directions_[len(self.coef_) : bits.stop, -1]
        self.coef_ = np.ascontiguousarray(np.vstack([self.coef_, coef]))
        self.intercept_ = np.append(self.intercept_, intercept)

    @abstractmethod
    def _input_state(self) -> State:
        """Return what defines the inputs."""

    @abstractmethod
    def _restore_inputs(self, state: State) -> None:
        """Take over what defines the inputs."""

    def state(self) -> State:
        """Return the inputs, the regression, the posteriors of labels if there are any, and the directions."""
        inputs = self._input_state()
        values: dict[str, Any] = {**inputs.values, "ridge": self.ridge_, "posteriors": None}
        arrays = {**inputs.arrays, "coef": self.coef_, "intercept": self.intercept_, "directions": self.directions_}
        if self.label_codes_ is not None:
            arrays["label_codes"] = self.label_codes_
        if isinstance(self.posteriors_, Unchanged):
            values["posteriors"] = UNCHANGED
        elif self.posteriors_ is not None:
            slope, arrays["offset"], exclusive = self.posteriors_
            is_common = not isinstance(slope, np.ndarray)
            values["posteriors"] = {"slope": slope if is_common else None, "exclusive": exclusive}
            if not is_common:
                arrays["slope"] = np.asarray(slope)
        if self.memory_ is not None:
            memory = self.memory_.state()
            values, arrays = {**values, **memory.values}, {**arrays, **memory.arrays}
        return State(values, arrays)

    def restore(self, state: State) -> None:
        fitted = state.values["posteriors"]
        self._restore_inputs(state)
        self.ridge_ = state.number("ridge", at_least=0)
        # With posteriors the regression is one of labels, and bits are directions among these.
        n_outputs = "n_bits" if fitted is None else "n_labels"
        self.coef_ = state.array("coef", n_outputs, "n_inputs")
        self.intercept_ = state.array("intercept", n_outputs)
        self.directions_ = state.array(
            "directions", "n_bits", "n_directions" if fitted is None else len(self.coef_) + 1
        )
        self.n_bits_ = len(self.directions_)
        self.posteriors_ = self.label_codes_ = None
        if "label_codes" in state.arrays:
            self.label_codes_ = state.array("label_codes", "n_labels", "n_bits")
        if fitted == UNCHANGED:
            self.posteriors_ = Unchanged()
        elif fitted is not None:
            is_common = fitted["slope"] is not None
            slope = check_number("slope", fitted["slope"]) if is_common else state.array("slope", "n_labels")
            self.posteriors_ = Posteriors(slope, state.array("offset", "n_labels"), bool(fitted["exclusive"]))
        self.memory_ = None
        if "gram" in state.arrays:
            if not isinstance(self.posteriors_, Posteriors) or not self.posteriors_.exclusive:
                raise ValueError("its sums are of samples with one label, its posteriors are not; save the model again")
            self.memory_ = Memory.restored(state, len(self.coef_))

    def scores(self, X: Matrix, n_bits: int) -> Vector:
        if self.posteriors_ is None:
            return self._outputs(X, n_bits)
        directions = self.directions_[:n_bits]
        return self.posteriors_(self.label_scores(X)) @ directions[:, :-1].T + directions[:, -1]

    def query_weights(self, X: Matrix, n_bits: int) -> Vector:
        """Return the code to expect of a near sample: the mean codes of labels, weighted by their posteriors."""
        if self.label_codes_ is None or not isinstance(self.posteriors_, Posteriors):
            return super().query_weights(X, n_bits)
        return self.posteriors_.probabilities(self.label_scores(X)) @ self.label_codes_[:, :n_bits]

    def label_scores(self, X: Matrix) -> Vector:
        """Return the regression scores of the labels, +1 or -1, minus their mean; shape (n_samples, n_labels)."""
        return self._outputs(X, len(self.coef_))

    def _outputs(self, X: Matrix, n_outputs: int) -> Vector:
        coef, intercept = self.coef_[:n_outputs].T, self.intercept_[:n_outputs]
        outputs = np.empty((len(X), n_outputs))
        for rows, block in map_blocks(
            lambda rows: self._inputs(X[rows]).astype(np.float64, copy=False) @ coef, len(X), ENCODE_BLOCK
        ):
            outputs[rows] = block + intercept
        return outputs


def _weights_of(labels: Labels) -> Vector | None:
    """Return the weights of samples with one label each; None where all are 1."""
    return None if (labels.data == 1).all() else np.asarray(labels.sum(axis=1), np.float64)
