"""The loop: one bit after another (Section "Proximity Preserving Code").

Given the code so far,

1. count near and far pairs by Hamming distance and find beta, the threshold (Step I, Eq. 10),
2. look up the weights W of all pairs in two tables over that distance (Step II),
3. find the bit as a cut of the signed graph W: maximise b'Wb (Eq. 11),
4. train a hash function to carry the bit to new points,
5. where coupled, let the hash function climb: raise b'Wb of its own bit, since that is the bit that counts,
6. put the hash function's own bit into the code, so that the next bit corrects its errors.
"""

import math
from time import perf_counter
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from proxcode.cut import Cut, SignedGraph
from proxcode.cut.initial import signs_of
from proxcode.cut.result import Partition
from proxcode.hamming import GrowingCode
from proxcode.hashing import HashFunction
from proxcode.pairs.relations import AnyUnits, Relation
from proxcode.threshold import Threshold, logistic_loss, loss
from proxcode.weights import Table, Weights

FULL_BITS, LEAST_POINTS = 12, 2500  # bits for which all points are drawn, points drawn for any later one
MAX_CUTS, CUTS = 8, 64  # cuts tried: so many for each of the first bits, then CUTS / k for bit k


@runtime_checkable
class CutSearch(Protocol):
    """What finds a cut; see `proxcode.cut.Restarts`."""

    def solve(self, graph: SignedGraph, rng: np.random.Generator) -> Cut:
        """Return a partition with large b'Wb."""


class BitRecord(NamedTuple):
    """What happened at one bit; the code's figures are those with this bit in it.

    Attributes
    ----------
    alpha : float
        Threshold of the code, in the paper's doubled Hamming distance.
    loss : float
        Share of pairs on the wrong side of the best threshold (Eq. 4).
    logistic_loss : float
        Its relaxation at alpha (Eq. 8), a mean over pairs.
    flips, sweeps : int
        What the cut took.
    hash_accuracy : float
        Share of points whose bit the hash function kept.
    seconds : float
    """

    alpha: float
    loss: float
    logistic_loss: float
    flips: int
    sweeps: int
    hash_accuracy: float
    seconds: float

    @property
    def radius(self) -> int:
        """Hamming distance up to which two codes of so many bits count as near: floor(alpha / 2), at least 0."""
        return max(0, math.floor(self.alpha / 2))


class BitLoop:
    """Learns bits of the points of a relation.

    Parameters
    ----------
    relation : Relation
    threshold : Threshold
    weights : Weights
    cut : CutSearch
    hash_function : HashFunction or None
        Begun on the same points; None learns the bits of these points alone.
    error_correction : bool
        Whether the hash function's bit, not the cut's, goes into the code.
    coupling : int
        Steps that the hash function climbs; 0 is the paper.
    cut_points : int, default=None
        Sums over pairs run over so many points, drawn anew for each bit, where there are more; None is all.
    seed : int
        Bit k is drawn from (seed, k) alone, whatever came before: a longer code begins with the shorter one.
    code : GrowingCode
        The code so far.
    """

    def __init__(
        self,
        relation: Relation,
        *,
        threshold: Threshold,
        weights: Weights,
        cut: CutSearch,
        hash_function: HashFunction | None,
        error_correction: bool,
        coupling: int = 0,
        cut_points: int | None = None,
        seed: int,
        code: GrowingCode,
    ) -> None:
        self.threshold = threshold
        self.weights = weights
        self.cut = cut
        self.hash_function = hash_function
        self.error_correction = error_correction
        self.coupling = coupling
        self.cut_points = relation.n_samples if cut_points is None else cut_points
        self.seed = seed
        self.code = code
        self.relation = relation
        self._count()

    def _count(self) -> None:
        """Step I for the code as it is now."""
        n_samples = self.relation.n_samples
        if self.cut_points >= n_samples:
            self._units: AnyUnits = self.relation.units(self.code)
        else:
            rng = np.random.default_rng([self.seed, self.code.n_bits, n_samples])
            self._units = self.relation.sampled_units(self.code, self._n_drawn(), rng)
        self.near, self.far = self._units.counts()
        for name, counts in (("near", self.near), ("far", self.far)):
            points = self._units.points
            if counts.sum() == 0 and points is None:
                raise ValueError(
                    f"there is no {name} pair among the {n_samples} points: a code needs near and far pairs to tell "
                    "apart."
                )
            if counts.sum() == 0 and points is not None:
                raise ValueError(
                    f"there is no {name} pair among {len(points)} of the {n_samples} points: raise cut_points, or "
                    "check the proximity."
                )
        self.beta, self.scale = self.threshold.line(self.near, self.far)

    def _n_drawn(self) -> int:
        """Return the points drawn for the next bit; with labels, bits after the first ones need fewer."""
        if not self.relation.by_labels:
            return self.cut_points
        share = min(1.0, FULL_BITS / (self.code.n_bits + 1))
        return max(min(self.cut_points, LEAST_POINTS), int(share * self.cut_points))

    def _coupled_bit(
        self, hash_function: HashFunction, tables: tuple[Table, Table], rng: np.random.Generator
    ) -> tuple[Cut, Partition]:
        """Learn the bit with the largest b'Wb once hashed, of several cuts, and climb; return the cut and the bit."""
        n_bits, points = self.code.n_bits, self._units.points
        graph = self._units.graph(*tables)
        cuts, values = [], []
        n_cuts = max(1, min(MAX_CUTS, CUTS // (n_bits + 1))) if self.relation.start_matters else 1
        for _ in range(n_cuts):
            cuts.append(self.cut.solve(graph, rng))
            hashed = signs_of(hash_function.learn(cuts[-1].partition, points))
            values.append(graph.value(hashed if points is None else hashed[points]))
            hash_function.truncate(n_bits)
        best = cuts[int(np.argmax(values))]
        hash_function.learn(best.partition, points)
        form, form_points = self._units.form(*tables)
        return best, signs_of(hash_function.climb(form, self.coupling, form_points))

    @property
    def alpha(self) -> float:
        """Threshold of the code in the paper's doubled distance."""
        return self.code.n_bits - self.beta

    def step(self) -> BitRecord:
        """Learn the next bit."""
        start = perf_counter()
        rng = np.random.default_rng([self.seed, self.code.n_bits])
        tables = self.weights.tables(self.beta, self.code.n_bits, self.scale)
        points = self._units.points
        if self.hash_function is not None and self.coupling:
            cut, kept = self._coupled_bit(self.hash_function, tables, rng)
        else:
            cut = self.cut.solve(self._units.graph(*tables), rng)
            kept = (
                cut.partition
                if self.hash_function is None
                else signs_of(self.hash_function.learn(cut.partition, points))
            )
        self.code.append(kept if self.error_correction else cut.partition)
        agreement = (kept if points is None else kept[points]) == cut.partition
        self._count()
        return BitRecord(
            alpha=self.alpha,
            loss=loss(self.near, self.far),
            logistic_loss=logistic_loss(self.near, self.far, self.beta, self.scale),
            flips=cut.flips,
            sweeps=cut.sweeps,
            hash_accuracy=float(agreement.mean()),
            seconds=perf_counter() - start,
        )
