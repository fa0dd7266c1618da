"""How good a learned code is on given points, beside other ways to make codes.

1. Near and far among the points go by the model's own proximity, or by one that is given,
2. the points are encoded once; shorter codes are the first bits of the longest,
3. each peer is fitted at each length, without labels,
4. pairs are counted by Hamming distance, which all figures but mAP come from,
5. mAP comes from the same counts for each of at most 2,000 queries.

Counts are summed block by block: no matrix of pairs is made.
"""

import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from proxcode.code import ProximityPreservingCode
from proxcode.hamming import Codes, GrowingCode, distances, unpack
from proxcode.metrics import QUERY_BLOCK, Counts, area_under_curve, mean_average_precision, precision_recall
from proxcode.pairs.relations import ListedNear, Relation, SameClass, SharedClass
from proxcode.peers import PEERS
from proxcode.proximity import GivenPairs, Proximity, Related, SameLabel, SharedLabel, default_proximity
from proxcode.threshold import loss
from proxcode.utils.validation import check_points

MODEL = "PPC"
MAX_QUERIES = 2000


class Row(NamedTuple):
    """What was measured of one method at one code length.

    Attributes
    ----------
    method : str
        "PPC" is the model; others are names of `proxcode.peers.PEERS`.
    bits : int
    loss : float
        Share of pairs on the wrong side of the threshold that is best for these pairs.
    auc : float
        Area under the precision-recall curve over Hamming thresholds.
    map : float or None
        Mean average precision of points that rank all others; None where most pairs are unknown.
    seconds : float or None
        To learn: for the model the bits alone, without what all bits share; None where it was loaded from a file, which
        does not keep them.
    precision, recall : float or None
        Of "near up to the learned `radius_`": of the model at its full length, else None. Precision is also None where
        no pair is that near.
    """

    method: str
    bits: int
    loss: float
    auc: float
    map: float | None
    seconds: float | None
    precision: float | None = None
    recall: float | None = None


@dataclass
class Evaluation:
    """What `evaluate` measured.

    Attributes
    ----------
    model : ProximityPreservingCode
    bits : ndarray of uint8, shape (n, n_bits_)
        The model's codes of the points as a 0/1 matrix.
    rows : list of Row
        The model's first, by length; then those of each peer.
    histograms : dict of (method, bits) to (near, far)
        Near and far pairs by Hamming distance, for each row.
    left_out : dict of (method, bits) to str
        Why a peer gave no code at a length.
    """

    model: ProximityPreservingCode
    bits: Codes
    rows: list[Row] = field(default_factory=list)
    histograms: dict[tuple[str, int], tuple[Counts, Counts]] = field(default_factory=dict)
    left_out: dict[tuple[str, int], str] = field(default_factory=dict)

    @property
    def longest(self) -> int:
        """The longest length at which the model was measured."""
        return max(bits for method, bits in self.histograms if method == MODEL)

    @property
    def common_bits(self) -> int:
        """The longest length at which all methods were measured that have such a length, else the model's."""
        lengths: dict[str, set[int]] = {}
        for method, bits in self.histograms:
            lengths.setdefault(method, set()).add(bits)
        return max(set.intersection(*lengths.values()), default=self.longest)

    @property
    def counts(self) -> dict[str, tuple[Counts, Counts]]:
        """Near and far pairs by Hamming distance for each method, at `common_bits`."""
        at = self.common_bits
        return {method: pair for (method, bits), pair in self.histograms.items() if bits == at}


