"""Evaluations as records for JSON and as text."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxcode.cli.printing import aligned_columns, cell, label

if TYPE_CHECKING:
    from proxcode.evaluation import Evaluation, SearchEvaluation


def pairs_record(evaluation: "Evaluation", figure: Path) -> dict[str, Any]:
    """Return the evaluation of all pairs for JSON."""
    return {
        "rows": [row._asdict() for row in evaluation.rows],
        "left_out": _left_out(evaluation.left_out),
        "radius": evaluation.model.radius_,
        "figure": str(figure),
        "samples without a label": evaluation.n_unlabelled,
    }


def pairs_report(evaluation: "Evaluation", figure: Path) -> str:
    """Return the evaluation of all pairs as text: the rows, then what was left out, the radius and the figure."""
    rows = [row._asdict() for row in evaluation.rows]
    own = {name: [row.pop(name) for row in rows] for name in ("precision", "recall")}
    names = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    lines = [aligned_columns([label(name) for name in names], ([row[name] for name in names] for row in rows))]
    lines += _sentences(evaluation.left_out)
    precision, recall = (next((value for value in values if value is not None), None) for values in own.values())
    measured = "" if recall is None else f": precision {cell(precision)}, recall {cell(recall)}"
    lines.append(f"near up to distance {evaluation.model.radius_}{measured}")
    if evaluation.n_unlabelled:
        lines.append(_unlabelled(evaluation.n_unlabelled, len(evaluation.bits), "samples"))
    return "\n".join([*lines, f"Figure: {figure}"])


def search_record(evaluation: "SearchEvaluation", figure: Path) -> dict[str, Any]:
    """Return the evaluation of a search for JSON."""
    own = {name: value for name, value in vars(evaluation).items() if name not in ("rows", "left_out")}
    rows = [row._asdict() for row in evaluation.rows]
    return {"rows": rows, "left_out": _left_out(evaluation.left_out), **own, "figure": str(figure)}


def search_report(evaluation: "SearchEvaluation", figure: Path) -> str:
    """Return the evaluation of a search as text: the rows, then how they were measured."""
    measures = ["recall"] if evaluation.is_nearest else ["precision", "recall"]
    at_k = [(name, k) for name in measures for k in evaluation.k]
    costs = ("map", "search_ms", "encode_ms", "fit_seconds")
    names = ["method", "bits", "bytes", *(f"{name}@{k}" for name, k in at_k), *map(label, costs)]
    rows = []
    for row in evaluation.rows:
        values = row._asdict()
        of_ks = [values[name][k] for name, k in at_k]
        rows.append([row.method, row.bits, row.bytes, *of_ks, *(values[name] for name in costs)])
    return "\n".join(
        [aligned_columns(names, rows), *_sentences(evaluation.left_out), *_notes(evaluation), f"Figure: {figure}"]
    )


def _notes(evaluation: "SearchEvaluation") -> list[str]:
    """Return sentences on how a search was measured."""
    batch = "one query" if evaluation.batch_size == 1 else f"{evaluation.batch_size:,} queries"
    notes = [
        f"{evaluation.n_queries:,} queries, {evaluation.n_database:,} samples in the database; relevant: "
        f"{evaluation.relevant}.",
        f"Search times are medians per query, for {batch} at a time, k = {evaluation.k[-1]} and "
        f"{evaluation.n_threads} {'thread' if evaluation.n_threads == 1 else 'threads'}.",
    ]
    for n_unlabelled, n_labelled, samples in (
        (evaluation.n_database_unlabelled, evaluation.n_database, "samples of the database"),
        (evaluation.n_queries_unlabelled, evaluation.n_queries, "queries"),
    ):
        if n_unlabelled:
            notes.append(_unlabelled(n_unlabelled, n_labelled + n_unlabelled, samples))
    if evaluation.is_nearest and not evaluation.learned.startswith("among"):
        notes.append(
            f"The model was fitted to another notion of near ({evaluation.learned}): --database-labels and "
            "--query-labels measure that of labels."
        )
    if evaluation.n_without_relevant:
        notes.append(
            f"{evaluation.n_without_relevant:,} queries have no relevant sample: they count as 0 in precision and are "
            "left out of recall and mAP."
        )
    if evaluation.n_self and evaluation.exclude_self:
        notes.append(f"{evaluation.n_self:,} queries are in the database and did not find themselves.")
    elif evaluation.n_self:
        notes.append(
            f"{evaluation.n_self:,} queries are in the database and find themselves: pass --exclude-self to leave "
            "these matches out."
        )
    if evaluation.peers_fitted_to == "database" and any(row.is_peer for row in evaluation.rows):
        notes.append("Peers were fitted to the database, which favours them: pass --train for the training samples.")
    return notes


def _unlabelled(n_unlabelled: int, n_all: int, samples: str) -> str:
    return f"{n_unlabelled:,} of {n_all:,} {samples} have no label and take no part."


def _left_out(reasons: Mapping[tuple[str, int], str]) -> dict[str, str]:
    return {f"{method} {bits}": reason for (method, bits), reason in reasons.items()}


def _sentences(reasons: Mapping[tuple[str, int], str]) -> list[str]:
    return [f"{method} {bits} bits left out: {reason}" for (method, bits), reason in reasons.items()]
