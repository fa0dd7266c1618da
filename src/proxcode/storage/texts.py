"""Strings as two arrays: their UTF-8 bytes, one string after another, and the end of each string."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Strings whose keys are computed at a time.
BLOCK = 65_536
# An odd number without small powers: the base of the polynomial whose value is a key.
BASE = np.uint64(0x9E3779B97F4A7C15)


class Texts(NamedTuple):
    """Strings: the bytes of string i are those from ends[i - 1], or 0, to ends[i] - 1.

    Examples
    --------
    >>> texts = Texts.of(["a.jpg", "ö", ""])
    >>> texts.ends, texts.at(np.array([1, 2, 0]))
    (array([5, 7, 7]), ['ö', '', 'a.jpg'])
    """

    data: NDArray[np.uint8]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, values: Sequence[str]) -> Texts:
        """Return strings as arrays. Raises ValueError for a string that is not valid Unicode, or contains NUL."""
        if len(values) == 0:
            return cls(np.empty(0, np.uint8), np.empty(0, np.int64))
        try:
            joined = np.frombuffer("\0".join(values).encode(), np.uint8)
        except UnicodeEncodeError as error:
            wrong = next(value for value in values if not value.isascii() and not _is_unicode(value))
            raise ValueError(f"ids contains {wrong!r}, which is not valid Unicode: pass another id.") from error
        is_between = joined == 0
        stops = np.flatnonzero(is_between)
        if len(stops) >= len(values):
            wrong = next(value for value in values if "\0" in value)
            raise ValueError(f"ids contains {wrong!r}: expected strings without the character NUL.")
        return cls(joined[~is_between], np.append(stops, len(joined)) - np.arange(len(values)))

    def chosen(self, positions: NDArray[np.int64]) -> Texts:
        """Return the strings at these positions."""
        ends = self.ends[positions]
        starts = np.where(positions > 0, self.ends[positions - 1], 0)
        lengths = ends - starts
        new_ends = np.cumsum(lengths)
        byte = np.arange(lengths.sum()) + np.repeat(starts - (new_ends - lengths), lengths)
        return Texts(self.data[byte], new_ends)

    def kept(self, is_kept: NDArray[np.bool_]) -> Texts:
        """Return some of the strings, in their order."""
        lengths = np.diff(self.ends, prepend=0)
        return Texts(self.data[np.repeat(is_kept, lengths)], np.cumsum(lengths[is_kept]))

    def joined(self, other: Texts) -> Texts:
        """Append strings."""
        return Texts(np.concatenate([self.data, other.data]), np.concatenate([self.ends, other.ends + len(self.data)]))

    def at(self, positions: NDArray[np.int64]) -> list[str]:
        """Return the strings at these positions as a list."""
        data, ends = self.chosen(positions)
        joined = np.zeros(len(data) + len(ends), np.uint8)
        # Between two strings there is a byte 0.
        joined[np.arange(len(data)) + np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))] = data
        return joined[:-1].tobytes().decode().split("\0") if len(ends) else []

    def keys(self) -> NDArray[np.uint64]:
        """Return a 64-bit key of each string: a polynomial in its bytes modulo 2**64."""
        keys = np.zeros(len(self.ends), np.uint64)
        for first in range(0, len(self.ends), BLOCK):
            ends = self.ends[first : first + BLOCK]
            starts = np.append(self.ends[first - 1] if first else 0, ends[:-1])
            lengths = ends - starts
            powers = np.cumprod(np.full(int(lengths.max()), BASE))
            place = np.arange(ends[-1] - starts[0]) + np.repeat(starts[0] - starts, lengths)
            terms = self.data[starts[0] : ends[-1]] * powers[place]
            is_given = lengths > 0
            if is_given.any():
                keys[first : first + BLOCK][is_given] = np.add.reduceat(terms, starts[is_given] - starts[0])
        return keys

    def equal(self, rows: NDArray[np.int64], other: Texts, other_rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for each pair of rows whether the strings are equal."""
        pairs = zip(self.at(rows), other.at(other_rows), strict=True)
        return np.fromiter((one == another for one, another in pairs), bool, len(rows))

    def check(self, in_full: bool) -> None:
        """Raise ValueError for arrays, read from a file, that do not represent strings; `in_full` reads all bytes."""
        data, ends = self
        if data.dtype != np.uint8 or ends.dtype != np.int64 or data.ndim != 1 or ends.ndim != 1:
            raise ValueError("its string ids are not stored as bytes and ends; save the index again")
        if len(data) != (ends[-1] if len(ends) else 0):
            raise ValueError("the ends of its string ids do not fit to their bytes; save the index again")
        if in_full and ((np.diff(ends, prepend=0) < 0).any() or (data == 0).any()):
            raise ValueError("its string ids overlap or contain NUL; save the index again")


def as_object_array(values: Sequence[str]) -> NDArray[Any]:
    """Return strings as a vector of Python objects, whose memory does not depend on the longest of them."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
