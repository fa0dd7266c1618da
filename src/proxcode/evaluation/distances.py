"""Distances from queries to all samples of a database, for blocks of queries.

The database is read in pieces, in double precision: neither a copy of it nor a matrix of all pairs is formed.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.utils.validation import in_units, unit_of

Floats = NDArray[np.float64]

# Samples of the database that are converted to double precision at a time.
PIECE = 1024
# Rounding of squared distances by inner products, relative to the squared norms.
ROUNDING = 1e-12


class EuclideanDistances:
    """Squared Euclidean distances, of samples in units (see `unit_of`).

    Parameters
    ----------
    database, queries : ndarrays of shape (n_database, n_features) and (n_queries, n_features)
    """

    def __init__(self, database: NDArray[Any], queries: NDArray[Any]) -> None:
        self.database, self.queries, self.unit = database, queries, unit_of(database)
        # Centred samples have small norms, and with these the rounding is small.
        self.mean = in_units(database, self.unit).mean(axis=0, dtype=np.float64)
        squares = (_squared_norms(self._centred(database[rows])) for rows in pieces(len(database)))
        self.norms = np.concatenate(list(squares))

    def squared(self, queries: slice) -> tuple[Floats, Floats]:
        """Return the squared distances of some queries, shape (n, n_database), and their rounding, shape (n, 1)."""
        own = self._centred(self.queries[queries])
        norms = _squared_norms(own)[:, None]
        out = np.empty((len(own), len(self.database)))
        for rows in pieces(len(self.database)):
            out[:, rows] = norms + self.norms[rows] - 2.0 * (own @ self._centred(self.database[rows]).T)
        np.maximum(out, 0.0, out=out)
        return out, ROUNDING * (norms + self.norms.max())

    def _centred(self, X: NDArray[Any]) -> Floats:
        return np.subtract(in_units(X, self.unit), self.mean, dtype=np.float64)


class CosineDistances:
    """Distances 1 less the cosine of the angle; 1 where a vector is zero.

    Parameters
    ----------
    database : ndarray of shape (n_database, n_features)

    Examples
    --------
    >>> CosineDistances(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])).of(np.array([[2.0, 0.0]]))
    array([[0.        , 0.29289323, 1.        ]], dtype=float32)
    """

    def __init__(self, database: NDArray[Any]) -> None:
        self.database = database
        self.lengths = np.concatenate([_lengths(database[rows].astype(np.float64)) for rows in pieces(len(database))])

    def of(self, queries: NDArray[Any]) -> NDArray[np.float32]:
        """Return the distances of queries in single precision, in which those of equal samples are equal."""
        own = unit_rows(queries.astype(np.float64))
        out = np.empty((len(own), len(self.database)), np.float32)
        for rows in pieces(len(self.database)):
            out[:, rows] = 1.0 - own @ np.divide(self.database[rows], self.lengths[rows], dtype=np.float64).T
        return out


def unit_rows(X: NDArray[Any]) -> NDArray[Any]:
    """Return rows divided by their length, in their own precision; a row of zeros stays."""
    return X / _lengths(X)


def _lengths(X: NDArray[Any]) -> NDArray[Any]:
    """Return the lengths of rows, shape (n, 1); 1 for a row of zeros."""
    # Squares of quotients by the largest entry neither overflow nor vanish.
    largest = np.abs(X).max(axis=1, keepdims=True)
    largest[largest == 0] = 1
    lengths = largest * np.sqrt(_squared_norms(X / largest))[:, None]
    lengths[lengths == 0] = 1
    return lengths


def _squared_norms(X: NDArray[Any]) -> NDArray[Any]:
    return np.einsum("ij,ij->i", X, X)


def pieces(n: int) -> Iterator[slice]:
    """Yield slices of the samples of a database."""
    for start in range(0, n, PIECE):
        yield slice(start, min(start + PIECE, n))


def own_rows(database: NDArray[Any], queries: NDArray[Any]) -> NDArray[np.int64]:
    """Return the row of the database that equals each query, -1 where there is none.

    Row i belongs to query i where both sets are equal. Otherwise it is the first of several equal rows.

    Examples
    --------
    >>> own_rows(np.array([[1.0], [2.0], [2.0]]), np.array([[2.0], [3.0]]))
    array([ 1, -1])
    """
    if np.array_equal(database, queries):
        return np.arange(len(database))
    asked = [_digest(row) for row in queries]
    wanted = set(asked)
    first: dict[bytes, int] = {}
    for number, row in enumerate(database):
        digest = _digest(row)
        if digest in wanted:
            first.setdefault(digest, number)
    return np.array([first.get(digest, -1) for digest in asked], np.int64)


def _digest(row: NDArray[Any]) -> bytes:
    # A sum with +0 is never -0, which equals +0 and has other bytes.
    return hashlib.blake2b((row.astype(np.float64) + 0.0).tobytes(), digest_size=16).digest()
