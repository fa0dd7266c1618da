"""Vectors, labels, pairs and graphs from files, and tables to files.

What is wrong with a file is said in one sentence: `ValueError`, or `FileNotFoundError` where there is none.
"""

from proxcode.files._base import Vectors
from proxcode.files.graphs import Graph, read_graph
from proxcode.files.labels import read_labels
from proxcode.files.pairs import read_pairs
from proxcode.files.vectors import VECTOR_FORMATS, open_vectors
from proxcode.files.writing import write_table

__all__ = [
    "VECTOR_FORMATS",
    "Graph",
    "Vectors",
    "open_vectors",
    "read_graph",
    "read_labels",
    "read_pairs",
    "write_table",
]
