"""FAISS's quantisers as peers, for those who have it: `pip install 'proxcode[faiss]'`.

1. train a chain of FAISS: a map of the points, then an index that makes codes of what it gives,
2. code = FAISS's own bytes (`sa_encode`), the first bit of each byte its lowest,
3. distance of a query to a code: of product codes and of RaBitQ the estimate of the squared Euclidean distance, from
   the query itself and not from its code; of ITQ the Hamming distance.

FAISS trains and encodes on one thread, with a seed drawn from `random_state`: the same codes for any number of
threads.
"""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from proxcode.hamming import Codes, check_codes, distances
from proxcode.peers._base import Matrix, Peer
from proxcode.utils.blocks import one_blas_thread
from proxcode.utils.validation import check_points

SUB_BITS = 8  # of a sub-quantiser at most, as FAISS has it
QUERY_BITS = 8  # of each number of RaBitQ's query: as good as the number itself, and ten times faster


class Quantiser(Peer):
    """A chain of FAISS; a subclass says which (`_chain`).

    Attributes
    ----------
    index_ : faiss.IndexPreTransform
        Trained, without any code.
    code_size_ : int
        Bytes of a code.
    """

    random_state: Any

    def encode(self, X: ArrayLike) -> Codes:
        """Return FAISS's codes, shape (n, code_size_), the first bit of each byte its lowest."""
        check_is_fitted(self)
        points = self._points(X, reset=False)
        with _one_thread(_import_faiss(self)):
            codes: Codes = self.index_.sa_encode(points)
        return codes

    def distances(self, X: ArrayLike, codes: ArrayLike) -> NDArray[np.float32]:
        """Return the distances that are estimated from points to codes, shape (n, n_codes)."""
        check_is_fitted(self)
        faiss = _import_faiss(self)
        queries, codes = self._points(X, reset=False), check_codes(codes)
        if codes.shape[1] != self.code_size_:
            raise ValueError(f"codes have {codes.shape[1]} bytes but encode gives {self.code_size_}: encode again.")
        with _one_thread(faiss):
            for place in range(self.index_.chain.size()):
                queries = self.index_.chain.at(place).apply(queries)
            index = faiss.clone_index(faiss.downcast_index(self.index_.index))
            return self._estimates(index, queries, np.ascontiguousarray(codes))

    def _points(self, X: ArrayLike, *, reset: bool) -> NDArray[np.float32]:
        return _single(check_points(self, X, reset=reset))

    def _fit(self, X: Matrix, y: Any) -> None:
        faiss = _import_faiss(self)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        n, d = X.shape
        index = self._chain(faiss, n, d, seed)
        with _one_thread(faiss):
            index.train(X)
        self.index_, self.code_size_ = index, int(index.sa_code_size())

    def _scores(self, X: Matrix) -> Matrix:
        bits = np.unpackbits(self.encode(X), axis=1, count=self.n_bits, bitorder="little")
        return np.where(bits, 1.0, -1.0)

    @abstractmethod
    def _chain(self, faiss: Any, n: int, d: int, seed: int) -> Any:
        """Return the chain, not yet trained, for n points of d dimensions; refuse what it cannot do."""

    @abstractmethod
    def _estimates(self, index: Any, queries: NDArray[np.float32], codes: Codes) -> NDArray[np.float32]:
        """Return the distances of queries, mapped as the chain maps, to codes; the index may be changed."""


