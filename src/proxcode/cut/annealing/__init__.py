"""Annealing: the default search for a signed cut."""
