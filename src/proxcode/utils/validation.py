"""Checks that all estimators share."""

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
