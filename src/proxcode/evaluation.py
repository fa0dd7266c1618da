"""Evaluation of a fitted model on given samples, compared with other hashing methods.

1. The model's own proximity, or another one, decides which pairs of the samples are near and far.
2. The samples are encoded once; shorter codes are prefixes of the full code.
3. Each peer is fitted at each code length, without labels.
4. Near and far pairs are counted by Hamming distance; all measures except mAP follow from these counts.
5. mAP follows from the counts of each query, for at most 2,000 queries.

Counts are summed block by block: no n x n matrix is formed.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from proxcode.code import ProximityPreservingCode
from proxcode.hamming import Codes, GrowingCode, distances, pack, unpack
from proxcode.metrics import Counts, area_under_curve, count_pairs, mean_average_precision, precision_recall
from proxcode.pairs import FoundPairs, Pairs
from proxcode.peers import PEERS
from proxcode.pipeline import CodePipeline, Model
from proxcode.proximity import GivenPairs, Proximity, SameLabel, SharedLabel, default_proximity
from proxcode.threshold import loss
from proxcode.utils.progress import track
from proxcode.utils.validation import check_component, check_integer, check_samples

MODEL = "PPC"
MAX_QUERIES = 2000


class Row(NamedTuple):
    """Measures of one method at one code length.

    Attributes
    ----------
    method : str
        "PPC" for the model, otherwise a name from `proxcode.peers.PEERS`.
    bits : int
        Code length.
    loss : float
        Share of misplaced pairs, near ones beyond or far ones within the Hamming threshold that is best for these
        pairs.
    auc : float
        Area under the precision-recall curve over Hamming thresholds.
    map : float or None
        Mean average precision of samples used as queries that rank all others; None if most pairs are unknown.
    seconds : float or None
        Fit time. For the model the time of its bits alone, without the computations that all bits share; None if the
        model was loaded from a file, which does not store times.
    precision, recall : float or None
        Precision and recall of the pairs within the learned `radius_`, for the model at its full length, otherwise
        None. Precision is also None if no pair is within the radius.
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
    """Result of `evaluate`.

    Attributes
    ----------
    model : ProximityPreservingCode
    bits : ndarray of uint8, shape (n_samples, n_bits_)
        The model's codes of the samples as a 0/1 matrix.
    rows : list of Row
        The rows of the model by code length, then those of each peer.
    histograms : dict of (method, bits) to (near, far)
        Numbers of near and far pairs by Hamming distance, for each row.
    left_out : dict of (method, bits) to str
        Reason why a peer has no code of a length.
    """

    model: ProximityPreservingCode
    bits: Codes
    rows: list[Row] = field(default_factory=list)
    histograms: dict[tuple[str, int], tuple[Counts, Counts]] = field(default_factory=dict)
    left_out: dict[tuple[str, int], str] = field(default_factory=dict)

    @property
    def longest(self) -> int:
        """Largest code length at which the model was evaluated."""
        return max(bits for method, bits in self.histograms if method == MODEL)

    @property
    def common_bits(self) -> int:
        """Largest code length at which all methods were evaluated; `longest` if they share no length."""
        lengths: dict[str, set[int]] = {}
        for method, bits in self.histograms:
            lengths.setdefault(method, set()).add(bits)
        return max(set.intersection(*lengths.values()), default=self.longest)

    @property
    def counts(self) -> dict[str, tuple[Counts, Counts]]:
        """Numbers of near and far pairs by Hamming distance for each method, at `common_bits`."""
        at = self.common_bits
        return {method: pair for (method, bits), pair in self.histograms.items() if bits == at}


