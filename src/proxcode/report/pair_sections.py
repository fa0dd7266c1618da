"""Sections on near and far pairs: their distances with a slider, and precision-recall curves."""

from collections.abc import Sequence

import numpy as np

from proxcode.evaluation import MODEL, Evaluation
from proxcode.metrics import Counts, PrecisionRecall, area_under_curve, precision_recall
from proxcode.report.charts import N_SERIES, Frame, bars, chart, legend, line, linear, percent, rule_x, side_by_side
from proxcode.report.markup import Html, joined, number, short, table, tag
from proxcode.report.measured import EQUAL
from proxcode.report.page import Section, picture

PAIRS = ("pairs", "Near and far pairs")
CURVES = ("curves", "Precision and recall")
# Recalls next to which the curves have markers.
MARKED = (0.05, 0.25, 0.5, 0.75, 0.95)
HEADINGS = (
    "distance up to",
    "precision",
    "recall",
    "near pairs found",
    "far pairs found",
    "near pairs at it",
    "far pairs at it",
)


def pairs_section(evaluation: Evaluation, radius: int, note: str) -> Section:
    """Return the histograms of near and far pairs with a slider that reads precision and recall from their table."""
    near, far = evaluation.histograms[MODEL, evaluation.longest]
    n_bits = len(near) - 1
    rows = threshold_rows(near, far)
    shares = near / near.sum(), far / far.sum()
    # Distances without any pair at the end would leave the right of the chart empty.
    last = min(n_bits, int(np.flatnonzero(near + far)[-1]) + 1)
    top = 1.12 * max(float(share.max()) for share in shares)
    frame = Frame(linear(-0.5, last + 0.5, 6, least_step=1), percent(top))
    marks = [
        bars(
            frame,
            share[: last + 1].tolist(),
            kind,
            [f"distance {h}: {value:.2%} of {kind} pairs" for h, value in enumerate(share[: last + 1])],
        )
        for share, kind in zip(shares, ("near", "far"), strict=True)
    ]
    step = frame.at_x(1) - frame.at_x(0)
    shown = min(radius, last)
    at = frame.at_x(0.5)
    line_ = tag("line", x1=at, x2=at, y1=frame.at_y(top), y2=frame.floor)
    cursor = tag(
        "g",
        line_,
        class_="cursor",
        id="pairs-cursor",
        data_step=short(step),
        transform=f"translate({short(shown * step)} 0)",
    )
    marks += [rule_x(frame, shown + 0.5, "radius", f"learned radius {radius}"), cursor]
    at_radius = rows[radius]
    alt = (
        f"Histograms of the Hamming distances of {int(near.sum()):,} near and {int(far.sum()):,} far pairs. Near pairs "
        f"have a mean distance of {_mean(near):.1f}, far pairs of {_mean(far):.1f}. Up to the learned radius {radius}, "
        f"precision is {number(at_radius[1])} and recall {number(at_radius[2])}."
    )
    drawn = chart(frame, marks, "Hamming distance", "share of near, of far pairs", alt)
    keys = legend([("near pairs", "near"), ("far pairs", "far")])
    numbers = table(HEADINGS, rows, "Near and far pairs by Hamming distance", id_="pairs-table")
    plot = tag("div", drawn, keys, _reader(rows, radius), class_="plot")
    seen = (
        f"{note} Near pairs differ in {_mean(near):.1f} of {n_bits} bits on average, far pairs in {_mean(far):.1f}. "
        f"Pairs up to the learned radius {radius} are called near: {_percent(at_radius[1])} of these are near "
        f"(precision), and they are {_percent(at_radius[2])} of all near pairs (recall)."
    )
    return Section(*PAIRS, picture(plot, seen, _radius_advice(near, far, radius), more=numbers))


def threshold_rows(near: Counts, far: Counts) -> list[tuple[object, ...]]:
    """Return the row of each distance t: t, precision, recall, pairs found up to it and pairs at it, near and far.

    Precision is None where no pair is found.

    Examples
    --------
    >>> threshold_rows(np.array([0, 3, 1]), np.array([0, 1, 3]))[1:]
    [(1, 0.75, 0.75, 3, 1, 3, 1), (2, 0.5, 1.0, 4, 4, 1, 3)]
    """
    curve = precision_recall(near, far)
    found = dict(zip(np.asarray(curve.threshold).tolist(), curve.precision.tolist(), strict=True))
    recall = dict(zip(np.asarray(curve.threshold).tolist(), curve.recall.tolist(), strict=True))
    counts = np.cumsum(near), np.cumsum(far), near, far
    return [(t, found.get(t), recall.get(t, 0.0), *(int(count[t]) for count in counts)) for t in range(len(near))]


def _reader(rows: Sequence[tuple[object, ...]], radius: int) -> Html:
    """Return the slider and what it reads; without a script it shows the learned radius."""
    names = ("precision", "recall", "near pairs found", "far pairs found")
    values = [
        tag("span", name, tag("b", number(rows[radius][at]), data_cell=at)) for at, name in enumerate(names, start=1)
    ]
    words = ("Hamming distance up to which a pair counts as near: ", tag("b", radius, data_cell=0))
    slider = tag("input", type="range", id="pairs-slider", min=0, max=len(rows) - 1, step=1, value=radius)
    label = tag("label", *words, for_="pairs-slider")
    output = tag("output", *values, for_="pairs-slider")
    return tag("div", label, slider, output, class_="reader", data_reads="pairs-table", data_cursor="pairs-cursor")


