"""Labels of any kind as integers, and label sets as bit masks."""

import sys
import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

UNLABELLED = -1
# A class is rare if it has fewer samples than the median class divided by this.
RARE = 5
# Classes are many and small from this number of classes on, with two or more samples but fewer than this in the median.
MANY, SMALL = 100, 10
# Largest number of labels that a model keeps.
MAX_KEPT = 10_000
# Largest number of rare classes that a warning names.
MAX_NAMED = 10


def class_numbers(y: Any, unlabelled: Hashable = None) -> NDArray[np.int64]:
    """Return labels as integers 0, 1, ...; samples without a label get -1.

    Missing labels are None, NaN, blank strings and the value `unlabelled`, unless that is None.

    Examples
    --------
    >>> class_numbers(["cat", "dog", None, "cat", ""])
    array([ 0,  1, -1,  0, -1])
    >>> class_numbers([7, -1, 3]), class_numbers([7, -1, 3], unlabelled=-1)
    (array([0, 1, 2]), array([ 0, -1,  1]))
    """
    labels = one_column(y)
    array = labels if isinstance(labels, np.ndarray) else None
    if array is not None and array.ndim != 1:
        raise ValueError(
            f"y has shape {array.shape}: SameLabel expects one label per sample; use SharedLabel() for a 0/1 matrix."
        )
    if array is not None and array.dtype.kind in "biufUS":
        is_known = _is_given(array)
        # NumPy would compare a tuple item by item.
        if unlabelled is not None and not isinstance(unlabelled, tuple):
            is_known &= array != unlabelled
        classes = np.full(len(array), UNLABELLED, np.int64)
        # Numbers in order of appearance do not depend on the names of the labels.
        _, first, inverse = np.unique(array[is_known], return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        classes[is_known] = rank[inverse]
        return classes
    numbers: dict[Hashable, int] = {}
    values = labels if array is None else array.tolist()
    return np.array([_class_number(label, unlabelled, numbers) for label in values], dtype=np.int64)


def one_column(y: Any) -> Any:
    """Return labels as an array, a matrix or data frame of one column as this column; a list of labels as it is."""
    is_list = isinstance(y, list | tuple)
    if is_list and not all(isinstance(label, list) and len(label) == 1 for label in y):
        return y
    array = np.asarray(y)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _is_given(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where an array holds a label: not where it is NaN or a blank string."""
    if array.dtype.kind == "f":
        return ~np.isnan(array)
    if array.dtype.kind in "US":
        return np.strings.str_len(np.strings.strip(array)) > 0
    return np.ones(len(array), bool)


def _class_number(label: Any, unlabelled: Hashable, numbers: dict[Hashable, int]) -> int:
    if not isinstance(label, Hashable):
        raise ValueError(f"label {label!r} is not hashable: use SharedLabel() with a 0/1 indicator matrix.")
    if is_missing(label) or (unlabelled is not None and label == unlabelled):
        return UNLABELLED
    return numbers.setdefault(label, len(numbers))


def is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN or a blank string."""
    pandas = sys.modules.get("pandas")
    return (
        label is None
        or (pandas is not None and (label is pandas.NA or label is pandas.NaT))
        or (isinstance(label, float | np.floating) and bool(np.isnan(label)))
        or (isinstance(label, str | bytes) and not label.strip())
    )


def distinct_labels(y: Any, classes: NDArray[np.int64]) -> list[Any] | None:
    """Return the labels in order of their numbers; None where they are too many, or neither numbers nor strings.

    Examples
    --------
    >>> y = ["cat", "dog", None, "cat"]
    >>> distinct_labels(y, class_numbers(y))
    ['cat', 'dog']
    """
    numbers, first = np.unique(classes, return_index=True)
    first = first[numbers != UNLABELLED]
    if len(first) > MAX_KEPT:
        return None
    values = one_column(y)
    labels = [values[i] for i in first.tolist()]
    labels = [label.tolist() if isinstance(label, np.generic) else label for label in labels]
    return labels if all(isinstance(label, str | int | float) for label in labels) else None


def check_length(n_samples: int, n_labels: int) -> None:
    """Raise ValueError unless there is one label per sample."""
    if n_samples != n_labels:
        raise ValueError(f"X has {n_samples} samples but y has {n_labels} labels: pass one label per sample.")


def label_masks(indicator: Any) -> NDArray[np.uint64]:
    """Return the rows of a 0/1 matrix as bits of 64-bit words, shape (n_words, n_rows)."""
    n, n_labels = indicator.shape
    masks = np.zeros((-(-n_labels // 64), n), np.uint64)
    for label in range(n_labels):
        column = indicator[:, [label]]
        column = column.toarray() if sp.issparse(column) else column
        masks[label // 64] |= (column.ravel() != 0).astype(np.uint64) << np.uint64(label % 64)
    return masks


def warn_of_rare_classes(classes: NDArray[np.int64], y: Any) -> None:
    """Warn, in the name of the caller of `fit`, of classes that are rare beside the others."""
    sizes = np.bincount(classes[classes != UNLABELLED])
    median = float(np.median(sizes)) if len(sizes) else 0.0
    rare = np.flatnonzero(RARE * sizes < median)
    if len(rare) == 0:
        return
    first = [int(np.argmax(classes == number)) for number in rare[:MAX_NAMED]]
    labels = one_column(y)
    named = [f"{labels[i]} ({sizes[classes[i]]})" for i in first]
    more = f" and {len(rare) - len(named)} more" if len(rare) > len(named) else ""
    warnings.warn(
        f"classes {', '.join(named)}{more} have few samples beside a median of {median:g} per class, and new samples "
        "of theirs may get codes of other classes: add samples, or pass proximity=SameLabel(balanced=True).",
        stacklevel=5,
    )


def warn_of_small_classes(classes: NDArray[np.int64]) -> None:
    """Warn, in the name of the caller of `fit`, of many small classes: new samples may be of other ones."""
    sizes = np.bincount(classes[classes != UNLABELLED])
    if len(sizes) >= MANY and 2 <= (median := float(np.median(sizes))) < SMALL:
        warnings.warn(
            f"y has {len(sizes)} classes with a median of {median:g} samples: if new samples will belong to other "
            "classes, pass proximity=SameLabel(new_classes=True).",
            stacklevel=5,
        )
