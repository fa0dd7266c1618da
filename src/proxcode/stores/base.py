"""The contract of all stores of codes: the in-memory `HammingIndex` and the stores of this package.

A further store is a subclass of `CodeStore` that implements five methods. `hamming.check_codes` and `ids.check_ids` (or
`ids.Ids`, if the store does not keep ids itself) validate the arguments, so that the same mistake raises the same error
in every store.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from numpy.typing import ArrayLike

from proxcode.stores.results import Neighborhoods, Neighbors
from proxcode.utils.validation import check_whole

MAX_BITS = 1024


class CodeStore(ABC):
    """Packed codes with integer ids, searched by Hamming distance.

    Parameters
    ----------
    n_bits : int
        Code length in bits, from 1 to 1024.
    """

    def __init__(self, n_bits: int) -> None:
        self.n_bits = check_whole("n_bits", n_bits, 1, MAX_BITS)

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of stored codes."""

    @abstractmethod
    def add(self, codes: ArrayLike, ids: ArrayLike | None = None) -> Self:
        """Add codes.

        Parameters
        ----------
        codes : array of uint8, shape (n, ceil(n_bits / 8))
            Packed codes.
        ids : array of int64, shape (n,), default=None
            Ids of the codes, distinct and not yet in the store. None continues from the largest stored id, or from 0 in
            an empty store.
        """

    @abstractmethod
    def remove(self, ids: ArrayLike) -> Self:
        """Remove codes; the remaining codes keep their order.

        Parameters
        ----------
        ids : array of int64
            Ids of stored codes. If one of them is not in the store, a ValueError is raised and nothing is removed.
        """

    @abstractmethod
    def search(self, codes: ArrayLike, k: int = 10) -> Neighbors:
        """Find the k nearest codes of each query.

        Parameters
        ----------
        codes : array of uint8, shape (n_queries, ceil(n_bits / 8))
            Packed codes of the queries.
        k : int, default=10
            Number of neighbours per query.

        Returns
        -------
        Neighbors
            Arrays of shape (n_queries, min(k, number of stored codes)).
        """

    @abstractmethod
    def within(self, codes: ArrayLike, radius: int) -> Neighborhoods:
        """Find all codes at Hamming distance at most `radius`.

        Parameters
        ----------
        codes : array of uint8, shape (n_queries, ceil(n_bits / 8))
            Packed codes of the queries.
        radius : int
            Largest Hamming distance, inclusive. For the codes of a model: its `radius_`.
        """

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_bits={self.n_bits}), {len(self):,} codes"
