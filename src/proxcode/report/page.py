"""The page that a report is, and that `proxcode explore` serves: one document with its style and its script.

A page asks for nothing from anywhere: its policy (Content-Security-Policy) allows the style and the scripts that are
part of it, by their digests, and images that are data. A script in a label would not run even if it were not escaped.

`page` takes `Section`s, whose body is markup made by `markup.tag`. `picture` puts words to a chart: what is seen, and
what to do about it.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from proxcode.report.markup import Html, details, joined, number, tag


class Section(NamedTuple):
    """A section of a page.

    Attributes
    ----------
    id : str
        Anchor of the section.
    title : str
    body : Html
    """

    id: str
    title: str
    body: Html


class Tile(NamedTuple):
    """A figure at the top of a page: its name, its value, and what it means in a few words."""

    name: str
    value: Any
    meaning: str


def page(
    title: str,
    sections: Sequence[Section],
    *,
    lead: Any = "",
    tiles: Sequence[Tile] = (),
    style: str = "",
    script: str = "",
    footer: str = "Written by proxcode. This page holds all that it shows and asks for nothing else.",
    connects: bool = False,
) -> str:
    """Return a complete HTML document.

    Parameters
    ----------
    title : str
    sections : sequence of Section
        Each gets a heading of the second level and an entry in the list of contents.
    lead : text or Html
        What stands below the title.
    tiles : sequence of Tile
        Figures at the top of the page.
    style : str
        Rules that follow the style sheet of all pages.
    script : str
        Script that runs after that of all pages.
    footer : str
        What stands below all sections.
    connects : bool, default=False
        Whether the script may send requests to the server of the page; a report may not.
    """
    own_style, own_script = Html(f"{style_sheet()}\n{style}"), Html(f"{page_script()}\n{script}")
    reachable = "'self'" if connects else "'none'"
    policy = (
        f"default-src 'none'; style-src '{_digest(own_style)}'; script-src '{_digest(own_script)}'; img-src data:; "
        f"connect-src {reachable}; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", own_style),
    )
    body = tag(
        "body",
        tag("a", "Skip to the first section", href=f"#{sections[0].id}", class_="skip") if sections else None,
        tag("header", tag("h1", title), tag("div", lead, class_="lead"), _tiles(tiles), _contents(sections)),
        tag("main", *map(_section, sections)),
        tag("footer", tag("p", footer)),
        tag("div", id="tip", role="presentation", hidden=True),
        tag("script", own_script),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def picture(chart: Html, seen: Any, advice: Any, *, more: Html | None = None, beside: bool = True) -> Html:
    """Return a chart with words on what is seen, and what to do about it.

    Parameters
    ----------
    chart : Html
    seen, advice : text or Html
    more : Html, default=None
        The numbers of the chart, for the reader to open.
    beside : bool, default=True
        Whether the words stand beside the chart where there is room, instead of below it.
    """
    words = tag("figcaption", see_and_do(seen, advice))
    numbers = None if more is None else details("The same in numbers", more)
    return tag("figure", chart, words, numbers, class_="beside" if beside else None)


def see_and_do(seen: Any, advice: Any) -> Html:
    """Return what is seen, and what to do about it, as two paragraphs; `seen` may be None."""
    first = None if seen is None else tag("p", tag("strong", "What you see. "), seen)
    return joined([first, tag("p", tag("strong", "What to do. "), advice, class_="advice")])


def left_out(reason: str) -> Html:
    """Return the words of a section that cannot be shown."""
    return tag("p", tag("strong", "Left out. "), reason, class_="left-out")


def data(id_: str, value: Any) -> Html:
    """Return data for the script of a page, as JSON in which no markup can begin."""
    content = json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    return tag("script", Html(content), type="application/json", id=id_)


@cache
def style_sheet() -> Html:
    """Return the style sheet of all pages."""
    return Html(files(__package__).joinpath("page.css").read_text(encoding="utf-8"))


@cache
def page_script() -> Html:
    """Return the script of all pages: tooltips, sliders that read a table, and the colours of a map."""
    return Html(files(__package__).joinpath("page.js").read_text(encoding="utf-8"))


def _digest(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _tiles(tiles: Sequence[Tile]) -> Html | None:
    if not tiles:
        return None
    entries = (
        tag(
            "div",
            tag("dt", tile.name),
            tag("dd", tag("span", number(tile.value), class_="value"), tag("small", tile.meaning)),
        )
        for tile in tiles
    )
    return tag("dl", *entries, class_="tiles")


def _contents(sections: Sequence[Section]) -> Html:
    links = (tag("li", tag("a", section.title, href=f"#{section.id}")) for section in sections)
    return tag("nav", tag("ul", *links), aria_label="Sections")


def _section(section: Section) -> Html:
    heading = tag("h2", section.title, id=f"{section.id}-title")
    return tag("section", heading, section.body, id=section.id, aria_labelledby=f"{section.id}-title")


def paragraphs(*sentences: str) -> Html:
    """Return one paragraph per text that is not empty."""
    return joined(tag("p", sentence) for sentence in sentences if sentence)
