"""Bits of the page in examples/browser compared with those of Python: 100,000 samples in Chromium.

    make test-browser    # installs Playwright, builds the page
    python benchmarks/browser_bits.py [--size 100000]

Samples are digits of scikit-learn of random brightness with Gaussian noise, in single precision. The page runs them
through onnxruntime-web; Python encodes the same samples. Reported are

- the number of bits that differ, and of samples with such a bit,
- the largest margin among these bits, as a share of the median absolute margin: a bit may differ only where its margin
  is within rounding of zero, below 1e-4 of the median,
- the smallest margin of all bits and the largest difference of any margin, as the same share.

The browser is that of PROXCODE_CHROMIUM, or else the one that tests/browser/chromium.py finds. Results go to
docs/results/browser_bits.csv.
"""

import argparse
import csv
import functools
import os
import sys
import threading
from base64 import b64decode, b64encode
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "browser"
RESULT = ROOT / "docs" / "results" / "browser_bits.csv"
BLOCK = 5_000
LARGEST_SHARE = 1e-4


class QuietHandler(SimpleHTTPRequestHandler):
    """A handler that logs no requests."""

    def log_message(self, *arguments):
        """Write nothing."""


@contextmanager
def served(folder):
    """Serve a folder on this machine; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def jittered_digits(n, rng):
    """Return n samples near digits, float32 of shape (n, 64)."""
    X = load_digits(return_X_y=True)[0]
    brightness = rng.uniform(0.7, 1.1, (n, 1))
    return (X[rng.integers(0, len(X), n)] * brightness + rng.normal(size=(n, 64))).astype(np.float32)


def in_browser(page, X):
    """Return codes and margins that check.html, open in `page`, computes."""
    parts = [
        page.evaluate("rows => encodeRows(rows)", b64encode(X[start : start + BLOCK].tobytes()).decode())
        for start in range(0, len(X), BLOCK)
    ]
    codes = b"".join(b64decode(part["codes"]) for part in parts)
    margins = b"".join(b64decode(part["margins"]) for part in parts)
    return np.frombuffer(codes, np.uint8).reshape(len(X), -1), np.frombuffer(margins, np.float32).reshape(len(X), -1)


def compared(model, X, codes, margins):
    """Return figures of the codes and margins of a runtime beside those of the model."""
    expected = model.scores(X)
    median = np.median(np.abs(expected))
    differs = np.unpackbits(codes ^ model.encode(X), axis=1, count=expected.shape[1]).astype(bool)
    return {
        "samples": len(X),
        "bits": differs.size,
        "differing bits": int(differs.sum()),
        "samples with a differing bit": int(differs.any(axis=1).sum()),
        "largest margin of these": float(np.abs(expected[differs]).max(initial=0) / median),
        "smallest margin of all": float(np.abs(expected).min() / median),
        "largest difference of margins": float(np.abs(margins - expected).max() / median),
    }


def measure(n):
    """Open the page and return the figures."""
    from playwright.sync_api import sync_playwright

    sys.path[:0] = [str(EXAMPLE), str(ROOT / "tests" / "browser")]
    import build_model
    import chromium

    X = jittered_digits(n, np.random.default_rng(0))
    with served(EXAMPLE / "dist") as address, sync_playwright() as playwright:
        path = os.environ.get("PROXCODE_CHROMIUM") or chromium.installed() or chromium.unpacked()
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto(f"{address}/check.html")
        page.get_by_text("Ready.").wait_for()
        codes, margins = in_browser(page, X)
        version = browser.version
        browser.close()
    return {"browser": f"Chromium {version}", **compared(build_model.train(), X, codes, margins)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000, help="number of samples (default: 100000)")
    row = measure(parser.parse_args().size)
    for name, value in row.items():
        print(f"{name:>30}  {value:,}" if isinstance(value, int) else f"{name:>30}  {value}")
    with RESULT.open("w", newline="") as file:
        writer = csv.DictWriter(file, row)
        writer.writeheader()
        writer.writerow(row)
    if row["largest margin of these"] > LARGEST_SHARE:
        sys.exit(f"a bit differs at {row['largest margin of these']:.2g} of the median margin, above {LARGEST_SHARE}")
