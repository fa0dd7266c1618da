"""Charts as inline SVG: axes, lines, bars and points, drawn from numbers.

A `Frame` has two scales and turns values into coordinates. Functions such as `line` return marks in a frame, and
`chart` puts marks between axes. Colours are classes `s0`, `s1`, ... of the style sheet, so that they follow light and
dark.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from proxcode.report.markup import Html, joined, short, tag

WIDTH, HEIGHT = 560.0, 330.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 16.0, 34.0, 56.0
# Number of series with a colour and a marker of their own.
N_SERIES = 10
# Outlines of markers, around the origin: circle, square, triangle, diamond, triangle down, cross, plus, bar, upright
# bar, hexagon.
MARKERS = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "M-3.6,-3.6h7.2v7.2h-7.2z",
    "M0,-4.6l4.4,8h-8.8z",
    "M0,-4.8l4.8,4.8l-4.8,4.8l-4.8,-4.8z",
    "M0,4.6l4.4,-8h-8.8z",
    "M-4,-4l8,8M4,-4l-8,8",
    "M0,-5v10M-5,0h10",
    "M-5,-1.6h10v3.2h-10z",
    "M-1.6,-5h3.2v10h-3.2z",
    "M-4.6,0l2.3,-4h4.6l2.3,4l-2.3,4h-4.6z",
)


class Scale(NamedTuple):
    """Range of values along an axis, and the values that are marked, with their words."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    is_log: bool = False

    def share(self, value: float) -> float:
        """Return the place of a value between the ends, 0 to 1."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def linear(low: float, high: float, n_ticks: int = 5, unit: str = "", least_step: float = 0.0) -> Scale:
    """Return a scale with about `n_ticks` marks at round values, at least `least_step` apart: 1 for whole numbers.

    Examples
    --------
    >>> linear(0, 64).ticks
    [(0.0, '0'), (20.0, '20'), (40.0, '40'), (60.0, '60')]
    """
    high = high if high > low else low + 1.0
    raw = (high - low) / max(1, n_ticks)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * 0.999)
    step = max(step, least_step)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [round(k * step, 12) for k in range(first, last + 1)]
    return Scale(low, high, [(value, f"{value:,.10g}{unit}") for value in values])


def percent(high: float = 1.0, low: float = 0.0) -> Scale:
    """Return a scale of shares, marked in percent."""
    scale = linear(100 * low, 100 * high, unit="%")
    return Scale(low, high, [(value / 100, words) for value, words in scale.ticks])


def doubling(values: Iterable[float], at_most: int = 8) -> Scale:
    """Return a logarithmic scale around values, marked at powers of two."""
    known = list(values)
    low, high = math.floor(math.log2(min(known))), math.ceil(math.log2(max(known)))
    high = max(high, low + 1)
    step = -(-(high - low + 1) // at_most)
    ticks = [(2.0**k, _amount(2.0**k)) for k in range(low, high + 1, step)]
    return Scale(2.0**low / 1.25, 2.0**high * 1.25, ticks, is_log=True)


def _amount(value: float) -> str:
    return f"{value / 1024:g}k" if value >= 1024 else f"{value:g}"


@dataclass(frozen=True)
class Frame:
    """The area of a chart between its axes."""

    x: Scale
    y: Scale
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    bottom: float = BOTTOM

    def at_x(self, value: float) -> float:
        """Return the horizontal coordinate of a value."""
        return self.left + self.x.share(value) * (self.width - self.left - RIGHT)

    def at_y(self, value: float) -> float:
        """Return the vertical coordinate of a value."""
        return TOP + (1 - self.y.share(value)) * (self.height - TOP - self.bottom)

    @property
    def floor(self) -> float:
        """Vertical coordinate of the horizontal axis."""
        return self.height - self.bottom


def chart(frame: Frame, marks: Iterable[Html], x_label: str, y_label: str, alt: str) -> Html:
    """Return marks between axes. `alt` says in words, with numbers, what the picture shows."""
    grid = [tag("line", x1=frame.left, x2=frame.width - RIGHT, y1=y, y2=y) for y in map(frame.at_y, _values(frame.y))]
    x_words = [
        tag("text", words, x=frame.at_x(value), y=frame.floor, dy="1.35em", text_anchor="middle")
        for value, words in frame.x.ticks
    ]
    y_words = [
        tag("text", words, x=frame.left - 8, y=frame.at_y(value), dy="0.34em", text_anchor="end")
        for value, words in frame.y.ticks
    ]
    # The name of the vertical axis lies above it: sideways it is hard to read, and on a phone too long.
    names = [
        tag("text", x_label, x=(frame.left + frame.width - RIGHT) / 2, y=frame.height - 6, text_anchor="middle"),
        tag("text", y_label, x=2, y=15),
    ]
    axis = tag("line", x1=frame.left, x2=frame.width - RIGHT, y1=frame.floor, y2=frame.floor, class_="axis")
    return tag(
        "svg",
        tag("title", alt),
        tag("g", *grid, class_="grid"),
        *marks,
        axis,
        tag("g", *x_words, *y_words, class_="ticks"),
        tag("g", *names, class_="names"),
        viewBox=f"0 0 {short(frame.width)} {short(frame.height)}",
        class_="chart",
        role="img",
        aria_label=alt,
    )


def _values(scale: Scale) -> list[float]:
    return [value for value, _ in scale.ticks]


def bars(
    frame: Frame, tops: Sequence[float], series: str, tips: Sequence[str], *, first: float = 0.0, base: float = 0.0
) -> Html:
    """Return bars of width 1 at first, first + 1, ..., from `base` to their tops; those of no height are left out."""
    width = frame.at_x(first + 1) - frame.at_x(first)
    gap = 0.6 if width > 3 else 0.0
    marks = []
    for at, (top, tip) in enumerate(zip(tops, tips, strict=True)):
        if top == base:
            continue
        ends = sorted((frame.at_y(base), frame.at_y(top)))
        x = frame.at_x(first + at - 0.5)
        size = {"width": width - gap, "height": max(0.4, ends[1] - ends[0])}
        marks.append(tag("rect", x=x + gap / 2, y=ends[0], **size, data_tip=tip))
    return tag("g", *marks, class_=f"bars {series}")


def line(frame: Frame, xs: Sequence[float], ys: Sequence[float], series: int, tips: Sequence[str | None]) -> Html:
    """Return a line through points, with a marker at each point whose tip is not None."""
    places = [(frame.at_x(x), frame.at_y(y)) for x, y in zip(xs, ys, strict=True)]
    path = "M" + "L".join(f"{short(x)},{short(y)}" for x, y in places)
    marks = [tag("path", d=path, class_="line")] if len(places) > 1 else []
    marks += [_marker(x, y, series, tip) for (x, y), tip in zip(places, tips, strict=True) if tip is not None]
    return tag("g", *marks, class_=f"series s{series % N_SERIES}")


def _marker(x: float, y: float, series: int, tip: str) -> Html:
    shape = MARKERS[series % N_SERIES]
    return tag("path", d=shape, transform=f"translate({short(x)} {short(y)})", class_="marker", data_tip=tip)


def rule_x(frame: Frame, value: float, class_: str, words: str = "") -> Html:
    """Return a vertical line at a value, with words beside its top, on the side with more room."""
    x = frame.at_x(value)
    on_left = frame.x.share(value) > 0.6
    shown = tag("text", words, x=x + (-6 if on_left else 6), y=TOP + 10, text_anchor="end" if on_left else "start")
    return tag("g", tag("line", x1=x, x2=x, y1=TOP, y2=frame.floor), shown if words else None, class_=class_)


def rule_y(frame: Frame, value: float, class_: str) -> Html:
    """Return a horizontal line at a value."""
    y = frame.at_y(value)
    return tag("g", tag("line", x1=frame.left, x2=frame.width - RIGHT, y1=y, y2=y), class_=class_)


def legend(entries: Iterable[tuple[str, str]]) -> Html:
    """Return a legend: words with a key of a class, "s0" to "s9" for a series, or that of an area or a line."""
    return tag("ul", *(tag("li", _key(class_), words) for words, class_ in entries), class_="legend")


def _key(class_: str) -> Html:
    if class_[:1] == "s" and class_[1:].isdigit():
        shape = tag("path", d=MARKERS[int(class_[1:]) % N_SERIES], transform="translate(11 7)", class_="marker")
        mark = tag("g", tag("path", d="M1,7H21", class_="line"), shape, class_=f"series {class_}")
    else:
        mark = tag("rect", x=2, y=2, width=18, height=10, class_=class_)
    return tag("svg", mark, viewBox="0 0 22 14", class_="key", aria_hidden="true")


def side_by_side(*plots: Html) -> Html:
    """Return charts beside each other where there is room."""
    return tag("div", joined(plots), class_="plots")
