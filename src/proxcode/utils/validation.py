"""Validation of parameters and samples: one function for each kind of value.

A value of the wrong type raises TypeError and a value out of its range ValueError, everywhere in the package.
"""

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Limits of the total variance of samples whose squared distances single precision shall hold.
SMALLEST, LARGEST = 1e-32, 1e34


def check_samples(estimator: Any, X: Any, *, reset: bool, at_least: int = 1) -> NDArray[Any]:
    """Validate samples: a finite matrix, returned in single or double precision.

    Parameters
    ----------
    estimator : estimator
        Whose number and names of features are set (`reset=True`) or compared with those of X.
    X : array of shape (n_samples, n_features)
    reset : bool
    at_least : int, default=1
        Smallest number of samples.
    """
    from sklearn.utils.validation import validate_data

    dtype = getattr(X, "dtype", None)
    # Single precision holds all numbers of these types exactly.
    is_small = isinstance(dtype, np.dtype) and dtype.kind in "biuf" and dtype.itemsize <= 2
    samples: NDArray[Any] = validate_data(
        estimator,
        X,
        reset=reset,
        dtype=np.float32 if is_small else (np.float64, np.float32),
        ensure_min_samples=at_least,
        ensure_all_finite=False,
    )
    if not np.isfinite(samples.sum(dtype=np.float64)) and not (finite := np.isfinite(samples)).all():
        row, column = (int(where[0]) for where in np.nonzero(~finite))
        raise ValueError(
            f"X contains NaN or infinity, first {samples[row, column]} in row {row}, column {column}: drop these rows "
            "or impute their values."
        )
    return samples


def check_scale(X: NDArray[Any]) -> None:
    """Validate the scale of samples: single precision holds their squared distances."""
    with np.errstate(over="ignore"):
        variance = float(np.var(X, axis=0, dtype=np.float64).sum())
    if variance and not SMALLEST < variance < LARGEST:
        raise ValueError(f"samples of X have a variance of {variance:.3g}, beyond single precision: scale X.")


def check_integer(name: str, value: Any, at_least: int, at_most: int | None = None, hint: str = "") -> int:
    """Validate an integer parameter within its limits.

    Examples
    --------
    >>> check_integer("n_bits", 2.5, 1, 1024)
    Traceback (most recent call last):
    TypeError: n_bits=2.5: expected an integer from 1 to 1024.
    """
    limits = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
    message = f"{name}={value!r}: expected an integer {limits}{hint}."
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise TypeError(message)
    number = int(value)
    if number < at_least or (at_most is not None and number > at_most):
        raise ValueError(message)
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


def check_component(name: str, component: Any, kind: type, example: str) -> None:
    """Validate a component of the method: an object of its kind, not a class and not a string."""
    # A class has the methods of a protocol too.
    if isinstance(component, type) or not isinstance(component, kind):
        raise TypeError(f"{name}={component!r}: expected an object such as {example}.")
