"""Run the command line, installed or in this process, and read what it prints and writes."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from proxcode.cli import main
from proxcode.cli.printing import cell, label

N_BITS = 20
COMMAND = Path(sys.executable).parent / "proxcode"
# A line that commands write at most every 10 seconds, as they may on a busy machine.
PROGRESS = re.compile(
    r"^(learned|encoded|loaded|found|finished|measured|compared) [\d,]+ (of [\d,]+ )?.*\n", re.MULTILINE
)
# A line that says what a command read.
READ = re.compile(r"^read ([a-z ]+): (.*)\n", re.MULTILINE)


def without_progress(text):
    """Return what a command wrote to standard error besides its progress and what it read."""
    return READ.sub("", PROGRESS.sub("", text))


def what_was_read(*arguments):
    """Run a command in this process; return what it said of each input, after comparing it with what --json prints."""
    words = [str(argument) for argument in arguments]
    text, as_json = CliRunner().invoke(main, words), CliRunner().invoke(main, [*words, "--json"])
    assert (text.exit_code, as_json.exit_code) == (0, 0), text.output + as_json.output
    said = dict(READ.findall(text.stderr))
    assert dict(READ.findall(as_json.stderr)) == said
    record = json.loads(as_json.stdout).get("read")
    if record is not None:
        assert list(record) == list(said)
        for name, entry in record.items():
            assert Path(entry["file"]).name in said[name]
            assert entry.get("array", "") in said[name]
            assert str(list(entry.get("columns", [""]))[-1]) in said[name]
            assert ("without a label" in said[name]) == bool(entry.get("without a label"))
    return said, record


def run(*arguments, cwd=None):
    """Run the installed command."""
    result = subprocess.run([COMMAND, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert without_progress(result.stderr) == ""
    return result.stdout


def call(*arguments):
    """Run the command in this process, without the cost of imports."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    assert without_progress(result.stderr) == ""
    return result.stdout


def fails(*arguments):
    """Return the sentence with which the command fails."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code in (1, 2), result.output
    return without_progress(result.stderr).rpartition("Error: ")[2].strip()


def record_of(*arguments):
    """Return what --json prints after comparing it with the printed text."""
    record = json.loads(call(*arguments, "--json"))
    record.pop("read", None)
    lines = [re.split(r"\s{2,}", line, maxsplit=1) for line in call(*arguments).splitlines()]
    assert lines == [[label(name), cell(value, grouped=True)] for name, value in record.items()]
    return record


def rows_of(text):
    """Return the rows below the names of printed columns."""
    names, *rows = [line.split() for line in text.splitlines()]
    return [dict(zip(names, row, strict=True)) for row in rows]


def read_columns(path):
    if path.suffix == ".npz":
        with np.load(path) as file:
            return dict(file)
    if path.suffix == ".parquet":
        return pytest.importorskip("pyarrow.parquet").read_table(path).to_pydict()
    if path.suffix == ".jsonl":
        objects = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return {name: [row[name] for row in objects] for name in objects[0]}
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="," if path.suffix == ".csv" else "\t"))
    return {name: [row[name] if name == "node" else float(row[name]) for row in rows] for name in rows[0]}
