"""Signed graph cut: maximise b'Wb over b in {-1, +1}^n. Independent of the rest of the package."""

from proxcode.cut.annealing.search import Annealing
from proxcode.cut.bounds.base import UpperBound
from proxcode.cut.bounds.certificates import SuitableBound, certify
from proxcode.cut.bounds.cycles import CycleBound
from proxcode.cut.bounds.packing import CyclePackingBound
from proxcode.cut.bounds.semidefinite import SemidefiniteBound
from proxcode.cut.graph import DenseGraph, SignedGraph, SparseGraph, sparse_graph
from proxcode.cut.initial import (
    AlonNaorGuess,
    BilinearGuess,
    GivenGuess,
    InitialGuess,
    LaplacianGuess,
    ProjectionGuess,
    RandomGuess,
    SignedLaplacianGuess,
)
from proxcode.cut.inputs import as_graph
from proxcode.cut.ising import GroundState, ising_ground_state, sample
from proxcode.cut.problems import Frustration, MaxCut, frustration, max_cut
from proxcode.cut.restarts import BitUpdate, LocalSearch, NoUpdate, Restarts, VectorUpdate
from proxcode.cut.result import Cut, Progress
from proxcode.cut.rounding import HyperplaneRounding, KrivineRounding, Rounding, TruncatedRounding
from proxcode.cut.search import Search, signed_cut

__all__ = [
    "AlonNaorGuess",
    "Annealing",
    "BilinearGuess",
    "BitUpdate",
    "Cut",
    "CycleBound",
    "CyclePackingBound",
    "DenseGraph",
    "Frustration",
    "GivenGuess",
    "GroundState",
    "HyperplaneRounding",
    "InitialGuess",
    "KrivineRounding",
    "LaplacianGuess",
    "LocalSearch",
    "MaxCut",
    "NoUpdate",
    "Progress",
    "ProjectionGuess",
    "RandomGuess",
    "Restarts",
    "Rounding",
    "Search",
    "SemidefiniteBound",
    "SignedGraph",
    "SignedLaplacianGuess",
    "SparseGraph",
    "SuitableBound",
    "TruncatedRounding",
    "UpperBound",
    "VectorUpdate",
    "as_graph",
    "certify",
    "frustration",
    "ising_ground_state",
    "max_cut",
    "sample",
    "signed_cut",
    "sparse_graph",
]
