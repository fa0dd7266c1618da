"""Pairs of samples within a distance: the distance of a given rank, and the list of pairs within a radius.

Distances are computed in blocks of rows, each against all later rows, and the blocks are never kept:

1. `distance_of_rank` counts the distances in bins, replaces the bins by finer ones within the bin that holds the wanted
   rank until few distances are in it, and sorts these: exact, in bounded memory, in two or three passes;
2. `pairs_within` lists the pairs once.

Euclidean distances come from inner products, which round by some 1e-13 max |x|^2. Pairs this close to a limit are
measured again from differences.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from proxcode.utils.blocks import map_blocks
from proxcode.utils.rows import Index
from proxcode.utils.validation import in_units, unit_of

Matrix = NDArray[Any]
Vector = NDArray[np.float64]
T = TypeVar("T")

# Entries of a block of distances.
BLOCK_ENTRIES = 1 << 22
# Bins of a pass, and rows from which the first bins are found.
N_BINS, SAMPLE_ROWS = 1024, 256
# Distances that are sorted; while a bin holds more, it is divided again.
MAX_SORTED = 1 << 21
# Passes after which bins are as narrow as double precision allows.
MAX_PASSES = 16
# Largest number of near pairs that are listed; each takes some 50 bytes while a code is learned.
MAX_PAIRS = 100_000_000
# Pairs whose differences are held at a time.
MEASURED_PAIRS = 2048
# Squared norm of an outlier, relative to the median of all samples.
OUTLIER_NORM = 1e6
# Rows from which the centre of the norms, a median, is found.
MEDIAN_ROWS = 1000
# Metrics of which the scale of the samples is no part.
SCALE_FREE = ("cosine", "correlation")
# Rounding of squared distances by inner products, relative to the largest squared norm.
ROUNDING = 1e-12


class PairDistances:
    """Distances of all pairs of samples.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    metric : str
        A metric of `sklearn.metrics.pairwise_distances`.
    metric_params : dict or None
        Its parameters.
    """

    def __init__(self, X: Matrix, metric: str, metric_params: dict[str, Any] | None) -> None:
        self.is_euclidean = metric in ("euclidean", "l2") and not metric_params
        # Distances are those of samples in units: neither they nor their squares overflow or vanish.
        self.unit = unit_of(X) if self.is_euclidean or metric in SCALE_FREE else 1.0
        self.X = X = in_units(X, self.unit)
        self.metric, self.metric_params, self.n = metric, metric_params or {}, len(X)
        self.rounding = 0.0
        if self.is_euclidean:
            # Outliers are measured from differences: by inner products they would raise the rounding of all pairs.
            with np.errstate(over="ignore", invalid="ignore"):
                from_median = X - np.median(X[:: max(1, self.n // MEDIAN_ROWS)], axis=0)
                norms = np.einsum("ij,ij->i", from_median, from_median, dtype=np.float64)
            # Squared distances are at most four times the largest squared norm.
            if not np.isfinite(4.0 * norms.max()):
                raise ValueError("squared norms of X overflow float64: scale X down.")
            positive = norms[norms > 0]
            is_outlier = norms > OUTLIER_NORM * (np.median(positive) if len(positive) else 0.0)
            self.outliers = np.flatnonzero(is_outlier)
            centred = X - X[~is_outlier].mean(axis=0, dtype=np.float64)
            centred[is_outlier] = 0.0
            norms = (centred * centred).sum(axis=1, keepdims=True)
            ones = np.ones_like(norms)
            # The inner product of a row of one and a row of the other is |x|^2 - 2 x'z + |z|^2.
            self.left, self.right = np.hstack([centred, norms, ones]), np.hstack([-2.0 * centred, ones, norms])
            # Squares below the smallest normal number are rounded to multiples of some 5e-324.
            self.rounding = ROUNDING * float(norms.max()) + np.finfo(np.float64).tiny

    def distance_of_rank(self, rank: int) -> float:
        """Return the distance of a rank among all pairs, exactly; the smallest distance has rank 1."""
        low, high = -np.inf, np.inf
        edges, n_passes = self._first_edges(rank), 0
        while True:
            n_passes += 1
            counts, largest = self._count(edges)
            within = np.cumsum(counts)
            bin_of_rank = int(np.searchsorted(within, rank))
            if bin_of_rank < len(edges):
                low = edges[bin_of_rank - 1] if bin_of_rank else -np.inf
                high, n_inside = edges[bin_of_rank], counts[bin_of_rank]
            else:
                low, high = edges[-1], min(high, largest)
                n_inside = self.n * (self.n - 1) // 2 - within[-1]
            # Distances this close are told apart by measuring them again, however many there are.
            is_narrow = high - max(low, 0.0) <= max(self.rounding, 4 * np.spacing(high))
            if n_inside <= MAX_SORTED or is_narrow or n_passes == MAX_PASSES:
                found = self._rank_between(low - 2 * self.rounding, high + 2 * self.rounding, rank)
                return found / self.unit if self.is_euclidean else found
            edges = np.linspace(max(low, 0.0), high, N_BINS + 1)

    def pairs_within(self, radius: float) -> tuple[Index, Index]:
        """Return the pairs first < second at distance at most `radius`."""
        if self.is_euclidean:
            radius = radius * self.unit
        limit = radius * radius + self.rounding if self.is_euclidean else radius
        # Pairs that are left out of a block are at an infinite distance.
        limit = min(limit, float(np.finfo(np.float64).max))

        def within(reduced: Matrix, start: int) -> tuple[Index, Index]:
            row, column = np.nonzero(reduced <= limit)
            first, second = row + start, column + start
            if self.is_euclidean:
                is_within = self._measured(first, second) <= radius
                first, second = first[is_within], second[is_within]
            return first, second

        found, n_pairs = [], 0
        for block in self._over_blocks(within):
            found.append(block)
            n_pairs += len(block[0])
            if n_pairs > MAX_PAIRS:
                raise ValueError(
                    f"radius={radius:g}: more than {MAX_PAIRS:,} pairs of {self.n:,} samples are near; set a smaller "
                    "radius or fewer mean_neighbors."
                )
        first, second = (np.concatenate(part) for part in zip(*found, strict=True))
        return first, second

    def _first_edges(self, rank: int) -> Vector:
        """Return edges of bins between which a sample has equally many distances, up to four times the rank's share."""
        rows = np.random.default_rng(0).choice(self.n, min(self.n, SAMPLE_ROWS), replace=False)
        sample = self._reduced(rows, slice(None))
        # A sample is not its own neighbour.
        others = sample[np.arange(self.n)[None] != rows[:, None]]
        share = min(1.0, 4 * rank / (self.n * (self.n - 1) / 2))
        return np.unique(np.quantile(others, np.linspace(0, share, N_BINS)))

    def _count(self, edges: Vector) -> tuple[Index, float]:
        """Return the number of reduced distances up to the first edge and between each two, and the largest of all."""

        def count(reduced: Matrix, start: int) -> tuple[Index, float]:
            within = reduced[reduced <= edges[-1]]
            largest = reduced.max(where=reduced < np.inf, initial=0.0)
            return np.bincount(np.searchsorted(edges, within), minlength=len(edges)), largest

        counts, largest = zip(*self._over_blocks(count), strict=True)
        return np.sum(counts, axis=0), float(max(largest))

    def _rank_between(self, low: float, high: float, rank: int) -> float:
        """Return the distance of a rank, whose reduced distance is known to lie between two limits."""

        def exact(reduced: Matrix, start: int) -> tuple[int, Vector, Index]:
            is_within = (reduced > low) & (reduced <= high)
            if self.is_euclidean:
                row, column = np.nonzero(is_within)
                distances = self._measured(row + start, column + start)
            else:
                distances = reduced[is_within]
            return int((reduced <= low).sum()), *np.unique(distances, return_counts=True)

        n_below, values, counts = 0, np.empty(0), np.empty(0, np.int64)
        for block_below, block_values, block_counts in self._over_blocks(exact):
            n_below += block_below
            values, where = np.unique(np.concatenate([values, block_values]), return_inverse=True)
            counts = np.bincount(where, np.concatenate([counts, block_counts])).astype(np.int64)
        return float(values[np.searchsorted(n_below + np.cumsum(counts), rank)])

    def _reduced(self, rows: Any, columns: slice) -> Matrix:
        """Return distances between samples, squared where they are Euclidean."""
        if not self.is_euclidean:
            from sklearn.metrics import pairwise_distances

            distances = pairwise_distances(self.X[rows], self.X[columns], metric=self.metric, **self.metric_params)
            if np.isnan(distances).any():
                raise ValueError(f"metric={self.metric!r} is not defined for all samples of X: drop constant rows.")
            if np.isinf(distances).any():
                raise ValueError(f"metric={self.metric!r}: distances of X overflow {distances.dtype}: scale X down.")
            return distances
        squares: Matrix = self.left[rows] @ self.right[columns].T
        np.maximum(squares, 0.0, out=squares)
        row_numbers, column_numbers = np.arange(self.n)[rows], np.arange(self.n)[columns]
        for i in np.flatnonzero(np.isin(row_numbers, self.outliers)):
            squares[i] = self._measured(np.full(len(column_numbers), row_numbers[i]), column_numbers) ** 2
        for j in np.flatnonzero(np.isin(column_numbers, self.outliers)):
            squares[:, j] = self._measured(row_numbers, np.full(len(row_numbers), column_numbers[j])) ** 2
        return squares

    def _over_blocks(self, function: Callable[[Matrix, int], T]) -> Iterator[T]:
        """Yield function(reduced, start) for blocks of rows from `start` against all later rows, each pair once."""

        def of_block(rows: slice) -> T:
            reduced = self._reduced(rows, slice(rows.start, None))
            reduced[np.tril_indices(len(reduced))] = np.inf
            return function(reduced, rows.start)

        for _, value in map_blocks(of_block, self.n, max(1, BLOCK_ENTRIES // self.n)):
            yield value

    def _measured(self, first: Index, second: Index) -> Vector:
        """Return Euclidean distances of pairs from differences: equal samples are at distance 0."""
        out = np.empty(len(first))
        for start in range(0, len(first), MEASURED_PAIRS):
            pairs = slice(start, start + MEASURED_PAIRS)
            out[pairs] = np.linalg.norm(self.X[first[pairs]].astype(np.float64) - self.X[second[pairs]], axis=1)
        return out
