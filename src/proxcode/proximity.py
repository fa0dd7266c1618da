"""What near and far mean: each class turns the user's data into a relation between points.

A proximity is fitted like any estimator, then `relate` gives the relation and the points that take part in it. Points
of which no pair is known (no label, in no listed pair) take no part: they cannot teach a bit anything.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from proxcode.pairs.relations import ListedNear, ListedPairs, Relation, SameClass, SharedClass
from proxcode.storage.state import State
from proxcode.utils.blocks import map_blocks

UNLABELLED = -1


class Related(NamedTuple):
    """A relation between the points X[members]."""

    members: NDArray[np.int64]
    relation: Relation


class Proximity(ABC, BaseEstimator):
    """Which pairs are near (+1), far (-1) or unknown."""

    def fit(self, X: NDArray[Any], y: Any = None) -> Self:
        """Learn what has to be learned from the data; nothing, unless a class says otherwise."""
        return self

    @abstractmethod
    def relate(self, X: NDArray[Any], y: Any = None) -> Related:
        """Return the relation between the points of X."""

    def describe(self) -> str:
        """Describe near pairs in a few words, for display."""
        return repr(self)

    def read(self, y: Any) -> NDArray[Any] | None:
        """Return all that `relate` takes from y, the same for any way to write it; None where it takes nothing."""
        return None

    def state(self) -> State:
        """Return what `fit` learned."""
        return State()

    def restore(self, state: State) -> None:
        """Take over what another one of the same parameters learned."""


class SameLabel(Proximity):
    """Near = same class.

    Parameters
    ----------
    unlabelled : hashable, default=None
        A value of y that means "no label": pairs of such points are unknown. None and NaN always mean it. By default -1
        is a class like any other.

    Notes
    -----
    Labels may be any hashable values: numbers, strings, tuples.
    """

    def __init__(self, unlabelled: Hashable = None) -> None:
        self.unlabelled = unlabelled

    def describe(self) -> str:
        """Describe near pairs in a few words, for display."""
        return "the same label"

    def relate(self, X: NDArray[Any], y: Any = None) -> Related:
        """Return the relation of equal labels."""
        classes = self.read(y)
        if len(classes) != len(X):
            raise ValueError(f"X has {len(X)} points but y has {len(classes)} labels: give one label per point.")
        members = np.flatnonzero(classes != UNLABELLED)
        if len(members) == 0:
            raise ValueError(f"all {len(classes)} points are unlabelled: label some, or use WithinRadius().")
        return Related(members, SameClass(classes[members]))

    def read(self, y: Any) -> NDArray[np.int64]:
        """Return the labels as numbers, in order of appearance."""
        if y is None:
            raise ValueError("SameLabel needs labels: call fit(X, y), or use WithinRadius() to go by distance.")
        return class_numbers(y, self.unlabelled)


def class_numbers(y: Any, unlabelled: Hashable = None) -> NDArray[np.int64]:
    """Return labels as numbers 0, 1, ...; points without a label get -1.

    Examples
    --------
    >>> class_numbers(["cat", "dog", None, "cat"])
    array([ 0,  1, -1,  0])
    """
    is_column = isinstance(y, list | tuple) and all(isinstance(label, list) and len(label) == 1 for label in y)
    array = np.asarray(y) if is_column or not isinstance(y, list | tuple) else None
    if array is not None and array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array is not None and array.ndim != 1:
        raise ValueError(
            f"labels must be one per point; got an array of shape {array.shape}: use SharedLabel() for it."
        )
    if array is not None and array.dtype.kind in "biufUS":
        is_known = ~np.isnan(array) if array.dtype.kind == "f" else np.ones(len(array), bool)
        if unlabelled is not None and not isinstance(unlabelled, tuple):  # which NumPy would compare item by item
            is_known &= array != unlabelled
        classes = np.full(len(array), UNLABELLED, np.int64)
        _, first, inverse = np.unique(array[is_known], return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(len(first))  # in order of appearance, whatever the labels are called
        classes[is_known] = rank[inverse]
        return classes
    numbers: dict[Hashable, int] = {}
    labels = y if array is None else array.tolist()
    return np.array([_class_number(label, unlabelled, numbers) for label in labels], dtype=np.int64)


def _class_number(label: Any, unlabelled: Hashable, numbers: dict[Hashable, int]) -> int:
    if not isinstance(label, Hashable):
        raise ValueError(f"a label must be hashable; got {label!r}: use SharedLabel() with an indicator matrix.")
    if _is_missing(label) or (unlabelled is not None and label == unlabelled):
        return UNLABELLED
    return numbers.setdefault(label, len(numbers))


def _is_missing(label: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return (
        label is None
        or (pandas is not None and label is pandas.NA)
        or (isinstance(label, float | np.floating) and bool(np.isnan(label)))
    )


class SharedLabel(Proximity):
    """Near = at least one label in common; y is a 0/1 indicator matrix of shape (n, n_labels), dense or sparse.

    A point without any label is far from all.
    """

    def describe(self) -> str:
        """Describe near pairs in a few words, for display."""
        return "at least one label in common"

    def relate(self, X: NDArray[Any], y: Any = None) -> Related:
        """Return the relation of shared labels."""
        masks = self.read(y)
        if masks.shape[1] != len(X):
            raise ValueError(f"y must be an indicator matrix of shape ({len(X)}, n_labels); got shape {np.shape(y)}.")
        return Related(np.arange(len(X)), SharedClass(masks))

    def read(self, y: Any) -> NDArray[np.uint64]:
        """Return the labels of each point as bits of 64-bit words, shape (n_words, n)."""
        if y is None:
            raise ValueError("SharedLabel needs an indicator matrix y of shape (n, n_labels).")
        indicator = sp.csc_array(y) if sp.issparse(y) else np.asarray(y)
        if indicator.dtype == object:  # a data frame of bool and int columns
            indicator = np.array(indicator.tolist())
        if indicator.ndim != 2:
            n = indicator.shape[0] if indicator.ndim else "n"
            raise ValueError(f"y must be an indicator matrix of shape ({n}, n_labels); got shape {indicator.shape}.")
        values = np.asarray(indicator.data if sp.issparse(indicator) else indicator)
        if not (is_valid := np.isin(values, (0, 1))).all():
            raise ValueError(
                f"the indicator matrix y must hold 0 and 1 only; got {values[~is_valid][0]}: MultiLabelBinarizer makes "
                "one; for labels that are tuples pass proximity=SameLabel()."
            )
        return _masks(indicator)


def _masks(indicator: Any) -> NDArray[np.uint64]:
    n, n_labels = indicator.shape
    masks = np.zeros((-(-n_labels // 64), n), np.uint64)
    for label in range(n_labels):
        column = indicator[:, [label]]
        column = column.toarray() if sp.issparse(column) else column
        masks[label // 64] |= (column.ravel() != 0).astype(np.uint64) << np.uint64(label % 64)
    return masks


class WithinRadius(Proximity):
    """Near = distance at most `radius`.

    Parameters
    ----------
    radius : float, default=None
        None finds the radius within which a point has `mean_neighbors` others on average.
    mean_neighbors : float, default=None
        None is 100, as in the paper's LabelMe experiment, or a tenth of the points where these are under 1,000.
    metric : str, default="euclidean"
        Any metric that `sklearn.neighbors.NearestNeighbors` knows.
    metric_params : dict, default=None
        Its parameters, if it has any.

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
            if not self.radius >= 0:
                raise ValueError(f"radius={self.radius}: give a distance of at least 0, or None to have it found.")
            self.radius_ = float(self.radius)
            return self
        mean_neighbors = min(100, len(X) / 10) if self.mean_neighbors is None else self.mean_neighbors
        if not 0 < mean_neighbors <= len(X) - 1:
            raise ValueError(
                f"mean_neighbors={mean_neighbors}: give a number above 0, up to {len(X) - 1} for {len(X)} points."
            )
        self.radius_ = self._distance_of_rank(X, max(1, round(mean_neighbors * len(X) / 2)))
        return self

    def describe(self) -> str:
        """Describe near pairs in a few words, for display."""
        return f"{self.metric} distance of at most {self.radius_:.4g}"

    def relate(self, X: NDArray[Any], y: Any = None) -> Related:
        """Return the relation of distances at most `radius_`."""
        first, second, _ = self._pairs_within(X, self.radius_)
        return Related(np.arange(len(X)), ListedNear(first, second, len(X)))

    def state(self) -> State:
        """Return the radius."""
        return State({"radius": self.radius_})

    def restore(self, state: State) -> None:
        """Take a radius over."""
        self.radius_ = state.values["radius"]

    def _distance_of_rank(self, X: NDArray[Any], n_pairs: int) -> float:
        """Return the n_pairs-th smallest distance of all pairs, exactly."""
        from sklearn.metrics import pairwise_distances

        rows = np.random.default_rng(0).choice(len(X), min(len(X), 256), replace=False)
        sample = pairwise_distances(X[rows], X, metric=self.metric, **(self.metric_params or {}))
        sample = sample[np.arange(len(X))[None] != rows[:, None]]  # a point is not its own neighbour
        share = min(1.0, 1.2 * n_pairs / (len(X) * (len(X) - 1) / 2))
        reach = float(np.quantile(sample, share))
        while True:
            distance = self._pairs_within(X, reach)[2]
            if len(distance) >= n_pairs:
                return float(np.partition(distance, n_pairs - 1)[n_pairs - 1])
            reach = max(1.3 * reach, float(sample[sample > reach].min(initial=sample.max())))

    def _pairs_within(self, X: NDArray[Any], radius: float) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the pairs first < second at distance at most `radius`, and their distances."""
        from sklearn.neighbors import NearestNeighbors

        points, reach = X, radius
        if self.metric in ("euclidean", "l2"):
            # The library finds distances by inner products, a rounding of |x|^2 off: look further, then measure anew.
            points = X - X.mean(axis=0, dtype=np.float64)
            reach = float(np.sqrt(radius**2 + 1e-12 * (points * points).sum(axis=1).max()))
        index = NearestNeighbors(radius=reach, metric=self.metric, metric_params=self.metric_params, n_jobs=-1)
        distances, neighbors = index.fit(points).radius_neighbors(points)
        first = np.repeat(np.arange(len(X)), [len(row) for row in neighbors])
        second, distance = np.concatenate(neighbors), np.concatenate(distances)
        once = first < second  # rounding may find a pair from one end only
        first, second, distance = first[once], second[once], distance[once]
        if reach > radius:
            distance = _euclidean(X, first, second)
        within = distance <= radius
        return first[within], second[within], distance[within]


def _euclidean(X: NDArray[Any], first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Distances of listed pairs, from differences: equal points are at distance 0."""
    out = np.empty(len(first))

    def measure(rows: slice) -> NDArray[np.float64]:
        return np.linalg.norm(X[first[rows]].astype(np.float64) - X[second[rows]], axis=1)

    for rows, block in map_blocks(measure, len(first)):
        out[rows] = block
    return out


