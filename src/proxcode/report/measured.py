"""What a report shows, measured: pairs and searches by `proxcode.evaluation`, times, and the neighbours of samples.

1. All samples are encoded.
2. Near and far pairs are those of a random subset of the samples, in `evaluate`.
3. Queries are a random part of a random subset, in `evaluate_search`; peers learn from the samples of step 2, or from
   training samples.
4. Sample queries search among all codes.

Samples without a label take no part in steps 2 and 3. A step that is impossible, such as pairs without labels, leaves
its reason instead of a result.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from proxcode.code import ProximityPreservingCode
from proxcode.evaluation import Evaluation, NoPairsError, SearchEvaluation, evaluate, evaluate_search
from proxcode.evaluation.labels import labelled_rows
from proxcode.evaluation.samples import SearchSamples, rows_of
from proxcode.hamming import Codes
from proxcode.pipeline import CodePipeline, Model, check_fitted_model, code_of
from proxcode.proximity import Nearest, SameLabel, WithinRadius
from proxcode.report.labels import Labels
from proxcode.report.neighbors import Neighborhoods, find_neighborhoods, search_ms
from proxcode.report.subsets import Rows, subset
from proxcode.search import HammingIndex
from proxcode.utils.progress import ProgressDisplay

T = TypeVar("T")

# Samples of the database of measured searches, and queries among them.
MAX_DATABASE, N_QUERIES = 10_000, 500
# Queries that are shown with their neighbours: drawn at random, and as many of those that agree least.
N_SHOWN = 5
# Numbers of first neighbours at which a search is measured.
KS = (1, 10)
# A difference of precision, recall, F1 or PR area below which two results count as equal.
EQUAL = 0.01


@dataclass
class Times:
    """Seconds of encoding all samples, of preprocessing them in a pipeline, and milliseconds of a search."""

    encode_seconds: float
    preprocess_seconds: float | None
    search_ms: float = 0.0
    total_seconds: float = 0.0


@dataclass
class Measured:
    """All that a report shows.

    Attributes
    ----------
    code : ProximityPreservingCode
        The model, of a pipeline its last step.
    samples : SearchSamples
    codes : ndarray of uint8, shape (n_samples, n_bytes)
    labels : Labels or None
    are_training : bool
        Whether the codes are those of the training samples.
    pairs : Evaluation or None
    pair_rows : ndarray of int64
        Samples whose pairs were measured.
    search : SearchEvaluation or None
    neighborhoods : Neighborhoods
    left_out : dict of str to str
        Why there is no result, by "pairs" and "search".
    """

    code: ProximityPreservingCode
    samples: SearchSamples
    codes: Codes
    labels: Labels | None
    are_training: bool
    times: Times
    pairs: Evaluation | None = None
    pair_rows: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    search: SearchEvaluation | None = None
    neighborhoods: Neighborhoods = field(default_factory=lambda: Neighborhoods([], []))
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.codes)


class Choices(NamedTuple):
    """What is compared with: names of peers, code lengths, training samples of the peers and their labels."""

    peers: Sequence[str]
    lengths: Sequence[int]
    train: Any
    train_labels: Any
    max_samples: int


def measure(model: Model, measured: Measured, choices: Choices, verbose: bool) -> None:
    """Measure all that a report shows of encoded samples."""
    start = perf_counter()
    with ProgressDisplay("finished", "parts of the report", 3, shown=verbose) as progress:
        rows = np.arange(measured.n_samples) if measured.labels is None else measured.labels.labelled
        measured.pair_rows = subset(rows, choices.max_samples)
        train = _training(model, measured, choices)
        measured.pairs = _attempt(measured, "pairs", lambda: _pairs(measured, choices, train))
        progress.update(note="pairs measured")
        of_search = subset(rows, max(MAX_DATABASE, choices.max_samples))
        measured.search = _attempt(measured, "search", lambda: _search(measured, of_search, choices, train))
        progress.update(note="searches measured")
        measured.neighborhoods = _neighborhoods(measured, rows)
        progress.update(note="neighbours found")
    measured.times.total_seconds = perf_counter() - start


def encode_samples(model: Model, X: Any, y: Any, given: SameLabel | None) -> Measured:
    """Encode all samples, after a call for one of them that compiles what is needed."""
    check_fitted_model(model)
    code = code_of(model)
    start = perf_counter()
    samples = SearchSamples.read("X", model, X)
    seconds = perf_counter() - start
    if (n_samples := len(samples.array)) < 2:
        raise ValueError(f"X has {n_samples} sample: a report needs at least 2.")
    labels = Labels.read(y, given, code.proximity_, n_samples)
    code.encode(samples.transformed[:1])
    start = perf_counter()
    codes = code.encode(samples.transformed)
    times = Times(perf_counter() - start, seconds if isinstance(model, CodePipeline) else None)
    return Measured(code, samples, codes, labels, np.array_equal(codes, code.codes_), times)


def _training(model: Model, measured: Measured, choices: Choices) -> tuple[Any, Any]:
    """Return the samples that peers learn from, at most as many as pairs are measured of, and their labels."""
    if choices.train is None:
        if choices.train_labels is not None:
            raise ValueError("train_labels are given without train: pass the samples that they belong to.")
        return measured.samples.take(measured.pair_rows).transformed, None
    given = SearchSamples.read("train", model, choices.train)
    rows = subset(np.arange(len(given.array)), choices.max_samples)
    if choices.train_labels is None:
        return given.take(rows).transformed, None
    learned = measured.code.proximity_ if measured.labels is None else measured.labels.proximity
    # All labels are validated: a subset would have as many labels as samples even if the labels have another number.
    labelled_rows(choices.train_labels, len(given.array), None, learned)
    return given.take(rows).transformed, rows_of(choices.train_labels, rows)


def _attempt(measured: Measured, name: str, step: Callable[[], T]) -> T | None:
    """Return the result of a step; None where it is impossible for these samples, with the reason in `left_out`."""
    try:
        return step()
    except NoPairsError as error:
        measured.left_out[name] = str(error)
        return None


def _pairs(measured: Measured, choices: Choices, train: tuple[Any, Any]) -> Evaluation:
    learned = measured.code.proximity_
    if measured.labels is None and not isinstance(learned, Nearest | WithinRadius):
        raise NoPairsError(
            f"near pairs of new samples do not follow from the model's {type(learned).__name__}: pass labels "
            "(--labels FILE)."
        )
    proximity = None if measured.labels is None else measured.labels.proximity
    rows = measured.pair_rows
    if measured.labels is not None:
        measured.labels.check_pairs(rows)
    y = None if measured.labels is None else rows_of(measured.labels.y, rows)
    return evaluate(
        measured.code,
        measured.samples.take(rows).transformed,
        y,
        proximity=proximity,
        lengths=choices.lengths,
        peers=choices.peers,
        train=train[0],
        train_labels=train[1],
    )


def _search(measured: Measured, rows: Rows, choices: Choices, train: tuple[Any, Any]) -> SearchEvaluation:
    if measured.labels is not None:
        measured.labels.check_pairs(rows)
    database = measured.samples.take(rows)
    asked = subset(np.arange(len(rows)), N_QUERIES)
    y = None if measured.labels is None else rows_of(measured.labels.y, rows)
    proximity = None if measured.labels is None else measured.labels.proximity
    return evaluate_search(
        measured.code,
        database.transformed,
        database.take(asked).transformed,
        y,
        None if y is None else rows_of(y, asked),
        proximity=proximity if isinstance(proximity, SameLabel) else None,
        k=[k for k in KS if k < len(rows)],
        lengths=choices.lengths,
        peers=choices.peers,
        train=train[0],
        train_labels=train[1],
        exclude_self=True,
    )


def _neighborhoods(measured: Measured, rows: Rows) -> Neighborhoods:
    index = HammingIndex(measured.code.n_bits_).add(measured.codes)
    measured.times.search_ms = search_ms(index, measured.codes)
    among = rows if len(rows) else np.arange(measured.n_samples)
    return find_neighborhoods(index, measured.codes, among, measured.labels, N_SHOWN)
