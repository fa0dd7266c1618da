"""The page of `proxcode explore`: the form and the answers of a search, and below it an overview of all codes.

The look, the charts and the sections on codes are those of a report (`proxcode.report`).
"""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from proxcode.hamming import unpack
from proxcode.report.code_sections import bits_section, distance_section
from proxcode.report.map_section import MAX_SAMPLES, MapLabels, map_section, plane
from proxcode.report.markup import Html, joined, tag
from proxcode.report.page import Section, Tile, data, page
from proxcode.report.subsets import subset

if TYPE_CHECKING:
    from proxcode.explore.explorer import CodeExplorer

HTML = "text/html; charset=utf-8"
FOOTER = "Served by proxcode explore on this machine, to whoever has the address. Ctrl-C in its terminal stops it."
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


class Page(NamedTuple):
    """What a server sends: a text, its type, and its Content-Security-Policy."""

    text: str
    kind: str
    policy: str


def render_page(explorer: CodeExplorer) -> Page:
    """Return the page of an explorer, with a link to the report where there are vectors to measure."""
    about = explorer.about()
    report = tag("p", tag("a", "Open the report", href="report"), ": how well near and far samples are told apart.")
    tiles = [
        Tile("codes", about["codes"], "to search among"),
        Tile("bits", about["bits"], f"{-(-about['bits'] // 8)} bytes for each code"),
        Tile("near up to", about["radius"], "Hamming distance, as learned"),
    ]
    sections = [Section("search", "Search", _search_form(about)), *overview(explorer)]
    or_vector = "" if about["features"] is None else " or paste a vector"
    document = page(
        "Explore codes",
        sections,
        lead=joined(
            [
                tag("p", f"Choose an item{or_vector}: its nearest codes appear below."),
                report if explorer.vectors is not None else None,
            ]
        ),
        tiles=tiles,
        style=asset("page.css"),
        script=asset("page.js"),
        footer=FOOTER,
        connects=True,
    )
    return served(document)


def served(document: str) -> Page:
    """Return a document with its own policy, which no other site may frame."""
    policy = POLICY.search(document)
    if policy is None:
        raise ValueError("the document has no Content-Security-Policy: make it with proxcode.report.page.")
    return Page(document, HTML, f"{unescape(policy[1])}; frame-ancestors 'none'")


def overview(explorer: CodeExplorer) -> list[Section]:
    """Return the sections on all codes: a map, the distances of random pairs, and the bits."""
    codes, n_bits = explorer.codes, explorer.n_bits
    rows = subset(np.arange(len(codes)), MAX_SAMPLES)
    bits, names = unpack(codes[rows], n_bits), explorer.names(rows)
    labels = None if explorer.labels is None else MapLabels.of_sets(explorer.label_sets(rows))
    places, drawn_by = plane(bits)
    return [
        map_section(places, bits, names, labels, f"{drawn_by} of their bits", len(codes)),
        distance_section(codes, n_bits, explorer.radius),
        bits_section(codes, n_bits),
    ]


@cache
def asset(name: str) -> Html:
    """Return the style or the script of the page."""
    return Html(files(__package__).joinpath(name).read_text(encoding="utf-8"))


def _vector_form(n_features: int) -> Html:
    hint = f"{n_features:,} numbers separated by commas or spaces; brackets do no harm."
    return tag(
        "details",
        tag("summary", "Search by a vector"),
        tag("label", "Vector", for_="vector"),
        tag("textarea", id="vector", rows="3", spellcheck="false", aria_describedby="vector-hint"),
        tag("p", hint, id="vector-hint", class_="hint"),
        tag("button", "Search by this vector", id="by-vector", type="button"),
        id="vector-box",
    )


def _search_form(about: dict[str, object]) -> Html:
    columns = about["columns"]
    by = f"{columns[0]}, or row number" if isinstance(columns, list) and columns else "Row number"
    item = tag(
        "div",
        tag("label", f"Item by {by}{' or id' if about['ids'] else ''}", for_="item"),
        tag(
            "input",
            id="item",
            type="search",
            role="combobox",
            autocomplete="off",
            spellcheck="false",
            aria_expanded="false",
            aria_autocomplete="list",
            aria_controls="suggestions",
        ),
        tag("ul", id="suggestions", role="listbox", aria_label="Items", hidden=True),
        class_="item-box",
    )
    k = tag(
        "div",
        tag("label", "Neighbours", for_="k"),
        tag("input", id="k", type="number", min="1", max=str(about["largest k"]), value="10", inputmode="numeric"),
        class_="k-box",
    )
    slider = tag(
        "div",
        tag("label", "Near up to distance ", tag("output", str(about["radius"]), id="radius-value"), for_="radius"),
        tag("input", id="radius", type="range", min="0", max=str(about["bits"]), value=str(about["radius"])),
        tag("p", f"The model learned {about['radius']}.", class_="hint"),
        class_="radius-box",
    )
    n_features = about["features"]
    vector = _vector_form(n_features) if isinstance(n_features, int) else None
    form = tag("form", item, k, slider, vector, id="search-form", autocomplete="off")
    # It takes the focus when a neighbour becomes the query.
    query = tag("div", id="query", tabindex="-1", role="group", aria_label="Query")
    answers = tag(
        "div",
        tag("p", id="status", role="status", aria_live="polite"),
        tag("div", query, tag("div", id="histogram"), class_="overview"),
        tag("ol", id="neighbors", aria_label="Nearest codes"),
        id="answers",
    )
    return tag("div", form, answers, data("about", about))
