"""Markup that is safe by construction: `tag` escapes every text that is not markup already.

Labels, texts and names of files come from elsewhere and may hold anything. They reach a page only through `tag`.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

# Elements of HTML without content and without an end tag.
VOID = frozenset({"br", "img", "input", "meta"})
# Control characters other than tabs and ends of lines, and halves of surrogate pairs.
NOT_SHOWN = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\ud800-\\udfff]")
# Characters that a text shows at most.
LONGEST = 160


class Html(str):
    """Markup: a string that `tag` takes as it is."""

    __slots__ = ()


def text(value: Any) -> Html:
    """Return any value as escaped text, without control characters and halves of surrogate pairs.

    Examples
    --------
    >>> text("<script>")
    '&lt;script&gt;'
    """
    if isinstance(value, Html):
        return value
    return Html(escape(NOT_SHOWN.sub("\N{REPLACEMENT CHARACTER}", str(value)), quote=True))


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """Return an element. Children and attributes are escaped unless they are `Html`.

    An underscore in the name of an attribute stands for a hyphen, and at its end for nothing. True gives an attribute
    without a value; None and False give none.

    Examples
    --------
    >>> tag("p", "1 < 2 ", tag("b", "always"), class_="note", data_k=3, hidden=True)
    '<p class="note" data-k="3" hidden>1 &lt; 2 <b>always</b></p>'
    """
    given = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    if name in VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{joined(children)}</{name}>")


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{text(short(value) if isinstance(value, float) else value)}"'


def joined(children: Iterable[Any], separator: str = "") -> Html:
    """Return texts and markup as one piece of markup; None is left out."""
    return Html(separator.join(text(child) for child in children if child is not None))


def short(number: float) -> str:
    """Return a coordinate with at most two decimals.

    Examples
    --------
    >>> short(12.5), short(3.0), short(-0.001)
    ('12.5', '3', '0')
    """
    shown = f"{number:.2f}".rstrip("0").rstrip(".")
    return "0" if shown == "-0" else shown


def shortened(value: Any, longest: int = LONGEST) -> str:
    """Return a value as text on one line, of limited length.

    Examples
    --------
    >>> shortened("one two   three", longest=9)
    'one two …'
    """
    shown = " ".join(str(value).split())
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def table(headings: Sequence[Any], rows: Iterable[Sequence[Any]], caption: str, *, id_: str | None = None) -> Html:
    """Return a table with a caption for screen readers; columns of numbers are right-aligned.

    The first cell of a row is its heading. Numbers are shown as `number` shows them.
    """
    body = []
    for first, *others in rows:
        cells = [tag("td", number(cell), class_=None if isinstance(cell, str) else "number") for cell in others]
        body.append(tag("tr", tag("th", number(first), scope="row"), *cells))
    head = tag("tr", *(tag("th", heading, scope="col") for heading in headings))
    parts = tag("caption", caption), tag("thead", head), tag("tbody", *body)
    # A wide table scrolls on its own: the page does not.
    return tag("div", tag("table", *parts, id=id_), class_="scroll", tabindex="0", role="group", aria_label=caption)


def number(value: Any) -> Any:
    """Return a number as text: integers with separated thousands, others with three decimals, None as a dash.

    Examples
    --------
    >>> number(12345), number(0.98765), number(None), number("text"), number(0.00012)
    ('12,345', '0.988', '-', 'text', '0.00012')
    """
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:.3f}" if abs(value) >= 0.01 else f"{value:.2g}"


def facts(entries: Iterable[tuple[str, Any]]) -> Html:
    """Return names and values as a list of definitions."""
    pairs = (tag("div", tag("dt", name), tag("dd", number(value))) for name, value in entries)
    return tag("dl", *pairs, class_="facts")


def details(summary: str, *content: Any, is_open: bool = False) -> Html:
    """Return content that a reader opens."""
    return tag("details", tag("summary", summary), *content, open=is_open)
