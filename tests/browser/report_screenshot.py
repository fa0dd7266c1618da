"""Write docs/images/report.png: the top of the report that docs/report.md makes, in Chromium.

PROXCODE_CHROMIUM=/usr/bin/chromium python tests/browser/report_screenshot.py
"""

import io
import os
import tempfile
from pathlib import Path

from PIL import Image
from sklearn.datasets import load_digits

from proxcode import ProximityPreservingCode, write_report

IMAGE = Path(__file__).parents[2] / "docs" / "images" / "report.png"
SIZE = {"width": 1100, "height": 1500}
# A palette keeps the file small; the page has few colours.
N_COLOURS = 200


def write_page(path):
    X, y = load_digits(return_X_y=True)
    model = ProximityPreservingCode(n_bits=64, random_state=0).fit(X[:1000], y[:1000])
    title = "digits.proxcode on new.npy"
    write_report(path, model, X[1000:], y[1000:], train=X[:1000], image_shape="8x8", title=title)


def main():
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder, "report.html")
        write_page(path)
        browser = playwright.chromium.launch(
            executable_path=os.environ["PROXCODE_CHROMIUM"], args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=SIZE)
        page.goto(path.as_uri())
        shot = page.screenshot()
        browser.close()
    IMAGE.parent.mkdir(exist_ok=True)
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(N_COLOURS, dither=Image.Dither.NONE).save(IMAGE, optimize=True)


if __name__ == "__main__":
    main()
