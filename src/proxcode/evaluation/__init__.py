"""Evaluation of a fitted model, compared with other hashing methods.

`evaluate` measures all pairs of one set of samples. `evaluate_search` measures what a search finds in a database.
"""

from proxcode.evaluation.all_pairs import Evaluation, NoPairsError, Row, evaluate
from proxcode.evaluation.methods import MODEL
from proxcode.evaluation.search import evaluate_search
from proxcode.evaluation.search_result import SearchEvaluation, SearchRow

__all__ = [
    "MODEL",
    "Evaluation",
    "NoPairsError",
    "Row",
    "SearchEvaluation",
    "SearchRow",
    "evaluate",
    "evaluate_search",
]
