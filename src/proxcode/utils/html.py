"""HTML display of a fitted model in notebooks: a summary card above scikit-learn's diagram of the parameters."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

# Size of the loss curve and its margin, in pixels.
WIDTH, HEIGHT, MARGIN = 220, 56, 4
# Styles use the colour and font of the page, for light and dark themes.
CARD = (
    "font-size:0.9em;line-height:1.5;border:1px solid currentColor;border-radius:6px;padding:0.6em 0.9em;"
    "margin-bottom:0.5em;display:inline-block;max-width:44em;color:inherit"
)
TERM = "text-align:left;font-weight:normal;opacity:0.7;padding:0 1em 0 0;vertical-align:top;white-space:nowrap"
TABLE = "border-collapse:collapse;border:none;margin:0.3em 0;color:inherit"
VALUE = "text-align:left;padding:0;overflow-wrap:anywhere"


class HTMLSummaryMixin:
    """Mixin that displays a fitted estimator by `summary_html` and an unfitted one by scikit-learn's diagram.

    It must precede `BaseEstimator` among the base classes, because it wraps two of its methods. Scikit-learn's option
    `display` still decides whether HTML is displayed at all.
    """

    def _repr_html_inner(self) -> str:
        return summary_html(self) if hasattr(self, "n_bits_") else _diagram(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle


def summary_html(model: Any) -> str:
    """Return an HTML summary of a fitted model: learned quantities, loss per bit and the diagram of its parameters."""
    losses = [record.loss for record in model.history_]
    terms = {
        "code": f"{model.n_bits_:,} bits, near up to distance {model.radius_:,}",
        "learned from": f"{len(model.codes_):,} samples x {model.n_features_in_:,} features",
        "near means": model.proximity_.describe(),
        "hash function": repr(model.hash_function_),
        "share of misplaced pairs in learning": f"{losses[-1]:.2%}",
    }
    if not math.isnan(model.training_loss_):
        terms["share of misplaced training pairs"] = f"{model.training_loss_:.2%}"
    seconds = sum(record.seconds for record in model.history_)
    # Model files do not store the times.
    if not math.isnan(seconds):
        terms["seconds"] = f"{seconds:.2f} for all bits"
    lines = "".join(
        f'<tr style="background:none"><th scope="row" style="{TERM}">{escape(term)}</th>'
        f'<td style="{VALUE}">{escape(value)}</td></tr>'
        for term, value in terms.items()
    )
    return (
        f'<div style="{CARD}"><strong>{escape(type(model).__name__)}</strong>'
        f'<table style="{TABLE}"><tbody>{lines}</tbody></table>'
        f"{loss_svg(losses)}</div>{_diagram(model)}"
    )


def loss_svg(losses: Sequence[float]) -> str:
    """Return an SVG line plot of the loss per bit; the vertical axis ranges from 0 to the largest loss."""
    top = max(losses) or 1.0
    step = (WIDTH - 2 * MARGIN) / max(1, len(losses) - 1)
    floor = HEIGHT - MARGIN
    points = [(MARGIN + k * step, floor - loss / top * (HEIGHT - 2 * MARGIN)) for k, loss in enumerate(losses)]
    # A line needs two points.
    if len(points) == 1:
        points.append((WIDTH - MARGIN, points[0][1]))
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    label = (
        f"share of misplaced pairs in learning from {losses[0]:.2%} at bit 1 to {losses[-1]:.2%} at bit {len(losses)}"
    )
    return (
        f'<figure style="margin:0"><svg role="img" aria-label="{label}" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" fill="none" stroke="currentColor"><title>{label}</title>'
        f'<line x1="{MARGIN}" y1="{floor}" x2="{WIDTH - MARGIN}" y2="{floor}" stroke-opacity="0.4"/>'
        f'<polyline points="{path}" stroke-width="1.5" stroke-linejoin="round"/></svg>'
        f'<figcaption style="opacity:0.7;font-size:0.9em">{label}</figcaption></figure>'
    )


def _diagram(model: Any) -> str:
    from sklearn.utils import estimator_html_repr

    return str(estimator_html_repr(model))
