"""Signed graph cut: maximise b'Wb over b in {-1, +1}^n. Knows nothing of codes."""

from proxcode.cut.graph import Cut, DenseGraph, SignedGraph, SparseGraph, as_graph
from proxcode.cut.initial import (
    InitialGuess,
    LaplacianGuess,
    ProjectionGuess,
    RandomGuess,
    SemidefiniteGuess,
    SignedLaplacianGuess,
)
from proxcode.cut.search import Restarts, signed_cut
from proxcode.cut.updates import BitUpdate, LocalSearch, NoUpdate, VectorUpdate

__all__ = [
    "BitUpdate",
    "Cut",
    "DenseGraph",
    "InitialGuess",
    "LaplacianGuess",
    "LocalSearch",
    "NoUpdate",
    "ProjectionGuess",
    "RandomGuess",
    "Restarts",
    "SemidefiniteGuess",
    "SignedGraph",
    "SignedLaplacianGuess",
    "SparseGraph",
    "VectorUpdate",
    "as_graph",
    "signed_cut",
]
