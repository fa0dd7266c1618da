"""One fit, or one extension, under way: from parameters and data to bits.

1. The proximity tells which points are near,
2. the hash function prepares what all bits share,
3. the loop learns bit after bit (`bits.py`); a checkpoint, if there is one, is written after each,
4. the model takes over what was learned, finished or interrupted.
"""

import numbers
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from proxcode.bits import BitLoop, BitRecord, CutSearch
from proxcode.cut import Restarts
from proxcode.cut.initial import signs_of
from proxcode.hamming import Codes, GrowingCode, pack, unpack
from proxcode.hashing import HashFunction
from proxcode.pairs.relations import Relation
from proxcode.proximity import Proximity
from proxcode.storage.state import State
from proxcode.threshold import CalibratedThreshold, Threshold
from proxcode.utils.blocks import one_blas_thread
from proxcode.utils.validation import check_whole
from proxcode.weights import DifferenceWeights, Weights

MAX_BITS = 1024
LABEL_COUPLING, COUPLING = 15, 8  # steps after which more gain nothing on new points
CUT_POINTS = 10_000
POOL_POINTS = 20_000  # that these are drawn from where there are labels


class Learned(NamedTuple):
    """What a fit starts from and an extension goes on with."""

    seed: int
    data: dict[str, str | None]
    proximity: Proximity
    hash_function: HashFunction
    history: list[BitRecord]


def is_done(history: list[BitRecord], n_bits: int, loss_target: float) -> bool:
    """Whether a fit stops here."""
    return len(history) >= n_bits or (len(history) > 0 and history[-1].loss <= loss_target)


def until_done(history: list[BitRecord], n_bits: int, loss_target: float) -> list[BitRecord]:
    """Return the records up to where a fit would have stopped."""
    ends = (end for end in range(1, len(history) + 1) if is_done(history[:end], n_bits, loss_target))
    return history[: next(ends, len(history))]


class Progress(NamedTuple):
    """How far a fit has come.

    Attributes
    ----------
    seed : int
    history : list of BitRecord
    bits : State
        What the hash function learned.
    code : ndarray of uint8 or None
        The code of the points that take part, where it is not what the hash function gives.
    proximity : State
        What the proximity learned; nothing before the end.
    codes : ndarray of uint8 or None
        The codes of all points; None before the end.
    """

    seed: int
    history: list[BitRecord]
    bits: State
    code: Codes | None
    proximity: State
    codes: Any

    @property
    def is_whole(self) -> bool:
        """Whether the fit came to its end."""
        return self.codes is not None


class BitFile(Protocol):
    """What bits are kept in as they are learned; see `proxcode.storage.checkpoint.Checkpoint`."""

    def write(
        self,
        seed: int,
        history: list[BitRecord],
        bits: State,
        code: Codes | None,
        proximity: State = ...,
        codes: Codes | None = None,
    ) -> None:
        """Put a later state in the place of the file; see `Progress`."""


