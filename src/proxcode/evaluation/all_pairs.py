"""Evaluation on all pairs of one set of samples, compared with other hashing methods.

1. The model's own proximity, or another one, decides which pairs of the samples are near and far.
2. The samples are encoded once; shorter codes are prefixes of the full code.
3. Each peer is fitted at each code length.
4. Near and far pairs are counted by Hamming distance; all measures except mAP follow from these counts.
5. mAP follows from the counts of each query, for at most 2,000 queries.

Counts are summed block by block: no n x n matrix is formed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from proxcode.code import ProximityPreservingCode
from proxcode.evaluation.methods import (
    MODEL,
    Training,
    check_lengths,
    check_peers,
    encode_ms,
    fit_seconds,
    fitted_peers,
)
from proxcode.hamming import Codes, GrowingCode, distances, pack, unpack
from proxcode.metrics import Counts, area_under_curve, count_pairs, mean_average_precision, precision_recall
from proxcode.pairs import FoundPairs, Pairs
from proxcode.pipeline import CodePipeline, Model
from proxcode.proximity import GivenPairs, Proximity, SameLabel, SharedLabel, default_proximity
from proxcode.threshold import loss
from proxcode.utils.validation import check_component, check_samples

MAX_QUERIES = 2000


class NoPairsError(ValueError):
    """The samples have no near pair, or no far pair: there is nothing to measure."""


class Row(NamedTuple):
    """Measures of one method at one code length.

    Attributes
    ----------
    method : str
        "proxcode" for the model, otherwise a name from `proxcode.peers.PEERS`.
    bits : int
        Code length.
    misplaced_share : float
        Share of misplaced pairs: near ones beyond or far ones within the Hamming threshold that is best for these
        pairs.
    pr_area : float
        PR area: the area under the precision-recall curve over Hamming thresholds.
    map : float or None
        Mean average precision of samples used as queries that rank all others; None if most pairs are unknown.
    fit_seconds : float or None
        Seconds of the fit. For the model those of its bits alone, without the computations that all bits share; None if
        the model was loaded from a file, which does not store times.
    encode_ms : float
        Milliseconds to encode a sample, in one call for up to 1,000 samples.
    precision, recall : float or None
        Precision and recall of the pairs within the learned `radius_`, for the model at its full length, otherwise
        None. Precision is also None if no pair is within the radius.
    """

    method: str
    bits: int
    misplaced_share: float
    pr_area: float
    map: float | None
    fit_seconds: float | None
    encode_ms: float
    precision: float | None = None
    recall: float | None = None


class Times(NamedTuple):
    """Times of one method at one code length, as in `Row`."""

    fit_seconds: float | None
    encode_ms: float


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
    n_unlabelled : int or None
        Number of samples without a label, which take no part; None where near pairs are not those of a class.
    """

    model: ProximityPreservingCode
    bits: Codes
    rows: list[Row] = field(default_factory=list)
    histograms: dict[tuple[str, int], tuple[Counts, Counts]] = field(default_factory=dict)
    left_out: dict[tuple[str, int], str] = field(default_factory=dict)
    n_unlabelled: int | None = None

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
    peers: Iterable[str] | None = None,
    train: ArrayLike | None = None,
    train_labels: Any = None,
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
    peers : iterable of str, default=None
        Names from `proxcode.peers.PEERS`. Peers are fitted with `random_state=0`. A peer that does not support a code
        length is left out at that length. None: LSH and ITQ, and with `train_labels` Hadamard and WCW-ITQ.
    train : array of shape (n_train, n_features), default=None
        Samples that the peers are fitted to, preferably the training samples of the model. None: X itself, which
        favours the peers.
    train_labels : labels (n_train,), default=None
        Class labels of `train`, for peers that learn from them: these are fitted to the samples with a label.
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
    [('proxcode', 8), ('proxcode', 16), ('LSH', 8), ('LSH', 16), ('ITQ', 8), ('ITQ', 16)]
    """
    check_is_fitted(model, "n_bits_")
    if train is None and train_labels is not None:
        raise ValueError("train_labels are given without train: pass the samples that they belong to.")
    if isinstance(model, CodePipeline):
        X, train = model.preprocess(X), None if train is None else model.preprocess(train)
        model = model[-1]
    names = check_peers(peers, train_labels is not None)
    code_lengths = check_lengths(model, lengths)
    samples = check_samples(model, X, reset=False)
    train_samples = samples if train is None else check_samples(model, train, reset=False)
    fitted = _fitted_proximity(model, proximity, samples, y)
    of_classes = fitted if isinstance(fitted, SameLabel) else None
    found = fitted.find_pairs(samples, y)
    codes = model.encode(X)
    n_unlabelled = None if of_classes is None else len(samples) - len(found.samples)
    evaluation = Evaluation(model, unpack(codes, model.n_bits_), n_unlabelled=n_unlabelled)
    for bits in code_lengths:
        times = Times(fit_seconds(model, bits), encode_ms(partial(model.encode, n_bits=bits), X))
        _add(evaluation, found, (MODEL, bits), codes, times)
    training = Training.read(train_samples, train_labels, of_classes, model.proximity_)
    for name, peer, seconds in fitted_peers(names, code_lengths, training, evaluation.left_out, verbose=verbose):
        times = Times(seconds, encode_ms(peer.encode, samples))
        _add(evaluation, found, (name, peer.n_bits_), peer.encode(samples), times)
    return evaluation


def _fitted_proximity(
    model: ProximityPreservingCode, proximity: Proximity | None, X: NDArray[Any], y: Any
) -> Proximity:
    """Return the given proximity, fitted to the samples unless it is fitted already, or the model's own."""
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
    return proximity


def _add(evaluation: Evaluation, found: FoundPairs, key: tuple[str, int], codes: Codes, times: Times) -> None:
    """Add the counts and the row of one method and code length to an evaluation."""
    model, n_bits = evaluation.model, key[1]
    codes = codes[found.samples]
    near, far = found.pairs.with_code(GrowingCode.from_packed(codes, n_bits)).counts()
    for name, counts in (("near", near), ("far", far)):
        if counts.sum() == 0:
            raise NoPairsError(
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
            misplaced_share=loss(near, far),
            pr_area=area_under_curve(precision_recall(near, far)),
            map=_mean_average_precision(found.pairs, codes, n_bits),
            fit_seconds=times.fit_seconds,
            encode_ms=times.encode_ms,
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
