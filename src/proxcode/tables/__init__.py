"""Vectors, labels, pairs and graphs from files, and tables to files.

What is wrong with a file is said in one sentence: `ValueError`, or `FileNotFoundError` where there is none.
"""

from proxcode.tables._base import Vectors
from proxcode.tables.graphs import Graph, read_graph
from proxcode.tables.labels import read_labels
from proxcode.tables.pairs import read_pairs
from proxcode.tables.vectors import VECTOR_FORMATS, open_vectors
from proxcode.tables.writing import write_table

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
