"""Section with sample queries and their neighbours: labels, distances, texts and thumbnails."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxcode.report.images import Shape, pixel_range, thumbnails
from proxcode.report.labels import Labels
from proxcode.report.markup import Html, joined, shortened, tag
from proxcode.report.neighbors import Neighborhood, Neighborhoods
from proxcode.report.page import Section, paragraphs, see_and_do

QUERIES = ("queries", "Sample queries")


@dataclass(frozen=True)
class Shown:
    """What is shown of a sample.

    Attributes
    ----------
    labels : Labels or None
    texts : sequence of one text per sample, or None
    image : callable or None
        Takes the number of a sample, returns its image as data.
    """

    labels: Labels | None
    texts: Sequence[Any] | None
    image: Callable[[int], str] | None

    def label(self, row: int) -> str | None:
        """Return the label of a sample, or several, as text; None without labels."""
        if self.labels is None:
            return None
        own = self.labels.sets(np.array([row]))[0]
        return ", ".join(shortened(label, 60) for label in own) or "no label"

    def tip(self, row: int) -> str:
        """Return what a reader sees of a sample below the pointer."""
        label = self.label(row)
        parts = [f"sample {row}", None if label is None else f"label {label}"]
        parts.append(None if self.texts is None else shortened(self.texts[row], 90))
        return "\n".join(part for part in parts if part)


def image_of(samples: NDArray[Any], shape: Shape) -> Callable[[int], str]:
    """Return a function that turns the number of a sample into its image.

    Bytes are shown as they are; other values from the smallest to the largest of 1,000 samples.
    """
    low, high = pixel_range(samples)
    return lambda row: thumbnails(samples[row : row + 1], shape, low, high)[0]


def query_section(neighborhoods: Neighborhoods, shown: Shown, radius: int, n_samples: int) -> Section:
    """Return queries with their neighbours: drawn at random, and those with the fewest neighbours of their label."""
    of_all = f"Each query is a sample, searched among the codes of all other {n_samples - 1:,} samples."
    parts = [paragraphs(f"{of_all} Distances are numbers of different bits; the learned radius is {radius}.")]
    if neighborhoods.random:
        parts += [tag("h3", "Drawn at random"), _group(neighborhoods.random, shown, radius)]
        parts.append(_words(neighborhoods.random))
    if neighborhoods.worst:
        parts += [tag("h3", "With the fewest neighbours of the same label"), _group(neighborhoods.worst, shown, radius)]
        parts.append(_advice())
    return Section(*QUERIES, joined(parts))


def _group(queries: Sequence[Neighborhood], shown: Shown, radius: int) -> Html:
    return tag("div", *(_query(query, shown, radius) for query in queries), class_="queries")


def _query(query: Neighborhood, shown: Shown, radius: int) -> Html:
    label = shown.label(query.row)
    counted = _counted_neighbors(query.known, len(query.neighbors))
    agree = f" {sum(query.known)} of {counted} have its label." if query.known else ""
    heading = tag(
        "h4", f"Sample {query.row:,}{'' if label is None else f', label {label}'}.", tag("span", agree, class_="agree")
    )
    text = None if shown.texts is None else tag("p", shortened(shown.texts[query.row]))
    image = None if shown.image is None else _thumbnail(shown.image(query.row), query.row, label)
    neighbors = zip(query.neighbors, query.distances, query.agree, strict=True)
    cards = [_card(*neighbor, shown, radius) for neighbor in neighbors]
    cards_of = tag("ol", *cards, class_="cards" if shown.texts is None else "cards texts")
    return tag("article", heading, text, _row(image, cards_of), class_="query")


def _counted_neighbors(known: Sequence[bool], n_shown: int) -> str:
    return f"{len(known)} neighbours" if len(known) == n_shown else f"{len(known)} labelled neighbours"


def _row(image: Html | None, cards: Html) -> Html:
    return cards if image is None else tag("div", image, cards, class_="with-image")


def _card(row: int, distance: int, agrees: bool | None, shown: Shown, radius: int) -> Html:
    label = shown.label(row)
    image = None if shown.image is None else _thumbnail(shown.image(row), row, label)
    mark = (
        ""
        if agrees is None
        else ("\N{CHECK MARK}\N{NO-BREAK SPACE}" if agrees else "\N{MULTIPLICATION X}\N{NO-BREAK SPACE}")
    )
    name = tag("b", f"{mark}{f'sample {row:,}' if label is None else label}")
    place = tag("span", f"distance {distance}{'' if distance <= radius else f', beyond {radius}'}", class_="place")
    text = None if shown.texts is None else tag("span", shortened(shown.texts[row]))
    kind = None if agrees is None else "same" if agrees else "other"
    if text is None:
        return tag("li", image, name, place, class_=kind)
    return tag("li", place, tag("span", image, text, " ", name), class_=kind)


def _thumbnail(address: str, row: int, label: str | None) -> Html:
    alt = f"sample {row}" if label is None else f"sample {row}, label {label}"
    return tag("img", src=address, alt=alt, class_="thumb", width=64)


def _words(queries: Sequence[Neighborhood]) -> Html:
    known = [agrees for query in queries for agrees in query.known]
    if not known:
        seen = "Without labels only you can tell whether these neighbours are near."
        return _see_and_do(seen, "Look at a few: where neighbours are wrong, fit with labels or pairs that say so.")
    counted = _counted_neighbors(known, sum(len(query.neighbors) for query in queries))
    seen = f"{sum(known)} of these {counted} have the label of their query (\N{CHECK MARK})."
    if all(known):
        return _see_and_do(seen, "Nothing: the neighbours that have labels are right.")
    advice = (
        "Look at the others (\N{MULTIPLICATION X}): at a large distance they are no surprise, at a small one they are "
        "worth a look."
    )
    return _see_and_do(seen, advice)


def _advice() -> Html:
    seen = "These queries have the fewest neighbours of their own label among some hundred that were tried."
    advice = (
        "Check the labels of these samples first. If they are right, the samples lie between classes: more training "
        "samples like them help most."
    )
    return _see_and_do(seen, advice)


def _see_and_do(seen: str, advice: str) -> Html:
    return tag("div", see_and_do(seen, advice), class_="words")
