"""Blocks of code in README, docs and examples: where they are, how they run, and what they print."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.command_line import PROGRESS, READ
from proxcode.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SHELL = {"bash", "console", "sh", "shell"}
# Languages of blocks that show something and do not run; with a `$`, or without a language, they may be commands.
SHOWN = {"", "text"}
COMMAND = re.compile(r"(proxcode|python3?|pip|make|git|npm|npx|docker) \S")
FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
FINGERPRINT = re.compile(r"\b[0-9a-f]{12}\b")
# Columns of times, which are the last ones of a printed table, and lines of times.
TIMES = re.compile(r"(?:\s{2,}(?:\w+ ms|\w+ s))+$")
SECONDS = re.compile(r"^(seconds +)[\d.,]+$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, the line of its fence, its language and its text."""

    page: str
    line: int
    language: str
    text: str

    @property
    def kind(self):
        """One of doctest, python, shell, shown; any other value is a language that no test runs."""
        if re.search(r"^\s*>>>", self.text, re.MULTILINE):
            return "doctest"
        is_command = self.text.startswith("$ ") or (not self.language and COMMAND.match(self.text))
        if self.language in SHELL or (self.language in SHOWN and is_command):
            return "shell"
        return "shown" if self.language in SHOWN else self.language

    @property
    def key(self):
        """The page and the line that tells this block from others: the first that a doctest skips, or its first."""
        lines = self.text.splitlines() or [""]
        return self.page, next((line for line in lines if "+SKIP" in line), lines[0])

    def __str__(self):
        return f"{self.page}:{self.line}"


def pages(root=ROOT):
    """Return the names of all pages that people write, relative to the root."""
    built = ("docs/_build", "docs/gallery", "docs/api/generated", "docs/results/cells")
    found = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("examples/**/*.md")]
    names = sorted(path.relative_to(root).as_posix() for path in found)
    return [name for name in names if not name.startswith(built) and "node_modules" not in name]


def blocks_of(page, root=ROOT):
    """Return the blocks of a page, those inside of directives of MyST too."""
    return list(_blocks(page, (root / page).read_text(encoding="utf-8").splitlines(), 1))


def _blocks(page, lines, first):
    rows = enumerate(lines, first)
    for number, line in rows:
        opening = FENCE.fullmatch(line)
        if not opening:
            continue
        fence, language = opening[1], opening[2].strip()
        inside = []
        for _, text in rows:
            if re.fullmatch(rf"\s*{fence[0]}{{{len(fence)},}}\s*", text):
                break
            inside.append(text)
        directive = re.match(r"\{([\w:-]+)\}\s*(\S*)", language)
        if directive and directive[1] not in {"code-block", "code", "code-cell", "sourcecode"}:
            yield from _blocks(page, inside, number + 1)
        else:
            yield Block(page, number, directive[2] if directive else language, "".join(f"{text}\n" for text in inside))


def run_page(page, without=(), names=None, root=ROOT):
    """Run the Python and shell blocks of a page, one after another in this folder, and compare what they print.

    The output of a block is shown by a block of text right after it, that of a command by the lines below its `$`.
    Output that a page leaves out is not compared, nor is what follows a line of three points. `without` holds keys of
    blocks that do not run; `names` are the names that Python blocks see first.
    """
    names = {"__name__": "page", **(names or {})}
    blocks = blocks_of(page, root)
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block.key in without or block.kind not in {"python", "shell"}:
            continue
        if block.kind == "python":
            printed = _output_of_python(block, names)
        else:
            printed = "".join(_output_of_command(block, *pair) for pair in commands_of(block.text))
        if following and following.language == "text" and following.kind == "shown":
            compare(printed, following.text, following)


def commands_of(text):
    """Return the commands of a block, each with the output below it, which only a session with `$` shows."""
    text = text.replace("\\\n", " ")
    if text.startswith("$ "):
        return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)
    return [(line, "") for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _output_of_python(block, names):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        # The empty lines make a traceback name the line of the page.
        exec(compile("\n" * block.line + block.text, block.page, "exec"), names)
    return printed.getvalue()


def _output_of_command(block, command, shown):
    words = shlex.split(command, comments=True)
    if words[:2] == ["pip", "install"]:
        _check_install(block, words[2:])
        return ""
    if words[0] == "make":
        _check_targets(block, words[1:])
        return ""
    *words, operator, file = words if ">" in words[-2:-1] else [*words, "", ""]
    if words[0] == "proxcode" and not set(words) & {">", "|", ";", "&&", "2>"}:
        result = CliRunner().invoke(main, words[1:])
        assert result.exit_code == 0, f"{block}: {command}\n{result.output}"
        if operator:
            Path(file).write_text(result.stdout)
        printed = PROGRESS.sub("", result.stderr if operator else result.output)
    else:
        printed = _output_of_shell(block, command)
    if not READ.search(shown):
        printed = READ.sub("", printed)
    if shown:
        compare(printed, shown, block)
    return printed


def _output_of_shell(block, command):
    function = f'proxcode() {{ {shlex.quote(sys.executable)} -m proxcode "$@"; }}\n'
    function += f'python() {{ {shlex.quote(sys.executable)} "$@"; }}\n'
    environment = os.environ | {"LC_ALL": "C.UTF-8"}
    result = subprocess.run(
        ["sh", "-ec", function + command], capture_output=True, text=True, check=False, env=environment
    )
    assert result.returncode == 0, f"{block}: {command}\n{result.stderr}"
    return result.stdout


def _check_install(block, words):
    """Check what pip installs, without installing it: this project, with extras that exist."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for word in words:
        name, *chosen = re.split(r"[\[\],]", word.rstrip("]"))
        assert name in {"proxcode", "."}, f"{block}: pip install {word}"
        assert set(chosen) <= set(extras), f"{block}: pip install {word}"


def _check_targets(block, words):
    """Check that the targets of make exist, without making them."""
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    assert {word for word in words if "=" not in word} <= set(targets), f"{block}: make {' '.join(words)}"


def compare(printed, shown, block):
    """Compare an output with what a page shows: all words, and numbers up to what another machine may change."""
    shown, *rest = re.split(r"^\.\.\.\n", shown, maxsplit=1, flags=re.MULTILINE)
    printed, shown = _without_times(printed), _without_times(shown)
    if rest:
        printed = "\n".join(printed.splitlines()[: len(shown.splitlines())])
    message = f"{block} shows\n{shown}\nbut this was printed:\n{printed}"
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown).split(), message
    assert _numbers_of(printed) == pytest.approx(_numbers_of(shown), rel=0.1, abs=0.01), message


def _without_times(text):
    """Return a text without fingerprints of models, seconds, and the last columns of a table if these are times."""
    text = SECONDS.sub(r"\1", FINGERPRINT.sub("fingerprint", text))
    times = TIMES.search(text.partition("\n")[0])
    if not times:
        return text
    n_columns = len(re.findall(r"\s{2,}", times[0]))
    return "\n".join(" ".join(line.split()[:-n_columns]) for line in text.splitlines())


def _numbers_of(text):
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]
