"""Validation of parameters and samples: one function for each kind of value.

A value of the wrong type raises TypeError and a value out of its range ValueError, everywhere in the package.
"""

import math
import numbers
import sys
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.utils.samples import InUnits, Samples

# Limits of the total variance of samples whose squared distances single precision shall hold.
SMALLEST, LARGEST = 1e-32, 1e34
# Limits of the range of samples between which they are learned from as they are, and of samples in units.
SMALL, LARGE, FAR = 1e-12, 1e12, 1e15


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

    if isinstance(X, Samples):
        return _check_rows(estimator, X, reset, at_least)
    dtype = getattr(X, "dtype", None)
    # Single precision holds all numbers of these types exactly.
    is_small = isinstance(dtype, np.dtype) and dtype.kind in "biuf" and dtype.itemsize <= 2
    try:
        samples: NDArray[Any] = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=np.float32 if is_small else (np.float64, np.float32),
            ensure_min_samples=at_least,
            ensure_all_finite=False,
        )
    except (ValueError, OverflowError) as error:
        # In one line.
        raise ValueError(" ".join(str(error).split())) from error
    if not np.isfinite(samples.sum(dtype=np.float64)) and not (finite := np.isfinite(samples)).all():
        row, column = (int(where[0]) for where in np.nonzero(~finite))
        raise ValueError(
            f"X contains NaN or infinity, first {samples[row, column]} in row {row}, column {column}: drop these rows "
            "or impute their values."
        )
    return samples


def _check_rows(estimator: Any, X: Any, reset: bool, at_least: int) -> Any:
    """Validate samples in files by one pass over them; they are returned as they are."""
    n_samples, n_features = X.shape
    if n_samples < at_least:
        raise ValueError(f"{X} has {n_samples} samples: expected at least {at_least}.")
    if reset:
        estimator.n_features_in_ = n_features
        vars(estimator).pop("feature_names_in_", None)
    elif n_features != estimator.n_features_in_:
        raise ValueError(
            f"{X} has {n_features} features, but {type(estimator).__name__} expects {estimator.n_features_in_}: choose "
            "columns, or other files."
        )
    if X.scan.not_finite is not None:
        row, column, value = X.scan.not_finite
        raise ValueError(
            f"X contains NaN or infinity, first {value} in row {row}{X.place_note(row)}, column {column}: drop these "
            "rows or impute their values."
        )
    return X


def check_scale(X: NDArray[Any]) -> None:
    """Validate the scale of samples: single precision holds their squared distances."""
    with np.errstate(over="ignore"):
        variance = float(np.var(X, axis=0, dtype=np.float64).sum())
    if variance and not SMALLEST < variance < LARGEST:
        raise ValueError(f"samples of X have a variance of {variance:.3g}, beyond single precision: scale X.")


def check_different(X: NDArray[Any]) -> None:
    """Validate that samples are not all equal."""
    if isinstance(X, Samples):
        are_equal = bool((X.scan.low == X.scan.high).all())
    else:
        # Row by row: the second one ends the search as a rule.
        are_equal = all((row == X[0]).all() for row in X)
    if are_equal:
        raise ValueError(f"all {len(X)} samples of X are equal: a code needs samples that differ.")


def unit_of(X: NDArray[Any]) -> float:
    """Return a power of two by which samples are multiplied so that their squared distances are ordinary numbers.

    It is 1 unless the largest range of a feature is beyond what single precision can square with room to spare.

    Examples
    --------
    >>> unit_of(np.array([[0.0], [3.0]])), unit_of(np.array([[0.0], [3.0]]) * 2.0**-100) == 2.0**99
    (1.0, True)
    """
    if len(X) == 0:
        return 1.0
    low, high = (X.scan.low, X.scan.high) if isinstance(X, Samples) else (X.min(axis=0), X.max(axis=0))
    # Halves: the difference of two large numbers would overflow.
    spread = float((high / 2.0 - low / 2.0).max(initial=0.0))
    if spread == 0 or SMALL <= 2.0 * spread <= LARGE:
        return 1.0
    # Of numbers below the smallest normal one, the exponent is limited: the unit must not overflow.
    return math.ldexp(1.0, min(-math.frexp(spread)[1], 1000))


def in_units(X: NDArray[Any], unit: float) -> NDArray[Any]:
    """Return samples multiplied by their unit, in their own precision; X itself for 1.

    Samples very far from those of `fit`, whose range is near 1, are moved to the limit of what can be squared.
    """
    if unit == 1:
        return X
    if isinstance(X, Samples):
        return InUnits(X, partial(in_units, unit=unit))
    with np.errstate(over="ignore"):
        return np.clip(X * np.float64(unit), -FAR, FAR).astype(X.dtype)


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
    # An integer too large for a float is no finite number either.
    number = float(value) if abs(value) <= sys.float_info.max else math.nan  # type: ignore[operator]
    if not (number >= at_least and above < number < below):
        raise ValueError(message)
    return number


def check_seed(random_state: Any) -> np.random.RandomState:
    """Validate a seed and return its random state.

    Examples
    --------
    >>> check_seed(-1)
    Traceback (most recent call last):
    ValueError: random_state=-1: expected an integer from 0 to 4294967295, a RandomState or None.
    """
    from sklearn.utils import check_random_state

    if random_state is None or isinstance(random_state, np.random.RandomState) or random_state is np.random:
        return check_random_state(random_state)
    return check_random_state(check_integer("random_state", random_state, 0, 2**32 - 1, ", a RandomState or None"))


def check_component(name: str, component: Any, kind: type, example: str) -> None:
    """Validate a component of the method: an object of its kind, not a class and not a string."""
    # A class has the methods of a protocol too.
    if isinstance(component, type) or not isinstance(component, kind):
        raise TypeError(f"{name}={component!r}: expected an object such as {example}.")
