# ruff: noqa: D102 (methods are documented in the base class)
"""Initial guesses: the partitions that a search starts from."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from proxcode.cut.graph import ExplicitGraph, SignedGraph
from proxcode.cut.relaxation import mix, scaled, shifted_vectors, smallest_eigenpairs, smallest_laplacian_eigenvectors
from proxcode.cut.result import Partition
from proxcode.cut.validation import check_partition
from proxcode.utils.validation import check_integer


class InitialGuess(ABC, BaseEstimator):
    """Base class of initial guesses."""

    @abstractmethod
    def guess(self, graph: SignedGraph, rng: Generator) -> Partition:
        """Return a partition as a vector of -1 and +1."""

    def restricted(self, graph: SignedGraph, nodes: NDArray[np.int64]) -> "InitialGuess":
        """Return the guess for a graph that keeps only some of the nodes of `graph`."""
        return self


def signs_of(x: NDArray[np.float64]) -> Partition:
    """Return the sign of each entry; zero counts as +1."""
    return np.where(x >= 0, 1, -1).astype(np.int8)


class GivenGuess(InitialGuess):
    """A partition that is already known, to improve upon.

    Parameters
    ----------
    partition : array-like of shape (n,)
        -1 or +1 for each node.
    """

    def __init__(self, partition: ArrayLike) -> None:
        self.partition = partition

    def guess(self, graph: SignedGraph, rng: Generator) -> Partition:
        return check_partition("initial", self.partition, graph.n_nodes)

    def restricted(self, graph: SignedGraph, nodes: NDArray[np.int64]) -> "GivenGuess":
        return GivenGuess(check_partition("initial", self.partition, graph.n_nodes)[nodes])


class RandomGuess(InitialGuess):
    """A random sign for each node (R in the paper's figures)."""

    def guess(self, graph: SignedGraph, rng: Generator) -> Partition:
        return (2 * rng.integers(0, 2, graph.n_nodes) - 1).astype(np.int8)


class LaplacianGuess(InitialGuess):
    """Signs of the smallest non-trivial eigenvector of L = D - W, D_ii = sum_j w_ij (L in the paper)."""

    def guess(self, graph: SignedGraph, rng: Generator) -> Partition:
        return signs_of(smallest_laplacian_eigenvectors(graph, 1, rng)[:, 0])


class SignedLaplacianGuess(InitialGuess):
    """Signs of the smallest eigenvector of the signed Laplacian D - W, D_ii = sum_j |w_ij| (SL in the paper)."""

    def guess(self, graph: SignedGraph, rng: Generator) -> Partition:
        degrees = graph.absolute_degrees()
        vectors = smallest_eigenpairs(lambda x: degrees * x - graph.matvec(x), graph.n_nodes, 1, rng)[1]
        return signs_of(vectors[:, 0])


class ProjectionGuess(InitialGuess):
    """Signs of a random projection of the smallest non-trivial eigenvectors of L (AN in the paper).

    Parameters
    ----------
    n_vectors : int, default=3
        Number of eigenvectors that are projected; 3 in the paper.
    """

    def __init__(self, n_vectors: int = 3) -> None:
        self.n_vectors = n_vectors

    def guess(self, graph: SignedGraph, rng: Generator) -> Partition:
        check_integer("n_vectors", self.n_vectors, 1)
        vectors = smallest_laplacian_eigenvectors(graph, self.n_vectors, rng)
        return signs_of(vectors @ rng.standard_normal(vectors.shape[1]))


class AlonNaorGuess(InitialGuess):
    """The semidefinite relaxation of Alon and Naor, solved at low rank and rounded by random hyperplanes.

    Each node has a unit vector v_i in r dimensions. The mixing method maximises sum_ij w_ij v_i'v_j node by node:
    v_i <- sum_j w_ij v_j, normalised. From rank sqrt(2 n) on the factored problem has no spurious local maxima for
    almost all W (Boumal, Voroninski, Bandeira). For graphs whose weights are not stored, all nodes are updated at once,
    v_i <- normalised rows of (W + shift I) V, which is the vector update of Algorithm 1 on the sphere. A sweep costs r
    operations per weight: suitable for up to some millions of weights. `SemidefiniteBound` gives the upper bound that
    belongs to the relaxation.

    Parameters
    ----------
    rank : int, default=None
        Dimension r of the vectors. None: ceil(sqrt(2 n)) + 1.
    n_roundings : int, default=20
        Number of random hyperplanes; the best partition is kept.
    max_iter : int, default=500
        Largest number of sweeps of the mixing method.
    tolerance : float, default=1e-5
        Relative gain of a sweep below which the iteration stops.
    """

    def __init__(
        self, rank: int | None = None, n_roundings: int = 20, max_iter: int = 500, tolerance: float = 1e-5
    ) -> None:
        self.rank = rank
        self.n_roundings = n_roundings
        self.max_iter = max_iter
        self.tolerance = tolerance

    def guess(self, graph: SignedGraph, rng: Generator) -> Partition:
        check_integer("n_roundings", self.n_roundings, 1)
        effort = self.rank, self.max_iter, self.tolerance, rng
        if isinstance(graph, ExplicitGraph):
            vectors = mix(scaled(graph)[0], *effort)[0]
        else:
            vectors = shifted_vectors(graph, *effort)
        candidates = [signs_of(vectors @ rng.standard_normal(vectors.shape[1])) for _ in range(self.n_roundings)]
        return max(candidates, key=graph.value)
