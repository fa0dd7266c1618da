"""The page of proxcode explore in a browser: search by item and by vector, keyboard, sizes, colours, hostile texts."""

import json

import numpy as np
import pytest

from helpers.explored import HOSTILE, make_explorer
from proxcode.explore import ExploreServer

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def explored(chromium, train):
    return make_explorer(train[0][:300], train[1][:300])


@pytest.fixture(scope="module")
def server(explored):
    with ExploreServer(explored.explorer) as server:
        yield server


@pytest.fixture
def opened(new_page, server):
    def open_page(**options):
        page = new_page(**options)
        page.goto(server.address)
        page.wait_for_selector("#neighbors li")
        return page

    return open_page


def distances(page):
    return [int(place.split()[-1]) for place in page.locator("#neighbors .place small").all_inner_texts()]


def titles(page):
    return page.locator("#neighbors .title").all_inner_texts()


def wait_for_query(page, title):
    page.wait_for_function("title => document.querySelector('#query .title')?.textContent === title", arg=title)


def test_the_first_item_is_shown_at_once(opened, explored):
    page = opened()
    found = explored.explorer.search({"row": 0})
    assert titles(page) == [one["cells"][0] for one in found["neighbors"]]
    assert distances(page) == [one["distance"] for one in found["neighbors"]]
    assert page.locator("#neighbors img.thumb").count() == 10
    assert page.locator("#neighbors img.thumb").first.evaluate("image => image.naturalWidth") == 8
    assert page.locator("#status").inner_text().startswith("10 nearest of 300 codes, found in ")


def test_an_item_is_found_by_typing_and_chosen_by_keys(opened, explored):
    page = opened()
    page.locator("#item").focus()
    page.keyboard.type("SEVEN", delay=20)
    page.wait_for_selector("#suggestions li")
    expected = [one["cells"][0] for one in explored.explorer.suggest({"text": "seven"})["suggestions"]]
    first = "text => document.querySelector('#suggestions li span')?.textContent === text"
    page.wait_for_function(first, arg=expected[0])
    assert page.locator("#suggestions li span:first-child").all_inner_texts() == expected
    assert page.locator("#item").get_attribute("aria-expanded") == "true"
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    active = page.locator("#item").get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"
    assert page.locator(f"#{active} span").first.inner_text() == expected[1]
    page.keyboard.press("Enter")
    wait_for_query(page, expected[1])
    assert page.locator("#suggestions").is_hidden()
    row = explored.titles.index(expected[1])
    assert page.url.endswith(f"#row={row}")
    found = explored.explorer.search({"row": row})
    assert titles(page) == [one["cells"][0] for one in found["neighbors"]]
    page.go_back()
    wait_for_query(page, explored.titles[0])


def test_escape_closes_the_list_and_enter_takes_the_first(opened, explored):
    page = opened()
    page.fill("#item", "nine")
    page.wait_for_selector("#suggestions li")
    page.keyboard.press("Escape")
    assert page.locator("#suggestions").is_hidden()
    page.fill("#item", "123")
    page.keyboard.press("Enter")
    wait_for_query(page, explored.titles[123])
    # Enter does not wait for the list.
    page.fill("#item", "number 250")
    page.keyboard.press("Enter")
    wait_for_query(page, explored.titles[250])
    assert page.locator("#suggestions").is_hidden()
    page.fill("#item", "no such thing")
    page.wait_for_selector("#suggestions li.none")


def test_enter_after_a_refused_text_searches_for_nothing(chromium, server, explored):
    # Not by `new_page`: Chromium logs every answer with the status 400 as an error.
    context = chromium.new_context()
    page = context.new_page()
    page.goto(server.address)
    wait_for_query(page, explored.titles[0])
    page.fill("#item", "nine")
    page.wait_for_selector("#suggestions li")
    page.fill("#item", "x" * 1200)
    page.keyboard.press("Enter")
    page.wait_for_selector("#status.wrong")
    page.wait_for_timeout(300)
    assert "1,200 characters" in page.locator("#status").inner_text()
    wait_for_query(page, explored.titles[0])
    context.close()


def test_a_pasted_vector_is_searched_for(opened, explored, new):
    page = opened()
    page.locator("summary", has_text="Search by a vector").click()
    vector = new[0][3]
    page.fill("#vector", json.dumps(vector.tolist()))
    wait_for_query(page, "pasted vector")
    found = explored.explorer.search({"vector": vector.tolist()})
    assert titles(page) == [one["cells"][0] for one in found["neighbors"]]
    assert distances(page) == [one["distance"] for one in found["neighbors"]]


