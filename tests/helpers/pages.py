"""Pages of docs/ whose blocks come in pairs: a block that runs, and what it prints."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from helpers.command_line import call

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def check_page(name, n_blocks):
    """Run the blocks of a page, one after another in this folder, and compare what they print with what it shows."""
    found = re.findall(r"^```(\w+)\n(.*?)^```$", (DOCS / name).read_text(), re.DOTALL | re.MULTILINE)
    assert len(found) == n_blocks
    names = {}
    for (language, text), (_, shown) in zip(found[::2], found[1::2], strict=True):
        printed = _output_of(language, text, names)
        assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown).split(), printed
        assert _numbers_of(printed) == pytest.approx(_numbers_of(shown), rel=0.1, abs=0.01), printed


def _output_of(language, text, names):
    if language == "bash":
        return "".join(call(*shlex.split(line)[1:]) for line in text.splitlines())
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(text, names)
    return printed.getvalue()


def _numbers_of(text):
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]
