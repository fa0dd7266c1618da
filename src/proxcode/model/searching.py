"""From a fitted model to a search: an index of codes, and queries that are more than codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from proxcode.hashing import HashFunction
from proxcode.utils.validation import check_integer, check_samples, in_units

if TYPE_CHECKING:
    from proxcode.hamming import Codes
    from proxcode.search import FloatQueries, HammingIndex, Neighbors, ShardedIndex
    from proxcode.stores import CodeStore


# Float queries that are searched for at a time.
BATCH = 4096


class SearchingMixin:
    """Methods of a fitted model that search needs."""

    n_bits_: int
    hash_function_: HashFunction
    fingerprint: Callable[..., str]
    encode: Callable[..., Codes]
    _unit: float

    def query(self, X: ArrayLike) -> FloatQueries:
        """Return samples as float queries, which `index.search` compares with codes by more than their bits.

        Where bits are learned from the samples alone, as for top-k search, the distance is that of the sample from the
        decoded code, squared. With labels, bits are weighted by the code to expect of a near sample: the mean codes of
        the labels, weighted by the posteriors of the query. Otherwise they are weighted by the margins of the query, as
        in `asymmetric_distances`. The codes must have all `n_bits_` bits. A query takes 1 KiB for each byte of a code:
        pass large sets in batches. The last digits of distances may depend on the size of a batch.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> X, _ = load_digits(return_X_y=True)
        >>> from proxcode import ProximityPreservingCode
        >>> model = ProximityPreservingCode(n_bits=32, random_state=0).fit(X)
        >>> model.index(model.codes_).search(model.query(X[:2]), k=1).neighbor.ravel()
        array([0, 1])
        """
        from proxcode.search import FloatQueries

        check_is_fitted(self, "n_bits_")
        samples = in_units(check_samples(self, X, reset=False), self._unit)
        tables = self.hash_function_.query_tables(samples)
        if tables is None:
            weights = self.hash_function_.query_weights(samples, self.n_bits_)
            return FloatQueries.from_weights(weights, fingerprint=self.fingerprint())
        return FloatQueries(*tables, fingerprint=self.fingerprint())

    def index(self, codes: ArrayLike, ids: ArrayLike | None = None, *, n_bits: int | None = None) -> HammingIndex:
        """Return an index of codes, to search among them.

        Parameters
        ----------
        codes : array of uint8, shape (n_codes, ceil(n_bits / 8))
            Codes returned by `encode`.
        ids : array of int64, default=None
            Identifiers of the codes; None is 0, 1, 2, ...
        n_bits : int, default=None
            As in `encode`.
        """
        from proxcode.search import HammingIndex

        check_is_fitted(self, "n_bits_")
        n_bits = self.n_bits_ if n_bits is None else check_integer("n_bits", n_bits, 1, self.n_bits_)
        return HammingIndex(n_bits, model=self.fingerprint(n_bits)).add(codes, ids)

    def search(
        self, store: CodeStore | ShardedIndex, X: ArrayLike, k: int = 10, *, oversample: float = 4.0
    ) -> Neighbors:
        """Find the neighbours of samples in any store, in two stages.

        The store finds the nearest `oversample` times k codes by Hamming distance; the codes of these candidates are
        then compared with the samples themselves, as float queries (see `query`). A store that is known to hold codes
        of another model raises a ValueError.

        Parameters
        ----------
        store : CodeStore or ShardedIndex
            A `HammingIndex`, `ShardedIndex` or a store of `proxcode.stores`, with codes of all `n_bits_` bits.
        X : array of shape (n_queries, n_features)
        k : int, default=10
            Number of neighbours per sample.
        oversample : float, default=4.0
            Number of candidates per neighbour.

        Returns
        -------
        Neighbors
            As in `CodeStore.search`; distances are those of float queries.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> from proxcode import ProximityPreservingCode
        >>> model = ProximityPreservingCode(n_bits=32, random_state=0).fit(X[:1000], y[:1000])
        >>> store = model.index(model.encode(X[:1000]))
        >>> y[model.search(store, X[1000:1002], k=3).neighbor], y[1000:1002]
        (array([[1, 1, 1],
               [4, 4, 4]]), array([1, 4]))
        """
        from proxcode.search import ByFloatQueries, Neighbors

        check_is_fitted(self, "n_bits_")
        if store.n_bits != self.n_bits_:
            raise ValueError(
                f"store has codes of {store.n_bits} bits, the model of {self.n_bits_}: two stages need codes of all "
                f"bits; encode them again, or search without it by store.search(model.encode(X, {store.n_bits}))."
            )
        store.check_model(self)
        samples = check_samples(self, X, reset=False)
        found = []
        # Each float query takes a kilobyte for each byte of a code.
        for start in range(0, max(1, len(samples)), BATCH):
            batch = samples[start : start + BATCH]
            rescore = ByFloatQueries(self.query(batch))
            found.append(store.search(self.encode(batch), k, rescore=rescore, oversample=oversample))
        return Neighbors.joined(found)
