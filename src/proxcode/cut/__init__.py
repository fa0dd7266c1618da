"""Signed graph cut: maximise b'Wb over b in {-1, +1}^n. Knows nothing of codes."""

from proxcode.cut.graph import DenseGraph, SignedGraph, SparseGraph, as_graph
from proxcode.cut.initial import (
    InitialGuess,
    LaplacianGuess,
    ProjectionGuess,
    RandomGuess,
    SemidefiniteGuess,
    SignedLaplacianGuess,
)
from proxcode.cut.search import Cut, Restarts, signed_cut
from proxcode.cut.updates import BitUpdate, LocalSearch, NoUpdate, Update, VectorUpdate

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
    "Update",
    "VectorUpdate",
    "as_graph",
    "signed_cut",
]
