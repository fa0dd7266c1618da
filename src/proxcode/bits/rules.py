"""How a bit is learned: the threshold, the weights and the search for a cut; and when learning stops."""

from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import numpy as np

from proxcode.cut import BitUpdate, Cut, RandomGuess, Restarts, SignedGraph
from proxcode.metrics import BitRecord
from proxcode.threshold import CalibratedThreshold, EqualErrorThreshold, Threshold
from proxcode.utils.validation import check_component
from proxcode.weights import DifferenceWeights, GradientWeights, Weights

MAX_BITS = 1024


@runtime_checkable
class CutSearch(Protocol):
    """A search for cuts, such as `proxcode.cut.Restarts`."""

    def solve(self, graph: SignedGraph, rng: np.random.Generator) -> Cut:
        """Return a partition with large b'Wb."""


@dataclass(frozen=True)
class Rules:
    """Components that determine how a bit is learned.

    Attributes
    ----------
    threshold : Threshold
        Step I.
    weights : Weights
        Step II.
    cut : CutSearch
        Search for a cut of the signed graph.
    error_correction : bool
        Whether the hash function's bit, not the cut, enters the code.
    """

    threshold: Threshold
    weights: Weights
    cut: CutSearch
    error_correction: bool = True

    @classmethod
    def resolved(
        cls, threshold: Threshold | None, weights: Weights | None, cut: CutSearch | None, error_correction: bool = True
    ) -> Self:
        """Return rules with the defaults in place of None. Raises TypeError for what is not such a component."""
        threshold = CalibratedThreshold() if threshold is None else threshold
        weights = DifferenceWeights() if weights is None else weights
        cut = Restarts() if cut is None else cut
        check_component("threshold", threshold, Threshold, "CalibratedThreshold()")
        check_component("weights", weights, Weights, "DifferenceWeights()")
        check_component("cut", cut, CutSearch, "Restarts()")
        return cls(threshold=threshold, weights=weights, cut=cut, error_correction=error_correction)

    @classmethod
    def paper(cls) -> Self:
        """Return the rules of the paper: Eq. 10, gradient weights, and bit update (Algorithm 2) from a random guess."""
        return cls(EqualErrorThreshold(), GradientWeights(), Restarts(RandomGuess(), BitUpdate()))


def is_done(history: list[BitRecord], n_bits: int, loss_target: float) -> bool:
    """Return whether learning stops here."""
    return len(history) >= n_bits or (len(history) > 0 and history[-1].loss <= loss_target)
