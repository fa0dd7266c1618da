"""Sections on times, on the model, and on how to make the report again."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from proxcode.evaluation import Evaluation, SearchEvaluation
from proxcode.pipeline import CodePipeline, Model, code_of
from proxcode.report.markup import details, facts, joined, shortened, table, tag
from proxcode.report.measured import Measured
from proxcode.report.page import Section, paragraphs, see_and_do

TIMES = ("timings", "Times")
MODEL_SECTION = ("model", "Model and reproduction")
LIBRARIES = ("proxcode", "numpy", "scipy", "scikit-learn", "numba")


def times_section(measured: Measured) -> Section:
    """Return how long encoding and searching takes; this section alone differs between two reports of the same."""
    times, n_samples = measured.times, measured.n_samples
    each = 1e6 * times.encode_seconds / n_samples
    entries = [
        (f"encoding {n_samples:,} samples", f"{times.encode_seconds:.2f} s"),
        ("encoding a sample", f"{each:.0f} µs"),
        (f"a search among {n_samples:,} codes", f"{times.search_ms:.3f} ms"),
        ("measuring for this report", f"{times.total_seconds:.1f} s"),
        ("written", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ("machine", f"{platform.machine()}, {os.cpu_count()} processors"),
    ]
    if times.preprocess_seconds is not None:
        entries.insert(0, (f"transforming {n_samples:,} samples", f"{times.preprocess_seconds:.2f} s"))
    words = paragraphs(
        f"A search is one for a single query, k = 10, by one call of HammingIndex.search: the median. At {n_samples:,} "
        f"codes a search for one query takes {_ratio(times.search_ms, each / 1000)} encoding it. Times are those of "
        "this machine and of the other work on it."
    )
    advice = see_and_do(None, _advice(times.search_ms, each / 1000))
    return Section(*TIMES, joined([facts(entries), words, advice, _compared(measured.pairs, measured.search)]))


def _ratio(search_ms: float, encode_ms: float) -> str:
    ratio = search_ms / encode_ms if encode_ms else 1.0
    return "about as long as" if 0.5 <= ratio <= 2 else "less time than" if ratio < 0.5 else "more time than"


def _advice(search_ms: float, encode_ms: float) -> str:
    if search_ms > 5:
        return (
            "Search for several queries in one call, and let queries share threads; a shorter code is faster to scan."
        )
    if encode_ms > 2 * search_ms:
        return "Encoding takes most of the time: encode queries in batches, not one by one."
    return "Both are fast: nothing to do."


def _compared(pairs: Evaluation | None, search: SearchEvaluation | None) -> Any:
    """Return the times of all methods, as the evaluation measured them."""
    if search is not None:
        headings = ("method", "bits", "search ms", "encode ms", "fit s")
        rows = [(row.method, row.bits, row.search_ms, row.encode_ms, row.fit_seconds) for row in search.rows]
        caption = f"Times of a search among {search.n_database:,} samples, and of encoding a sample"
        return details("Times of all methods", table(headings, rows, caption))
    if pairs is not None:
        rows_of = [(row.method, row.bits, row.encode_ms, row.fit_seconds) for row in pairs.rows]
        names = ("method", "bits", "encode ms", "fit s")
        return details("Times of all methods", table(names, rows_of, "Times of encoding a sample"))
    return None


def model_section(model: Model, command: str) -> Section:
    """Return the parameters of the model, its fingerprint, versions of libraries and the command of the report."""
    code = code_of(model)
    steps = (
        [(f"step {name}", shortened(step)) for name, step in model.steps[:-1]]
        if isinstance(model, CodePipeline)
        else []
    )
    entries = [
        *steps,
        ("code length", f"{code.n_bits_} bits, {-(-code.n_bits_ // 8)} bytes"),
        ("near means", code.proximity_.describe()),
        ("learned radius", code.radius_),
        ("training samples", len(code.codes_)),
        ("features", code.n_features_in_),
        ("fitted proximity", shortened(code.proximity_)),
        ("fitted hash function", shortened(code.hash_function_)),
        ("share of misplaced training pairs", None if code.training_loss_ is None else float(code.training_loss_)),
        *((name, shortened(repr(value))) for name, value in code.get_params(deep=False).items()),
    ]
    digest = paragraphs("The fingerprint tells codes of this model from those of others; indexes and stores hold it.")
    versions = [(name, version(name)) for name in LIBRARIES]
    parts = [
        tag("h3", "Parameters"),
        facts(entries),
        tag("h3", "Fingerprint"),
        tag("pre", tag("code", model.fingerprint())),
        digest,
        tag("h3", "Versions"),
        facts([("Python", platform.python_version()), *versions]),
        tag("h3", "How to make this report again"),
        tag("pre", tag("code", command)),
        paragraphs("The same samples, model and versions give the same report, except for the times."),
    ]
    return Section(*MODEL_SECTION, joined(parts))
