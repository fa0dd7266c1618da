"""Exact search among codes: `HammingIndex`, and rescoring of its candidates by a finer distance."""

from proxcode.search.index import HammingIndex
from proxcode.search.rescoring import ByDistance, ByMargins, Rescoring
from proxcode.stores.base import Neighborhoods, Neighbors

__all__ = ["ByDistance", "ByMargins", "HammingIndex", "Neighborhoods", "Neighbors", "Rescoring"]
