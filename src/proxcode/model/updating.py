"""Updates and drift of fitted models: learning from further samples, and how these differ from those of the fit."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from proxcode.bits import MAX_BITS, Rules, new_class_codes
from proxcode.cut.result import signs_of
from proxcode.hashing import HashFunction
from proxcode.hashing.ridge import RidgeHash
from proxcode.model.drift import Drift, drift_of
from proxcode.model.learned import Learned, Update
from proxcode.model.saving import FilePath, SavingMixin
from proxcode.pairs import FoundPairs
from proxcode.proximity import Proximity, SameLabel
from proxcode.utils.labels import UNLABELLED
from proxcode.utils.progress import shows_progress
from proxcode.utils.samples import select
from proxcode.utils.validation import check_integer, check_samples, in_units


class UpdatingMixin(SavingMixin):
    """Further bits, and learning from further samples."""

    @abstractmethod
    def _resolve_components(self, y: Any) -> tuple[Proximity, HashFunction, Rules]:
        """Return the components of the method, defaults for those that are None and copies of those to be fitted."""

    @abstractmethod
    def _learn(
        self,
        learned: Learned,
        rules: Rules,
        X: NDArray[Any],
        find_pairs: Callable[[], FoundPairs],
        n_bits: int,
        loss_target: float,
        checkpoint: FilePath | None = None,
    ) -> None:
        """Learn bits and keep them, finished or interrupted."""

    @shows_progress
    def extend(self, n_bits: int, X: ArrayLike, y: Any = None) -> Self:
        """Learn further bits, up to `n_bits_ = n_bits`; those already learned are kept.

        With the data of `fit` the code equals that of a fit with `n_bits` bits from the start. Codes that are learned
        at once (`RotationHash`, `ReconstructionHash`, `NewClassHash`) cannot be extended. The parameter `n_bits` of the
        constructor is not changed, and `loss_target` is ignored.

        Parameters
        ----------
        n_bits : int
            New code length, at least the present one.
        X, y : the training data
            Those of `fit`; a model does not keep them. A model that can be updated takes any samples with labels: it
            learns what it does not know of them as in `update`, and further bits from their pairs alone.

        Returns
        -------
        self
        """
        check_is_fitted(self, "n_bits_")
        n_bits = check_integer("n_bits", n_bits, self.n_bits_, MAX_BITS)
        X = check_samples(self, X, reset=False)
        _, _, rules = self._resolve_components(y)
        difference = self._difference(X, y)
        if not self.updates_ and difference is None:
            learned = self._learned()
            find_pairs = partial(learned.proximity.find_pairs, X, y)
        elif self._is_updatable():
            learned = self._updated_for_bits(X, y, rules)
            find_pairs = partial(learned.proximity.find_numbered_pairs, X, y)
        else:
            raise ValueError(difference)
        self._learn(learned, rules, X, find_pairs, n_bits, -math.inf)
        return self

    @shows_progress
    def update(self, X: ArrayLike, y: Any) -> Self:
        """Learn from further samples, from new classes, or from other labels of known samples.

        Codes that are stored stay valid: they need not be computed again, and codes of new samples are compared with
        them as before. The regression of the labels becomes that of all samples so far; each bit is then fitted to
        its margins before the update, so that samples of known classes keep their bits, except for bits of small
        margins. A new class gets a code of its own, far from those of other classes. The threshold `radius_` and the
        training codes `codes_` are not changed, and `fingerprint` stays the same.

        Samples that the model knows are recognised, so that the same call repeated changes nothing but `updates_`. What
        is learned by one call after another is what one call with all samples would give the regression; the bits
        follow from the order of the calls. `fit` learns better codes from all samples, if all codes may be computed
        again.

        Parameters
        ----------
        X : array or result of `open_samples`, shape (n_samples, n_features)
            Samples, as many or as few as there are; samples of known classes may be left out.
        y : labels (n_samples,)
            As in `fit`. Known samples with another label than before get the new one.

        Returns
        -------
        self
            With a record of the update in `updates_`.

        Notes
        -----
        The model must have been fitted with `SameLabel` and a `KernelHash` or `LinearHash` whose parameter `updatable`
        allows it.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from proxcode import ProximityPreservingCode
        >>> X, y = load_digits(return_X_y=True)
        >>> is_old = y < 9
        >>> model = ProximityPreservingCode(n_bits=32, random_state=0).fit(X[is_old][:1000], y[is_old][:1000])
        >>> model.update(X[~is_old][:100], y[~is_old][:100]).updates_
        [Update(n_added=100, n_relabelled=0, n_repeated=0, n_unlabelled=0, new_classes=[9])]
        """
        check_is_fitted(self, "n_bits_")
        samples = check_samples(self, X, reset=False)
        classes, labels = self._numbered(samples, y)
        _, _, rules = self._resolve_components(y)
        self._set_fitted(self._updated(in_units(samples, self._unit), classes, labels, rules))
        return self

    def drift(self, X: ArrayLike, y: Any = None) -> Drift:
        """Compare a batch of samples with those of the fit: whether the code still suits them.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples that the model was not fitted to; some hundred or more.
        y : labels, default=None
            As in `fit`. Without labels, a model that was fitted to labels compares the balance of its bits alone.

        Returns
        -------
        Drift
            Figures, and an advice in `Drift.advice`.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from proxcode import ProximityPreservingCode
        >>> X, y = load_digits(return_X_y=True)
        >>> model = ProximityPreservingCode(n_bits=32, random_state=0).fit(X[:1000], y[:1000])
        >>> model.drift(X[1000:], y[1000:]).action, model.drift(16 - X[1000:], y[1000:]).action
        ('keep', 'refit')
        """
        check_is_fitted(self, "n_bits_")
        return drift_of(self, check_samples(self, X, reset=False), y)

    def _updatable_proximity(self) -> SameLabel:
        """Return the fitted proximity. Raises ValueError where the model does not learn from labels of samples."""
        proximity, hash_function = self.proximity_, self.hash_function_
        if not isinstance(proximity, SameLabel) or not isinstance(hash_function, RidgeHash):
            raise ValueError(
                f"this model cannot be updated: it was fitted with {type(proximity).__name__} and "
                f"{type(hash_function).__name__}, not with SameLabel and KernelHash or LinearHash; fit a new one."
            )
        return proximity

    def _is_updatable(self) -> bool:
        """Return whether the model keeps what `update` needs."""
        hash_function = self.hash_function_
        has_classes = getattr(self.proximity_, "classes_", None) is not None
        return isinstance(hash_function, RidgeHash) and hash_function.memory_ is not None and has_classes

    def _updated_for_bits(self, X: Any, y: Any, rules: Rules) -> Learned:
        """Return what was learned, updated with samples so that further bits can be learned from them."""
        learned = self._updated(in_units(X, self._unit), *self._numbered(X, y), rules)
        if n_relabelled := learned.updates[-1].n_relabelled:
            raise ValueError(
                f"y differs from the labels that the model knows for {n_relabelled} samples of X; pass the same ones "
                "in order, or change them by update()."
            )
        learned.hash_function = learned.hash_function.for_other_samples()
        return learned

    def _numbered(self, X: Any, y: Any) -> tuple[NDArray[np.int64], list[Any]]:
        """Return labels as numbers of the classes known, followed by new ones."""
        classes, labels = self._updatable_proximity().numbered(y)
        if len(classes) != len(X):
            raise ValueError(f"X has {len(X)} samples but y has {len(classes)} labels: pass one label per sample.")
        return classes, labels

    def _updated(self, X: Any, classes: NDArray[np.int64], labels: list[Any], rules: Rules) -> Learned:
        """Return what was learned, with further samples; X are samples in their units."""
        learned: Learned = self._learned()
        hash_function: Any = learned.hash_function
        known = learned.proximity.classes_
        labelled = np.flatnonzero(classes != UNLABELLED)
        n_unlabelled = len(classes) - len(labelled)
        update = hash_function.begin_update(select(X, labelled), classes[labelled], len(labels))
        if update is None:
            record = Update(0, 0, len(labelled), n_unlabelled, [])
        else:
            codes = new_class_codes(update.classes, signs_of(update.margins), update.new_classes, rules)
            learned.hash_function = update.finish(codes)
            learned.proximity = copy(learned.proximity)
            learned.proximity.classes_ = labels
            counts = update.n_added, update.n_relabelled, update.n_repeated
            n_samples = learned.hash_function.memory_.class_counts[len(known) :]
            added = [label for label, n in zip(labels[len(known) :], n_samples, strict=True) if n]
            record = Update(*counts, n_unlabelled, added)
        learned.updates = [*learned.updates, record]
        return learned
