"""Evaluation of a search: what queries find in a database, how fast, and in how many bytes.

1. Samples pass the transformers of a pipeline (`samples`). Those without a label are left out (`labels`).
2. Labels or distances decide which samples of the database are relevant to each query (`relevance`).
3. The model encodes database and queries; shorter codes are prefixes. Peers are fitted at each code length (`methods`).
4. Each method searches its index, which is timed (`rankings`).
5. For blocks of queries, the samples of the database are counted by relevance and distance, for all methods at once.
6. Precision, recall and mean average precision follow from these counts (`proxcode.metrics`).

Memory holds the distances of a few blocks of queries, never a matrix of all pairs.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from proxcode.code import ProximityPreservingCode
from proxcode.evaluation.distances import unit_rows
from proxcode.evaluation.labels import read_search_labels
from proxcode.evaluation.measures import measure
from proxcode.evaluation.methods import (
    MODEL,
    Training,
    check_lengths,
    check_peers,
    encode_ms,
    fit_seconds,
    fitted_peers,
)
from proxcode.evaluation.rankings import CosineRanking, FloatQueryRanking, HammingRanking, Ranking
from proxcode.evaluation.relevance import NearestRelevance, find_relevance
from proxcode.evaluation.samples import SearchSamples
from proxcode.evaluation.search_result import FLOAT_COSINE, FLOAT_QUERIES, SearchEvaluation, SearchRow
from proxcode.hamming import Codes, pack, unpack
from proxcode.pipeline import Model, code_of
from proxcode.proximity import SameLabel
from proxcode.search.index import MAX_THREADS
from proxcode.utils.rows import evenly_spaced
from proxcode.utils.validation import check_component, check_integer

K = (1, 10, 100)
# Largest number of values of k: grades of relevance are bytes.
MAX_K = 100
# Float queries whose lookup tables are timed at most: each takes a kilobyte for each byte of a code.
FLOAT_BATCH = 512
# Samples of the database, evenly spaced, that peers are fitted to at most where there are no training samples.
MAX_FITTED = 20_000


class Method(NamedTuple):
    """A method at one code length: its ranking, and what is known of its row before the rankings are measured."""

    name: str
    bits: int | None
    ranking: Ranking
    encode_ms: float
    fit_seconds: float | None


def evaluate_search(
    model: Model,
    database: Any,
    queries: Any,
    database_labels: Any = None,
    query_labels: Any = None,
    *,
    proximity: SameLabel | None = None,
    k: int | Iterable[int] | None = None,
    lengths: Iterable[int] | None = None,
    peers: Iterable[str] | None = None,
    train: Any = None,
    train_labels: Any = None,
    exclude_self: bool = False,
    batch_size: int = 1,
    n_threads: int = 1,
    verbose: bool = False,
) -> SearchEvaluation:
    """Evaluate what queries find in a database by a model's codes, by the samples themselves and by peers.

    Parameters
    ----------
    model : ProximityPreservingCode or CodePipeline
        Of a pipeline, all is measured on samples that its transformers have transformed: its last step, float cosine
        and the peers, true neighbours and the bytes of a sample. No time includes that of the transformers.
    database, queries : arrays of shape (n_database, n_features) and (n_queries, n_features)
        For a pipeline, what its first step takes.
    database_labels, query_labels : labels (n,), indicator matrices (n, n_labels) or None
        Samples with the same label, or with a label in common, are relevant. Samples without a label are left out of
        the database and of the queries. None: the true k nearest samples by Euclidean distance are relevant, or for a
        model of `WithinRadius` those within its radius, by its metric.
    proximity : SameLabel, default=None
        Says which labels mean "no label". None: the proximity of the model, or `SameLabel()` if that is another one.
    k : int or iterable of int, default=None
        Numbers of first samples at which precision and recall are measured. None: those of 1, 10 and 100 that are at
        most the number of samples in the database.
    lengths : iterable of int, default=None
        Code lengths, at most that of the model. None: 8, 16, 32, ... and the model's own length.
    peers : iterable of str, default=None
        Names from `proxcode.peers.PEERS`. Peers are fitted with `random_state=0`. A peer that does not support a code
        length is left out at that length. None: LSH and ITQ, and with `train_labels` Hadamard and WCW-ITQ.
    train : array of shape (n_train, n_features), default=None
        Samples that the peers are fitted to, preferably the training samples of the model. None: the database, of which
        at most 20,000 evenly spaced samples are used.
    train_labels : labels (n_train,), default=None
        Class labels of `train`, for peers that learn from them: these are fitted to the samples with a label.
    exclude_self : bool, default=False
        Whether a query that is itself a sample of the database does not find that sample: row i for query i where both
        sets are equal, otherwise the first row that equals the query. Other copies of it remain.
    batch_size : int, default=1
        Number of queries of a search that is timed.
    n_threads : int, default=1
        Number of threads of a search that is timed, of every method.
    verbose : bool, default=False
        Whether to show progress on standard error.

    Returns
    -------
    SearchEvaluation

    Notes
    -----
    Samples at equal distance from a query, such as all codes at Hamming distance 3, have no order: precision, recall
    and average precision are expectations over all their orders. `HammingIndex` returns them in the order in which they
    were added, which is one of these orders.

    Times are those of this machine and of other work on it: medians over searches for a second with each method, after
    one search that warms up.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode import ProximityPreservingCode
    >>> from proxcode.evaluation import evaluate_search
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ProximityPreservingCode(n_bits=16, random_state=0).fit(X[:1000], y[:1000])
    >>> result = evaluate_search(model, X[:1000], X[1000:], y[:1000], y[1000:], k=10, peers=["LSH"])
    >>> for row in result.rows:
    ...     print(f"{row.method:23} {row.bits or '':2} {row.bytes:3} bytes, precision at 10: {row.precision[10]:.2f}")
    proxcode                 8   1 bytes, precision at 10: 0.96
    proxcode                16   2 bytes, precision at 10: 0.96
    proxcode, float queries 16   2 bytes, precision at 10: 0.97
    float cosine               256 bytes, precision at 10: 0.92
    LSH                      8   1 bytes, precision at 10: 0.39
    LSH                     16   2 bytes, precision at 10: 0.56
    """
    check_is_fitted(model, "n_bits_")
    if train is None and train_labels is not None:
        raise ValueError("train_labels are given without train: pass the samples that they belong to.")
    if proximity is not None:
        check_component("proximity", proximity, SameLabel, "SameLabel(unlabelled='unknown')")
    code = code_of(model)
    names, code_lengths = check_peers(peers, train_labels is not None), check_lengths(code, lengths)
    batch_size = check_integer("batch_size", batch_size, 1)
    n_threads = check_integer("n_threads", n_threads, 1, MAX_THREADS)
    stored, asked = SearchSamples.read("database", model, database), SearchSamples.read("queries", model, queries)
    n_all = len(stored.array), len(asked.array)
    labels = read_search_labels(database_labels, query_labels, *n_all, proximity, code.proximity_)
    if labels is not None:
        stored, asked = stored.take(labels.database_rows), asked.take(labels.query_rows)
    n_database, n_queries = len(stored.array), len(asked.array)
    if train is None:
        training = Training.read(stored.array[evenly_spaced(n_database, MAX_FITTED)], None, None, code.proximity_)
    else:
        X_train = SearchSamples.read("train", model, train).array
        training = Training.read(X_train, train_labels, proximity, code.proximity_)
    own = stored.own_rows_of(asked)
    left_out = own if exclude_self else np.full_like(own, -1)
    ks = _check_k(k, n_database - int((left_out >= 0).any()))
    relevance = find_relevance(code.proximity_, stored.array, asked.array, labels, left_out, ks)
    result = SearchEvaluation(
        k=ks,
        relevant=relevance.meaning,
        is_nearest=isinstance(relevance, NearestRelevance),
        learned=code.proximity_.describe(),
        n_database=n_database,
        n_queries=n_queries,
        n_database_unlabelled=n_all[0] - n_database,
        n_queries_unlabelled=n_all[1] - n_queries,
        n_self=int((own >= 0).sum()),
        exclude_self=bool(exclude_self),
        peers_fitted_to="database" if train is None else "train",
        batch_size=batch_size,
        n_threads=n_threads,
    )
    methods = _of_model(code, stored.transformed, asked.transformed, code_lengths, n_threads)
    cosine = CosineRanking(stored.array, asked.array)
    methods.append(Method(FLOAT_COSINE, None, cosine, encode_ms(unit_rows, asked.array), None))
    for name, peer, seconds in fitted_peers(names, code_lengths, training, result.left_out, verbose=verbose):
        ranking = HammingRanking(peer.encode(stored.array), peer.encode(asked.array), peer.n_bits_, n_threads)
        methods.append(Method(name, peer.n_bits_, ranking, encode_ms(peer.encode, stored.array), seconds))
    # The product of a search by cosine has as many threads as the other searches.
    with threadpool_limits(n_threads, user_api="blas"):
        search_ms = [method.ranking.search_ms(n_queries, batch_size, ks[-1]) for method in methods]
    measures = measure([method.ranking for method in methods], relevance, ks, n_database, verbose=verbose)
    result.n_without_relevant = n_queries - measures[0].n_with_relevant
    for method, milliseconds, measured in zip(methods, search_ms, measures, strict=True):
        result.rows.append(
            SearchRow(
                method=method.name,
                bits=method.bits,
                bytes=method.ranking.bytes_per_sample,
                precision=measured.precision,
                recall=measured.recall,
                map=measured.map,
                search_ms=milliseconds,
                encode_ms=method.encode_ms,
                fit_seconds=method.fit_seconds,
            )
        )
    return result


def _check_k(k: int | Iterable[int] | None, n_others: int) -> list[int]:
    """Return different values of k in increasing order."""
    if k is None:
        return [number for number in K if number <= max(1, n_others)]
    ks = sorted({check_integer("k", number, 1) for number in (k if isinstance(k, Iterable) else [k])})
    if not 1 <= len(ks) <= MAX_K:
        raise ValueError(f"k has {len(ks)} values: expected 1 to {MAX_K} of them, or None.")
    return ks


def _of_model(
    model: ProximityPreservingCode, database: Any, queries: Any, lengths: Sequence[int], n_threads: int
) -> list[Method]:
    """Return the methods of the model: by Hamming distance at each code length, and by float queries."""
    codes, query_codes = model.encode(database), model.encode(queries)
    methods = []
    for bits in lengths:
        ranking = HammingRanking(_prefix(codes, bits), _prefix(query_codes, bits), bits, n_threads)
        milliseconds = encode_ms(partial(model.encode, n_bits=bits), database)
        methods.append(Method(MODEL, bits, ranking, milliseconds, fit_seconds(model, bits)))
    by_floats = FloatQueryRanking(model, codes, queries, n_threads)
    seconds, some = fit_seconds(model, model.n_bits_), queries[:FLOAT_BATCH]
    return [*methods, Method(FLOAT_QUERIES, model.n_bits_, by_floats, encode_ms(model.query, some), seconds)]


def _prefix(codes: Codes, n_bits: int) -> Codes:
    return pack(unpack(codes, n_bits))
