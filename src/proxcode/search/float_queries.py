"""Float queries: distances from real-valued queries to packed codes, given by lookup tables.

1. The distance of query q to a code c is offset(c) + sum over bytes b of tables[q, b, c_b].
2. Weights per bit become one table of 256 sums for each byte.
3. The offset depends on the stored code alone, for example its squared norm after decoding, and is computed once per
   stored code.

All sums are in single precision, in the order of the bytes, here and in the kernels: a search returns exactly the
distances that `FloatQueries.distances` returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.hamming import Codes, check_codes
from proxcode.stores.base import check_same_model
from proxcode.stores.rescoring import Rescoring
from proxcode.utils.validation import check_integer, check_number

Floats = NDArray[np.float32]
Offsets = Callable[[Codes], ArrayLike]

# Largest magnitude of an offset and of the sum of a query's tables: the sum of both fits into single precision.
LARGEST = 1e38


class FloatQueries:
    """Real-valued queries that are compared with packed codes by lookup tables over the bytes of a code.

    The distance from query q to a code c is offset(c) + sum over bytes b of tables[q, b, c_b]. `HammingIndex.search`
    and `HammingIndex.within` take float queries in place of packed codes. A query takes 1 KiB of memory per byte of a
    code.

    Parameters
    ----------
    tables : array of shape (n_queries, n_bytes, 256)
        Entry [q, b, v] is the contribution to the distance of query q if byte b of a code is v; converted to float32.
    offsets : callable, default=None
        A function that takes packed codes of shape (n_codes, n_bytes) and returns their offsets, shape (n_codes,). It
        has to be hashable: an index stores the offsets of its codes, 4 bytes per code, and uses them for later queries
        whose `offsets` compares equal. None: all offsets are 0.
    fingerprint : str, default=None
        That of the model whose codes the queries are compared with; an index of another model refuses them.

    Examples
    --------
    >>> import numpy as np
    >>> from proxcode import HammingIndex
    >>> index = HammingIndex(n_bits=8).add(np.array([[3], [0], [7]], np.uint8))
    >>> squares = (np.arange(256.0) - 2.5) ** 2
    >>> index.search(FloatQueries(squares.reshape(1, 1, 256)), k=2)
    Neighbors(distance=array([[0.25, 6.25]], dtype=float32), neighbor=array([[0, 1]]))
    """

    def __init__(self, tables: ArrayLike, offsets: Offsets | None = None, *, fingerprint: str | None = None) -> None:
        self.tables = _check_tables(tables)
        if offsets is not None:
            _check_function(offsets)
        self.offsets = offsets
        self.fingerprint = fingerprint

    @classmethod
    def from_weights(cls, weights: ArrayLike, *, fingerprint: str | None = None) -> FloatQueries:
        """Return queries for a weighted Hamming distance.

        The distance is the sum of `|weights[q, j]|` over the bits j in which a code differs from the signs of the
        weights; bit j of a query is 1 where weights[q, j] >= 0. With the hyperbolic tangent of a model's margins as
        weights, it is the distance of `asymmetric_distances`.

        Parameters
        ----------
        weights : array of shape (n_queries, n_bits)
        fingerprint : str, default=None
            As in the constructor.

        Examples
        --------
        >>> from proxcode import pack
        >>> queries = FloatQueries.from_weights([[0.5, -2.0, 1.0]])
        >>> queries.distances(pack([[1, 0, 1], [0, 0, 1], [1, 1, 0]]))
        array([[0. , 0.5, 3. ]], dtype=float32)
        """
        given = _real_array("weights", weights, "(n_queries, n_bits)", 2)
        n_queries, n_bits = given.shape
        if n_bits == 0:
            raise ValueError(f"weights has shape {given.shape}: expected at least one column, one per bit.")
        # Comparisons with NaN are false.
        if not (np.abs(given).sum(axis=1, dtype=np.float64) <= LARGEST).all():
            raise ValueError(f"weights contains NaN, infinity or sums above {LARGEST:g}: expected finite weights.")
        n_bytes = -(-n_bits // 8)
        padded = np.zeros((n_queries, 8 * n_bytes), np.float32)
        padded[:, :n_bits] = given
        # Cost of each bit of a code being 0 and being 1.
        costs = np.stack([np.where(padded >= 0, padded, 0), np.where(padded >= 0, 0, -padded)], axis=-1)
        costs = costs.reshape(n_queries, n_bytes, 8, 1, 2)
        tables = np.zeros((n_queries, n_bytes, 1), np.float32)
        # The first bit of a byte is its highest: each further bit doubles the number of values.
        for bit in range(8):
            tables = (tables[..., None] + costs[:, :, bit]).reshape(n_queries, n_bytes, 2 << bit)
        return cls(tables, fingerprint=fingerprint)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays that a cluster sends may be read-only, for which Numba would compile the kernels again.
        self.__dict__.update(state, tables=np.require(state["tables"], requirements=["C", "W"]))

    def __len__(self) -> int:
        return len(self.tables)

    def __repr__(self) -> str:
        return f"FloatQueries(n_queries={len(self)}, n_bytes={self.n_bytes}, offsets={self.offsets})"

    @property
    def n_bytes(self) -> int:
        """Bytes per code."""
        return self.tables.shape[1]

    def distances(self, codes: ArrayLike, queries: slice = slice(None)) -> Floats:
        """Compute the distances from the queries to packed codes.

        Parameters
        ----------
        codes : array of uint8, shape (n_codes, n_bytes)
        queries : slice, default=slice(None)
            Rows of the queries; all by default.

        Returns
        -------
        ndarray of float32, shape (n_queries, n_codes)
        """
        codes, tables = check_codes(codes), self.tables[queries]
        if codes.shape[1] != self.n_bytes:
            raise ValueError(
                f"codes has {codes.shape[1]} bytes per row and the float queries have tables for {self.n_bytes} bytes: "
                "expected equal widths."
            )
        out = np.zeros((len(tables), len(codes)), np.float32)
        if self.offsets is not None:
            out += offsets_of(self.offsets, codes)
        for byte in range(self.n_bytes):
            out += tables[:, byte][:, codes[:, byte]]
        return out


def offsets_of(function: Offsets, codes: Codes) -> Floats:
    """Return the offsets of packed codes. Raises ValueError unless they are one finite number per code."""
    values = np.asarray(function(codes))
    if values.shape != (len(codes),) or values.dtype.kind not in "fiu":
        raise ValueError(
            f"offsets returned dtype {values.dtype} and shape {values.shape} for {len(codes)} codes: expected one real "
            "number per code."
        )
    # Comparisons with NaN are false.
    if len(values) and not (np.abs(values) <= LARGEST).all():
        raise ValueError(f"offsets returned NaN or a magnitude above {LARGEST:g}: expected finite offsets.")
    # A sum that starts with +0 is never -0, which the kernels would order before +0.
    return values.astype(np.float32) + np.float32(0)


class ByFloatQueries(Rescoring):
    """Rescoring by the distance of float queries.

    Parameters
    ----------
    queries : FloatQueries
    """

    def __init__(self, queries: FloatQueries) -> None:
        self.queries = queries

    def __len__(self) -> int:
        return len(self.queries)

    def distances(self, query: int, codes: Codes, ids: NDArray[np.int64]) -> Floats:
        """Return the distances from one float query to its candidates."""
        return self.queries.distances(codes, slice(query, query + 1))[0]


def check_queries(
    queries: ArrayLike | FloatQueries, n_bits: int, fingerprint: str | None = None
) -> Codes | FloatQueries:
    """Validate queries. Raises ValueError unless they are packed codes of `n_bits` bits or float queries for such.

    Float queries may know their model: they are refused where `fingerprint` is that of another one.
    """
    if not isinstance(queries, FloatQueries):
        return check_codes(queries, n_bits)
    n_bytes = -(-n_bits // 8)
    if queries.n_bytes != n_bytes:
        raise ValueError(
            f"the float queries have tables for {queries.n_bytes} bytes: expected {n_bytes} bytes for {n_bits} bits."
        )
    check_same_model(fingerprint, queries.fingerprint)
    return queries


def check_radius(radius: float, queries: Codes | FloatQueries) -> float:
    """Validate a radius. Raises unless it is a number, for packed codes an integer of at least 0."""
    return check_number("radius", radius) if isinstance(queries, FloatQueries) else check_integer("radius", radius, 0)


def _check_tables(tables: ArrayLike) -> Floats:
    array = _real_array("tables", tables, "(n_queries, n_bytes, 256)", 3)
    if array.shape[1] == 0 or array.shape[2] != 256:
        raise ValueError(
            f"tables has shape {array.shape}: expected (n_queries, n_bytes, 256), one entry per value of each byte."
        )
    with np.errstate(over="ignore"):
        # Numba would compile the kernels again for arrays that are read-only.
        checked: Floats = np.require(array, np.float32, ["C", "W"])
    largest = np.maximum(checked.max(axis=2), -checked.min(axis=2)).sum(axis=1, dtype=np.float64)
    # Comparisons with NaN are false.
    if not (largest <= LARGEST).all():
        query = int(np.flatnonzero(~(largest <= LARGEST))[0])
        raise ValueError(
            f"tables contains NaN, infinity or distances above {LARGEST:g}, first in query {query}: expected finite "
            "contributions."
        )
    return checked


def _real_array(name: str, values: ArrayLike, shape: str, n_dimensions: int) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != n_dimensions or array.dtype.kind not in "fiu":
        raise ValueError(
            f"{name} has dtype {array.dtype} and shape {array.shape}: expected real numbers of shape {shape}."
        )
    return array


def _check_function(offsets: Offsets) -> None:
    if not callable(offsets):
        raise TypeError(f"offsets={offsets!r}: expected None or a function of packed codes.")
    try:
        hash(offsets)
    except TypeError as error:
        raise TypeError(
            f"offsets={offsets!r}: expected a hashable function, by which an index stores the offsets of its codes; "
            "define __eq__ and __hash__."
        ) from error
