"""The documentation site in a browser, from a server that has nothing but its files."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "build" / "docs"
PHONE = {"viewport": {"width": 390, "height": 844}}
PAGES = (
    "index.html",
    "start.html",
    "guide.html",
    "onnx.html",
    "cli.html",
    "which_code.html",
    "gallery/index.html",
    "api/generated/proxcode.ProximityPreservingCode.html",
    "results/README.html",
    "results/table1.html",
    "decisions.html",
)


class SilentHandler(SimpleHTTPRequestHandler):
    def log_message(self, *values):
        pass


@pytest.fixture(scope="module")
def site():
    if not (SITE / "index.html").exists():
        pytest.skip("build/docs is missing: make docs builds it")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SilentHandler, directory=SITE)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def brightness(page, selector, property_name):
    """The mean of red, green and blue of a colour, 0 to 255."""
    colour = page.eval_on_selector(selector, f"it => getComputedStyle(it)['{property_name}']")
    values = [float(value) for value in colour[colour.index("(") + 1 : -1].split(",")]
    return sum(values[:3]) / 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_landing_page_follows_the_colours_of_the_system(site, new_page, scheme):
    page = new_page(color_scheme=scheme)
    page.goto(f"{site}/index.html")
    background, text = brightness(page, "body", "backgroundColor"), brightness(page, "h1", "color")
    assert (background > 200 and text < 80) if scheme == "light" else (background < 60 and text > 170)
    assert page.locator("h1").inner_text().startswith("proxcode")
    assert page.locator(".sd-card").count() == 7
    picture = page.locator("article img").first
    assert picture.evaluate("it => it.naturalWidth") > 0
    assert "Near and far pairs" in picture.get_attribute("alt")


@pytest.mark.parametrize("path", PAGES)
def test_pages_fit_a_phone(site, new_page, path):
    page = new_page(**PHONE)
    page.goto(f"{site}/{path}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("h1").is_visible()
    assert page.eval_on_selector("h1", "it => it.scrollWidth <= it.clientWidth"), "the title is cut off"


def test_a_phone_has_a_menu_of_all_sections(site, new_page):
    page = new_page(**PHONE)
    page.goto(f"{site}/index.html")
    page.locator("button.primary-toggle").click()
    menu = page.locator("dialog[open]")
    for section in ("Start: ten minutes", "User guide", "Tutorials", "Gallery", "API reference", "Results", "About"):
        assert menu.get_by_role("link", name=section, exact=True).is_visible()


def test_search_finds_pages_and_names_without_a_network(site, new_page):
    page = new_page()
    page.goto(f"{site}/index.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("HammingIndex")
    page.keyboard.press("Enter")
    for address in ("api/generated/proxcode.HammingIndex.html", "index_life.html"):
        page.wait_for_selector(f"ul.search li a[href^='{address}']")


def test_the_page_of_a_class_has_all_sections(site, new_page):
    page = new_page()
    page.goto(f"{site}/api/generated/proxcode.ProximityPreservingCode.html")
    text = page.locator("article").inner_text()
    for words in ("Parameters", "Attributes", "Examples", "Methods", "n_bits", "codes_", "Examples in the gallery"):
        assert words in text
    for method in ("fit", "encode", "extend", "update", "save", "load", "paper"):
        assert page.locator(f"dt[id='proxcode.ProximityPreservingCode.{method}']").count() == 1
    assert page.locator("dt[id$='.set_output']").count() == 0


def test_the_page_of_a_result_has_its_properties(site, new_page):
    page = new_page()
    page.goto(f"{site}/api/generated/proxcode.cut.Cut.html")
    for name in ("gap", "proved", "frustrated_edges"):
        assert page.locator(f"dt[id='proxcode.cut.Cut.{name}']").count() == 1


def test_the_gallery_shows_figures_and_outputs(site, new_page):
    page = new_page()
    page.goto(f"{site}/gallery/index.html")
    widths = page.eval_on_selector_all(".sphx-glr-thumbcontainer img", "all => all.map(it => it.naturalWidth)")
    assert len(widths) >= 8
    assert min(widths) > 0
    page.get_by_role("link", name="Codes from labels").last.click()
    page.wait_for_selector("h1:has-text('Codes from labels')")
    assert "share of neighbours with the label of the query" in page.locator("article").inner_text()
    assert page.locator("article img.sphx-glr-single-img").evaluate("it => it.naturalWidth") > 0


def test_code_is_copied_without_prompts(site, new_page):
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    page.goto(f"{site}/index.html")
    block = page.locator("div.highlight", has_text="load_digits").first
    block.hover()
    block.locator("button.copybtn").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("from sklearn.datasets import load_digits\n")
    assert ">>>" not in copied
