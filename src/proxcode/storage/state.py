"""What a model file keeps of a component, and fingerprints of arrays."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.utils.samples import Samples
from proxcode.utils.validation import check_integer, check_number

# Rows that are copied at a time where an array is not in C order.
BLOCK = 65_536


@dataclass(frozen=True)
class State:
    """What a component learned, in a form that a file can hold.

    The methods validate what comes from a file: its digest tells that it is as written, not that it was written by
    proxcode.

    Attributes
    ----------
    values : dict
        Numbers, strings, None.
    arrays : dict of ndarray
    objects : list
        Estimators of other libraries.
    sizes : dict of int
        Sizes that several arrays have in common, by name: "n_features" and "n_bits" from the rest of the file, others
        from the first array with them.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    objects: Sequence[Any] = ()
    sizes: dict[str, int] = field(default_factory=dict, compare=False)

    def array(self, name: str, *shape: str | int, below: int | None = None) -> NDArray[Any]:
        """Return an array of finite numbers.

        Raises ValueError unless it has this type and shape.

        Parameters
        ----------
        name : str
        *shape : int or str
            A number, or the name of a size.
        below : int, default=None
            The array is of integers from 0 to `below` - 1. None: of numbers in single or double precision.

        Examples
        --------
        >>> state = State(arrays={"mean": np.zeros(3), "axes": np.zeros((2, 4))})
        >>> state.array("mean", "n_features")
        array([0., 0., 0.])
        >>> state.array("axes", "n_axes", "n_features")
        Traceback (most recent call last):
        ValueError: its array 'axes' has shape (2, 4): expected (n_axes, n_features=3); save the model again
        """
        if name not in self.arrays:
            raise ValueError(f"its array {name!r} is missing; save the model again")
        array = self.arrays[name]
        known = [self.sizes.get(size, size) if isinstance(size, str) else size for size in shape]
        if array.ndim != len(shape) or any(
            isinstance(k, int) and k != n for k, n in zip(known, array.shape, strict=True)
        ):
            expected = ", ".join(
                str(size) if size == k else f"{size}={k}" for size, k in zip(shape, known, strict=True)
            )
            raise ValueError(f"its array {name!r} has shape {array.shape}: expected ({expected}); save the model again")
        self.sizes.update({size: n for size, n in zip(shape, array.shape, strict=True) if isinstance(size, str)})
        expected = "float32 or float64" if below is None else "int64"
        if array.dtype.name not in expected.split(" or "):
            raise ValueError(f"its array {name!r} holds {array.dtype}: expected {expected}; save the model again")
        if below is None and not np.isfinite(array).all():
            raise ValueError(f"its array {name!r} holds NaN or infinity; save the model again")
        if below is not None and array.size and not 0 <= array.min() <= array.max() < below:
            found = f"{array.min()} to {array.max()}"
            raise ValueError(f"its array {name!r} holds {found}: expected 0 to {below - 1}; save the model again")
        return array

    def number(self, name: str, *, at_least: float = -math.inf, above: float = -math.inf) -> float:
        """Return a finite number within its limits; raise ValueError or TypeError for another value."""
        return check_number(name, self.values.get(name), at_least=at_least, above=above)

    def integer(self, name: str, at_least: int, at_most: int | None = None) -> int:
        """Return an integer within its limits; raise ValueError or TypeError for another value."""
        return check_integer(name, self.values.get(name), at_least, at_most)


def fingerprint(array: NDArray[Any] | Samples | None) -> str | None:
    """Return the SHA-256 of the type, the shape and the values of an array; None for None.

    Samples in files have fingerprints of their own kind, from the digests of pieces that may be read elsewhere.

    Examples
    --------
    >>> samples = np.ones((3, 2))
    >>> fingerprint(samples) == fingerprint(np.asfortranarray(samples))
    True
    """
    if array is None:
        return None
    digest = hashlib.sha256(f"{array.dtype.str} {array.shape}".encode())
    if isinstance(array, Samples):
        for piece in array.scan.digests:
            digest.update(piece)
        return digest.hexdigest()
    rows = np.atleast_1d(array)
    for start in range(0, len(rows), BLOCK):
        block = np.ascontiguousarray(rows[start : start + BLOCK])
        if block.size:
            digest.update(block.data.cast("B"))
    return digest.hexdigest()


def plain_parameters(component: Any) -> list[Any]:
    """Return the class of an estimator, and those parameters that are not defaults, as JSON can hold them.

    Of parameters that are other objects it has the class alone. A parameter that a later version adds changes nothing.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> plain_parameters(Ridge(alpha=np.float64(2.0)))
    ['Ridge', {'alpha': 2.0}]
    """
    defaults = {name: parameter.default for name, parameter in signature(type(component)).parameters.items()}
    plain = {name: _plain(value) for name, value in component.get_params().items()}
    return [type(component).__name__, {name: value for name, value in plain.items() if value != defaults.get(name)}]


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | None) else type(value).__name__


def equal_json(first: Any, second: Any) -> bool:
    """Return whether two values that JSON can hold are equal; NaN equals NaN."""
    return bool(first == second) or json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)