def evaluate(
    model: ProximityPreservingCode,
    X: ArrayLike,
    y: Any = None,
    *,
    proximity: Proximity | None = None,
    lengths: Iterable[int] | None = None,
    peers: Iterable[str] = ("LSH", "ITQ"),
    train: ArrayLike | None = None,
) -> Evaluation:
    """Measure a fitted model on points, all pairs of them, beside peers of the same lengths.

    Parameters
    ----------
    model : ProximityPreservingCode
    X : array of shape (n, d)
        Best points that the model was not fitted to.
    y : labels (n,), indicator matrix (n, n_labels) or None
        As the proximity needs them.
    proximity : Proximity, default=None
        What near means among these points; one that is not fitted is fitted to them. None is the model's own; a model
        of `GivenPairs`, which names training points, then goes by the labels y.
    lengths : whole numbers, default=None
        Code lengths, each at most the model's. None is 8, 16, 32, ... up to the model's, and the model's own.
    peers : names from `proxcode.peers.PEERS`, default=("LSH", "ITQ")
        Fitted without labels, with seed 0. One that cannot give so many bits is left out at that length.
    train : array of shape (m, d), default=None
        What peers are fitted to, best the points the model was fitted to. None is X itself, which favours the peers.

    Returns
    -------
    Evaluation

    Notes
    -----
    Of more than 2,000 points, mean average precision takes 2,000 as queries, drawn with a fixed seed; each ranks all
    other points. All other figures are of all pairs.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode import ProximityPreservingCode
    >>> from proxcode.evaluation import evaluate
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ProximityPreservingCode(n_bits=16, random_state=0).fit(X[:1000], y[:1000])
    >>> evaluation = evaluate(model, X[1000:], y[1000:], train=X[:1000])
    >>> [(row.method, row.bits) for row in evaluation.rows]
    [('PPC', 8), ('PPC', 16), ('LSH', 8), ('LSH', 16), ('ITQ', 8), ('ITQ', 16)]
    """
    check_is_fitted(model, "n_bits_")
    names = _check_peers(peers)
    n_bits = _check_lengths(lengths, model.n_bits_)
    points = check_points(model, X, reset=False)
    fitted_to = points if train is None else check_points(model, train, reset=False)
    judge = _Judge(_relate(model, proximity, points, y))
    codes = model.encode(X)
    evaluation = Evaluation(model, unpack(codes, model.n_bits_))
    for bits in n_bits:
        took = sum(record.seconds for record in model.history_[:bits])
        _add(evaluation, judge, (MODEL, bits), codes, None if math.isnan(took) else took)
    for key in ((name, bits) for name in names for bits in n_bits):
        start = perf_counter()
        try:
            peer = PEERS[key[0]](n_bits=key[1], random_state=0).fit(fitted_to)
        except ValueError as error:  # the points are checked: what is left is what the method cannot do
            evaluation.left_out[key] = str(error)
            continue
        took = perf_counter() - start
        _add(evaluation, judge, key, peer.encode(points), took)
    return evaluation


def _add(evaluation: Evaluation, judge: "_Judge", key: tuple[str, int], codes: Codes, seconds: float | None) -> None:
    model = evaluation.model
    near, far = evaluation.histograms[key] = judge.counts(codes, key[1])
    auc = area_under_curve(precision_recall(near, far))
    row = Row(*key, loss(near, far), auc, judge.mean_average_precision(codes, key[1]), seconds)
    if key == (MODEL, model.n_bits_):
        found_near, found_far = (int(counts[: model.radius_ + 1].sum()) for counts in (near, far))
        found = found_near + found_far
        row = row._replace(precision=found_near / found if found else None, recall=found_near / int(near.sum()))
    evaluation.rows.append(row)


