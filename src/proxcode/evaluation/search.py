"""Evaluation of a search: what queries find in a database, how fast, and in how many bytes.

1. Labels or distances decide which samples of the database are relevant to each query (`relevance`).
2. The model encodes database and queries; shorter codes are prefixes. Peers are fitted at each code length (`methods`).
3. Each method searches its index, which is timed (`rankings`).
4. For blocks of queries, the samples of the database are counted by relevance and distance, for all methods at once.
5. Precision, recall and mean average precision follow from these counts (`proxcode.metrics`).

Memory holds the distances of a few blocks of queries, never a matrix of all pairs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from proxcode.code import ProximityPreservingCode
from proxcode.evaluation.distances import own_rows, unit_rows
from proxcode.evaluation.measures import measure
from proxcode.evaluation.methods import MODEL, Key, check_lengths, check_peers, encode_ms, fit_seconds, fitted_peers
from proxcode.evaluation.rankings import CosineRanking, FloatQueryRanking, HammingRanking, Ranking
from proxcode.evaluation.relevance import NearestRelevance, find_relevance
from proxcode.hamming import Codes, pack, unpack
from proxcode.search.index import MAX_THREADS
from proxcode.utils.rows import evenly_spaced
from proxcode.utils.validation import check_integer, check_samples

FLOAT_QUERIES, FLOAT_COSINE = f"{MODEL}, float queries", "float cosine"
K = (1, 10, 100)
# Largest number of values of k: grades of relevance are bytes.
MAX_K = 100
# Float queries whose lookup tables are timed at most: each takes a kilobyte for each byte of a code.
FLOAT_BATCH = 512
# Samples of the database, evenly spaced, that peers are fitted to at most where there are no training samples.
MAX_FITTED = 20_000


class SearchRow(NamedTuple):
    """Measures of one method at one code length.

    Attributes
    ----------
    method : str
        "proxcode" for the model by Hamming distance, "proxcode, float queries" for `model.query`, "float cosine" for
        the samples themselves, otherwise a name from `proxcode.peers.PEERS`.
    bits : int or None
        Code length; None for the samples themselves.
    bytes : int
        Bytes that a sample of the database takes: those of its code, with 4 more for the offset that some float queries
        need; 4 per feature for the samples themselves, in single precision.
    precision : dict of int to float
        Precision at each k: the share of relevant samples among the first k. A query without any relevant sample counts
        as 0, and so do places after the last sample of a database with fewer than k.
    recall : dict of int to float
        Recall at each k: the share of the relevant samples that are among the first k. Without labels, and unless the
        model is one of `WithinRadius`, it is the share of the first k that are at most as far as the true k-th nearest,
        the same number as the precision. Queries without any relevant sample are left out.
    map : float
        Mean average precision of the ranking of the whole database. Without labels, relevant samples are those of the
        largest k. Queries without any relevant sample are left out.
    search_ms : float
        Milliseconds of a search per query, the median, without the encoding of the query.
    encode_ms : float
        Milliseconds to encode a sample, in one call for up to 1,000 samples; to compute the lookup tables of a float
        query; to scale a sample to unit length for float cosine.
    fit_seconds : float or None
        As in `Row`; None for float cosine, which is not fitted.
    """

    method: str
    bits: int | None
    bytes: int
    precision: dict[int, float]
    recall: dict[int, float]
    map: float
    search_ms: float
    encode_ms: float
    fit_seconds: float | None

    @property
    def is_peer(self) -> bool:
        """Whether the method is one to compare with that was fitted for it."""
        return self.method not in (MODEL, FLOAT_QUERIES, FLOAT_COSINE)


@dataclass
class SearchEvaluation:
    """Result of `evaluate_search`.

    Attributes
    ----------
    rows : list of SearchRow
        The rows of the model by code length, its float queries, float cosine, then those of each peer.
    k : list of int
    relevant : str
        What makes a sample of the database relevant to a query, in words.
    is_nearest : bool
        Whether relevant samples are the true k nearest: precision and recall at k are then the same number.
    learned : str
        What the model was fitted to call near, in words.
    n_database, n_queries : int
    n_without_relevant : int
        Number of queries without any relevant sample.
    n_self : int
        Number of queries that are samples of the database themselves.
    exclude_self : bool
        Whether these were left out of the rankings of their queries.
    peers_fitted_to : str
        "train", or "database".
    batch_size, n_threads : int
        Queries and threads of a timed search. Its k is the largest of `k`.
    left_out : dict of (method, bits) to str
        Reason why a peer has no code of a length.
    """

    k: list[int]
    relevant: str
    is_nearest: bool
    learned: str
    n_database: int
    n_queries: int
    n_self: int
    exclude_self: bool
    peers_fitted_to: str
    batch_size: int
    n_threads: int
    n_without_relevant: int = 0
    rows: list[SearchRow] = field(default_factory=list)
    left_out: dict[Key, str] = field(default_factory=dict)


class Method(NamedTuple):
    """A method at one code length: its ranking, and what is known of its row before the rankings are measured."""

    name: str
    bits: int | None
    ranking: Ranking
    encode_ms: float
    fit_seconds: float | None


def evaluate_search(
    model: ProximityPreservingCode,
    database: ArrayLike,
    queries: ArrayLike,
    database_labels: Any = None,
    query_labels: Any = None,
    *,
    k: int | Iterable[int] | None = None,
    lengths: Iterable[int] | None = None,
    peers: Iterable[str] | None = None,
    train: ArrayLike | None = None,
    train_labels: Any = None,
    exclude_self: bool = False,
    batch_size: int = 1,
    n_threads: int = 1,
    verbose: bool = False,
) -> SearchEvaluation:
    """Evaluate what queries find in a database by a model's codes, by the samples themselves and by peers.

    Parameters
    ----------
    model : ProximityPreservingCode
    database, queries : arrays of shape (n_database, n_features) and (n_queries, n_features)
    database_labels, query_labels : labels (n,), indicator matrices (n, n_labels) or None
        Samples with the same label, or with a label in common, are relevant. None: the true k nearest samples by
        Euclidean distance are, or for a model of `WithinRadius` those within its radius, by its metric.
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
        Class labels of `train`, for peers that learn from them.
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
    names, code_lengths = check_peers(peers, train_labels is not None), check_lengths(model, lengths)
    batch_size = check_integer("batch_size", batch_size, 1)
    n_threads = check_integer("n_threads", n_threads, 1, MAX_THREADS)
    base, asked = _check("database", model, database), _check("queries", model, queries)
    fitted_to = base[evenly_spaced(len(base), MAX_FITTED)] if train is None else _check("train", model, train)
    own = own_rows(base, asked)
    left_out = own if exclude_self else np.full_like(own, -1)
    ks = _check_k(k, len(base) - int((left_out >= 0).any()))
    relevance = find_relevance(model.proximity_, base, asked, database_labels, query_labels, left_out, ks)
    result = SearchEvaluation(
        k=ks,
        relevant=relevance.meaning,
        is_nearest=isinstance(relevance, NearestRelevance),
        learned=model.proximity_.describe(),
        n_database=len(base),
        n_queries=len(asked),
        n_self=int((own >= 0).sum()),
        exclude_self=bool(exclude_self),
        peers_fitted_to="database" if train is None else "train",
        batch_size=batch_size,
        n_threads=n_threads,
    )
    methods = _of_model(model, database, queries, code_lengths, n_threads)
    cosine = CosineRanking(base, asked)
    methods.append(Method(FLOAT_COSINE, None, cosine, encode_ms(unit_rows, asked), None))
    for name, peer, seconds in fitted_peers(
        names, code_lengths, fitted_to, train_labels, result.left_out, verbose=verbose
    ):
        ranking = HammingRanking(peer.encode(base), peer.encode(asked), peer.n_bits_, n_threads)
        methods.append(Method(name, peer.n_bits_, ranking, encode_ms(peer.encode, base), seconds))
    # The product of a search by cosine has as many threads as the other searches.
    with threadpool_limits(n_threads, user_api="blas"):
        search_ms = [method.ranking.search_ms(len(asked), batch_size, ks[-1]) for method in methods]
    measures = measure([method.ranking for method in methods], relevance, ks, len(base), verbose=verbose)
    result.n_without_relevant = len(asked) - measures[0].n_with_relevant
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


def _check(name: str, model: ProximityPreservingCode, X: ArrayLike) -> NDArray[Any]:
    """Validate samples; the error names which ones."""
    try:
        return check_samples(model, X, reset=False)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


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
