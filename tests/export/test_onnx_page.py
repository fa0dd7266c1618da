"""The blocks of docs/onnx.md run, one after another, and print what the page shows."""

from helpers.pages import check_page


def test_the_page_shows_what_its_blocks_print(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_page("onnx.md", 8)
