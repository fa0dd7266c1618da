"""Labels of stored codes, as they are shown."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.utils.labels import is_missing, one_column


def label_array(labels: ArrayLike) -> NDArray[Any]:
    """Return labels as an array; NaN and None in a list of strings stay what they are."""
    values = one_column(labels)
    if isinstance(values, np.ndarray):
        array = values
    elif any(isinstance(label, list | np.ndarray) for label in values):
        array = np.array(values, object)
    else:
        # A label may be a tuple, which is no row of a matrix.
        array = np.fromiter(values, object, len(values))
    if array.ndim not in (1, 2):
        raise ValueError(f"labels has shape {array.shape}: expected one label for each code, or a matrix of 0 and 1.")
    return array


def label_text(label: Any) -> str:
    """Return a label as text, a missing one as an empty text."""
    if is_missing(label):
        return ""
    return str(int(label)) if isinstance(label, float | np.floating) and float(label).is_integer() else str(label)
