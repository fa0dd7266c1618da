"""What a hash function is, and the state that it trains with.

A hash function carries each bit of a code to samples not seen in fit:

1. `begin(X, rng)` prepares what all bits share and returns a `HashTraining`, which is dropped after the last bit,
2. `training.propose(target)` trains the next bit to follow a cut and returns it with its margins; nothing is changed,
   (`training.planned()`, where a hash function learns all bits at once, gives the next bit without a cut),
3. `training.refine(bit, form)`, where a hash function implements it, raises b'Wb of that bit; nothing is changed,
4. `training.append(bit)` adds the bit to those learned,
5. `finish(training, n_bits)` turns the bits learned into fitted attributes,
6. `scores(X, n_bits)` gives the margins of new samples, one column per bit; a bit is 1 where its margin is >= 0.

`PerBitHash` implements all of this for hash functions that train a model of its own for each bit: a subclass provides
`train` and `margins`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from proxcode.cut.graph import QuadraticForm
from proxcode.cut.result import Partition
from proxcode.hamming import Codes
from proxcode.storage.state import State
from proxcode.utils.rows import ALL, Index, Rows
from proxcode.utils.validation import check_integer, check_scale, unit_of

Matrix = NDArray[Any]
Vector = NDArray[np.float64]
Labels = Any  # a scipy.sparse matrix of weights, mostly 0 and 1, shape (n_samples, n_labels)


class NearPairs(Protocol):
    """Near pairs as row numbers, arrays of shape (2, n_pairs)."""

    @property
    def learned(self) -> NDArray[np.int64]:
        """Pairs to learn from."""

    @property
    def to_measure(self) -> NDArray[np.int64]:
        """Pairs to measure with: others, unless there are too few."""


class HashedBit(NamedTuple):
    """A bit as a hash function gives it.

    Attributes
    ----------
    parameters : object
        What defines the bit, in the hash function's own form.
    margins : ndarray of shape (n_samples,)
        Margins at the training samples.
    """

    parameters: Any
    margins: Vector


class QueryTables(NamedTuple):
    """Distances from float queries to codes c: offsets(c) + sum over bytes b of tables[query, b, c_b].

    Attributes
    ----------
    tables : ndarray of float32, shape (n_queries, n_bytes, 256)
    offsets : callable
        Takes packed codes and returns a number for each.
    """

    tables: NDArray[np.float32]
    offsets: Callable[[Codes], NDArray[np.float32]]


class HashTraining(ABC):
    """State of a hash function while bits are learned.

    Parameters
    ----------
    bits : iterable
        Parameters of the bits learned so far.

    Attributes
    ----------
    refine_steps : int
        Number of optimisation steps of `refine`, which is called only if this is above 0. It equals `n_refine_steps` of
        the hash function.
    """

    refine_steps = 0

    def __init__(self, bits: Iterable[Any] = ()) -> None:
        self.bits = list(bits)

    def planned(self) -> HashedBit | None:
        """Return the next bit where it is learned already, together with others; None: it shall follow a cut."""
        return None

    @abstractmethod
    def propose(self, target: Partition, samples: Rows = ALL) -> HashedBit:
        """Train the next bit.

        Parameters
        ----------
        target : ndarray of int8
            The bit to follow, -1 or +1 for each of `samples`.
        samples : slice or ndarray of int, default=slice(None)
            The training samples that the target is given for.
        """

    def refine(self, bit: HashedBit, form: QuadraticForm, samples: Rows = ALL) -> HashedBit:
        """Return a bit whose b'Wb is at least that of `bit`; `bit` itself unless a subclass refines.

        Parameters
        ----------
        bit : HashedBit
        form : QuadraticForm
            W over `samples`.
        samples : slice or ndarray of int, default=slice(None)
        """
        return bit

    @abstractmethod
    def margins(self, parameters: Any) -> Vector:
        """Return the margins of a bit at the training samples."""

    def append(self, bit: HashedBit) -> None:
        """Add a bit to those learned."""
        self.bits.append(bit.parameters)


class NoHash(HashTraining):
    """No hash function: each bit is the cut itself, for codes of the training samples alone."""

    def propose(self, target: Partition, samples: Rows = ALL) -> HashedBit:
        """Return the cut. Raises ValueError where it covers a subset: other samples would have no bit."""
        if not isinstance(samples, slice):
            raise ValueError(f"a cut of {len(target)} samples is not a bit of all samples: raise max_samples.")
        return HashedBit(parameters=None, margins=target.astype(np.float64))

    def margins(self, parameters: Any) -> Vector:
        """Raise: no bit is stored."""
        raise NotImplementedError("NoHash stores no bits")


class HashFunction(ABC, BaseEstimator):
    """Carries the bits of a code to samples not seen in fit.

    Attributes
    ----------
    n_bits_ : int
        Number of bits learned.
    has_prefixes : bool
        Whether the first bits of a code are a code of their own, as good as one learned at that length.
    """

    n_bits_: int
    has_prefixes = True

    @abstractmethod
    def begin(
        self, X: Matrix, rng: np.random.Generator, *, labels: Labels | None = None, rows: Rows = ALL
    ) -> HashTraining:
        """Prepare to learn bits; bits already learned are kept.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        rng : Generator
        labels : sparse matrix of shape (n_samples, n_labels), default=None
            Positive where a sample has a label: 1, or the weight of the sample among those of all labels. A hash
            function may restrict its bits to what tells these labels apart.
        rows : slice or ndarray of int, default=slice(None)
            The samples that targets and margins are given for.
        """

    def begin_with_pairs(self, X: Matrix, rng: np.random.Generator, near: NearPairs) -> HashTraining:
        """Prepare to learn bits from a list of near pairs; `begin`, unless a subclass learns from the pairs themselves.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        rng : Generator
        near : NearPairs
            Row numbers in X of the two samples of each pair; every sample is in a pair.
        """
        return self.begin(X, rng)

    @abstractmethod
    def finish(self, training: HashTraining, n_bits: int) -> None:
        """Take over the first `n_bits` bits of a training; the training can go on afterwards."""

    @abstractmethod
    def scores(self, X: Matrix, n_bits: int) -> Vector:
        """Return the margins of the first `n_bits` bits, shape (n_samples, n_bits)."""

    def query_tables(self, X: Matrix) -> QueryTables | None:
        """Return lookup tables of distances from float queries to codes; None: bits are weighted by `query_weights`."""
        return None

    def query_weights(self, X: Matrix, n_bits: int) -> Vector:
        """Return the bits of float queries as numbers from -1 to +1: by default tanh of the margins."""
        return np.tanh(self.scores(X, n_bits))

    def unit_of(self, X: Matrix) -> float:
        """Return what samples are multiplied by before they are hashed.

        It is 1 where a given `gamma` is for X as it is; then single precision must hold squared distances.
        """
        unit, gamma = unit_of(X), self.get_params().get("gamma")
        if gamma is None or isinstance(gamma, str) or (np.isscalar(gamma) and gamma == 0):
            return unit
        if unit != 1:
            check_scale(X)
        return 1.0

    def n_refine_steps(self, labels: Labels | None) -> int:
        """Return the number of optimisation steps that refine each bit, given the labels of `begin`.

        It equals `refine_steps` of the training that `begin` returns, and is asked for before.
        """
        return 0

    def state(self) -> State:
        """Return what was learned, for a model file."""
        raise NotImplementedError(f"{type(self).__name__} cannot be stored: it does not implement `state`.")

    def restore(self, state: State) -> None:
        """Take over what another hash function of the same parameters learned."""
        raise NotImplementedError(f"{type(self).__name__} cannot be restored: it does not implement `restore`.")


class PerBitHash(HashFunction):
    """Base class of hash functions that train a model of its own for each bit.

    Attributes
    ----------
    classifiers_ : list
        The model of each bit.
    """

    max_samples: int | None = None
    classifiers_: list[Any]

    @abstractmethod
    def train(self, X: Matrix, rows: Index, target: Partition, seed: int) -> Any:
        """Train the model of a bit.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            All training samples.
        rows : ndarray of int
            The training samples to train on.
        target : ndarray of int8
            -1 or +1 for each of `rows`; all may be equal.
        seed : int

        Returns
        -------
        model : object
        """

    @abstractmethod
    def margins(self, model: Any, X: Matrix) -> Vector:
        """Return the margins of a bit at samples."""

    def begin(
        self, X: Matrix, rng: np.random.Generator, *, labels: Labels | None = None, rows: Rows = ALL
    ) -> PerBitTraining:
        """Draw the order in which samples are chosen to train on."""
        if self.max_samples is not None:
            check_integer("max_samples", self.max_samples, 2)
        return PerBitTraining(self, X[rows], rng)

    def finish(self, training: HashTraining, n_bits: int) -> None:
        self.classifiers_, self.n_bits_ = training.bits[:n_bits], n_bits

    def scores(self, X: Matrix, n_bits: int) -> Vector:
        return np.column_stack([self.margins(model, X) for model in self.classifiers_[:n_bits]])


class PerBitTraining(HashTraining):
    """Training of a `PerBitHash`: each bit on at most `max_samples` samples."""

    def __init__(self, hash_function: PerBitHash, X: Matrix, rng: np.random.Generator) -> None:
        super().__init__(getattr(hash_function, "classifiers_", ()))
        self.hash_function, self.X = hash_function, X
        self.order, self.seed = rng.permutation(len(X)), int(rng.integers(2**31))

    def propose(self, target: Partition, samples: Rows = ALL) -> HashedBit:
        """Train the model of the next bit on the first samples of an order drawn once."""
        rows = np.arange(len(self.X))[samples]
        chosen = np.sort(np.argsort(self.order[rows])[: self.hash_function.max_samples])
        seed = (self.seed + len(self.bits)) % 2**31
        model = self.hash_function.train(self.X, rows[chosen], target[chosen], seed)
        return HashedBit(parameters=model, margins=self.margins(model))

    def margins(self, parameters: Any) -> Vector:
        return self.hash_function.margins(parameters, self.X)
