"""The interface of upper bounds."""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from proxcode.cut.graph import ExplicitGraph
from proxcode.cut.result import Partition


class UpperBound(ABC, BaseEstimator):
    """Base class of upper bounds of b'Wb over all partitions."""

    @abstractmethod
    def bound(
        self, graph: ExplicitGraph, partition: Partition, rng: np.random.Generator, time_limit: float | None = None
    ) -> float:
        """Return a number that b'Wb of no partition exceeds.

        `partition` is a good partition, for bounds that can use one. After about `time_limit` seconds the best bound so
        far is returned.
        """
