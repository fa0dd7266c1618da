"""Each script of examples/ runs, prints what docs/examples.md shows, and leaves no file behind."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
# Largest relative difference of a number: a margin near zero may give another bit on another machine.
TOLERANCE = 0.1


def shown_outputs():
    """Return the output that docs/examples.md shows for each example."""
    page = (ROOT / "docs" / "examples.md").read_text()
    sections = re.findall(r"^## (\S+\.py)\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    assert all(f"[Script](../examples/{name})" in text for name, text in sections)
    return {name: re.search(r"```text\n(.*?)```", text, re.DOTALL).group(1) for name, text in sections}


def words_of(output):
    return NUMBER.sub("#", output).split()


def numbers_of(output):
    return [float(number.replace(",", "")) for number in NUMBER.findall(output)]


def test_the_page_shows_every_example():
    assert sorted(shown_outputs()) == EXAMPLES
    assert len(EXAMPLES) == 8


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_the_page_shows(name, tmp_path):
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    work.mkdir()
    temporary.mkdir()
    run = subprocess.run(
        [sys.executable, "-W", "error", ROOT / "examples" / name],
        cwd=work,
        env={**os.environ, "TMPDIR": str(temporary), "MPLBACKEND": "agg", "DISPLAY": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    shown = shown_outputs()[name]
    assert words_of(run.stdout) == words_of(shown), run.stdout
    assert numbers_of(run.stdout) == pytest.approx(numbers_of(shown), rel=TOLERANCE, abs=0.01), run.stdout
    assert list(work.iterdir()) == list(temporary.iterdir()) == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_short_and_has_a_title_and_a_figure(name):
    text = (ROOT / "examples" / name).read_text()
    title = re.match(r'"""\n([A-Z].*[a-z])\n(=+)\n\n[A-Z]', text)
    assert len(title.group(1)) == len(title.group(2))
    assert "plt.show()" in text
    assert 30 <= len(text.splitlines()) <= 100
