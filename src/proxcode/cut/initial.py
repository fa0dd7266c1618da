"""Initial guesses: the partitions a local search starts from."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from proxcode.cut.annealing.limits import check_whole
from proxcode.cut.graph import ExplicitGraph, SignedGraph
from proxcode.cut.mixing import mix, scaled, shifted_vectors
from proxcode.cut.result import Partition
from proxcode.cut.spectral import smallest_eigenpairs, smallest_laplacian_eigenvectors


class InitialGuess(ABC, BaseEstimator):
    """A way to start."""

    @abstractmethod
    def guess(self, graph: SignedGraph, rng: np.random.Generator) -> Partition:
        """Return a partition as a vector of -1 and +1."""


def signs_of(x: NDArray[np.float64]) -> Partition:
    """Sign of each entry, zero counted as +1."""
    return np.where(x >= 0, 1, -1).astype(np.int8)


class RandomGuess(InitialGuess):
    """Each point on a random side (R in the paper's figures)."""

    def guess(self, graph: SignedGraph, rng: np.random.Generator) -> Partition:
        """Return a random partition."""
        return (2 * rng.integers(0, 2, graph.n_nodes) - 1).astype(np.int8)


class LaplacianGuess(InitialGuess):
    """Sign of the smallest non-trivial eigenvector of L = D - W, D_ii = sum_j w_ij (L)."""

    def guess(self, graph: SignedGraph, rng: np.random.Generator) -> Partition:
        """Return the signs of the eigenvector."""
        return signs_of(smallest_laplacian_eigenvectors(graph, 1, rng)[:, 0])


class SignedLaplacianGuess(InitialGuess):
    """Sign of the smallest eigenvector of the signed Laplacian, D_ii = sum_j |w_ij| (SL)."""

    def guess(self, graph: SignedGraph, rng: np.random.Generator) -> Partition:
        """Return the signs of the eigenvector."""
        degrees = graph.absolute_degrees()
        vectors = smallest_eigenpairs(lambda x: degrees * x - graph.matvec(x), graph.n_nodes, 1, rng)[1]
        return signs_of(vectors[:, 0])


class ProjectionGuess(InitialGuess):
    """Sign of a random projection of the smallest non-trivial eigenvectors of L (the paper's AN).

    Parameters
    ----------
    n_vectors : int, default=3
        How many eigenvectors are projected; the paper takes three.
    """

    def __init__(self, n_vectors: int = 3) -> None:
        self.n_vectors = n_vectors

    def guess(self, graph: SignedGraph, rng: np.random.Generator) -> Partition:
        """Return the signs of the projection."""
        check_whole("n_vectors", self.n_vectors)
        vectors = smallest_laplacian_eigenvectors(graph, self.n_vectors, rng)
        return signs_of(vectors @ rng.standard_normal(vectors.shape[1]))


class AlonNaorGuess(InitialGuess):
    """The semidefinite relaxation of Alon and Naor, solved at low rank and rounded by random hyperplanes.

    Each point has a unit vector v_i in r dimensions; sum_ij w_ij v_i'v_j is raised point after point by the mixing
    method, v_i <- sum_j w_ij v_j normalised. From rank sqrt(2 n) on the factored problem has no spurious local maxima
    for almost all W (Boumal, Voroninski, Bandeira). Graphs whose weights are not stored are raised for all points at
    once instead, v_i <- normalised rows of (W + shift I) V, the vector update of Algorithm 1 on the sphere. A sweep
    costs r operations for each weight: meant for up to some millions of weights. What the vectors prove is told by
    `proxcode.cut.SemidefiniteBound`.

    Parameters
    ----------
    rank : int, default=None
        Dimension r of the vectors; None is ceil(sqrt(2 n)) + 1.
    n_roundings : int, default=20
        Random hyperplanes tried; the best partition is kept.
    max_iter : int, default=500
        Sweeps of the mixing method at most.
    tolerance : float, default=1e-5
        Relative gain under which the iteration stops.
    """

    def __init__(
        self, rank: int | None = None, n_roundings: int = 20, max_iter: int = 500, tolerance: float = 1e-5
    ) -> None:
        self.rank = rank
        self.n_roundings = n_roundings
        self.max_iter = max_iter
        self.tolerance = tolerance

    def guess(self, graph: SignedGraph, rng: np.random.Generator) -> Partition:
        """Return the best of the rounded partitions."""
        check_whole("n_roundings", self.n_roundings)
        effort = self.rank, self.max_iter, self.tolerance, rng
        if isinstance(graph, ExplicitGraph):
            vectors = mix(scaled(graph)[0], *effort)[0]
        else:
            vectors = shifted_vectors(graph, *effort)
        candidates = [signs_of(vectors @ rng.standard_normal(vectors.shape[1])) for _ in range(self.n_roundings)]
        return max(candidates, key=graph.value)
