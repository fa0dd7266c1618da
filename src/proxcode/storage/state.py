"""What a file keeps of something learned."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

BLOCK = 65_536  # rows that are copied at a time where an array is not in C order


class State(NamedTuple):
    """What something learned, in parts that a file can hold.

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
    >>> points = np.ones((3, 2))
    >>> fingerprint(points) == fingerprint(np.asfortranarray(points))
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
