"""A report in a real browser: the slider, the map, the keyboard, a phone, light and dark, print."""

import json

import numpy as np
import pytest

from proxcode import ProximityPreservingCode, unpack, write_report
from proxcode.evaluation import MODEL

PHONE = {"width": 360, "height": 740}
N_BITS = 32


@pytest.fixture(scope="module")
def written(train, new, tmp_path_factory):
    """A report on digits with thumbnails and texts, and the codes of the samples."""
    model = ProximityPreservingCode(N_BITS, random_state=0).fit(*train)
    path = tmp_path_factory.mktemp("report") / "report.html"
    names = np.array([f"digit {k}" for k in range(9)] + ["<script>alert('nine')</script>"])
    texts = [f"<img src=x onerror=alert({k})>" for k in range(len(new[0]))]
    report = write_report(
        path, model, new[0], names[new[1]], train=train[0], image_shape="8x8", texts=texts, title="Digits, 32 bits"
    )
    return path.as_uri(), report, unpack(model.encode(new[0]), N_BITS), names[new[1]]


@pytest.fixture
def open_report(new_page, written):
    def opened(**options):
        page = new_page(**options)
        page.goto(written[0])
        return page

    return opened


def read(page):
    """What the slider says: precision, recall, near and far pairs found."""
    return page.locator(".reader output b").all_inner_texts()


def expected(report, t):
    near, far = (counts[: t + 1].sum() for counts in report.pairs.histograms[MODEL, N_BITS])
    all_near = report.pairs.histograms[MODEL, N_BITS][0].sum()
    precision, recall = near / (near + far) if near + far else None, near / all_near
    return precision, recall, int(near), int(far)


def check(page, report, t):
    precision, recall, near, far = expected(report, t)
    shown = read(page)
    assert float(shown[0]) == pytest.approx(precision, abs=6e-4)
    assert float(shown[1]) == pytest.approx(recall, abs=6e-4)
    assert [int(text.replace(",", "")) for text in shown[2:]] == [near, far]
    assert page.locator(".reader label b").inner_text() == str(t)


def test_the_slider_shows_precision_and_recall_at_each_distance(open_report, written):
    page, report = open_report(), written[1]
    radius = report.pairs.model.radius_
    check(page, report, radius)
    slider = page.locator("#pairs-slider")
    places = []
    for t in (0, 3, radius, 20, N_BITS):
        slider.fill(str(t))
        check(page, report, t)
        places.append(page.locator("#pairs-cursor").bounding_box()["x"])
        row = page.locator("#pairs-table tbody tr[aria-current]")
        assert row.locator("th").text_content() == str(t)
    assert places == sorted(places)


def test_the_slider_and_the_map_follow_the_keyboard(open_report, written):
    page, report = open_report(), written[1]
    radius = report.pairs.model.radius_
    # The link that skips, the sections, then the slider.
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "pairs-slider":
            break
    assert page.evaluate("document.activeElement.id") == "pairs-slider"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert outline == "3px"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    check(page, report, radius + 2)
    page.keyboard.press("Home")
    check(page, report, 0)
    page.focus("#map-by")
    page.keyboard.press("End")
    page.locator(".map .legend", has_text=f"bit {N_BITS} is 1").wait_for()


def test_the_map_is_coloured_by_a_bit_and_by_a_label(open_report, written):
    page, (_, _, bits, names) = open_report(), written
    classes = "Array.from(document.querySelectorAll('.map .points circle'), (dot) => dot.getAttribute('class'))"
    for bit in (0, 17, N_BITS - 1):
        page.select_option("#map-by", f"bit:{bit}")
        assert page.evaluate(classes) == ["on" if one else "off" for one in bits[:, bit]]
        assert page.locator(".map .legend li").all_inner_texts() == [f"bit {bit + 1} is 1", f"bit {bit + 1} is 0"]
    page.select_option("#map-by", label="digit 3")
    assert page.evaluate(classes) == ["on" if name == "digit 3" else "off" for name in names]
    page.select_option("#map-by", "label")
    legend = page.locator(".map .legend li").all_inner_texts()
    assert sorted(legend) == sorted(set(names))
    of_label = {
        legend[int(colour[1:])] for colour, name in zip(page.evaluate(classes), names, strict=True) if name == "digit 5"
    }
    assert of_label == {"digit 5"}


