"""Help texts, and how fast they appear."""

import re
import resource
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from helpers import cli_page
from helpers.command_line import call, run
from proxcode.cli import VERBS, main


def test_help_shows_the_verbs_and_an_example():
    text = run("--help")
    assert all(re.search(rf"^  {verb} ", text, re.MULTILINE) for verb in VERBS)
    assert "proxcode fit vectors.npy --labels labels.npy" in text
    assert run("--version").startswith("proxcode, version ")
    as_module = subprocess.run(
        [sys.executable, "-m", "proxcode", "--version"], capture_output=True, text=True, check=True
    )
    assert as_module.stdout == run("--version")


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_shows_an_example_and_explains_every_option(verb):
    text = call(verb, "--help")
    assert f"proxcode {verb} " in text.split("Example")[1]
    parameters = main.get_command(None, verb).params
    described = [parameter for parameter in parameters if parameter.param_type_name == "option"]
    assert [option.name for option in described if not option.help] == []


def test_help_starts_at_once():
    def seconds():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run("--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(3)) < 0.3


def test_the_command_line_and_the_help_of_its_verbs_import_nothing_heavy():
    heavy = ("numpy", "numba", "scipy", "sklearn", "matplotlib", "tqdm", "pandas", "pyarrow")
    script = (
        "import sys; from proxcode.cli import VERBS, main\n"
        "for verb in VERBS: main([verb, '--help'], standalone_mode=False)\n"
        f"sys.exit(' '.join(m for m in {heavy} if m in sys.modules) or 0)"
    )
    text = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert text.count("Usage: ") == len(VERBS)


def test_the_page_of_commands_shows_their_help():
    pinned = re.search(r"^click==(.*)$", (Path(__file__).parents[2] / "constraints.txt").read_text(), re.MULTILINE)[1]
    if version("click") != pinned:
        pytest.skip(f"docs/cli.md is written by click {pinned}; other versions break lines elsewhere")
    assert cli_page.PAGE.read_text(encoding="utf-8") == cli_page.text(), "run python tests/helpers/cli_page.py"
