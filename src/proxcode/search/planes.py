"""Codes in the layout of the search kernels, and the codes found for a query."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from proxcode.hamming import Codes

MAX_CODES = np.iinfo(np.uint32).max


class BytePlanes(NamedTuple):
    """The first `n_codes` columns of an array of byte planes: byte b of all codes is contiguous.

    The array has shape (n_bytes, capacity); the columns after the first `n_codes` are free.
    """

    array: Codes
    n_codes: int

    @property
    def n_bytes(self) -> int:
        """Bytes per code."""
        return len(self.array)

    @property
    def columns(self) -> Codes:
        """The array without free columns, shape (n_bytes, n_codes)."""
        return self.array[:, : self.n_codes]

    def at(self, positions: NDArray[np.int64]) -> Codes:
        """Return the packed codes at these positions, shape (n_positions, n_bytes)."""
        return np.ascontiguousarray(self.array[:, positions].T)


class Found(NamedTuple):
    """Codes found for one query in order of increasing distance; ties are in order of position."""

    distance: NDArray[Any]
    position: NDArray[np.int64]


class FoundByQuery(NamedTuple):
    """Codes found for all queries, query after query, each as in `Found`; `n_found` is their number for each query."""

    n_found: NDArray[np.int64]
    distance: NDArray[Any]
    position: NDArray[np.int64]

    @classmethod
    def joined(cls, found: Sequence[Found], dtype: DTypeLike) -> "FoundByQuery":
        """Join the codes found for each query; `dtype` is that of the distances."""
        # The empty arrays set the dtype if there are no queries.
        distance = np.concatenate([np.empty(0, dtype), *(of_query.distance for of_query in found)])
        position = np.concatenate([np.empty(0, np.int64), *(of_query.position for of_query in found)])
        return cls(np.array([len(of_query.position) for of_query in found], np.int64), distance, position)


def split_by_query(
    k: int, stops: NDArray[np.int64], distance: NDArray[Any], position: NDArray[np.int64]
) -> list[Found]:
    """Return the first k of the results of each query; those of query q end before stops[q]."""
    limits = [(start, min(start + k, stop)) for start, stop in pairwise([0, *stops.tolist()])]
    return [Found(distance[start:stop], position[start:stop]) for start, stop in limits]


def merge(parts: Sequence[Found], k: int) -> Found:
    """Return the k nearest codes of the results in consecutive ranges of codes."""
    if len(parts) == 1:
        return parts[0]
    distance = np.concatenate([part.distance for part in parts])
    position = np.concatenate([part.position for part in parts])
    order = np.argsort(distance, kind="stable")[:k]
    return Found(distance[order], position[order])
