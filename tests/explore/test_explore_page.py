"""The blocks of docs/explore.md run, one after another, and print what the page shows."""

import contextlib
import io
import re
import shlex
import signal
import subprocess
import sys
from urllib.request import urlopen

from helpers.command_line import call
from helpers.pages import DOCS

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/[\w-]{32}/")


def printed_by(text, names):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(text, names)
    return printed.getvalue()


def explored(arguments):
    """Run the command until its page was opened, then Ctrl-C; return what it printed, as on a terminal."""
    command = [sys.executable, "-m", "proxcode", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        with urlopen(ADDRESS.search(line)[0], timeout=60) as answer:
            assert b"Explore codes" in answer.read()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    *read, stopped = errors.splitlines(keepends=True)
    return "".join([*read, line, stopped])


def test_the_page_shows_what_its_blocks_print(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "explore.md").read_text()
    blocks = BLOCK.findall(page)
    assert [language for language, _ in blocks] == ["python", "text", "bash", "text", "python", "text"]
    names = {}
    assert printed_by(blocks[0][1], names) == blocks[1][1]
    *commands, explore = [shlex.split(line)[1:] for line in blocks[2][1].splitlines()]
    for arguments in commands:
        call(*arguments)
    assert ADDRESS.sub("ADDRESS", explored(explore)) == ADDRESS.sub("ADDRESS", blocks[3][1])
    assert printed_by(blocks[4][1], names) == blocks[5][1]
