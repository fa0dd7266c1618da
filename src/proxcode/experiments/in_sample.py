"""Codes of the training samples themselves, without a hash function, bit by bit."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from numpy.typing import NDArray

from proxcode.bits import BitLoop, Rules
from proxcode.hamming import Codes, GrowingCode
from proxcode.hashing import NoHash
from proxcode.metrics import Counts
from proxcode.pairs import Pairs
from proxcode.proximity import Proximity


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


def pairs_of(proximity: Proximity, X: NDArray[Any], y: Any = None) -> Pairs:
    """Fit a proximity; return the near and far pairs of the samples."""
    return proximity.fit(X, y).find_pairs(X, y).pairs


def learn_bits(pairs: Pairs, rules: Rules, seed: int) -> Iterator[InSampleCode]:
    """Learn one bit after another; yield the code after each bit, without end."""
    code = GrowingCode(pairs.n_samples)
    loop = BitLoop(pairs, NoHash(), rules, max_samples=pairs.n_samples, seed=seed, code=code)
    while True:
        record = loop.step()
        yield InSampleCode(
            codes=loop.code.packed(), near=loop.near, far=loop.far, alpha=record.alpha, loss=float(record.loss)
        )
