"""The blocks of docs/updating.md run, one after another, and print what the page shows."""

import numpy as np

from helpers.pages import check_page


def test_the_page_shows_what_its_blocks_print(digits, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = digits
    old, new = np.flatnonzero(y < 9), np.flatnonzero(y == 9)
    batch = np.concatenate([new[:100], old[1000:1200]])
    for name, array in {
        "vectors": X[old[:1000]],
        "labels": y[old[:1000]],
        "new": X[batch],
        "new_labels": y[batch],
    }.items():
        np.save(f"{name}.npy", array)
    check_page("updating.md", 12)