def _radius_advice(near: Counts, far: Counts, radius: int) -> str:
    curve = precision_recall(near, far)
    thresholds = np.asarray(curve.threshold)
    best = int(np.argmax(curve.f1))
    own = np.flatnonzero(thresholds == radius)
    own_f1 = float(curve.f1[own[0]]) if len(own) else 0.0
    if curve.f1[best] - own_f1 <= EQUAL:
        return (
            f"The learned radius balances precision and recall about as well as any distance does: search with "
            f"index.within(codes, {radius}). Move the slider to the left for fewer wrong matches, to the right for "
            "fewer missed ones."
        )
    return (
        f"On these samples the distance {thresholds[best]} balances both better: precision "
        f"{curve.precision[best]:.3f} and recall {curve.recall[best]:.3f}. Search with index.within(codes, "
        f"{thresholds[best]}), or fit with samples more like these."
    )


def curves_section(evaluation: Evaluation, note: str) -> Section:
    """Return the precision-recall curves of the model by code length, and beside those of peers."""
    own = {f"{bits} bits": counts for (method, bits), counts in evaluation.histograms.items() if method == MODEL}
    common = evaluation.common_bits
    plots = [_curves("By code length", {name: precision_recall(*counts) for name, counts in own.items()})]
    if len(evaluation.counts) > 1:
        others = {name: precision_recall(*counts) for name, counts in evaluation.counts.items()}
        plots.append(_curves(f"Beside other methods, {common} bits", others))
    rows = [
        (row.method, row.bits, row.pr_area, row.map, row.misplaced_share, row.precision, row.recall)
        for row in evaluation.rows
    ]
    headings = (
        "method",
        "bits",
        "PR area",
        "mAP",
        "share of misplaced pairs",
        "precision at radius",
        "recall at radius",
    )
    numbers = table(headings, rows, "Measures of all pairs, by method and code length")
    left = [f"{method} has no code of {bits} bits: {reason}" for (method, bits), reason in evaluation.left_out.items()]
    drawn = joined([side_by_side(*plots), *(tag("p", sentence) for sentence in left)])
    seen = (
        "Each curve goes through all distances, from few pairs of high precision on the left to all near pairs on the "
        f"right; the higher, the better. The area under it is the PR area, 1 at best. {_lengths(evaluation)} {note}"
    )
    return Section(*CURVES, picture(drawn, seen, _curve_advice(evaluation), more=numbers, beside=False))


def _curves(title: str, curves: dict[str, PrecisionRecall]) -> Html:
    frame = Frame(percent(), percent())
    marks, keys = [], []
    for series, (name, curve) in enumerate(curves.items()):
        # The area begins at recall 0 with the first precision; so does the line.
        recall, precision = [0.0, *curve.recall.tolist()], [float(curve.precision[0]), *curve.precision.tolist()]
        marked = {int(np.argmin(np.abs(curve.recall - share))) for share in MARKED}
        tips = [None] + [
            f"{name}, distance up to {t}: precision {curve.precision[at]:.3f}, recall {curve.recall[at]:.3f}"
            if at in marked
            else None
            for at, t in enumerate(np.asarray(curve.threshold).tolist())
        ]
        marks.append(line(frame, recall, precision, series, tips))
        keys.append((f"{name}: {area_under_curve(curve):.3f}", f"s{series % N_SERIES}"))
    alt = f"Precision-recall curves, PR areas: {', '.join(words for words, _ in keys)}."
    drawn = chart(frame, marks, "recall", "precision", alt)
    return tag("div", tag("h3", title), drawn, legend(keys), class_="plot")


def _lengths(evaluation: Evaluation) -> str:
    own = [row for row in evaluation.rows if row.method == MODEL]
    if len(own) == 1:
        return f"At {own[0].bits} bits it is {own[0].pr_area:.3f}."
    return f"It is {own[0].pr_area:.3f} at {own[0].bits} bits and {own[-1].pr_area:.3f} at {own[-1].bits}."


def _curve_advice(evaluation: Evaluation) -> str:
    own = {row.bits: row.pr_area for row in evaluation.rows if row.method == MODEL}
    longest, common = max(own), evaluation.common_bits
    enough = min(bits for bits, area in own.items() if area >= own[longest] - EQUAL)
    words = f"More bits still help: {longest} bits are the best of these lengths, and more may be better yet."
    if len(own) == 1:
        words = "No shorter codes were measured to compare with."
    elif enough < longest:
        words = (
            f"{enough} bits do as well as {longest}, within {EQUAL}: encode(X, n_bits={enough}) gives smaller codes."
        )
    peers = {row.method: row.pr_area for row in evaluation.rows if row.method != MODEL and row.bits == common}
    if not peers or common not in own:
        return words
    best = max(peers, key=lambda name: peers[name])
    both = f"{peers[best]:.3f} at {common} bits, this model {own[common]:.3f}"
    if peers[best] > own[common] + EQUAL:
        return f"{words} {best} has a larger area, {both}: consider it, or fit with other parameters."
    return f"{words} The best of the other methods, {best}, reaches {both}."


def _mean(counts: Counts) -> float:
    return float(counts @ np.arange(len(counts)) / counts.sum())


def _percent(share: object) -> str:
    return "none" if share is None else f"{share:.1%}"
