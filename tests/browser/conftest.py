"""Pages in a real browser: Chromium without a window, driven by Playwright.

`make test-browser` names the browser in the environment variable PROXCODE_CHROMIUM; without it these tests are skipped.
A page that logs a script error, or that asks for anything beyond this machine, fails its test.
"""

import os
from urllib.parse import urlsplit

import pytest

CHROMIUM = os.environ.get("PROXCODE_CHROMIUM")
# Chromium refuses to run as root with a sandbox, and asks for updates unless told otherwise.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LOCAL = {"127.0.0.1", "localhost", ""}


@pytest.fixture(scope="session")
def chromium():
    if not CHROMIUM:
        pytest.skip("PROXCODE_CHROMIUM is not set: pages are tested in a browser by make test-browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def new_page(chromium):
    """A function that opens a page, with options of Playwright's contexts; its errors are checked after the test."""
    contexts, errors = [], []

    def open_page(**options):
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: errors.extend(foreign(request.url)))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []


def foreign(url):
    """The address in a list, where it is neither of this machine nor part of the page itself."""
    parts = urlsplit(url)
    local = parts.scheme in {"data", "blob", "file", "about"} or parts.hostname in LOCAL
    return [] if local else [url]
