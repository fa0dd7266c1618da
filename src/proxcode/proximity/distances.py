"""Near by distance: within a radius, or among the nearest."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import NDArray

from proxcode.hashing import HashFunction, RotationHash
from proxcode.pairs import FoundPairs, NearLists
from proxcode.pairs.nearest import MAX_SEARCHED, nearest_pairs, rank_among, recall_of_search, searched
from proxcode.pairs.within_radius import PairDistances
from proxcode.proximity.base import Proximity
from proxcode.storage.state import State
from proxcode.utils.rows import ALL, evenly_spaced
from proxcode.utils.samples import as_samples, select
from proxcode.utils.validation import check_different, check_integer, check_number, in_units, unit_of

# Samples whose distances are computed, at most, for a radius.
MAX_RADIUS_SAMPLES = 50_000


class WithinRadius(Proximity):
    """Near = distance at most `radius`.

    Pairs are those of up to 50,000 evenly spaced samples.

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
        samples = evenly_spaced(len(X), MAX_RADIUS_SAMPLES)
        # So many of the others are near, also among the samples that distances are computed of.
        share = (len(samples) - 1) / (len(X) - 1)
        rank = max(1, round(mean_neighbors * share * len(samples) / 2))
        self.radius_ = PairDistances(select(X, samples)[ALL], self.metric, self.metric_params).distance_of_rank(rank)
        return self

    def find_pairs(self, X: NDArray[Any], y: Any = None) -> FoundPairs:
        """Return all pairs of up to 50,000 samples; those at distance at most `radius_` are near."""
        samples = evenly_spaced(len(X), MAX_RADIUS_SAMPLES)
        distances = PairDistances(select(X, samples)[ALL], self.metric, self.metric_params)
        return FoundPairs(samples, NearLists(*distances.pairs_within(self.radius_), len(samples)))

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
    above 40,000 samples. Whether a pair is near is decided among all samples; of more than 100,000, among as many
    evenly spaced ones, with a number of nearest samples that is smaller in proportion.

    Parameters
    ----------
    n_neighbors : int, default=None
        Number of nearest samples of a sample. None is 100, or a tenth of the samples where these are under 1,000.

    Attributes
    ----------
    recall_ : float
        Share of near pairs that are found: 1 up to 100,000 samples; of more, measured with 200 samples.
    """

    recall_ = 1.0

    def __init__(self, n_neighbors: int | None = None) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, X: NDArray[Any], y: Any = None) -> Self:
        """Measure the recall of a search among some samples, where these are many."""
        if len(X) > MAX_SEARCHED:
            self.recall_ = recall_of_search(as_samples(in_units(X, unit_of(X))), self._n_neighbors(len(X)))
        return self

    def find_pairs(self, X: NDArray[Any], y: Any = None) -> FoundPairs:
        """Return the pairs of evenly spaced samples."""
        n_neighbors = rank_among(self._n_neighbors(len(X)), len(X))
        check_different(X)
        chosen = searched(len(X))
        samples, pairs = nearest_pairs(select(in_units(X, unit_of(X)), chosen)[ALL], n_neighbors)
        return FoundPairs(chosen[samples], pairs)

    def _n_neighbors(self, n: int) -> int:
        n_neighbors = max(1, min(100, n // 10)) if self.n_neighbors is None else self.n_neighbors
        return check_integer("n_neighbors", n_neighbors, 1, n - 1, f" for {n} samples")

    def hash_function(self) -> HashFunction:
        return RotationHash()

    def describe(self) -> str:
        recall = f", of which {self.recall_:.0%} were found" if self.recall_ < 1 else ""
        return f"among the {self.n_neighbors or 'up to 100'} nearest{recall}"

    def state(self) -> State:
        return State({"recall": self.recall_})

    def restore(self, state: State) -> None:
        # Files of earlier versions do not hold it.
        self.recall_ = state.number("recall", at_least=0) if "recall" in state.values else 1.0
