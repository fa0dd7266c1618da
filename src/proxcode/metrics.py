"""Quality measures of codes, computed from counts of near and far pairs.

1. `count_pairs` counts the near and the far base samples of each query by Hamming distance, or by the level of another
   distance; `ranking_counts` does so for packed codes with labels.
2. The measures are pure functions of these counts: `near[h]` and `far[h]` are the numbers of near and of far pairs at
   distance h = 0..p. Measures of rankings take one row of counts per query.
3. `BitRecord` holds the figures of one bit of a fit.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.hamming import check_codes, distances
from proxcode.utils.validation import check_integer

Index = NDArray[np.int64]
Counts = NDArray[np.int64]
NearRows = Callable[[slice], NDArray[np.bool_]]
LevelRows = Callable[[slice], NDArray[Any]]

# Number of queries whose distances to all base samples are held in memory at a time.
QUERY_BLOCK = 128


def count_pairs(
    n_queries: int, n_levels: int, near_rows: NearRows, level_rows: LevelRows, own_columns: Index | None = None
) -> tuple[Counts, Counts]:
    """Count the near and the far base samples of each query by level of distance.

    Parameters
    ----------
    n_queries : int
    n_levels : int
        Levels are the integers from 0 to n_levels - 1. For Hamming distances of p bits there are p + 1.
    near_rows : callable
        Takes a slice of the queries; returns a boolean array of shape (n_queries_in_slice, n_base) that marks the near
        base samples. All others are far.
    level_rows : callable
        Takes a slice of the queries; returns an integer array of the same shape, the level of each distance.
    own_columns : ndarray of shape (n_queries,), default=None
        Column of the base that holds the query itself, which is not counted. None: no query belongs to the base.

    Returns
    -------
    near, far : ndarrays of shape (n_queries, n_levels)

    Examples
    --------
    >>> level, is_near = np.array([[0, 2, 1], [2, 0, 1]]), np.array([[True, False, True], [False, True, False]])
    >>> near, far = count_pairs(2, 3, is_near.__getitem__, level.__getitem__, own_columns=np.arange(2))
    >>> near.tolist(), far.tolist()
    ([[0, 1, 0], [0, 0, 0]], [[0, 0, 1], [0, 1, 1]])
    """
    near, far = np.zeros((2, n_queries, n_levels), np.int64)
    for start in range(0, n_queries, QUERY_BLOCK):
        block = slice(start, min(start + QUERY_BLOCK, n_queries))
        row = np.arange(block.stop - start)
        is_near, level = near_rows(block), level_rows(block)
        cell = row[:, None] * n_levels + level
        size, shape = len(row) * n_levels, (len(row), n_levels)
        near[block] = np.bincount(cell[is_near], minlength=size).reshape(shape)
        far[block] = np.bincount(cell.ravel(), minlength=size).reshape(shape) - near[block]
        if own_columns is not None:
            own = row, own_columns[block]
            near[start + row, level[own]] -= is_near[own]
            far[start + row, level[own]] -= ~is_near[own]
    return near, far


def ranking_counts(
    queries: ArrayLike, base: ArrayLike, query_labels: ArrayLike, base_labels: ArrayLike, *, same_set: bool = False
) -> tuple[Counts, Counts]:
    """Count near (same label) and far base codes by Hamming distance, for each query.

    Parameters
    ----------
    queries, base : packed codes
    query_labels, base_labels : arrays of one label per code
    same_set : bool, default=False
        Whether the queries are the base itself, in the same order. A query is then not counted as its own neighbour.

    Returns
    -------
    near, far : ndarrays of shape (n_queries, 8 * bytes + 1)
    """
    queries, base = check_codes(queries), check_codes(base)
    query_labels, base_labels = np.asarray(query_labels), np.asarray(base_labels)
    for name, codes, labels in (("queries", queries, query_labels), ("base", base, base_labels)):
        if len(codes) != len(labels):
            raise ValueError(f"{name}: {len(codes)} codes but {len(labels)} labels; pass one label per code.")
    if same_set and len(queries) != len(base):
        raise ValueError(
            f"same_set=True with {len(queries)} queries and {len(base)} base codes; pass the same codes as queries and "
            "base, or same_set=False."
        )
    return count_pairs(
        len(queries),
        8 * queries.shape[1] + 1,
        lambda block: query_labels[block, None] == base_labels,
        lambda block: distances(queries[block], base),
        own_columns=np.arange(len(queries)) if same_set else None,
    )


class PrecisionRecall(NamedTuple):
    """Precision and recall of the classification "near if the Hamming distance is at most t".

    Attributes
    ----------
    precision, recall : ndarrays of shape (n_thresholds,)
    threshold : ndarray of shape (n_thresholds,) or None
        The threshold t of each entry. Thresholds below the smallest distance of any pair are left out, so that entry k
        need not be t = k. None where entries do not belong to thresholds, as in a mean of curves.
    """

    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    threshold: NDArray[np.int64] | None = None

    @property
    def f1(self) -> NDArray[np.float64]:
        """Harmonic mean of precision and recall at each entry; 0 where both are 0."""
        return 2 * self.precision * self.recall / np.maximum(self.precision + self.recall, np.finfo(float).tiny)


def precision_recall(near: Counts, far: Counts) -> PrecisionRecall:
    """Return the precision-recall curve over Hamming thresholds, starting at the smallest distance of any pair.

    Examples
    --------
    >>> precision_recall(near=np.array([0, 3, 1]), far=np.array([0, 1, 3]))
    PrecisionRecall(precision=array([0.75, 0.5 ]), recall=array([0.75, 1.  ]), threshold=array([1, 2]))
    """
    if near.sum() == 0:
        raise ValueError("near has no pairs: precision and recall are undefined without near pairs.")
    found_near, found = np.cumsum(near), np.cumsum(near + far)
    threshold = np.flatnonzero(found > 0)
    return PrecisionRecall(found_near[threshold] / found[threshold], found_near[threshold] / found_near[-1], threshold)


def area_under_curve(curve: PrecisionRecall) -> float:
    """Return the area under a precision-recall curve by the trapezoidal rule.

    The curve starts at recall 0 with the precision of the first threshold. Between two thresholds precision is
    interpolated linearly in recall, as is common and as in the paper. The achievable precision is mostly lower (Davis
    and Goadrich, "The Relationship Between Precision-Recall and ROC Curves", ICML 2006): the area is slightly
    optimistic for short codes, which have few thresholds.
    """
    recall = np.concatenate([[0.0], curve.recall])
    precision = np.concatenate([curve.precision[:1], curve.precision])
    return float(np.trapezoid(precision, recall))


def mean_average_precision(near: Counts, far: Counts, k: int | None = None) -> float:
    """Return the mean over queries of the average precision of the ranking by Hamming distance.

    Codes at equal distance have no order: the expectation over all their orders is taken. In a group of n codes, r of
    them near, that starts after c codes with R near ones, position q = 1..n holds a near code with probability r / n,
    and the expected number of near codes up to that position is then R + 1 + (q - 1)(r - 1)/(n - 1). With the harmonic
    sum S = 1/(c+1) + ... + 1/(c+t), the first t positions of the group contribute
    r/n [(R + 1) S + (r - 1)/(n - 1) (t - (c + 1) S)].

    Queries without any near code are left out.

    Parameters
    ----------
    near, far : ndarrays of shape (n_queries, n_levels)
    k : int, default=None
        Length of the ranking. The sum is divided by the number of near codes that fit into k positions. None: rank all
        codes.
    """
    if k is not None:
        check_integer("k", k, 1)
    near, far = _with_near(near, far)
    size = near + far
    before, near_before = np.cumsum(size, axis=1) - size, np.cumsum(near, axis=1) - near
    taken = size if k is None else np.clip(k - before, 0, size)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, size.sum(axis=1).max() + 1))])
    sums = harmonic[before + taken] - harmonic[before]
    slope = (near - 1) / np.maximum(size - 1, 1)
    gain = near / np.maximum(size, 1) * ((near_before + 1) * sums + slope * (taken - (before + 1) * sums))
    total = near.sum(axis=1) if k is None else np.minimum(near.sum(axis=1), k)
    return float((gain.sum(axis=1) / total).mean())


def precision_at(near: Counts, far: Counts, k: int) -> float:
    """Return the mean precision of the first k codes, the expectation over all orders of codes at equal distance.

    A query without any near code counts as 0; `recall_at` and `mean_average_precision` leave such queries out.

    Examples
    --------
    One near code comes first; the second position holds a near code with probability one half.

    >>> precision_at(near=np.array([[1, 1]]), far=np.array([[0, 1]]), k=2)
    0.75
    """
    return float((_near_at(near, far, k) / k).mean())


def recall_at(near: Counts, far: Counts, k: int) -> float:
    """Return the mean recall of the first k codes; queries without any near code are left out."""
    near, far = _with_near(near, far)
    return float((_near_at(near, far, k) / near.sum(axis=1)).mean())


def precision_within(near: Counts, far: Counts, radius: int = 2) -> float:
    """Return the mean precision of the codes within a Hamming radius; a query that finds no code counts as 0."""
    found_near, found = near[:, : radius + 1].sum(axis=1), (near + far)[:, : radius + 1].sum(axis=1)
    return float((found_near / np.maximum(found, 1)).mean())


def _with_near(near: Counts, far: Counts) -> tuple[Counts, Counts]:
    """Leave out queries without any near code."""
    has_near = near.sum(axis=1) > 0
    if not has_near.any():
        raise ValueError("no query has a near code: rankings cannot be evaluated without near codes.")
    return near[has_near], far[has_near]


def _near_at(near: Counts, far: Counts, k: int) -> NDArray[np.float64]:
    """Return the expected number of near codes among the first k, for each query."""
    check_integer("k", k, 1)
    size = near + far
    taken = np.clip(k - (np.cumsum(size, axis=1) - size), 0, size)
    return (near * (taken / np.maximum(size, 1))).sum(axis=1)


class BitRecord(NamedTuple):
    """What happened at one bit; the figures are those of the code with this bit.

    They are of the code that bits are learned from. With labels, `KernelHash` and `LinearHash` learn from leave-one-out
    values: the bits of a training sample are predicted without its own label, as those of new samples will be. The
    codes that `encode` gives for the training samples know their labels and misplace fewer pairs: their loss is
    `training_loss_` of the model. Bits from long lists of pairs are learned in the same way; in other fits nothing is
    left out and the two losses are equal.

    Attributes
    ----------
    alpha : float
        Threshold of the code, on twice the Hamming distance; see `alpha_` of the model.
    loss : float
        Share of misplaced pairs: those on the wrong side of the best threshold (Eq. 4), an estimate of the loss of new
        samples where it is a leave-one-out figure.
    logistic_loss : float
        Its relaxation at alpha (Eq. 8), a mean over pairs.
    flips, sweeps : int
        Number of flips and of sweeps that the search for the cut took.
    hash_accuracy : float
        Share of samples for which the hash function's bit equals that of the cut.
    near_within, far_within : float
        Shares of the near and of the far pairs within the radius; of near pairs held back where far ones are sampled.
        NaN in models of earlier versions.
    seconds : float
    """

    alpha: float
    loss: float
    logistic_loss: float
    flips: int
    sweeps: int
    hash_accuracy: float
    near_within: float
    far_within: float
    seconds: float

    @classmethod
    def from_numbers(cls, numbers: Sequence[float]) -> Self:
        """Return a record from the figures in a model file: without the seconds, in earlier versions fewer."""
        missing = len(cls._fields) - 1 - len(numbers)
        if missing < 0:
            raise ValueError(f"its history holds {len(numbers)} figures of a bit: upgrade proxcode")
        return cls._make([*numbers, *[math.nan] * missing, math.nan])

    def numbers(self) -> list[float]:
        """Return all figures but the seconds, which differ from run to run, for a model file."""
        return [float(value) if isinstance(value, float) else int(value) for value in self[:-1]]

    @property
    def radius(self) -> int:
        """Hamming distance up to which two codes of this length count as near: floor(alpha / 2), at least 0."""
        return radius_of(self.alpha)


def radius_of(alpha: float) -> int:
    """Return the largest Hamming distance within the threshold alpha, at least 0."""
    return max(0, math.floor(alpha / 2))