def test_a_tooltip_shows_what_is_below_the_pointer(open_report):
    page = open_report()
    page.locator(".bars.far rect").nth(3).hover()
    assert "of far pairs" in page.locator("#tip").inner_text()
    page.locator("[data-heat]").hover(position={"x": 5, "y": 5})
    assert page.locator("#tip").inner_text().endswith(": 1.00")
    page.mouse.move(2, 2)
    assert page.locator("#tip").is_hidden()


def test_labels_and_texts_are_shown_and_never_run(open_report, written):
    page = open_report()
    assert page.evaluate("document.querySelectorAll('img:not([src^=\"data:image/png\"])').length") == 0
    assert "<img src=x onerror=alert(" in page.locator("#queries").inner_text()
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p id=late>late</p>')")
    images = page.evaluate("Array.from(document.images, (image) => image.naturalWidth)")
    assert len(images) > 20
    assert set(images) == {8}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_page_without_scrolling_sideways(scheme, open_report):
    page = open_report(viewport=PHONE, color_scheme=scheme, is_mobile=True, has_touch=True)
    for details in page.locator("summary").all():
        details.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    too_small = page.evaluate(
        "Array.from(document.querySelectorAll('.chart text'), (word) => word.getBoundingClientRect().height)"
    )
    assert min(too_small) > 9
    # The picture of the bits and the slider are inside the screen.
    for place in ("#pairs-slider", "#map-by", ".chart.square"):
        box = page.locator(place).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]


GROUNDS, WORDS = ("body", "section"), ("h2", ".advice", ".chart .ticks text", "summary", ".reader span")


def test_light_and_dark_differ_and_text_has_contrast(open_report):
    shown = {}
    for scheme in ("light", "dark"):
        page = open_report(color_scheme=scheme)
        grounds = [style_of(page, place, "backgroundColor") for place in GROUNDS]
        words = [style_of(page, place, "fill" if place.endswith("text") else "color") for place in WORDS]
        shown[scheme] = [*grounds, *words]
        card = _light(grounds[1])
        for word in map(_light, words):
            assert (max(card, word) + 0.05) / (min(card, word) + 0.05) >= 4.5
    assert all(light != dark for light, dark in zip(*shown.values(), strict=True))


def style_of(page, place, name):
    return page.locator(place).first.evaluate(f"(element) => getComputedStyle(element).{name}")


def _light(colour):
    parts = np.array(json.loads(f"[{colour.partition('(')[2].rstrip(')')}]")[:3]) / 255
    return float(np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


def test_print_is_light_and_whole(open_report):
    page = open_report(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert _light(page.evaluate("getComputedStyle(document.body).color")) < 0.1
    assert page.locator("nav").is_hidden()
    assert page.locator("#pairs-slider").is_hidden()
    content = page.pdf(format="A4", print_background=True)
    assert content.startswith(b"%PDF")
    assert 3 <= content.count(b"/Type /Page\n") + content.count(b"/Type /Page ") <= 20


def test_without_a_script_the_page_says_the_same(open_report, written):
    page, report = open_report(java_script_enabled=False), written[1]
    radius = report.pairs.model.radius_
    precision, recall, near, far = expected(report, radius)
    assert page.locator(".reader output b").all_inner_texts() == [
        f"{precision:.3f}",
        f"{recall:.3f}",
        f"{near:,}",
        f"{far:,}",
    ]
    assert page.locator(".map .points circle.s0").count() > 10
