"""The page docs/cli.md: the help texts of all commands, each below a heading with a link to its guide.

python tests/helpers/cli_page.py    write the page again, after a help text has changed
"""

from pathlib import Path

import click
from click.testing import CliRunner

from proxcode.cli import VERBS, main

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
WIDTH = 80
HEAD = """# Command line

All commands with their options, as `proxcode --help` and `proxcode COMMAND --help` print them. [Start](start.md) shows
the first ones at work, [labels and files](labels_and_files.md) what they read and write. `python -m proxcode` is the
same command.

"""
# The page of the guide on each command that has one.
GUIDES = {
    "fit": "which_code.md",
    "encode": "many_files.md",
    "search": "start.md",
    "index": "index_life.md",
    "dedupe": "dedupe.md",
    "load": "stores.md",
    "evaluate": "evaluate.md",
    "report": "report.md",
    "explore": "explore.md",
    "drift": "updating.md",
    "update": "updating.md",
    "extend": "updating.md",
    "cut": "cut.md",
    "export": "onnx.md",
    "reproduce": "results/README.md",
}


def text():
    """Return the text of the page."""
    sections = [HEAD + block()]
    for verb in VERBS:
        guide = f"Guide: {link(GUIDES[verb])}.\n\n" if verb in GUIDES else ""
        command = main.get_command(None, verb)
        inner = command.list_commands(None) if isinstance(command, click.Group) else []
        helps = [block(verb), *(block(verb, name) for name in inner)]
        sections.append(f"## proxcode {verb}\n\n{guide}" + "\n".join(helps))
    return "\n".join(sections)


def link(page):
    """Return a link to a page, by its title."""
    return f"[{(PAGE.parent / page).read_text(encoding='utf-8').splitlines()[0].removeprefix('# ')}]({page})"


def block(*command):
    """Return what a command prints as its help."""
    result = CliRunner().invoke(main, [*command, "--help"], prog_name="proxcode", terminal_width=WIDTH)
    return f"```text\n{result.output}```\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
