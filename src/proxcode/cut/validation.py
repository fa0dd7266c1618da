"""Validation of parameters that the searches and bounds of a signed cut share."""

import math
import sys
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.cut.result import Partition
from proxcode.utils.validation import check_number

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: Any) -> np.random.Generator:
    """Return the generator of a seed."""
    # NumPy's default_rng accepts a RandomState from version 2.2 on.
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        expected = "expected an integer from 0 on, a Generator, a RandomState or None"
        raise type(error)(f"random_state={random_state!r}: {expected}") from None


def check_time_limit(time_limit: object) -> None:
    """Raise an error unless `time_limit` is None or a positive number."""
    if time_limit is None:
        return
    expected = f"time_limit={time_limit!r}: expected seconds above 0, or None"
    if not isinstance(time_limit, Real) or isinstance(time_limit, bool):
        raise TypeError(expected)
    # An integer too large for a float is no number of seconds.
    if not time_limit > 0 or sys.float_info.max < time_limit < math.inf:  # type: ignore[operator]
        raise ValueError(expected)


def check_functions(search: Any) -> None:
    """Raise TypeError unless `clock` and `report` of a search are functions or None."""
    for name in ("clock", "report"):
        function = getattr(search, name)
        if function is not None and not callable(function):
            raise TypeError(f"{name}={function!r}: expected a function or None")


def check_partition(name: str, partition: ArrayLike, n: int, kind: str = "nodes") -> Partition:
    """Return a copy of a partition as int8, after checking its length and that it holds -1 and +1 only."""
    signs = np.asarray(partition)
    if signs.shape != (n,):
        raise ValueError(f"{name} has shape {signs.shape}: expected one entry, -1 or +1, for each of {n} {kind}")
    is_sign = (signs == 1) | (signs == -1) if signs.dtype.kind in "iuf" else np.zeros(n, bool)
    if not is_sign.all():
        raise ValueError(f"{name} holds {signs[np.argmin(is_sign)]!r}: expected -1 or +1 for each of the {n} {kind}")
    return signs.astype(np.int8)


def check_shift(shift: ArrayLike, n: int) -> float | NDArray[np.float64]:
    """Return the diagonal that is added to W, after checking that it is one number or one for each of n nodes."""
    diagonal = np.asarray(shift)
    if diagonal.ndim == 0:
        return check_number("shift", shift, at_least=0.0)
    if diagonal.shape != (n,):
        raise ValueError(f"shift has shape {diagonal.shape}: expected one number, or one for each of {n} nodes")
    if diagonal.dtype.kind not in "iuf":
        raise TypeError(f"shift has the type {diagonal.dtype}: expected numbers of at least 0")
    is_allowed = (diagonal >= 0) & np.isfinite(diagonal)
    if not is_allowed.all():
        raise ValueError(f"shift holds {diagonal[np.argmin(is_allowed)]}: expected numbers of at least 0")
    return diagonal.astype(np.float64)
