"""The page of examples/browser, built by `make browser`, in Chromium: what it shows is what Python computes."""

import os
import re
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from proxcode.hamming import distances

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "browser"
BUILT = EXAMPLE / "dist"
# Where a picture of the page is kept in docs, if that is asked for.
PICTURES = os.environ.get("PROXCODE_PICTURES")
# Strokes of digits on a square of 32 x 32, as lists of points.
STROKES = {
    0: [[(16, 3), (10, 6), (7, 14), (8, 22), (12, 28), (17, 29), (22, 25), (24, 17), (22, 8), (16, 3)]],
    1: [[(10, 10), (17, 3), (17, 29)]],
    2: [[(8, 9), (11, 4), (17, 3), (22, 7), (21, 13), (14, 21), (8, 28), (24, 28)]],
    3: [[(8, 5), (15, 3), (21, 6), (20, 12), (14, 15), (21, 18), (23, 24), (17, 29), (8, 27)]],
    4: [[(15, 3), (8, 19), (24, 19)], [(19, 11), (17, 29)]],
    5: [[(22, 3), (11, 3), (9, 14), (16, 12), (22, 16), (22, 24), (16, 29), (8, 27)]],
    6: [[(19, 3), (12, 10), (9, 20), (12, 28), (18, 29), (22, 24), (19, 18), (13, 18), (9, 22)]],
    7: [[(8, 4), (23, 4), (13, 29)], [(10, 17), (22, 17)]],
    8: [[(21, 7), (16, 3), (11, 6), (12, 12), (19, 18), (21, 25), (16, 29), (11, 25), (12, 19), (20, 12), (21, 7)]],
    9: [[(22, 8), (17, 3), (11, 6), (10, 12), (15, 15), (21, 12), (22, 8), (21, 18), (18, 29)]],
}
DESKTOP, PHONE = {"width": 1100, "height": 900}, {"width": 375, "height": 812}


