"""Checks that all estimators share."""

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