class FaissPQ(Quantiser):
    """Product quantisation: dimensions in groups of equal size, the nearest of 2^b centroids told for each.

    Jegou, Douze, Schmid, "Product Quantization for Nearest Neighbor Search" (TPAMI 2011), `faiss.IndexPQ`. b is the
    largest divisor of `n_bits` up to 8: 64 bits are eight groups of 8 bits, 50 are ten of 5, 12 are two of 6, and a
    prime number above 7 is so many groups of 1. Where the groups do not divide the dimensions, zeros are spread among
    these, which changes no distance. `fit` refuses more groups than dimensions and fewer than 2^b points.

    Parameters
    ----------
    n_bits : int, default=64
    random_state : int, RandomState or None, default=None
        Draws the centroids to start from.

    Attributes
    ----------
    index_ : faiss.IndexPreTransform
    code_size_ : int
        ceil(n_bits / 8) bytes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode.peers.quantisers import FaissPQ
    >>> X, _ = load_digits(return_X_y=True)
    >>> model = FaissPQ(n_bits=32, random_state=0).fit(X)
    >>> model.distances(X[:3], model.encode(X)).shape
    (3, 1797)
    """

    def __init__(self, n_bits: int = 64, random_state: Any = None) -> None:
        self.n_bits = n_bits
        self.random_state = random_state

    def _chain(self, faiss: Any, n: int, d: int, seed: int) -> Any:
        sub_bits = max(b for b in range(1, SUB_BITS + 1) if self.n_bits % b == 0)
        groups = self.n_bits // sub_bits
        if groups > d:
            raise ValueError(
                f"n_bits={self.n_bits}: FaissPQ makes {groups} groups of {sub_bits} bits, and X has d={d} dimensions; "
                f"give at most {SUB_BITS * d} bits, a multiple of {SUB_BITS}."
            )
        if n < 2**sub_bits:
            raise ValueError(
                f"n_bits={self.n_bits}: FaissPQ learns {2**sub_bits} centroids, and X has n_samples={n} points; give "
                f"at least {2**sub_bits} points."
            )
        width = groups * -(-d // groups)
        index = faiss.IndexPQ(width, groups, sub_bits)
        index.pq.cp.seed = seed
        index.pq.cp.min_points_per_centroid = 1  # FAISS would warn of few points, past Python
        return faiss.IndexPreTransform(faiss.RemapDimensionsTransform(d, width, True), index)

    def _estimates(self, index: Any, queries: NDArray[np.float32], codes: Codes) -> NDArray[np.float32]:
        # FAISS adds up the same squares group by group; all at once takes a tenth of its time.
        squared: NDArray[np.float32] = euclidean_distances(queries, index.sa_decode(codes), squared=True)
        return squared


class FaissITQ(Quantiser):
    """Iterative quantisation as FAISS has it: points centred and of unit norm, principal components, turned, signs.

    Gong, Lazebnik (CVPR 2011), `faiss.ITQTransform` before `faiss.IndexLSH`. Unlike `proxcode.peers.ITQ` it scales
    points to unit norm. There are at most as many bits as dimensions and points; `fit` refuses more. Here all points
    are learned from, where FAISS alone takes ten for each dimension.

    Parameters
    ----------
    n_bits : int, default=64
    random_state : int, RandomState or None, default=None
        Draws the rotation to start from.

    Attributes
    ----------
    index_ : faiss.IndexPreTransform
    code_size_ : int
        ceil(n_bits / 8) bytes.
    """

    def __init__(self, n_bits: int = 64, random_state: Any = None) -> None:
        self.n_bits = n_bits
        self.random_state = random_state

    def _chain(self, faiss: Any, n: int, d: int, seed: int) -> Any:
        if self.n_bits > min(n, d):
            raise ValueError(
                f"n_bits={self.n_bits}: FaissITQ makes at most one bit per dimension and per point, and X has d={d} "
                f"dimensions and n_samples={n} points; give at most {min(n, d)} bits."
            )
        turned = faiss.ITQTransform(d, self.n_bits, True)
        turned.itq.seed = seed
        turned.max_train_per_dim = -(-n // d)
        return faiss.IndexPreTransform(turned, faiss.IndexLSH(self.n_bits, self.n_bits, False, False))

    def _estimates(self, index: Any, queries: NDArray[np.float32], codes: Codes) -> NDArray[np.float32]:
        return distances(index.sa_encode(queries), codes).astype(np.float32)


class FaissRaBitQ(Quantiser):
    """RaBitQ: signs of randomly turned points, and two factors of each that make its distances unbiased.

    Gao, Long, "RaBitQ: Quantizing High-Dimensional Vectors with a Theoretical Error Bound" (SIGMOD 2024),
    `faiss.IndexRaBitQ`, queries in 8 bits a dimension. It makes one bit per dimension: to have `n_bits`, the points are
    first brought to so many principal components, at most d, and turned at random within `n_bits` dimensions. What is
    lost in the components is not in its estimates.

    A code is longer than its bits: the factors are two numbers of 4 bytes besides, so that a code of 32 bits takes 12
    bytes and not 4. Compare it with others by `code_size_`. `transform` gives the bits alone.

    Parameters
    ----------
    n_bits : int, default=64
    random_state : int, RandomState or None, default=None
        Draws the rotation.

    Attributes
    ----------
    index_ : faiss.IndexPreTransform
    code_size_ : int
        ceil(n_bits / 8) + 8 bytes.
    """

    def __init__(self, n_bits: int = 64, random_state: Any = None) -> None:
        self.n_bits = n_bits
        self.random_state = random_state

    def _chain(self, faiss: Any, n: int, d: int, seed: int) -> Any:
        n_axes = min(n, d, self.n_bits)
        turn = faiss.RandomRotationMatrix(n_axes, self.n_bits)
        turn.init(seed)
        index = faiss.IndexRaBitQ(self.n_bits)
        index.qb = QUERY_BITS
        chain = faiss.IndexPreTransform(turn, index)
        chain.prepend_transform(faiss.PCAMatrix(d, n_axes))
        return chain

    def _estimates(self, index: Any, queries: NDArray[np.float32], codes: Codes) -> NDArray[np.float32]:
        index.add_sa_codes(codes)
        _, estimates, _ = index.range_search(queries, np.inf)  # query by query, in the order of the codes
        return np.asarray(estimates).reshape(len(queries), len(codes))


QUANTISERS: dict[str, type[Quantiser]] = {
    "FAISS-PQ": FaissPQ,
    "FAISS-ITQ": FaissITQ,
    "FAISS-RaBitQ": FaissRaBitQ,
}


def _import_faiss(quantiser: Quantiser) -> Any:
    try:
        import faiss
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{type(quantiser).__name__} needs FAISS: pip install 'proxcode[faiss]'.") from error
    return faiss


@contextmanager
def _one_thread(faiss: Any) -> Iterator[None]:
    """Hold FAISS to one thread, as far as this thread calls it: with more, its products differ in the last digits."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        with one_blas_thread:
            yield
    finally:
        faiss.omp_set_num_threads(before)


def _single(points: Matrix) -> NDArray[np.float32]:
    """Return points in single precision, all that FAISS knows."""
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(points, dtype=np.float32)
    if not np.isfinite(single).all():
        raise ValueError("X has numbers beyond 3.4e38, and FAISS works in single precision: scale X down.")
    return single
