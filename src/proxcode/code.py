"""ProximityPreservingCode: the estimator.

One call of `fit`

1. resolves the components (`_resolve_components`),
2. finds near and far pairs (`proximity.py`, `pairs/`),
3. begins the training of the hash function (`hashing/`),
4. learns bit after bit (`bits/`), saving the model from time to time if there is a checkpoint (`model/saving.py`),
5. sets the fitted attributes.

`extend` does steps 2 to 5 with the proximity and the hash function already fitted: see `model/updating.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from proxcode.bits import MAX_BITS, BitLoop, CutSearch, Rules, is_done
from proxcode.hamming import GrowingCode
from proxcode.hashing import HashFunction, SVMHash, as_hash_function
from proxcode.metrics import area_under_curve, precision_recall
from proxcode.model.checkpoints import open_checkpoint
from proxcode.model.estimator import CodeEstimator
from proxcode.model.learned import Learned
from proxcode.model.saving import FilePath
from proxcode.model.searching import SearchingMixin
from proxcode.model.updating import UpdatingMixin
from proxcode.pairs import FoundPairs
from proxcode.proximity import GivenPairs, Proximity, default_proximity
from proxcode.storage.atomic import check_target
from proxcode.storage.state import fingerprint
from proxcode.storage.timer import CheckpointTimer
from proxcode.threshold import Threshold
from proxcode.utils.blocks import one_blas_thread
from proxcode.utils.html import HTMLSummaryMixin
from proxcode.utils.progress import ProgressDisplay, shows_progress
from proxcode.utils.validation import (
    check_component,
    check_different,
    check_integer,
    check_number,
    check_samples,
    check_seed,
    in_units,
)
from proxcode.weights import Weights


class ProximityPreservingCode(HTMLSummaryMixin, CodeEstimator, SearchingMixin, UpdatingMixin):
    """Learn short binary codes whose Hamming distance preserves your notion of near and far.

    The bits minimise, one after another, the logistic loss of all near and far pairs (y_ij = +1 and -1),

        E = min_beta sum_ij ln(1 + exp(-y_ij (c_i'c_j - beta))),   c_i in {-1, +1}^n_bits,

    as in Lavi, Avidan, Singer, Hel-Or, "Proximity Preserving Binary Code Using Signed Graph-Cut" (AAAI 2020). Each bit
    is first found as a cut of a signed graph over the training samples, a vector b of -1 and +1 with large b'Wb, where
    W holds the weights of pairs. A hash function is trained to predict the cut, and carries the bit to new samples.

    Parameters
    ----------
    n_bits : int, default=64
        Code length, 1 to 1024.
    proximity : Proximity, default=None
        Which pairs are near, far or unknown. None depends on y: `SameLabel()` for labels, `SharedLabel()` for an
        indicator matrix, `Nearest()` without y.
    threshold : Threshold, default=None
        Rule of `proxcode.threshold` (Step I of the paper) for beta, the threshold that separates near from far pairs
        in the code so far. None is `CalibratedThreshold()`; the paper's is `EqualErrorThreshold()`.
    weights : Weights, default=None
        Rule of `proxcode.weights` (Step II of the paper) for W, the influence of each pair on the next bit. None is
        `DifferenceWeights()`; the paper's is `GradientWeights()`.
    cut : CutSearch, default=None
        Search for a cut of the signed graph. None is `Restarts()`, the paper's bit update from a random start. With
        labels and refinement it matters for short codes of many classes alone. `Annealing()` finds better cuts.
    hash_function : HashFunction or classifier, default=None
        Predicts bits from samples. None depends on the proximity: `RotationHash()` for `Nearest`, `NewClassHash()` for
        `SameLabel(new_classes=True)`, else `KernelHash()`. The paper's is `SVMHash()`; any scikit-learn classifier is
        wrapped in `ClassifierHash`.
    error_correction : bool, default=True
        Whether the bit that the hash function predicts enters the code, so that the next bit corrects its errors. With
        False the cut enters the code, to study it on its own, and the hash function is fitted to it without refinement.
    max_samples : int, default=None
        Number of samples, redrawn for each bit, whose pairs enter the objective; with labels fewer after the first 12
        bits. The hash function is fitted to all samples, and all near pairs of a radius count. None is 10,000
        where the hash function refines bits (see `KernelHash`), else all samples.
    loss_target : float, default=None
        Value of `BitRecord.loss`, the share of near pairs beyond and far pairs within the best Hamming threshold, at
        which learning stops early. None learns all bits.
    random_state : int, RandomState or None, default=None
        Seed of all random choices. Equal seeds give equal bits for any number of threads, on the same kind of processor
        with the same versions of libraries; elsewhere a fit may give other bits of the same quality.
    verbose : bool, default=False
        Whether to show progress on standard error: a bar on a terminal, elsewhere a line every 10 seconds.

    Attributes
    ----------
    codes_ : ndarray of uint8, shape `(n_samples, ceil(n_bits_ / 8))`
        Packed codes of the training samples: those of `encode`, or cuts where `error_correction` is off.
    radius_ : int
        Hamming distance up to which two codes count as near: `floor(alpha_ / 2)`, at least 0.
    alpha_ : float
        Learned threshold on twice the Hamming distance. The paper's rule gives alpha > 0; the default minimises the
        loss over all real numbers, and alpha may be negative while near pairs are rare and bits few. Near is then
        distance 0.
    n_bits_ : int
        Number of bits learned: fewer than `n_bits` after `loss_target` or an interrupt, more after `extend`.
    history_ : list of BitRecord
        Figures of each bit: threshold, loss, accuracy of the hash function, time.
    training_loss_ : float
        Share of misplaced training pairs in `codes_`; NaN in models of earlier versions. With labels it is lower than
        `history_[-1].loss`, the leave-one-out figure that bits are learned from: see `BitRecord`.
    n_paired_samples_ : int
        Number of samples whose pairs took part in learning; 0 in models of earlier versions.
    updates_ : list of Update
        What each call of `update` learned, and each `extend` with other samples than those of the fit.
    hash_function_, proximity_ : the fitted components
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
        max_samples: int | None = None,
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
        self.max_samples = max_samples
        self.loss_target = loss_target
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, n_bits: int = 64, **parameters: Any) -> Self:
        """Return the paper's own method: its threshold, its weights, its cut and its hash function.

        These are `EqualErrorThreshold` (Eq. 10), `GradientWeights`, bit update (Algorithm 2) from a random guess, and
        a support vector machine for each bit, `SVMHash`, trained on at most 20,480 samples. `refine_steps=0` alone is
        not the paper's method: threshold, weights and hash function remain those of this library.

        Parameters
        ----------
        n_bits : int, default=64
        **parameters
            Other parameters of the constructor, such as `random_state` or `proximity`; given ones replace the paper's.

        Examples
        --------
        >>> ProximityPreservingCode.paper(16, random_state=0).hash_function
        SVMHash()
        """
        rules = Rules.paper()
        components = {"threshold": rules.threshold, "weights": rules.weights, "cut": rules.cut}
        return cls(n_bits, **{**components, "hash_function": SVMHash(), **parameters})

    @shows_progress
    def fit(self, X: ArrayLike, y: Any = None, *, checkpoint: FilePath | None = None) -> Self:
        """Learn a code.

        An interrupt (Ctrl-C) leaves a model with the bits learned so far, which `extend` can continue.

        Parameters
        ----------
        X : array or result of `open_samples`, shape (n_samples, n_features)
        y : labels (n_samples,), indicator matrix (n_samples, n_labels) or None
            See `proximity`.
        checkpoint : path, default=None
            Model file in which the bits learned so far are saved, at most every 30 seconds (less often where writing
            takes long), at the end and on Ctrl-C. A fit that finds the file resumes from it and ends with the same
            model as an uninterrupted one. The file of a fit to other data or with other parameters is refused; `n_bits`
            may be larger, unless bits are learned at once, and `random_state=None` takes the seed of the file. The file
            is not removed. Not available for classifiers of other libraries.

        Returns
        -------
        self
        """
        X = check_samples(self, X, reset=True, at_least=2)
        check_different(X)
        n_bits = check_integer("n_bits", self.n_bits, 1, MAX_BITS)
        loss_target = -math.inf if self.loss_target is None else check_number("loss_target", self.loss_target)
        proximity, hash_function, rules = self._resolve_components(y)
        learned = Learned(
            seed=int(check_seed(self.random_state).randint(2**31)),
            data={"X": fingerprint(X), "y": fingerprint(proximity.read(y))},
            proximity=proximity,
            hash_function=hash_function,
            unit=hash_function.unit_of(X),
        )
        if checkpoint is not None:
            self._check_savable()
            check_target(checkpoint)
            learned = open_checkpoint(checkpoint, self.get_params(deep=False), learned, n_bits)
        if not learned.history:
            learned.proximity.fit(X, y)
        find_pairs = partial(learned.proximity.find_pairs, X, y)
        self._learn(learned, rules, X, find_pairs, n_bits, loss_target, checkpoint)
        return self

    def _resolve_components(self, y: Any) -> tuple[Proximity, HashFunction, Rules]:
        """Return the components of the method, defaults for those that are None and copies of those to be fitted."""
        proximity = default_proximity(y) if self.proximity is None else self.proximity
        check_component("proximity", proximity, Proximity, "SameLabel()")
        rules = Rules.resolved(self.threshold, self.weights, self.cut, self.error_correction)
        hash_function = proximity.hash_function() if self.hash_function is None else self.hash_function
        return clone(proximity), as_hash_function(hash_function), rules

    def _learn(
        self,
        learned: Learned,
        rules: Rules,
        X: NDArray[Any],
        find_pairs: Callable[[], FoundPairs],
        n_bits: int,
        loss_target: float,
        checkpoint: FilePath | None = None,
    ) -> None:
        """Learn bits and keep them, finished or interrupted."""
        history, hash_function = learned.history, learned.hash_function
        if is_done(history, n_bits, loss_target):
            self._set_fitted(learned)
            return
        samples = in_units(X, learned.unit)
        loop = BitLoop.begin(
            samples,
            find_pairs(),
            hash_function,
            rules,
            max_samples=self.max_samples,
            seed=learned.seed,
            codes=learned.codes,
            n_learned=len(history),
            n_bits=n_bits,
        )

        def commit() -> None:
            finished = loop.finish(samples, hash_function, len(history))
            learned.codes, learned.training_loss, learned.n_paired = finished
            learned.digest_bits()
            self._set_fitted(learned)
            if checkpoint is not None:
                self.save(checkpoint)

        timer = CheckpointTimer()
        progress = ProgressDisplay("learned", "bits", n_bits, done=len(history), shown=bool(self.verbose))
        try:
            # BLAS is restricted to one thread once: each restriction costs more than a small product.
            with progress, one_blas_thread:
                while not is_done(history, n_bits, loss_target):
                    history.append(loop.step())
                    progress.update(note=f"share of misplaced pairs {history[-1].loss:.4f}")
                    if checkpoint is not None and timer.is_due() and not is_done(history, n_bits, loss_target):
                        timer.run(commit)
        except KeyboardInterrupt:
            if history:
                commit()
            raise
        commit()

    def scores(self, X: ArrayLike, n_bits: int | None = None) -> NDArray[np.float64]:
        """Return the margins of each bit, shape (n_samples, n_bits): a bit is 1 where its margin is at least 0."""
        check_is_fitted(self, "n_bits_")
        n_bits = self.n_bits_ if n_bits is None else n_bits
        check_integer("n_bits", n_bits, 1, self.n_bits_, "; extend() learns more")
        return self.hash_function_.scores(in_units(check_samples(self, X, reset=False), self._unit), n_bits)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return the area under the precision-recall curve of near pairs of X over Hamming thresholds."""
        check_is_fitted(self, "n_bits_")
        if isinstance(self.proximity_, GivenPairs):
            raise ValueError("GivenPairs lists pairs of training samples: score() is not defined for new samples.")
        samples, pairs = self.proximity_.find_pairs(check_samples(self, X, reset=False), y)
        code = GrowingCode.from_packed(self.encode(X), self.n_bits_).take(samples)
        return area_under_curve(precision_recall(*pairs.with_code(code).counts()))
