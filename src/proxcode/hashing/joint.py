"""Hash functions that learn all bits at once, without cuts.

The bits of `PerBitHash` and `RidgeHash` follow cuts, one after another. Those of a `JointHash` are found together, so
that there is no cut to follow: the loop over bits takes them as they are and finds their thresholds.

1. `begin` calls `fit_bits(X, labels, n_bits, rng)`, unless an earlier call has learned the bits,
2. `training.planned()` gives the bits one by one,
3. `finish` says how many of them belong to the code.

A code that is extended must not change: bits beyond those learned at once would need another fit.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from proxcode.cut.result import Partition
from proxcode.hashing.base import HashedBit, HashFunction, HashTraining, Labels, Matrix, QueryTables, Vector
from proxcode.hashing.decoder import ByteDecoder
from proxcode.utils.rows import ALL, Rows, evenly_spaced
from proxcode.utils.validation import check_scale

# Samples that the bits are learned from; more do not change them noticeably.
MAX_FIT_SAMPLES = 50_000
# Largest number of rounds, rotations, descents or components that may be asked for.
MAX_ROUNDS = 1_000_000


class JointHash(HashFunction):
    """Base class of hash functions that learn all bits at once.

    A subclass implements `fit_bits`, which sets `n_planned_` and `decoder_`, and `margins`.

    Attributes
    ----------
    n_planned_ : int
        Number of bits learned at once.
    decoder_ : ByteDecoder
        Turns codes back into samples, for float queries.
    """

    n_planned_: int
    decoder_: ByteDecoder
    has_prefixes = False

    @abstractmethod
    def fit_bits(self, X: Matrix, labels: Labels | None, n_bits: int, rng: np.random.Generator) -> None:
        """Learn all bits.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        labels : sparse matrix of shape (n_samples, n_labels) or None
        n_bits : int
        rng : Generator
        """

    @abstractmethod
    def margins(self, X: Matrix) -> Vector:
        """Return the margins of all bits, shape `(n_samples, n_planned_)`."""

    def begin(
        self,
        X: Matrix,
        rng: np.random.Generator,
        *,
        labels: Labels | None = None,
        rows: Rows = ALL,
        n_bits: int = 64,
    ) -> JointTraining:
        """Learn all bits of a code of length `n_bits`, unless they are learned already."""
        if not hasattr(self, "n_planned_"):
            check_scale(X[evenly_spaced(len(X), MAX_FIT_SAMPLES)])
            self.fit_bits(X, labels, n_bits, rng)
            self.n_bits_ = 0
        elif n_bits > self.n_planned_:
            raise ValueError(
                f"n_bits={n_bits}: {type(self).__name__} learned {self.n_planned_} bits at once and cannot add others; "
                f"fit a new model with n_bits={n_bits}."
            )
        return JointTraining(self.margins(X[rows]), self.n_bits_)

    def finish(self, training: HashTraining, n_bits: int) -> None:
        self.n_bits_ = n_bits

    def query_tables(self, X: Matrix) -> QueryTables | None:
        """Return lookup tables of squared distances from samples to decoded codes; None for a part of the bits."""
        if self.n_bits_ < self.n_planned_:
            return None
        return QueryTables(self.decoder_.tables(X), self.decoder_.norms)

    def scores(self, X: Matrix, n_bits: int) -> Vector:
        return self.margins(X)[:, :n_bits]


class JointTraining(HashTraining):
    """Training of a `JointHash`: a bit is a column of the margins.

    Parameters
    ----------
    all_margins : ndarray of shape (n_samples, n_planned)
    n_bits : int
        Number of bits that belong to the code already.
    """

    def __init__(self, all_margins: Vector, n_bits: int) -> None:
        super().__init__(range(n_bits))
        self.all_margins = all_margins

    def planned(self) -> HashedBit:
        """Return the next bit."""
        column = len(self.bits)
        return HashedBit(parameters=column, margins=self.margins(column))

    def propose(self, target: Partition, samples: Rows = ALL) -> HashedBit:
        """Return the next bit, whatever the cut."""
        return self.planned()

    def margins(self, parameters: int) -> Vector:
        return self.all_margins[:, parameters]
