"""The contract of all stores of codes: the in-memory `HammingIndex` and the stores of this package.

A further store is a subclass of `CodeStore` that implements seven methods. `hamming.check_codes` and `ids` validate the
arguments, so that the same mistake raises the same error in every store.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.hamming import Codes, check_codes
from proxcode.stores.ids import check_ids, not_stored
from proxcode.stores.rescoring import Rescoring, check_rescoring, n_candidates, rescored
from proxcode.stores.results import Neighborhoods, Neighbors
from proxcode.utils.validation import check_integer

MAX_BITS = 1024


class CodeStore(ABC):
    """Packed codes with integer ids, searched by Hamming distance.

    Parameters
    ----------
    n_bits : int
        Code length in bits, from 1 to 1024.
    model : ProximityPreservingCode or str, default=None
        The model whose codes are stored, or its `fingerprint(n_bits)`. It is kept with the codes, so that the codes of
        another model are refused. None: not known.

    Attributes
    ----------
    fingerprint : str or None
        That of the model whose codes are stored, None if it is not known.
    """

    def __init__(self, n_bits: int, *, model: Any = None) -> None:
        self.n_bits = check_integer("n_bits", n_bits, 1, MAX_BITS)
        self.fingerprint = fingerprint_of(model, self.n_bits)

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
    def upsert(self, codes: ArrayLike, ids: ArrayLike) -> Self:
        """Replace the codes of ids that are stored, and add the codes of the others.

        Parameters
        ----------
        codes : array of uint8, shape (n, ceil(n_bits / 8))
            Packed codes.
        ids : array of int64, shape (n,)
            Ids of the codes, distinct. A stored id keeps its place in the order in which codes were added.
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
    def get(self, ids: ArrayLike) -> Codes:
        """Return stored codes.

        Parameters
        ----------
        ids : array of int64, shape (n,)
            Ids of stored codes, in any order, also repeated. If one of them is not in the store, a ValueError is
            raised.

        Returns
        -------
        ndarray of uint8, shape (n, ceil(n_bits / 8))
        """

    @abstractmethod
    def _nearest(self, queries: Codes, k: int) -> Neighbors:
        """Find the k nearest codes of queries that were validated; `search` documents the result."""

    def search(
        self, codes: ArrayLike, k: int = 10, *, rescore: Rescoring | None = None, oversample: float = 4.0
    ) -> Neighbors:
        """Find the k nearest codes of each query.

        Parameters
        ----------
        codes : array of uint8, shape (n_queries, ceil(n_bits / 8))
            Packed codes of the queries.
        k : int, default=10
            Number of neighbours per query.
        rescore : Rescoring, default=None
            A finer distance that orders the candidates: `ByMargins`, `ByFloatQueries` or `ByDistance`.
        oversample : float, default=4.0
            With `rescore`, the nearest `oversample` times k codes are the candidates.

        Returns
        -------
        Neighbors
            Arrays of shape (n_queries, min(k, number of stored codes)), or narrower if an approximate or filtered
            search found fewer for all queries. Where it found fewer for one, the remaining ids are -1 and their
            distances -1, or infinity after rescoring.
        """
        queries, k = check_codes(codes, self.n_bits), check_integer("k", k, 1)
        check_rescoring(rescore, len(queries), oversample)
        found = self._nearest(queries, n_candidates(rescore, k, oversample))
        if rescore is None:
            return found
        is_found = found.distance >= 0
        codes, is_stored = self._stored_codes(found.neighbor[is_found])
        is_found[is_found] = is_stored
        order = np.argsort(~is_found, axis=1, kind="stable")
        neighbor = np.take_along_axis(found.neighbor, order, axis=1)
        return rescored(rescore, k, codes, neighbor, is_found.sum(axis=1))

    def _stored_codes(self, ids: NDArray[np.int64]) -> tuple[Codes, NDArray[np.bool_]]:
        """Return the codes of ids that were just found, and which of these are still stored.

        Codes are returned only for ids that are still stored.
        """
        return self.get(ids), np.ones(len(ids), bool)

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

    def check_model(self, model: Any) -> None:
        """Raise ValueError if the stored codes are known to be of another model.

        Parameters
        ----------
        model : ProximityPreservingCode, str or None
            A fitted model, or its `fingerprint(n_bits)`; None is not compared.
        """
        check_same_model(self.fingerprint, fingerprint_of(model, self.n_bits))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_bits={self.n_bits}), {len(self):,} codes"


class ServerStore(CodeStore):
    """A store in a server, where others may remove a code between two requests."""

    @abstractmethod
    def _stored_codes(self, ids: NDArray[np.int64]) -> tuple[Codes, NDArray[np.bool_]]:
        """Return the codes of those of the ids that are stored, and which these are."""

    def get(self, ids: ArrayLike) -> Codes:
        """Return stored codes; parameters as in `CodeStore.get`."""
        asked = check_ids(ids)
        codes, is_stored = self._stored_codes(asked)
        if not is_stored.all():
            raise not_stored(asked[~is_stored][0])
        return codes


def fingerprint_of(model: Any, n_bits: int) -> str | None:
    """Return the fingerprint of the first `n_bits` bits of a model, which may be given as that fingerprint or None."""
    if model is None or isinstance(model, str):
        return model
    if not hasattr(model, "fingerprint"):
        raise TypeError(f"model={model!r}: expected a fitted ProximityPreservingCode, its fingerprint or None.")
    return str(model.fingerprint(n_bits))


def check_fingerprint(stored: Any) -> str | None:
    """Validate a fingerprint that was read from a file or a database."""
    if stored is not None and not isinstance(stored, str):
        raise ValueError(f"its model is {stored!r}, not a fingerprint: write it again")
    return stored


def written_record(n_bits: int, fingerprint: str | None) -> str:
    """Return the text by which a database records the length and the model of its codes."""
    return json.dumps({"proxcode": {"n_bits": n_bits, "model": fingerprint}})


def read_record(text: str) -> tuple[int | None, str | None]:
    """Return the code length and the fingerprint in a text, None for each if `written_record` did not write it."""
    try:
        recorded = json.loads(text)["proxcode"]
        n_bits, fingerprint = recorded["n_bits"], recorded["model"]
    except (ValueError, TypeError, KeyError):
        return None, None
    if not isinstance(n_bits, int):
        raise ValueError(f"the record of the stored codes has n_bits={n_bits!r}: expected an integer; correct it.")
    return n_bits, check_fingerprint(fingerprint)


def check_same_model(stored: str | None, given: str | None) -> None:
    """Raise ValueError if two fingerprints, None for one that is not known, are of different models."""
    if stored is not None and given is not None and stored != given:
        raise ValueError(
            f"the stored codes are of the model {stored[:12]}, not of {given[:12]}: codes of different models cannot "
            "be compared; use the model that encoded them, or encode the samples again."
        )
