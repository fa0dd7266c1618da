"""Read vectors, labels, pairs and graphs from files, and write tabular files.

An unreadable file raises an exception with a one-sentence message: `FileNotFoundError` if it does not exist, otherwise
`ValueError`.
"""

from proxcode.files._arrays import KEYED_FORMATS
from proxcode.files._base import Column, FilePath, Taken, Vectors
from proxcode.files.appending import append_table
from proxcode.files.code_files import ArrayCodes, CodeFile, open_codes
from proxcode.files.graphs import Graph, read_graph
from proxcode.files.ids import TakenIds, take_ids
from proxcode.files.labels import TakenLabels, label_files, read_labels, split_column, take_labels
from proxcode.files.pairs import read_pairs
from proxcode.files.samples import FileSamples, is_empty, list_files, open_samples, stands_for_many
from proxcode.files.vectors import VECTOR_FORMATS, holds_vectors, open_vectors
from proxcode.files.writing import check_suffix, write_table

__all__ = [
    "KEYED_FORMATS",
    "VECTOR_FORMATS",
    "ArrayCodes",
    "CodeFile",
    "Column",
    "FilePath",
    "FileSamples",
    "Graph",
    "Taken",
    "TakenIds",
    "TakenLabels",
    "Vectors",
    "append_table",
    "check_suffix",
    "holds_vectors",
    "is_empty",
    "label_files",
    "list_files",
    "open_codes",
    "open_samples",
    "open_vectors",
    "read_graph",
    "read_labels",
    "read_pairs",
    "split_column",
    "stands_for_many",
    "take_ids",
    "take_labels",
    "write_table",
]
