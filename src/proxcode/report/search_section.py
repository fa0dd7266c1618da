"""Section on what a search finds against the bytes that a sample takes."""

from collections.abc import Callable

from proxcode.evaluation import MODEL, SearchEvaluation, SearchRow
from proxcode.evaluation.search_result import FLOAT_COSINE, FLOAT_QUERIES
from proxcode.report.charts import N_SERIES, Frame, chart, doubling, legend, line, percent, rule_y
from proxcode.report.markup import joined, table, tag
from proxcode.report.measured import EQUAL
from proxcode.report.page import Section, picture

SEARCH = ("search", "Quality against bytes")
# k of the measure that is drawn, if it was measured.
HEADLINE_K = 10


def headline(evaluation: SearchEvaluation) -> tuple[str, Callable[[SearchRow], float]]:
    """Return the name of the measure that is drawn, and a function that takes it of a row."""
    k = HEADLINE_K if HEADLINE_K in evaluation.k else evaluation.k[-1]
    if evaluation.is_nearest:
        return f"recall@{k}", lambda row: row.recall[k]
    return f"precision@{k}", lambda row: row.precision[k]


def search_section(evaluation: SearchEvaluation, note: str) -> Section:
    """Return the quality of a search by the bytes of a sample: of the model, of peers and of the samples themselves."""
    name, value = headline(evaluation)
    frame = Frame(doubling(row.bytes for row in evaluation.rows), percent())
    marks, keys = [], []
    for series, method in enumerate(dict.fromkeys(row.method for row in evaluation.rows)):
        own = sorted((row for row in evaluation.rows if row.method == method), key=lambda row: row.bytes)
        tips = [f"{method}, {_size(row)}: {name} {value(row):.3f}" for row in own]
        marks.append(line(frame, [row.bytes for row in own], [value(row) for row in own], series, tips))
        if method == FLOAT_COSINE:
            marks.append(rule_y(frame, value(own[0]), "reference"))
        keys.append((method, f"s{series % N_SERIES}"))
    best = {method: max(map(value, (r for r in evaluation.rows if r.method == method))) for method, _ in keys}
    alt = f"{name} against bytes per sample, at best: {', '.join(f'{m} {v:.3f}' for m, v in best.items())}."
    drawn = chart(frame, marks, "bytes per sample", name, alt)
    names = [f"{measure}@{k}" for measure in ("precision", "recall") for k in evaluation.k]
    rows = [
        (row.method, row.bits, row.bytes, *row.precision.values(), *row.recall.values(), row.map)
        for row in evaluation.rows
    ]
    numbers = table(("method", "bits", "bytes", *names, "mAP"), rows, "Measures of a search, by method and code length")
    left = [tag("p", f"{m} has no code of {bits} bits: {reason}") for (m, bits), reason in evaluation.left_out.items()]
    plot = tag("div", drawn, legend(keys), joined(left), class_="plot")
    return Section(*SEARCH, picture(plot, _seen(evaluation, note), _advice(evaluation), more=numbers))


def _seen(evaluation: SearchEvaluation, note: str) -> str:
    name, value = headline(evaluation)
    full = _full(evaluation)
    cosine = next(row for row in evaluation.rows if row.method == FLOAT_COSINE)
    k = name.partition("@")[2]
    meaning = f"{name.capitalize()} is the share of the first {k} found that are relevant ({evaluation.relevant})."
    if evaluation.is_nearest:
        meaning = f"{name.capitalize()} is the share of the true {k} nearest samples that are found."
    return (
        f"{note} {meaning} Codes of {_size(full)} reach {value(full):.3f}; the samples themselves, compared by cosine, "
        f"reach {value(cosine):.3f} with {cosine.bytes:,} bytes (the dashed line)."
    )


def _advice(evaluation: SearchEvaluation) -> str:
    _, value = headline(evaluation)
    own = [row for row in evaluation.rows if row.method == MODEL]
    full, cosine = _full(evaluation), next(row for row in evaluation.rows if row.method == FLOAT_COSINE)
    enough = min((row for row in own if value(row) >= value(full) - EQUAL), key=lambda row: row.bytes)
    words = []
    if enough.bits != full.bits:
        words.append(f"{_size(enough)} are enough: longer codes add less than {EQUAL}.")
    elif len(own) > 1:
        words.append(f"Keep all {full.bits} bits: shorter codes lose quality.")
    floats = next((row for row in evaluation.rows if row.method == FLOAT_QUERIES), None)
    if floats is not None and value(floats) > value(full) + EQUAL:
        words.append(f"Float queries (model.query) raise it to {value(floats):.3f} with the same stored codes.")
    if value(cosine) > value(full) + EQUAL:
        words.append(
            "The samples themselves are still better: use codes to find candidates and rescore these with the samples "
            "(ByDistance), or use more bits."
        )
    peers = [row for row in evaluation.rows if row.is_peer and row.bits == full.bits]
    if peers and value(ahead := max(peers, key=value)) > value(full) + EQUAL:
        words.append(f"{ahead.method} is ahead at {ahead.bits} bits ({value(ahead):.3f}): consider it.")
    if evaluation.is_nearest and not evaluation.learned.startswith("among"):
        words.append(
            f"The model was fitted to another notion of near ({evaluation.learned}): pass labels to measure that."
        )
    return " ".join(words) or "Nothing: the code does as well as the samples themselves."


def _full(evaluation: SearchEvaluation) -> SearchRow:
    return max((row for row in evaluation.rows if row.method == MODEL), key=lambda row: row.bits or 0)


def _size(row: SearchRow) -> str:
    size = f"{row.bytes:,} {'byte' if row.bytes == 1 else 'bytes'}"
    return size if row.bits is None else f"{row.bits} bits ({size})"
