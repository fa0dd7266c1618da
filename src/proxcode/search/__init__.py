"""Search among codes: `HammingIndex`, and finer orders for what it finds."""

from proxcode.search.index import HammingIndex
from proxcode.search.rescoring import ByDistance, ByMargins, Rescoring
from proxcode.search.results import Neighborhoods, Neighbors

__all__ = ["ByDistance", "ByMargins", "HammingIndex", "Neighborhoods", "Neighbors", "Rescoring"]
