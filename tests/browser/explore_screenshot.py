"""Write docs/images/explore.png: a search on the page of proxcode explore, in Chromium.

PROXCODE_CHROMIUM=/usr/bin/chromium python tests/browser/explore_screenshot.py
"""

import io
import os
from pathlib import Path

from PIL import Image
from sklearn.datasets import load_digits

from proxcode import ProximityPreservingCode
from proxcode.explore import CodeExplorer, ExploreServer, Items
from proxcode.storage.texts import Texts

IMAGE = Path(__file__).parents[2] / "docs" / "images" / "explore.png"
SIZE = {"width": 1000, "height": 1180}
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
# A palette keeps the file small; the page has few colours.
N_COLOURS = 64
# A digit that the model had not seen, whose neighbours are at several distances.
ROW = 1712


def make_explorer():
    """The digits, of which the model knows the first 1,000."""
    X, y = load_digits(return_X_y=True)
    model = ProximityPreservingCode(n_bits=64, random_state=0).fit(X[:1000], y[:1000])
    titles = [f"{WORDS[digit]}, number {row}" for row, digit in enumerate(y)]
    items = Items({"title": Texts.of(titles), "sheet": Texts.of([str(row // 100) for row in range(len(X))])})
    return CodeExplorer(model, model.encode(X), items=items, labels=y, vectors=X, image_shape="8x8")


def main():
    from playwright.sync_api import sync_playwright

    with ExploreServer(make_explorer()) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ["PROXCODE_CHROMIUM"], args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=SIZE)
        page.goto(f"{server.address}#row={ROW}")
        page.wait_for_selector("#neighbors li")
        shot = page.screenshot()
        browser.close()
    IMAGE.parent.mkdir(exist_ok=True)
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(N_COLOURS, dither=Image.Dither.NONE).save(IMAGE, optimize=True)


if __name__ == "__main__":
    main()
