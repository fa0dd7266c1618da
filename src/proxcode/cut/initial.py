# ruff: noqa: D102 (methods are documented in the base class)
"""Initial guesses: the partitions that a search starts from."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from proxcode.cut.graph import ExplicitGraph, SignedGraph
from proxcode.cut.relaxation import (
    bilinear_vectors,
    mix,
    scaled,
    shifted_vectors,
    smallest_eigenpairs,
    smallest_laplacian_eigenvectors,
)
from proxcode.cut.result import Partition, signs_of
from proxcode.cut.rounding import HyperplaneRounding, Rounding
from proxcode.cut.validation import check_partition
from proxcode.utils.validation import check_component, check_integer


class InitialGuess(ABC, BaseEstimator):
    """Base class of initial guesses."""

    @abstractmethod
    def guess(self, graph: SignedGraph, rng: Generator) -> Partition:
        """Return a partition as a vector of -1 and +1."""

    def restricted(self, graph: SignedGraph, nodes: NDArray[np.int64]) -> "InitialGuess":
        """Return the guess for a graph that keeps only some of the nodes of `graph`."""
        return self


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
    """Signs of the smallest eigenvector of the signed Laplacian D - W, D_ii = sum_j `|w_ij|` (SL in the paper)."""

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


class BilinearGuess(InitialGuess):
    """The bilinear relaxation of Alon and Naor, solved at low rank, with one of their three roundings.

    Each node has two unit vectors. sum_ij w_ij u_i'v_j is maximised alternately: u_i <- sum_j w_ij v_j, normalised,
    then v_j <- sum_i w_ij u_i, normalised; neither step decreases the sum. A rounding turns the vectors into signs x
    and y with large x'Wy (the norm of W from infinity to 1), and whichever of all x and y has the largest b'Wb is
    returned.

    Where repulsion dominates, the largest x'Wy may have y = -x, and then b'Wb of either is small. `AlonNaorGuess`, with
    one vector for each node, maximises b'Wb itself and suits a cut better; this guess is the algorithm of the article.

    Parameters
    ----------
    rounding : Rounding, default=None
        `HyperplaneRounding()`, `TruncatedRounding()` or `KrivineRounding()`. None: `HyperplaneRounding()`.
    rank : int, default=None
        Dimension of the vectors. None: ceil(sqrt(4 n)) + 1, for 2n vectors.
    n_roundings : int, default=20
        Number of pairs x and y that are drawn.
    max_iter : int, default=500
        Largest number of steps; one step updates all u, then all v.
    tolerance : float, default=1e-5
        Relative gain of a step below which the iteration stops.

    Examples
    --------
    >>> from proxcode.cut import BilinearGuess, KrivineRounding, Restarts, signed_cut
    >>> search = Restarts(initial=BilinearGuess(KrivineRounding()))
    >>> signed_cut([(0, 1, 1), (1, 2, -1), (2, 3, 1), (0, 3, -1)], search=search, random_state=0).value
    8.0
    """

    def __init__(
        self,
        rounding: Rounding | None = None,
        rank: int | None = None,
        n_roundings: int = 20,
        max_iter: int = 500,
        tolerance: float = 1e-5,
    ) -> None:
        self.rounding = rounding
        self.rank = rank
        self.n_roundings = n_roundings
        self.max_iter = max_iter
        self.tolerance = tolerance

    def guess(self, graph: SignedGraph, rng: Generator) -> Partition:
        rounding = HyperplaneRounding() if self.rounding is None else self.rounding
        check_component("rounding", rounding, Rounding, "HyperplaneRounding()")
        n_roundings = check_integer("n_roundings", self.n_roundings, 1)
        left, right, _ = bilinear_vectors(graph, self.rank, self.max_iter, self.tolerance, rng)
        return max(np.concatenate(rounding.draw(left, right, n_roundings, rng)), key=graph.value)
