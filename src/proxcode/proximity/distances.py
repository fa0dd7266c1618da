"""Near by distance: within a radius, or among the nearest."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from proxcode.hashing import HashFunction, RotationHash
from proxcode.pairs import FoundPairs, NearLists
from proxcode.pairs.nearest import nearest_pairs
from proxcode.pairs.within_radius import PairDistances
from proxcode.proximity.base import Proximity
from proxcode.storage.state import State
from proxcode.utils.validation import check_different, check_integer, check_number, in_units, unit_of


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
        if not isinstance(self.metric, str) and not callable(self.metric):
            raise TypeError(f"metric={self.metric!r}: expected a name such as 'euclidean'.")
        if not isinstance(self.metric_params, dict | None):
            raise TypeError(f"metric_params={self.metric_params!r}: expected a dictionary or None.")
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
        self.radius_ = state.number("radius", at_least=0)


class Nearest(Proximity):
    """Near = one of two samples is among the nearest of the other, by Euclidean distance: for top-k search.

    The codes are learned from the samples themselves, by `RotationHash` unless another hash function is given; the
    pairs decide on `radius_` and the figures of `history_`. They are those of up to 10,000 evenly spaced samples, fewer
    above 40,000 samples; whether a pair is near is decided among all samples.

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
        check_different(X)
        return FoundPairs(*nearest_pairs(in_units(X, unit_of(X)), n_neighbors))

    def hash_function(self) -> HashFunction:
        return RotationHash()

    def describe(self) -> str:
        return f"among the {self.n_neighbors or 'up to 100'} nearest"
