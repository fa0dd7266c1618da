"""What a hash function is: a bank of binary classifiers over the same points, one per bit."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from proxcode.cut.graph import QuadraticForm
from proxcode.cut.result import Partition
from proxcode.storage.state import State

Matrix = NDArray[Any]
Vector = NDArray[np.float64]
Labels = NDArray[np.int8]
Rows = NDArray[np.int64]


class HashFunction(ABC, BaseEstimator):
    """A bank of classifiers, one per bit.

    Attributes
    ----------
    n_bits_ : int
        Bits learned so far.
    climbs : bool
        Whether `climb` is there.
    """

    n_bits_: int
    climbs = False

    @abstractmethod
    def begin(
        self,
        X: Matrix,
        rng: np.random.Generator,
        *,
        labels: Labels | None = None,
        rows: Rows | None = None,
    ) -> None:
        """Prepare to learn bits of the points X; a bank that has bits already keeps them.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        rng : Generator
        labels : ndarray of shape (n, n_labels), default=None
            +1 or -1: bits may be restricted to what tells these labels apart.
        rows : ndarray of int, default=None
            The points that sides and margins are given for; None is all.
        """

    @abstractmethod
    def learn(self, side: Partition, points: Rows | None = None) -> Vector:
        """Learn the next bit; return its margins at all training points.

        Parameters
        ----------
        side : ndarray of int8
            -1 or +1.
        points : ndarray of int, default=None
            The training points that sides are given for; None is all.
        """

    def climb(self, form: QuadraticForm, steps: int, points: Rows | None = None) -> Vector:
        """Raise b'Wb of the last bit as hashed, in so many steps; return its margins at all training points.

        Parameters
        ----------
        form : QuadraticForm
        steps : int
        points : ndarray of int, default=None
            The training points that the form is over; None is all.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot climb: use coupling=0.")

    @abstractmethod
    def training_margins(self, bit: int) -> Vector:
        """Return what `learn` or `climb` returned for a bit."""

    @abstractmethod
    def truncate(self, n_bits: int) -> None:
        """Forget all but the first `n_bits` bits."""

    @abstractmethod
    def finish(self) -> None:
        """Forget the training points."""

    @abstractmethod
    def scores(self, X: Matrix, n_bits: int) -> Vector:
        """Return the margins of the first `n_bits` bits, shape (n, n_bits)."""

    def progress(self) -> State:
        """Return what `learn` and `climb` have added to what `begin` makes."""
        raise NotImplementedError(f"{type(self).__name__} cannot be stored: it has no method `progress`.")

    def resume(self, progress: State) -> None:
        """Take over the bits of a bank on the same points, by its `progress` or its `state`: called after `begin`."""
        raise NotImplementedError(f"{type(self).__name__} cannot be restored: it has no method `resume`.")

    def state(self) -> State:
        """Return all that was learned: called after `finish`."""
        raise NotImplementedError(f"{type(self).__name__} cannot be stored: it has no method `state`.")

    def restore(self, state: State) -> None:
        """Take over what another bank of the same parameters learned."""
        raise NotImplementedError(f"{type(self).__name__} cannot be restored: it has no method `restore`.")
