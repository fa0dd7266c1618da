"""Exact search among codes: `HammingIndex`, float queries, and rescoring of candidates by a finer distance.

`ShardedIndex` searches several index files as one, and `find_duplicates` finds near-duplicates among codes.
"""

from proxcode.search.duplicates import DuplicatePairs, Duplicates, find_duplicates
from proxcode.search.float_queries import ByFloatQueries, FloatQueries
from proxcode.search.index import HammingIndex
from proxcode.search.sharded import ShardedIndex
from proxcode.stores.rescoring import ByDistance, ByMargins, Rescoring
from proxcode.stores.results import Neighborhoods, Neighbors

__all__ = [
    "ByDistance",
    "ByFloatQueries",
    "ByMargins",
    "DuplicatePairs",
    "Duplicates",
    "FloatQueries",
    "HammingIndex",
    "Neighborhoods",
    "Neighbors",
    "Rescoring",
    "ShardedIndex",
    "find_duplicates",
]
