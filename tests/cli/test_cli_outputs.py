"""Outputs that are an input, a device or a pipe, or that appear while a command runs, are refused."""

import os
import shutil
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.command_line import without_progress
from proxcode.cli import main

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and pipes are POSIX's")

# Each command, without its output, and the files that it reads.
COMMANDS = {
    "fit": ("fit train.npy --labels labels.npy --bits 4 --force -o", ["train.npy", "labels.npy"]),
    "fit with pairs": ("fit train.npy --pairs pairs.csv --bits 4 --force -o", ["pairs.csv"]),
    "fit with a column": ("fit train.npy --labels class.csv:a --bits 4 --force -o", ["class.csv"]),
    "encode": ("encode api.proxcode new.npy --force -o", ["api.proxcode", "new.npy"]),
    "search": (
        "search codes.npy queries.npy --model api.proxcode --vectors train.npy --ids ids.npy --force -o",
        ["codes.npy", "queries.npy", "api.proxcode", "train.npy", "ids.npy"],
    ),
    "cut": ("cut graph.csv --force -o", ["graph.csv"]),
    "evaluate": (
        "evaluate api.proxcode new.npy --labels new_labels.npy --train train.npy --force --figure",
        ["api.proxcode", "new.npy", "new_labels.npy", "train.npy"],
    ),
    "report": (
        "report api.proxcode new.npy --labels new_labels.npy --texts texts.csv --peers LSH --force -o",
        ["api.proxcode", "new.npy", "new_labels.npy", "texts.csv"],
    ),
}
CASES = [(command, name) for command, (_, names) in COMMANDS.items() for name in names]


@pytest.fixture
def files(folder, tmp_path, monkeypatch):
    """A folder with copies of all files, which the test may endanger."""
    copies = tmp_path / "files"
    shutil.copytree(folder, copies)
    monkeypatch.chdir(copies)
    Path("pairs.csv").write_text("0,1,near\n1,2,far\n")
    np.save("ids.npy", np.arange(500))
    Path("class.csv").write_text("a\n" + "1\n2\n" * 250)
    Path("texts.csv").write_text("text\n" + "one\ntwo\n" * 200)
    return copies


def refuse(*words):
    """Run a command that is expected to fail; return its sentence."""
    result = CliRunner().invoke(main, list(map(str, words)))
    assert result.exit_code == 1, result.output
    sentence = without_progress(result.stderr)
    assert sentence.startswith("Error: ")
    assert sentence.count("\n") == 1
    return sentence.removeprefix("Error: ").rstrip()


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("way", ["path", "symbolic link", "hard link", "linked folder"])
@pytest.mark.parametrize(("command", "name"), CASES, ids=[" ".join(case) for case in CASES])
def test_an_output_that_is_an_input_is_refused(command, name, way, files, tmp_path):
    output = Path(name)
    if way == "symbolic link":
        output = Path(f"link{output.suffix}")
        output.symlink_to(name)
    elif way == "hard link":
        output = Path(f"link{output.suffix}")
        os.link(name, output)
    elif way == "linked folder":
        (tmp_path / "also").symlink_to(files)
        output = tmp_path / "also" / name
    before = content(files)
    sentence = refuse(*COMMANDS[command][0].split(), output)
    assert sentence.startswith(f"the output {output} is the input {name}")
    assert sentence.endswith(": choose another name for the output.")
    assert content(files) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_pipes_and_devices_are_refused(command, files):
    os.mkfifo("pipe.npy")
    # A link, since a broken version, run as root, would replace the device.
    Path("device.npy").symlink_to("/dev/null")
    before = sorted(files.iterdir())
    for name in ("pipe.npy", "device.npy"):
        sentence = refuse(*COMMANDS[command][0].split(), name)
        assert sentence == f"{name} is a device, a pipe or a file of the system: name a regular file to write."
    assert sorted(files.iterdir()) == before
    assert Path("device.npy").is_symlink()


def test_a_checkpoint_that_is_an_input_or_a_pipe_is_refused(files):
    shutil.copy("labels.npy", "m.checkpoint")
    words = ["fit", "train.npy", "--bits", "4", "-o", "m", "--labels"]
    assert refuse(*words, "m.checkpoint").startswith("the output m.checkpoint is the input m.checkpoint: choose")
    Path("m.checkpoint").unlink()
    os.mkfifo("m.checkpoint")
    assert refuse(*words, "labels.npy").startswith("m.checkpoint is a device, a pipe or a file of the system")


# What each command calls when it has nothing left to do but to write.
LAST_STEPS = {
    "fit": "proxcode.model.checkpoints.ComponentWriter.value",
    "encode": "numpy.lib.format.write_array_header_1_0",
    "search": "proxcode.files.check_suffix",
    "cut": "proxcode.cli.cut.cut_weights",
    "evaluate": "proxcode.plots.figure_page",
    "report": "proxcode.report.writing.page",
}


@pytest.mark.parametrize("command", LAST_STEPS)
@pytest.mark.parametrize("force", [False, True])
def test_a_file_that_appears_meanwhile_is_replaced_by_force_only(command, force, files, monkeypatch):
    output = Path(
        {"fit": "m.proxcode", "encode": "c.npy", "evaluate": "f.png", "report": "r.html"}.get(command, "t.csv")
    )
    original = resolve_name(LAST_STEPS[command])

    def appear(*arguments, **options):
        output.write_text("theirs")
        return original(*arguments, **options)

    monkeypatch.setattr(LAST_STEPS[command], appear)
    words = [word for word in COMMANDS[command][0].split() if force or word != "--force"]
    if force:
        assert CliRunner().invoke(main, [*words, str(output)]).exit_code == 0
        assert output.read_bytes() != b"theirs"
        return
    sentence = refuse(*words, output)
    assert sentence == f"{output} already exists; choose another name or replace it (--force, overwrite=True)."
    assert output.read_text() == "theirs"
    # A fit and an encoding, which may have taken hours, are kept: with --force they resume.
    left = [path for path in files.iterdir() if path.suffix in (".partial", ".checkpoint")]
    assert len(left) == (command in ("fit", "encode"))
