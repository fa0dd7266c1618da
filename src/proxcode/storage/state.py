"""What a model file keeps of a component, and fingerprints of arrays."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Rows that are copied at a time where an array is not in C order.
BLOCK = 65_536


class State(NamedTuple):
    """What a component learned, in a form that a file can hold.

    Attributes
    ----------
    values : dict
        Numbers, strings, None.
    arrays : dict of ndarray
    objects : list
        Estimators of other libraries.
    """

    values: Mapping[str, Any] = {}
    arrays: Mapping[str, NDArray[Any]] = {}
    objects: Sequence[Any] = ()


def fingerprint(array: NDArray[Any] | None) -> str | None:
    """Return the SHA-256 of the type, the shape and the values of an array; None for None.

    Examples
    --------
    >>> samples = np.ones((3, 2))
    >>> fingerprint(samples) == fingerprint(np.asfortranarray(samples))
    True
    """
    if array is None:
        return None
    digest = hashlib.sha256(f"{array.dtype.str} {array.shape}".encode())
    rows = np.atleast_1d(array)
    for start in range(0, len(rows), BLOCK):
        block = np.ascontiguousarray(rows[start : start + BLOCK])
        if block.size:
            digest.update(block.data.cast("B"))
    return digest.hexdigest()
