"""Codes in the layout of the search kernels, and the codes found for a query."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.hamming import Codes

MAX_CODES = np.iinfo(np.uint32).max
# Share of free columns, as a fraction 1 / SPARE of the codes, when the array of planes is enlarged.
SPARE = 16


class BytePlanes(NamedTuple):
    """The first `n_codes` columns of an array of byte planes: byte b of all codes is contiguous.

    Attributes
    ----------
    array : ndarray of uint8, shape (n_bytes, capacity)
        The columns after the first `n_codes` are free; `extended` writes to them.
    n_codes : int
    """

    array: Codes
    n_codes: int

    @property
    def n_bytes(self) -> int:
        """Bytes per code."""
        return len(self.array)

    @property
    def max_distance(self) -> int:
        """Upper bound of all distances: the bits of whole bytes."""
        return 8 * self.n_bytes

    def packed(self) -> Codes:
        """Return a copy of the codes, shape (n_codes, n_bytes)."""
        return np.array(self.array[:, : self.n_codes].T, order="C")

    def at(self, positions: NDArray[np.int64]) -> Codes:
        """Return the codes at these positions, shape (n_positions, n_bytes)."""
        return np.ascontiguousarray(self.array[:, positions].T)

    def trimmed(self) -> Codes:
        """Return the array without free columns."""
        return np.ascontiguousarray(self.array[:, : self.n_codes])

    def keep(self, positions: NDArray[np.int64]) -> "BytePlanes":
        """Return the codes at these positions as planes of their own."""
        return BytePlanes(np.ascontiguousarray(self.array[:, positions]), len(positions))

    def extended(self, codes: Codes) -> "BytePlanes":
        """Append codes. The free columns are shared with `self`, whose own columns are not written to."""
        n, total = self.n_codes, self.n_codes + len(codes)
        if total > MAX_CODES:
            raise ValueError(
                f"the index would hold {total:,} codes: expected at most {MAX_CODES:,}; use several indexes."
            )
        array = self.array
        if total > array.shape[1]:
            capacity = total if n == 0 else max(total, n + n // SPARE)
            array = np.empty((self.n_bytes, capacity), np.uint8)
            array[:, :n] = self.array[:, :n]
        array[:, n:total] = codes.T
        return BytePlanes(array, total)


class Found(NamedTuple):
    """Codes found for one query in order of increasing distance; ties are in order of position."""

    distance: NDArray[np.int32]
    position: NDArray[np.int64]


def split_by_query(distance: NDArray[np.int32], position: NDArray[np.int64], stops: NDArray[np.int64]) -> list[Found]:
    """Split the concatenated results of all queries; those of query q end before stops[q]."""
    lists = zip(np.split(distance, stops[:-1]), np.split(position, stops[:-1]), strict=True)
    return [Found(*of_query) for of_query in lists]


def merge(parts: Sequence[Found], k: int) -> Found:
    """Return the k nearest codes of the results in consecutive ranges of codes."""
    distance = np.concatenate([part.distance for part in parts])
    position = np.concatenate([part.position for part in parts])
    order = np.argsort(distance, kind="stable")[:k]
    return Found(distance=distance[order], position=position[order])
