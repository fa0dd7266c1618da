"""The blocks of docs/pipelines.md run, one after another, and print what the page shows."""

import numpy as np

from helpers.pages import check_page


def test_the_page_shows_what_its_blocks_print(digits, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = digits
    for name, array in {"vectors": X[:1000], "labels": y[:1000], "new": X[1000:]}.items():
        np.save(f"{name}.npy", array)
    check_page("pipelines.md", 10)
