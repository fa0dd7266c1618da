"""Codes of the training samples themselves, without a hash function, bit by bit."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from numpy.typing import NDArray

from proxcode.bits import BitLoop, CutSearch
from proxcode.hamming import Codes, GrowingCode
from proxcode.metrics import Counts
from proxcode.pairs.relations import Relation
from proxcode.proximity import Proximity
from proxcode.threshold import Threshold
from proxcode.weights import Weights


class InSampleCode(NamedTuple):
    """Code of the training samples after some number of bits.

    Attributes
    ----------
    codes : ndarray of uint8, shape (n_samples, n_bytes)
        Packed codes.
    near, far : ndarrays of shape (n_bits + 1,)
        Numbers of near and far pairs by Hamming distance.
    alpha : float
        Threshold in the paper's doubled Hamming distance.
    loss : float
        Share of misplaced pairs: near ones beyond or far ones within the threshold (Eq. 4).
    """

    codes: Codes
    near: Counts
    far: Counts
    alpha: float
    loss: float


def pairs_of(proximity: Proximity, X: NDArray[Any], y: Any = None) -> Relation:
    """Fit a proximity; return the near and far pairs of the samples."""
    return proximity.fit(X, y).relate(X, y).relation


def learn_bits(
    pairs: Relation, *, threshold: Threshold, weights: Weights, cut: CutSearch, seed: int
) -> Iterator[InSampleCode]:
    """Learn one bit after another; yield the code after each bit, without end."""
    loop = BitLoop(
        pairs,
        threshold=threshold,
        weights=weights,
        cut=cut,
        hash_function=None,
        error_correction=False,
        seed=seed,
        code=GrowingCode(pairs.n_samples),
    )
    while True:
        loss = float(loop.step().loss)
        yield InSampleCode(loop.code.packed(), loop.near, loop.far, loop.alpha, loss)
