"""How good codes are: pure functions of counts.

`near[h]` and `far[h]` are the numbers of near and of far pairs at Hamming distance h = 0..p; for rankings there is one
row of counts per query.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxcode.hamming import check_codes, distances
from proxcode.utils.validation import check_whole

Counts = NDArray[np.int64]
QUERY_BLOCK = 256


class PrecisionRecall(NamedTuple):
    """Precision and recall of "near where the Hamming distance is at most t".

    Attributes
    ----------
    precision, recall : ndarrays of shape (n_thresholds,)
    threshold : ndarray of shape (n_thresholds,) or None
        The t of each entry. Those below the first pair are not among them, so that entry k need not be t = k. None
        where the entries are not those of thresholds, as in a mean of curves.
    """

    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    threshold: NDArray[np.int64] | None = None

    @property
    def f1(self) -> NDArray[np.float64]:
        """Harmonic mean of precision and recall, entry by entry; 0 where both are."""
        return 2 * self.precision * self.recall / np.maximum(self.precision + self.recall, np.finfo(float).tiny)


def precision_recall(near: Counts, far: Counts) -> PrecisionRecall:
    """Return the curve over the Hamming thresholds from the first that finds any pair.

    Examples
    --------
    >>> precision_recall(near=np.array([0, 3, 1]), far=np.array([0, 1, 3]))
    PrecisionRecall(precision=array([0.75, 0.5 ]), recall=array([0.75, 1.  ]), threshold=array([1, 2]))
    """
    if near.sum() == 0:
        raise ValueError("there is no near pair: precision and recall are not defined.")
    found_near, found = np.cumsum(near), np.cumsum(near + far)
    threshold = np.flatnonzero(found > 0)
    return PrecisionRecall(found_near[threshold] / found[threshold], found_near[threshold] / found_near[-1], threshold)


def area_under_curve(curve: PrecisionRecall) -> float:
    """Return the area by trapezoids, from recall 0 at the first threshold's precision.

    Between two thresholds precision is taken to be linear in recall, as is usual and as in the paper. What can be
    reached there is mostly less (Davis, Goadrich, "The Relationship Between Precision-Recall and ROC Curves", ICML
    2006): the area is slightly optimistic where thresholds are few, for short codes.
    """
    recall = np.concatenate([[0.0], curve.recall])
    precision = np.concatenate([curve.precision[:1], curve.precision])
    return float(np.trapezoid(precision, recall))


def ranking_counts(
    queries: ArrayLike, base: ArrayLike, query_labels: ArrayLike, base_labels: ArrayLike, *, same_set: bool = False
) -> tuple[Counts, Counts]:
    """Count near (same label) and far base codes by Hamming distance, for each query.

    Parameters
    ----------
    queries, base : packed codes
    query_labels, base_labels : arrays of one label per code
    same_set : bool, default=False
        The queries are the base itself, in the same order: a query is then not counted with itself.

    Returns
    -------
    near, far : ndarrays of shape (n_queries, 8 * bytes + 1)
    """
    queries, base = check_codes(queries), check_codes(base)
    query_labels, base_labels = np.asarray(query_labels), np.asarray(base_labels)
    for codes, labels in ((queries, query_labels), (base, base_labels)):
        if len(codes) != len(labels):
            raise ValueError(f"there are {len(codes)} codes but {len(labels)} labels: give one label per code.")
    if same_set and len(queries) != len(base):
        raise ValueError(
            f"same_set=True with {len(queries)} queries and {len(base)} base codes: give the same codes as both, or "
            "same_set=False."
        )
    n_distances = 8 * queries.shape[1] + 1
    near = np.zeros((len(queries), n_distances), np.int64)
    far = np.zeros_like(near)
    for start in range(0, len(queries), QUERY_BLOCK):
        block = slice(start, start + QUERY_BLOCK)
        row = np.arange(len(queries[block]))[:, None]
        cell = row * n_distances + distances(queries[block], base)
        is_near = query_labels[block][:, None] == base_labels
        is_counted = np.ones_like(is_near)
        if same_set:
            is_counted[row[:, 0], start + row[:, 0]] = False
        near[block] = _histogram(cell[is_near & is_counted], len(row), n_distances)
        far[block] = _histogram(cell[~is_near & is_counted], len(row), n_distances)
    return near, far


def _histogram(cells: NDArray[Any], n_rows: int, n_columns: int) -> Counts:
    return np.bincount(cells, minlength=n_rows * n_columns).reshape(n_rows, n_columns)


def mean_average_precision(near: Counts, far: Counts, k: int | None = None) -> float:
    """Return the mean over queries of average precision over the ranking by Hamming distance, or its first k places.

    Codes at equal distance have no order: the expectation over all their orders is taken. In a group of n codes, r of
    them near, that starts after c codes with R near ones, position q = 1..n holds a near code with probability r / n,
    and then expects R + 1 + (q - 1)(r - 1)/(n - 1) near ones up to itself. Of the first t positions of the group, with
    the harmonic sum S = 1/(c+1) + ... + 1/(c+t), it adds r/n [(R + 1) S + (r - 1)/(n - 1) (t - (c + 1) S)].

    With k, the sum is divided by the near codes that could be among k places. Queries without any near code are left
    out.
    """
    if k is not None:
        check_whole("k", k, 1)
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


def _with_near(near: Counts, far: Counts) -> tuple[Counts, Counts]:
    """Leave out queries without any near code."""
    has_near = near.sum(axis=1) > 0
    if not has_near.any():
        raise ValueError("no query has a near code: rankings cannot be judged.")
    return near[has_near], far[has_near]


def _near_at(near: Counts, far: Counts, k: int) -> NDArray[np.float64]:
    """Return the number of near codes expected among the first k, for each query."""
    check_whole("k", k, 1)
    size = near + far
    taken = np.clip(k - (np.cumsum(size, axis=1) - size), 0, size)
    return (near * (taken / np.maximum(size, 1))).sum(axis=1)


def precision_at(near: Counts, far: Counts, k: int) -> float:
    """Return the mean share of near codes among the first k, expected over the orders of codes at equal distance.

    Every query counts, one without any near code as 0; `recall_at` and `mean_average_precision` leave such queries out.

    Examples
    --------
    >>> precision_at(near=np.array([[1, 1]]), far=np.array([[0, 1]]), k=2)  # one for sure, one with even chances
    0.75
    """
    return float((_near_at(near, far, k) / k).mean())


def recall_at(near: Counts, far: Counts, k: int) -> float:
    """Return the mean share of a query's near codes that is among the first k; queries without any are left out."""
    near, far = _with_near(near, far)
    return float((_near_at(near, far, k) / near.sum(axis=1)).mean())


def precision_within(near: Counts, far: Counts, radius: int = 2) -> float:
    """Return the mean share of near codes among those within a Hamming radius; a query that finds none counts as 0."""
    found_near, found = near[:, : radius + 1].sum(axis=1), (near + far)[:, : radius + 1].sum(axis=1)
    return float((found_near / np.maximum(found, 1)).mean())