class Learning:
    """Learns bits for a model.

    Parameters
    ----------
    model : ProximityPreservingCode
        Whose parameters say how; it takes over the result.
    X, y : the training data, as validated
    learned : Learned
        What there is so far.
    file : Checkpoint, default=None
        Written after every bit.
    found : Progress, default=None
        What the file held.
    """

    def __init__(
        self,
        model: Any,
        X: NDArray[Any],
        y: Any,
        learned: Learned,
        file: BitFile | None = None,
        found: Progress | None = None,
    ) -> None:
        self.model, self.X, self.y, self.learned, self.file, self.found = model, X, y, learned, file, found

    def run(self, n_bits: int, loss_target: float) -> None:
        """Learn bits until there are enough or the loss is low enough."""
        model, (seed, _, proximity, hash_function, history) = self.model, self.learned
        self.members, relation = proximity.relate(self.X, self.y)
        coupling = self._check_coupling(relation)
        cut_points = self._check_cut_points(coupling)
        rows = self._choose_pool(relation, cut_points)
        labels = relation.label_matrix() if coupling else None
        rng = np.random.default_rng([seed, MAX_BITS])
        hash_function.begin(self.X[self.members], rng, labels=labels, rows=rows)
        try:
            if self.found is not None:
                hash_function.resume(self.found.bits)
                hash_function.truncate(len(history))
            loop = BitLoop(
                relation if rows is None else relation.take(rows),
                threshold=_part("threshold", model.threshold, Threshold, CalibratedThreshold),
                weights=_part("weights", model.weights, Weights, DifferenceWeights),
                cut=_part("cut", model.cut, CutSearch, Restarts),
                hash_function=hash_function,
                error_correction=model.error_correction,
                coupling=coupling,
                cut_points=cut_points,
                seed=seed,
                code=self._code_so_far(rows),
            )
        except BaseException:
            hash_function.finish()
            raise
        try:
            self._add_bits(loop, n_bits, loss_target)
        finally:
            hash_function.truncate(len(history))  # an interrupt may come between a hash function and its record
            hash_function.finish()
            if history:
                model._take_over(self.learned, self._codes(loop), self.X, self.y)
        if self.file is not None and (self.found is None or len(history) >= len(self.found.history)):
            self.file.write(seed, history, hash_function.state(), self._own_code(loop), proximity.state(), model.codes_)

    def _add_bits(self, loop: BitLoop, n_bits: int, loss_target: float) -> None:
        seed, history = self.learned.seed, self.learned.history
        bar = tqdm(total=n_bits, initial=loop.code.n_bits, unit="bit", disable=not self.model.verbose)
        with bar as progress, one_blas_thread:  # held once: asking anew costs more than a small product
            while not is_done(history, n_bits, loss_target):
                history.append(loop.step())
                progress.update()
                progress.set_postfix(loss=f"{history[-1].loss:.4f}")
                if self.file is not None:
                    self.file.write(seed, history, self.learned.hash_function.progress(), self._own_code(loop))

    def _own_code(self, loop: BitLoop) -> Codes | None:
        """Return the code of the points that take part, None where it is what the hash function gives."""
        return None if self.model.error_correction else loop.code.packed()

    def _codes(self, loop: BitLoop) -> Codes:
        n_bits = len(self.learned.history)
        codes = pack(self.learned.hash_function.scores(self.X, n_bits) >= 0)
        if not self.model.error_correction:
            codes[self.members] = pack(unpack(loop.code.packed(), n_bits))
        return codes

    def _check_coupling(self, relation: Relation) -> int:
        coupling: Any = self.model.coupling
        can_couple = self.learned.hash_function.climbs and self.model.error_correction
        if coupling is None:
            steps = LABEL_COUPLING if relation.by_labels else COUPLING
            return steps if can_couple else 0
        if not isinstance(coupling, numbers.Integral) or int(coupling) < 0:
            raise ValueError(f"coupling={coupling!r}: give a whole number of steps, 0 for none.")
        if coupling and not can_couple:
            raise ValueError(
                f"coupling={coupling} needs KernelHash or LinearHash and error_correction=True: use coupling=0."
            )
        return int(coupling)

    def _check_cut_points(self, coupling: int) -> int | None:
        cut_points = CUT_POINTS if self.model.cut_points is None and coupling else self.model.cut_points
        if cut_points is None:
            return None
        cut_points = check_whole("cut_points", cut_points, 2)
        if not self.model.error_correction:
            raise ValueError(f"cut_points={cut_points} needs error_correction=True: use None for all points.")
        return cut_points

    def _choose_pool(self, relation: Relation, cut_points: int | None) -> NDArray[np.int64] | None:
        """Return the points that bits are learned from, None for all: of many with labels, some will do."""
        n_pooled = max(POOL_POINTS, cut_points or relation.n_samples)
        if not relation.by_labels or n_pooled >= relation.n_samples:
            return None
        return relation.draw(n_pooled, np.random.default_rng([self.learned.seed, MAX_BITS + 1]))

    def _code_so_far(self, rows: NDArray[np.int64] | None) -> GrowingCode:
        n_bits = len(self.learned.history)
        if self.found is not None and self.found.code is not None:
            return GrowingCode.from_packed(self.found.code, n_bits)
        if n_bits and not self.model.error_correction:
            return GrowingCode.from_packed(self.model.codes_, n_bits).take(self.members)
        code = GrowingCode(len(self.members) if rows is None else len(rows))
        for bit in range(n_bits):
            code.append(signs_of(self.learned.hash_function.training_margins(bit)))
        return code


def _part(name: str, part: Any, kind: type, default: type) -> Any:
    """Return a part of the method, the default for None."""
    if part is None:
        return default()
    if not isinstance(part, kind):
        raise TypeError(f"{name}={part!r}: give an object such as {default.__name__}().")
    return part
