"""Annealing: the default search for a signed cut."""

from proxcode.cut.annealing.search import Annealing

__all__ = ["Annealing"]
