"""Take docs/images/docs.png, a picture of the documentation site in build/docs.

    make docs && PROXCODE_CHROMIUM=$(python tests/browser/chromium.py) python tests/browser/docs_picture.py

The gallery, the page of a class and the landing page, side by side, in light and dark.
"""

import io
import os
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[2]
SITE, PICTURE = ROOT / "build" / "docs", ROOT / "docs" / "images" / "docs.png"
PAGES = (
    ("index.html", "light"),
    ("gallery/index.html", "dark"),
    ("api/generated/proxcode.ProximityPreservingCode.html", "light"),
)
SIZE, SCALE, GAP, N_COLOURS = {"width": 1180, "height": 1000}, 0.44, 12, 192


def main():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["PROXCODE_CHROMIUM"], args=["--no-sandbox"])
        shots = [picture(browser, path, scheme) for path, scheme in PAGES]
        browser.close()
    width, height = shots[0].size
    whole = Image.new("RGB", (len(shots) * (width + GAP) - GAP, height), "#888888")
    for place, shot in enumerate(shots):
        whole.paste(shot, (place * (width + GAP), 0))
    PICTURE.parent.mkdir(exist_ok=True)
    whole.quantize(N_COLOURS, dither=Image.Dither.NONE).save(PICTURE, optimize=True)


def picture(browser, path, scheme):
    page = browser.new_page(viewport=SIZE, color_scheme=scheme)
    page.goto((SITE / path).as_uri())
    page.wait_for_load_state("networkidle")
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    return shot.resize((round(shot.width * SCALE), round(shot.height * SCALE)), Image.Resampling.LANCZOS)


if __name__ == "__main__":
    main()
