"""ProximityPreservingCode: the estimator."""

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from proxcode.bits import CutSearch
from proxcode.hamming import Codes, GrowingCode, pack
from proxcode.hashing import as_hash_function
from proxcode.learning import MAX_BITS, Learned, Learning, Progress, is_done, until_done
from proxcode.proximity import GivenPairs, Proximity, default_proximity
from proxcode.storage.checkpoint import Checkpoint
from proxcode.storage.model_file import load_model, save_model
from proxcode.storage.state import fingerprint
from proxcode.threshold import Threshold
from proxcode.utils.html import HTMLSummaryMixin
from proxcode.utils.validation import check_points, check_whole
from proxcode.weights import Weights

if TYPE_CHECKING:
    from proxcode.search import HammingIndex


class ProximityPreservingCode(HTMLSummaryMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
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
        Step I. None is `CalibratedThreshold()`; the paper's is `EqualErrorThreshold()`.
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
    coupling : int, default=None
        Steps by which the hash function, once fitted to a cut, climbs b'Wb of the bit as hashed: the best cut is often
        not learnable, and what counts is the bit that new points get. 0 is the paper. None is 15 with labels and 8
        without, where the hash function can (`KernelHash`, `LinearHash`) and its bits go into the code, else 0.
    cut_points : int, default=None
        Points over whose pairs a bit is learned, drawn anew for each bit, with labels fewer after the first 12 bits.
        Label scores are still fitted to all points, and all near pairs of a radius count. None is 10,000 where bits are
        coupled, else all; from as many as there are points, all are used.
    loss_target : float, default=None
        Stop early once the share of misplaced pairs is at most this. None learns all bits.
    random_state : int, RandomState or None, default=None
        Same seed, same bits, for any number of threads.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    codes_ : ndarray of uint8, shape (n, ceil(n_bits_ / 8))
        Codes of the training points: what `encode` gives, or the cut's own bits where `error_correction` is off.
    radius_ : int
        Hamming distance up to which two codes count as near: floor(alpha / 2), at least 0.
    alpha_ : float
        Learned threshold in the paper's doubled distance.
    n_bits_ : int
        Bits learned: `n_bits`, or fewer where `loss_target` was met or the fit was interrupted.
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
        coupling: int | None = None,
        cut_points: int | None = None,
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
        self.coupling = coupling
        self.cut_points = cut_points
        self.loss_target = loss_target
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: Any = None, *, checkpoint: str | os.PathLike[str] | None = None) -> Self:
        """Learn a code.

        An interrupt (Ctrl-C) leaves a model with the bits learned so far; `extend` goes on from there.

        Parameters
        ----------
        X : array of shape (n, d)
        y : labels (n,), indicator matrix (n, n_labels) or None
            See `proximity`.
        checkpoint : path, default=None
            A file that is written after every bit. A fit that finds it goes on from the last bit in it, and ends with
            the same model as one that was never cut off; a file of other data or parameters is refused (`n_bits`,
            `loss_target` and `verbose` may differ; `random_state=None` takes the file's seed). The file is left in
            place: delete it once the model is saved. For `KernelHash`, `LinearHash` and `SVMHash`.

        Returns
        -------
        self
        """
        X = check_points(self, X, reset=True, at_least=2)
        n_bits = check_whole("n_bits", self.n_bits, 1, MAX_BITS)
        proximity = default_proximity(y) if self.proximity is None else clone(self.proximity)
        data = {"X": fingerprint(X), "y": fingerprint(proximity.read(y))}
        seed = int(check_random_state(self.random_state).randint(2**31))
        file, found = self._open(checkpoint, data, seed)
        target = -math.inf if self.loss_target is None else self.loss_target
        learned = Learned(seed, data, proximity, as_hash_function(self.hash_function), [])
        if found is not None:
            history = until_done(found.history, n_bits, target)
            learned = learned._replace(seed=found.seed, history=history)
            if found.is_whole and len(history) == len(found.history) and is_done(history, n_bits, target):
                return self._take_whole(learned, found, X, y)
        proximity.fit(X, y)
        Learning(self, X, y, learned, file, found).run(n_bits, target)
        return self

    def _open(
        self, path: str | os.PathLike[str] | None, data: dict[str, str | None], seed: int
    ) -> tuple[Checkpoint | None, Progress | None]:
        if path is None:
            return None, None
        file = Checkpoint(path, self, data)
        return file, file.read(None if self.random_state is None else seed)

    def extend(self, n_bits: int, X: ArrayLike | None = None, y: Any = None) -> Self:
        """Go on to `n_bits` bits; those already learned stay as they are.

        The result is that of a fit with so many bits from the start; `loss_target` does not stop it.

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
        check_is_fitted(self, "n_bits_")
        n_bits = check_whole("n_bits", n_bits, self.n_bits_, MAX_BITS)
        if X is None:
            if not hasattr(self, "_training_data"):
                raise ValueError("this model does not hold its training data: call extend(n_bits, X, y) with them.")
            X, y = self._training_data
        else:
            X = self._check_same_data(X, y)
        self.n_bits = n_bits
        learned = Learned(self._seed, self._data, self.proximity_, self.hash_function_, self.history_)
        Learning(self, X, y, learned).run(n_bits, -math.inf)
        return self

    def _check_same_data(self, X: ArrayLike, y: Any) -> NDArray[Any]:
        points = check_points(self, X, reset=False)
        if len(points) != len(self.codes_):
            raise ValueError(
                f"X has {len(points)} points but the model was fitted on {len(self.codes_)}: give the same."
            )
        if not self._is_fitted_to(points):
            raise ValueError("X is not what the model was fitted on: give the same points in order.")
        if fingerprint(self.proximity_.read(y)) != self._data["y"]:
            raise ValueError("these bits were learned with other labels: give the same y, in the same order.")
        return points

    def _is_fitted_to(self, points: NDArray[Any]) -> bool:
        """Whether points are those of the fit: exactly or, where codes are the hash function's, but for rounding."""
        if fingerprint(points) == self._data["X"]:
            return True
        codes = pack(self.hash_function_.scores(points, self.n_bits_) >= 0)
        n_different = int((codes != self.codes_).any(axis=1).sum())
        return self.error_correction and n_different <= max(1, len(points) // 100)

    def _take_whole(self, learned: Learned, found: Progress, X: NDArray[Any], y: Any) -> Self:
        """Take over what a fit that came to its end left in its checkpoint."""
        learned.proximity.restore(found.proximity)
        learned.hash_function.restore(found.bits)
        self._take_over(learned, found.codes, X, y)
        return self

    def _take_over(self, learned: Learned, codes: Codes, X: NDArray[Any] | None = None, y: Any = None) -> None:
        """Become the model that was learned."""
        self._seed, self._data, self.proximity_, self.hash_function_, self.history_ = learned
        self.n_bits_ = len(self.history_)
        self.alpha_ = self.history_[-1].alpha
        self.radius_ = self.history_[-1].radius
        self.codes_ = codes
        if X is not None:
            self._training_data = (X, y)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model in one file, without pickle; see `proxcode.storage.model_file.save_model`."""
        if type(self) is not ProximityPreservingCode:
            raise TypeError(
                f"a model file holds a ProximityPreservingCode, not its subclass {type(self).__name__}: fit the former."
            )
        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, trusted: Sequence[str] | None = None) -> "ProximityPreservingCode":
        """Load a model that `save` saved; see `proxcode.storage.model_file.load_model`.

        Parameters
        ----------
        path : path
        trusted : list of str, default=None
            Types of other libraries that may be built, where the hash function is a classifier of another library.
        """
        return load_model(ProximityPreservingCode, path, trusted)

    def scores(self, X: ArrayLike, n_bits: int | None = None) -> NDArray[np.float64]:
        """Return the signed margins of each bit, shape (n, n_bits): a bit is 1 where its margin is at least 0."""
        check_is_fitted(self, "n_bits_")
        if n_bits is None:
            n_bits = self.n_bits_
        n_bits = check_whole("n_bits", n_bits, 1, self.n_bits_, "; extend() learns more")
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

    def index(self, codes: ArrayLike, ids: ArrayLike | None = None, *, n_bits: int | None = None) -> "HammingIndex":
        """Return an index of codes, to search among them.

        Parameters
        ----------
        codes : array of uint8, shape (n, ceil(n_bits / 8))
            What `encode` gave.
        ids : array of int64, default=None
            Your own numbers; None is 0, 1, 2, ...
        n_bits : int, default=None
            As in `encode`.

        Returns
        -------
        HammingIndex
        """
        from proxcode.search import HammingIndex

        check_is_fitted(self, "n_bits_")
        return HammingIndex(self.n_bits_ if n_bits is None else n_bits).add(codes, ids)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return the area under the precision-recall curve of near pairs of X over Hamming thresholds."""
        from proxcode.metrics import area_under_curve, precision_recall

        check_is_fitted(self, "n_bits_")
        if isinstance(self.proximity_, GivenPairs):
            raise ValueError("score() cannot tell near from far among new points: GivenPairs names training points.")
        points = check_points(self, X, reset=False)
        members, relation = self.proximity_.relate(points, y)
        code = GrowingCode.from_packed(self.encode(X), self.n_bits_).take(members)
        return area_under_curve(precision_recall(*relation.units(code).counts()))

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
