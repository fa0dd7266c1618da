"""The HTML summary of a model in notebooks."""

import copy
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn import config_context
from sklearn.utils import estimator_html_repr

from proxcode import GivenPairs, Nearest, ProximityPreservingCode, SameLabel, SharedLabel, WithinRadius
from proxcode.proximity import Proximity
from proxcode.utils.html import MARGIN, loss_svg, summary_html

VOID = {"meta", "br", "input", "link", "img"}


class Outline(HTMLParser):
    """Collects text, and checks that tags close in order."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(html):
    outline = Outline()
    outline.feed(html)
    outline.close()
    assert outline.open == []
    return " ".join(outline.text)


def card(html):
    return html.split("<style", maxsplit=1)[0]


@pytest.fixture(scope="module")
def model(train):
    return ProximityPreservingCode(n_bits=12, random_state=0).fit(*train)


def test_the_card_says_what_was_learned(model):
    html = summary_html(model)
    text = read(card(html))
    for part in (
        f"12 bits, near up to distance {model.radius_}",
        "500 samples x 64 features",
        "the same label",
        "KernelHash()",
        f"share of misplaced pairs in learning {model.history_[-1].loss:.2%}",
        f"share of misplaced training pairs {model.training_loss_:.2%}",
        f"{sum(record.seconds for record in model.history_):.2f} for all bits",
    ):
        assert part in text
    assert "currentColor" in card(html)
    # Any colour of its own would be unreadable in a light or a dark theme.
    assert "#" not in card(html)
    assert "n_bits" in html[len(card(html)) :]


def test_seconds_that_are_not_known_are_not_shown(model):
    loaded = copy.deepcopy(model)
    loaded.history_ = [record._replace(seconds=float("nan")) for record in model.history_]
    assert "seconds" not in read(card(summary_html(loaded)))


def test_values_are_escaped(model, train):
    class Odd(Proximity):
        def __repr__(self, **kwargs):
            return "<script>alert('1 & 2')</script>"

        def find_pairs(self, X, y=None):
            return SameLabel().find_pairs(X, y)

    odd = ProximityPreservingCode(n_bits=2, proximity=Odd()).fit(*train)
    html = card(summary_html(odd))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    read(html)


class Even(Proximity):
    """A proximity that does not describe itself."""

    def find_pairs(self, X, y=None):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("proximity", "description"),
    [
        (SameLabel(), "the same label"),
        (SharedLabel(), "at least one label in common"),
        (WithinRadius(radius=2.5, metric="cosine").fit(np.eye(2)), "cosine distance of at most 2.5"),
        (WithinRadius(radius=12.34567).fit(np.eye(2)), "euclidean distance of at most 12.35"),
        (GivenPairs([(0, 1, 1)], others="far"), "listed as near; pairs not listed are far"),
        (
            GivenPairs([(0, 1, 1)]),
            "listed as near; pairs not listed are unknown, or mostly far if no far pair is listed",
        ),
        (Nearest(7), "among the 7 nearest"),
        (SameLabel(new_classes=True), "the same label, for classes that come later"),
        (Even(), "Even()"),
    ],
)
def test_the_card_describes_near_pairs(model, proximity, description):
    assert proximity.describe() == description
    other = copy.deepcopy(model)
    other.proximity_ = proximity
    assert description in read(card(summary_html(other)))


@pytest.mark.parametrize("losses", [[0.1], [0.0, 0.0], [0.1, 0.02, 0.05], list(np.linspace(0.2, 0, 1024))])
def test_the_line_stays_in_its_box(losses):
    svg = ET.fromstring(loss_svg(losses)).find("svg")
    _, _, width, height = map(float, svg.get("viewBox").split())
    points = np.array([point.split(",") for point in svg.find("polyline").get("points").split()], float)
    assert len(points) == max(2, len(losses))
    assert (points >= 0).all()
    assert (points <= (width, height)).all()
    heights = (height - MARGIN - points[: len(losses), 1]) / (height - 2 * MARGIN)
    np.testing.assert_allclose(heights, np.array(losses) / (max(losses) or 1), atol=0.01)
    assert f"{losses[-1]:.2%} at bit {len(losses)}" in svg.get("aria-label")


def test_fitted_models_show_the_card_and_others_the_diagram(model):
    unfitted = ProximityPreservingCode(n_bits=2)
    assert "near means" not in unfitted._repr_html_()
    assert "near means" not in unfitted._repr_mimebundle_()["text/html"]
    # The diagrams of older versions of scikit-learn contain a running number.
    pages = (unfitted._repr_html_(), estimator_html_repr(unfitted))
    shown, expected = (re.sub(r"id-\d+", "id", page) for page in pages)
    assert shown.startswith(expected[:500])
    assert "near means" in model._repr_html_()
    bundle = model._repr_mimebundle_()
    assert "near means" in bundle["text/html"]
    assert bundle["text/plain"] == repr(model)


def test_the_setting_of_scikit_learn_is_kept(model):
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
        assert not hasattr(model, "_repr_html_")
