"""Result of the evaluation of a search."""

from dataclasses import dataclass, field
from typing import NamedTuple

from proxcode.evaluation.methods import MODEL, Key

FLOAT_QUERIES, FLOAT_COSINE = f"{MODEL}, float queries", "float cosine"


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
        Without samples that have no label.
    n_database_unlabelled, n_queries_unlabelled : int
        Numbers of samples without a label, which were left out; 0 where relevance does not go by classes.
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
    n_database_unlabelled: int
    n_queries_unlabelled: int
    n_self: int
    exclude_self: bool
    peers_fitted_to: str
    batch_size: int
    n_threads: int
    n_without_relevant: int = 0
    rows: list[SearchRow] = field(default_factory=list)
    left_out: dict[Key, str] = field(default_factory=dict)
