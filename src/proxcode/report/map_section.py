"""The section with a map: samples in a plane, coloured by a label or by a bit.

1. `plane` places samples, or the bits of codes, in two dimensions: by two principal components, or by a transformer.
2. `MapLabels` numbers the labels by how many samples have them.
3. `map_section` draws the places. The script of the page colours them by what the reader selects.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxcode.report.charts import N_SERIES
from proxcode.report.markup import Html, shortened, tag
from proxcode.report.page import Section, data, picture

# Samples on a map, drawn at random.
MAX_SAMPLES = 2_000
# Labels that can be selected, those of most samples.
MAX_LABELS = 100
WIDTH, HEIGHT, MARGIN = 640.0, 420.0, 10.0


class MapLabels(NamedTuple):
    """Labels of samples on a map.

    Attributes
    ----------
    names : list of str
        The labels, those of most samples first.
    sets : list of lists of int
        For each sample the numbers of its labels among the names; empty without a label.
    """

    names: list[str]
    sets: list[list[int]]

    @classmethod
    def of_sets(cls, sets: Sequence[Sequence[Any]]) -> "MapLabels":
        """Return labels by number of samples, at most 100 of them; equal numbers keep the order of appearance."""
        counts: dict[Any, int] = {}
        for labels in sets:
            for label in labels:
                counts[label] = counts.get(label, 0) + 1
        ordered = sorted(counts, key=lambda label: -counts[label])[:MAX_LABELS]
        numbers = {label: at for at, label in enumerate(ordered)}
        known = [sorted(numbers[label] for label in labels if label in numbers) for labels in sets]
        return cls([shortened(label, 60) for label in ordered], known)


def plane(samples: NDArray[Any], projection: Any = None) -> tuple[NDArray[np.float64], str]:
    """Return places in a plane, shape (n_samples, 2), in any unit, and what they are in words.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, n_features)
    projection : object with `fit_transform`, default=None
        Places samples in a plane. None: the two principal components.
    """
    if projection is not None:
        return _projected(samples, projection), type(projection).__name__
    # In units of the largest number, whose square would not be finite beyond 1e154.
    scaled = np.asarray(samples, np.float64) / (float(np.abs(samples).max(initial=0)) or 1.0)
    centred = scaled - scaled.mean(axis=0)
    # Of the two matrices of products the smaller one: the singular values of all components are not needed.
    n_samples, n_features = centred.shape
    if n_features <= n_samples:
        variance, directions = np.linalg.eigh(centred.T @ centred)
        components = centred @ directions[:, :-3:-1]
    else:
        variance, directions = np.linalg.eigh(centred @ centred.T)
        components = directions[:, :-3:-1] * np.sqrt(np.maximum(variance[:-3:-1], 0))
    places = np.zeros((n_samples, 2))
    places[:, : components.shape[1]] = components
    # The sign of a component is arbitrary: the sample farthest from the mean lies on the positive side.
    farthest = places[np.abs(places).argmax(axis=0), [0, 1]]
    total = float(variance.sum())
    share = float(variance[-2:].sum()) / total if total > 0 else 0.0
    return places * np.where(farthest < 0, -1, 1), f"the two principal components, {share:.0%} of the variance"


def _projected(samples: NDArray[Any], projection: Any) -> NDArray[np.float64]:
    places = np.asarray(projection.fit_transform(samples), np.float64)
    if places.shape != (len(samples), 2) or not np.isfinite(places).all():
        raise ValueError(
            f"projection={projection!r} gives an array of shape {places.shape}: expected two finite "
            f"coordinates for each of {len(samples)} samples."
        )
    return places


def map_section(
    places: NDArray[np.float64],
    bits: NDArray[np.uint8],
    tips: Sequence[str],
    labels: MapLabels | None,
    drawn_by: str,
    n_all: int,
) -> Section:
    """Return the section with a map.

    Parameters
    ----------
    places : ndarray of shape (n_samples, 2)
    bits : ndarray of 0 and 1, shape (n_samples, n_bits)
    tips : sequence of str
        What a reader sees of a sample below the pointer.
    labels : MapLabels or None
    drawn_by : str
        The second result of `plane`.
    n_all : int
        Number of samples that those on the map were drawn from.
    """
    n_samples, n_bits = bits.shape
    n_coloured = 0 if labels is None else min(N_SERIES, len(labels.names))
    sets: list[list[int]] = [[] for _ in tips] if labels is None else labels.sets
    names = [] if labels is None else labels.names
    # Four bits are a hexadecimal digit: long codes would take most of the page otherwise.
    written = [row.tobytes().hex() for row in np.packbits(bits, axis=1)]
    known = {"bits": written, "sets": sets, "names": names, "coloured": n_coloured}
    of = f"all {n_all:,} are here" if n_samples == n_all else f"{n_samples:,} of {n_all:,} are here, drawn at random"
    alt = f"Map of {n_samples:,} samples by {drawn_by}, coloured by {'label' if n_coloured else 'bit 1'}."
    classes = [f"s{own[0]}" if own and own[0] < n_coloured else "off" for own in sets]
    svg = tag(
        "svg",
        tag("title", alt),
        tag("g", *_points(places, classes, tips), class_="points"),
        viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
        class_="chart",
        role="img",
        aria_label=alt,
    )
    control = tag("div", tag("label", "Colour by", for_="map-by"), _choices(names, n_bits), class_="controls")
    chart = tag("div", control, svg, tag("ul", class_="legend", aria_live="polite"), class_="map", data_map="map-data")
    seen = f"Each dot is a sample; {of}. Dots lie by {drawn_by}."
    advice = (
        "Choose a bit to see which samples it separates from the others: a bit that divides the map in two follows the "
        "samples, one that looks like noise here separates them along other directions."
    )
    if n_coloured:
        rare = f"; only the {n_coloured} labels of most samples have one" if len(names) > n_coloured else ""
        seen += f" Colours are labels{rare}."
        advice += " Labels that lie mixed here can still have codes of their own: a code has more than two directions."
    return Section("map", "Map of the samples", tag("div", picture(chart, seen, advice), data("map-data", known)))


def _points(places: NDArray[np.float64], classes: Sequence[str], tips: Sequence[str]) -> list[Html]:
    low, high = places.min(axis=0), places.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    inside = np.array([WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN])
    at = MARGIN + (places - low) / span * inside
    at[:, 1] = HEIGHT - at[:, 1]
    at = np.round(at, 1)
    return [
        tag("circle", cx=float(x), cy=float(y), r=3.2, class_=name, data_tip=tip)
        for (x, y), name, tip in zip(at, classes, tips, strict=True)
    ]


def _choices(names: Sequence[str], n_bits: int) -> Html:
    choices = []
    if names:
        choices.append(tag("option", "label", value="label"))
        ones = [tag("option", name, value=f"one:{at}") for at, name in enumerate(names)]
        choices.append(tag("optgroup", *ones, label="One label against the others"))
    bits = [tag("option", f"bit {k + 1}", value=f"bit:{k}") for k in range(n_bits)]
    return tag("select", *choices, tag("optgroup", *bits, label="Bit of the code"), id="map-by")
