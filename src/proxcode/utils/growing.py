"""An array that grows: appended parts are joined when the array is next read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Share of free columns, as a fraction 1 / SPARE of the columns, when the array is enlarged.
SPARE = 16
# Parts that wait to be joined.
MAX_LATER = 1024


class GrowingArray:
    """The first `n` columns of an array; `extended` returns the array with further columns.

    An extension takes the time of its part, whatever the size of the array, which may be memory-mapped. Extensions of
    one another share memory: an array is extended once, or none of its extensions but the last one is read.

    Parameters
    ----------
    array : ndarray of shape (..., capacity)
    n : int, default=None
        Number of columns in use; the columns after them are free. None: all.

    Examples
    --------
    >>> GrowingArray(np.arange(3)).extended(np.array([7])).columns
    array([0, 1, 2, 7])
    """

    def __init__(self, array: NDArray[Any], n: int | None = None) -> None:
        self.n = array.shape[-1] if n is None else n
        # The array, its columns in use, and the parts after them: one tuple, so that threads see all three alike.
        self._state: tuple[NDArray[Any], int, tuple[NDArray[Any], ...]] = (array, self.n, ())

    @property
    def array(self) -> NDArray[Any]:
        """The array, with free columns after the first `n`."""
        array, n, later = self._state
        if later:
            if self.n > array.shape[-1]:
                capacity = self.n if n == 0 else max(self.n, n + n // SPARE)
                larger = np.empty((*array.shape[:-1], capacity), array.dtype)
                larger[..., :n] = array[..., :n]
                array = larger
            array[..., n : self.n] = np.concatenate(later, axis=-1)
            self._state = array, self.n, ()
        return array

    @property
    def columns(self) -> NDArray[Any]:
        """The array without free columns."""
        return self.array[..., : self.n]

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        array, _, later = self._state
        return array.nbytes + sum(part.nbytes for part in later)

    def extended(self, part: NDArray[Any]) -> GrowingArray:
        """Append columns, which must not be written to afterwards. The columns of `self` are not written to."""
        array, n, later = self._state
        grown = GrowingArray(array, n)
        grown.n = self.n + part.shape[-1]
        grown._state = array, n, (*later, part)
        if len(later) >= MAX_LATER:
            _ = grown.array
        return grown
