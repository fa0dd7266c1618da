"""The loop: one bit after another (Section "Proximity Preserving Code").

Given the code so far,

1. count near and far pairs by Hamming distance and find beta, the threshold (Step I, Eq. 10),
2. look up the weights W of all pairs in two tables over that distance (Step II),
3. find the bit as a cut of the signed graph W: maximise b'Wb (Eq. 11),
4. train the hash function to carry the bit to new samples,
5. refine: raise b'Wb of the hash function's own bit, the bit that new samples get,
6. put the hash function's own bit into the code, so that the next bit corrects its errors.

Hash functions that learn all bits at once have them ready: of the steps above, 1 and 6 remain.
"""

import math
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.bits.rules import MAX_BITS, Rules
from proxcode.cut import Cut, SignedGraph
from proxcode.cut.result import signs_of
from proxcode.hamming import Codes, GrowingCode, pack, unpack
from proxcode.hashing import HashedBit, HashFunction, HashTraining
from proxcode.hashing.encoder import codes_of, without_codes
from proxcode.hashing.joint import JointHash
from proxcode.metrics import BitRecord, radius_of
from proxcode.pairs import CodedPairs, FoundPairs, Pairs
from proxcode.threshold import Line, logistic_loss, loss
from proxcode.utils.rows import ALL, Index, Rows
from proxcode.utils.samples import Samples, select
from proxcode.utils.validation import check_integer

# Streams of random numbers beside those of bits k = 0..MAX_BITS - 1: the hash function's, and that of `candidates`.
HASH_STREAM, CANDIDATES_STREAM = MAX_BITS, MAX_BITS + 1
# Default of `max_samples` where pairs decide on nothing but thresholds.
THRESHOLD_SAMPLES = 2500


