"""The methods that an evaluation compares: their names, code lengths, fits of the peers, and times."""

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.code import ProximityPreservingCode
from proxcode.evaluation.labels import labelled_rows
from proxcode.hamming import lengths_to_compare
from proxcode.peers import PEERS, OptionallySupervisedPeer, Peer
from proxcode.proximity import Proximity, SameLabel
from proxcode.utils.progress import track
from proxcode.utils.validation import check_integer

# Name of the model in rows and figures.
MODEL = "proxcode"
# Peers of an evaluation by default: those that need no labels, and those that are added where there are labels.
WITHOUT_LABELS, WITH_LABELS = ("LSH", "ITQ"), ("Hadamard", "WCW-ITQ")
# Number of samples, at most, whose encoding is timed, and how often.
N_TIMED, N_REPEATS = 1000, 3

Key = tuple[str, int]


class Training(NamedTuple):
    """Samples that peers are fitted to, and those of them that have a label.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    labelled : ndarray of int64, shape (n_labelled,)
    y : ndarray of shape (n_labelled,) or None
        Labels of the samples that have one.
    """

    X: NDArray[Any]
    labelled: NDArray[np.int64]
    y: NDArray[Any] | None

    @classmethod
    def read(cls, X: NDArray[Any], labels: Any, given: SameLabel | None, learned: Proximity) -> "Training":
        """Return samples with their labels, which are read as in `label_proximity`."""
        if labels is None:
            return cls(X, np.arange(len(X)), None)
        labelled = labelled_rows(labels, len(X), given, learned)
        return cls(X, labelled, np.asarray(labels)[labelled])

    def of(self, peer: type[Peer]) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return the samples and labels that a peer is fitted to: all samples, unless it learns from labels."""
        if self.y is None or not issubclass(peer, OptionallySupervisedPeer) or len(self.labelled) == len(self.X):
            return self.X, self.y
        return self.X[self.labelled], self.y


class FittedPeer(NamedTuple):
    """A peer at one code length, and the seconds of its fit."""

    name: str
    peer: Peer
    seconds: float


def check_peers(peers: Iterable[str] | None, has_labels: bool) -> list[str]:
    """Validate names of peers, in capital letters or not. None: LSH and ITQ, and with labels Hadamard and WCW-ITQ."""
    if peers is None:
        return [*WITHOUT_LABELS, *(WITH_LABELS if has_labels else ())]
    known = {name.lower(): name for name in PEERS}
    names: dict[str, None] = {}
    for name in [peers] if isinstance(peers, str) else peers:
        if str(name).lower() not in known:
            raise ValueError(f"peers={name!r}: expected names from {', '.join(PEERS)}.")
        names[known[str(name).lower()]] = None
    return list(names)


def check_lengths(model: ProximityPreservingCode, lengths: Iterable[int] | None) -> list[int]:
    """Validate code lengths. None: 8, 16, 32, ... and the model's own; only its own if its code has no prefixes."""
    longest = model.n_bits_
    if lengths is None:
        lengths = lengths_to_compare(longest, model.hash_function_.has_prefixes)
    code_lengths = sorted({check_integer("lengths", bits, 1, longest) for bits in lengths})
    if not code_lengths:
        raise ValueError(f"lengths is empty: pass integers from 1 to {longest}, or None.")
    return code_lengths


def fitted_peers(
    names: Iterable[str], lengths: Iterable[int], training: Training, left_out: dict[Key, str], *, verbose: bool
) -> Iterator[FittedPeer]:
    """Yield each peer at each code length, fitted; `left_out` receives the reasons where a peer has no such code."""
    for name, n_bits in track(product(names, lengths), "measured", "codes of peers", shown=verbose):
        start = perf_counter()
        try:
            peer = PEERS[name](n_bits=n_bits, random_state=0).fit(*training.of(PEERS[name]))
        except ValueError as error:
            # The samples are valid, so the error says which code lengths or labels the method does not support.
            left_out[name, n_bits] = str(error)
            continue
        yield FittedPeer(name, peer, perf_counter() - start)


def fit_seconds(model: ProximityPreservingCode, n_bits: int) -> float | None:
    """Return the seconds that the first bits of a model took; None if it was loaded from a file, which has no times."""
    seconds = sum(record.seconds for record in model.history_[:n_bits])
    return None if math.isnan(seconds) else seconds


def encode_ms(encode: Callable[[Any], object], X: Any) -> float:
    """Return the milliseconds per sample of encoding up to 1,000 samples in one call: the median of three calls."""
    # A data frame has rows by slices too.
    some = X[:N_TIMED]
    encode(some[:1])
    seconds = []
    for _ in range(N_REPEATS):
        start = perf_counter()
        encode(some)
        seconds.append(perf_counter() - start)
    return 1000 * median(seconds) / len(some)
