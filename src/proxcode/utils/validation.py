"""Checks that all estimators share."""

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data


def check_points(estimator: Any, X: Any, *, reset: bool, at_least: int = 1) -> NDArray[Any]:
    """Return X as a finite matrix in single or double precision, or say what is wrong with it."""
    dtype = getattr(X, "dtype", None)
    is_small = isinstance(dtype, np.dtype) and dtype.kind in "biuf" and dtype.itemsize <= 2  # single precision holds it
    points: NDArray[Any] = validate_data(
        estimator,
        X,
        reset=reset,
        dtype=np.float32 if is_small else (np.float64, np.float32),
        ensure_min_samples=at_least,
        ensure_all_finite=False,
    )
    if not np.isfinite(points.sum(dtype=np.float64)) and not (finite := np.isfinite(points)).all():
        row, column = (int(where[0]) for where in np.nonzero(~finite))
        raise ValueError(
            f"X contains NaN or infinity, first {points[row, column]} in row {row}, column {column}: drop such rows or "
            "fill them in."
        )
    return points


def check_whole(name: str, value: Any, at_least: int, at_most: int | None = None, remedy: str = "") -> int:
    """Return a whole number within its limits, or say what it should be."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise TypeError(f"{name}={value!r}: give a whole number.")
    number = int(value)
    if number < at_least or (at_most is not None and number > at_most):
        limits = f"at least {at_least}" if at_most is None else f"{at_least} to {at_most}"
        raise ValueError(f"{name}={number}: give {limits}{remedy}.")
    return number


def check_number(
    name: str, value: Any, *, at_least: float = -math.inf, above: float = -math.inf, below: float = math.inf
) -> float:
    """Validate a finite real number within its limits.

    Examples
    --------
    >>> check_number("ridge", -1, above=0)
    Traceback (most recent call last):
    ValueError: ridge=-1: expected a number above 0.
    """
    limits = [f"of at least {at_least:g}"] if at_least > -math.inf else []
    limits += [f"above {above:g}"] if above > -math.inf else []
    limits += [f"below {below:g}"] if below < math.inf else []
    message = f"{name}={value!r}: expected a number {' and '.join(limits)}".rstrip() + "."
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(message)
    number = float(value)
    if not (number >= at_least and above < number < below):
        raise ValueError(message)
    return number