def test_a_wrong_vector_gives_a_sentence_and_nothing_else(chromium, server):
    # Not by `new_page`: Chromium logs every answer with the status 400 as an error.
    context = chromium.new_context()
    page = context.new_page()
    logged, errors = [], []
    page.on("console", lambda message: logged.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(server.address)
    page.wait_for_selector("#neighbors li")
    page.locator("summary", has_text="Search by a vector").click()
    for wrong, sentence in (
        ("1, 2, 3", "The vector has 3 numbers: expected 64, as the model's samples."),
        (f"NaN {'0 ' * 63}", "Number 1 of the vector is nan: expected finite numbers."),
    ):
        page.fill("#vector", wrong)
        page.wait_for_function("text => document.getElementById('status').textContent === text", arg=sentence)
        assert "wrong" in page.locator("#status").get_attribute("class")
    page.fill("#vector", "0 " * 64)
    wait_for_query(page, "pasted vector")
    assert page.locator("#status").inner_text().startswith("10 nearest of 300 codes")
    context.close()
    assert errors == []
    assert all("400 (Bad Request)" in text for text in logged)


def test_bits_that_differ_are_marked(opened, explored):
    page = opened()
    page.fill("#k", "300")
    page.keyboard.press("Enter")
    page.locator("#k").blur()
    page.wait_for_function("() => document.querySelectorAll('#neighbors > li').length === 299")
    found = explored.explorer.search({"row": 0, "k": 299})["neighbors"]
    query = np.unpackbits(explored.explorer.codes[0], count=20)
    for place in (0, 150, 298):
        own = np.unpackbits(explored.explorer.codes[found[place]["row"]], count=20)
        differing = (np.flatnonzero(own != query) + 1).tolist()
        barcode = page.locator("#neighbors .barcode").nth(place)
        expected = f"{len(differing)} of 20 bits differ from the query: {', '.join(map(str, differing))}"
        assert barcode.get_attribute("aria-label") in (expected, "20 bits, those of the query")
        # A mark above each bit that differs, and the bit itself.
        path = barcode.locator(".differs")
        n_marks = path.get_attribute("d").count("M") if path.count() else 0
        assert n_marks == 2 * len(differing)


def test_the_slider_divides_near_from_beyond(opened, explored):
    page = opened()
    page.fill("#k", "299")
    page.locator("#k").blur()
    page.wait_for_function("() => document.querySelectorAll('#neighbors > li').length === 299")
    counts = explored.explorer.search({"row": 0})["counts"]
    assert page.locator("#radius").input_value() == str(explored.explorer.radius)
    for radius in (0, 5, 20):
        page.locator("#radius").fill(str(radius))
        n_near = sum(counts[: radius + 1])
        assert f"{n_near} code" in page.locator("#histogram svg").get_attribute("aria-label")
        marks = page.locator("#neighbors .mark").all_inner_texts()
        assert marks == ["near"] * n_near + ["beyond"] * (299 - n_near)
        assert page.locator("#radius-value").inner_text() == str(radius)
    page.locator("#radius").focus()
    page.keyboard.press("ArrowLeft")
    assert page.locator("#radius-value").inner_text() == "19"


def test_a_neighbour_becomes_the_query(opened, explored):
    page = opened()
    title = titles(page)[2]
    page.locator("#neighbors .again").nth(2).focus()
    page.keyboard.press("Enter")
    wait_for_query(page, title)
    # The keyboard goes on from the new query.
    assert page.evaluate("document.activeElement.id") == "query"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "again"


def test_markup_in_an_item_is_text(opened, server, explored):
    page = opened()
    page.goto(f"{server.address}#row=7")
    wait_for_query(page, HOSTILE)
    assert page.locator("#answers script, #query img:not(.thumb)").count() == 0
    page.fill("#item", "<script>")
    page.wait_for_selector("#suggestions li")
    assert page.locator("#suggestions li span").first.inner_text() == HOSTILE
    assert page.locator("#suggestions script").count() == 0
    assert page.evaluate("[...document.scripts].filter((one) => one.textContent.includes('owned')).length") == 0


def test_the_focus_is_visible_and_every_field_has_a_name(opened):
    page = opened()
    page.locator("#item").focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    for field in page.locator("#search-form input, #search-form textarea").all():
        assert field.evaluate("field => field.labels.length") == 1
    assert page.locator("#status").get_attribute("aria-live") == "polite"
    images = page.locator("main img, main svg[role=img]").all()
    assert all(one.get_attribute("alt") or one.get_attribute("aria-label") for one in images)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling(opened, scheme):
    page = opened(**PHONE, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.locator("summary", has_text="Search by a vector").click()
    page.fill("#item", "a")
    page.wait_for_selector("#suggestions li")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    shown = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, shown[4:-1].split(","))) > 380) == (scheme == "light")


def test_the_report_opens_from_the_page(opened):
    page = opened()
    page.get_by_role("link", name="Open the report").click()
    page.wait_for_selector("text=Near and far pairs", timeout=60_000)
    assert page.locator("#pairs input[type=range], [data-reads] input").count() >= 1
