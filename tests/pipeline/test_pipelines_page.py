"""The blocks of docs/pipelines.md run, one after another, and print what the page shows."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from helpers.command_line import call

PAGE = Path(__file__).parents[2] / "docs" / "pipelines.md"
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def blocks():
    """Return the language and the text of all blocks, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def output_of(language, text, names):
    if language == "bash":
        return "".join(call(*shlex.split(line)[1:]) for line in text.splitlines())
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(text, names)
    return printed.getvalue()


def numbers_of(text):
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]


def test_the_page_shows_what_its_blocks_print(digits, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = digits
    for name, array in {"vectors": X[:1000], "labels": y[:1000], "new": X[1000:]}.items():
        np.save(f"{name}.npy", array)
    names, found = {}, blocks()
    assert len(found) == 10
    for (language, text), (_, shown) in zip(found[::2], found[1::2], strict=True):
        printed = output_of(language, text, names)
        assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown).split(), printed
        assert numbers_of(printed) == pytest.approx(numbers_of(shown), rel=0.1, abs=0.01), printed