@pytest.fixture(scope="module")
def scripts():
    """The scripts that build the model of the page and compare bits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLE)
        patch.syspath_prepend(ROOT / "benchmarks")
        import build_model

        import browser_bits

        yield build_model, browser_bits
        for name in ("browser_bits", "build_model"):
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def model(chromium, scripts):
    return scripts[0].train()


@pytest.fixture(scope="module")
def address(chromium, scripts):
    """The address of a server of the folder examples/browser, so that the page is not at the root."""
    if not (BUILT / "index.html").exists():
        pytest.fail("examples/browser is not built: run make browser")
    with scripts[1].served(EXAMPLE) as root:
        yield f"{root}/dist/"


@pytest.fixture
def open_page(new_page, address):
    def opened(viewport=DESKTOP, **options):
        page = new_page(viewport=viewport, **options)
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        page.wait_for_selector("#answer:not([data-blank])")
        return page

    return opened


def draw(page, strokes):
    """Draw with the mouse, on an empty drawing."""
    page.get_by_role("button", name="Clear").click()
    add_strokes(page, strokes)


def add_strokes(page, strokes):
    box = page.locator("#pad").bounding_box()
    for stroke in strokes:
        (x, y), *rest = [(box["x"] + x * box["width"] / 32, box["y"] + y * box["height"] / 32) for x, y in stroke]
        page.mouse.move(x, y)
        page.mouse.down()
        for x, y in rest:
            page.mouse.move(x, y, steps=2)
        page.mouse.up()
    page.wait_for_selector("#answer:not([data-blank])")
    settle(page)


def draw_by_keys(page, strokes):
    """Draw with the keyboard, from the middle of the drawing; points of a stroke share a row or a column."""
    x, y = 16, 16
    for stroke in strokes:
        for position, (to_x, to_y) in enumerate(stroke):
            press(page, "ArrowRight" if to_x > x else "ArrowLeft", abs(to_x - x))
            press(page, "ArrowDown" if to_y > y else "ArrowUp", abs(to_y - y))
            x, y = to_x, to_y
            if position == 0:
                page.keyboard.press("Space")
        page.keyboard.press("Space")
    settle(page)


def press(page, key, times):
    for _ in range(times // 4):
        page.keyboard.press(f"Shift+{key}")
    for _ in range(times % 4):
        page.keyboard.press(key)


def settle(page):
    """Wait until the page has answered the last change."""
    page.evaluate("() => new Promise((done) => setTimeout(() => requestAnimationFrame(done), 50))")


def shown(page):
    """What the page shows: pixels, code, positions, labels and distances of neighbours, and the histogram."""
    cards = page.locator("#nearest li").evaluate_all("(all) => all.map(({ dataset }) => ({ ...dataset }))")
    return {
        "pixels": np.array(page.get_attribute("#seen", "data-pixels").split(), float),
        "code": np.frombuffer(bytes.fromhex(page.get_attribute("#barcode", "data-code")), np.uint8),
        **{name: [int(card[name]) for card in cards] for name in ("row", "label", "distance")},
        "counts": [int(count) for count in page.get_attribute("#histogram", "data-counts").split()],
    }


def assert_as_in_python(page, model, digits):
    """Code, neighbours, distances and histogram are those of Python for the pixels that the page shows."""
    X, y = digits
    answer = shown(page)
    code = model.encode(answer["pixels"][None])
    assert answer["code"].tolist() == code[0].tolist()
    expected = distances(code, model.encode(X[:1400]))[0]
    nearest = np.argsort(expected, kind="stable")[:12]
    assert answer["row"] == nearest.tolist()
    assert answer["label"] == y[nearest].tolist()
    assert answer["distance"] == expected[nearest].tolist()
    assert answer["counts"] == np.bincount(expected, minlength=65).tolist()
    near = expected <= model.radius_
    assert page.locator("#verdict").inner_text().startswith(f"{near.sum()} of 1,400 training digits are near, ")
    assert f"near up to distance {model.radius_}" in page.locator("#histogram").text_content()


def reference_pixels(strokes):
    """The 64 numbers of a drawing: fitted to the frame, as a bitmap under a round pen, counted in blocks."""
    points = np.concatenate([np.array(stroke, float) for stroke in strokes])
    low, high = points.min(axis=0), points.max(axis=0)
    across, down = np.maximum(high - low, 1e-300)
    scale_down = min(27 / down, 4)
    scale = np.array([min(17 / across, scale_down), scale_down])
    centres = np.stack(np.meshgrid(np.arange(32) + 0.5, np.arange(32) + 0.5), axis=-1)
    bitmap = np.zeros((32, 32), bool)
    for stroke in strokes:
        fitted = 16 + (np.array(stroke, float) - (low + high) / 2) * scale
        for start, end in pairwise(fitted):
            step = end - start
            share = np.clip(((centres - start) @ step) / max(step @ step, 1e-300), 0, 1)
            bitmap |= np.linalg.norm(centres - start - share[..., None] * step, axis=-1) <= 2.5
    return bitmap.reshape(8, 4, 8, 4).sum(axis=(1, 3)).ravel()


def test_drawn_digits_are_near_digits_of_their_class(open_page, model, digits):
    page = open_page()
    for label, strokes in STROKES.items():
        draw(page, strokes)
        assert shown(page)["label"].count(label) >= 11, label
        assert_as_in_python(page, model, digits)


def test_pixels_are_counts_of_a_bitmap(open_page):
    """Drawings of two sizes have the pixels of a NumPy transcription, up to points of the mouse on the way."""
    page = open_page()
    for strokes in (STROKES[1], STROKES[4], STROKES[8]):
        for scale, shift in [(1, 0), (0.5, 10)]:
            moved = [[(scale * x + shift, scale * y + shift) for x, y in stroke] for stroke in strokes]
            draw(page, moved)
            difference = np.abs(shown(page)["pixels"] - reference_pixels(moved))
            assert difference.max() <= 2
            assert difference.sum() <= 10


def test_sample_digits_are_held_out_digits_in_turn(open_page, model, digits):
    page = open_page()
    X, y = digits
    for label in range(10):
        held_out = X[1400:][y[1400:] == label]
        for turn in range(2):
            page.get_by_role("button", name=f"Sample digit {label}").click()
            settle(page)
            assert shown(page)["pixels"].tolist() == held_out[turn].tolist()
            assert_as_in_python(page, model, digits)


def test_a_stroke_replaces_a_sample_digit(open_page, model, digits):
    page = open_page()
    page.get_by_role("button", name="Sample digit 8").click()
    add_strokes(page, STROKES[0])
    assert set(shown(page)["label"]) == {0}
    assert_as_in_python(page, model, digits)


def test_the_barcode_draws_the_bits(open_page, model):
    """Colours of the picture itself, at the middle of each bar."""
    page = open_page()
    draw(page, STROKES[2])
    box = page.locator("#barcode svg").bounding_box()
    picture = pixels_of(page.locator("#barcode svg"))
    columns = ((np.arange(64) + 0.5) * box["width"] / 64).astype(int)
    dark = picture[picture.shape[0] // 2, columns].mean(axis=1) < 128
    assert dark.tolist() == np.unpackbits(shown(page)["code"]).astype(bool).tolist()


def test_strips_colour_as_many_bits_as_differ(open_page):
    page = open_page()
    draw(page, STROKES[7][:1])
    strips = page.locator("#nearest .differ").evaluate_all("(all) => all.map((path) => path.getAttribute('d'))")
    assert [strip.count("M") for strip in strips] == shown(page)["distance"]
    assert min(shown(page)["distance"]) > 0


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_radius_is_a_line_between_near_and_far_bars(viewport, open_page, model):
    page = open_page(viewport)
    box = page.locator("#histogram svg").bounding_box()
    line = float(page.get_attribute("#histogram .radius", "x1"))
    assert line == pytest.approx((model.radius_ + 1) * box["width"] / 65)
    near, far = (page.locator(f"#histogram path.{name}").bounding_box() for name in ("near", "far"))
    assert near["x"] + near["width"] < box["x"] + line < far["x"]


def test_pictures_have_a_text(open_page):
    page = open_page()
    labels = page.locator("svg").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    assert len(labels) == 4 + 2 * 12
    assert all(labels)
    assert page.get_by_role("img").count() == len(labels)


def pixels_of(locator):
    """The colours of an element on the screen, of shape (height, width, 3)."""
    return np.asarray(image_of(locator.screenshot()), int)


def image_of(screenshot):
    from io import BytesIO

    from PIL import Image

    return Image.open(BytesIO(screenshot)).convert("RGB")


def test_drawing_by_keyboard(open_page, model, digits):
    """The drawing is the first stop of the tab key; arrows, space and delete draw and clear, and the page says so."""
    page = open_page()
    said = page.get_by_role("status")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "pad"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Delete")
    assert said.text_content() == "Cleared."
    assert page.locator("#verdict").inner_text() == "Draw a digit from 0 to 9."
    assert not page.locator("#barcode").is_visible()
    page.keyboard.press("Space")
    assert said.text_content() == "Pen down."
    page.keyboard.press("Space")
    assert said.text_content() == "Pen up."
    page.keyboard.press("Delete")
    strokes = [[(10, 4), (22, 4), (22, 28)], [(16, 16), (26, 16)]]
    draw_by_keys(page, strokes)
    assert shown(page)["pixels"].tolist() == reference_pixels(strokes).tolist()
    assert_as_in_python(page, model, digits)
    answer = shown(page)
    page.wait_for_function("() => document.querySelector('#announcement').textContent.includes('Nearest: ')")
    nearest = f"Nearest: {answer['label'][0]} at distance {answer['distance'][0]}, "
    assert nearest in said.text_content()
    for name in ["Clear", *(f"Sample digit {label}" for label in range(6))]:
        page.keyboard.press("Tab")
        assert (
            page.evaluate(
                "({ ariaLabel, textContent }) => ariaLabel ?? textContent",
                page.evaluate_handle("document.activeElement"),
            )
            == name
        )
    page.keyboard.press("Enter")
    settle(page)
    assert set(shown(page)["label"]) == {5}


def test_phone_width(open_page, model, digits):
    """No scrolling to the side, and drawing with a finger does not scroll the page."""
    page = open_page(PHONE, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    edges = page.locator("body *:visible").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().right)")
    assert max(edges) <= PHONE["width"]
    sizes = page.get_by_role("button").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect())")
    assert min(min(size["width"], size["height"]) for size in sizes) >= 24
    page.get_by_role("button", name="Clear").tap()
    touch(page, STROKES[2][0])
    assert page.evaluate("scrollY") == 0
    assert shown(page)["label"].count(2) >= 11
    assert_as_in_python(page, model, digits)


def touch(page, stroke):
    """Draw with a finger, by the protocol of Chromium: Playwright itself only taps."""
    box = page.locator("#pad").bounding_box()
    send = page.context.new_cdp_session(page).send
    for position, (x, y) in enumerate(stroke):
        point = {"x": box["x"] + x * box["width"] / 32, "y": box["y"] + y * box["height"] / 32}
        kind = "touchMove" if position else "touchStart"
        send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
    send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    settle(page)


CONTRASTS = """() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = numbers(colour).slice(0, 3).map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return numbers(colour)[3] === 0 ? background(element.parentElement) : colour;
  };
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  return [...document.querySelectorAll("body *:not(script)")].filter(hasText).map((one) => {
    const style = getComputedStyle(one);
    const colour = one instanceof SVGElement ? style.fill : style.color;
    const [high, low] = [luminance(colour), luminance(background(one))].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(scheme, open_page):
    page = open_page(color_scheme=scheme)
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 40
    assert min(contrasts) >= 4.5


def test_light_and_dark_differ_and_follow_the_system(open_page):
    """An open page changes with the system, its canvas too."""
    page = open_page(color_scheme="light")
    draw(page, STROKES[0])
    light = {name: pixels_of(page.locator(name)) for name in ("body", "#pad")}
    page.emulate_media(color_scheme="dark")
    settle(page)
    dark = {name: pixels_of(page.locator(name)) for name in ("body", "#pad")}
    assert np.median(light["body"]) > 200
    assert np.median(dark["body"]) < 50
    middle = light["#pad"].shape[0] // 2
    ink = int(24 / 32 * light["#pad"].shape[1])
    assert light["#pad"][middle, ink].max() < 60
    assert dark["#pad"][middle, ink].min() > 200


def test_drawing_works_offline_and_asks_for_nothing(open_page, model, digits):
    page = open_page()
    page.context.set_offline(True)
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    draw(page, STROKES[6])
    assert shown(page)["label"].count(6) >= 11
    assert_as_in_python(page, model, digits)
    page.get_by_role("button", name="Sample digit 9").click()
    settle(page)
    assert shown(page)["label"].count(9) >= 11
    assert requests == []


def test_every_request_is_for_a_file_of_the_build(new_page, address):
    page = new_page()
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    asked = {url.removeprefix(address) or "index.html" for url in requests if not url.startswith("data:")}
    built = {path.relative_to(BUILT).as_posix() for path in BUILT.rglob("*") if path.is_file()}
    assert asked <= built
    assert {"index.html", "model.onnx", "digits.json"} <= asked


def test_the_build_is_below_20_megabytes():
    if not BUILT.exists():
        pytest.skip("examples/browser is not built: make browser builds it")
    files = [path for path in BUILT.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 20e6
    assert len([path for path in files if path.suffix == ".wasm"]) == 1


def said_instead_of_starting(chromium, address, prepare):
    """What a page says that cannot start, to those who see it and to screen readers; the answer stays hidden."""
    context = chromium.new_context()
    page = context.new_page()
    prepare(page)
    page.goto(address)
    page.locator("#verdict", has_text="does not work").wait_for()
    said = page.locator("#verdict").inner_text()
    assert page.get_by_role("status").text_content() == said
    assert not page.locator("#barcode").is_visible()
    context.close()
    return said


@pytest.mark.parametrize("name", ["model.onnx", "digits.json"])
def test_a_missing_file_is_named(name, chromium, address):
    said = said_instead_of_starting(
        chromium, address, lambda page: page.route(f"**/{name}", lambda route: route.fulfill(status=404))
    )
    assert said == f"The page does not work: ./{name}: the server answered 404; run make browser."


def test_a_server_that_does_not_answer_is_named(chromium, address):
    said = said_instead_of_starting(
        chromium, address, lambda page: page.route("**/model.onnx", lambda route: route.abort())
    )
    assert said == (
        "The page does not work: ./model.onnx: the server does not answer; start it and load the page again."
    )


@pytest.mark.parametrize(
    "prepare",
    [
        lambda page: page.add_init_script("delete window.WebAssembly"),
        lambda page: page.route("**/*.wasm", lambda route: route.abort()),
    ],
    ids=["switched off", "not served"],
)
def test_a_browser_without_webassembly_is_told(prepare, chromium, address):
    said = said_instead_of_starting(chromium, address, prepare)
    assert said.startswith("The page does not work: this browser could not start the model in WebAssembly (")


def test_an_error_while_drawing_is_shown_and_the_next_drawing_answered(chromium, address):
    """A code that cannot be computed leaves no answer to an earlier drawing on the page."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#answer:not([data-blank])")
    page.evaluate("() => { window.kept = Float32Array.from; Float32Array.from = () => { throw Error('no memory'); }; }")
    page.get_by_role("button", name="Sample digit 8").click()
    page.get_by_text("The page does not work: no memory.").first.wait_for()
    assert not page.locator("#barcode").is_visible()
    page.evaluate("() => { Float32Array.from = window.kept; }")
    page.get_by_role("button", name="Sample digit 9").click()
    page.wait_for_selector("#answer:not([data-blank])")
    assert set(shown(page)["label"]) == {9}
    context.close()


def test_bits_of_many_samples_are_those_of_python(new_page, address, model, scripts):
    """10,000 samples through the runtime of the browser; benchmarks/browser_bits.py takes 100,000."""
    bits = scripts[1]
    page = new_page()
    page.goto(f"{address}check.html")
    page.get_by_text("Ready.").wait_for()
    X = bits.jittered_digits(10_000, np.random.default_rng(1))
    figures = bits.compared(model, X, *bits.in_browser(page, X))
    assert figures["bits"] == 640_000
    assert figures["largest margin of these"] < bits.LARGEST_SHARE
    assert figures["differing bits"] <= 64
    assert figures["largest difference of margins"] < 1e-4


def test_the_guide_shows_the_code_of_the_page():
    block = re.search(r"```js\n(.*?)```", (ROOT / "docs" / "browser.md").read_text(), re.DOTALL).group(1)
    assert block in (EXAMPLE / "src" / "encoder.js").read_text()


@pytest.mark.skipif(not PICTURES, reason="pictures of docs are made by PROXCODE_PICTURES=docs/images make test-browser")
def test_pictures_of_the_guide(open_page):
    for name, viewport, scheme in [("light", DESKTOP, "light"), ("phone", PHONE, "dark")]:
        page = open_page(viewport, color_scheme=scheme)
        # Digits of the data cross their 7: this one is near them, and some bits differ.
        draw(page, STROKES[7][:1])
        path = Path(PICTURES, f"browser_{name}.png")
        image_of(page.screenshot(full_page=viewport is DESKTOP)).quantize(256).save(path, optimize=True)
        assert path.stat().st_size < 150_000
