"""A killed or interrupted process leaves no partial output, and the same command ends with the same bytes."""

import contextlib
import filecmp
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.command_line import without_progress
from proxcode import HammingIndex, ProximityPreservingCode
from proxcode.cli import main
from proxcode.cli.encode import BLOCK, HEADER
from proxcode.storage.container import kind_of, read_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")

COMMAND = Path(sys.executable).parent / "proxcode"
N_ROWS, N_CODES = 250_000, 8_000_000
KILLS = {"fit": 7, "encode": 7, "save": 6}
# A checkpoint after every bit, where a fit of this length would write none.
FIT = """
import sys
import proxcode.storage.timer
from proxcode.cli import main

proxcode.storage.timer.CHECKPOINT_SECONDS = proxcode.storage.timer.CHECKPOINT_MULTIPLE = 0
main(sys.argv[1:], prog_name="proxcode")
"""
SAVE = f"""
import sys
import numpy as np
from proxcode import HammingIndex

codes = np.random.default_rng(0).integers(0, 256, ({N_CODES}, 8), np.uint8)
HammingIndex(64).add(codes).save(sys.argv[1])
"""


class Job(NamedTuple):
    """A command that writes one file, a function that does the same here, and the output of an uninterrupted run."""

    command: Callable[[Path], list]
    again: Callable[[Path], object]
    whole: Path
    seconds: float  # duration of the work, without imports


def start(command):
    return subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def left_over(output):
    return [path for path in output.parent.iterdir() if path.suffix in (".partial", ".checkpoint")]


def wait_until(is_so, process):
    """Wait until a condition holds or the process ends."""
    deadline = time.monotonic() + 120
    while process.poll() is None and not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def wait_for_share(share, job, output, process):
    """Wait for a share of the work, by time or by bytes written, since a run may be faster than the first."""
    deadline, size = time.monotonic() + share * job.seconds, share * job.whole.stat().st_size

    def is_reached():
        with contextlib.suppress(FileNotFoundError):  # renamed after it was listed
            return time.monotonic() >= deadline or any(path.stat().st_size >= size for path in left_over(output))
        return True

    wait_until(is_reached, process)


def run_whole(folder, name, command, again):
    """Run a command without interruption and measure how long it works."""
    whole = folder / name
    folder.mkdir()
    process = start(command(whole))
    wait_until(lambda: left_over(whole), process)
    began = time.monotonic()
    wait_until(lambda: not left_over(whole), process)
    seconds = time.monotonic() - began
    errors = process.communicate()[1]
    assert (process.returncode, without_progress(errors)) == (0, "")
    assert list(folder.iterdir()) == [whole]
    return Job(command, again, whole, seconds)


