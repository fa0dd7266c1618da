"""Near by labels: the same class, or a label in common."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxcode.hashing import HashFunction, KernelHash, NewClassHash
from proxcode.pairs import FoundPairs, SameClassPairs, SharedLabelPairs
from proxcode.proximity.base import Proximity
from proxcode.storage.state import State
from proxcode.utils.labels import (
    UNLABELLED,
    check_length,
    class_numbers,
    distinct_labels,
    label_masks,
    warn_of_rare_classes,
    warn_of_small_classes,
)


class SameLabel(Proximity):
    """Near = same class.

    Parameters
    ----------
    unlabelled : hashable, default=-1
        A value of y that means "no label": pairs of such samples are unknown. The default is scikit-learn's convention
        for semi-supervised learning. None, NaN and blank strings always mean it; with `unlabelled=None` nothing else
        does, and -1 is a class like any other.
    balanced : bool, default=False
        Whether each class counts alike in the posteriors that bits are learned from. By default each sample does, and
        new samples of a rare class may get codes of frequent ones: `fit` warns of classes with less than a fifth of the
        median number of samples. Only `KernelHash` and `LinearHash` with refinement learn from posteriors.
    new_classes : bool, default=False
        Whether the code is for classes that are not in `fit`. It is then learned by `NewClassHash`, unless another hash
        function is given: from the samples, reshaped by what the labels show about them.

    Attributes
    ----------
    classes_ : list or None
        The labels of `fit` in order of appearance, for `ProximityPreservingCode.update`; None where there are more than
        10,000, or labels that are neither numbers nor strings.

    Notes
    -----
    Labels may be any hashable values: numbers, strings, tuples. A string "-1" is a class.

    Labels -1 and one other value are refused, because no code could be learned from the samples of one class, and -1
    is probably the other class: pass `unlabelled=None` for labels -1 and +1.

    Examples
    --------
    >>> SameLabel().read(["cat", "dog", -1, "", "cat"])
    array([ 0,  1, -1, -1,  0])
    >>> SameLabel(unlabelled=None).read([-1, 1, 1])
    array([0, 1, 1])
    """

    classes_: list[Any] | None

    def __init__(self, unlabelled: Hashable = -1, balanced: bool = False, new_classes: bool = False) -> None:
        self.unlabelled = unlabelled
        self.balanced = balanced
        self.new_classes = new_classes

    def fit(self, X: NDArray[Any], y: Any = None) -> Self:
        """Keep the labels; warn of rare classes, and of many small ones."""
        classes = self.read(y)
        self.classes_ = distinct_labels(y, classes)
        if not self.new_classes:
            warn_of_small_classes(classes)
            if not self.balanced:
                warn_of_rare_classes(classes, y)
        return self

    def find_pairs(self, X: NDArray[Any], y: Any = None) -> FoundPairs:
        """Return the pairs of samples with a label; those with equal labels are near."""
        classes = self.read(y)
        self.check_minus_one(y, classes)
        check_length(len(X), len(classes))
        return self.pairs_of(classes)

    def find_numbered_pairs(self, X: NDArray[Any], y: Any) -> FoundPairs:
        """Return the pairs of `find_pairs`, with classes numbered as in `classes_`."""
        classes, _ = self.numbered(y)
        check_length(len(X), len(classes))
        return self.pairs_of(classes)

    def numbered(self, y: Any) -> tuple[NDArray[np.int64], list[Any]]:
        """Return labels as numbers of `classes_`, -1 for samples without a label, and `classes_` with new labels last.

        Examples
        --------
        >>> SameLabel().fit(np.zeros((2, 1)), ["cat", "dog"]).numbered(["dog", None, "bird"])
        (array([ 1, -1,  2]), ['cat', 'dog', 'bird'])
        """
        known = getattr(self, "classes_", None)
        classes = self.read(y)
        found = distinct_labels(y, classes)
        if known is None:
            raise ValueError(
                "this model cannot be updated: its labels are neither numbers nor strings, or more than 10,000; fit a "
                "new model."
            )
        if found is None:
            raise ValueError(
                "y has labels that are neither numbers nor strings, or more than 10,000: pass labels as in fit."
            )
        numbers = {label: number for number, label in enumerate(known)}
        for label in found:
            numbers.setdefault(label, len(numbers))
        translated = np.array([*(numbers[label] for label in found), UNLABELLED], np.int64)
        return translated[classes], list(numbers)

    def state(self) -> State:
        return State({"classes": getattr(self, "classes_", None)})

    def restore(self, state: State) -> None:
        classes = state.values.get("classes")
        labels = classes or []
        if not isinstance(labels, list) or not all(isinstance(label, str | int | float) for label in labels):
            raise ValueError("its classes are not labels; save the model again")
        if len(set(labels)) < len(labels):
            raise ValueError("its classes are not distinct; save the model again")
        self.classes_ = classes

    def pairs_of(self, classes: NDArray[np.int64]) -> FoundPairs:
        """Return the pairs of samples whose labels were read before, by `read` or `numbered`."""
        samples = np.flatnonzero(classes != UNLABELLED)
        if len(samples) == 0:
            raise ValueError(f"all {len(classes)} samples are unlabelled: label some, or use WithinRadius().")
        return FoundPairs(samples, SameClassPairs(classes[samples], bool(self.balanced)))

    def read(self, y: Any) -> NDArray[np.int64]:
        """Return the labels as integers, in order of appearance, -1 for samples without a label."""
        if y is None:
            raise ValueError("y=None: SameLabel needs labels; call fit(X, y), or use WithinRadius().")
        return class_numbers(y, self.unlabelled)

    def check_minus_one(self, y: Any, classes: NDArray[np.int64]) -> None:
        """Raise ValueError for one class and samples of label -1, which are probably the other class."""
        if self.unlabelled == -1 and classes.max(initial=-1) == 0 and class_numbers(y).max() == 1:
            raise ValueError(
                "y holds -1 and one other label, and -1 means no label: pass proximity=SameLabel(unlabelled=None), on "
                "the command line --unlabelled '', if -1 is a class, or label samples of a second class."
            )

    def hash_function(self) -> HashFunction:
        return NewClassHash() if self.new_classes else KernelHash()

    def describe(self) -> str:
        return "the same label, for classes that come later" if self.new_classes else "the same label"


class SharedLabel(Proximity):
    """Near = at least one label in common; y is a 0/1 indicator matrix of shape (n_samples, n_labels), dense or sparse.

    A sample without any label is far from all others.
    """

    def find_pairs(self, X: NDArray[Any], y: Any = None) -> FoundPairs:
        """Return all pairs; those with a label in common are near."""
        masks = self.read(y)
        if masks.shape[1] != len(X):
            raise ValueError(f"y has shape {np.shape(y)}: expected an indicator matrix of shape ({len(X)}, n_labels).")
        return self.pairs_of(masks)

    def pairs_of(self, masks: NDArray[np.uint64]) -> FoundPairs:
        """Return the pairs of samples whose labels were read before."""
        return FoundPairs(np.arange(masks.shape[1]), SharedLabelPairs(masks))

    def describe(self) -> str:
        return "at least one label in common"

    def read(self, y: Any) -> NDArray[np.uint64]:
        """Return the labels of each sample as bits of 64-bit words, shape (n_words, n_samples)."""
        if y is None:
            raise ValueError("y=None: SharedLabel needs a 0/1 indicator matrix of shape (n_samples, n_labels).")
        try:
            indicator = sp.csc_array(y) if sp.issparse(y) else np.asarray(y)
            # A data frame of bool and int columns.
            if indicator.dtype == object:
                indicator = np.array(indicator.tolist())
        except ValueError:
            raise ValueError(
                "y has rows of different lengths: MultiLabelBinarizer makes an indicator matrix."
            ) from None
        if indicator.ndim != 2 or indicator.shape[1] == 0:
            n = indicator.shape[0] if indicator.ndim else "n_samples"
            raise ValueError(f"y has shape {indicator.shape}: expected an indicator matrix of shape ({n}, n_labels).")
        values = np.asarray(indicator.data if sp.issparse(indicator) else indicator)
        if not (is_valid := np.isin(values, (0, 1))).all():
            raise ValueError(
                f"y contains {values[~is_valid][0]}: expected an indicator matrix of 0 and 1, as MultiLabelBinarizer "
                "makes; for labels that are tuples pass proximity=SameLabel()."
            )
        return label_masks(indicator)
