"""Binary codes: packed bytes for users and databases, 64-bit words for the kernels.

A code of p bits is stored in ceil(p / 8) bytes in the bit order of `numpy.packbits`; n codes are an array of shape (n,
ceil(p / 8)). The kernels read the same bytes as little-endian 64-bit words, one plane per word: an array of shape
(n_words, n).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.utils.threads import in_threads
from proxcode.utils.validation import check_integer

Codes = NDArray[np.uint8]
Words = NDArray[np.uint64]

WORD = 64


def pack(bits: ArrayLike) -> Codes:
    """Pack a 0/1 matrix of shape (n, p) into bytes of shape (n, ceil(p / 8)).

    Examples
    --------
    >>> pack([[1, 0, 0, 0, 0, 0, 0, 1, 1]])
    array([[129, 128]], dtype=uint8)
    """
    bits = np.asarray(bits)
    if bits.ndim != 2:
        raise ValueError(f"bits has shape {bits.shape}: expected a matrix of shape (n_samples, n_bits).")
    if bits.dtype != bool and bits.size and not np.isin(bits, (0, 1)).all():
        raise ValueError(f"bits has values from {bits.min()} to {bits.max()}: expected only 0 and 1.")
    return np.packbits(bits.astype(bool), axis=1)


def unpack(codes: ArrayLike, n_bits: int) -> Codes:
    """Unpack codes into a 0/1 matrix of shape (n, n_bits); the inverse of `pack`.

    Examples
    --------
    >>> unpack(pack([[1, 0, 1]]), n_bits=3)
    array([[1, 0, 1]], dtype=uint8)
    """
    codes = check_codes(codes)
    n_bytes = codes.shape[1]
    n_bits = check_integer("n_bits", n_bits, 0, 8 * n_bytes, f" for codes of {n_bytes} bytes")
    return np.unpackbits(codes, axis=1, count=n_bits)


def check_codes(codes: ArrayLike, n_bits: int | None = None) -> Codes:
    """Validate packed codes. Raises ValueError unless `codes` is a uint8 matrix of the right width.

    Parameters
    ----------
    codes : array of uint8, shape (n, n_bytes)
    n_bits : int, default=None
        Code length: the width must be ceil(n_bits / 8) bytes, and the bits after the first `n_bits` must be zero. None
        accepts any width.
    """
    codes = np.asarray(codes)
    if codes.dtype != np.uint8 or codes.ndim != 2:
        raise ValueError(
            f"codes has dtype {codes.dtype} and shape {codes.shape}: expected a uint8 matrix of shape "
            "(n_samples, n_bytes), as returned by encode()."
        )
    if n_bits is None:
        return codes
    n_bytes, n_unused = -(-n_bits // 8), -n_bits % 8
    if codes.shape[1] != n_bytes:
        raise ValueError(
            f"codes has {codes.shape[1]} bytes per row: expected {n_bytes} bytes for {n_bits} bits; encode with "
            f"n_bits={n_bits}."
        )
    if n_unused and (codes[:, -1] & ((1 << n_unused) - 1)).any():
        raise ValueError(f"codes has nonzero bits after the first {n_bits}: expected zeros, as returned by encode().")
    return codes


def to_words(codes: ArrayLike) -> Words:
    """Convert packed codes of shape (n, n_bytes) to word planes of shape (n_words, n)."""
    codes = check_codes(codes)
    n, n_bytes = codes.shape
    n_words = max(1, -(-n_bytes // 8))
    padded = np.zeros((n, 8 * n_words), np.uint8)
    padded[:, :n_bytes] = codes
    return np.ascontiguousarray(padded.view("<u8").T)


class GrowingCode:
    """Codes of n samples; each call of `append` adds one bit.

    Parameters
    ----------
    n_samples : int

    Attributes
    ----------
    words : ndarray of uint64, shape (n_words, n_samples)
        Word planes of the codes.
    n_bits : int
        Current code length.
    """

    def __init__(self, n_samples: int) -> None:
        self.words: Words = np.zeros((1, n_samples), np.uint64)
        self.n_bits = 0

    @classmethod
    def from_packed(cls, codes: ArrayLike, n_bits: int) -> GrowingCode:
        """Start from the first `n_bits` bits of packed codes."""
        codes = pack(unpack(codes, n_bits))
        code = cls(codes.shape[0])
        code.words, code.n_bits = to_words(codes), n_bits
        return code

    def append(self, bit: NDArray[np.int8]) -> None:
        """Append one bit per sample, a vector of -1 and +1; +1 is stored as 1, -1 as 0."""
        word, place = divmod(self.n_bits, WORD)
        if word == len(self.words):
            self.words = np.vstack([self.words, np.zeros_like(self.words[:1])])
        # The bit order of packbits, read as little-endian words.
        shift = np.uint64(8 * (place // 8) + 7 - place % 8)
        # Objects that refer to the words of the shorter code stay valid.
        self.words = self.words.copy()
        self.words[word] |= (bit > 0).astype(np.uint64) << shift
        self.n_bits += 1

    def take(self, samples: NDArray[np.int64]) -> GrowingCode:
        """Return the codes of a subset of the samples, given by row numbers."""
        code = GrowingCode(0)
        code.words, code.n_bits = np.ascontiguousarray(self.words[:, samples]), self.n_bits
        return code

    def packed(self) -> Codes:
        """Return the codes as bytes, shape (n_samples, ceil(n_bits / 8))."""
        as_bytes = np.ascontiguousarray(self.words.T).astype("<u8", copy=False).view(np.uint8)
        return as_bytes[:, : -(-self.n_bits // 8)].copy()


def distances(a: ArrayLike, b: ArrayLike) -> NDArray[np.int64]:
    """Compute the Hamming distances between two sets of packed codes, shape (len(a), len(b)).

    Examples
    --------
    >>> distances(pack([[0, 0, 1]]), pack([[0, 0, 1], [1, 1, 0]]))
    array([[0, 3]])
    """
    a, b = check_codes(a), check_codes(b)
    if a.shape[1] != b.shape[1]:
        raise ValueError(
            f"codes have {a.shape[1]} and {b.shape[1]} bytes per row: expected equal widths; encode both with the same "
            "n_bits."
        )
    out = np.zeros((len(a), len(b)), np.int64)
    for word_a, word_b in zip(to_words(a), to_words(b), strict=True):
        out += np.bitwise_count(word_a[:, None] ^ word_b[None, :])
    return out


def as_margins(scores: ArrayLike) -> NDArray[np.float64]:
    """Return margins as a matrix in double precision; raise TypeError unless they are real numbers."""
    try:
        return np.atleast_2d(np.asarray(scores, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        raise TypeError("scores is not an array of real numbers: expected margins, as returned by scores(X).") from None


def asymmetric_distances(scores: ArrayLike, codes: ArrayLike) -> NDArray[np.float32]:
    """Compute distances between float queries, given by their margins, and packed codes, shape (n_queries, n_codes).

    The distance is the sum of `tanh |margin|` over the bits in which the code and the query differ. In contrast to the
    Hamming distance, a bit with a small margin, which little noise would flip, has a small weight.

    Parameters
    ----------
    scores : array of shape (n_queries, n_bits)
        Margins of the queries, as returned by `ProximityPreservingCode.scores`.
    codes : array of uint8, shape (n_codes, ceil(n_bits / 8))
        Packed codes.

    Examples
    --------
    >>> asymmetric_distances([[0.1, -9.0, 9.0]], pack([[0, 0, 1], [1, 1, 1]])).round(2)
    array([[0.1, 1. ]], dtype=float32)
    """
    from proxcode.utils.kernels import add_weighted_distances

    margins, codes = as_margins(scores), check_codes(codes)
    if not np.isfinite(margins).all():
        raise ValueError("scores contains NaN or infinity: expected finite margins, as returned by scores(X).")
    n_bytes = -(-margins.shape[1] // 8)
    if codes.shape[1] != n_bytes:
        raise ValueError(
            f"scores has {margins.shape[1]} columns and codes has {codes.shape[1]} bytes per row: expected {n_bytes} "
            "bytes per row."
        )
    weights = np.zeros((len(margins), 8 * n_bytes), np.float32)
    weights[:, : margins.shape[1]] = np.tanh(np.abs(margins))
    out = np.zeros((len(margins), len(codes)), np.float32)
    signs = pack(margins >= 0)
    in_threads(lambda query: add_weighted_distances(signs, weights, codes, query, out), range(len(out)))
    return out


def lengths_to_compare(longest: int, has_prefixes: bool) -> list[int]:
    """Return the lengths at which codes are compared by default: 8, 16, 32, ... and the longest.

    Where a shorter code is no prefix of a longer one, only the longest.

    Examples
    --------
    >>> lengths_to_compare(20, has_prefixes=True)
    [8, 16, 20]
    """
    return [*(2**k for k in range(3, 11) if 2**k < longest), longest] if has_prefixes else [longest]
