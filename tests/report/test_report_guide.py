"""The blocks of docs/report.md run, one after another, and print what the page shows."""

from pathlib import Path

import numpy as np

from helpers.pages import check_page


def test_the_guide_shows_what_its_blocks_print(digits, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = digits
    arrays = {"vectors": X[:1000], "labels": y[:1000], "new": X[1000:], "new_labels": y[1000:]}
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)
    Path("items.csv").write_text("text\n" + "".join(f"a handwritten {label}\n" for label in y[1000:]))
    check_page("report.md", 6)
