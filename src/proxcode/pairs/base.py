"""What every kind of pairs provides, to the loop over bits and to evaluation."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.cut.graph import QuadraticForm, SignedGraph
from proxcode.hamming import GrowingCode
from proxcode.utils.rows import ALL, Index, Rows

Table = NDArray[np.float64]

# Cuts tried for a bit: MAX_CUTS for each of the first bits, then CUTS // (k + 1) for bit k.
MAX_CUTS, CUTS = 8, 64


class Form(NamedTuple):
    """Quadratic form that scores a bit, and the samples it covers."""

    form: QuadraticForm
    samples: Rows


class ListedNear(NamedTuple):
    """Near pairs of a list, each as the numbers of two samples.

    Attributes
    ----------
    learned : ndarray of int, shape (2, n_pairs)
        Pairs that bits are learned from.
    held_back : ndarray of int, shape (2, n_held_back)
        Pairs that are kept to measure with; there may be none.
    """

    learned: NDArray[np.int64]
    held_back: NDArray[np.int64]

    @property
    def to_measure(self) -> NDArray[np.int64]:
        """Pairs to measure with: those held back, or all where none are."""
        return self.held_back if self.held_back.size else self.learned


class CodedPairs(ABC):
    """Pairs of samples with the Hamming distances of a code.

    Attributes
    ----------
    samples : slice or ndarray of int
        The samples that the graph covers, in ascending order; `slice(None)` is all.
    """

    samples: Rows

    @abstractmethod
    def counts(self) -> tuple[Index, Index]:
        """Return the numbers of near and of far pairs at Hamming distance h = 0..n_bits."""

    @abstractmethod
    def graph(self, near: Table, far: Table) -> SignedGraph:
        """Return the signed graph W of Step II.

        Parameters
        ----------
        near, far : ndarrays of shape (n_bits + 1,)
            Weights of near and of far pairs at Hamming distance h = 0..n_bits.
        """

    def form(self, near: Table, far: Table) -> Form:
        """Return the quadratic form that refinement maximises: that of the graph."""
        return Form(self.graph(near, far), self.samples)


class Pairs(ABC):
    """Near, far and unknown pairs of `n_samples` samples.

    Attributes
    ----------
    n_samples : int
    default_max_samples : int
        Default of `max_samples` where bits are refined; more samples improve nothing on new ones.
    """

    n_samples: int
    default_max_samples = 10_000

    @abstractmethod
    def with_code(self, code: GrowingCode) -> CodedPairs:
        """Return all pairs with the Hamming distances of a code."""

    @abstractmethod
    def sampled(self, code: GrowingCode, n_samples: int, rng: np.random.Generator) -> CodedPairs:
        """Return pairs whose sums run over a random subset of the samples, unbiased up to one common factor."""

    @abstractmethod
    def take(self, samples: Index) -> "Pairs":
        """Return the pairs among a subset of the samples, given in ascending order."""

    def near_rows(self, queries: Index) -> Any:
        """Return whether each sample is near to each query, shape (n_queries, n_samples); None if pairs are unknown."""
        return None

    def labels(self) -> Any:
        """Return the labels as a sparse matrix of shape (n_samples, n_labels), None where there are no labels.

        An entry is the weight of the sample among those of all labels: 1 where all samples count alike.
        """
        return None

    def listed_near(self) -> ListedNear | None:
        """Return the near pairs of a list, from which a hash function may learn what near samples share; or None."""
        return None

    def candidates(self, max_samples: int, rng: np.random.Generator) -> Rows:
        """Return the samples from which the subsets of all bits are drawn."""
        return ALL

    def subset_size(self, max_samples: int, n_bits: int) -> int:
        """Return the size of the subset for the bit that follows a code of `n_bits` bits."""
        return max_samples

    def n_cuts(self, n_bits: int) -> int:
        """Return the number of cuts worth trying for the bit that follows a code of `n_bits` bits."""
        return max(1, min(MAX_CUTS, CUTS // (n_bits + 1)))


class _FoundPairs(NamedTuple):
    samples: Index
    pairs: Pairs


class FoundPairs(_FoundPairs):
    """Near and far pairs of the samples X[samples].

    Attributes
    ----------
    samples : ndarray of int
        Row numbers in X, ascending, of the samples that take part in pairs.
    pairs : Pairs
        Pairs of these samples, numbered by their places in `samples`, from 0.
    """

    def __new__(cls, samples: Index, pairs: Pairs) -> "FoundPairs":
        """Raise ValueError unless the pairs are those of `samples`: kernels read codes by their numbers."""
        if len(samples) != pairs.n_samples:
            raise ValueError(f"pairs of {pairs.n_samples} samples, but {len(samples)} samples take part: pass as many.")
        return super().__new__(cls, samples, pairs)
