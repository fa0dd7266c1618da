"""Quantisers of FAISS as peers; they need `pip install 'proxcode[faiss]'`.

1. train a chain of FAISS: transformations of the samples, then an index that encodes the result,
2. the code is the bytes of FAISS (`sa_encode`), with the least significant bit of each byte first,
3. distance of a query to a code: for product codes and RaBitQ the estimate of the squared Euclidean distance between
   the query itself, not its code, and the encoded sample; for ITQ the Hamming distance.

FAISS trains and encodes on one thread, with a seed drawn from `random_state`: the codes do not depend on the number of
threads.
"""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from proxcode.hamming import Codes, check_codes, distances
from proxcode.peers._arrays import Matrix, Rng
from proxcode.peers._base import AxisPeer, Peer
from proxcode.utils.blocks import one_blas_thread
from proxcode.utils.validation import check_samples

Single = NDArray[np.float32]

# Largest number of bits of a sub-quantiser in FAISS.
SUB_BITS = 8
# Bits per component of RaBitQ's query: as accurate as the query itself, and ten times faster.
QUERY_BITS = 8


class Quantiser(Peer):
    """Base class of peers that train a chain of FAISS; a subclass builds it in `_chain`.

    Parameters are those of `Peer`.

    Attributes
    ----------
    index_ : faiss.IndexPreTransform
        Trained, without codes.
    code_size_ : int
        Number of bytes per code, ceil(n_bits / 8) unless stated otherwise.
    """

    # A code of FAISS has no prefix.
    def encode(self, X: ArrayLike) -> Codes:  # type: ignore[override]
        """Return the codes of FAISS, shape `(n, code_size_)`, with the least significant bit of each byte first."""
        check_is_fitted(self)
        return self._faiss_codes(self._check_samples(X, reset=False))

    def distances(self, X: ArrayLike, codes: ArrayLike) -> Single:
        """Return the estimated distances between samples and codes, shape (n, n_codes)."""
        check_is_fitted(self)
        queries, codes = self._check_samples(X, reset=False), check_codes(codes)
        if codes.shape[1] != self.code_size_:
            raise ValueError(
                f"codes have {codes.shape[1]} bytes but encode returns {self.code_size_}: pass codes of this model."
            )
        with _single_threaded_faiss(self) as faiss:
            for position in range(self.index_.chain.size()):
                queries = self.index_.chain.at(position).apply(queries)
            # A copy; older versions of FAISS cannot clone an index of RaBitQ.
            index = faiss.deserialize_index(faiss.serialize_index(faiss.downcast_index(self.index_.index)))
            return self._estimates(index, queries, np.ascontiguousarray(codes))

    def _check_samples(self, X: ArrayLike, *, reset: bool) -> Single:
        """Validate samples and convert them to single precision, the only one of FAISS."""
        samples = check_samples(self, X, reset=reset)
        with np.errstate(over="ignore"):
            single = np.ascontiguousarray(samples, dtype=np.float32)
        if not np.isfinite(single).all():
            raise ValueError("X has values beyond 3.4e38, and FAISS works in single precision: scale X down.")
        return single

    def _fit(self, X: Matrix, y: Any, rng: Rng) -> None:
        with _single_threaded_faiss(self) as faiss:
            index = self._chain(faiss, len(X), X.shape[1], int(rng.randint(2**31 - 1)))
            index.train(X)
        self.index_, self.code_size_ = index, int(index.sa_code_size())

    def _margins(self, X: Matrix) -> Matrix:
        bits = np.unpackbits(self._faiss_codes(X), axis=1, count=self.n_bits, bitorder="little")
        return np.where(bits, 1.0, -1.0)

    def _faiss_codes(self, X: Matrix) -> Codes:
        with _single_threaded_faiss(self):
            codes: Codes = self.index_.sa_encode(X)
        return codes

    @abstractmethod
    def _chain(self, faiss: Any, n: int, d: int, seed: int) -> Any:
        """Return the untrained chain for n samples with d features, or raise ValueError if it is not possible."""

    @abstractmethod
    def _estimates(self, index: Any, queries: Single, codes: Codes) -> Single:
        """Return the distances between transformed queries and codes; may modify `index`."""


