"""From a fitted model to a search: an index of codes, and queries that are more than codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from proxcode.hashing import HashFunction
from proxcode.utils.validation import check_samples, in_units

if TYPE_CHECKING:
    from proxcode.search import FloatQueries, HammingIndex


class SearchingMixin:
    """Methods of a fitted model that search needs."""

    n_bits_: int
    hash_function_: HashFunction
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
            return FloatQueries.from_weights(self.hash_function_.query_weights(samples, self.n_bits_))
        return FloatQueries(*tables)

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
        return HammingIndex(self.n_bits_ if n_bits is None else n_bits).add(codes, ids)
