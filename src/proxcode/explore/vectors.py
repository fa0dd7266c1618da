"""Vectors of stored codes, and one that a person pasted, as numbers or as the reason why they are none."""

import math
import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Characters of a cell that a message shows.
SHOWN = 40
AROUND = " \t\r\n,;[]()"
BETWEEN = re.compile(r"[\s,;]+")


def check_vectors(vectors: ArrayLike, n_features: int) -> NDArray[Any]:
    """Return the vectors of stored codes as a matrix. Raises ValueError for one of another number of columns."""
    array = np.asarray(vectors)
    if array.ndim != 2 or array.shape[1] != n_features:
        raise ValueError(f"vectors has shape {array.shape}: expected {n_features:,} numbers for each code.")
    return array


def read_vector(given: Any, n_features: int) -> NDArray[np.float64]:
    """Return a pasted vector.

    Parameters
    ----------
    given : str or list of numbers
        Numbers separated by commas, semicolons or white space, with or without brackets around them.
    n_features : int
        How many numbers a vector has.

    Examples
    --------
    >>> read_vector("[0.5, 1e3 -2]", 3)
    array([ 5.e-01,  1.e+03, -2.e+00])
    >>> read_vector("1, two", 2)
    Traceback (most recent call last):
    ValueError: number 2 of the vector is 'two': expected numbers separated by commas or spaces.
    """
    if isinstance(given, str):
        given = BETWEEN.split(given.strip(AROUND)) if given.strip(AROUND) else []
        numbers = [_number(cell, place) for place, cell in enumerate(given, 1)]
    elif isinstance(given, list):
        numbers = [_as_float(value, place) for place, value in enumerate(given, 1)]
    else:
        raise TypeError(f"vector={given!r:.{SHOWN}}: expected a list of numbers, or a text of them.")
    if len(numbers) != n_features:
        raise ValueError(f"the vector has {len(numbers):,} numbers: expected {n_features:,}, as the model's samples.")
    for place, number in enumerate(numbers, 1):
        if not math.isfinite(number):
            raise ValueError(f"number {place} of the vector is {number}: expected finite numbers.")
    return np.array(numbers)


def _number(cell: str, place: int) -> float:
    try:
        # Python accepts 1_000, other programs do not.
        return float(cell if "_" not in cell else "no number")
    except ValueError:
        shown = cell if len(cell) <= SHOWN else f"{cell[:SHOWN]}..."
        raise ValueError(
            f"number {place} of the vector is {shown!r}: expected numbers separated by commas or spaces."
        ) from None


def _as_float(value: Any, place: int) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"number {place} of the vector is {value!r:.{SHOWN}}: expected a number.")
    # An integer too large for a float is no finite number either.
    return float(value) if abs(value) < 1e308 or isinstance(value, float) else math.inf