class GivenPairs(Proximity):
    """Near and far as listed.

    Parameters
    ----------
    pairs : array of shape (m, 3), or scipy.sparse matrix of shape (n, n)
        Rows (i, j, +1) for near and (i, j, -1) for far pairs of rows of X; or a matrix whose positive entries are near
        and whose negative entries are far. A pair may stand in one direction or both. Pairs (i, i) are ignored.
    others : {"unknown", "far"}, default="unknown"
        What all other pairs are.
    """

    def __init__(self, pairs: Any = None, others: str = "unknown") -> None:
        self.pairs = pairs
        self.others = others

    def describe(self) -> str:
        """Describe near pairs in a few words, for display."""
        return f"listed as near; pairs not listed are {self.others}"

    def relate(self, X: NDArray[Any], y: Any = None) -> Related:
        """Return the relation of the listed pairs."""
        if self.others not in ("unknown", "far"):
            raise ValueError(f"others={self.others!r}: use 'unknown' or 'far'.")
        first, second, near = self._listed(len(X))
        if self.others == "unknown":
            members, place = np.unique(np.concatenate([first, second]), return_inverse=True)
            relation = ListedPairs(place[: len(first)], place[len(first) :], near, len(members))
            return Related(members, relation)
        return Related(np.arange(len(X)), ListedNear(first[near], second[near], len(X)))

    def _listed(self, n: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
        """Return the distinct pairs first < second and whether they are near."""
        i, j, sign = self._triples(n)
        keep = (i != j) & (sign != 0)
        key = np.minimum(i, j)[keep] * n + np.maximum(i, j)[keep]
        if len(key) == 0:
            raise ValueError("GivenPairs has no pair of different points: list at least one near and one far pair.")
        distinct, where = np.unique(key, return_inverse=True)
        near_votes = np.bincount(where, weights=sign[keep] > 0)
        votes = np.bincount(where)
        if (torn := (near_votes > 0) & (near_votes < votes)).any():
            a, b = divmod(int(distinct[torn][0]), n)
            raise ValueError(f"pair ({a}, {b}) is given as near and as far: keep one of the two.")
        return distinct // n, distinct % n, near_votes > 0

    def _triples(self, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
        if sp.issparse(self.pairs):
            if self.pairs.shape != (n, n):
                raise ValueError(f"pairs is a matrix of shape {self.pairs.shape}: X has {n} points, so use ({n}, {n}).")
            matrix = sp.coo_array(self.pairs)
            if not np.isfinite(matrix.data).all():
                raise ValueError("the matrix of pairs has NaN or infinite entries: use positive, negative or none.")
            return matrix.row.astype(np.int64), matrix.col.astype(np.int64), matrix.data
        pairs = np.asarray(self.pairs)
        if pairs.ndim != 2 or pairs.shape[1] != 3 or pairs.dtype.kind not in "iuf":
            raise ValueError(f"pairs must be rows (i, j, +1 or -1); got {pairs.dtype} of shape {pairs.shape}.")
        i, j, sign = pairs.T
        if not np.isin(sign, (-1, 1)).all():
            raise ValueError(f"the third column of pairs must be +1 or -1; got {sign[~np.isin(sign, (-1, 1))][0]}.")
        points = pairs[:, :2]
        if not ((points >= 0) & (points < n) & (points == np.floor(points))).all():
            raise ValueError(
                f"pairs name points by row number, 0 to {n - 1} here; got {points.min()} to {points.max()}."
            )
        return i.astype(np.int64), j.astype(np.int64), sign


def default_proximity(y: Any) -> Proximity:
    """Pick by what is given: labels, an indicator matrix, or nothing."""
    if y is None:
        return WithinRadius()
    shape = getattr(y, "shape", None) or np.shape(np.asarray(y, dtype=object))
    return SharedLabel() if len(shape) == 2 and shape[1] > 1 else SameLabel()
