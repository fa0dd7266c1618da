"""ProximityPreservingCode: the estimator."""

import math
import numbers
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from proxcode._validation import check_points
from proxcode.bits import BitLoop, BitRecord, CutSearch
from proxcode.cut import Restarts
from proxcode.hamming import Codes, GrowingCode, pack
from proxcode.hashing import as_hash_function
from proxcode.proximity import Proximity, default_proximity
from proxcode.threshold import LogisticThreshold, Threshold
from proxcode.weights import DifferenceWeights, Weights

MAX_BITS = 1024


class ProximityPreservingCode(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Learn short binary codes whose Hamming distance keeps your notion of near and far.

    The bits minimise, one after another, the logistic loss of all near and far pairs (y_ij = +1 and -1),

        E = min_beta sum_ij ln(1 + exp(-y_ij (c_i'c_j - beta))),   c_i in {-1, +1}^n_bits,

    as in Lavi, Avidan, Singer, Hel-Or, "Proximity Preserving Binary Code Using Signed Graph-Cut" (AAAI 2020). Each bit
    is a cut of a signed graph over the training points; a hash function carries it to new points.

    Parameters
    ----------
    n_bits : int, default=64
        Length of the code, 1 to 1024.
    proximity : Proximity, default=None
        What near means. None goes by y: labels are `SameLabel()`, an indicator matrix is `SharedLabel()`, no y is
        `WithinRadius()`.
    threshold : Threshold, default=None
        Step I. None is `LogisticThreshold()`; the paper's is `EqualErrorThreshold()`.
    weights : Weights, default=None
        Step II. None is `DifferenceWeights()`; the paper's is `GradientWeights()`.
    cut : CutSearch, default=None
        How the signed graph is cut. None is `Restarts()`, the paper's bit update from a random start.
    hash_function : HashFunction or classifier, default=None
        What carries bits to new points. None is `KernelHash()`; the paper's is `SVMHash()`; any classifier
        of scikit-learn will do.
    error_correction : bool, default=True
        Put the hash function's own bit into the code, so that the next bit corrects its errors. False puts in the cut's
        bit, to study the cut on its own.
    loss_target : float, default=None
        Stop early once the share of misplaced pairs is at most this. None learns all bits.
    random_state : int, RandomState or None, default=None
        Same seed, same bits, for any number of threads.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    codes_ : ndarray of uint8, shape (n, ceil(n_bits_ / 8))
        Codes of the training points, as `encode` gives.
    radius_ : int
        Hamming distance up to which two codes count as near: floor(alpha / 2), at least 0.
    alpha_ : float
        Learned threshold in the paper's doubled distance.
    n_bits_ : int
        Bits learned: `n_bits`, or fewer where `loss_target` was met.
    history_ : list of BitRecord
        What happened at each bit.
    hash_function_ : HashFunction
    proximity_ : Proximity
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode import ProximityPreservingCode
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ProximityPreservingCode(n_bits=16, random_state=0).fit(X[:1000], y[:1000])
    >>> model.encode(X[1000:]).shape
    (797, 2)
    """

    def __init__(
        self,
        n_bits: int = 64,
        *,
        proximity: Proximity | None = None,
        threshold: Threshold | None = None,
        weights: Weights | None = None,
        cut: CutSearch | None = None,
        hash_function: Any = None,
        error_correction: bool = True,
        loss_target: float | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_bits = n_bits
        self.proximity = proximity
        self.threshold = threshold
        self.weights = weights
        self.cut = cut
        self.hash_function = hash_function
        self.error_correction = error_correction
        self.loss_target = loss_target
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn a code.

        An interrupt (Ctrl-C) leaves a model with the bits learned so far; `extend` goes on from there.

        Parameters
        ----------
        X : array of shape (n, d)
        y : labels (n,), indicator matrix (n, n_labels) or None
            See `proximity`.

        Returns
        -------
        self
        """
        X = check_points(self, X, reset=True, at_least=2)
        n_bits = self._check_n_bits(self.n_bits, at_least=1)
        proximity = default_proximity(y) if self.proximity is None else clone(self.proximity)
        self._seed = int(check_random_state(self.random_state).randint(2**31))
        self.proximity_ = proximity.fit(X, y)
        self.hash_function_ = as_hash_function(self.hash_function)
        self.history_: list[BitRecord] = []
        return self._learn(X, y, n_bits, code=None)

    def extend(self, n_bits: int, X: ArrayLike | None = None, y: Any = None) -> Self:
        """Go on to `n_bits` bits; those already learned stay as they are.

        The result is that of a fit with so many bits from the start.

        Parameters
        ----------
        n_bits : int
            New length, at least the present one.
        X, y : the training data
            May be left out right after `fit`; a model that was pickled or loaded does not hold them.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        n_bits = self._check_n_bits(n_bits, at_least=self.n_bits_)
        if X is None:
            if not hasattr(self, "_training_data"):
                raise ValueError("this model does not hold its training data: call extend(n_bits, X, y) with them.")
            X, y = self._training_data
        X = check_points(self, X, reset=False)
        if len(X) != len(self.codes_):
            raise ValueError(
                f"X has {len(X)} points but the model was fitted on {len(self.codes_)}: give the same ones."
            )
        self.n_bits = n_bits
        return self._learn(X, y, n_bits, code=GrowingCode.from_packed(self.codes_, self.n_bits_))

    def _learn(self, X: NDArray[Any], y: Any, n_bits: int, code: GrowingCode | None) -> Self:
        members, relation = self.proximity_.relate(X, y)
        if code is None:
            code = GrowingCode(len(members))
        else:
            code.words = np.ascontiguousarray(code.words[:, members])
        self.hash_function_.begin(X[members], np.random.default_rng([self._seed, MAX_BITS]))
        loop = BitLoop(
            relation,
            threshold=LogisticThreshold() if self.threshold is None else self.threshold,
            weights=DifferenceWeights() if self.weights is None else self.weights,
            cut=Restarts() if self.cut is None else self.cut,
            hash_function=self.hash_function_,
            error_correction=self.error_correction,
            seed=self._seed,
            code=code,
        )
        try:
            self._run(loop, n_bits)
        finally:
            self._keep(loop, X, y, members)
        return self

    def _run(self, loop: BitLoop, n_bits: int) -> None:
        target = -math.inf if self.loss_target is None else self.loss_target
        with tqdm(total=n_bits, initial=loop.code.n_bits, unit="bit", disable=not self.verbose) as progress:
            while loop.code.n_bits < n_bits and not (self.history_ and self.history_[-1].loss <= target):
                self.history_.append(loop.step())
                progress.update()
                progress.set_postfix(loss=f"{self.history_[-1].loss:.4f}")

    def _keep(self, loop: BitLoop, X: NDArray[Any], y: Any, members: NDArray[np.int64]) -> None:
        """Take over what the loop learned, finished or not."""
        self.hash_function_.finish()
        self.n_bits_ = loop.code.n_bits
        self.alpha_ = loop.alpha
        self.radius_ = max(0, math.floor(self.alpha_ / 2))
        codes = np.empty((len(X), -(-self.n_bits_ // 8)), np.uint8)
        codes[members] = loop.code.packed()
        others = np.setdiff1d(np.arange(len(X)), members)
        if len(others) and self.n_bits_:
            codes[others] = pack(self.hash_function_.scores(X[others], self.n_bits_) >= 0)
        self.codes_ = codes
        self._training_data = (X, y)

    def scores(self, X: ArrayLike, n_bits: int | None = None) -> NDArray[np.float64]:
        """Return the signed margins of each bit, shape (n, n_bits): a bit is 1 where its margin is at least 0."""
        check_is_fitted(self)
        n_bits = self.n_bits_ if n_bits is None else n_bits
        if not 1 <= n_bits <= self.n_bits_:
            raise ValueError(f"n_bits={n_bits}: this model has {self.n_bits_} bits; extend({n_bits}) learns more.")
        return self.hash_function_.scores(check_points(self, X, reset=False), n_bits)

    def transform(self, X: ArrayLike) -> Codes:
        """Return the codes as a 0/1 matrix of shape (n, n_bits_)."""
        return (self.scores(X) >= 0).astype(np.uint8)

    def encode(self, X: ArrayLike, n_bits: int | None = None) -> Codes:
        """Return the codes packed into bytes, shape (n, ceil(n_bits / 8)), in the bit order of `numpy.packbits`.

        Parameters
        ----------
        X : array of shape (n, d)
        n_bits : int, default=None
            Only the first so many bits: the code of a shorter model.
        """
        return pack(self.scores(X, n_bits) >= 0)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return the area under the precision-recall curve of near pairs of X over Hamming thresholds."""
        from proxcode.metrics import area_under_curve, precision_recall

        codes = GrowingCode.from_packed(self.encode(X), self.n_bits_)
        members, relation = self.proximity_.relate(check_points(self, X, reset=False), y)
        code = GrowingCode(len(members))
        code.words, code.n_bits = np.ascontiguousarray(codes.words[:, members]), codes.n_bits
        return area_under_curve(precision_recall(*relation.units(code).counts()))

    @staticmethod
    def _check_n_bits(n_bits: Any, at_least: int) -> int:
        if not isinstance(n_bits, numbers.Integral) or isinstance(n_bits, bool):
            raise TypeError(f"n_bits={n_bits!r}: give a whole number.")
        if not at_least <= int(n_bits) <= MAX_BITS:
            raise ValueError(f"n_bits={n_bits}: give {at_least} to {MAX_BITS}.")
        return int(n_bits)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_training_data"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # bits, whatever the dtype of X
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_bits_
