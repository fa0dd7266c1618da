"""What near and far mean: each class turns the user's data into near and far pairs of samples.

A proximity is fitted like any estimator; `find_pairs` then gives the pairs, and the samples that take part in them.
Samples of which no pair is known (no label, in no listed pair) take no part: they cannot teach a bit anything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from proxcode.pairs import (
    FoundPairs,
    ListedPairs,
    NearLists,
    NearOnlyPairs,
    SameClassPairs,
    SharedLabelPairs,
)
from proxcode.pairs.near_only import held_back_of_both, hold_back
from proxcode.pairs.nearest import nearest_pairs
from proxcode.pairs.within_radius import PairDistances
from proxcode.storage.state import State
from proxcode.utils.labels import UNLABELLED, class_numbers, label_masks, warn_of_rare_classes
from proxcode.utils.validation import check_integer, check_number


class Proximity(ABC, BaseEstimator):
    """Base class of the rules that decide which pairs of samples are near, far or unknown.

    A subclass implements `find_pairs`; the other methods have defaults.
    """

    def fit(self, X: NDArray[Any], y: Any = None) -> Self:
        """Learn from the training data what `find_pairs` needs; nothing, unless a subclass overrides it."""
        return self

    @abstractmethod
    def find_pairs(self, X: NDArray[Any], y: Any = None) -> FoundPairs:
        """Return the near and far pairs of the samples X.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Validated samples, those of `fit` or new ones.
        y : object
            The argument y of `fit`, `extend` or `score`, unchanged.
        """

    def read(self, y: Any) -> NDArray[Any] | None:
        """Return the content of y that `find_pairs` uses, the same for equivalent forms of y; None if it uses none."""
        return None

    def describe(self) -> str:
        """Return what near means, in a few words."""
        return repr(self)

    def state(self) -> State:
        """Return what `fit` learned, for a model file."""
        return State()

    def restore(self, state: State) -> None:
        """Take over what another proximity of the same parameters learned."""


class SameLabel(Proximity):
    """Near = same class.

    Parameters
    ----------
    unlabelled : hashable, default=None
        A value of y that means "no label": pairs of such samples are unknown. None and NaN always mean it. By default
        -1 is a class like any other.
    new_classes : bool, default=False
        Whether the code is for classes that are not in `fit`. It is then learned by `NewClassHash`, unless another hash
        function is given: from the samples, reshaped by what the labels show about them.
    balanced : bool, default=False
        Whether each class counts alike in the posteriors that bits are learned from. By default each sample does, and
        new samples of a rare class may get codes of frequent ones: `fit` warns of classes with less than a fifth of the
        median number of samples. Only `KernelHash` and `LinearHash` with refinement learn from posteriors.

    Notes
    -----
    Labels may be any hashable values: numbers, strings, tuples.
    """

    def __init__(self, unlabelled: Hashable = None, balanced: bool = False, new_classes: bool = False) -> None:
        self.unlabelled = unlabelled
        self.balanced = balanced
        self.new_classes = new_classes

    def fit(self, X: NDArray[Any], y: Any = None) -> Self:
        """Learn nothing; warn of rare classes."""
        if not self.balanced:
            warn_of_rare_classes(self.read(y), y)
        return self

    def find_pairs(self, X: NDArray[Any], y: Any = None) -> FoundPairs:
        """Return the pairs of samples with a label; those with equal labels are near."""
        classes = self.read(y)
        if len(classes) != len(X):
            raise ValueError(f"X has {len(X)} samples but y has {len(classes)} labels: pass one label per sample.")
        samples = np.flatnonzero(classes != UNLABELLED)
        if len(samples) == 0:
            raise ValueError(f"all {len(classes)} samples are unlabelled: label some, or use WithinRadius().")
        return FoundPairs(samples, SameClassPairs(classes[samples], bool(self.balanced)))

    def read(self, y: Any) -> NDArray[np.int64]:
        """Return the labels as integers, in order of appearance."""
        if y is None:
            raise ValueError("y=None: SameLabel needs labels; call fit(X, y), or use WithinRadius().")
        return class_numbers(y, self.unlabelled)

    def describe(self) -> str:
        return "the same label, for classes that come later" if self.new_classes else "the same label"


class SharedLabel(Proximity):
    """Near = at least one label in common; y is a 0/1 indicator matrix of shape (n_samples, n_labels), dense or sparse.

    A sample without any label is far from all others.
    """

    def find_pairs(self, X: NDArray[Any], y: Any = None) -> FoundPairs:
        """Return all pairs; those with a label in common are near."""
        masks = self.read(y)
        if masks.shape[1] != len(X):
            raise ValueError(f"y has shape {np.shape(y)}: expected an indicator matrix of shape ({len(X)}, n_labels).")
        return FoundPairs(np.arange(len(X)), SharedLabelPairs(masks))

    def describe(self) -> str:
        return "at least one label in common"

    def read(self, y: Any) -> NDArray[np.uint64]:
        """Return the labels of each sample as bits of 64-bit words, shape (n_words, n_samples)."""
        if y is None:
            raise ValueError("y=None: SharedLabel needs a 0/1 indicator matrix of shape (n_samples, n_labels).")
        try:
            indicator = sp.csc_array(y) if sp.issparse(y) else np.asarray(y)
            # A data frame of bool and int columns.
            if indicator.dtype == object:
                indicator = np.array(indicator.tolist())
        except ValueError:
            raise ValueError(
                "y has rows of different lengths: MultiLabelBinarizer makes an indicator matrix."
            ) from None
        if indicator.ndim != 2 or indicator.shape[1] == 0:
            n = indicator.shape[0] if indicator.ndim else "n_samples"
            raise ValueError(f"y has shape {indicator.shape}: expected an indicator matrix of shape ({n}, n_labels).")
        values = np.asarray(indicator.data if sp.issparse(indicator) else indicator)
        if not (is_valid := np.isin(values, (0, 1))).all():
            raise ValueError(
                f"y contains {values[~is_valid][0]}: expected an indicator matrix of 0 and 1, as MultiLabelBinarizer "
                "makes; for labels that are tuples pass proximity=SameLabel()."
            )
        return label_masks(indicator)


class WithinRadius(Proximity):
    """Near = distance at most `radius`.

    Parameters
    ----------
    radius : float, default=None
        None finds the radius within which a sample has `mean_neighbors` others on average.
    mean_neighbors : float, default=None
        None is 100, as in the paper's LabelMe experiment, or a tenth of the samples where these are under 1,000.
    metric : str, default="euclidean"
        A metric of `sklearn.metrics.pairwise_distances`.
    metric_params : dict, default=None
        Its parameters.

    Attributes
    ----------
    radius_ : float
    """

    def __init__(
        self,
        radius: float | None = None,
        mean_neighbors: float | None = None,
        metric: str = "euclidean",
        metric_params: dict[str, Any] | None = None,
    ) -> None:
        self.radius = radius
        self.mean_neighbors = mean_neighbors
        self.metric = metric
        self.metric_params = metric_params

    def fit(self, X: NDArray[Any], y: Any = None) -> Self:
        """Find the radius where none is given."""
        if self.radius is not None:
            self.radius_ = check_number("radius", self.radius, at_least=0)
            return self
        mean_neighbors = min(100, len(X) / 10) if self.mean_neighbors is None else self.mean_neighbors
        check_number("mean_neighbors", mean_neighbors, above=0)
        if mean_neighbors > len(X) - 1:
            raise ValueError(f"mean_neighbors={mean_neighbors}: expected at most {len(X) - 1} for {len(X)} samples.")
        rank = max(1, round(mean_neighbors * len(X) / 2))
        self.radius_ = PairDistances(X, self.metric, self.metric_params).distance_of_rank(rank)
        return self

    def find_pairs(self, X: NDArray[Any], y: Any = None) -> FoundPairs:
        """Return all pairs; those at distance at most `radius_` are near."""
        first, second = PairDistances(X, self.metric, self.metric_params).pairs_within(self.radius_)
        return FoundPairs(np.arange(len(X)), NearLists(first, second, len(X)))

    def describe(self) -> str:
        return f"{self.metric} distance of at most {self.radius_:.4g}"

    def state(self) -> State:
        return State({"radius": self.radius_})

    def restore(self, state: State) -> None:
        self.radius_ = state.values["radius"]


class Nearest(Proximity):
    """Near = one of two samples is among the nearest of the other, by Euclidean distance: for top-k search.

    The codes are learned from the samples themselves, by `RotationHash` unless another hash function is given; the
    pairs decide on `radius_` and the figures of `history_`. They are those of up to 10,000 evenly spaced samples.

    Parameters
    ----------
    n_neighbors : int, default=None
        Number of nearest samples of a sample. None is 100, or a tenth of the samples where these are under 1,000.
    """

    def __init__(self, n_neighbors: int | None = None) -> None:
        self.n_neighbors = n_neighbors

    def find_pairs(self, X: NDArray[Any], y: Any = None) -> FoundPairs:
        """Return the pairs of evenly spaced samples."""
        n_neighbors = max(1, min(100, len(X) // 10)) if self.n_neighbors is None else self.n_neighbors
        check_integer("n_neighbors", n_neighbors, 1, len(X) - 1, f" for {len(X)} samples")
        return FoundPairs(*nearest_pairs(X, n_neighbors))

    def describe(self) -> str:
        return f"among the {self.n_neighbors or 'up to 100'} nearest"


class GivenPairs(Proximity):
    """Near and far as listed.

    Parameters
    ----------
    pairs : array of shape (m, 2) or (m, 3), or scipy.sparse matrix of shape (n, n)
        Rows (i, j) for near pairs of samples, given by their row numbers in X; or rows (i, j, +1) for near and
        (i, j, -1) for far pairs; or a matrix whose positive entries are near and whose negative entries are far pairs.
        A pair may be given in one direction or in both. Pairs (i, i) are ignored.
    others : {"unknown", "far"}, default=None
        Whether all other pairs are unknown, or all of them far: then the list is complete. None is "unknown" where far
        pairs are listed. Where only near pairs are, such as items clicked together, the list is taken for a sample of
        all near pairs, and most of the others for far.

    Notes
    -----
    Where only near pairs are listed, far pairs are sampled: two samples of near pairs, put together at random. They
    have the same total weight as the near pairs, a tenth of which is held back from learning. `radius_` of the model
    balances the near pairs held back that lie beyond it and the far pairs within it: see `near_within` and `far_within`
    of its last `BitRecord`. Samples in no pair take no part in learning; they get codes as new samples do. Some
    thousand pairs are needed before codes learned from them are better than those of distances.

    Of a list of at least 1,000 near and 1,000 far pairs a tenth is held back in the same way.
    """

    def __init__(self, pairs: Any = None, others: str | None = None) -> None:
        self.pairs = pairs
        self.others = others

    def find_pairs(self, X: NDArray[Any], y: Any = None) -> FoundPairs:
        """Return the listed pairs, and all others as far pairs if `others` says so."""
        if self.others not in (None, "unknown", "far"):
            raise ValueError(f"others={self.others!r}: expected 'unknown' or 'far'.")
        first, second, near = self._listed(len(X))
        if self.others == "far":
            return FoundPairs(np.arange(len(X)), NearLists(first[near], second[near], len(X)))
        samples, place = np.unique(np.concatenate([first, second]), return_inverse=True)
        first, second = place.reshape(2, -1)
        if self.others is None and near.all():
            if len(samples) * (len(samples) - 1) // 2 == len(near):
                raise ValueError(
                    f"all pairs of the {len(samples)} listed samples are near, but a code needs far pairs too: list "
                    "pairs of more samples."
                )
            return FoundPairs(samples, NearOnlyPairs(hold_back(np.vstack([first, second])), len(samples)))
        return FoundPairs(samples, ListedPairs(first, second, near, len(samples), held_back_of_both(near)))

    def describe(self) -> str:
        kind = "unknown, or mostly far if no far pair is listed" if self.others is None else self.others
        return f"listed as near; pairs not listed are {kind}"

    def _listed(self, n: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
        """Return the distinct pairs first < second and whether they are near."""
        i, j, sign = self._triples(n)
        keep = (i != j) & (sign != 0)
        key = np.minimum(i, j)[keep] * n + np.maximum(i, j)[keep]
        if len(key) == 0:
            raise ValueError("pairs has no pair of different samples: list at least one near pair.")
        distinct, where = np.unique(key, return_inverse=True)
        near_votes = np.bincount(where, weights=sign[keep] > 0)
        votes = np.bincount(where)
        if (torn := (near_votes > 0) & (near_votes < votes)).any():
            a, b = divmod(int(distinct[torn][0]), n)
            raise ValueError(f"pair ({a}, {b}) is listed both as near and as far: keep one of the two.")
        return distinct // n, distinct % n, near_votes > 0

    def _triples(self, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
        if sp.issparse(self.pairs):
            if self.pairs.shape != (n, n):
                raise ValueError(f"pairs has shape {self.pairs.shape}: expected ({n}, {n}) for {n} samples.")
            matrix = sp.coo_array(self.pairs)
            if not np.isfinite(matrix.data).all():
                raise ValueError(
                    "pairs contains NaN or infinity: use positive entries for near and negative ones for far pairs."
                )
            return matrix.row.astype(np.int64), matrix.col.astype(np.int64), matrix.data
        pairs = np.asarray(self.pairs)
        if pairs.ndim != 2 or pairs.shape[1] not in (2, 3) or pairs.dtype.kind not in "iuf":
            raise ValueError(
                f"pairs is an array of {pairs.dtype} of shape {pairs.shape}: expected rows (i, j) of near pairs, or "
                "rows (i, j, +1 or -1)."
            )
        i, j, sign = pairs.T if pairs.shape[1] == 3 else (*pairs.T, np.ones(len(pairs), np.int64))
        if not np.isin(sign, (-1, 1)).all():
            raise ValueError(f"pairs has {sign[~np.isin(sign, (-1, 1))][0]} in its third column: expected +1 or -1.")
        samples = pairs[:, :2]
        if not ((samples >= 0) & (samples < n) & (samples == np.floor(samples))).all():
            raise ValueError(
                f"pairs has row numbers from {samples.min()} to {samples.max()}: expected integers from 0 to {n - 1}."
            )
        return i.astype(np.int64), j.astype(np.int64), sign


def default_proximity(y: Any) -> Proximity:
    """Return the proximity for a kind of y: labels, an indicator matrix, or None."""
    if y is None:
        return Nearest()
    shape = getattr(y, "shape", None) or np.shape(np.asarray(y, dtype=object))
    return SharedLabel() if len(shape) == 2 and shape[1] > 1 else SameLabel()