class FaissPQ(Quantiser):
    """Product quantisation: features in groups of equal size, each encoded by the nearest of 2^b centroids.

    Jegou, Douze, Schmid, "Product Quantization for Nearest Neighbor Search" (TPAMI 2011), `faiss.IndexPQ`. b is the
    largest divisor of `n_bits` up to 8: 64 bits are eight groups of 8 bits, 50 are ten of 5, 12 are two of 6, and a
    prime number above 7 gives groups of 1 bit. If the groups do not divide the features, zeros are spread among these,
    which changes no distance. There are at most as many groups as features, and at least 2^b samples. Parameters and
    attributes are those of `Quantiser`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers import FaissPQ
    >>> X, _ = load_digits(return_X_y=True)
    >>> model = FaissPQ(n_bits=32, random_state=0).fit(X)
    >>> model.distances(X[:3], model.encode(X)).shape
    (3, 1797)
    """

    def _chain(self, faiss: Any, n: int, d: int, seed: int) -> Any:
        sub_bits = max(b for b in range(1, SUB_BITS + 1) if self.n_bits % b == 0)
        groups = self.n_bits // sub_bits
        if groups > d:
            raise ValueError(
                f"n_bits={self.n_bits}: FaissPQ forms {groups} groups of {sub_bits} bits, and X has n_features={d}; "
                f"pass at most {SUB_BITS * d} bits, a multiple of {SUB_BITS}."
            )
        if n < 2**sub_bits:
            raise ValueError(
                f"n_bits={self.n_bits}: FaissPQ learns {2**sub_bits} centroids, and X has n_samples={n}; pass at least "
                f"{2**sub_bits} samples."
            )
        width = groups * -(-d // groups)
        index = faiss.IndexPQ(width, groups, sub_bits)
        index.pq.cp.seed = seed
        # FAISS would print a warning about few samples to the standard error stream.
        index.pq.cp.min_points_per_centroid = 1
        return faiss.IndexPreTransform(faiss.RemapDimensionsTransform(d, width, True), index)

    def _estimates(self, index: Any, queries: Single, codes: Codes) -> Single:
        # FAISS sums the same squares group by group, in ten times the time.
        squared: Single = euclidean_distances(queries, index.sa_decode(codes), squared=True)
        return squared


class FaissOPQ(FaissPQ):
    """Product quantisation after a learned rotation.

    Ge, He, Ke, Sun, "Optimized Product Quantization" (TPAMI 2014), `faiss.OPQMatrix` before `faiss.IndexPQ`. If the
    groups do not divide the features, the rotation leaves out as many dimensions as exceed a multiple. Groups,
    parameters and attributes are those of `FaissPQ`.
    """

    def _chain(self, faiss: Any, n: int, d: int, seed: int) -> Any:
        plain = super()._chain(faiss, n, d, seed)
        product = faiss.downcast_index(plain.index).pq
        groups, sub_bits = product.M, product.nbits
        width = groups * (d // groups)
        rotation, index = faiss.OPQMatrix(d, groups, width), faiss.IndexPQ(width, groups, sub_bits)
        quantiser = faiss.ProductQuantizer(width, groups, sub_bits)
        for trained in (quantiser, index.pq):
            trained.cp.seed, trained.cp.min_points_per_centroid = seed, 1
        # FAISS does not own the quantiser that it trains the rotation with.
        rotation.pq, self._quantiser = quantiser, quantiser
        return faiss.IndexPreTransform(rotation, index)


class FaissRQ(Quantiser):
    """Residual quantisation: a code is the sum of one vector for each byte, found by beam search.

    Chen, Guan, Wang, "Approximate Nearest Neighbor Search by Residual Vector Quantization" (Sensors 2010),
    `faiss.IndexResidualQuantizer`. The number of bits is a multiple of 8. Parameters and attributes are those of
    `Quantiser`.
    """

    def _chain(self, faiss: Any, n: int, d: int, seed: int) -> Any:
        if self.n_bits % SUB_BITS or n < 2**SUB_BITS:
            raise ValueError(
                f"n_bits={self.n_bits}: FaissRQ needs a multiple of {SUB_BITS} bits and at least {2**SUB_BITS} samples."
            )
        index = faiss.IndexResidualQuantizer(d, self.n_bits // SUB_BITS, SUB_BITS)
        index.rq.cp.seed, index.rq.cp.min_points_per_centroid = seed, 1
        return faiss.IndexPreTransform(faiss.RemapDimensionsTransform(d, d, True), index)

    def _estimates(self, index: Any, queries: Single, codes: Codes) -> Single:
        squared: Single = euclidean_distances(queries, index.sa_decode(codes), squared=True)
        return squared


class FaissITQ(AxisPeer, Quantiser):
    """Iterative quantisation of FAISS: samples centred and of unit norm, principal components, rotated, signs.

    Gong, Lazebnik (CVPR 2011), `faiss.ITQTransform` before `faiss.IndexLSH`. Unlike `proxcode.peers.ITQ` it scales
    samples to unit norm. There are at most as many bits as features and samples. All samples are used, where the
    default of FAISS is ten for each feature. Parameters and attributes are those of `Quantiser`.
    """

    # Its distances are Hamming distances, which codes have without it.
    is_hamming = True

    def _chain(self, faiss: Any, n: int, d: int, seed: int) -> Any:
        rotation = faiss.ITQTransform(d, self.n_bits, True)
        rotation.itq.seed = seed
        rotation.max_train_per_dim = -(-n // d)
        return faiss.IndexPreTransform(rotation, faiss.IndexLSH(self.n_bits, self.n_bits, False, False))

    def _estimates(self, index: Any, queries: Single, codes: Codes) -> Single:
        return distances(index.sa_encode(queries), codes).astype(np.float32)


class FaissRaBitQ(Quantiser):
    """RaBitQ: signs of randomly rotated samples, and two factors per sample that make its distances unbiased.

    Gao, Long, "RaBitQ: Quantizing High-Dimensional Vectors with a Theoretical Error Bound" (SIGMOD 2024),
    `faiss.IndexRaBitQ`, with queries of 8 bits per component. It has one bit per component: for `n_bits`, the samples
    are first projected to at most `n_bits` principal components and rotated at random within `n_bits` dimensions. The
    estimates do not include the distance lost by this projection.

    A code is longer than its bits: the factors take 8 more bytes, so that a code of 32 bits takes 12 bytes instead of
    4. Compare it with others by `code_size_`. `transform` returns the bits alone. Parameters are those of `Quantiser`.

    Attributes
    ----------
    code_size_ : int
        ceil(n_bits / 8) + 8 bytes.
    """

    def _chain(self, faiss: Any, n: int, d: int, seed: int) -> Any:
        n_axes = min(n, d, self.n_bits)
        rotation = faiss.RandomRotationMatrix(n_axes, self.n_bits)
        rotation.init(seed)
        index = faiss.IndexRaBitQ(self.n_bits)
        index.qb = QUERY_BITS
        chain = faiss.IndexPreTransform(rotation, index)
        chain.prepend_transform(faiss.PCAMatrix(d, n_axes))
        return chain

    def _estimates(self, index: Any, queries: Single, codes: Codes) -> Single:
        index.add_sa_codes(codes)
        # An infinite radius returns all codes, query by query, in the order of addition.
        _, estimates, _ = index.range_search(queries, np.inf)
        return np.asarray(estimates).reshape(len(queries), len(codes))


QUANTISERS: dict[str, type[Quantiser]] = {"FAISS-PQ": FaissPQ, "FAISS-ITQ": FaissITQ, "FAISS-RaBitQ": FaissRaBitQ}


@contextmanager
def _single_threaded_faiss(quantiser: Quantiser) -> Iterator[Any]:
    """Import FAISS and limit it to one thread; the last digits of its products depend on the number of threads."""
    try:
        import faiss
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{type(quantiser).__name__} needs FAISS: pip install 'proxcode[faiss]'.") from error
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        with one_blas_thread:
            yield faiss
    finally:
        faiss.omp_set_num_threads(before)