def call(arguments):
    """Run the command in this process, without the cost of imports."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def fit(tmp_path_factory, digits):
    data = tmp_path_factory.mktemp("fit")
    np.save(data / "X.npy", digits[0][:400])
    np.save(data / "y.npy", digits[1][:400])

    def arguments(output):
        return [
            "fit",
            data / "X.npy",
            "--labels",
            data / "y.npy",
            "--bits",
            64,
            "--checkpoint",
            "--force",
            "-o",
            output,
        ]

    def command(output):
        return [sys.executable, "-c", FIT, *arguments(output)]

    return run_whole(data / "whole", "m.proxcode", command, lambda output: call(arguments(output)))


@pytest.fixture(scope="module")
def encode(tmp_path_factory):
    data = tmp_path_factory.mktemp("encode")
    X = np.random.default_rng(0).normal(size=(N_ROWS, 16)).astype(np.float32)
    np.save(data / "X.npy", X)
    ProximityPreservingCode(16, random_state=0).fit(X[:300], X[:300, 0] > 0).save(data / "m.proxcode")

    def arguments(output):
        return ["encode", data / "m.proxcode", data / "X.npy", "--force", "-o", output]

    def command(output):
        return [COMMAND, *arguments(output)]

    yield run_whole(data / "whole", "codes.npy", command, lambda output: call(arguments(output)))
    (data / "X.npy").unlink()


@pytest.fixture(scope="module")
def save(tmp_path_factory):
    codes = np.random.default_rng(0).integers(0, 256, (N_CODES, 8), np.uint8)
    index = HammingIndex(64).add(codes)

    def command(output):
        return [sys.executable, "-c", SAVE, output]

    yield (saved := run_whole(tmp_path_factory.mktemp("save") / "whole", "my.index", command, index.save))
    saved.whole.unlink()


@pytest.mark.parametrize("kind", KILLS)
def test_a_killed_process_leaves_no_partial_output_and_the_same_command_ends_alike(kind, request, tmp_path):
    job = request.getfixturevalue(kind)
    rng = np.random.default_rng(len(kind))
    n_in_the_midst = 0
    for number in range(KILLS[kind]):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        output = folder / job.whole.name
        old = number % 2
        if old:
            output.write_text("old")
        process = start(job.command(output))
        wait_until(lambda output=output: left_over(output), process)
        wait_for_share(rng.uniform(0, 0.9), job, output, process)
        process.kill()
        process.communicate()
        n_in_the_midst += bool(left_over(output))
        assert_whole_or_untouched(output, job.whole, "old" if old else None)
        assert_sound(left_over(output), job.whole)
        job.again(output)
        assert filecmp.cmp(output, job.whole, shallow=False)
        assert list(folder.iterdir()) == [output]
        output.unlink()
    assert 2 * n_in_the_midst >= KILLS[kind]


def assert_whole_or_untouched(output, whole, old):
    if not output.exists():
        assert old is None
    elif old is None or output.stat().st_size != len(old):
        assert filecmp.cmp(output, whole, shallow=False)
    else:
        assert output.read_text() == old


def assert_sound(left, whole):
    """Check the files that a killed process left to resume from."""
    for path in left:
        if path.suffix == ".checkpoint":
            assert read_file(path, kind_of(path)).content["history"]  # raises unless the digest is right
        elif path.name.startswith(".codes.npy"):
            done, expected = path.read_bytes()[HEADER:], whole.read_bytes()[HEADER:]
            assert expected.startswith(done)


def test_there_are_twenty_kills():
    assert sum(KILLS.values()) == 20


@pytest.mark.parametrize("kind", ["fit", "encode"])
def test_an_interrupt_ends_with_one_sentence_and_the_same_command_resumes(kind, request, tmp_path):
    job = request.getfixturevalue(kind)
    output = tmp_path / job.whole.name
    process = start(job.command(output))
    wait_until(lambda: has_finished_some(output), process)
    process.send_signal(signal.SIGINT)
    text, errors = process.communicate()
    assert without_progress(errors) == "Interrupted: run the same command again to resume.\n"
    assert (process.returncode, text) == (130, "")
    assert not output.exists()
    assert has_finished_some(output)
    said = job.again(output)
    assert kind == "fit" or "resumed at row" in said
    assert filecmp.cmp(output, job.whole, shallow=False)
    assert list(tmp_path.iterdir()) == [output]


def has_finished_some(output):
    """Return whether a bit or a block of codes is saved to resume from."""
    # The temporary file of a checkpoint does not count: an interrupt removes it.
    return any(
        path.suffix == ".checkpoint"
        or (path.name.startswith(".codes.npy") and path.stat().st_size >= HEADER + 2 * BLOCK)
        for path in left_over(output)
    )


def test_an_interrupt_without_saved_progress_is_reported(fit, tmp_path, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(ProximityPreservingCode, "fit", interrupt)
    arguments = [str(word) for word in fit.command(tmp_path / "m.proxcode")[3:]]
    result = CliRunner().invoke(main, [*arguments, "--no-checkpoint"])
    assert result.exit_code == 130
    assert without_progress(result.output) == "Interrupted: no progress was saved.\n"