def evaluate(
    model: Model,
    X: ArrayLike,
    y: Any = None,
    *,
    proximity: Proximity | None = None,
    lengths: Iterable[int] | None = None,
    peers: Iterable[str] = ("LSH", "ITQ"),
    train: ArrayLike | None = None,
    verbose: bool = False,
) -> Evaluation:
    """Evaluate a fitted model on all pairs of the given samples, compared with peers of the same code lengths.

    Parameters
    ----------
    model : ProximityPreservingCode or CodePipeline
        Of a pipeline, the last step is evaluated, and the peers are fitted, on samples that its transformers have
        transformed.
    X : array of shape (n_samples, n_features)
        Preferably samples that the model was not fitted to.
    y : labels (n_samples,), indicator matrix (n_samples, n_labels) or None
        Labels, if the proximity needs them.
    proximity : Proximity, default=None
        Decides which pairs of X are near; an unfitted proximity is fitted to X. None: the model's own proximity. A
        model of `GivenPairs`, whose pairs refer to the training samples, is then evaluated by the labels y.
    lengths : iterable of int, default=None
        Code lengths, at most that of the model. None: 8, 16, 32, ... and the model's own length.
    peers : iterable of str, default=("LSH", "ITQ")
        Names from `proxcode.peers.PEERS`. Peers are fitted without labels, with `random_state=0`. A peer that does not
        support a code length is left out at that length.
    train : array of shape (n_train, n_features), default=None
        Samples that the peers are fitted to, preferably the training samples of the model. None: X itself, which
        favours the peers.
    verbose : bool, default=False
        Whether to show progress on standard error.

    Returns
    -------
    Evaluation

    Notes
    -----
    For more than 2,000 samples, mean average precision uses a random subset of 2,000 queries, drawn with a fixed seed;
    each query ranks all other samples. All other measures cover all pairs.

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
    if isinstance(model, CodePipeline):
        X, train = model.preprocess(X), None if train is None else model.preprocess(train)
        model = model[-1]
    names = [peers] if isinstance(peers, str) else list(dict.fromkeys(peers))
    for name in names:
        if name not in PEERS:
            raise ValueError(f"peers={name!r}: expected names from {', '.join(PEERS)}.")
    longest = model.n_bits_
    if lengths is None:
        shorter = [2**k for k in range(3, 11) if 2**k < longest]
        lengths = [*shorter, longest] if model.hash_function_.has_prefixes else [longest]
    code_lengths = sorted({check_integer("lengths", bits, 1, longest) for bits in lengths})
    if not code_lengths:
        raise ValueError(f"lengths is empty: pass integers from 1 to {longest}, or None.")
    samples = check_samples(model, X, reset=False)
    train_samples = samples if train is None else check_samples(model, train, reset=False)
    found = _find_pairs(model, proximity, samples, y)
    codes = model.encode(X)
    evaluation = Evaluation(model, unpack(codes, longest))
    for bits in code_lengths:
        seconds = sum(record.seconds for record in model.history_[:bits])
        _add(evaluation, found, (MODEL, bits), codes, None if math.isnan(seconds) else seconds)
    for key in track(product(names, code_lengths), "measured", "codes of peers", shown=verbose):
        start = perf_counter()
        try:
            peer = PEERS[key[0]](n_bits=key[1], random_state=0).fit(train_samples)
        except ValueError as error:
            # The samples are valid, so the error says which code lengths the method does not support.
            evaluation.left_out[key] = str(error)
            continue
        seconds = perf_counter() - start
        _add(evaluation, found, key, peer.encode(samples), seconds)
    return evaluation


def _find_pairs(model: ProximityPreservingCode, proximity: Proximity | None, X: NDArray[Any], y: Any) -> FoundPairs:
    """Return the near and far pairs of the samples, by the given proximity or by the model's own."""
    if proximity is None:
        proximity = model.proximity_
        if y is None and isinstance(proximity, SameLabel | SharedLabel | GivenPairs):
            raise ValueError(
                f"y=None: the model was fitted with {type(proximity).__name__}, which does not apply to new samples "
                "without labels; pass labels y of the samples of X, or a proximity."
            )
        if isinstance(proximity, GivenPairs):
            proximity = default_proximity(y)
    check_component("proximity", proximity, Proximity, "SameLabel() or WithinRadius()")
    try:
        check_is_fitted(proximity)
    except NotFittedError:
        proximity = clone(proximity).fit(X, y)
    return proximity.find_pairs(X, y)


def _add(evaluation: Evaluation, found: FoundPairs, key: tuple[str, int], codes: Codes, seconds: float | None) -> None:
    """Add the counts and the row of one method and code length to an evaluation."""
    model, n_bits = evaluation.model, key[1]
    codes = codes[found.samples]
    near, far = found.pairs.with_code(GrowingCode.from_packed(codes, n_bits)).counts()
    for name, counts in (("near", near), ("far", far)):
        if counts.sum() == 0:
            raise ValueError(
                f"there is no {name} pair among the {len(codes)} samples of X: pass more samples or another proximity."
            )
    precision = recall = None
    if key == (MODEL, model.n_bits_):
        found_near, found_far = (int(counts[: model.radius_ + 1].sum()) for counts in (near, far))
        recall = found_near / int(near.sum())
        precision = found_near / (found_near + found_far) if found_near + found_far else None
    evaluation.histograms[key] = near, far
    evaluation.rows.append(
        Row(
            *key,
            loss=loss(near, far),
            auc=area_under_curve(precision_recall(near, far)),
            map=_mean_average_precision(found.pairs, codes, n_bits),
            seconds=seconds,
            precision=precision,
            recall=recall,
        )
    )


def _mean_average_precision(pairs: Pairs, codes: Codes, n_bits: int) -> float | None:
    """Return the mean average precision; None if most pairs are unknown or no query has a near sample."""
    queries = np.arange(pairs.n_samples)
    if len(queries) > MAX_QUERIES:
        queries = np.sort(np.random.default_rng(0).choice(pairs.n_samples, MAX_QUERIES, replace=False))
    if pairs.near_rows(queries[:1]) is None:
        return None
    prefixes = pack(unpack(codes, n_bits))
    near, far = count_pairs(
        len(queries),
        n_bits + 1,
        lambda block: pairs.near_rows(queries[block]),
        lambda block: distances(prefixes[queries[block]], prefixes),
        own_columns=queries,
    )
    return mean_average_precision(near, far) if near.any() else None