class _Judge:
    """Counts pairs of codes by Hamming distance, for the points of a relation."""

    def __init__(self, related: Related) -> None:
        self.members, self.relation = related
        n = self.relation.n_samples
        rng = np.random.default_rng(0)
        self.queries = np.arange(n) if n <= MAX_QUERIES else np.sort(rng.choice(n, MAX_QUERIES, replace=False))

    def counts(self, codes: Codes, n_bits: int) -> tuple[Counts, Counts]:
        code = GrowingCode.from_packed(codes[self.members], n_bits)
        near, far = self.relation.units(code).counts()
        for name, counts in (("near", near), ("far", far)):
            if counts.sum() == 0:
                raise ValueError(
                    f"there is no {name} pair among the {self.relation.n_samples} points of X: give more points, or "
                    "another proximity."
                )
        return near, far

    def mean_average_precision(self, codes: Codes, n_bits: int) -> float | None:
        if not isinstance(self.relation, SameClass | SharedClass | ListedNear):
            return None  # a ranking has no precision where most pairs are unknown
        packed = GrowingCode.from_packed(codes[self.members], n_bits).packed()
        starts = range(0, len(self.queries), QUERY_BLOCK)
        blocks = [self._rankings(packed, self.queries[s : s + QUERY_BLOCK], n_bits + 1) for s in starts]
        near, far = (np.concatenate(part) for part in zip(*blocks, strict=True))
        return mean_average_precision(near, far) if near.any() else None

    def _rankings(self, packed: Codes, queries: NDArray[np.int64], width: int) -> tuple[Counts, Counts]:
        """Return near and far points by distance for each query, which is not counted with itself."""
        row = np.arange(len(queries))
        cell = row[:, None] * width + distances(packed[queries], packed)
        is_near = _near_rows(self.relation, queries)
        is_near[row, queries] = True
        both = np.bincount(cell.ravel(), minlength=len(queries) * width).reshape(-1, width)
        near = np.bincount(cell[is_near], minlength=len(queries) * width).reshape(-1, width)
        far = both - near
        near[:, 0] -= 1  # the query itself
        return near, far


def _near_rows(relation: Relation, queries: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which points are near to each query, shape (n_queries, n)."""
    if isinstance(relation, SameClass):
        return relation.classes[queries][:, None] == relation.classes
    near = np.zeros((len(queries), relation.n_samples), bool)
    if isinstance(relation, SharedClass):
        for mask in relation.masks:
            near |= (mask[queries][:, None] & mask) != 0
    elif isinstance(relation, ListedNear):
        lists = relation.lists
        for row, query in enumerate(queries):
            near[row, lists.indices[lists.indptr[query] : lists.indptr[query + 1]]] = True
    return near


def _relate(model: ProximityPreservingCode, proximity: Proximity | None, points: NDArray[Any], y: Any) -> Related:
    if proximity is not None and not isinstance(proximity, Proximity):
        raise TypeError(f"proximity={proximity!r}: give an object such as SameLabel() or WithinRadius().")
    own: Proximity = model.proximity_
    if proximity is None and y is None and isinstance(own, SameLabel | SharedLabel | GivenPairs):
        raise ValueError(
            f"this model was learned with {type(own).__name__}, which tells nothing of new points without labels: give "
            "y for the points of X, or a proximity."
        )
    if proximity is None:
        proximity = default_proximity(y) if isinstance(own, GivenPairs) else own
    try:
        check_is_fitted(proximity)
    except NotFittedError:
        proximity = clone(proximity).fit(points, y)
    return proximity.relate(points, y)


def _check_peers(peers: Iterable[str]) -> list[str]:
    names = [peers] if isinstance(peers, str) else list(dict.fromkeys(peers))
    for name in names:
        if name not in PEERS:
            raise ValueError(f"there is no peer {name!r}: use some of {', '.join(PEERS)}.")
    return names


def _check_lengths(lengths: Iterable[int] | None, longest: int) -> list[int]:
    if lengths is None:
        return [*(2**k for k in range(3, 11) if 2**k < longest), longest]
    chosen = list(lengths)
    for bits in chosen:
        if not isinstance(bits, numbers.Integral) or isinstance(bits, bool) or not 1 <= bits <= longest:
            raise ValueError(f"lengths has {bits!r}: give whole numbers from 1 to {longest}, the bits of the model.")
    if not chosen:
        raise ValueError(f"lengths is empty: give whole numbers from 1 to {longest}, or None.")
    return sorted({int(bits) for bits in chosen})
