"""Codes as bytes for people and databases, and as 64-bit words for the kernels.

A code of p bits is kept in ceil(p / 8) bytes, in the bit order of `numpy.packbits`; a set of n codes is an array of
shape (n, ceil(p / 8)). The kernels read the same bytes as little-endian 64-bit words, one plane per word: an array of
shape (n_words, n). The number of words is a power of two, the last ones zero where need be: kernels are compiled for
each number of words, and so for five of them up to 1,024 bits.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
        raise ValueError(f"bits must be a matrix of shape (n, p); got {bits.ndim} dimension(s).")
    if bits.dtype != bool and bits.size and not np.isin(bits, (0, 1)).all():
        raise ValueError(f"bits must be 0 or 1; got values from {bits.min()} to {bits.max()}.")
    return np.packbits(bits.astype(bool), axis=1)


def unpack(codes: ArrayLike, n_bits: int) -> Codes:
    """Give back the 0/1 matrix of shape (n, n_bits) that `pack` packed.

    Examples
    --------
    >>> unpack(pack([[1, 0, 1]]), n_bits=3)
    array([[1, 0, 1]], dtype=uint8)
    """
    codes = check_codes(codes)
    if not 0 <= n_bits <= 8 * codes.shape[1]:
        raise ValueError(
            f"n_bits={n_bits} does not fit codes of {codes.shape[1]} bytes: use 0 to {8 * codes.shape[1]}."
        )
    return np.unpackbits(codes, axis=1, count=n_bits)


def check_codes(codes: ArrayLike) -> Codes:
    """Return `codes` as a uint8 matrix or say why they are none."""
    codes = np.asarray(codes)
    if codes.dtype != np.uint8 or codes.ndim != 2:
        raise ValueError(
            f"codes must be a uint8 matrix of shape (n, bytes), as encode() gives; got {codes.dtype} of shape "
            f"{codes.shape}."
        )
    return codes


def to_words(codes: ArrayLike) -> Words:
    """Turn packed codes of shape (n, bytes) into word planes of shape (n_words, n)."""
    codes = check_codes(codes)
    n, n_bytes = codes.shape
    n_words = _power_of_two(-(-n_bytes // 8))
    padded = np.zeros((n, 8 * n_words), np.uint8)
    padded[:, :n_bytes] = codes
    return np.ascontiguousarray(padded.view("<u8").T)


def _power_of_two(at_least: int) -> int:
    return 1 << max(0, at_least - 1).bit_length()


class GrowingCode:
    """The codes of n points, one bit longer at each `append`.

    Attributes
    ----------
    words : ndarray of uint64, shape (n_words, n)
        The code so far, ready for the kernels.
    n_bits : int
    """

    def __init__(self, n_samples: int) -> None:
        self.words: Words = np.zeros((1, n_samples), np.uint64)
        self.n_bits = 0

    @classmethod
    def from_packed(cls, codes: ArrayLike, n_bits: int) -> "GrowingCode":
        """Go on from codes already packed."""
        codes = pack(unpack(codes, n_bits))
        code = cls(codes.shape[0])
        code.words, code.n_bits = to_words(codes), n_bits
        return code

    def append(self, side: NDArray[np.int8]) -> None:
        """Append a bit given as a vector of -1 and +1; +1 is stored as a one."""
        word, place = divmod(self.n_bits, WORD)
        if word == len(self.words):
            self.words = np.vstack([self.words, np.zeros_like(self.words)])
        shift = np.uint64(8 * (place // 8) + 7 - place % 8)  # where packbits puts it, read as little-endian words
        self.words = self.words.copy()  # graphs of the shorter code stay valid
        self.words[word] |= (side > 0).astype(np.uint64) << shift
        self.n_bits += 1

    def take(self, points: NDArray[np.int64]) -> "GrowingCode":
        """Return the codes of some of the points."""
        code = GrowingCode(0)
        code.words, code.n_bits = np.ascontiguousarray(self.words[:, points]), self.n_bits
        return code

    def packed(self) -> Codes:
        """Return the codes as bytes, shape (n, ceil(n_bits / 8))."""
        as_bytes = np.ascontiguousarray(self.words.T).astype("<u8", copy=False).view(np.uint8)
        return as_bytes[:, : -(-self.n_bits // 8)].copy()


def distances(a: ArrayLike, b: ArrayLike) -> NDArray[np.int64]:
    """Hamming distances between two sets of packed codes, shape (len(a), len(b)).

    Examples
    --------
    >>> distances(pack([[0, 0, 1]]), pack([[0, 0, 1], [1, 1, 0]]))
    array([[0, 3]])
    """
    a, b = check_codes(a), check_codes(b)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"codes of {a.shape[1]} and of {b.shape[1]} bytes cannot be compared: encode both alike.")
    out = np.zeros((len(a), len(b)), np.int64)
    for word_a, word_b in zip(to_words(a), to_words(b), strict=True):
        out += np.bitwise_count(word_a[:, None] ^ word_b[None, :])
    return out


def asymmetric_distances(scores: ArrayLike, codes: ArrayLike) -> NDArray[np.float32]:
    """Distances between queries given by their margins and packed codes, shape (n_queries, n_codes).

    Bits in which a code differs from the query count by how sure the query is of them, tanh |margin|, in place of 1: a
    bit that a little noise would turn tells little.

    Parameters
    ----------
    scores : array of shape (n_queries, n_bits)
        What `ProximityPreservingCode.scores` gives.
    codes : array of uint8, shape (n_codes, ceil(n_bits / 8))

    Examples
    --------
    >>> asymmetric_distances([[0.1, -9.0, 9.0]], pack([[0, 0, 1], [1, 1, 1]])).round(2)
    array([[0.1, 1. ]], dtype=float32)
    """
    from proxcode.utils.kernels import add_weighted_distances

    margins, codes = np.atleast_2d(np.asarray(scores, dtype=np.float64)), check_codes(codes)
    if not np.isfinite(margins).all():
        raise ValueError("scores contain NaN or infinity: give the margins of `scores(X)`.")
    n_bytes = -(-margins.shape[1] // 8)
    if codes.shape[1] != n_bytes:
        raise ValueError(f"scores of {margins.shape[1]} bits cannot be compared with codes of {codes.shape[1]} bytes.")
    weights = np.zeros((len(margins), 8 * n_bytes), np.float32)
    weights[:, : margins.shape[1]] = np.tanh(np.abs(margins))
    out = np.zeros((len(margins), len(codes)), np.float32)
    add_weighted_distances(pack(margins >= 0), weights, codes, out)
    return out
