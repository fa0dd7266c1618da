"""What peers share that learn codes for the labelled points themselves, not codewords of classes."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from proxcode.peers._base import Matrix, Peer, SupervisedPeer, check_classes


@SupervisedPeer.register
class LabelledPeer(Peer):
    """A supervised peer without codewords; a subclass says how to learn (`_learn`) and how to score (`_scores`).

    It counts as a `SupervisedPeer` for `issubclass`.
    """

    random_state: Any

    def _fit(self, X: Matrix, y: Any) -> None:
        self.classes_, members = check_classes(self, y, len(X))
        self._learn(X, members, check_random_state(self.random_state))

    @abstractmethod
    def _learn(self, X: Matrix, members: NDArray[np.int64], rng: np.random.RandomState) -> None:
        """Learn from the points and the number of each point's class."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def indicators(members: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the matrix Y of 0 and 1 with Y[i, c] = 1 where point i is of class c.

    Examples
    --------
    >>> indicators(np.array([1, 0, 1]))
    array([[0., 1.],
           [1., 0.],
           [0., 1.]])
    """
    return np.eye(members.max() + 1)[members]