class BitLoop:
    """Learns bits for the samples of `pairs`.

    Parameters
    ----------
    pairs : Pairs
    training : HashTraining
        Training of a hash function on the same samples; `NoHash()` learns a code of these samples alone.
    rules : Rules
    max_samples : int
        Number of samples, redrawn for each bit, whose pairs enter the objective; all where there are no more.
    seed : int
        Bit k depends on (seed, k) and the code so far alone: a longer code begins with the shorter one.
    code : GrowingCode
        The code so far.
    samples : slice or ndarray of int, default=slice(None)
        The samples of X that the pairs are of.

    Attributes
    ----------
    near, far : ndarrays of int
        Numbers of near and far pairs at Hamming distance h = 0..n_bits.
    line : Line
        beta and the scale of the loss.
    """

    near: Index
    far: Index
    line: Line
    _coded: CodedPairs
    # Time spent on what all bits share, counted with the next bit.
    _seconds: float = 0.0

    def __init__(
        self,
        pairs: Pairs,
        training: HashTraining,
        rules: Rules,
        *,
        max_samples: int,
        seed: int,
        code: GrowingCode,
        samples: Rows = ALL,
    ) -> None:
        self.pairs, self.training, self.rules = pairs, training, rules
        self.max_samples, self.seed, self.code, self.samples = max_samples, seed, code, samples
        self._find_threshold()

    @classmethod
    def begin(
        cls,
        X: NDArray[Any] | Samples,
        found: FoundPairs,
        hash_function: HashFunction,
        rules: Rules,
        *,
        max_samples: int | None,
        seed: int,
        codes: Codes,
        n_learned: int,
        n_bits: int,
    ) -> "BitLoop":
        """Begin the training of a hash function, and return the loop that follows the bits already learned.

        Parameters
        ----------
        X : ndarray or Samples of shape (n_samples, n_features)
        found : FoundPairs
            The pairs, and the samples of X that take part in them.
        hash_function : HashFunction
            With the bits learned so far.
        rules : Rules
        max_samples : int or None
            None is 10,000 where the hash function refines bits, 2,500 where it learns them without cuts, else all.
        seed : int
        codes : ndarray of uint8
            Packed codes of the samples of X so far.
        n_learned : int
            Number of bits learned so far.
        n_bits : int
            Code length that is aimed at.
        """
        start = perf_counter()
        samples, pairs = found
        is_joint = isinstance(hash_function, JointHash)
        labels = pairs.labels() if rules.error_correction or is_joint else None
        if max_samples is not None:
            check_integer("max_samples", max_samples, 2)
        elif rules.error_correction and hash_function.n_refine_steps(labels) > 0:
            max_samples = pairs.default_max_samples
        elif is_joint:
            max_samples = THRESHOLD_SAMPLES
        else:
            max_samples = pairs.n_samples
        rows = pairs.candidates(max_samples, np.random.default_rng([seed, CANDIDATES_STREAM]))
        rng, near = np.random.default_rng([seed, HASH_STREAM]), pairs.listed_near()
        if isinstance(hash_function, JointHash):
            # Without labels, samples that have no pairs teach these bits as much as others.
            taught: Any
            taught, places = (X, samples[rows]) if labels is None else (select(X, samples), rows)
            training: HashTraining = hash_function.begin(taught, rng, labels=labels, rows=places, n_bits=n_bits)
        elif near is None or not rules.error_correction:
            training = hash_function.begin(select(X, samples), rng, labels=labels, rows=rows)
        else:
            training = hash_function.begin_with_pairs(select(X, samples), rng, near)
        # A second interrupt may have left the hash function with more bits than the model.
        del training.bits[n_learned:]
        samples = samples[rows]
        code = GrowingCode(len(samples))
        if rules.error_correction:
            for bit in training.bits:
                code.append(signs_of(training.margins(bit)))
        elif training.bits:
            code = GrowingCode.from_packed(codes, len(training.bits)).take(samples)
        pairs = pairs if isinstance(rows, slice) else pairs.take(rows)
        loop = cls(pairs, training, rules, max_samples=max_samples, seed=seed, code=code, samples=samples)
        loop._seconds = perf_counter() - start
        return loop

    def finish(self, X: NDArray[Any] | Samples, hash_function: HashFunction, n_bits: int) -> tuple[Codes, float, int]:
        """Let the hash function take over the first `n_bits` bits.

        Returns
        -------
        codes : ndarray of uint8
            Packed codes of all samples X.
        training_loss : float
            Share of misplaced pairs in these codes, over the pairs that the figures of the last bit are of.
        n_paired : int
            Number of samples whose pairs take part in learning.
        """
        hash_function.finish(self.training, n_bits)
        codes = codes_of(without_codes(hash_function), X, n_bits)
        if not self.rules.error_correction:
            codes[self.samples] = pack(unpack(self.code.packed(), n_bits))
        encoded = GrowingCode.from_packed(codes[self.samples], n_bits)
        return codes, loss(*self._pairs_with(encoded).counts()), self.pairs.n_samples

    def step(self) -> BitRecord:
        """Learn the next bit."""
        start = perf_counter()
        n_bits, samples = self.code.n_bits, self._coded.samples
        rng = np.random.default_rng([self.seed, n_bits])
        bit = self.training.planned()
        if bit is not None:
            # No graph is cut: the partition is the bit itself.
            cut = Cut(partition=signs_of(bit.margins)[samples], value=math.nan, flips=0, sweeps=0)
        else:
            weights = self.rules.weights.tables(self.line.beta, n_bits, self.line.scale)
            graph = self._coded.graph(*weights)
            cut, bit = self._cut_and_hash(graph, rng)
            if self._refines:
                bit = self.training.refine(bit, *self._coded.form(*weights))
        hashed = signs_of(bit.margins)
        kept = hashed.copy()
        if not self.rules.error_correction:
            kept[samples] = cut.partition
        self.training.append(bit)
        self.code.append(kept)
        self._find_threshold()
        seconds, self._seconds = self._seconds + perf_counter() - start, 0.0
        alpha = self.code.n_bits - self.line.beta
        n_within = radius_of(alpha) + 1
        return BitRecord(
            alpha=alpha,
            loss=loss(self.near, self.far),
            logistic_loss=logistic_loss(self.near, self.far, *self.line),
            flips=cut.flips,
            sweeps=cut.sweeps,
            hash_accuracy=float((hashed[samples] == cut.partition).mean()),
            near_within=float(self.near[:n_within].sum() / self.near.sum()),
            far_within=float(self.far[:n_within].sum() / self.far.sum()),
            seconds=seconds,
        )

    @property
    def _refines(self) -> bool:
        return self.rules.error_correction and self.training.refine_steps > 0

    def _find_threshold(self) -> None:
        """Step I for the code so far."""
        n_samples = self.pairs.n_samples
        self._coded = self._pairs_with(self.code)
        self.near, self.far = self._coded.counts()
        for kind, counts in (("near", self.near), ("far", self.far)):
            if counts.sum() == 0:
                hint = "raise max_samples or check" if self.max_samples < n_samples else "check"
                n_sampled = len(np.arange(n_samples)[self._coded.samples])
                raise ValueError(
                    f"there is no {kind} pair among {n_sampled} of {n_samples} samples, but a code needs near and far "
                    f"pairs: {hint} the proximity."
                )
        self.line = self.rules.threshold.line(self.near, self.far)

    def _pairs_with(self, code: GrowingCode) -> CodedPairs:
        """Return all pairs with a code, or those of a subset of the samples that depends on the code length alone."""
        n_samples, n_bits = self.pairs.n_samples, code.n_bits
        if self.max_samples >= n_samples:
            return self.pairs.with_code(code)
        rng = np.random.default_rng([self.seed, n_bits, n_samples])
        return self.pairs.sampled(code, self.pairs.subset_size(self.max_samples, n_bits), rng)

    def _cut_and_hash(self, graph: SignedGraph, rng: np.random.Generator) -> tuple[Cut, HashedBit]:
        """Cut the graph and train the hash function to follow the cut.

        Where bits are refined, several cuts are tried, and the one whose hashed bit has the largest b'Wb is kept: the
        best cut is often not learnable.
        """
        samples = self._coded.samples
        n_cuts = self.pairs.n_cuts(self.code.n_bits) if self._refines else 1
        proposals = []
        for _ in range(n_cuts):
            cut = self.rules.cut.solve(graph, rng)
            proposals.append((cut, self.training.propose(cut.partition, samples)))
        if n_cuts == 1:
            return proposals[0]
        return max(proposals, key=lambda proposal: graph.value(signs_of(proposal[1].margins)[samples]))
